"""The likeliest tokens as bars: what comes next, or what fills a blank."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFont,
    QFontMetricsF,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QApplication, QSizePolicy, QWidget

from widgets.palette import Theme, current, mix

MOST = 8
"""Most bars that are shown."""

_HIGH = 22.0


@dataclass(frozen=True)
class Candidate:
    """One token that may come: its id, how it reads, and its probability (0 to 1)."""

    token: int
    label: str
    probability: float


class NextTokenBars(QWidget):
    """Bars of probability, best first; the first in the accent.

    Signals
    -------
    candidate_clicked : the token id of the bar that was clicked, or entered by keyboard.
    """

    candidate_clicked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = "Next token"
        self._note = ""
        self._candidates: tuple[Candidate, ...] = ()
        self._empty = "Run the model to see what it predicts."
        self._hot: int | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        self.setAccessibleName("Candidates")
        self.setToolTip(
            "Softmax probabilities of the output at the selected position."
            " Click a token to take it; Ctrl+C copies the list."
        )

    # -- told from outside: never emits

    def set_candidates(self, title: str, note: str, candidates: Sequence[Candidate]) -> None:
        """Show up to `MOST` candidates under `title` (bold) and `note` (muted, beside it)."""
        self._title, self._note = title, note
        self._candidates = tuple(candidates[:MOST])
        self._hot = None
        self._describe()
        self.update()

    def set_empty(self, text: str, title: str = "Next token") -> None:
        """Show no bars, but `text` that says why or what to do."""
        self._empty = text
        self.set_candidates(title, "", ())

    # -- asked from outside

    def sizeHint(self) -> QSize:
        """Qt: room for all bars."""
        return QSize(250, int(30 + MOST * _HIGH))

    def minimumSizeHint(self) -> QSize:
        """Qt: room for three bars."""
        return QSize(160, int(30 + 3 * _HIGH))

    def bar_rect(self, index: int) -> QRectF:
        """Return the line of one candidate in the widget."""
        return QRectF(0.0, 28.0 + index * _HIGH, float(self.width()), _HIGH)

    def text(self) -> str:
        """Return the list as lines of ``token TAB probability``."""
        return "\n".join(f"{one.label}\t{one.probability:.4f}" for one in self._candidates)

    def _describe(self) -> None:
        said = ", ".join(f"{one.label} {one.probability:.2f}" for one in self._candidates)
        self.setAccessibleName(f"{self._title} {self._note}".strip())
        self.setAccessibleDescription(said or self._empty)

    # -- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: title, then one line for each candidate."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme = current()
        bold = QFont(self.font())
        bold.setWeight(QFont.Weight.DemiBold)
        painter.setFont(bold)
        painter.setPen(theme.text)
        line = QRectF(0.0, 0.0, float(self.width()), 22.0)
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(line, left, self._title)
        line.setLeft(QFontMetricsF(bold).horizontalAdvance(self._title) + 6.0)
        painter.setFont(self.font())
        painter.setPen(theme.muted)
        metrics = QFontMetricsF(self.font())
        note = metrics.elidedText(self._note, Qt.TextElideMode.ElideRight, line.width())
        painter.drawText(line, left, note)
        if not self._candidates:
            box = QRectF(0.0, 30.0, float(self.width()), max(20.0, self.height() - 34.0))
            painter.drawText(box, left | Qt.TextFlag.TextWordWrap, self._empty)
            return
        widest = max(metrics.horizontalAdvance(one.label) for one in self._candidates)
        names = min(widest, self.width() * 0.36)
        for index, one in enumerate(self._candidates):
            self._paint_bar(painter, theme, index, one, names)

    def _paint_bar(
        self, painter: QPainter, theme: Theme, index: int, one: Candidate, names: float
    ) -> None:
        line = self.bar_rect(index)
        if line.bottom() > self.height() + 1.0:
            return
        if index == self._hot:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.hover)
            painter.drawRoundedRect(line.adjusted(0.0, 1.0, 0.0, -1.0), 4.0, 4.0)
        metrics = QFontMetricsF(self.font())
        figures = metrics.horizontalAdvance("0.000") + 6.0
        painter.setPen(theme.text)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        label = metrics.elidedText(one.label, Qt.TextElideMode.ElideRight, names)
        painter.drawText(QRectF(4.0, line.top(), names, line.height()), right, label)
        painter.setPen(theme.muted)
        figure = f"{one.probability:.2f}" if one.probability >= 0.005 else "<0.01"
        painter.drawText(line.adjusted(0.0, 0.0, -4.0, 0.0), right, figure)
        room = self.width() - names - figures - 22.0
        bar = QRectF(names + 14.0, line.top() + 6.0, room, line.height() - 12.0)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(mix(theme.card, theme.track, 0.45))
        painter.drawRoundedRect(bar, 3.0, 3.0)
        bar.setWidth(max(2.0, room * min(1.0, one.probability)))
        painter.setBrush(theme.accent if index == 0 else mix(theme.card, theme.accent, 0.5))
        painter.drawRoundedRect(bar, 3.0, 3.0)

    # -- events

    def _index_at(self, point: QPointF) -> int | None:
        index = int((point.y() - self.bar_rect(0).top()) // _HIGH)
        return index if 0 <= index < len(self._candidates) else None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Qt: light up the line under the mouse."""
        index = self._index_at(event.position())
        if index != self._hot:
            self._hot = index
            self.update()

    def leaveEvent(self, event: QEvent) -> None:
        """Qt: no line is lit."""
        self._hot = None
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Qt: take a candidate."""
        index = self._index_at(event.position())
        if index is not None and event.button() == Qt.MouseButton.LeftButton:
            self.candidate_clicked.emit(self._candidates[index].token)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt: arrows choose a line, Return takes it, Ctrl+C copies the list."""
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if event.matches(QKeySequence.StandardKey.Copy):
            QApplication.clipboard().setText(self.text())
        elif step is not None and self._candidates:
            start = -1 if self._hot is None else self._hot
            self._hot = min(max(0, start + step), len(self._candidates) - 1)
            self.update()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._hot is not None:
            self.candidate_clicked.emit(self._candidates[self._hot].token)
        else:
            super().keyPressEvent(event)


def make_demo() -> QWidget:
    """Return the bars of an invented step."""
    bars = NextTokenBars()
    words = ("very", "a", "happy", "not", "soft", "so")
    shares = (0.31, 0.22, 0.12, 0.09, 0.06, 0.004)
    found = [Candidate(i, w, p) for i, (w, p) in enumerate(zip(words, shares, strict=True))]
    bars.set_candidates("Next token", "after “was”", found)
    return bars


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (300, 220)))
