"""What every command writes with: whole files or none, JSON that can be read, plain tables."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from core.atomic import write_file

STANDARD_OUTPUT = Path("-")
_LINE = 96
"""JSON that fits into a line of this many letters is not broken."""
_NUMBER = re.compile(r"([+-]?\d[\d,.+]*(e[+-]?\d+)?( [A-Za-z/]+)?)?")
"""A number with its unit, or nothing."""


class Failure(RuntimeError):
    """Something that is no fault of the input went wrong; the message is a sentence."""


def check_target(path: Path, *, suffix: str = "") -> None:
    """Raise ValueError with a sentence if no file can be written at ``path``.

    ``suffix`` is the ending that the name must have, such as ``.png``; empty for any.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file to write.")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}; make it.")
    if suffix and path.suffix.lower() != suffix:
        raise ValueError(f"{path} must end in {suffix}, the only kind of file that is written.")


def deliver(content: bytes, target: Path | None) -> None:
    """Write to a file and say so, or to the standard output if ``target`` is None or ``-``."""
    if target is not None and target != STANDARD_OUTPUT:
        write_file(target, content)
        say_written(target)
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def say_written(path: Path, stream: TextIO | None = None) -> None:
    """Say that a file was written, on the standard output or beside the data that is there.

    Nothing is said of pipes and devices, which may be the standard output themselves.
    """
    if path.is_file():
        print(f"Wrote {path}.", file=stream)


def progress(sentence: str, share: float) -> None:
    """Tell on a terminal what is being done; ``share`` from 0 to 1 is done."""
    if sys.stderr.isatty():
        shown = sentence if share < 1 else ""
        print(f"\r\033[K{shown}", end="", file=sys.stderr, flush=True)


def npy(array: NDArray[Any]) -> bytes:
    """An array as the content of a ``.npy`` file."""
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def npz(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Named arrays as the content of a compressed ``.npz`` file."""
    content = io.BytesIO()
    named: dict[str, Any] = dict(arrays)
    np.savez_compressed(content, **named)
    return content.getvalue()


def to_json(value: object) -> bytes:
    """JSON in which every innermost list has a line of its own, so that a mask looks like one."""
    return (_json(value, "") + "\n").encode("utf-8", "replace")


def _json(value: object, margin: str) -> str:
    inner = margin + "  "
    if isinstance(value, dict) and not _is_short(value):
        entries = [f"{json.dumps(key)}: {_json(item, inner)}" for key, item in value.items()]
        opening, closing = "{}"
    elif isinstance(value, list) and _is_nested(value) and not _is_short(value):
        entries = [_json(item, inner) for item in value]
        opening, closing = "[]"
    else:
        return json.dumps(value, ensure_ascii=False)
    body = ",\n".join(inner + entry for entry in entries)
    return f"{opening}\n{body}\n{margin}{closing}"


def _is_nested(value: Sequence[object]) -> bool:
    return any(isinstance(item, list | dict) for item in value)


def _is_short(value: dict[str, Any] | list[Any]) -> bool:
    if not value:
        return True
    if isinstance(value, list) and any(isinstance(item, list) for item in value):
        return False
    return len(value) < _LINE and len(json.dumps(value, ensure_ascii=False)) <= _LINE


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of equal width; those of numbers stand to the right."""
    columns = list(zip(header, *rows, strict=True))
    shown = []
    for column in columns:
        width = max(map(len, column))
        numeric = all(map(_NUMBER.fullmatch, column[1:]))
        shown.append([cell.rjust(width) if numeric else cell.ljust(width) for cell in column])
    return "\n".join("  ".join(line).rstrip() for line in zip(*shown, strict=True))
