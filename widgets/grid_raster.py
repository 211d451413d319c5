"""Cells to pixels: reason codes per block, hatches per device pixel, one indexed picture.

A picture is made at device resolution as bytes: even an exact view of 65 536 columns costs only
the pixels that it covers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor, QImage

from core.mask.cover import BlockCover
from core.mask.intervals import RowIntervals, row_intervals
from core.mask.reasons import reason_grid
from core.types import MaskSpec, Reason
from widgets.grid_geometry import AxisMap, GridFrame, axis_map
from widgets.palette import HATCH_PERIOD, Theme, hatch_bits, mix, reason_pair

Bytes = NDArray[np.uint8]

CLOSED_BASE = 224
"""First palette entry of the closed cells: ground and hatch line of each reason in turn."""

GAP = 255
"""Palette entry of the hairline between cells."""


@dataclass(frozen=True)
class Blocks:
    """What the blocks of one frame hold.

    ``counts`` and ``area`` are open and all cells of each block ``[R, C]``, ``reasons`` uint8
    ``[R, C]`` the reason of a closed block (of the closed part, in a partial one).
    """

    down: AxisMap
    across: AxisMap
    counts: NDArray[np.int32] | NDArray[np.int64]
    area: NDArray[np.int32] | NDArray[np.int64]
    reasons: Bytes


@dataclass(frozen=True)
class MaskRow:
    """The batch row of a mask under which numbers were computed."""

    spec: MaskSpec
    row: int

    @cached_property
    def intervals(self) -> RowIntervals:
        """Its open cells."""
        return row_intervals(self.spec, self.row)


def axes_of(frame: GridFrame) -> tuple[AxisMap, AxisMap]:
    """Return the maps of the rows and of the columns of a frame."""
    wide, high = frame.device_size
    return (
        axis_map(frame.row, frame.cell, frame.rows, high, frame.dpr),
        axis_map(frame.col, frame.cell, frame.cols, wide, frame.dpr),
    )


@lru_cache(maxsize=4)
def _cover(rows: int, cols: int) -> BlockCover:
    return BlockCover(rows, cols)


def mask_blocks(spec: MaskSpec, row: int, intervals: RowIntervals, frame: GridFrame) -> Blocks:
    """Count the open cells of every block of `frame` exactly, and name the closed ones.

    The arrays are good until the next call.
    """
    down, across = axes_of(frame)
    view = (down.first, down.last, across.first, across.last)
    counts, area = _cover(down.blocks, across.blocks).cover(intervals, view)
    reasons = reason_grid(spec, row, down.edges()[:-1], _key_samples(spec, row, across))
    return Blocks(down, across, counts, area, reasons)


def _key_samples(spec: MaskSpec, row: int, across: AxisMap) -> NDArray[np.intp]:
    """Return one key for each block: its last one, but a left pad where there is one."""
    edges = across.edges()
    sampled: NDArray[np.intp] = np.where(edges[:-1] < spec.left_pad[row], edges[:-1], edges[1:] - 1)
    return sampled


@lru_cache(maxsize=4)
def _hatch(high: int, wide: int, scale: int) -> Bytes:
    tile = hatch_bits().repeat(scale, axis=0).repeat(scale, axis=1)
    side = HATCH_PERIOD * scale
    return np.tile(tile, (-(-high // side), -(-wide // side)))[:high, :wide].copy()


def closed_codes(frame: GridFrame, reasons: Bytes) -> Bytes:
    """Return the palette entries of closed pixels ``[high, wide]`` from their `reasons`."""
    wide, high = frame.device_size
    codes: Bytes = np.right_shift(_hatch(high, wide, max(1, round(frame.dpr))), reasons)
    codes &= np.uint8(1)
    codes |= np.left_shift(reasons, np.uint8(1))
    codes += np.uint8(CLOSED_BASE)
    return codes


def spread(blocks: Bytes, down: AxisMap, across: AxisMap) -> Bytes:
    """Return a block array ``[R, C]`` spread over device pixels."""
    if blocks.shape == (len(down.index), len(across.index)) and down.blocks == len(down.index):
        return blocks
    return blocks.take(across.index, axis=1).take(down.index, axis=0)


def pooled(values: NDArray[np.float32], down: AxisMap, across: AxisMap) -> NDArray[np.float32]:
    """Return the largest value of each block, float32 ``[R, C]``."""
    part = values[down.first : down.last, across.first : across.last]
    if part.shape == (down.blocks, across.blocks):
        return part
    return _fold(_fold(part, down).T, across).T


def _fold(values: NDArray[np.float32], axis: AxisMap) -> NDArray[np.float32]:
    """Return the maximum over each block of rows; by gathers, as `reduceat` is ten times slower."""
    edges = axis.edges() - axis.first
    first, last = edges[:-1], edges[1:] - 1
    most = values.take(first, axis=0)
    for step in range(1, int((last - first).max()) + 1):
        np.maximum(most, values.take(np.minimum(first + step, last), axis=0), out=most)
    return most


def cells_picture(
    levels: NDArray[np.floating], mask: MaskRow | None, table: list[int], frame: GridFrame
) -> QImage:
    """Return the blocks of a frame in the palette entries `levels` ``[R, C]``, rounded down.

    Blocks that `mask` closes are hatched with their reason instead; None closes nothing.
    """
    down, across = axes_of(frame)
    codes = spread(levels.astype(np.uint8), down, across)
    if mask is not None:
        blocks = mask_blocks(mask.spec, mask.row, mask.intervals, frame)
        closed = spread((blocks.counts == 0).view(np.uint8), down, across)
        codes = np.where(closed, closed_codes(frame, spread(blocks.reasons, down, across)), codes)
    return finish(codes, down, across, table, frame.dpr)


def finish(codes: Bytes, down: AxisMap, across: AxisMap, table: list[int], dpr: float) -> QImage:
    """Draw the gaps into `codes` ``[high, wide]`` and return the picture in 32 bits."""
    codes = np.ascontiguousarray(codes)
    codes[down.gap, :] = GAP
    codes[:, across.gap] = GAP
    high, wide = codes.shape
    indexed = QImage(codes.data, wide, high, wide, QImage.Format.Format_Indexed8)
    indexed.setColorTable(table)
    image = indexed.convertToFormat(QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(dpr)
    return image


def color_table(theme: Theme, colors: list[int], *, quiet: float = 1.0) -> list[int]:
    """Return 256 palette entries: `colors` first, then closed cells, then the gap.

    ``quiet`` below 1 fades the hatches towards the card.
    """
    table = [theme.card.rgb()] * 256
    table[: len(colors)] = colors
    for reason in Reason:
        if reason is Reason.OPEN:
            continue
        ground, line = reason_pair(reason, theme)
        if quiet < 1.0:
            ground = _fade(theme, ground.rgb(), quiet * 0.75)
            line = _fade(theme, line.rgb(), quiet)
        table[CLOSED_BASE + 2 * reason] = ground.rgb()
        table[CLOSED_BASE + 2 * reason + 1] = line.rgb()
    table[GAP] = theme.card.rgb()
    return table


def _fade(theme: Theme, color: int, share: float) -> QColor:
    return mix(theme.card, QColor(color), share)
