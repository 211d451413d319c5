"""The tint of a share: filled where it speaks for the output, with a minus where against it."""

from __future__ import annotations

from math import sqrt

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QPainter, QPen

from widgets.palette import Theme, mix

_FAINTEST = 0.02
"""Shares below this part of the largest have no minus: there is nothing to say."""


def tinted(ground: QColor, share: float, theme: Theme) -> QColor:
    """Return `ground` with as much ink as a share from -1 to 1 asks for."""
    ink = theme.accent if share >= 0 else theme.warning
    return mix(ground, ink, 0.85 * sqrt(min(1.0, abs(share))))


def paint_minus(painter: QPainter, box: QRectF, share: float, theme: Theme) -> None:
    """Paint a minus sign into `box` where the share is against, so that it tells in grey too."""
    if share > -_FAINTEST:
        return
    middle, half = box.center(), max(2.5, 0.26 * box.width())
    painter.setPen(QPen(theme.text, 1.6))
    painter.drawLine(middle - QPointF(half, 0.0), middle + QPointF(half, 0.0))
