"""Where the cells of a query × key square lie on the screen: pure arithmetic, no painting."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

MAX_CELL = 46.0
"""Side of the largest cell before zooming, in device-independent pixels."""

MAX_ZOOMED_CELL = 72.0

MOST_BLOCKS = 900
"""Most blocks along an axis whose cells are smaller than a device pixel."""


@dataclass(frozen=True)
class GridWindow:
    """The part of the square that is shown; shared between views of one size.

    ``zoom`` is 1 where everything fits; ``row`` and ``col`` are the first visible query row and
    key column (fractions allowed while dragging).
    """

    zoom: float = 1.0
    row: float = 0.0
    col: float = 0.0


@dataclass(frozen=True)
class Margins:
    """Room around the square for labels and the marginal bars, in device-independent pixels."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class GridFrame:
    """A `GridWindow` laid into a widget.

    ``x, y, width, height`` is the square in device-independent pixels, ``cell`` the side of a
    cell in the same unit and ``base`` that side at zoom 1; ``dpr`` is the device pixel ratio.
    """

    x: float
    y: float
    width: float
    height: float
    cell: float
    base: float
    row: float
    col: float
    rows: int
    cols: int
    dpr: float

    @property
    def device_size(self) -> tuple[int, int]:
        """Width and height of the square in device pixels."""
        return max(1, round(self.width * self.dpr)), max(1, round(self.height * self.dpr))

    @property
    def row_span(self) -> tuple[int, int]:
        """Half-open range of query rows that are at least partly visible."""
        return _span(self.row, self.height / self.cell, self.rows)

    @property
    def col_span(self) -> tuple[int, int]:
        """Half-open range of key columns that are at least partly visible."""
        return _span(self.col, self.width / self.cell, self.cols)

    def left_of(self, col: float) -> float:
        """Return the x of a column's left edge."""
        return self.x + (col - self.col) * self.cell

    def top_of(self, row: float) -> float:
        """Return the y of a row's upper edge."""
        return self.y + (row - self.row) * self.cell

    def cell_at(self, x: float, y: float) -> tuple[int, int] | None:
        """Return (query row, key column) under a point, None outside the square."""
        if not (self.x <= x < self.x + self.width and self.y <= y < self.y + self.height):
            return None
        row = floor(self.row + (y - self.y) / self.cell + 1e-9)
        col = floor(self.col + (x - self.x) / self.cell + 1e-9)
        if not (0 <= row < self.rows and 0 <= col < self.cols):
            return None
        return row, col

    def window(self, zoom: float) -> GridWindow:
        """Return the window that this frame shows at `zoom`."""
        return GridWindow(zoom, self.row, self.col)


@dataclass(frozen=True)
class AxisMap:
    """How device pixels along one axis map onto blocks of cells.

    ``first, last`` is the half-open range of cells, ``blocks`` the number of blocks it is cut
    into (`core.mask.cover` cuts likewise), ``index`` intp ``[pixels]`` the block under each
    pixel, ``gap`` bool ``[pixels]`` the pixels between two cells.
    """

    first: int
    last: int
    blocks: int
    index: NDArray[np.intp]
    gap: NDArray[np.bool_]

    def edges(self) -> NDArray[np.intp]:
        """Return the first cell of each block and the end, ``[blocks + 1]``."""
        steps = np.arange(self.blocks + 1, dtype=np.intp)
        edges: NDArray[np.intp] = self.first + steps * (self.last - self.first) // self.blocks
        return edges


def _span(first: float, count: float, total: int) -> tuple[int, int]:
    start = max(0, floor(first + 1e-9))
    return start, max(start + 1, min(total, ceil(first + count - 1e-9)))


