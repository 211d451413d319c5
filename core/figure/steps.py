"""Generation as small multiples: attention and mask row as the text grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from core.figure.attention import weight_cells
from core.figure.axes import (
    GAP,
    RISE,
    Axis,
    Box,
    font_size,
    framed,
    longest,
    nice_step,
    row_labels,
)
from core.figure.keys import ROOT_TICKS, Swatch, color_bar, legend
from core.figure.mask import closed_cells
from core.figure.page import MARGIN, Block, beside, cut, flowed, page, room
from core.figure.runs import painted
from core.figure.style import ONE_COLUMN, Style, reason_colors
from core.text.visible import visible
from core.types import MaskSpec, Reason
from core.types.colors import ACCENT, MUTED, WHITE, mixed
from core.types.figure import Figure, Mark, Polyline, Text

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


def steps_figure(
    steps: Sequence[GrowthStep],
    tokens: Sequence[str] = (),
    prompt: int = 0,
    *,
    style: Style = ONE_COLUMN,
) -> Figure:
    """A panel for each step, all cells of one size: the attention, below it the new mask row.

    ``tokens`` are the labels of all that was read, pads included: queries on the left of each line
    of panels, keys below the last of them. Those from ``prompt`` on were generated and are bold.
    Without tokens the axes say nothing.

    Raises
    ------
    ValueError
        where there is no step, or a token has no label.
    """
    if not steps:
        raise ValueError("There are no steps to draw: generate at least one token.")
    shown = chosen(len(steps))
    keys = max(len(steps[n].mask_row) for n in shown)
    pads = steps[-1].spec.left_pad[0] if steps[-1].spec else 0
    axis = Axis(keys, tuple(tokens[:keys]), 0, ((0, pads),), shown=bool(tokens), bold=prompt)
    below = _below(style, axis, any(steps[n].pattern is not None for n in shown))
    plan = _plan(style, axis, len(shown), below)
    panels = [_panel(style, steps[n], n + 1, plan, axis, at) for at, n in enumerate(shown)]
    lines = [
        beside(panels[at : at + plan.columns], _gap(style))
        for at in range(0, len(panels), plan.columns)
    ]
    wide = max(line.width for line in lines)
    blocks = [Block(line.marks, wide, line.height) for line in lines]
    told = {"steps": str(len(steps)), "steps shown": ", ".join(str(n + 1) for n in shown)}
    if tokens:
        told["prompt"] = str(prompt)
    return page(style, (*blocks, below), told, gap=_LINE_GAP)


@dataclass(frozen=True)
class _Plan:
    """How panels stand: ``columns`` of them in each of ``lines``, ``slot`` points for each.

    ``cell`` is the side of a cell and ``margin`` the room of labels, left and below, in points.
    """

    columns: int
    lines: int
    slot: float
    cell: float
    margin: float


def _plan(style: Style, axis: Axis, count: int, below: Block) -> _Plan:
    """The largest cells that fit; what labels take depends on the cells, and they on it."""
    cell = 2.6 * style.label
    for _ in range(3):
        label = longest(style, axis, font_size(style, cell))
        margin = label + GAP if label else 0.0
        columns = _columns(style, count, margin)
        free = style.width - 2 * MARGIN - margin - _gap(style) * (columns - 1)
        slot = side = max(free / columns, 12.0)
        lines = -(-count // columns)
        if style.height is not None:
            high = room(style, (below,), gap=_LINE_GAP)[1] + _LINE_GAP - margin
            side = max(min(side, high / lines - _LINE_GAP - 4.5 * style.small), 12.0)
        cell = min(side / axis.count, 2.6 * style.label)
    slot = min(slot, max(axis.count * cell, 10.0 * style.small))
    return _Plan(columns, lines, slot, cell, margin)


def _gap(style: Style) -> float:
    return 1.2 * style.small


def chosen(count: int) -> list[int]:
    """Which of ``count`` steps are shown: all, or `MOST` at an even pace with first and last."""
    return sorted({int(n) for n in np.linspace(0, count - 1, min(count, MOST)).round()})


def _columns(style: Style, panels: int, left: float) -> int:
    """How many panels stand in a line: as many as keep a readable caption."""
    fit = max(1, int((style.width + 8.0 - left) // (11.0 * style.small)))
    lines = -(-panels // fit)
    return -(-panels // lines)


def _panel(style: Style, step: GrowthStep, number: int, plan: _Plan, axis: Axis, at: int) -> Block:
    """Panel ``at`` of a plan: queries are named left of each line, keys below the last."""
    size, cell, length = style.small, plan.cell, len(step.mask_row)
    line, column = divmod(at, plan.columns)
    left, top = (0.0 if column else plan.margin), 1.6 * size
    foot = plan.margin if line == plan.lines - 1 else 0.0
    said = cut(f"{number}  {visible(step.token)}", size, plan.slot, style.measure)
    marks: list[Mark] = [Text(said, left, 0.95 * size, size)]
    box = Box(left, top, (cell, cell), length, length)
    if step.pattern is not None:
        marks += weight_cells(style, np.sqrt(np.clip(step.pattern, 0.0, 1.0)), box)
        if step.spec is not None:
            marks += closed_cells(style, step.spec, 0, box, quiet=True)
        marks.append(framed(box, mixed(WHITE, MUTED, 0.7), 0.7 * style.line))
        newest = Box(box.x, box.bottom - cell, (cell, cell), 1, length)
        marks.append(framed(newest, ACCENT, style.line))
        if left:
            marks += row_labels(style, replace(axis, count=length, texts=axis.texts[:length]), box)
    y = top if step.pattern is None else box.bottom + 3.0
    strip = Box(left, y, (cell, _high(style, cell)), 1, length)
    marks += _strip(style, step, strip)
    if foot:
        marks += _key_labels(style, axis, strip)
    return Block(tuple(marks), left + plan.slot, strip.bottom + foot)


def _key_labels(style: Style, axis: Axis, strip: Box) -> list[Mark]:
    """The labels of the columns of a mask row, upright below it and thinned."""
    size, cell = font_size(style, strip.cell[0]), strip.cell[0]
    step, most = nice_step(1.08 * size, cell), longest(style, axis, size)
    marks: list[Mark] = []
    for index in range(0, strip.cols, step):
        x, y = strip.x + (index + 0.5) * cell, strip.bottom
        text = cut(axis.label(index), size, most, style.measure)
        bold, color = axis.is_bold(index), axis.color(index)
        place = (x + RISE * size, y + GAP)
        marks.append(Text(text, *place, size, "end", rotation=-90.0, bold=bold, color=color))
        if step > 1:
            marks.append(Polyline(((x, y), (x, y + 2.0)), MUTED, style.line))
    return marks


def _high(style: Style, cell: float) -> float:
    return float(np.clip(cell, 0.8 * style.small, 1.5 * style.small))


def _strip(style: Style, step: GrowthStep, box: Box) -> list[Mark]:
    """The mask row: open cells in the colour of open ones."""
    colors = np.array([reason_colors(Reason.FUTURE)[0], reason_colors(Reason.OPEN)[0]], np.uint8)
    codes = step.mask_row.astype(np.int64)[None, :]
    return [
        *painted(codes, colors, box.corner, box.cell),
        framed(box, mixed(WHITE, MUTED, 0.7), 0.7 * style.line),
    ]


def _below(style: Style, axis: Axis, weights: bool) -> Block:
    swatches = [Swatch("newest query may read", reason_colors(Reason.OPEN)[0])]
    swatches.append(Swatch("may not", reason_colors(Reason.FUTURE)[0]))
    names = legend(style, swatches, style.width - 2 * MARGIN)
    blocks = [color_bar(style, style.map, ROOT_TICKS, "attention weight")] * weights + [names]
    if style.labels and axis.texts and axis.is_bold(axis.count - 1):
        said = Text(
            "bold: generated", 0.0, 0.8 * style.small + RISE * style.small, style.small, bold=True
        )
        wide = 1.12 * style.measure(said.string, style.small)
        blocks.append(Block((said,), wide, 1.6 * style.small))
    return flowed(style, blocks)
