"""A heatmap with its axes: square cells as large as fit, tokens on the left and on top."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.figure.page import Block, cut
from core.figure.style import Measure, Style
from core.text.visible import visible
from core.types.colors import MUTED, TEXT, WHITE, Rgb, mixed
from core.types.figure import Mark, Polyline, Text

GAP = 3.0
"""Room between a label and the cells, in points."""

SMALLEST = 0.62
"""Labels shrink to this share of their size before they are thinned."""

RISE = 0.36
"""From the middle of a line of text down to its baseline, in font sizes."""

RIM = 0.5
"""Room for the outer half of the frame, in points."""

FADED = mixed(WHITE, MUTED, 0.75)


@dataclass(frozen=True)
class Axis:
    """What one axis says.

    ``texts`` has one label for each of ``count`` cells, or is empty (positions alone); ``first``
    is the absolute position of cell 0; ``faded`` are half-open ranges of pads. ``name`` says what
    the cells are, such as "query"; empty says nothing. ``shown`` False writes no labels; those from
    cell ``bold`` on are bold.

    Raises
    ------
    ValueError
        where there are labels, but not one for each cell.
    """

    count: int
    texts: tuple[str, ...] = ()
    first: int = 0
    faded: tuple[tuple[int, int], ...] = ()
    name: str = ""
    shown: bool = True
    bold: int | None = None

    def __post_init__(self) -> None:
        if self.texts and len(self.texts) != self.count:
            raise ValueError(
                f"texts has {len(self.texts)} labels, but must have one for each of the"
                f" {self.count} cells, or none."
            )

    def color(self, index: int) -> Rgb:
        """The colour of a label: pads are faded."""
        pad = any(start <= index < stop for start, stop in self.faded)
        return FADED if pad else TEXT

    def is_bold(self, index: int) -> bool:
        """True where a label is bold."""
        return self.bold is not None and index >= self.bold

    def label(self, index: int) -> str:
        """What is written at a cell."""
        return visible(self.texts[index]) if self.texts else str(self.first + index)


@dataclass(frozen=True)
class Box:
    """Where the cells lie: the corner of the first, the size of one, in points."""

    x: float
    y: float
    cell: tuple[float, float]
    rows: int
    cols: int

    @property
    def corner(self) -> tuple[float, float]:
        """Left and top edge."""
        return self.x, self.y

    @property
    def right(self) -> float:
        """Right edge."""
        return self.x + self.cols * self.cell[0]

    @property
    def bottom(self) -> float:
        """Bottom edge."""
        return self.y + self.rows * self.cell[1]


Paint = Callable[[Box], Sequence[Mark]]


def heatmap(
    style: Style, rows: Axis, cols: Axis, room: tuple[float, float], paint: Paint
) -> tuple[Block, Box]:
    """Axes around what ``paint`` puts into the cells, at most ``room`` (width, height) large."""
    box = fitted(style, rows, cols, room)
    return drawn(style, rows, cols, box, paint), box


def fitted(style: Style, rows: Axis, cols: Axis, room: tuple[float, float]) -> Box:
    """Where the cells of a heatmap lie that is at most ``room`` (width, height) large."""
    box = Box(0.0, 0.0, (style.label, style.label), rows.count, cols.count)
    for _ in range(3):  # The room of the labels depends on the cells, and they on the labels.
        left, top = _margins(style, rows, cols, box)
        cell = _cell(style, (rows.count, cols.count), (room[0] - left - RIM, room[1] - top - RIM))
        box = Box(left, top, cell, rows.count, cols.count)
    return box


def drawn(style: Style, rows: Axis, cols: Axis, box: Box, paint: Paint) -> Block:
    """Axes around what ``paint`` puts into the cells of ``box``."""
    marks = [*paint(box), *_grid(style, box), *_names(style, rows, cols, box)]
    if style.labels and rows.shown:
        marks += row_labels(style, rows, box)
    if style.labels and cols.shown:
        marks += _col_labels(style, cols, box)
    return Block(tuple(marks), box.right + RIM, box.bottom + RIM)


def _cell(style: Style, shape: tuple[int, int], room: tuple[float, float]) -> tuple[float, float]:
    """Square, and at most two lines of text high; a mask of few rows gets rows of a line."""
    rows, cols = shape
    line = 1.3 * style.label
    room = (max(room[0], 4.0), max(room[1], 4.0))
    wide = min(room[0] / cols, 2 * line)
    high = wide if wide * rows > 4 * line else max(wide, min(line, 4 * line / rows))
    if high * rows > room[1]:
        high = room[1] / rows
        wide = min(wide, max(high, line if cols * line < room[0] / 4 else high))
    return wide, high


def font_size(style: Style, cell: float) -> float:
    """The font size of labels at cells of so many points."""
    return max(min(style.label, 0.86 * cell), SMALLEST * style.label)


def longest(style: Style, axis: Axis, size: float) -> float:
    """The width of the widest label of an axis, 0 where none is written."""
    if not (style.labels and axis.shown):
        return 0.0
    step = max(1, axis.count // 512)
    likely = {axis.label(i) for i in (*range(0, axis.count, step), axis.count - 1)}
    wide = max(style.measure(text, size) for text in likely)
    return min(wide if axis.bold is None else 1.12 * wide, _most(style))


def _most(style: Style) -> float:
    """The widest label, in points; a longer one is cut."""
    most = max(0.22 * style.width, 8 * style.label)
    return most if style.height is None else min(most, 0.35 * style.height)


def _margins(style: Style, rows: Axis, cols: Axis, box: Box) -> tuple[float, float]:
    """Left and top room of the labels and names."""
    across = longest(style, rows, font_size(style, box.cell[1]))
    size = font_size(style, box.cell[0])
    upright = longest(style, cols, size)
    if upright and _is_level(style, cols, box):
        upright = 1.1 * size
    name = 1.7 * style.small
    return (
        across + (GAP if across else 0.0) + (name if rows.name else 0.0) + RIM,
        upright + (GAP if upright else 0.0) + (name if cols.name else 0.0) + RIM,
    )


def _is_level(style: Style, cols: Axis, box: Box) -> bool:
    """True where labels on top fit above their cells without being turned."""
    size, cell = font_size(style, box.cell[0]), box.cell[0]
    if not cols.texts:
        return True
    return cols.count <= 512 and all(
        style.measure(cols.label(i), size) <= cell - 1.5 for i in range(cols.count)
    )


def nice_step(wanted: float, cell: float) -> int:
    """Every how many cells a label has at least ``wanted`` points (1, 2, 5, 10, 20, …)."""
    scale = 1
    while True:
        for factor in (1, 2, 5):
            if factor * scale * cell >= wanted:
                return factor * scale
        scale *= 10


def row_labels(style: Style, rows: Axis, box: Box) -> list[Mark]:
    """Labels on the left, thinned where cells are narrow."""
    cell, size = box.cell[1], font_size(style, box.cell[1])
    step = nice_step((1.08 if rows.texts or rows.count <= 32 else 2.0) * size, cell)
    marks: list[Mark] = []
    for index in range(0, rows.count, step):
        y = box.y + (index + 0.5) * cell
        text = cut(rows.label(index), size, _most(style), style.measure)
        place = (box.x - GAP, y + RISE * size)
        bold, color = rows.is_bold(index), rows.color(index)
        marks.append(Text(text, *place, size, "end", bold=bold, color=color))
        if step > 1:
            marks.append(_tick(style, (box.x - 2.0, y), (box.x, y)))
    return marks


def _col_labels(style: Style, cols: Axis, box: Box) -> list[Mark]:
    cell, size = box.cell[0], font_size(style, box.cell[0])
    level = _is_level(style, cols, box)
    wanted = 1.08 * size
    if level:
        wanted = max(style.measure(cols.label(i), size) for i in (0, cols.count - 1)) + 1.5
    step = nice_step(wanted, cell)
    marks: list[Mark] = []
    for index in range(0, cols.count, step):
        x = box.x + (index + 0.5) * cell
        text = cut(cols.label(index), size, _most(style), style.measure)
        color, foot = cols.color(index), box.y - GAP
        if level:
            marks.append(Text(text, x, foot, size, "middle", color=color))
        else:
            marks.append(Text(text, x + RISE * size, foot, size, rotation=-90.0, color=color))
        if step > 1:
            marks.append(_tick(style, (x, box.y - 2.0), (x, box.y)))
    return marks


def _tick(style: Style, start: tuple[float, float], end: tuple[float, float]) -> Mark:
    return Polyline((start, end), MUTED, style.line)


def _names(style: Style, rows: Axis, cols: Axis, box: Box) -> list[Mark]:
    size = style.small
    across, down = (box.x + box.right) / 2, (box.y + box.bottom) / 2
    marks: list[Mark] = []
    if cols.name:
        top = max(0.0, box.y - _margins(style, rows, cols, box)[1]) + 0.95 * size
        marks.append(Text(cols.name, across, top, size, "middle", color=MUTED))
    if rows.name:
        place = (0.95 * size, down)
        marks.append(Text(rows.name, *place, size, "middle", rotation=-90.0, color=MUTED))
    return marks


def _grid(style: Style, box: Box) -> list[Mark]:
    """White lines between cells that are large enough, and a frame."""
    lines: list[Mark] = []
    if min(box.cell) >= 3.0:
        pale, width = WHITE, min(0.8 * style.line, 0.1 * min(box.cell))
        for col in range(1, box.cols):
            x = box.x + col * box.cell[0]
            lines.append(Polyline(((x, box.y), (x, box.bottom)), pale, width))
        for row in range(1, box.rows):
            y = box.y + row * box.cell[1]
            lines.append(Polyline(((box.x, y), (box.right, y)), pale, width))
    return [*lines, framed(box, mixed(WHITE, MUTED, 0.7), style.line)]


def framed(box: Box, color: Rgb, width: float) -> Mark:
    """The outline of all cells."""
    a, b = (box.x, box.y), (box.right, box.bottom)
    return Polyline((a, (b[0], a[1]), b, (a[0], b[1]), a), color, width)


def widest(texts: Sequence[str], size: float, measure: Measure) -> float:
    """The width of the widest of some texts in points, 0 of none."""
    return max((measure(text, size) for text in texts), default=0.0)
