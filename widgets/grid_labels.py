"""Token labels and positions along the two axes of a query × key square."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, cos, pi, sin

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter

from widgets.grid_geometry import GridFrame, Margins
from widgets.palette import Theme, mix

SLANT = 60.0
"""Degrees by which column labels lean."""

MAX_LABEL = 76.0
"""Widest token label; a longer one is cut with an ellipsis."""

_ELIDE = Qt.TextElideMode.ElideRight
_FLAGS = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight


@dataclass(frozen=True)
class AxisLabels:
    """What one axis says.

    ``texts`` has one label for each cell, or is empty (positions alone); ``first`` is the
    absolute position of cell 0; ``faded`` are half-open ranges of pads.
    """

    texts: tuple[str, ...]
    first: int = 0
    faded: tuple[tuple[int, int], ...] = ()

    def is_faded(self, index: int) -> bool:
        """Tell whether the cell is a pad."""
        return any(start <= index < stop for start, stop in self.faded)


@dataclass(frozen=True)
class LabelFonts:
    """The fonts of a square: labels, and smaller digits."""

    label: QFont
    digit: QFont

    @staticmethod
    def beside(font: QFont) -> LabelFonts:
        """Return the fonts that go with a widget's own `font`."""
        digit = QFont(font)
        digit.setPointSizeF(max(6.0, font.pointSizeF() * 0.78))
        return LabelFonts(QFont(font), digit)


def longest_label(texts: Sequence[str], font: QFont) -> float:
    """Return the width of the widest of `texts`, `MAX_LABEL` at most."""
    metrics = QFontMetricsF(font)
    if len(texts) > 512:
        return MAX_LABEL if any(texts) else 0.0
    likely = sorted(set(texts), key=len, reverse=True)[:12]
    return min(MAX_LABEL, max((metrics.horizontalAdvance(text) for text in likely), default=0.0))


def _cut(metrics: QFontMetricsF, text: str) -> str:
    return text if len(text) <= 5 else metrics.elidedText(text, _ELIDE, MAX_LABEL)


def label_margins(
    rows: AxisLabels, cols: AxisLabels, shape: tuple[int, int], fonts: LabelFonts
) -> Margins:
    """Return the room that the labels need (the footer is not counted)."""
    label, digit = QFontMetricsF(fonts.label), QFontMetricsF(fonts.digit)
    across = longest_label(rows.texts, fonts.label)
    slanted = longest_label(cols.texts, fonts.label)
    digits = digit.horizontalAdvance("0" * len(str(rows.first + shape[0] - 1)))
    left = 8.0 + digits + (across + 7.0 if across else 0.0) + 6.0
    top = digit.height() + 6.0
    right = 10.0
    if slanted:
        lean = SLANT / 180.0 * pi
        top += slanted * sin(lean) + label.height() * cos(lean) + 4.0
        right = max(10.0, _overhang(cols.texts, label, cos(lean)))
    return Margins(ceil(left), ceil(top), ceil(right), 0.0)


def _overhang(texts: Sequence[str], metrics: QFontMetricsF, share: float) -> float:
    """Return how far the last slanted labels lean out over the right edge of the square."""
    least_cell = 10.0
    return max(
        min(metrics.horizontalAdvance(text), MAX_LABEL) * share - back * least_cell
        for back, text in enumerate(reversed(texts[-4:]))
    )


def nice_step(room: float, cell: float) -> int:
    """Return every how many cells a label has at least `room` pixels (1, 2, 5, 10, 20, …)."""
    step, scale = 1, 1
    while step * cell < room:
        for factor in (1, 2, 5):
            step = factor * scale
            if step * cell >= room:
                return step
        scale *= 10
    return step


