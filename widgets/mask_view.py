"""The mask: which key each query may read, why not, and how many queries may read each key."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from itertools import pairwise
from math import ceil

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter, QPen
from PySide6.QtWidgets import QWidget

from core.mask.intervals import RowIntervals, row_intervals
from core.mask.reasons import sentence
from core.types import MaskSpec, Reason
from widgets.grid_bars import paint_bars
from widgets.grid_canvas import Cell
from widgets.grid_geometry import GridFrame, Margins
from widgets.grid_labels import LabelFonts
from widgets.grid_raster import Blocks, closed_codes, color_table, finish, mask_blocks, spread
from widgets.grid_view import GridView
from widgets.mask_layout import axis_labels, document_borders, prefix_block
from widgets.palette import Theme, mix, named, reason_color, reason_pair

_LEVELS = 12
_PARTIAL = 8
"""First palette entry of partly open blocks: `_LEVELS` for each reason."""


class MaskView(GridView):
    """Paint one batch row of a `MaskSpec`, exactly at every zoom.

    Open cells are solid, closed ones tinted and hatched by reason; a block of many cells that is
    partly open is blended, and differs from an empty and from a full one. Pad query rows are
    veiled: padding closes key columns only, and nothing reads or scores a pad's row.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._spec: MaskSpec | None = None
        self._row = 0
        self._intervals: RowIntervals | None = None
        self._counts: NDArray[np.float64] = np.zeros(0)
        self._texts: tuple[list[str], list[str]] = ([], [])
        self.setAccessibleName("Mask")

    def set_mask(
        self, spec: MaskSpec, row: int, row_labels: list[str], key_labels: list[str]
    ) -> None:
        """Show batch row `row` of `spec`; the labels name queries ``[Tq]`` and keys ``[S]``.

        Either list may be empty: then positions alone stand on that axis.
        """
        self._spec, self._row = spec, row
        self._intervals = row_intervals(spec, row)
        self._counts = self._intervals.column_counts().astype(np.float64)
        self._texts = (row_labels, key_labels)
        rows, cols = axis_labels(spec, row, row_labels, key_labels)
        self._set_grid((spec.length, spec.keys), rows, cols)
        self.setAccessibleName(
            f"Mask, {spec.length} queries by {spec.keys} keys, {self._intervals.count()} open"
        )
        self._describe(self.selected)

    def describe(self, cell: Cell) -> str:
        """Return one cell in words: query "sat" may not read key "mat": in the future."""
        query, key = cell
        if self._spec is None or query >= self._spec.length or key >= self._spec.keys:
            return ""
        rows, keys = self._texts
        return sentence(
            self._spec,
            self._row,
            query,
            key,
            rows[query] if query < len(rows) else "",
            keys[key] if key < len(keys) else "",
        )

    def _describe(self, cell: Cell | None) -> None:
        self.setAccessibleDescription(self.describe(cell) if cell is not None else "")

    def _margins(self) -> Margins:
        margins = super()._margins()
        if self._spec is None or not self._spec.past:
            return margins
        metrics = QFontMetricsF(LabelFonts.beside(self.font()).digit)
        name = metrics.horizontalAdvance(f"cache {self._spec.past}")
        return replace(margins, left=max(margins.left, ceil(name) + 10.0))

    # -- painting

    def _make_picture(self, frame: GridFrame, theme: Theme) -> QImage:
        assert self._spec is not None
        assert self._intervals is not None
        blocks = mask_blocks(self._spec, self._row, self._intervals, frame)
        open_codes = spread(_open_codes(blocks), blocks.down, blocks.across)
        reasons = spread(blocks.reasons, blocks.down, blocks.across)
        codes = closed_codes(frame, reasons)
        np.copyto(codes, open_codes, where=open_codes != 0)
        return finish(codes, blocks.down, blocks.across, _color_table(theme.name), frame.dpr)

    def _paint_over(self, painter: QPainter, frame: GridFrame, theme: Theme) -> None:
        assert self._spec is not None
        inside = QRectF(frame.x, frame.y, frame.width, frame.height)
        if self._spec.past and not frame.col:
            self._paint_cache_band(painter, frame, theme)
        painter.save()
        painter.setClipRect(inside)
        self._paint_documents(painter, frame, theme)
        block = prefix_block(self._spec, self._row)
        if block is not None:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            row, col, rows, cols = block
            top_left = QPointF(frame.left_of(col), frame.top_of(row))
            low_right = QPointF(frame.left_of(col + cols), frame.top_of(row + rows))
            outline = QRectF(top_left, low_right).adjusted(0.5, 0.5, -1.5, -1.5)
            painter.setPen(QPen(theme.card, 2.0))
            painter.drawRect(outline)
            painter.setPen(QPen(theme.text, 1.5, Qt.PenStyle.DashLine))
            painter.drawRect(outline)
        painter.restore()

    def _paint_cache_band(self, painter: QPainter, frame: GridFrame, theme: Theme) -> None:
        """Paint a band over the keys that sit in the cache already, and its name beside it.

        The name stands above the first label of a row, which is higher than a small cell.
        """
        assert self._spec is not None
        right = min(frame.left_of(self._spec.past), frame.x + frame.width) - 1.0
        band = QRectF(frame.x, frame.y - 5.0, right - frame.x, 3.0)
        painter.fillRect(band, theme.accent)
        fonts = LabelFonts.beside(self.font())
        painter.setFont(fonts.digit)
        painter.setPen(theme.accent)
        high = QFontMetricsF(fonts.digit).height()
        first = (0.5 - frame.row % 1.0) * frame.cell  # Where the labels of rows begin, as painted.
        first += frame.cell if first < -2.0 else 0.0
        low = min(first - QFontMetricsF(fonts.label).height() / 2.0, 0.0)
        text = QRectF(0.0, frame.y + low - high, frame.x - 6.0, high)
        flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(text, flags, f"cache {self._spec.past}")

    def _paint_documents(self, painter: QPainter, frame: GridFrame, theme: Theme) -> None:
        assert self._spec is not None
        borders = document_borders(self._spec, self._row)
        gaps = [(b - a) * frame.cell for a, b in pairwise(borders)]
        if not borders or min(gaps, default=9.0) < 4.0:
            return
        painter.setPen(QPen(mix(theme.card, theme.other_document, 0.9), 1.5))
        for key in borders:
            x, y = frame.left_of(key) - 0.5, frame.top_of(key - self._spec.past) - 0.5
            painter.drawLine(QPointF(x, frame.y), QPointF(x, frame.y + frame.height))
            painter.drawLine(QPointF(frame.x, y), QPointF(frame.x + frame.width, y))

    def _paint_footer(
        self, painter: QPainter, frame: GridFrame, theme: Theme, fonts: LabelFonts
    ) -> None:
        if self._footer_room() < 60.0:
            return
        caption, top, base = self._footer_band(frame, fonts)
        painter.setFont(fonts.digit)
        painter.setPen(theme.muted)
        box = QRectF(frame.x, caption, self.width() - frame.x, top - caption)
        painter.drawText(box, Qt.AlignmentFlag.AlignLeft, "queries that may read each key")
        paint_bars(
            painter,
            frame,
            (top, base),
            self._counts,
            color=mix(theme.card, theme.open, 0.78),
            theme=theme,
            font=fonts.digit,
            number=_count_text,
            peak=float(self._counts.max(initial=1.0)),
        )


