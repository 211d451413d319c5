"""Whether a model keeps to its mask: what is asked, and what each check found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from core.types.jobs import Job
from core.types.messages import RunRequest
from core.types.models import Stack
from core.types.wording import counted

COLUMNS = ("check", "verdict", "difference", "allowed", "what was found")
"""What stands above a table of checks; `Check.cells` is a line of it."""


class Verdict(str, Enum):
    """REFUSED: these sizes, or this family, cannot tell right from wrong."""

    PASS = "PASS"
    FAIL = "FAIL"
    REFUSED = "REFUSED"

    @property
    def word(self) -> str:
        """What is read of it: PASS, FAIL or NOT SHOWN."""
        return "NOT SHOWN" if self is Verdict.REFUSED else self.value


@dataclass(frozen=True)
class Place:
    """Where two runs first part; layer and head count from 0, None where only the output differs.

    ``position`` counts the tokens of the text that ``stack`` reads, pads left out.
    """

    position: int
    stack: Stack | None = None
    layer: int | None = None
    head: int | None = None

    def sentence(self) -> str:
        """The place in words, layers and heads counted from 1."""
        if self.stack is None or self.layer is None or self.head is None:
            return f"the output at position {self.position}"
        return (
            f"{self.stack.value} layer {self.layer + 1}, head {self.head + 1},"
            f" position {self.position}"
        )


@dataclass(frozen=True)
class Check:
    """One check: its verdict, the largest absolute difference (None: not measured), and why.

    ``sentence`` says what was done and what came out; ``place`` is where a FAIL first shows.
    """

    name: str
    verdict: Verdict
    sentence: str
    difference: float | None = None
    tolerance: float | None = None
    place: Place | None = None

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """The check in words, one for each of `COLUMNS`; what was not measured is empty."""
        difference, allowed = _number(self.difference), _number(self.tolerance)
        return self.name, self.verdict.word, difference, allowed, self.sentence


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1e}" if value else "0"


@dataclass(frozen=True)
class CheckReport:
    """All checks of one model under one mask."""

    model: str
    engine: str
    mask: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """True where no check failed, and one at least could be shown."""
        verdicts = {check.verdict for check in self.checks}
        return Verdict.PASS in verdicts and Verdict.FAIL not in verdicts

    def sentence(self) -> str:
        """The report in a line."""
        count = {v: sum(check.verdict is v for check in self.checks) for v in Verdict}
        line = f"{counted(count[Verdict.PASS], 'check')} passed, {count[Verdict.FAIL]} failed"
        refused = count[Verdict.REFUSED]
        return line + (f", {refused} cannot be shown here" if refused else "")


@dataclass(frozen=True)
class CheckJob(Job):
    """Check the model of ``run`` on the text and the mask of its shown row.

    ``names`` limits the checks; empty means all of them.
    """

    run: RunRequest
    names: tuple[str, ...] = ()
