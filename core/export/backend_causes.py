"""Why a backend parts from the reference: guesses that are checked in numbers, then told."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Rows = NDArray[np.bool_]
TOLERANCE = 1e-5
"""The largest difference that is rounding: outputs are about 1, and float32 errs by about 1e-6."""
_MOST_RANGES = 3


@dataclass(frozen=True)
class Case:
    """One mask with random numbers for it.

    ``query`` ``[H, Tq, d]``, ``key`` and ``value`` ``[H, S, d]``; ``mask`` bool ``[Tq, S]``, True =
    may read. ``past`` is added to a row to name its query; ``causal`` is True where the mask is
    meant as causal order, other rules on top or not.
    """

    query: Array
    key: Array
    value: Array
    mask: NDArray[np.bool_]
    past: int
    causal: bool

    def under(self, mask: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Output ``[H, Tq, d]`` under a mask ``[Tq, S]``: loops that gather what may be read."""
        query, key, value = (x.astype(np.float64) for x in (self.query, self.key, self.value))
        output = np.zeros(query.shape)
        for row, allowed in enumerate(mask):
            if allowed.any():
                for head in range(len(query)):
                    scores = key[head, allowed] @ query[head, row] / math.sqrt(query.shape[-1])
                    weights = np.exp(scores - scores.max())
                    output[head, row] = weights / weights.sum() @ value[head, allowed]
        return output


def differences(output: Array, wanted: NDArray[np.float64]) -> Array:
    """Largest absolute difference of each query, float32 ``[Tq]``; NaN for what is not finite."""
    apart = np.abs(output - wanted).max(axis=(0, 2)).astype(np.float32)
    return np.where(np.isfinite(apart), apart, np.float32(np.nan))


def sentence(case: Case, output: Array, apart: Rows) -> str:
    """Where a backend's ``output`` ``[H, Tq, d]`` parts and why, or "agrees".

    ``apart`` bool ``[Tq]`` marks the queries that differ. Each of them is told the cause that
    explains the most of them.
    """
    if not apart.any():
        return "agrees"
    found = [(words, explains(case, output) & apart) for words, explains in _CAUSES.items()]
    left, told = apart.copy(), []
    for words, explained in sorted(found, key=_not_explained):
        here = explained & left
        if here.any():
            square = case.mask.shape[0] == case.mask.shape[1]
            shown = _TOP_LEFT if words == _TRIANGLE and not square else words
            told.append(f"{queries(here, case.past)} {_verb(words, here)}: {shown}")
            left &= ~explained
    if left.any():
        told.append(f"{queries(left, case.past)} {_verb('', left)} for a reason that is not known")
    return "; ".join(told)


def _verb(words: str, rows: Rows) -> str:
    if words in (_NAN, _MEAN):
        return "may read nothing"
    return "differs" if rows.sum() == 1 else "differ"


def _not_explained(cause: tuple[str, Rows]) -> int:
    return -int(cause[1].sum())


def queries(rows: Rows, past: int) -> str:
    """Query rows in words, by position: ``query 3``, ``queries 0 to 2 and 7``."""
    ranges = list(_ranges((np.flatnonzero(rows) + past).tolist()))
    if len(ranges) > _MOST_RANGES:
        return f"{rows.sum()} queries from {ranges[0][0]} on"
    words = [str(a) if a == b else f"{a} to {b}" for a, b in ranges]
    listed = " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)
    return f"{'query' if rows.sum() == 1 else 'queries'} {listed}"


def _ranges(positions: list[int]) -> Iterator[tuple[int, int]]:
    for _, run in groupby(enumerate(positions), key=lambda pair: pair[1] - pair[0]):
        members = [position for _, position in run]
        yield members[0], members[-1]


def _near(case: Case, output: Array, mask: NDArray[np.bool_]) -> Rows:
    """Bool ``[Tq]``: the output is the one under ``mask``, or NaN where that row is closed."""
    near = differences(output, case.under(mask)) <= TOLERANCE
    return near | (_broken(output) & ~mask.any(axis=1))


def _broken(output: Array) -> Rows:
    return np.isnan(differences(output, np.zeros(1)))


def _is_nan(case: Case, output: Array) -> Rows:
    return _broken(output) & ~case.mask.any(axis=1)


def _is_mean(case: Case, output: Array) -> Rows:
    mean = case.value.mean(axis=1, keepdims=True, dtype=float)
    return (differences(output, mean) <= TOLERANCE) & ~case.mask.any(axis=1)


def _is_triangle(case: Case, output: Array) -> Rows:
    return _near(case, output, np.tri(*case.mask.shape, dtype=np.bool_))


def _is_inverted(case: Case, output: Array) -> Rows:
    return _near(case, output, ~case.mask)


def _is_unmasked(case: Case, output: Array) -> Rows:
    return _near(case, output, np.ones_like(case.mask))


_NAN = "NaN is returned, the softmax of minus infinity alone"
_MEAN = "the mean of all values is returned, those of closed keys included"
_TRIANGLE = "a triangle is all that is read, without padding, window or documents"
_TOP_LEFT = "the triangle is aligned to the top left, whatever is cached"
_CAUSES: dict[str, Callable[[Case, Array], Rows]] = {
    _NAN: _is_nan,
    _MEAN: _is_mean,
    _TRIANGLE: _is_triangle,
    "True means blocked here, so what the mask closes is read": _is_inverted,
    "every key is read, closed or not": _is_unmasked,
}
"""What may have happened, and which queries of an output it explains."""
