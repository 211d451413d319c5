"""The KV cache as slots: filled, pads among them, still free, and the bytes they take."""

from __future__ import annotations

import sys

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from core.types import Reason
from widgets.palette import current, hatch_brush, mix

_SIDE, _STEP = 14.0, 17.0


class CacheSlots(QWidget):
    """One box for each slot of the cache; a continuous bar where boxes would be too narrow."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._used = self._pads = self._capacity = 0
        self._bytes = (0, 0)
        self._cross = 0
        self._empty = "empty: raise the cache offset or generate a token"
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("KV cache")
        self.setToolTip(
            "Keys and values kept for later queries:"
            " 2 · layers · slots · width · bytes per element."
            " Pads fill slots too, but no query may read them."
        )

    # -- told from outside: never emits

    def set_cache(
        self,
        used: int,
        pads: int,
        capacity: int,
        bytes_used: int,
        bytes_total: int,
        cross_bytes: int = 0,
    ) -> None:
        """Show `used` of `capacity` slots, the first `pads` of them pads.

        `cross_bytes` are the keys and values of a source, which never grow.
        """
        self._used, self._pads, self._capacity = used, pads, max(capacity, used)
        self._bytes, self._cross = (bytes_used, bytes_total), cross_bytes
        self.setAccessibleDescription(self.text())
        self.update()

    def set_empty(self, sentence: str) -> None:
        """Show a sentence and no slots, until there is a cache again."""
        self._empty = sentence
        self.set_cache(0, 0, 0, 0, 0)

    # -- asked from outside

    def text(self) -> str:
        """Return the cache in words: 13 of 24 slots · 2 pads · 60 KiB of 96 KiB."""
        if not self._capacity:
            return self._empty
        parts = [f"{self._used} of {self._capacity} slots"]
        if self._pads:
            parts.append(f"{self._pads} pad{'s' if self._pads > 1 else ''}")
        used, total = self._bytes
        parts.append(f"{bytes_text(used)} of {bytes_text(total)}")
        if self._cross:
            parts.append(f"cross {bytes_text(self._cross)}, fixed")
        return " · ".join(parts)

    def sizeHint(self) -> QSize:
        """Qt: one line."""
        return QSize(420, 24)

    def minimumSizeHint(self) -> QSize:
        """Qt: some of the words at least."""
        return QSize(150, 24)

    # -- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: slots, then the words."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme = current()
        text = self.text()
        words = QFontMetricsF(self.font()).horizontalAdvance(text) + 12.0
        room = max(40.0, self.width() - words)
        top = (self.height() - _SIDE) / 2.0
        step = min(_STEP, room / max(1, self._capacity))
        end = 0.0
        if step >= 5.0:
            gap = 3.0 if step >= 12.0 else 1.0
            for slot in range(self._capacity):
                box = QRectF(slot * step + 0.5, top + 0.5, step - gap, _SIDE - 1.0)
                painter.setPen(mix(theme.card, theme.muted, 0.4))
                painter.setBrush(theme.card)
                if slot < self._pads:
                    painter.setBrush(hatch_brush(Reason.PADDING, theme))
                elif slot < self._used:
                    painter.setPen(theme.open)
                    painter.setBrush(theme.open)
                painter.drawRoundedRect(box, 2.0, 2.0)
            end = self._capacity * step
        elif self._capacity:
            unit = room / self._capacity
            painter.setPen(mix(theme.card, theme.muted, 0.4))
            painter.drawRect(QRectF(0.5, top + 0.5, room - 1.0, _SIDE - 1.0))
            pads = max(1.0, self._pads * unit) if self._pads else 0.0
            painter.fillRect(QRectF(0.0, top, self._used * unit, _SIDE), theme.open)
            painter.fillRect(QRectF(0.0, top, pads, _SIDE), hatch_brush(Reason.PADDING, theme))
            end = room
        painter.setPen(theme.muted)
        left = end + (8.0 if end else 0.0)
        box = QRectF(left, 0.0, max(0.0, self.width() - left), float(self.height()))
        text = painter.fontMetrics().elidedText(
            text, Qt.TextElideMode.ElideRight, max(0, int(box.width()))
        )
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)


def bytes_text(count: int) -> str:
    """Return bytes in the largest binary unit that leaves a number of 1 or more."""
    size, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024.0:
            break
        size, unit = size / 1024.0, larger
    return f"{size:.0f} {unit}" if size >= 10.0 or size.is_integer() else f"{size:.1f} {unit}"


def make_demo() -> QWidget:
    """Return a half filled cache."""
    slots = CacheSlots()
    slots.set_cache(13, 2, 24, 60 * 1024, 96 * 1024)
    return slots


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (760, 60)))
