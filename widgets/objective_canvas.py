"""What is read and what has to be predicted at each position, and the loss there, as columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QKeyEvent, QKeySequence, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QApplication, QWidget

from core.types import Objective, ObjectiveView
from widgets.box_lines import BoxLines
from widgets.grid_labels import LabelFonts
from widgets.palette import Theme, current, mix

_CHIP = 22.0
_BAR = 30.0
_DIGITS = 13.0
_READS, _TARGET = 0.0, _CHIP + 3.0
_LOSS = _TARGET + _CHIP + 2.0
_BLOCK = _LOSS + _DIGITS + _BAR
_LINE = _BLOCK + 10.0
_GAP = 5.0
_GUTTER = 46.0
_MIDDLE = Qt.AlignmentFlag.AlignCenter


@dataclass(frozen=True)
class ObjectiveWords:
    """How tokens are written: ``reads`` and ``targets`` ``[T]``, ``guesses`` ``[T]`` or empty.

    A target is empty where nothing has to be predicted; ``source`` ``[S]`` is what an encoder
    reads, empty without one.
    """

    reads: tuple[str, ...]
    targets: tuple[str, ...]
    guesses: tuple[str, ...] = ()
    source: tuple[str, ...] = ()


class ObjectiveCanvas(BoxLines):
    """A column of chips and a bar for each position, wrapped and scrolled.

    Signals
    -------
    hovered : a position in words, empty where none is under the mouse or the keys.
    """

    hovered = Signal(str)

    high, gap, line, below, left = _BLOCK, _GAP, _LINE, 2.0, _GUTTER
    step = round(_LINE / 2)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view: ObjectiveView | None = None
        self._words = ObjectiveWords((), ())
        self._empty = "Type a sentence to see it as the objective does."
        self._stale = False
        self.setAccessibleName("Inputs, targets and loss")

    # -- told from outside: never emits

    def set_view(self, view: ObjectiveView, words: ObjectiveWords) -> None:
        """Show an answer."""
        self._view, self._words, self._stale = view, words, False
        self._light(None)
        self._lay_out()
        self.setAccessibleDescription(view.sentence)

    def set_empty(self, text: str) -> None:
        """Show no columns, but `text`."""
        self._view, self._words, self._empty = None, ObjectiveWords((), ()), text
        self._light(None)
        self._lay_out()
        self.setAccessibleDescription(text)

    def set_stale(self, stale: bool) -> None:
        """Fade what is shown while a newer answer is computed."""
        self._stale = stale
        self.viewport().update()

    # -- asked from outside

    def sizeHint(self) -> QSize:
        """Qt: two lines of columns."""
        return QSize(560, round(2 * _LINE))

    def minimumSizeHint(self) -> QSize:
        """Qt: one line of columns."""
        return QSize(200, round(_BLOCK) + 4)

    def describe(self, position: int | None) -> str:
        """Return a position in words: what is read, what has to be predicted, loss and guess."""
        view, words = self._view, self._words
        if view is None or position is None:
            return ""
        said = [f"position {position}", f"reads “{words.reads[position]}”"]
        if not view.loss_mask[position]:
            said.append("carries no loss")
        else:
            said.append(f"has to predict “{words.targets[position]}”")
            if view.is_computed:
                loss = float(view.loss[position])
                said.append(f"loss {loss:.3f} nats (probability {np.exp(-loss):.3f})")
        if words.guesses:
            said.append(f"likeliest “{words.guesses[position]}” {view.top_probs[position]:.2f}")
        return " · ".join(said)

    def text(self) -> str:
        """Return the columns as lines of position, read, target and loss, tabs between."""
        view, words = self._view, self._words
        if view is None:
            return ""
        losses = ["" if np.isnan(loss) else f"{loss:.4f}" for loss in view.loss]
        rows = zip(range(len(losses)), words.reads, words.targets, losses, strict=True)
        return "\n".join("\t".join(map(str, row)) for row in rows)

    # -- layout

    def _widths(self) -> Iterator[tuple[float, float]]:
        metrics = QFontMetricsF(self.font())
        least = QFontMetricsF(LabelFonts.beside(self.font()).digit).horizontalAdvance("00.00") + 4.0
        for pair in zip(self._words.reads, self._words.targets, strict=True):
            wide = max(metrics.horizontalAdvance(label) for label in pair) + 14.0
            yield 0.0, max(least, min(130.0, wide))

    # -- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: the columns that are in sight."""
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme = current()
        if self._view is None:
            painter.setPen(theme.muted)
            box = self.viewport().rect().adjusted(24, 8, -24, -8)
            painter.drawText(box, _MIDDLE | Qt.TextFlag.TextWordWrap, self._empty)
            return
        painter.setOpacity(0.4 if self._stale else 1.0)
        painter.translate(0.0, -self.verticalScrollBar().value())
        digit = LabelFonts.beside(self.font()).digit
        losses = self._view.loss[np.isfinite(self._view.loss)]
        largest = max(float(losses.max()) if len(losses) else 0.0, 1.0)
        for position in self._in_sight():
            column = self._boxes[position]
            if column.left() == _GUTTER:
                self._paint_gutter(painter, theme, digit, column.top())
            self._paint_chips(painter, theme, position)
            self._paint_loss(painter, theme, digit, position, largest)

    def _paint_gutter(self, painter: QPainter, theme: Theme, font: QFont, top: float) -> None:
        """Name the rows beside the first column of a line."""
        painter.setFont(font)
        painter.setPen(theme.muted)
        rows = {"reads": (_READS, _CHIP), "target": (_TARGET, _CHIP), "loss": (_LOSS, _BAR)}
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        for name, (offset, high) in rows.items():
            painter.drawText(QRectF(1.0, top + offset, _GUTTER - 6.0, high), flags, name)

    def _paint_chips(self, painter: QPainter, theme: Theme, position: int) -> None:
        view, words, column = self._view, self._words, self._boxes[position]
        assert view is not None
        scored = bool(view.loss_mask[position])
        in_place = view.objective is Objective.MASKED and scored
        changed = in_place and view.inputs[position] != view.targets[position]
        ground = theme.generated if changed else theme.chip
        if position < view.prefix:
            ground = mix(theme.chip, theme.accent, 0.2)
        if position == self._hot:
            ground = mix(ground, theme.accent, 0.14)
        painter.setFont(self.font())
        pen = QPen(theme.accent if in_place else theme.hairline, 1.4 if in_place else 1.0)
        painter.setBrush(ground)
        self._chip(painter, theme, column, _READS, words.reads[position], pen)
        if scored:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            pen = QPen(theme.accent, 1.2)
            self._chip(painter, theme, column, _TARGET, words.targets[position], pen)

    @staticmethod
    def _chip(
        painter: QPainter, theme: Theme, column: QRectF, offset: float, text: str, pen: QPen
    ) -> None:
        box = QRectF(column.left(), column.top() + offset, column.width(), _CHIP)
        painter.setPen(pen)
        painter.drawRoundedRect(box.adjusted(0.8, 0.8, -0.8, -0.8), 5.0, 5.0)
        painter.setPen(theme.text)
        metrics = QFontMetricsF(painter.font())
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, box.width() - 8.0)
        painter.drawText(box, _MIDDLE, shown)

    def _paint_loss(
        self, painter: QPainter, theme: Theme, font: QFont, position: int, largest: float
    ) -> None:
        view, column = self._view, self._boxes[position]
        assert view is not None
        floor = column.bottom()
        line = QRectF(column.left() + 2.0, floor - 1.0, column.width() - 4.0, 1.0)
        painter.fillRect(line, theme.hairline)
        loss = float(view.loss[position])
        if np.isnan(loss):
            return
        high = max(1.5, _BAR * min(1.0, loss / largest))
        bar = QRectF(column.left() + 2.0, floor - high, column.width() - 4.0, high)
        painter.fillRect(bar, mix(theme.card, theme.accent, 0.9 if position == self._hot else 0.55))
        painter.setFont(font)
        painter.setPen(theme.muted)
        box = QRectF(column.left() - 4.0, bar.top() - _DIGITS, column.width() + 8.0, _DIGITS)
        painter.drawText(box, _MIDDLE, f"{loss:.2f}")

    # -- events

    def _hover(self, index: int | None) -> None:
        if index != self._hot:
            self._light(index)
            self.hovered.emit(self.describe(index))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt: arrows walk the positions, Ctrl+C copies them as a table."""
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if event.matches(QKeySequence.StandardKey.Copy):
            QApplication.clipboard().setText(self.text())
        elif step is not None and self._boxes:
            at = 0 if self._hot is None else self._hot + step
            self._light(min(max(0, at), len(self._boxes) - 1))
            assert self._hot is not None
            self._reveal(self._hot)
            self.setAccessibleDescription(self.describe(self._hot))
            self.hovered.emit(self.describe(self._hot))
        else:
            super().keyPressEvent(event)