def _count_text(value: float) -> str:
    return f"{value:.0f}"


def _open_codes(blocks: Blocks) -> NDArray[np.uint8]:
    """Return 1 for a full block, `_PARTIAL` and up for a partly open one, 0 for an empty one."""
    full = blocks.counts == blocks.area
    codes: NDArray[np.uint8] = full.view(np.uint8)
    if int(blocks.area.max(initial=1)) == 1:
        return codes
    partly = np.flatnonzero((blocks.counts > 0) ^ full)
    share = blocks.counts.reshape(-1)[partly] / blocks.area.reshape(-1)[partly]
    level = np.minimum((share * _LEVELS).astype(np.uint8), _LEVELS - 1)
    reason = blocks.reasons.reshape(-1)[partly]
    reason[reason == Reason.OPEN] = Reason.FUTURE
    codes.reshape(-1)[partly] = _PARTIAL + reason * np.uint8(_LEVELS) + level
    return codes


@cache
def _color_table(theme_name: str) -> list[int]:
    """Return the palette: open blocks (none, full, partly open by reason), then closed ones."""
    theme = named(theme_name)
    colors = [theme.open.rgb()] * _PARTIAL
    for reason in Reason:
        ground = theme.card if reason is Reason.OPEN else reason_pair(reason, theme)[0]
        target: QColor = reason_color(Reason.OPEN, theme)
        for level in range(_LEVELS):
            colors.append(mix(ground, target, 0.34 + 0.4 * level / (_LEVELS - 1)).rgb())
    return color_table(theme, colors)


def make_demo() -> QWidget:
    """Return the view with the mask of the demos."""
    from widgets.demo import WORDS, demo_spec

    view = MaskView()
    spec = demo_spec()
    view.set_mask(spec, 0, list(WORDS[:15]), list(WORDS[:15]))
    view.set_selected((9, 12))
    return view


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (420, 600)))
