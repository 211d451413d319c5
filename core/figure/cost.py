"""What grows with a size: lines and measured points on two log axes, with units at the ticks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import cos, log10, pi, sin

import numpy as np

from core.figure.axes import GAP, RISE, Box, framed, widest
from core.figure.page import MARGIN, Block, page, paragraphs, room
from core.figure.style import ONE_COLUMN, Style
from core.types.colors import HAIRLINE, MUTED, REASONS, TEXT, WHITE, Rgb, mixed
from core.types.figure import Figure, Mark, Polygon, Polyline, Text
from core.types.log_curves import Curve, log_ticks, tick_text
from core.types.masks import Reason

TOTAL = "total"
"""The line of this name is the heaviest and has no sign."""

_INKS = (
    REASONS[Reason.OPEN],
    mixed(REASONS[Reason.PADDING], TEXT, 0.15),
    REASONS[Reason.OTHER_DOCUMENT],
    mixed(REASONS[Reason.OUTSIDE_WINDOW], TEXT, 0.1),
    REASONS[Reason.BEYOND_CACHE],
    mixed(WHITE, TEXT, 0.7),
)
_CORNERS = ((3, 0.0), (4, 0.0), (24, 0.0), (3, pi), (4, pi / 4), (5, 0.0))
"""Signs of the lines, so that they stay apart without colour: corners and turn."""

_FLATNESS, _HIGHEST = 0.62, 34.0
"""Height of the axes where the page has none: a share of the width, at most so many labels."""


def cost_figure(
    lines: Mapping[str, Curve],
    points: Mapping[str, Curve] = {},
    unit: str = "",
    names: tuple[str, str] = ("", ""),
    *,
    place: float = 0.0,
    caption: str = "",
    style: Style = ONE_COLUMN,
) -> Figure:
    """Lines and points by name, x and y each ``[n]``; both axes are logarithms.

    ``unit`` is that of y, as `core.types.cost.figure` takes it, "" a plain number; ``names`` are
    those of the axes, x first. The x ``place`` is marked, and the lines there; 0 marks none.
    ``caption`` stands below.

    Raises
    ------
    ValueError
        where there is nothing to draw, or a number is not above 0.
    """
    series = {**lines, **points}
    if not any(len(x) for x, _ in series.values()):
        raise ValueError("There are no numbers to draw: choose a quantity that this model has.")
    for name, curve in series.items():
        numbers = np.concatenate(curve)
        odd = numbers[~((numbers > 0.0) & np.isfinite(numbers))]
        if len(odd):
            raise ValueError(
                f"{name} has the number {odd[0]:g}, but all must be above 0 on a log axis."
            )
    signs = [_sign(name, n, len(lines) == 1) for n, name in enumerate(lines)]
    signs += [_sign(name, n, False) for n, name in enumerate(points, start=len(lines))]
    below = _legend(style, (*lines, *points), signs, len(lines))
    said = paragraphs(style, [(caption, style.small, MUTED)])
    wide, high = room(style, (below, said))
    plot = _fitted(
        style,
        series,
        unit,
        (wide, high if style.height else min(_FLATNESS * wide, _HIGHEST * style.label)),
    )
    marks = [*_grid(style, plot), *_titles(style, plot, names)]
    if place:
        marks += _marked(style, plot, place)
    for n, curve in enumerate(lines.values()):
        marks += _line(style, plot, curve, (signs[n], n), place)
    for n, curve in enumerate(points.values(), start=len(lines)):
        marks += _dots(style, plot, curve, signs[n])
    told = {"x": names[0], "y": names[1], "unit": unit, "series": ", ".join(series)}
    if place:
        told["marked"] = f"{place:,.10g}"
    foot = plot.bottom + GAP + 2.8 * style.small
    blocks = Block(tuple(marks), wide, foot), below, said
    return page(replace(style, labels=False), blocks, told)  # It has none that could be left out.


@dataclass(frozen=True)
class _Plot:
    """Axes in points, and the log10 of the numbers at their ends; ticks in log10 and words."""

    left: float
    top: float
    right: float
    bottom: float
    x: tuple[float, float]
    y: tuple[float, float]
    x_ticks: Sequence[tuple[float, str]]
    y_ticks: Sequence[tuple[float, str]]

    def across(self, log: float) -> float:
        """Where a log10 of x lies, in points."""
        return self.left + (log - self.x[0]) / (self.x[1] - self.x[0]) * (self.right - self.left)

    def down(self, log: float) -> float:
        """Where a log10 of y lies, in points."""
        return self.bottom - (log - self.y[0]) / (self.y[1] - self.y[0]) * (self.bottom - self.top)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a pair of numbers lies, in points."""
        return self.across(log10(x)), self.down(log10(y))


def _fitted(
    style: Style, series: Mapping[str, Curve], unit: str, size: tuple[float, float]
) -> _Plot:
    """Axes that hold everything, with room for what stands at their ticks."""
    spans: list[tuple[float, float]] = []
    for axis in (0, 1):
        every = np.log10(np.concatenate([curve[axis] for curve in series.values()]))
        low, high = float(every.min()), float(every.max())
        over = max(0.03 * (high - low), 0.05)
        spans.append((low - over, high + over))
    (x, y), small = spans, style.small
    top, bottom = 1.7 * small, size[1] - 3.6 * small
    y_ticks = _ticks(y, unit, (bottom - top) / (2.2 * small))
    words = [text for _, text in y_ticks]
    left = widest(words, small, style.measure) + GAP + 3.0 + 1.8 * small
    last = style.measure(tick_text(10.0 ** x[1], ""), small)
    right = size[0] - 0.4 * last
    x_ticks = _ticks(x, "", (right - left) / (last + 2.0 * small))
    return _Plot(left, top, right, bottom, x, y, x_ticks, y_ticks)


