"""One head's attention as a figure, on the axes of its mask."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.figure.axes import Axis, Box, heatmap
from core.figure.keys import ROOT_TICKS, color_bar, legend, reason_swatches
from core.figure.mask import closed_cells, described, mask_axes
from core.figure.page import flowed, page, room
from core.figure.runs import painted
from core.figure.style import ONE_COLUMN, Style, diverging
from core.mask.intervals import reason_counts
from core.pooling import block_maximum
from core.types import MaskSpec, Reason
from core.types.figure import Figure, Mark

FINEST = 0.5
"""Cells smaller than this many points are drawn in blocks, each as its largest weight."""


def attention_figure(
    pattern: NDArray[np.floating],
    spec: MaskSpec | None = None,
    row: int = 0,
    queries: Sequence[str] = (),
    keys: Sequence[str] = (),
    *,
    style: Style = ONE_COLUMN,
) -> Figure:
    """The weights ``pattern`` ``[Tq, S]``, each 0 to 1, in colour over their square root.

    Closed cells of batch row ``row`` of ``spec`` are hatched by reason, so that none is taken for
    a weight of zero; None hatches nothing. Colours are the 256 of the style's map.

    Raises
    ------
    ValueError
        where pattern, mask and labels do not fit each other, or weights are not from 0 to 1.
    """
    shape = checked(pattern, "pattern")
    parameters: dict[str, str] = {}
    closed: list[Reason] = []
    rows = Axis(shape[0], tuple(queries), name="query")
    cols = Axis(shape[1], tuple(keys), name="key")
    if spec is not None:
        if (spec.length, spec.keys) != shape:
            raise ValueError(
                f"pattern is {shape[0]} x {shape[1]}, but must be {spec.length} x {spec.keys} like"
                " the mask it was read under."
            )
        parameters = described(spec, row)
        counts = reason_counts(spec, row)
        closed = [one for one in Reason if one is not Reason.OPEN and counts[one]]
        rows, cols = mask_axes(spec, row, queries, keys)
    bar = color_bar(style, style.map, ROOT_TICKS, "attention weight")
    swatches = reason_swatches(closed, quiet=True)
    below = flowed(style, (bar, legend(style, swatches, style.width - 8.0)))

    def paint(box: Box) -> list[Mark]:
        marks = weight_cells(style, np.sqrt(np.clip(pattern, 0.0, 1.0)), box)
        return marks if spec is None else [*marks, *closed_cells(style, spec, row, box, quiet=True)]

    block, box = heatmap(style, rows, cols, room(style, (below,)), paint)
    step = block_of(box)
    if step != (1, 1):
        parameters |= {"cells drawn": f"the largest of each {step[0]} x {step[1]}"}
    return page(style, (block, below), parameters)


def checked(matrix: NDArray[np.floating], name: str, *, low: float = 0.0) -> tuple[int, int]:
    """Rows and columns of a matrix; ValueError unless it has cells, each from ``low`` to 1."""
    if matrix.ndim != 2 or not matrix.size:
        raise ValueError(
            f"{name} has the shape {list(matrix.shape)}, but must have rows and columns."
        )
    least, most = float(matrix.min()), float(matrix.max())
    if not (least >= low - 1e-3 and most <= 1.0 + 1e-3):
        raise ValueError(
            f"{name} has values from {least:.4g} to {most:.4g}, but they must be from {low:g} to 1."
        )
    return matrix.shape[0], matrix.shape[1]


def block_of(box: Box) -> tuple[int, int]:
    """How many rows and columns are drawn as one cell."""
    return (
        max(1, int(np.ceil(FINEST / box.cell[1] - 1e-9))),
        max(1, int(np.ceil(FINEST / box.cell[0] - 1e-9))),
    )


def weight_cells(
    style: Style,
    share: NDArray[np.floating],
    box: Box,
    *,
    ends: tuple[float, float] | None = None,
) -> list[Mark]:
    """Cells in the colours of the style's map; ``share`` ``[Tq, S]`` of the map, 0 to 1.

    Nothing is painted beyond ``ends``, the right and bottom edge; None means those of the box.
    """
    levels = np.round(block_maximum(np.asarray(share), *block_of(box)) * 255.0).astype(np.int64)
    return _blocks(levels, style.map, box, ends or (box.right, box.bottom))


def signed_cells(style: Style, share: NDArray[np.floating], box: Box) -> list[Mark]:
    """Cells in two colours; ``share`` ``[Tq, n]`` of the diverging map, -1 to 1.

    A block of cells has its number farthest from zero.
    """
    step = block_of(box)
    high, low = block_maximum(np.asarray(share), *step), block_maximum(-np.asarray(share), *step)
    far = np.clip(np.where(high >= low, high, -low), -1.0, 1.0)
    levels = np.round(far * 127.0).astype(np.int64) + 127
    return _blocks(levels, diverging(style.map_name), box, (box.right, box.bottom))


def _blocks(
    levels: NDArray[np.int64], colors: NDArray[np.uint8], box: Box, ends: tuple[float, float]
) -> list[Mark]:
    """Blocks of cells in ``colors``; those at the ends are cut where the axes end."""
    step = block_of(box)
    cell = (box.cell[0] * step[1], box.cell[1] * step[0])
    marks: list[Mark] = []
    for mark in painted(levels, colors, box.corner, cell):
        mark.rects[:, 2] = np.minimum(mark.rects[:, 2], ends[0] - mark.rects[:, 0])
        mark.rects[:, 3] = np.minimum(mark.rects[:, 3], ends[1] - mark.rects[:, 1])
        marks.append(mark)
    return marks
