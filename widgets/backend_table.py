"""The backend table: which implementations of attention agree under a mask, and where they part."""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QFont,
    QFontMetricsF,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QApplication, QSizePolicy, QWidget

from core.types import BackendRow, BackendTable
from widgets.palette import Theme, current, mix

_TOP, _HIGH, _GAP = 28.0, 24.0, 14.0
_CELL = 14.0
"""The widest that the cell of a query becomes."""
_AGREES, _DIFFERS, _NAN = range(3)
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class BackendTableView(QWidget):
    """A line for each backend: name, a cell for each query, largest difference, finding.

    A cell is pale where the query agrees, full where it differs, and hatched where the backend
    returned no number. Where queries are narrower than a pixel the worst of them is drawn.

    Signals
    -------
    row_hovered : the query row under the mouse or chosen by arrow keys; -1 where there is none.
    """

    row_hovered = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._table: BackendTable | None = None
        self._states: list[NDArray[np.uint8]] = []
        self._empty = "Run a mask through every backend to see where they part."
        self._hot: tuple[int, int] | None = None
        self._stale = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        self.setAccessibleName("Backends")
        self._describe()

    # -- told from outside: never emits

    def set_table(self, table: BackendTable) -> None:
        """Show a table."""
        self._table = table
        self._states = [_states(row, table.tolerance) for row in table.rows]
        self._hot, self._stale = None, False
        self._describe()
        self.updateGeometry()
        self.update()

    def set_stale(self, stale: bool) -> None:
        """Fade the table of an earlier mask."""
        self._stale = stale
        self.update()

    def set_empty(self, sentence: str) -> None:
        """Show no table, but a sentence that says why or what to do."""
        self._empty, self._table, self._states, self._hot = sentence, None, [], None
        self._describe()
        self.updateGeometry()
        self.update()

    # -- asked from outside

    def sizeHint(self) -> QSize:
        """Qt: room for all backends, with their findings."""
        return QSize(980, int(_TOP + max(1, len(self._states)) * _HIGH))

    def minimumSizeHint(self) -> QSize:
        """Qt: room for all backends, their findings cut short."""
        return QSize(480, self.sizeHint().height())

    def cell_rect(self, backend: int, query: int) -> QRectF:
        """Return where the cell of a query row is painted in a backend's line."""
        strip = self._strip(backend)
        wide = strip.width() / max(1, self._queries())
        return QRectF(strip.left() + query * wide, strip.top(), wide, strip.height())

    def text(self) -> str:
        """Return the table as lines of ``backend TAB largest difference TAB finding``."""
        rows = () if self._table is None else self._table.rows
        return "\n".join(f"{row.name}\t{_figure(row)}\t{row.sentence}" for row in rows)

    def _queries(self) -> int:
        return 0 if self._table is None else len(self._table.mask)

    def _columns(self) -> tuple[float, float, float]:
        """Where strip, figures and findings begin."""
        assert self._table is not None
        metrics = QFontMetricsF(self.font())
        names = max(metrics.horizontalAdvance(row.name) for row in self._table.rows)
        strip = 4.0 + min(names, self.width() * 0.34) + _GAP
        figures = strip + min(self.width() * 0.22, self._queries() * _CELL) + _GAP
        return strip, figures, figures + metrics.horizontalAdvance("0.0e+00") + _GAP

    def _strip(self, backend: int) -> QRectF:
        strip, figures, _ = self._columns()
        top = _TOP + backend * _HIGH
        return QRectF(strip, top + 5.0, figures - _GAP - strip, _HIGH - 10.0)

    def _describe(self) -> None:
        if self._table is None:
            said = self._empty
        elif self._hot is None:
            said = self._table.sentence()
        else:
            said = self._said(*self._hot)
        self.setToolTip("" if self._table is None or self._hot is None else said)
        self.setAccessibleDescription(said)

    def _said(self, backend: int, query: int) -> str:
        """Return a line of the table in words, and the query's own difference."""
        assert self._table is not None
        row = self._table.rows[backend]
        if query < 0 or not row.available:
            return f"{row.name}: {row.sentence}"
        value = float(row.difference[query])
        own = "no number" if np.isnan(value) else f"{value:.1e}"
        position = self._table.past + query
        return f"{row.name}: {row.sentence}. Query {position}: {own}."

    # -- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: the summary, then a line for each backend."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme = current()
        if self._table is None:
            painter.setPen(theme.muted)
            box = QRectF(0.0, 0.0, float(self.width()), float(self.height()))
            flags = Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap
            painter.drawText(box, flags, self._empty)
            return
        painter.setOpacity(0.4 if self._stale else 1.0)
        bold = QFont(self.font())
        bold.setWeight(QFont.Weight.DemiBold)
        painter.setFont(bold)
        painter.setPen(theme.text)
        line = QRectF(4.0, 0.0, self.width() - 8.0, 22.0)
        elide = Qt.TextElideMode.ElideRight
        said = QFontMetricsF(bold).elidedText(self._table.sentence(), elide, line.width())
        painter.drawText(line, _LEFT, said)
        painter.setFont(self.font())
        for backend, row in enumerate(self._table.rows):
            self._paint_row(painter, theme, backend, row)

    def _paint_row(self, painter: QPainter, theme: Theme, backend: int, row: BackendRow) -> None:
        line = QRectF(0.0, _TOP + backend * _HIGH, float(self.width()), _HIGH)
        if self._hot is not None and self._hot[0] == backend:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.hover)
            painter.drawRoundedRect(line.adjusted(0.0, 1.0, 0.0, -1.0), 4.0, 4.0)
        strip, figures, findings = self._columns()
        metrics, elide = QFontMetricsF(self.font()), Qt.TextElideMode.ElideRight
        painter.setPen(theme.text if row.available else theme.muted)
        name = metrics.elidedText(row.name, elide, strip - _GAP - 4.0)
        painter.drawText(line.adjusted(4.0, 0.0, 0.0, 0.0), _LEFT, name)
        box = QRectF(figures, line.top(), findings - _GAP - figures, _HIGH)
        painter.drawText(box, _RIGHT, _figure(row))
        painter.setPen(theme.muted)
        box = QRectF(findings, line.top(), self.width() - findings - 4.0, _HIGH)
        painter.drawText(box, _LEFT, metrics.elidedText(row.sentence, elide, box.width()))
        if row.available:
            self._paint_strip(painter, theme, backend)

    def _paint_strip(self, painter: QPainter, theme: Theme, backend: int) -> None:
        strip, states = self._strip(backend), self._states[backend]
        blocks = max(1, min(len(states), int(strip.width())))
        starts = np.arange(blocks) * len(states) // blocks
        worst = np.maximum.reduceat(states, starts)
        wide = strip.width() / blocks
        gap = 1.0 if wide >= 5.0 else 0.0
        hatch = QBrush(theme.error, Qt.BrushStyle.BDiagPattern)
        grounds = {
            _AGREES: mix(theme.card, theme.good, 0.3),
            _DIFFERS: theme.error,
            _NAN: mix(theme.card, theme.error, theme.tint),
        }
        for block, state in enumerate(worst.tolist()):
            cell = QRectF(strip.left() + block * wide, strip.top(), wide - gap, strip.height())
            painter.fillRect(cell, grounds[state])
            if state == _NAN:
                painter.fillRect(cell, hatch)
        if self._hot is not None and self._hot[0] == backend and self._hot[1] >= 0:
            painter.setPen(theme.accent)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.cell_rect(backend, self._hot[1]).adjusted(-1.0, -1.0, 0.0, 1.0))

    # -- events

    def _at(self, point: QPointF) -> tuple[int, int] | None:
        """Return backend and query row under a point; the query is -1 beside the strip."""
        backend = int((point.y() - _TOP) // _HIGH)
        if not 0 <= backend < len(self._states):
            return None
        strip = self._strip(backend)
        share = (point.x() - strip.left()) / max(1.0, strip.width())
        inside = 0.0 <= share < 1.0 and len(self._states[backend])
        return backend, int(share * self._queries()) if inside else -1

    def _hover(self, hot: tuple[int, int] | None) -> None:
        if hot == self._hot:
            return
        before, now = (-1 if one is None else one[1] for one in (self._hot, hot))
        self._hot = hot
        self._describe()
        self.update()
        if before != now:
            self.row_hovered.emit(now)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Qt: light up the line and the query under the mouse."""
        self._hover(self._at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        """Qt: nothing is lit."""
        self._hover(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt: arrows walk over backends and queries, Ctrl+C copies the table."""
        step = {
            Qt.Key.Key_Up: (-1, 0),
            Qt.Key.Key_Down: (1, 0),
            Qt.Key.Key_Left: (0, -1),
            Qt.Key.Key_Right: (0, 1),
        }.get(Qt.Key(event.key()))
        if event.matches(QKeySequence.StandardKey.Copy):
            QApplication.clipboard().setText(self.text())
        elif step is not None and self._states:
            backend, query = (0, 0) if self._hot is None else self._hot
            if self._hot is not None:
                backend, query = backend + step[0], query + step[1]
            backend = min(max(0, backend), len(self._states) - 1)
            self._hover((backend, min(max(0, query), self._queries() - 1)))
        else:
            super().keyPressEvent(event)


def _states(row: BackendRow, tolerance: float) -> NDArray[np.uint8]:
    """Return whether each query agrees, differs or is no number, uint8 ``[Tq]``."""
    states = np.where(row.differs(tolerance), _DIFFERS, _AGREES).astype(np.uint8)
    states[np.isnan(row.difference)] = _NAN
    return states


def _figure(row: BackendRow) -> str:
    if not row.available:
        return "–"
    return "NaN" if np.isnan(row.largest) else f"{row.largest:.1e}"


def make_demo() -> QWidget:
    """Return an invented table of a chunk whose first query may read nothing."""
    past, queries = 3, 14
    mask = np.tri(queries, past + queries, past, dtype=bool)
    mask[0] = False
    agreeing = np.full(queries, 2e-7, np.float32)

    def row(name: str, sentence: str, first: int = 0, stop: int = 0, by: float = 0.0) -> BackendRow:
        difference = agreeing.copy()
        difference[first:stop] = by
        return BackendRow(name, True, difference, sentence)

    nothing = "query 3 may read nothing: "
    absent = BackendRow("FlexAttention", False, np.empty(0, np.float32), "does not compile here")
    rows = (
        row("softmax, closed = minus infinity", f"{nothing}NaN is returned", 0, 1, np.nan),
        row("softmax, closed = lowest float", f"{nothing}the mean of all values", 0, 1, 0.81),
        row("SDPA, bool mask", "agrees"),
        row("SDPA, is_causal", "queries 3 to 16 differ: another triangle", 0, queries, 1.9),
        absent,
        row("ONNX Runtime, opset 24", "agrees"),
    )
    view = BackendTableView()
    view.set_table(BackendTable(1, mask, rows, 1e-5, "plain loops in float64", past))
    return view


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (980, 220)))
