"""Small drawn icons, so that no font need have the glyph."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap, QPolygonF

from widgets.palette import Theme, mix

_SIDE = 14


def icon(name: str, theme: Theme) -> QIcon:
    """Return an icon in the theme's text colour, greyed where disabled.

    Known names: start, back, step, play, pause, stop, plus, minus, sliders.
    """
    made = QIcon()
    faint = mix(theme.card, theme.muted, 0.5)
    for mode, color in ((QIcon.Mode.Normal, theme.text), (QIcon.Mode.Disabled, faint)):
        for scale in (1, 2):
            made.addPixmap(_pixmap(name, color, scale), mode)
    return made


def _pixmap(name: str, color: QColor, scale: int) -> QPixmap:
    pixmap = QPixmap(_SIDE * scale, _SIDE * scale)
    pixmap.setDevicePixelRatio(scale)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    bars, arrows = _SHAPES[name]
    for x, y, wide, high in bars:
        painter.drawRoundedRect(QRectF(x, y, wide, high), 1.0, 1.0)
    for points in arrows:
        painter.drawPolygon(QPolygonF([QPointF(x, y) for x, y in points]))
    painter.end()
    return pixmap


_Bar = tuple[float, float, float, float]
_Arrow = tuple[tuple[float, float], ...]

_SHAPES: dict[str, tuple[tuple[_Bar, ...], tuple[_Arrow, ...]]] = {
    "start": (((2.0, 2.5, 2.0, 9.0),), (((12.0, 2.0), (12.0, 12.0), (5.0, 7.0)),)),
    "back": ((), (((11.0, 2.0), (11.0, 12.0), (3.5, 7.0)),)),
    "step": (((10.0, 2.5, 2.0, 9.0),), (((2.0, 2.0), (2.0, 12.0), (9.0, 7.0)),)),
    "play": ((), (((3.5, 1.5), (3.5, 12.5), (12.0, 7.0)),)),
    "pause": (((3.0, 2.0, 3.0, 10.0), (8.0, 2.0, 3.0, 10.0)), ()),
    "stop": (((2.5, 2.5, 9.0, 9.0),), ()),
    "plus": (((6.0, 2.0, 2.0, 10.0), (2.0, 6.0, 10.0, 2.0)), ()),
    "minus": (((2.0, 6.0, 10.0, 2.0),), ()),
    "sliders": (
        (
            (1.0, 3.0, 12.0, 1.6),
            (1.0, 9.4, 12.0, 1.6),
            (8.0, 1.2, 3.0, 5.2),
            (3.0, 7.6, 3.0, 5.2),
        ),
        (),
    ),
}
