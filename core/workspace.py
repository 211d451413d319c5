"""A workspace file: everything that was set up, as versioned JSON that brings it back.

What is saved is any frozen dataclass of plain fields; reading checks every field against its type,
so that a damaged file is refused with the name of the field, and nothing is half loaded.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import types
import typing
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from core.atomic import write_file

VERSION = 1
SUFFIX = ".maskscope"
_FORMAT = "maskscope workspace"

T = TypeVar("T")


def save(value: Any, path: Path, *, product: str) -> None:
    """Write ``value`` to ``path``: under a temporary name first, then moved over what was there.

    Raises
    ------
    ValueError
        with a sentence where nothing can be written; an older file is as it was.
    """
    plain = {"format": _FORMAT, "version": VERSION, "product": product, "state": to_plain(value)}
    text = json.dumps(plain, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    write_file(path, text.encode("utf-8"))


def load(kind: type[T], path: Path) -> T:
    """What was saved, as an object of ``kind``.

    Raises
    ------
    ValueError
        with a sentence: there is no such file, it is no workspace, it is of a newer version, or a
        field is not what it should be.
    """
    try:
        return _read(kind, path)
    except RecursionError as error:
        raise ValueError(f"{path} is no workspace: it is nested too deeply.") from error


def _read(kind: type[T], path: Path) -> T:
    try:
        plain = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise ValueError(f"{path} is no workspace: it is not JSON.") from error
    if not isinstance(plain, dict) or plain.get("format") != _FORMAT:
        raise ValueError(f"{path} is no workspace of maskscope.")
    with naming(path):
        version = from_plain(int, plain.get("version"), "version")
        _expect(version >= 1, "version", version, "1 or more")
    if version > VERSION:
        raise ValueError(
            f"{path} is a workspace of version {version}, but this program reads versions up to"
            f" {VERSION}: use a newer maskscope."
        )
    with naming(path):
        found: T = from_plain(kind, plain.get("state"))
    return found


@contextmanager
def naming(path: Path, what: str = "is damaged") -> Iterator[None]:
    """A ValueError about what a file holds names the file, and ``what`` is wrong with it."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path} {what}: {error}") from error


def to_plain(value: Any) -> Any:
    """A frozen dataclass, an enum, a tuple or a plain value as what JSON can hold."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: to_plain(getattr(value, field.name)) for field in fields}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    return value


def from_plain(kind: Any, plain: Any, where: str = "") -> Any:
    """The value of type ``kind`` that ``plain`` says; ``where`` names it in errors, "" the state.

    Raises
    ------
    ValueError
        naming the field, what was found and what was expected.
    """
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        if plain is None and type(None) in typing.get_args(kind):
            return None
        (kind,) = (one for one in typing.get_args(kind) if one is not type(None))
        return from_plain(kind, plain, where)
    if origin is tuple:
        return _tuple(typing.get_args(kind), plain, where)
    if origin is dict:
        _expect(isinstance(plain, dict), where, plain, "an object")
        item = typing.get_args(kind)[1]
        return {key: from_plain(item, one, f"{where}.{key}") for key, one in plain.items()}
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, plain, where)
    if isinstance(kind, type) and issubclass(kind, Enum):
        allowed = [one.value for one in kind]
        _expect(plain in allowed, where, plain, f"one of {', '.join(map(str, allowed))}")
        return kind(plain)
    if kind is float:
        number = isinstance(plain, int | float) and not isinstance(plain, bool)
        # A comparison with NaN is false.
        _expect(number and abs(plain) <= sys.float_info.max, where, plain, "a number")
        return float(plain)
    names = {int: "a whole number", str: "a text", bool: "true or false"}
    right = isinstance(plain, kind) and (kind is bool or not isinstance(plain, bool))
    if isinstance(plain, str):
        right = right and plain == _written(plain)
    _expect(right, where, plain, names[kind])
    return plain


def _expect(ok: bool, where: str, found: object, expected: str) -> None:
    if not ok:
        shown = _written(json.dumps(found, ensure_ascii=False)[:60])
        raise ValueError(f"{where or 'state'} is {shown}, but must be {expected}.")


def _written(text: str) -> str:
    """A text as a file can hold it: half a character, which JSON can escape, becomes "?"."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _tuple(kinds: tuple[Any, ...], plain: Any, where: str) -> tuple[Any, ...]:
    _expect(isinstance(plain, list), where, plain, "a list")
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = kinds[:1] * len(plain)
    _expect(len(plain) == len(kinds), where, plain, f"a list of {len(kinds)}")
    return tuple(
        from_plain(kind, one, f"{where}[{n}]")
        for n, (kind, one) in enumerate(zip(kinds, plain, strict=True))
    )


def _dataclass(kind: Any, plain: Any, where: str) -> Any:
    _expect(isinstance(plain, dict), where, plain, "an object")
    own = where or "state"
    hints, fields = typing.get_type_hints(kind), {f.name: f for f in dataclasses.fields(kind)}
    unknown = sorted(set(plain) - set(fields))
    if unknown:
        raise ValueError(f"{own} has {unknown[0]!r}, which this program does not know.")
    given = {}
    for name, field in fields.items():
        if name in plain:
            inside = f"{where}.{name}" if where else name
            given[name] = from_plain(hints[name], plain[name], inside)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise ValueError(f"{own} lacks {name!r}.")
    return kind(**given)