def paint_row_labels(
    painter: QPainter,
    frame: GridFrame,
    labels: AxisLabels,
    fonts: LabelFonts,
    *,
    theme: Theme,
    hot: int | None,
) -> None:
    """Paint labels and positions left of the square; `hot` is the row in the accent."""
    label, digit = QFontMetricsF(fonts.label), QFontMetricsF(fonts.digit)
    step = nice_step(label.height() - 1.0, frame.cell)
    start, stop = frame.row_span
    digits = digit.horizontalAdvance("0" * len(str(labels.first + frame.rows - 1)))
    edge = frame.x - 6.0
    shown = [r for r in range(start - start % step, stop, step) if r >= start]
    placed: list[tuple[int, float]] = []
    for row in _with_hot(shown, hot, (start, stop), step):
        y = frame.top_of(row) + frame.cell / 2.0
        if frame.y - 2.0 <= y <= frame.y + frame.height + 2.0:
            placed.append((row, y - label.height() / 2.0))
    painter.setFont(fonts.digit)
    for row, top in placed:
        painter.setPen(_digit_color(theme, row == hot))
        painter.drawText(QRectF(0.0, top, edge, label.height()), _FLAGS, str(labels.first + row))
    painter.setFont(fonts.label)
    edge -= digits + 7.0
    for row, top in placed:
        if row < len(labels.texts):
            painter.setPen(_label_color(theme, labels, row, hot))
            text = _cut(label, labels.texts[row])
            painter.drawText(QRectF(0.0, top, edge, label.height()), _FLAGS, text)


def paint_col_labels(
    painter: QPainter,
    frame: GridFrame,
    labels: AxisLabels,
    fonts: LabelFonts,
    *,
    theme: Theme,
    hot: int | None,
) -> None:
    """Paint slanted labels, and positions, above the square."""
    label, digit = QFontMetricsF(fonts.label), QFontMetricsF(fonts.digit)
    start, stop = frame.col_span
    widest = digit.horizontalAdvance("0" * len(str(labels.first + frame.cols - 1)))
    step = nice_step(widest + 5.0, frame.cell)
    painter.setFont(fonts.digit)
    top = frame.y - digit.height() - 5.0
    shown = [c for c in range(start - start % step, stop, step) if c >= start]
    for col in _with_hot(shown, hot, (start, stop), step):
        x = frame.left_of(col) + frame.cell / 2.0
        if frame.x - 2.0 <= x <= frame.x + frame.width + 2.0:
            painter.setPen(_digit_color(theme, col == hot))
            box = QRectF(x - 40.0, top, 80.0, digit.height())
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, str(labels.first + col))
    step = nice_step(label.height() * 0.82 / sin(SLANT / 180.0 * pi), frame.cell)
    painter.setFont(fonts.label)
    shown = [c for c in range(start - start % step, stop, step) if c >= start]
    for col in _with_hot(shown, hot, (start, stop), step):
        x = frame.left_of(col) + frame.cell / 2.0
        if col < len(labels.texts) and frame.x - 2.0 <= x <= frame.x + frame.width + 2.0:
            painter.setPen(_label_color(theme, labels, col, hot))
            text = _cut(label, labels.texts[col])
            lean = label.horizontalAdvance(text) * cos(SLANT / 180.0 * pi)
            if x + lean <= painter.window().width():
                _slanted(painter, QPointF(x + 4.0, top - 2.0), text)


def _slanted(painter: QPainter, foot: QPointF, text: str) -> None:
    painter.save()
    painter.translate(foot)
    painter.rotate(-SLANT)
    painter.drawText(QPointF(0.0, 0.0), text)
    painter.restore()


def _with_hot(shown: list[int], hot: int | None, span: tuple[int, int], step: int) -> list[int]:
    """Return the thinned cells with the hot one in, and the ones it would overlap out."""
    if hot is None or not span[0] <= hot < span[1] or hot in shown:
        return shown
    return [cell for cell in shown if abs(cell - hot) >= step] + [hot]


def _digit_color(theme: Theme, hot: bool) -> QColor:
    return theme.accent if hot else mix(theme.card, theme.muted, 0.75)


def _label_color(theme: Theme, labels: AxisLabels, index: int, hot: int | None) -> QColor:
    if index == hot:
        return theme.accent
    return mix(theme.card, theme.muted, 0.75) if labels.is_faded(index) else theme.text
