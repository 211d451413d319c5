"""One of three squares side by side: the weights of A, those of B, or A - B."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QImage, QPainter, QResizeEvent
from PySide6.QtWidgets import QWidget

from core.mask.reasons import WORDS
from core.types import Reason
from widgets.grid_canvas import Cell
from widgets.grid_geometry import AxisMap, GridFrame
from widgets.grid_labels import AxisLabels, LabelFonts
from widgets.grid_raster import axes_of, closed_codes, color_table, finish, pooled, spread
from widgets.grid_view import GridView
from widgets.palette import Theme, attention_lut, difference_lut, named

_ZERO, _MOST, _STRIPE = 100, 200, 201
"""Palette entries: no difference, the largest value, and the stripe of a negative cell."""
_ROOM = 190
"""The least width, in device-independent pixels, in which tokens stand beside the cells."""
_FAINTEST = 8
"""Entries from `_ZERO` within which a negative cell has no stripe: there is nothing to say."""


class CompareSquare(GridView):
    """Paint one of two patterns, or their difference; colour over the square root of its size.

    Where A reads more the difference is blue, where B does it is amber and striped. A cell that is
    closed carries the hatch of its reason (in the difference: closed on both sides).
    """

    footer = 0.0

    def __init__(self, which: int | None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._which = which
        """0 for A, 1 for B, None for A - B."""
        self._patterns: NDArray[np.float32] = np.zeros((2, 0, 0), np.float32)
        self._reasons: NDArray[np.uint8] = np.zeros((2, 0, 0), np.uint8)
        self._titles = ("A", "B")
        self._labels = AxisLabels(()), AxisLabels(())
        self._stale = False
        self._empty = ""
        self.setMinimumSize(110, 100)
        self.setAccessibleName(self._name())

    # -- told from outside: never emits

    def set_patterns(
        self,
        patterns: NDArray[np.float32],
        reasons: NDArray[np.uint8],
        labels: tuple[AxisLabels, AxisLabels],
        titles: tuple[str, str],
    ) -> None:
        """Show weights float32 ``[2, q, k]`` of A and B, closed for `reasons` uint8 ``[2, q, k]``.

        `labels` are those of the queries and of the keys. The square is not stale afterwards.
        """
        self._patterns, self._reasons, self._titles = patterns, reasons, titles
        self._labels, self._stale = labels, False
        self.setAccessibleName(self._name())
        self._fit()
        self._describe(self.selected)

    def set_empty(self, text: str) -> None:
        """Show no weights, but `text`."""
        self._empty = text
        none = AxisLabels(())
        self.set_patterns(
            np.zeros((2, 0, 0), np.float32), np.zeros((2, 0, 0), np.uint8), (none, none), ("A", "B")
        )

    def set_stale(self, stale: bool) -> None:
        """Fade the square while a newer one is computed."""
        if stale != self._stale:
            self._stale = stale
            self.update()

    # -- asked from outside

    def describe(self, cell: Cell) -> str:
        """Return one cell in words: who reads what, on both sides, and the difference."""
        row, key = cell
        if row >= self._patterns.shape[1] or key >= self._patterns.shape[2]:
            return ""
        query, target = (
            f'{n} "{axis.texts[n]}"' for n, axis in zip(cell, self._labels, strict=True)
        )
        sides = [self._side(n, cell) for n in (0, 1)]
        apart = float(self._patterns[0, row, key] - self._patterns[1, row, key])
        return f"query {query}, key {target}: {sides[0]}; {sides[1]}; A − B {apart:+.3f}"

    def _side(self, n: int, cell: Cell) -> str:
        reason = Reason(int(self._reasons[n][cell]))
        if reason is not Reason.OPEN:
            return f"{self._titles[n]} may not read it, {WORDS[reason]}"
        return f"{self._titles[n]} {float(self._patterns[n][cell]):.3f}"

    def _describe(self, cell: Cell | None) -> None:
        self.setAccessibleDescription(self.describe(cell) if cell is not None else "")

    def _name(self) -> str:
        if self._which is None:
            return f"Weights of {self._titles[0]} minus those of {self._titles[1]}"
        return f"Weights of {self._titles[self._which]}"

    def _empty_text(self) -> str:
        return self._empty

    # -- painting

    def _fit(self) -> None:
        """Take tokens as labels where there is room for them, positions alone where not."""
        none = AxisLabels(())
        labels = self._labels if self.width() >= _ROOM else (none, none)
        self._set_grid((self._patterns.shape[1], self._patterns.shape[2]), *labels)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: there may be room for tokens now, or no longer."""
        super().resizeEvent(event)
        if (event.size().width() >= _ROOM) != bool(self._row_labels.texts):
            self._fit()

    def _make_picture(self, frame: GridFrame, theme: Theme) -> QImage:
        down, across = axes_of(frame)
        if self._which is None:
            values, reasons = self._difference(down, across), self._reasons[0]
            is_open = ~(self._reasons > 0).all(axis=0)
        else:
            values, reasons = (
                pooled(self._patterns[self._which], down, across),
                self._reasons[self._which],
            )
            is_open = reasons == 0
        size = np.sqrt(np.clip(np.abs(values), 0.0, 1.0))
        levels = _ZERO + _ZERO * np.sign(values) * size if self._which is None else _MOST * size
        codes = spread((levels + 0.5).astype(np.uint8), down, across)
        if self._which is None:
            striped = _stripes(len(codes), codes.shape[1], max(1, round(frame.dpr)))
            codes = np.where(striped & (codes < _ZERO - _FAINTEST), np.uint8(_STRIPE), codes)
        closed = pooled(np.asarray(is_open, np.float32), down, across) == 0
        told = reasons[np.ix_(down.edges()[:-1], across.edges()[:-1])]
        hatched = closed_codes(frame, spread(told, down, across))
        codes = np.where(spread(closed.view(np.uint8), down, across), hatched, codes)
        table = _color_table(theme.name, self._which is None)
        return finish(codes, down, across, table, frame.dpr)

    def _difference(self, down: AxisMap, across: AxisMap) -> NDArray[np.float32]:
        """Return A - B by block: of the cells of a block, the one that is largest in size."""
        apart = self._patterns[0] - self._patterns[1]
        more = pooled(np.maximum(apart, 0.0), down, across)
        less = pooled(np.maximum(-apart, 0.0), down, across)
        signed: NDArray[np.float32] = np.where(more >= less, more, -less)
        return signed

    def _paint_over(self, painter: QPainter, frame: GridFrame, theme: Theme) -> None:
        if self._stale:
            veil = QColor(theme.card)
            veil.setAlpha(140)
            painter.fillRect(QRectF(frame.x, frame.y, frame.width, frame.height), veil)

    def _paint_footer(
        self, painter: QPainter, frame: GridFrame, theme: Theme, fonts: LabelFonts
    ) -> None:
        """Paint what the colours of a difference mean, if there happens to be room."""
        metrics = QFontMetricsF(fonts.digit)
        y = frame.y + frame.height + 8.0
        if self._which is not None or y + metrics.height() > self.height():
            return
        painter.setFont(fonts.digit)
        x, side = 8.0, metrics.height() - 4.0
        for sign, text in ((1, "A more"), (-1, "B more")):
            box = QRectF(x, y + 2.0, side, side)
            painter.fillRect(
                box, QColor.fromRgb(int(difference_lut(theme.name)[_ZERO + 70 * sign]))
            )
            if sign < 0:
                painter.fillRect(box, QBrush(theme.card, Qt.BrushStyle.FDiagPattern))
            room = QRectF(x + side + 4.0, y, self.width() - x - side - 4.0, metrics.height())
            painter.setPen(theme.muted)
            painter.drawText(room, Qt.AlignmentFlag.AlignLeft, text)
            x += side + 4.0 + metrics.horizontalAdvance(text) + 12.0


def _stripes(high: int, wide: int, scale: int) -> NDArray[np.bool_]:
    """Return bool ``[high, wide]``, True on the stripes of negative cells."""
    y, x = np.arange(high)[:, None] // scale, np.arange(wide) // scale
    striped: NDArray[np.bool_] = (x - y) % 5 == 0
    return striped


@cache
def _color_table(theme_name: str, signed: bool) -> list[int]:
    theme = named(theme_name)
    if signed:
        colors = [*difference_lut(theme_name).tolist(), theme.card.rgb()]
    else:
        lut = attention_lut(theme, "indigo")
        colors = lut[np.linspace(0, 255, _MOST + 1).round().astype(np.intp)].tolist()
    return color_table(theme, colors, quiet=0.62)
