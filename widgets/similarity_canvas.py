"""Cosines between sentences as small squares with numbers, and what each position knows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QApplication, QSizePolicy, QToolTip, QWidget

from core.types import EmbeddingsView, Pooling
from core.types.wording import a_mask
from widgets.grid_labels import LabelFonts
from widgets.palette import Theme, current, ink_on, mix

_TITLES = {
    Pooling.MEAN: "mean of all tokens",
    Pooling.LAST: "last token",
    Pooling.FIRST: "first token <s>",
}
_GUTTER = 16.0
_TITLE = 18.0
_LARGEST = 52.0
_BARS = 74.0
_SPACE = 18.0
_TITLE_WIDTH = 118.0
_MIDDLE = Qt.AlignmentFlag.AlignCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class SimilarityCanvas(QWidget):
    """A square for each pooling; a pair of sentences is lit in all of them at once.

    Signals
    -------
    hovered : a pair of sentences in words with its cosines, empty where none is lit.
    """

    hovered = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view: EmbeddingsView | None = None
        self._tokens: tuple[tuple[str, ...], ...] = ()
        self._empty = ""
        self._stale = False
        self._hot: tuple[int, int] | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Similarity of sentences")

    # -- told from outside: never emits

    def set_view(self, view: EmbeddingsView, tokens: tuple[tuple[str, ...], ...]) -> None:
        """Show an answer; ``tokens`` are the labels of each sentence's tokens, without pads."""
        self._view, self._tokens, self._stale, self._hot = view, tokens, False, None
        self.setAccessibleDescription(f"{view.sentences} sentences under {a_mask(view.kind)}")
        self.update()

    def set_empty(self, text: str) -> None:
        """Show no squares, but `text`."""
        self._view, self._tokens, self._empty, self._hot = None, (), text, None
        self.setAccessibleDescription(text)
        self.update()

    def set_stale(self, stale: bool) -> None:
        """Fade what is shown while a newer answer is computed."""
        self._stale = stale
        self.update()

    # -- asked from outside

    def sizeHint(self) -> QSize:
        """Qt: three squares of readable numbers, and bars below."""
        return QSize(430, 220)

    def minimumSizeHint(self) -> QSize:
        """Qt: three small squares."""
        return QSize(300, 130)

    def describe(self, pair: tuple[int, int] | None) -> str:
        """Return a pair of sentences in words: its cosine by each pooling."""
        if self._view is None or pair is None:
            return ""
        one, other = pair
        shown = self._view.similarity.items()
        cosines = [f"{pooling.value} {values[one, other]:.3f}" for pooling, values in shown]
        return " · ".join([f"sentences {one + 1} and {other + 1}", *cosines])

    def text(self) -> str:
        """Return the squares as lines of numbers, tabs between."""
        if self._view is None:
            return ""
        blocks = []
        for pooling, values in self._view.similarity.items():
            rows = ("\t".join(f"{value:.4f}" for value in row) for row in values)
            blocks.append("\n".join([_TITLES[pooling], *rows]))
        return "\n\n".join(blocks)

    # -- layout

    def _cell(self) -> float:
        """Return the side of a cell: as large as three squares and the bars leave room for."""
        assert self._view is not None
        count = self._view.sentences
        wide = (self.width() / 3 - _GUTTER - 6.0) / count
        below = _BARS if self._view.known.shape[1] else 4.0
        return max(4.0, min(_LARGEST, wide, (self.height() - _TITLE - _GUTTER - below) / count))

    def square_rect(self, pooling: Pooling) -> QRectF:
        """Return where the cells of a square lie."""
        assert self._view is not None
        side = self._cell() * self._view.sentences
        step = min(self.width() / 3, max(side + _GUTTER + _SPACE, _TITLE_WIDTH + _GUTTER))
        left = list(_TITLES).index(pooling) * step
        return QRectF(left + _GUTTER, _TITLE + _GUTTER, side, side)

    def _pair_at(self, point: QPointF) -> tuple[int, int] | None:
        if self._view is None:
            return None
        for pooling in _TITLES:
            square = self.square_rect(pooling)
            if square.contains(point):
                at = (point - square.topLeft()) / self._cell()
                last = self._view.sentences - 1
                return min(int(at.y()), last), min(int(at.x()), last)
        return None

    # -- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: three squares, and the bars of the sentence that is lit, or else of the first."""
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            theme = current()
            if self._view is None:
                painter.setPen(theme.muted)
                box = self.rect().adjusted(16, 8, -16, -8)
                painter.drawText(box, _MIDDLE | Qt.TextFlag.TextWordWrap, self._empty)
                return
            painter.setOpacity(0.4 if self._stale else 1.0)
            for pooling, values in self._view.similarity.items():
                self._paint_square(painter, theme, pooling, values)
            if self._view.known.shape[1]:
                self._paint_known(painter, theme, 0 if self._hot is None else self._hot[0])

    def _paint_square(
        self, painter: QPainter, theme: Theme, pooling: Pooling, values: NDArray[np.float32]
    ) -> None:
        assert self._view is not None
        square, cell = self.square_rect(pooling), self._cell()
        every = np.stack(list(self._view.similarity.values()))
        low = min(float(every.min()), 0.9)
        fonts = LabelFonts.beside(self.font())
        painter.setFont(self.font())
        painter.setPen(theme.text)
        title = QRectF(square.left(), 0.0, max(square.width(), _TITLE_WIDTH), _TITLE)
        painter.drawText(title, _LEFT, _TITLES[pooling])
        painter.setFont(fonts.digit)
        has_numbers = cell >= QFontMetricsF(fonts.digit).horizontalAdvance(".00") + 3.0
        for at in range(len(values)):
            lit, number = self._hot is not None and at in self._hot, str(at + 1)
            painter.setPen(theme.accent if lit else theme.muted)
            start = square.top() + at * cell
            painter.drawText(QRectF(square.left() - _GUTTER, start, 13.0, cell), _MIDDLE, number)
            start = square.left() + at * cell
            painter.drawText(QRectF(start, square.top() - 14.0, cell, 13.0), _MIDDLE, number)
        for (row, col), value in np.ndenumerate(values):
            box = QRectF(square.left() + col * cell, square.top() + row * cell, cell, cell)
            share = (float(value) - low) / (1.0 - low)
            ground = mix(theme.map_low, theme.open, share)
            painter.fillRect(box.adjusted(0.5, 0.5, -0.5, -0.5), ground)
            if has_numbers:
                painter.setPen(ink_on(theme, ground))
                painter.drawText(box, _MIDDLE, _figure(float(value)))
            if (row, col) == self._hot:
                painter.setPen(QPen(theme.text, 1.6))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(box.adjusted(1.0, 1.0, -1.0, -1.0))

    def _paint_known(self, painter: QPainter, theme: Theme, sentence: int) -> None:
        """Paint a bar for each position: how near its state is to the one that reads both ways."""
        assert self._view is not None
        tokens = self._tokens[sentence]
        fonts = LabelFonts.beside(self.font())
        digits = QFontMetricsF(fonts.digit)
        floor = float(self.height()) - digits.height() - 2.0
        top = floor - (_BARS - 2 * digits.height() - 12.0)
        painter.setFont(fonts.digit)
        painter.setPen(theme.muted)
        title = f"sentence {sentence + 1}: cosine of each state with the one that reads both ways"
        painter.drawText(QRectF(0.0, top - 15.0, float(self.width()), 13.0), _LEFT, title)
        wide = min(56.0, float(self.width()) / max(1, len(tokens)))
        for at, token in enumerate(tokens):
            known = float(self._view.known[sentence, at])
            slot = QRectF(at * wide, top, wide - 3.0, floor - top)
            painter.fillRect(slot, mix(theme.card, theme.track, 0.45))
            high = slot.height() * min(1.0, max(0.0, known))
            bar = QRectF(slot.left(), floor - high, slot.width(), high)
            painter.fillRect(bar, mix(theme.card, theme.accent, 0.55))
            if slot.width() >= digits.horizontalAdvance(".00"):
                painter.setPen(theme.text)
                painter.drawText(slot, _MIDDLE, _figure(known))
            painter.setPen(theme.muted)
            label = digits.elidedText(token, Qt.TextElideMode.ElideRight, slot.width())
            below = QRectF(slot.left(), floor + 1.0, slot.width(), digits.height())
            painter.drawText(below, _MIDDLE, label)

    # -- events

    def _light(self, pair: tuple[int, int] | None) -> None:
        if pair != self._hot:
            self._hot = pair
            self.setAccessibleDescription(self.describe(pair))
            self.update()
            self.hovered.emit(self.describe(pair))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Qt: light the pair under the mouse in every square."""
        self._light(self._pair_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        """Qt: no pair is under the mouse any more."""
        self._light(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt: arrows walk the pairs, Ctrl+C copies the squares."""
        moves = {
            Qt.Key.Key_Left: (0, -1),
            Qt.Key.Key_Right: (0, 1),
            Qt.Key.Key_Up: (-1, 0),
            Qt.Key.Key_Down: (1, 0),
        }
        move = moves.get(Qt.Key(event.key()))
        if event.matches(QKeySequence.StandardKey.Copy):
            QApplication.clipboard().setText(self.text())
        elif move is not None and self._view is not None:
            last = self._view.sentences - 1
            row, col = (0, 0) if self._hot is None else self._hot
            down, right = (0, 0) if self._hot is None else move
            self._light((min(max(0, row + down), last), min(max(0, col + right), last)))
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Qt: the tool tip says a pair in words."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            pair = self._pair_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), self.describe(pair), self)
            return True
        return super().event(event)


def _figure(value: float) -> str:
    """Two digits without the zero before them."""
    shown = f"{value:.2f}"
    return shown.replace("0.", ".", 1) if abs(value) < 0.995 else shown[:-1]
