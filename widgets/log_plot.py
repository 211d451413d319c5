"""A plot with two log axes, whose ticks are written in units: ``64 KiB``, ``10 GFLOP``, ``1 k``.

Imports pyqtgraph: import this module when a plot is first asked for, not at the start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from core.types import Reason
from core.types.log_curves import Curve, log_ticks, tick_text
from widgets.palette import Theme, current, reason_color

_ROOM, _FINE = 46.0, 26.0
"""Pixels between two ticks, at least, and between those of 1, 2, 5 and 10."""

_LABELS = 76
"""Pixels for what stands at the ticks of y: as they were measured they would come a paint late."""


class UnitAxis(pg.AxisItem):  # type: ignore[misc]
    """A log axis with a tick at powers of ten, or of two where it counts bytes."""

    def __init__(self, orientation: str) -> None:
        super().__init__(orientation)
        self.unit = ""

    def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        """Qt: where ticks stand, in log10 of the value."""
        step = log10(2.0) if self.unit == "bytes" else 1.0
        fine = size > 3 * (high - low) * _FINE
        return [(step, log_ticks(low, high, self.unit, max(2.0, size / _ROOM), fine=fine))]

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        """Qt: what stands at the ticks."""
        return [tick_text(10.0**at, self.unit) for at in values]


class LogPlot(pg.PlotWidget):  # type: ignore[misc]
    """Curves, points and one marked place; zoom and pan as usual, a double click shows everything.

    Signals
    -------
    place_hovered : x under the mouse, None as it leaves.
    """

    place_hovered = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        axes = {side: UnitAxis(side) for side in ("left", "bottom")}
        super().__init__(parent, axisItems=axes)
        self.axes = axes
        self._content: tuple[Mapping[str, Curve], Mapping[str, Curve], float] = ({}, {}, 1.0)
        self.setMenuEnabled(False)
        self.hideButtons()
        axes["left"].setWidth(_LABELS)
        self.setLogMode(x=True, y=True)
        self.setMinimumSize(160, 120)
        self.scene().sigMouseMoved.connect(self._on_mouse_moved)
        self._draw()

    def set_curves(
        self,
        curves: Mapping[str, Curve],
        points: Mapping[str, Curve],
        place: float,
        unit: str,
    ) -> None:
        """Show lines and points by name; ``place`` on x is marked, 0 marks none.

        ``unit`` is that of y, as `core.types.cost.figure` takes it. The curve named "total" is the
        heaviest. Never emits.
        """
        self._content = (curves, points, place)
        self.axes["left"].unit = unit
        self._draw()
        self._fit()

    @property
    def names(self) -> tuple[str, ...]:
        """The curves and points that are drawn."""
        return (*self._content[0], *self._content[1])

    def ink(self, name: str) -> QColor:
        """The colour of a curve or of points."""
        theme = current()
        if name == "total":
            return theme.text
        inks = _inks(theme)
        return inks[self.names.index(name) % len(inks)]

    # -- painting

    def _draw(self) -> None:
        theme, item = current(), self.getPlotItem()
        curves, points, place = self._content
        self.setBackground(theme.card)
        item.clear()
        for axis in self.axes.values():
            axis.setPen(theme.hairline)
            axis.setTextPen(theme.muted)
        item.showGrid(x=True, y=True, alpha=0.12)
        for name, (x, y) in curves.items():
            color, heavy = self.ink(name), name == "total"
            item.plot(x, y, pen=pg.mkPen(color, width=3 if heavy else 2), name=name)
            there = np.isclose(x, place)
            if there.any():
                item.plot(
                    x[there],
                    y[there],
                    pen=None,
                    symbol="o",
                    symbolSize=8,
                    symbolBrush=color,
                    symbolPen=pg.mkPen(theme.card, width=1.5),
                )
        for n, (name, (x, y)) in enumerate(points.items()):
            item.plot(
                x,
                y,
                pen=None,
                symbol="os"[n % 2],
                symbolSize=9,
                symbolPen=None,
                symbolBrush=self.ink(name),
                name=name,
            )
        if curves and place > 0:
            pen = pg.mkPen(theme.muted, width=1, style=Qt.PenStyle.DashLine)
            item.addItem(pg.InfiniteLine(log10(place), angle=90, pen=pen))

    def _fit(self) -> None:
        """Show everything."""
        lines = [*self._content[0].values(), *self._content[1].values()]
        if lines:
            across, up = (np.log10(np.concatenate(axis)) for axis in zip(*lines, strict=True))
            spans = [(float(axis.min()), float(axis.max())) for axis in (across, up)]
            self.setRange(xRange=spans[0], yRange=spans[1], padding=0.04)

    # -- the mouse

    def _on_mouse_moved(self, at: QPointF) -> None:
        box = self.getPlotItem().vb
        if box.sceneBoundingRect().contains(at):
            self.place_hovered.emit(10.0 ** box.mapSceneToView(at).x())

    def leaveEvent(self, event: QEvent) -> None:
        """Qt: nothing is under the mouse any more."""
        super().leaveEvent(event)
        self.place_hovered.emit(None)

    def mouseDoubleClickEvent(self, event: object) -> None:
        """Qt: show everything again."""
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        """Qt: a new palette is a new theme."""
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "axes"):
            self._draw()
        super().changeEvent(event)


def _inks(theme: Theme) -> tuple[QColor, ...]:
    reasons = (Reason.PADDING, Reason.OTHER_DOCUMENT, Reason.OUTSIDE_WINDOW, Reason.BEYOND_CACHE)
    return (theme.accent, *(reason_color(reason, theme) for reason in reasons), theme.by_hand)
