"""The legend of the mask: a swatch for each reason and how many cells it closes."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from core.types import Reason
from widgets.palette import current, hatch_brush, mix

NAMES = {
    Reason.OPEN: "may read",
    Reason.FUTURE: "in the future",
    Reason.PADDING: "padding",
    Reason.OTHER_DOCUMENT: "other document",
    Reason.OUTSIDE_WINDOW: "outside window",
    Reason.BEYOND_CACHE: "beyond cache",
}
_HIGH = 22


class Legend(QWidget):
    """Swatches with cell counts; reasons that close nothing are muted."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._counts: dict[Reason, int] = {}
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Legend")
        self.setToolTip(
            "Cells of the shown batch row by why they are closed. Where several rules close one"
            " cell, padding is told first, then beyond cache, other document, window, future."
        )

    def set_counts(self, counts: dict[Reason, int]) -> None:
        """Show how many cells each reason closes; never emits."""
        self._counts = dict(counts)
        said = ", ".join(f"{NAMES[one]} {n}" for one, n in self._counts.items() if n)
        self.setAccessibleDescription(said)
        self.update()

    def sizeHint(self) -> QSize:
        """Qt: one line for each reason."""
        return QSize(200, _HIGH * len(NAMES))

    def minimumSizeHint(self) -> QSize:
        """Qt: the same height, narrower."""
        return QSize(150, _HIGH * len(NAMES))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: one line for each reason."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme = current()
        middle = Qt.AlignmentFlag.AlignVCenter
        metrics = QFontMetricsF(self.font())
        for line, (reason, name) in enumerate(NAMES.items()):
            count = self._counts.get(reason, 0)
            top = float(line * _HIGH)
            painter.setPen(mix(theme.card, theme.muted, 0.35))
            painter.setBrush(hatch_brush(reason, theme))
            painter.drawRoundedRect(QRectF(0.5, top + 4.5, 16.0, 13.0), 2.0, 2.0)
            painter.setPen(theme.text if count else theme.muted)
            figures = f"{count:,}".replace(",", "\u2009")
            room = self.width() - 24.0
            painter.drawText(
                QRectF(24.0, top, room, _HIGH), middle | Qt.AlignmentFlag.AlignRight, figures
            )
            room -= metrics.horizontalAdvance(figures) + 8.0
            text = metrics.elidedText(name, Qt.TextElideMode.ElideRight, room)
            painter.drawText(QRectF(24.0, top, room, _HIGH), middle, text)