def _ticks(span: tuple[float, float], unit: str, most: float) -> list[tuple[float, str]]:
    fine = 3 * (span[1] - span[0]) < most
    return [
        (at, tick_text(10.0**at, unit)) for at in log_ticks(*span, unit, max(2.0, most), fine=fine)
    ]


def _grid(style: Style, plot: _Plot) -> list[Mark]:
    """A pale line and its number for each tick, and a frame."""
    size = style.small
    marks: list[Mark] = []
    for at, text in plot.x_ticks:
        x = plot.across(at)
        marks.append(Polyline(((x, plot.top), (x, plot.bottom)), HAIRLINE, style.line))
        foot = plot.bottom + GAP + 0.9 * size
        marks.append(Text(text, x, foot, size, "middle", color=MUTED))
    for at, text in plot.y_ticks:
        y = plot.down(at)
        marks.append(Polyline(((plot.left, y), (plot.right, y)), HAIRLINE, style.line))
        marks.append(Text(text, plot.left - GAP, y + RISE * size, size, "end", color=MUTED))
    whole = Box(plot.left, plot.top, (plot.right - plot.left, plot.bottom - plot.top), 1, 1)
    return [*marks, framed(whole, MUTED, style.line)]


def _titles(style: Style, plot: _Plot, names: tuple[str, str]) -> list[Mark]:
    """What the axes count."""
    size = style.small
    across, down = (plot.left + plot.right) / 2, (plot.top + plot.bottom) / 2
    below = plot.bottom + GAP + 2.4 * size
    return [
        Text(names[0], across, below, size, "middle"),
        Text(names[1], 0.95 * size, down, size, "middle", rotation=-90.0),
    ]


def _marked(style: Style, plot: _Plot, place: float) -> list[Mark]:
    """A dashed line at a size, with the size above it."""
    x, dash = plot.across(log10(place)), 2.5
    count = int((plot.bottom - plot.top) / (2 * dash))
    starts = [plot.top + 2 * dash * n for n in range(count)]
    marks: list[Mark] = [Polyline(((x, y), (x, y + dash)), MUTED, 1.2 * style.line) for y in starts]
    said = tick_text(place, "")
    return [*marks, Text(said, x, plot.top - 0.4 * style.small, style.small, "middle")]


@dataclass(frozen=True)
class _Sign:
    """The colour of a series, and the corners and the turn of its sign; no corners, no sign."""

    color: Rgb
    corners: int
    turn: float
    weight: float = 2.0


def _sign(name: str, number: int, alone: bool) -> _Sign:
    """The look of a series by its number; a line ``alone`` needs no sign."""
    if name == TOTAL:
        return _Sign(TEXT, 0, 0.0, 3.2)
    corners, turn = _CORNERS[number % len(_CORNERS)]
    return _Sign(_INKS[number % len(_INKS)], 0 if alone else corners, turn)


def _shape(style: Style, sign: _Sign, place: tuple[float, float], size: float = 0.36) -> list[Mark]:
    """The sign of a series; of a line without one, a dot."""
    corners, radius = sign.corners or 24, size * style.small
    turns = [sign.turn + 2 * pi * n / corners for n in range(corners)]
    x, y = place
    return [Polygon(tuple((x + radius * sin(t), y - radius * cos(t)) for t in turns), sign.color)]


def _line(
    style: Style, plot: _Plot, curve: Curve, look: tuple[_Sign, int], place: float
) -> list[Mark]:
    """A line, its sign at an even pace, and once more, larger, at the place that is marked.

    ``look`` is the sign and the number of the line: signs of lines that coincide do not.
    """
    sign, number = look
    ends = [plot.at(float(x), float(y)) for x, y in zip(*curve, strict=True)]
    marks: list[Mark] = [Polyline(tuple(ends), sign.color, sign.weight * style.line)]
    if sign.corners:
        pace = max(1, len(ends) // 5)
        for n in range((1 + 2 * number) * pace // 8 % pace, len(ends), pace):
            marks += _shape(style, sign, ends[n])
    for x, at in zip(curve[0], ends, strict=True):
        if x == place:
            marks += _shape(style, sign, at, 0.5)
    return marks


def _dots(style: Style, plot: _Plot, curve: Curve, sign: _Sign) -> list[Mark]:
    marks: list[Mark] = []
    for x, y in zip(*curve, strict=True):
        marks += _shape(style, sign, plot.at(float(x), float(y)), 0.5)
    return marks


def _legend(style: Style, names: Sequence[str], signs: Sequence[_Sign], lines: int) -> Block:
    """Each series with its sign in lines that fit the page; the first ``lines`` have a stroke."""
    size, high, most = style.small, 1.6 * style.small, style.width - 2 * MARGIN
    marks: list[Mark] = []
    x = y = wide = 0.0
    for n, (name, sign) in enumerate(zip(names, signs, strict=True)):
        side, middle = (2.6 if n < lines else 1.0) * size, y + high / 2
        taken = side + 0.5 * size + style.measure(name, size)
        if x and x + taken > most:
            x, y = 0.0, y + high
            middle = y + high / 2
        if n < lines:
            ends = ((x, middle), (x + side, middle))
            marks.append(Polyline(ends, sign.color, sign.weight * style.line))
        if sign.corners:
            marks += _shape(style, sign, (x + side / 2, middle), 0.36 if n < lines else 0.5)
        marks.append(Text(name, x + side + 0.5 * size, middle + RISE * size, size))
        wide, x = max(wide, x + taken), x + taken + 1.6 * size
    return Block(tuple(marks), wide, y + high)
