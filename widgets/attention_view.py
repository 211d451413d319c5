"""One head's attention on the mask's own axes, and the weights of the selected query."""

from __future__ import annotations

import sys
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter
from PySide6.QtWidgets import QWidget

from core.mask.reasons import WORDS, reason_at
from core.types import MaskSpec, Reason
from widgets.grid_bars import paint_bars
from widgets.grid_canvas import Cell
from widgets.grid_geometry import AxisMap, GridFrame
from widgets.grid_labels import AxisLabels, LabelFonts
from widgets.grid_raster import CLOSED_BASE, MaskRow, axes_of, cells_picture, color_table, pooled
from widgets.grid_view import GridView
from widgets.mask_layout import axis_labels
from widgets.palette import Theme, attention_lut, mix, named

_TOP = CLOSED_BASE - 1
"""Palette entry of the largest weight."""


class AttentionView(GridView):
    """Paint a pattern ``[Tq, S]``: colour over the square root of the weight.

    A closed cell carries the quiet hatch of its reason, an open one that gets no weight is plain,
    so the two are never confused. Where cells are smaller than a pixel the largest weight of the
    pixel is drawn.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._pattern: NDArray[np.float32] = np.zeros((0, 0), np.float32)
        self._mask: MaskRow | None = None
        self._map = "indigo"
        self._row_contrast = False
        self._stale = False
        self._empty = "Loading the model…"
        self.setAccessibleName("Attention")

    # -- told from outside: never emits

    def set_pattern(
        self,
        pattern: NDArray[np.float32],
        spec: MaskSpec | None,
        row: int,
        row_labels: list[str],
        key_labels: list[str],
    ) -> None:
        """Show weights float32 ``[Tq, S]`` that were read under batch row `row` of `spec`.

        Closed cells are hatched where `spec` has the pattern's shape; None hatches nothing.
        The view is not stale afterwards.
        """
        self._pattern = pattern
        shape = (pattern.shape[0], pattern.shape[1])
        if spec is not None and (spec.length, spec.keys) == shape:
            self._mask = MaskRow(spec, row)
            rows, cols = axis_labels(spec, row, row_labels, key_labels)
        else:
            self._mask = None
            rows, cols = AxisLabels(tuple(row_labels)), AxisLabels(tuple(key_labels))
        self._stale = False
        self._set_grid(shape, rows, cols)
        self.setAccessibleName(f"Attention, {shape[0]} queries by {shape[1]} keys")
        self._describe(self.selected)

    def set_empty(self, text: str) -> None:
        """Show no pattern, but `text` that says what is awaited or what to do."""
        self._empty = text
        self._pattern = np.zeros((0, 0), np.float32)
        self._mask, self._stale = None, False
        self._set_grid((0, 0), AxisLabels(()), AxisLabels(()))

    def set_stale(self, stale: bool) -> None:
        """Fade the pattern while a newer one is computed."""
        if stale != self._stale:
            self._stale = stale
            self.update()

    def set_map(self, name: str) -> None:
        """Choose the colour map, one of `widgets.palette.MAP_NAMES`."""
        self._map = name
        self.update()

    def set_row_contrast(self, on: bool) -> None:
        """Colour each row up to its own largest weight, so that one strong key hides no other."""
        self._row_contrast = on
        self.update()

    def describe(self, cell: Cell) -> str:
        """Return one cell in words: query 4 "sat" reads key 2 "cat" with weight 0.31."""
        row, key = cell
        if row >= self._pattern.shape[0] or key >= self._pattern.shape[1]:
            return ""
        query = f"query {self._row_labels.first + row}{_quoted(self._row_labels, row)}"
        target = f"key {self._col_labels.first + key}{_quoted(self._col_labels, key)}"
        if self._mask is not None:
            reason = reason_at(self._mask.spec, self._mask.row, row, key)
            if reason is not Reason.OPEN:
                return f"{query} may not read {target}: {WORDS[reason]}"
        return f"{query} reads {target} with weight {float(self._pattern[row, key]):.3f}"

    def _describe(self, cell: Cell | None) -> None:
        self.setAccessibleDescription(self.describe(cell) if cell is not None else "")

    def _empty_text(self) -> str:
        return self._empty

    def _picture_state(self) -> tuple[object, ...]:
        return (self._map, self._row_contrast)

    # -- painting

    def _make_picture(self, frame: GridFrame, theme: Theme) -> QImage:
        down, across = axes_of(frame)
        weights = pooled(self._pattern, down, across)
        if self._row_contrast:
            peaks = _pooled_rows(self._pattern.max(axis=1), down)
            weights = np.divide(weights, np.maximum(peaks, 1e-12)[:, None], dtype=np.float32)
        levels = np.sqrt(np.clip(weights, 0.0, 1.0)) * _TOP + 0.5
        return cells_picture(levels, self._mask, _color_table(theme.name, self._map), frame)

    def _paint_over(self, painter: QPainter, frame: GridFrame, theme: Theme) -> None:
        if not self._stale:
            return
        veil = QColor(theme.card)
        veil.setAlpha(140)
        painter.fillRect(QRectF(frame.x, frame.y, frame.width, frame.height), veil)
        metrics = QFontMetricsF(self.font())
        text = "updating…"
        pill = QRectF(0.0, 0.0, metrics.horizontalAdvance(text) + 24.0, metrics.height() + 8.0)
        pill.moveCenter(QRectF(frame.x, frame.y, frame.width, frame.height).center())
        painter.setPen(theme.hairline)
        painter.setBrush(theme.card)
        painter.drawRoundedRect(pill, pill.height() / 2.0, pill.height() / 2.0)
        painter.setPen(theme.muted)
        painter.setFont(self.font())
        painter.drawText(pill, Qt.AlignmentFlag.AlignCenter, text)

    def _paint_footer(
        self, painter: QPainter, frame: GridFrame, theme: Theme, fonts: LabelFonts
    ) -> None:
        if self._footer_room() < 60.0:
            return
        caption, top, base = self._footer_band(frame, fonts)
        painter.setFont(fonts.digit)
        painter.setPen(theme.muted)
        hot = self._cursor or self._selected
        metrics = QFontMetricsF(fonts.digit)
        bar_left = self._paint_color_bar(painter, frame, theme, fonts, caption)
        room = QRectF(frame.x, caption, bar_left - frame.x - 8.0, top - caption)
        name = self._query_name(hot)
        text = f"what {name} reads" if hot is not None else "click a row to see what it reads"
        text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignLeft, text)
        row = hot[0] if hot is not None else None
        weights = (
            self._pattern[row].astype(np.float64)
            if row is not None
            else np.zeros(self._pattern.shape[1])
        )
        lut = attention_lut(theme, self._map)
        paint_bars(
            painter,
            frame,
            (top, base),
            weights,
            color=mix(theme.card, QColor.fromRgb(int(lut[200])), 0.85),
            theme=theme,
            font=fonts.digit,
            number=_weight_text,
            peak=max(0.05, float(weights.max(initial=0.0))),
        )

    def _paint_color_bar(
        self, painter: QPainter, frame: GridFrame, theme: Theme, fonts: LabelFonts, y: float
    ) -> float:
        """Paint the colour bar at the right end of the caption; return its left edge."""
        metrics = QFontMetricsF(fonts.digit)
        high = "row max" if self._row_contrast else "1"
        width, right = 64.0, max(frame.x + frame.width, min(frame.x + 240.0, self.width() - 6.0))
        left = right - metrics.horizontalAdvance(high) - 4.0 - width
        lut = attention_lut(theme, self._map)
        strip = QImage(lut.tobytes(), 256, 1, 1024, QImage.Format.Format_RGB32)
        box = QRectF(left, y + 2.0, width, metrics.height() - 4.0)
        painter.drawImage(box, strip)
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(QRectF(left + width + 4.0, y, 80.0, metrics.height()), flags, high)
        zero = left - metrics.horizontalAdvance("0") - 4.0
        painter.drawText(QRectF(zero, y, 20.0, metrics.height()), flags, "0")
        return zero

    def _query_name(self, cell: Cell | None) -> str:
        if cell is None:
            return ""
        texts = self._row_labels.texts
        return f"“{texts[cell[0]]}”" if cell[0] < len(texts) else f"query {cell[0]}"


@cache
def _color_table(theme_name: str, map_name: str) -> list[int]:
    theme = named(theme_name)
    lut = attention_lut(theme, map_name)
    colors = lut[np.linspace(0, 255, _TOP + 1).round().astype(np.intp)].tolist()
    return color_table(theme, colors, quiet=0.62)


def _quoted(labels: AxisLabels, index: int) -> str:
    return f' "{labels.texts[index]}"' if index < len(labels.texts) else ""


def _weight_text(value: float) -> str:
    if value < 0.005:
        return ""
    return "1" if value > 0.995 else f"{value:.2f}"[1:]


def _pooled_rows(peaks: NDArray[np.float32], down: AxisMap) -> NDArray[np.float32]:
    most: NDArray[np.float32] = np.maximum.reduceat(
        peaks[down.first : down.last], down.edges()[:-1] - down.first
    )
    return most


def make_demo() -> QWidget:
    """Return the view with an invented pattern under the mask of the demos."""
    from widgets.demo import WORDS, demo_pattern, demo_spec

    view = AttentionView()
    view.set_pattern(demo_pattern(), demo_spec(), 0, list(WORDS[:15]), list(WORDS[:15]))
    view.set_selected((9, 5))
    return view


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (420, 600)))
