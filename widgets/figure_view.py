"""A figure on a sheet of paper, as large as fits: the preview of what is saved."""

from __future__ import annotations

import sys

from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from core.types.colors import HAIRLINE
from core.types.figure import Figure
from widgets.figure_painter import paint
from widgets.palette import current, mix

_EDGE = 12.0
_SQUARE = 8
"""Side of the squares that show through a transparent figure, in pixels."""


class FigureView(QWidget):
    """Paints a `Figure`, never larger than three times its size; a transparent one on squares."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._figure: Figure | None = None
        self._picture: QImage | None = None
        self.setMinimumSize(240, 200)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Preview of the figure")

    # -- told from outside: never emits

    def set_figure(self, figure: Figure) -> None:
        """Show a figure."""
        self._figure = figure
        self._picture = None
        self.setAccessibleDescription(", ".join(figure.texts()[:40]))
        self.update()

    # -- asked from outside

    @property
    def figure(self) -> Figure | None:
        """The figure that is shown."""
        return self._figure

    def sheet(self) -> QRectF:
        """Where the figure lies, in pixels; empty without one."""
        if self._figure is None:
            return QRectF()
        room = QRectF(self.rect()).adjusted(_EDGE, _EDGE, -_EDGE, -_EDGE)
        size = QSizeF(self._figure.width, self._figure.height)
        scale = min(room.width() / size.width(), room.height() / size.height(), 3.0)
        sheet = QRectF(QPointF(0.0, 0.0), size * scale)
        sheet.moveCenter(room.center())
        return QRectF(sheet.toRect())

    def sizeHint(self) -> QSize:
        """Qt: a comfortable size."""
        return QSize(560, 520)

    # -- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: the sheet, painted anew only where figure or size has changed."""
        painter = QPainter(self)
        theme = current()
        painter.fillRect(self.rect(), mix(theme.window, theme.muted, 0.12))
        if self._figure is None:
            return
        sheet, ratio = self.sheet(), self.devicePixelRatioF()
        size = (sheet.size() * ratio).toSize()
        if self._picture is None or self._picture.size() != size:
            self._picture = self._painted(self._figure, size, sheet.width() * ratio)
        if self._figure.background is None:
            _squares(painter, sheet)
        painter.drawImage(sheet, self._picture)
        painter.setPen(theme.hairline)
        painter.drawRect(sheet)

    def _painted(self, figure: Figure, size: QSize, wide: float) -> QImage:
        picture = QImage(size, QImage.Format.Format_ARGB32_Premultiplied)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        painter.scale(wide / figure.width, wide / figure.width)
        paint(figure, painter)
        painter.end()
        return picture


def _squares(painter: QPainter, sheet: QRectF) -> None:
    painter.save()
    painter.setClipRect(sheet)
    painter.fillRect(sheet, Qt.GlobalColor.white)
    for y in range(int(sheet.top()), int(sheet.bottom()) + 1, _SQUARE):
        shift = _SQUARE * (y // _SQUARE % 2)
        for x in range(int(sheet.left()) - shift, int(sheet.right()) + 1, 2 * _SQUARE):
            painter.fillRect(QRectF(x, y, _SQUARE, _SQUARE), QColor(*HAIRLINE))
    painter.restore()


def make_demo() -> QWidget:
    """Return the view with a figure of a few marks."""
    import numpy as np

    from core.types.colors import ACCENT, WHITE
    from core.types.figure import Cells, Hatch, Text

    rects = np.array([[20.0, 40.0, 60.0, 20.0], [20.0, 60.0, 20.0, 20.0]])
    view = FigureView()
    view.set_figure(
        Figure(
            120.0,
            100.0,
            (
                Cells(np.array([[20.0, 40.0, 80.0, 40.0]]), HAIRLINE, Hatch.SLASH),
                Cells(rects, ACCENT),
                Text("a mask", 60.0, 25.0, 10.0, "middle"),
            ),
            WHITE,
        )
    )
    return view


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (420, 360)))
