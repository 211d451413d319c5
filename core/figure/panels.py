"""Heatmaps of the same rows side by side, all their cells of one height."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.figure.axes import RIM, Axis, Box, Paint, drawn, fitted, framed, widest
from core.figure.page import Block, cut, moved, wrapped
from core.figure.style import Style
from core.types.colors import ACCENT, MUTED
from core.types.figure import Mark, Text

_NEARLY = 0.8
"""Fewer lines are taken where cells keep this share of the largest size."""


@dataclass(frozen=True)
class Panel:
    """One heatmap: its title, its columns, what paints its cells, and a formula under the title.

    Panels take the same width, whatever the number of their columns.
    """

    title: str
    cols: Axis
    paint: Paint
    formula: str = ""


@dataclass(frozen=True)
class _Plan:
    """Panels in a line, where the cells of the first lie, and the most that each takes across."""

    across: int
    box: Box
    share: float


def paneled(
    style: Style,
    rows: Axis,
    panels: Sequence[Panel],
    room: tuple[float, float],
    *,
    least: float = 0.0,
    lit: int | None = None,
) -> tuple[Block, Box]:
    """The panels with their titles, at most ``room`` (width, height) large, and the first's cells.

    They stand in the fewest lines whose cells are ``least`` points large, or where no number of
    lines makes them so, hardly smaller than they can be. Labels of rows stand at the first of each
    line; row ``lit`` is framed.
    """
    plan = _plan(style, rows, panels, room, least)
    box, slot, high = plan.box, _slot(style, panels, plan), _caption(style, panels, plan.share)
    marks: list[Mark] = []
    wide, y = 0.0, 0.0
    for start in range(0, len(panels), plan.across):
        x = 0.0
        for n, panel in enumerate(panels[start : start + plan.across]):
            block = _panel(style, rows if n == 0 else _bare(rows), panel, (box, slot, high), lit)
            marks += moved(block.marks, x, y)
            x += block.width + _gap(style)
            wide, foot = max(wide, x - _gap(style)), y + block.height
        y = foot + _gap(style)
    return Block(tuple(marks), wide, foot), box


def _plan(
    style: Style, rows: Axis, panels: Sequence[Panel], room: tuple[float, float], least: float
) -> _Plan:
    plans: list[_Plan] = []
    for lines in range(1, len(panels) + 1):
        across = -(-len(panels) // lines)
        if plans and across == plans[-1].across:
            continue
        wide = room[0] - _gap(style) * (across - 1) - 2 * RIM * across
        caption = _caption(style, panels, wide / across)
        high = (room[1] - _gap(style) * (lines - 1)) / lines - caption
        box = fitted(style, rows, panels[0].cols, (wide / across, high))
        share = (wide - box.x) / across  # What the labels of rows take is shared by all.
        box = fitted(style, rows, panels[0].cols, (box.x + share, high))
        share = max((wide - box.x) / across, 4.0)  # The labels are those of other cells now.
        over = min(1.0, share / (box.right - box.x))
        box = replace(box, cell=(over * box.cell[0], over * box.cell[1]))
        plans.append(_Plan(across, box, share))
        if min(box.cell) >= least and share >= _narrowest(style, panels):
            return plans[-1]
    plans = [plan for plan in plans if plan.share >= _narrowest(style, panels)] or plans[-1:]
    most = max(min(plan.box.cell) for plan in plans)
    return next(plan for plan in plans if min(plan.box.cell) >= _NEARLY * most)


def _narrowest(style: Style, panels: Sequence[Panel]) -> float:
    """The least that a panel takes across: every formula, and every word of the titles."""
    words = [word for panel in panels for word in panel.title.split()]
    formulas = [panel.formula for panel in panels]
    return max(_bold(style, words), widest(formulas, style.small, style.measure))


def _slot(style: Style, panels: Sequence[Panel], plan: _Plan) -> float:
    """What each panel takes across."""
    titles = _bold(style, [panel.title for panel in panels])
    wanted = max(titles, _narrowest(style, panels))
    return max(plan.box.right - plan.box.x, min(plan.share, wanted))


def _bold(style: Style, texts: Sequence[str]) -> float:
    return widest(texts, 1.12 * style.label, style.measure)


def _title(style: Style, panel: Panel, slot: float) -> list[str]:
    return wrapped(panel.title, 1.12 * style.label, slot, style.measure)


def _gap(style: Style) -> float:
    return 1.5 * style.label


def _caption(style: Style, panels: Sequence[Panel], slot: float) -> float:
    """What the titles take, and the formulas where there are some."""
    lines = max(len(_title(style, panel, slot)) for panel in panels)
    formula = 1.4 * style.small if any(panel.formula for panel in panels) else 0.0
    return (0.35 + 1.25 * lines) * style.label + formula


def _bare(axis: Axis) -> Axis:
    return replace(axis, shown=False, name="")


def _panel(
    style: Style, rows: Axis, panel: Panel, place: tuple[Box, float, float], lit: int | None
) -> Block:
    """One panel under its title, which may be wider than the cells; both in the middle.

    ``place`` says where the cells of the first panel of a line lie, what a panel takes across, and
    what its titles take above.
    """
    first, slot, high = place
    wide = first.right - first.x
    left = first.x if rows.shown else RIM
    box = replace(
        first,
        x=left + (slot - wide) / 2,
        cell=(wide / panel.cols.count, first.cell[1]),
        cols=panel.cols.count,
    )
    block = drawn(style, rows, panel.cols, box, panel.paint)
    marks = [*block.marks]
    if lit is not None:
        row = replace(box, y=box.y + lit * box.cell[1], rows=1)
        marks.append(framed(row, ACCENT, min(1.6 * style.line, 0.3 * box.cell[1])))
    middle = left + slot / 2
    said: list[Mark] = [
        Text(line, middle, (0.95 + 1.25 * n) * style.label, style.label, "middle", bold=True)
        for n, line in enumerate(_title(style, panel, slot))
    ]
    if panel.formula:
        text, foot = cut(panel.formula, style.small, slot, style.measure), high - 0.6 * style.small
        said.append(Text(text, middle, foot, style.small, "middle", color=MUTED))
    return Block((*said, *moved(marks, 0.0, high)), left + slot + RIM, block.height + high)
