"""From cells to few rectangles: equal neighbours become one, first along a row, then down."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from core.mask.intervals import RowIntervals
from core.types.colors import Rgb
from core.types.figure import Cells

Blocks = NDArray[np.int64]
"""int64 ``[n, 4]``: first row, last row + 1, first column, last column + 1."""


def runs(codes: NDArray[np.integer]) -> Iterator[tuple[int, Blocks]]:
    """The cells of each code of ``codes`` ``[R, C]`` as blocks that cover them exactly once."""
    rows, columns = codes.shape
    if not codes.size:
        return
    edge = np.ones((rows, columns), np.bool_)
    edge[:, 1:] = codes[:, 1:] != codes[:, :-1]
    row, lo = np.nonzero(edge)
    hi = np.append(lo[1:], columns)
    hi[hi == 0] = columns
    values = codes[row, lo]
    order = np.argsort(values, kind="stable")
    found, starts = np.unique(values[order], return_index=True)
    for value, mine in zip(found.tolist(), np.split(order, starts[1:]), strict=True):
        yield int(value), stacked(row[mine], lo[mine], hi[mine])


def stacked(row: NDArray[np.integer], lo: NDArray[np.integer], hi: NDArray[np.integer]) -> Blocks:
    """Row intervals ``lo <= column < hi``, each ``[n]``; equal ones of rows in turn are joined."""
    order = np.lexsort((row, hi, lo))
    row, lo, hi = (part[order].astype(np.int64) for part in (row, lo, hi))
    first = np.ones(len(row), np.bool_)
    first[1:] = (np.diff(row) != 1) | (np.diff(lo) != 0) | (np.diff(hi) != 0)
    last = np.append(first[1:], True)[: len(row)]
    return np.stack([row[first], row[last] + 1, lo[first], hi[first]], axis=1)


def of_intervals(intervals: RowIntervals) -> Blocks:
    """The cells of some row intervals as blocks."""
    return stacked(intervals.rows, intervals.lo, intervals.hi)


def painted(
    codes: NDArray[np.integer],
    colors: NDArray[np.uint8],
    corner: tuple[float, float],
    cell: tuple[float, float],
) -> list[Cells]:
    """The cells of ``codes`` ``[R, C]`` in ``colors`` ``[n, 3]``, one mark for each colour.

    The commonest code is one rectangle behind all others. ``corner`` is x, y and ``cell`` width,
    height, in points. A negative code is left bare.
    """
    rows, columns = codes.shape
    told = {code: blocks for code, blocks in runs(codes) if code >= 0}
    whole = not np.any(codes < 0)
    ground = int(np.bincount(codes.ravel()).argmax()) if whole and codes.size else -1
    if ground >= 0:
        told = {ground: np.array([[0, rows, 0, columns]])} | {
            code: blocks for code, blocks in told.items() if code != ground
        }
    return [Cells(placed(blocks, corner, cell), rgb(colors[code])) for code, blocks in told.items()]


def rgb(color: NDArray[np.uint8]) -> Rgb:
    """A row of a map as a colour."""
    red, green, blue = color.tolist()
    return red, green, blue


def placed(
    blocks: Blocks, corner: tuple[float, float], cell: tuple[float, float]
) -> NDArray[np.float64]:
    """Blocks as rectangles x, y, width, height in points, float64 ``[n, 4]``."""
    top, bottom, left, right = blocks.T
    x, y = corner[0] + left * cell[0], corner[1] + top * cell[1]
    return np.stack([x, y, (right - left) * cell[0], (bottom - top) * cell[1]], axis=1)
