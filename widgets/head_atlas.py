"""Thumbnails of many heads as one picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QImage

GAP = 5.0
"""Room between two tiles, in device-independent pixels."""


def atlas(
    thumbs: NDArray[np.uint8],
    tile: float,
    dpr: float,
    *,
    lut: NDArray[np.uint32],
    ground: int,
) -> QImage:
    """Return all thumbs ``[L, H, h, w]`` of one stack as one picture at device resolution."""
    layers, heads = thumbs.shape[:2]
    side, step = max(1, round(tile * dpr)), round((tile + GAP) * dpr)
    shown = _resized(_resized(thumbs, side, axis=2), side, axis=3)
    canvas = np.full((layers, step, heads, step), ground, np.uint32)
    canvas[:, :side, :, :side] = lut[shown].transpose(0, 2, 1, 3)
    flat = np.ascontiguousarray(canvas.reshape(layers * step, heads * step))
    rows, cols = flat.shape
    image = QImage(flat.data, cols, rows, cols * 4, QImage.Format.Format_RGB32).copy()
    image.setDevicePixelRatio(dpr)
    return image


def _resized(thumbs: NDArray[np.uint8], size: int, *, axis: int) -> NDArray[np.uint8]:
    """Stretch one axis to `size` by nearest value, or shrink it by the largest of each block."""
    have = thumbs.shape[axis]
    if have <= size:
        most: NDArray[np.uint8] = thumbs.take(np.arange(size) * have // size, axis=axis)
        return most
    edges = np.arange(size + 1) * have // size
    first, last = edges[:-1], edges[1:] - 1
    most = thumbs.take(first, axis=axis)
    for step in range(1, int((last - first).max()) + 1):
        np.maximum(most, thumbs.take(np.minimum(first + step, last), axis=axis), out=most)
    return most
