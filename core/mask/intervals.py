"""A mask as the key intervals of its rows: exact at any length, never a ``Tq x S`` array."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.mask.spec import document_starts, only_row, prefix_end, query_positions
from core.types import MaskSpec, Reason


@dataclass(frozen=True, eq=False)
class RowIntervals:
    """Half-open key intervals that a query row may read, sorted by row.

    Attributes
    ----------
    shape : ``(Tq, S)``.
    rows : int32 ``[n]``, the query row of each interval, ascending. A row may own several
        disjoint intervals; one that owns none may read nothing.
    lo, hi : int32 ``[n]``, the first readable key and the first one after it; never empty.

    Raises
    ------
    ValueError
        where the arrays differ in length, or an interval is empty, outside ``shape`` or unsorted.
    """

    shape: tuple[int, int]
    rows: NDArray[np.int32] = field(repr=False)
    lo: NDArray[np.int32] = field(repr=False)
    hi: NDArray[np.int32] = field(repr=False)

    def __post_init__(self) -> None:
        if not len(self.rows) == len(self.lo) == len(self.hi):
            raise ValueError(
                f"rows, lo and hi have {len(self.rows)}, {len(self.lo)} and {len(self.hi)}"
                " entries, but must be of one length."
            )
        queries, keys = self.shape
        if len(self.rows) == 0:
            return
        if np.any(np.diff(self.rows) < 0) or self.rows[0] < 0 or self.rows[-1] >= queries:
            raise ValueError(f"rows must ascend between 0 and {queries - 1}.")
        if np.any(self.lo >= self.hi) or self.lo.min() < 0 or self.hi.max() > keys:
            raise ValueError(f"intervals must hold a key and lie between 0 and {keys}.")

    @classmethod
    def from_dense(cls, mask: NDArray[np.bool_]) -> RowIntervals:
        """Intervals of a bool array ``[Tq, S]``, True = may read."""
        walled = np.pad(mask, ((0, 0), (1, 1)))
        rows, edges = np.nonzero(walled[:, 1:] != walled[:, :-1])
        # Edges of a row alternate: up, down, up, down.
        return cls(
            (mask.shape[0], mask.shape[1]),
            rows[::2].astype(np.int32),
            edges[::2].astype(np.int32),
            edges[1::2].astype(np.int32),
        )

    def dense(self) -> NDArray[np.bool_]:
        """Bool array ``[Tq, S]``, True = may read."""
        queries, keys = self.shape
        steps = np.zeros((queries, keys + 1), np.int8)
        np.add.at(steps, (self.rows, self.lo), 1)
        np.add.at(steps, (self.rows, self.hi), -1)
        return np.cumsum(steps, axis=1, dtype=np.int8)[:, :keys] > 0

    def count(self) -> int:
        """Allowed (query, key) pairs."""
        return int(np.sum(self.hi, dtype=np.int64) - np.sum(self.lo, dtype=np.int64))

    def column_counts(self) -> NDArray[np.int64]:
        """Queries that may read each key, int64 ``[S]``."""
        keys = self.shape[1]
        steps = np.bincount(self.lo, minlength=keys + 1) - np.bincount(self.hi, minlength=keys + 1)
        return np.cumsum(steps, dtype=np.int64)[:keys]

    def row(self, r: int) -> list[tuple[int, int]]:
        """Intervals ``(lo, hi)`` of query row ``r``, left to right."""
        first, last = np.searchsorted(self.rows, (r, r + 1))
        return list(zip(self.lo[first:last].tolist(), self.hi[first:last].tolist(), strict=True))

    def empty_rows(self) -> NDArray[np.int64]:
        """Query rows that may read nothing, int64, ascending."""
        owned = np.bincount(self.rows, minlength=self.shape[0])
        return np.flatnonzero(owned == 0).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Bound:
    """What one rule leaves open in each query row: ``lo <= key < hi``, int64 or int ``[Tq]``."""

    reason: Reason
    lo: NDArray[np.int64] | int
    hi: NDArray[np.int64] | int


def row_intervals(spec: MaskSpec, b: int = 0) -> RowIntervals:
    """Intervals of batch row ``b`` in closed form; every `MaskSpec` has at most one per row.

    Time and memory are O(Tq).
    """
    lo = np.zeros(spec.length, np.int64)
    hi = np.full(spec.length, spec.keys, np.int64)
    for bound in _bounds(spec, b):
        lo, hi = np.maximum(lo, bound.lo), np.minimum(hi, bound.hi)
    return _intervals((spec.length, spec.keys), np.arange(spec.length), lo, hi)


def reason_counts(spec: MaskSpec, b: int = 0) -> dict[Reason, int]:
    """Cells of batch row ``b`` by reason, every `Reason` included; they add up to ``Tq * S``.

    Each rule is told the cells that it takes from what the rules before it left open, so the
    counts are differences of nested intersections: O(Tq).
    """
    counts = dict.fromkeys(Reason, 0)
    lo = np.zeros(spec.length, np.int64)
    hi = np.full(spec.length, spec.keys, np.int64)
    left_open = spec.length * spec.keys
    for bound in _bounds(spec, b):
        lo, hi = np.maximum(lo, bound.lo), np.minimum(hi, bound.hi)
        now = int(np.maximum(hi - lo, 0).sum())
        counts[bound.reason] = left_open - now
        left_open = now
    counts[Reason.OPEN] = left_open
    return counts


def reason_intervals(spec: MaskSpec, b: int = 0) -> dict[Reason, RowIntervals]:
    """The key intervals of batch row ``b`` by reason, every `Reason` included: O(Tq).

    Each cell lies in exactly one of them, that of the `Reason` it is told.
    """
    shape = (spec.length, spec.keys)
    rows = np.arange(spec.length)
    lo = np.zeros(spec.length, np.int64)
    hi = np.full(spec.length, spec.keys, np.int64)
    empty = _intervals(shape, rows[:0], lo[:0], hi[:0])
    found = dict.fromkeys(Reason, empty)
    for bound in _bounds(spec, b):
        # What was open falls into a part before, the part that stays open, and a part after.
        first = np.clip(bound.lo, lo, np.maximum(lo, hi))
        last = np.clip(bound.hi, first, np.maximum(first, hi))
        found[bound.reason] = _intervals(
            shape,
            np.repeat(rows, 2),
            np.stack([lo, last], 1).ravel(),
            np.stack([first, hi], 1).ravel(),
        )
        lo, hi = first, last
    found[Reason.OPEN] = _intervals(shape, rows, lo, hi)
    return found


def _intervals(
    shape: tuple[int, int], rows: NDArray[np.int64], lo: NDArray[np.int64], hi: NDArray[np.int64]
) -> RowIntervals:
    """The intervals that hold a key."""
    some = lo < hi
    return RowIntervals(
        shape,
        rows[some].astype(np.int32),
        lo[some].astype(np.int32),
        hi[some].astype(np.int32),
    )


def _bounds(spec: MaskSpec, b: int) -> list[_Bound]:
    """The layers of `core.mask.spec.layers` as intervals, in the order in which they are told.

    Except that BEYOND_CACHE comes before PADDING: no slot is both, so the order between the two
    is free, and only this one keeps the rest a single interval.
    """
    spec = only_row(spec, b)
    q = query_positions(spec)
    bounds = [
        _Bound(Reason.BEYOND_CACHE, 0, spec.filled),
        _Bound(Reason.PADDING, spec.left_pad[0], spec.filled - spec.right_pad[0]),
    ]
    if spec.documents:
        edges = np.array([0, *document_starts(spec, 0), spec.keys])
        number = np.searchsorted(edges[1:-1], q, side="right")
        bounds.append(_Bound(Reason.OTHER_DOCUMENT, edges[number], edges[number + 1]))
    if spec.window is not None:
        width = min(spec.window, spec.filled)
        ahead = spec.keys if spec.kind.is_causal else q + width
        bounds.append(_Bound(Reason.OUTSIDE_WINDOW, q - width + 1, ahead))
    if spec.kind.is_causal:
        end = prefix_end(spec, 0) if spec.prefix else 0
        bounds.append(_Bound(Reason.FUTURE, 0, np.where(q < end, end, q + 1)))
    return bounds
