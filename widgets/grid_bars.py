"""The bars under a square: one number for each key column, on the square's own columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter

from widgets.grid_geometry import GridFrame, axis_map
from widgets.palette import Theme


def paint_bars(
    painter: QPainter,
    frame: GridFrame,
    band: tuple[float, float],
    values: NDArray[np.float64],
    *,
    color: QColor,
    theme: Theme,
    font: QFont,
    number: Callable[[float], str],
    peak: float,
) -> None:
    """Paint `values` ``[S]`` as bars between y `band` = (top, base), numbers below where they fit.

    A bar of height `peak` fills the band. Where columns are narrower than a device pixel the
    largest of them is drawn, so that one lone column shows.
    """
    top, base = band
    wide = frame.device_size[0]
    across = axis_map(frame.col, frame.cell, frame.cols, wide, frame.dpr)
    room = base - top
    tall = np.maximum.reduceat(values, across.edges()[:-1]) / max(peak, 1e-12) * room
    tall = np.where(tall > 0.0, np.maximum(tall, 1.0), 0.0)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    if frame.cell * frame.dpr >= 3.0:
        gap = 1.0 if frame.cell < 12.0 else 2.0
        for block, height in enumerate(tall.tolist()):
            left = frame.left_of(across.first + block)
            right = min(left + frame.cell, frame.x + frame.width)
            left = max(left, frame.x)
            if height > 0.0 and right - left > gap:
                painter.drawRect(QRectF(left, base - height, right - left - gap, height))
    else:
        heights = tall[across.index]
        _paint_skyline(painter, frame, base, heights, ink=color, ground=theme.card)
    painter.fillRect(QRectF(frame.x, base, frame.width, 1.0), theme.hairline)
    _paint_numbers(painter, frame, base, values, theme=theme, font=font, number=number)


def _paint_skyline(
    painter: QPainter,
    frame: GridFrame,
    base: float,
    tall: NDArray[np.float64],
    *,
    ink: QColor,
    ground: QColor,
) -> None:
    """Paint one device column for each entry of `tall`."""
    high = max(1, int(np.ceil(float(tall.max(initial=0.0)) * frame.dpr)))
    level = np.round(tall * frame.dpr).astype(np.int16)
    below = np.arange(high, 0, -1, dtype=np.int16)[:, None] <= level
    pixels = np.where(below, np.uint32(ink.rgb()), np.uint32(ground.rgb()))
    wide = len(tall)
    image = QImage(pixels.data, wide, high, wide * 4, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(frame.dpr)
    painter.drawImage(QPointF(frame.x, base - high / frame.dpr), image)


def _paint_numbers(
    painter: QPainter,
    frame: GridFrame,
    base: float,
    values: NDArray[np.float64],
    *,
    theme: Theme,
    font: QFont,
    number: Callable[[float], str],
) -> None:
    start, stop = frame.col_span
    if stop - start > 200:
        return
    metrics = QFontMetricsF(font)
    texts = [number(value) for value in values[start:stop].tolist()]
    widest = max(metrics.horizontalAdvance(text) for text in texts)
    if widest + 4.0 > frame.cell:
        return
    painter.setFont(font)
    painter.setPen(theme.muted)
    for col, text in enumerate(texts, start):
        x = frame.left_of(col)
        if text and x >= frame.x - 1.0 and x + frame.cell <= frame.x + frame.width + 1.0:
            box = QRectF(x - 1.0, base + 3.0, frame.cell, metrics.height())
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
