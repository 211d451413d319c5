"""Generation as small multiples: attention and mask row as the text grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.figure.attention import weight_cells
from core.figure.axes import Box, framed
from core.figure.keys import ROOT_TICKS, Swatch, color_bar, legend
from core.figure.mask import closed_cells
from core.figure.page import Block, beside, cut, flowed, page, room
from core.figure.runs import painted
from core.figure.style import ONE_COLUMN, Style, reason_colors
from core.text.visible import visible
from core.types import MaskSpec, Reason
from core.types.colors import ACCENT, MUTED, WHITE, mixed
from core.types.figure import Figure, Mark, Text

MOST = 12
"""Panels of one figure; of more steps, this many are shown at an even pace."""

_LINE_GAP = 8.0


@dataclass(frozen=True)
class GrowthStep:
    """One generated token: its label, and what the query that chose it could read and did read.

    ``mask_row`` bool ``[S]``; ``pattern`` ``[S, S]`` the weights of one head over everything read
    so far, or None; ``spec`` the mask they were read under, whose closed cells are hatched.
    """

    token: str
    mask_row: NDArray[np.bool_] = field(repr=False)
    pattern: NDArray[np.floating] | None = field(default=None, repr=False)
    spec: MaskSpec | None = None


def steps_figure(steps: Sequence[GrowthStep], *, style: Style = ONE_COLUMN) -> Figure:
    """A panel for each step, all cells of one size: the attention, below it the new mask row.

    Raises
    ------
    ValueError
        where there is no step.
    """
    if not steps:
        raise ValueError("There are no steps to draw: generate at least one token.")
    shown = chosen(len(steps))
    keys = max(len(steps[n].mask_row) for n in shown)
    below = _below(style, any(steps[n].pattern is not None for n in shown))
    columns = _columns(style, len(shown))
    gap = 1.2 * style.small
    side = (style.width - 8.0 - gap * (columns - 1)) / columns
    if style.height is not None:
        lines = -(-len(shown) // columns)
        free = (room(style, (below,), gap=_LINE_GAP)[1] + _LINE_GAP) / lines - _LINE_GAP
        side = max(min(side, free - 4.5 * style.small), 12.0)
    panels = [_panel(style, steps[n], n + 1, side, keys) for n in shown]
    lines_of = [beside(panels[at : at + columns], gap) for at in range(0, len(panels), columns)]
    wide = max(line.width for line in lines_of)
    blocks = [Block(line.marks, wide, line.height) for line in lines_of]
    told = {"steps": str(len(steps)), "steps shown": ", ".join(str(n + 1) for n in shown)}
    return page(style, (*blocks, below), told, gap=_LINE_GAP)


def chosen(count: int) -> list[int]:
    """Which of ``count`` steps are shown: all, or `MOST` at an even pace with first and last."""
    return sorted({int(n) for n in np.linspace(0, count - 1, min(count, MOST)).round()})


def _columns(style: Style, panels: int) -> int:
    """How many panels stand in a line: as many as keep a readable caption."""
    fit = max(1, int((style.width + 8.0) // (11.0 * style.small)))
    lines = -(-panels // fit)
    return -(-panels // lines)


def _panel(style: Style, step: GrowthStep, number: int, side: float, keys: int) -> Block:
    size, cell = style.small, min(side / keys, 2.6 * style.label)
    length = len(step.mask_row)
    top = 1.6 * size
    said = cut(f"{number}  {visible(step.token)}", size, side, style.measure)
    marks: list[Mark] = [Text(said, 0.0, 0.95 * size, size)]
    box = Box(0.0, top, (cell, cell), length, length)
    pale = mixed(WHITE, MUTED, 0.7)
    if step.pattern is not None:
        marks += weight_cells(style, np.sqrt(np.clip(step.pattern, 0.0, 1.0)), box)
        if step.spec is not None:
            marks += closed_cells(style, step.spec, 0, box, quiet=True)
        marks.append(framed(box, pale, 0.7 * style.line))
        newest = Box(box.x, box.bottom - cell, (cell, cell), 1, length)
        marks.append(framed(newest, ACCENT, style.line))
    foot = top if step.pattern is None else box.bottom + 3.0
    strip = _strip(style, step, cell, foot)
    return Block((*marks, *strip), side, foot + _high(style, cell))


def _high(style: Style, cell: float) -> float:
    return float(np.clip(cell, 0.8 * style.small, 1.5 * style.small))


def _strip(style: Style, step: GrowthStep, cell: float, y: float) -> list[Mark]:
    """The mask row: open cells in the colour of open ones."""
    length = len(step.mask_row)
    colors = np.array([reason_colors(Reason.FUTURE)[0], reason_colors(Reason.OPEN)[0]], np.uint8)
    codes = step.mask_row.astype(np.int64)[None, :]
    box = Box(0.0, y, (cell, _high(style, cell)), 1, length)
    return [
        *painted(codes, colors, box.corner, box.cell),
        framed(box, mixed(WHITE, MUTED, 0.7), 0.7 * style.line),
    ]


def _below(style: Style, weights: bool) -> Block:
    swatches = [Swatch("newest query may read", reason_colors(Reason.OPEN)[0])]
    swatches.append(Swatch("may not", reason_colors(Reason.FUTURE)[0]))
    names = legend(style, swatches, style.width - 8.0)
    if not weights:
        return names
    bar = color_bar(style, style.map, ROOT_TICKS, "attention weight")
    return flowed(style, (bar, names))
