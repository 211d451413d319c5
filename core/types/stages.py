"""One head, step by step: from dot products to what it hands on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.types.jobs import Job
from core.types.messages import RunRequest
from core.types.models import HeadRef

MOST_TERMS = 10
"""The most keys that are written out in an equation."""
SHOWN_FEATURES = 4
"""The most features of an output that are written out."""

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class StagesJob(Job):
    """Ask for the steps of one head in a run; ``run.head`` is of no matter."""

    run: RunRequest
    head: HeadRef


@dataclass(frozen=True, eq=False)
class Stages:
    """What one head does with one batch row.

    Attributes
    ----------
    width : features ``d`` of the head, whose root divides the scores.
    scores, scaled : float32 ``[Tq, S]``, ``q · k`` and the same over the root of ``d``; closed
        cells too, as the mask comes later.
    mask : bool ``[Tq, S]``, True = may read.
    weights : float32 ``[Tq, S]``, the softmax over the open cells; 0 where closed, and in a row
        that may read nothing.
    values, output : float32 ``[S, d]`` and ``[Tq, d]``, the weighted values before the output
        matrix; None where the engine hands out no values.
    late_weights, late_output : the same with the mask put on after the softmax, which is a mistake:
        such a row adds up to less than 1.
    notes : sentences about what could not be had.
    """

    generation: int
    head: HeadRef
    width: int
    scores: Floats = field(repr=False)
    scaled: Floats = field(repr=False)
    mask: NDArray[np.bool_] = field(repr=False)
    weights: Floats = field(repr=False)
    values: Floats | None = field(repr=False)
    output: Floats | None = field(repr=False)
    late_weights: Floats = field(repr=False)
    late_output: Floats | None = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def masked(self) -> Floats:
        """The scaled scores, float32 ``[Tq, S]``, and -inf where closed."""
        return np.where(self.mask, self.scaled, np.float32(-np.inf))

    def equation(self, row: int, keys: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Each step of a query row with its numbers, as (name, line); ``keys`` are ``S`` tokens.

        At most `MOST_TERMS` keys are written, those with the largest weights; "…" stands for the
        rest.
        """
        shown = self._shown(row)
        rest = ", …" if len(shown) < self.mask.shape[1] else ""

        def listed(values: Floats) -> str:
            return ", ".join(_number(float(values[row, k])) for k in shown) + rest

        tokens = ", ".join(keys[k] for k in shown) + rest
        lines = [
            ("keys", tokens),
            ("scores", f"q · k = [{listed(self.scores)}]"),
            ("scaled", f"q · k / √{self.width} = [{listed(self.scaled)}]"),
            ("masked", f"[{listed(self.masked)}]"),
        ]
        if not self.mask[row].any():
            return (
                *lines,
                ("softmax", "no key may be read: every weight is 0"),
                ("output", "0 in every feature"),
            )
        lines.append(("softmax", f"softmax({listed(self.masked)}) = [{listed(self.weights)}]"))
        if self.output is not None:
            lines.append(("output", f"{self._sum(row, shown, keys)} = {_vector(self.output[row])}"))
        late = f"[{listed(self.late_weights)}]"
        total = _number(float(self.late_weights[row].sum()))
        if self.late_output is not None:
            late += f", output {_vector(self.late_output[row])}"
        if not self.mask[row].all():
            lines.append(("too late", f"masked after it: {late}, adds up to {total} and not to 1"))
        return tuple(lines)

    def _shown(self, row: int) -> list[int]:
        """The keys that are written out, in their order."""
        count = self.mask.shape[1]
        if count <= MOST_TERMS:
            return list(range(count))
        best = np.argsort(-self.weights[row], kind="stable")[:MOST_TERMS]
        return sorted(best.tolist())

    def _sum(self, row: int, shown: list[int], keys: Sequence[str]) -> str:
        open_keys = [k for k in shown if self.mask[row, k]]
        terms = [f"{_number(float(self.weights[row, k]))} v({keys[k]})" for k in open_keys]
        more = " + …" if len(open_keys) < int(self.mask[row].sum()) else ""
        return " + ".join(terms) + more


def _vector(values: Floats) -> str:
    rest = ", …" if len(values) > SHOWN_FEATURES else ""
    return "[" + ", ".join(_number(float(v)) for v in values[:SHOWN_FEATURES]) + rest + "]"


def _number(value: float) -> str:
    """Three digits, and no more of them than a reader wants."""
    if value == -np.inf:
        return "−∞"
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "0") else text.replace("-", "−")
