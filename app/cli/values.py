"""Values of command line options, read with a sentence for each way to go wrong."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any, NoReturn

MOST = 65_536
"""The most queries, keys or pads of a mask that an option takes."""


class UsageError(ValueError):
    """The command line cannot be understood; the message is a sentence."""


class _Once(argparse.Action):
    """Keeps the value of an option, and refuses a second one."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Set the value."""
        given = vars(namespace).setdefault("given_once", set())
        if option_string is not None and self.dest in given:
            raise argparse.ArgumentError(self, "it is given twice, but only one can be")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """A parser that raises `UsageError` where argparse prints its usage and exits.

    Options are written out: a new one shall not make an abbreviation ambiguous. One that takes a
    single value is taken once.
    """

    def __init__(self, **given: Any) -> None:
        super().__init__(allow_abbrev=False, **given)
        self.register("action", None, _Once)

    def error(self, message: str) -> NoReturn:
        """Raise what went wrong and where the help is."""
        plain = message.removeprefix("argument ").rstrip(".")
        joined = "a value is missing; one that begins with - is joined by =, as in --option=-1"
        plain = plain.replace("expected one argument", joined)
        raise UsageError(f"{plain}; `{self.prog} --help` tells what can be given.")


def whole(low: int, high: int | None = None) -> Callable[[str], int]:
    """A type for whole numbers from ``low`` to ``high``."""
    allowed = f"from {low} to {high:,}" if high is not None else f"of {low} or more"

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = low - 1
        if number < low or (high is not None and number > high):
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number {allowed}")
        return number

    return parse


def whole_list(text: str) -> tuple[int, ...]:
    """A type for whole numbers from 0 to `MOST` with commas between them, such as ``3,2,1``."""
    try:
        return tuple(map(whole(0, MOST), text.split(",")))
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of whole numbers from 0 to {MOST:,}, such as 3,2,1"
        ) from None


def decimal(text: str) -> float:
    """A type for finite numbers."""
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number such as 0.8")
    return float(text)


def pixels(text: str) -> tuple[int, int]:
    """A type for the size of a window, such as ``1280x800``."""
    match = re.fullmatch(r"(\d{3,4})x(\d{3,4})", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size in pixels such as 1280x800")
    return int(match[1]), int(match[2])


def length(text: str) -> tuple[float, str]:
    """A type for lengths, such as ``3.5in``, ``89mm``, ``252pt`` or ``1200px``: number and unit."""
    match = re.fullmatch(r"(\d{1,6}\.?\d{0,6}|\.\d{1,6})(in|mm|pt|px)", text)
    if match is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a length such as 3.5in, 89mm, 252pt or 1200px"
        )
    return float(match[1]), match[2]
