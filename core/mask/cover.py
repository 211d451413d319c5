"""Exact block cover: how many readable cells lie under each block of a picture."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from core.mask.intervals import RowIntervals

View: TypeAlias = tuple[int, int, int, int]
"""Cells ``(r0, r1, c0, c1)``: query rows ``r0 <= r < r1`` and key columns ``c0 <= c < c1``."""

Counts: TypeAlias = NDArray[np.signedinteger[Any]]


class BlockCover:
    """Cut a view of a mask into ``rows x cols`` blocks and count the readable cells of each.

    Nothing is sampled, so one visible column of 65 536 is never lost. The work is O(intervals +
    rows * cols). Arrays that it hands out are its own buffers: read them before the next call,
    and do not write into them.

    Attributes
    ----------
    row_edges, col_edges : int64 ``[rows + 1]`` and ``[cols + 1]``, in cells. Block ``(i, j)``
        covers query rows ``row_edges[i] .. row_edges[i + 1] - 1`` and key columns alike. Of the
        last view; empty before the first.

    Raises
    ------
    ValueError
        where ``rows`` or ``cols`` is below 1.
    """

    def __init__(self, rows: int, cols: int) -> None:
        if rows < 1 or cols < 1:
            raise ValueError(f"rows x cols is {rows} x {cols}, but must be at least 1 x 1.")
        self.rows = rows
        self.cols = cols
        self.row_edges: NDArray[np.int64] = np.empty(0, np.int64)
        self.col_edges: NDArray[np.int64] = np.empty(0, np.int64)
        self._view: View | None = None
        self._allocate(np.int32)
        self._states = np.empty((rows, cols), np.uint8)
        self._full = np.empty((rows, cols), np.bool_)

    def cover(self, intervals: RowIntervals, view: View) -> tuple[Counts, Counts]:
        """Readable cells and all cells of each block.

        Parameters
        ----------
        intervals : the mask.
        view : cells to show, at least one for each block. Cells outside the mask are closed.

        Returns
        -------
        counts, area : int32 ``[rows, cols]``; int64 where a block has 2**31 cells or more.

        Raises
        ------
        ValueError
            where the view has fewer cells than blocks along an axis.
        """
        if view != self._view:
            self._prepare(view)
        r0, r1, c0, c1 = view
        first, last = np.searchsorted(intervals.rows, (r0, r1))
        base = self._row_base[intervals.rows[first:last] - r0]
        self._net.fill(0)
        self._rest.fill(0)
        # An interval that starts inside a block covers the block less what lies before the
        # start, and every block after it in full; its end takes the same back.
        for edge, sign in ((intervals.lo, 1), (intervals.hi, -1)):
            cell = np.clip(edge[first:last], c0, c1) - c0
            at = base + self._block_of[cell]
            np.add.at(self._net.reshape(-1), at, self._net.dtype.type(sign))
            np.add.at(self._rest.reshape(-1), at, -sign * self._offset_in[cell])
        np.cumsum(self._net, axis=1, out=self._net)
        counts = np.multiply(self._net[:, : self.cols], self._widths, out=self._counts)
        counts += self._rest[:, : self.cols]
        return counts, self._area

    def states(self, intervals: RowIntervals, view: View) -> NDArray[np.uint8]:
        """``[rows, cols]``: 0 no cell of the block is readable, 1 some are, 2 all are.

        Arguments and errors as in `cover`.
        """
        counts, area = self.cover(intervals, view)
        np.greater(counts, 0, out=self._states.view(np.bool_))
        np.equal(counts, area, out=self._full)
        self._states += self._full.view(np.uint8)
        return self._states

    def _allocate(self, dtype: type[np.signedinteger[Any]]) -> None:
        # One column more than blocks: intervals that end with the view fall into it.
        self._net: Counts = np.empty((self.rows, self.cols + 1), dtype)
        self._rest: Counts = np.empty((self.rows, self.cols + 1), dtype)
        self._counts: Counts = np.empty((self.rows, self.cols), dtype)

    def _prepare(self, view: View) -> None:
        """Everything that depends on the view alone."""
        r0, r1, c0, c1 = view
        if r1 - r0 < self.rows or c1 - c0 < self.cols:
            raise ValueError(
                f"view has {r1 - r0} x {c1 - c0} cells, but must have at least"
                f" {self.rows} x {self.cols}, one for each block."
            )
        self.row_edges = r0 + np.arange(self.rows + 1, dtype=np.int64) * (r1 - r0) // self.rows
        self.col_edges = c0 + np.arange(self.cols + 1, dtype=np.int64) * (c1 - c0) // self.cols
        heights, widths = np.diff(self.row_edges), np.diff(self.col_edges)
        largest = int(heights.max()) * int(widths.max())
        dtype: type[np.signedinteger[Any]] = np.int32 if largest < 2**31 else np.int64
        if self._net.dtype != dtype:
            self._allocate(dtype)
        row_of = np.repeat(np.arange(self.rows), heights)
        self._row_base = row_of * (self.cols + 1)
        self._block_of = np.append(np.repeat(np.arange(self.cols), widths), self.cols)
        cells = np.arange(c0, c1 + 1)
        self._offset_in = (cells - self.col_edges[self._block_of]).astype(dtype)
        self._widths = widths.astype(dtype)
        self._area: Counts = heights[:, None].astype(dtype) * self._widths
        self._view = view
