"""Boxes on lines that wrap and scroll, the one under the mouse lit: what tokens are shown as."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt
from PySide6.QtGui import QHelpEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolTip, QWidget


class BoxLines(QAbstractScrollArea):
    """Subclasses say how wide the boxes are (`_widths`), paint them, and tell each in words.

    Class attributes, in pixels
    ---------------------------
    high, gap : of a box, and between two.
    line : from the top of a line to the next.
    left : where a line begins.
    below : under a box, and part of it for the mouse and for scrolling.
    step : of the scroll bar.
    rests_on_lines : True where what is revealed never leaves a line half in sight at the top.
    """

    high: float
    gap: float
    line: float
    below: float
    left = 1.0
    step: int
    rests_on_lines = False

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._boxes: list[QRectF] = []
        self._hot: int | None = None
        self.setProperty("flat", True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.viewport().setAutoFillBackground(False)

    def box_rect(self, index: int) -> QRectF:
        """Return where a box lies in the viewport."""
        return self._boxes[index].translated(0.0, -self.verticalScrollBar().value())

    def describe(self, index: int) -> str:
        """Return what a box stands for in words."""
        raise NotImplementedError

    def _widths(self) -> Iterator[tuple[float, float]]:
        """For each box the room before it, where it begins no line, and its width."""
        raise NotImplementedError

    # -- layout

    def _lay_out(self) -> None:
        room = float(self.viewport().width())
        x, y = self.left, 1.0
        boxes = []
        for before, wide in self._widths():
            x += before if x > self.left else 0.0
            if x > self.left and x + wide > room - 1.0:
                x, y = self.left, y + self.line
            boxes.append(QRectF(x, y, wide, self.high))
            x += wide + self.gap
        self._boxes = boxes
        bar = self.verticalScrollBar()
        high = boxes[-1].bottom() + self.below if boxes else 0.0
        bar.setPageStep(max(1, self.viewport().height()))
        bar.setSingleStep(self.step)
        most = max(0, round(high) - self.viewport().height())
        bar.setRange(0, self._rest(most))
        self.viewport().update()

    def _reveal(self, index: int) -> None:
        """Scroll as far as needed to show a box."""
        bar, box = self.verticalScrollBar(), self._boxes[index]
        low = round(box.bottom() + self.below) - self.viewport().height()
        bar.setValue(min(self._rest(max(bar.value(), low)), round(box.top()) - 1))

    def _rest(self, value: int) -> int:
        """The next place below ``value`` at which scrolling may rest."""
        return value if not self.rests_on_lines else ceil(value / self.line) * round(self.line)

    def _in_sight(self) -> Iterator[int]:
        """The boxes that are in sight."""
        top = float(self.verticalScrollBar().value())
        bottom = top + self.viewport().height()
        for index, box in enumerate(self._boxes):
            if box.top() > bottom:
                return
            if box.bottom() + self.below >= top:
                yield index

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: wrap anew."""
        super().resizeEvent(event)
        self._lay_out()

    # -- the mouse

    def _box_at(self, point: QPointF) -> int | None:
        at = point + QPointF(0.0, self.verticalScrollBar().value())
        for index, box in enumerate(self._boxes):
            if box.adjusted(-self.gap / 2, 0.0, self.gap / 2, self.below).contains(at):
                return index
        return None

    def _light(self, index: int | None) -> None:
        if index != self._hot:
            self._hot = index
            self.viewport().update()

    def _hover(self, index: int | None) -> None:
        """The mouse is over a box, or over none."""
        self._light(index)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Qt: light up what is under the mouse."""
        self._hover(self._box_at(event.position()))

    def viewportEvent(self, event: QEvent) -> bool:
        """Qt: the tool tip says a box in words."""
        if event.type() == QEvent.Type.Leave:
            self._hover(None)
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            index = self._box_at(QPointF(event.pos()))
            text = self.describe(index) if index is not None else ""
            QToolTip.showText(event.globalPos(), text, self)
            return True
        return super().viewportEvent(event)
