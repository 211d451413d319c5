"""Two attention patterns and what sets them apart: A, B and A - B on the same axes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from core.figure.attention import checked, signed_cells, weight_cells
from core.figure.axes import Axis, Box
from core.figure.keys import ROOT_TICKS, color_bar, legend, reason_swatches, signed_bar
from core.figure.page import MARGIN, Block, flowed, page, room
from core.figure.panels import Panel, paneled
from core.figure.runs import placed, runs
from core.figure.style import ONE_COLUMN, REASON_HATCH, Style, reason_colors
from core.types import Reason
from core.types.figure import Cells, Figure, Mark


def difference_figure(
    first: NDArray[np.floating],
    second: NDArray[np.floating],
    queries: Sequence[str] = (),
    keys: Sequence[str] = (),
    *,
    names: tuple[str, str] = ("A", "B"),
    reasons: NDArray[np.uint8] | None = None,
    style: Style = ONE_COLUMN,
) -> Figure:
    """Two matrices ``[Tq, S]`` of weights, each 0 to 1, and the first less the second.

    Blue is less, orange is more, white is equal; the scale ends at the largest difference.
    ``reasons`` ``[2, Tq, S]`` hold the `Reason` why a cell is closed in each: closed cells are
    hatched, in the difference those that both close.

    Raises
    ------
    ValueError
        where the shapes differ, or weights are not from 0 to 1.
    """
    shape = checked(first, "the first pattern")
    if shape != checked(second, "the second pattern"):
        raise ValueError(
            f"the patterns are {list(first.shape)} and {list(second.shape)}, but must be of one"
            " shape to be subtracted."
        )
    change = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    peak = float(np.abs(change).max())
    rows = Axis(shape[0], tuple(queries), name="query")
    cols = Axis(shape[1], tuple(keys), name="key")
    why = np.zeros((2, *shape), np.uint8) if reasons is None else reasons
    both = np.where(why.all(axis=0), why[0], np.uint8(Reason.OPEN))
    closed = [Reason(code) for code in np.unique(why) if code != Reason.OPEN]
    swatches = legend(style, reason_swatches(closed, quiet=True), style.width - 2 * MARGIN)
    bars = flowed(style, (_bars(style, peak), swatches))
    panels = (
        Panel(names[0], cols, partial(_weights, style, first, why[0])),
        Panel(names[1], cols, partial(_weights, style, second, why[1])),
        Panel(
            f"{names[0]} − {names[1]}",
            cols,
            partial(_change, style, change / max(peak, 1e-12), both),
        ),
    )
    block, _ = paneled(style, rows, panels, room(style, (bars,)))
    parameters = {"A": names[0], "B": names[1], "largest difference": f"{peak:.4g}"}
    return page(style, (block, bars), parameters)


def _weights(
    style: Style, pattern: NDArray[np.floating], why: NDArray[np.uint8], box: Box
) -> list[Mark]:
    marks = weight_cells(style, np.sqrt(np.clip(pattern, 0.0, 1.0)), box)
    return [*marks, *_closed(style, why, box)]


def _change(
    style: Style, share: NDArray[np.floating], why: NDArray[np.uint8], box: Box
) -> list[Mark]:
    return [*signed_cells(style, share, box), *_closed(style, why, box)]


def _closed(style: Style, why: NDArray[np.uint8], box: Box) -> list[Mark]:
    """The closed cells of ``why`` ``[Tq, S]``, one mark for each reason."""
    marks: list[Mark] = []
    for code, blocks in runs(why):
        if code != Reason.OPEN:
            ground, ink = reason_colors(Reason(code), quiet=True)
            rects, hatch = placed(blocks, box.corner, box.cell), REASON_HATCH[Reason(code)]
            marks.append(Cells(rects, ground, hatch, ink, style.hatch_scale))
    return marks


def _bars(style: Style, peak: float) -> Block:
    weight = color_bar(style, style.map, ROOT_TICKS, "attention weight")
    return flowed(style, (weight, signed_bar(style, peak, "difference")))