def lay_out(
    size: tuple[float, float],
    shape: tuple[int, int],
    window: GridWindow,
    *,
    margins: Margins,
    dpr: float = 1.0,
) -> GridFrame:
    """Lay `shape` = (query rows, key columns) into a widget of `size` = (width, height).

    Cells are square. The square keeps to the upper left, so that two views of one shape line up.
    """
    rows, cols = shape
    room_w = max(8.0, size[0] - margins.left - margins.right)
    room_h = max(8.0, size[1] - margins.top - margins.bottom)
    base = base_cell((room_w, room_h), shape, dpr)
    cell = _whole(base * max(1.0, window.zoom), dpr)
    width = min(cell * cols, room_w)
    height = min(cell * rows, room_h)
    width, height = max(1.0, round(width * dpr)) / dpr, max(1.0, round(height * dpr)) / dpr
    row = min(max(0.0, window.row), max(0.0, rows - height / cell))
    col = min(max(0.0, window.col), max(0.0, cols - width / cell))
    if cell * dpr < 1.0:
        row, col = floor(row), floor(col)
    return GridFrame(
        margins.left,
        margins.top,
        width,
        height,
        cell=cell,
        base=base,
        row=row,
        col=col,
        rows=rows,
        cols=cols,
        dpr=dpr,
    )


def _whole(cell: float, dpr: float) -> float:
    """Return the side of a cell in whole device pixels, unless it has only a few of them."""
    return round(cell * dpr) / dpr if cell * dpr >= 5.0 else cell


def base_cell(room: tuple[float, float], shape: tuple[int, int], dpr: float) -> float:
    """Return the side of a cell at zoom 1: whole device pixels where there are some to spare."""
    cell = min(room[0] / shape[1], room[1] / shape[0], MAX_CELL)
    return floor(cell * dpr) / dpr if cell * dpr >= 5.0 else cell


def max_zoom(frame: GridFrame) -> float:
    """Return the zoom at which a cell has its largest useful size."""
    return max(1.0, MAX_ZOOMED_CELL / frame.base)


def zoomed(frame: GridFrame, window: GridWindow, factor: float, x: float, y: float) -> GridWindow:
    """Return the window after zooming by `factor` about the point (x, y), which stays put."""
    zoom = min(max(1.0, window.zoom * factor), max_zoom(frame))
    px = min(max(0.0, x - frame.x), frame.width)
    py = min(max(0.0, y - frame.y), frame.height)
    cell = _whole(frame.base * zoom, frame.dpr)
    row = frame.row + py / frame.cell - py / cell
    col = frame.col + px / frame.cell - px / cell
    if zoom == 1.0:
        return GridWindow()
    return GridWindow(zoom, max(0.0, row), max(0.0, col))


def revealing(frame: GridFrame, window: GridWindow, cell: tuple[int, int]) -> GridWindow:
    """Return the window moved just far enough to show `cell` in full."""
    across, down = frame.width / frame.cell, frame.height / frame.cell
    row = min(max(frame.row, cell[0] + 1 - down), cell[0])
    col = min(max(frame.col, cell[1] + 1 - across), cell[1])
    return GridWindow(window.zoom, max(0.0, row), max(0.0, col))


def axis_map(first: float, cell: float, total: int, pixels: int, dpr: float) -> AxisMap:
    """Map device `pixels` onto blocks of cells, from the (fractional) cell `first` on.

    Below one device pixel a cell each pixel is one block, so that no cell is skipped; along a
    very long axis two or more pixels share a block, which is as exact and keeps a frame short.
    """
    size = cell * dpr
    start, end = _span(first, pixels / size, total)
    gap = np.zeros(pixels, np.bool_)
    if size < 1.0 and end - start >= pixels:
        share = -(-pixels // MOST_BLOCKS)
        index = np.arange(pixels, dtype=np.intp) // share
        return AxisMap(start, end, int(index[-1]) + 1, index, gap)
    at = np.clip(np.floor(first + (np.arange(pixels) + 0.5) / size).astype(np.intp), start, end - 1)
    blocks = min(end - start, pixels)
    made = AxisMap(start, end, blocks, at - start, gap)
    index = np.searchsorted(made.edges(), at, side="right") - 1
    if size >= 6.0:
        gap[1:] = at[1:] != at[:-1]
    return AxisMap(start, end, blocks, index.astype(np.intp), gap)
