"""Numbers along the text as curves: one point a query, all in one unit.

Uses pyqtgraph, whose import takes half a second: import this module when the plot is first asked
for, not at the start.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QEvent
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.types import Reason
from widgets.palette import Theme, current, mix, reason_color

MOST_TICKS = 24


class CurvePlot(QWidget):
    """Up to three curves over the query rows, with tokens on the axis; zoom and pan as usual."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._curves: dict[str, NDArray[np.float32]] = {}
        self._labels: list[str] = []
        self._first = 0
        self.plot = pg.PlotWidget()
        self.plot.setMenuEnabled(False)
        self.plot.addLegend(offset=(64, 4))
        self.plot.setLabel("left", "nats")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.addWidget(self.plot)
        self.setAccessibleName("Curves along the text")
        self._draw()

    # -- told from outside: never emits

    def set_curves(
        self, curves: Mapping[str, NDArray[np.float32]], labels: list[str], first: int
    ) -> None:
        """Show curves over queries named ``labels``; ``first`` is the position of the first one.

        ``curves`` are values ``[Tq]`` by name, NaN where there is none; one without any is left
        out.
        """
        self._curves = {name: v for name, v in curves.items() if np.isfinite(v).any()}
        self._labels, self._first = labels, first
        said = (f"{name}: {float(np.nanmean(v)):.2f} nats" for name, v in self._curves.items())
        self.setAccessibleDescription(", ".join(said))
        self._draw()

    # -- painting

    def _draw(self) -> None:
        theme, item = current(), self.plot.getPlotItem()
        self.plot.setBackground(theme.card)
        item.clear()
        for side in ("left", "bottom"):
            axis = item.getAxis(side)
            axis.setPen(theme.hairline)
            axis.setTextPen(theme.muted)
        item.legend.setLabelTextColor(theme.text)
        item.showGrid(y=True, alpha=0.15)
        item.getAxis("bottom").setTicks([self._ticks()])
        for (name, values), color in zip(self._curves.items(), _inks(theme), strict=False):
            item.plot(
                np.arange(len(values)) + self._first,
                values,
                pen=pg.mkPen(color, width=2),
                symbol="o",
                symbolSize=5,
                symbolBrush=color,
                symbolPen=None,
                name=name,
                connect="finite",
            )

    def _ticks(self) -> list[tuple[float, str]]:
        step = max(1, -(-len(self._labels) // MOST_TICKS))
        shown = range(0, len(self._labels), step)
        return [(float(self._first + i), self._labels[i]) for i in shown]

    def changeEvent(self, event: QEvent) -> None:
        """Qt: a new palette is a new theme."""
        if event.type() == QEvent.Type.PaletteChange:
            self._draw()
        super().changeEvent(event)


def _inks(theme: Theme) -> tuple[QColor, ...]:
    return theme.accent, reason_color(Reason.PADDING, theme), mix(theme.card, theme.muted, 0.7)


def make_demo() -> QWidget:
    """Return two invented curves with a gap."""
    plot = CurvePlot()
    x = np.arange(12, dtype=np.float32)
    gap = np.where(x == 5, np.nan, 1 + np.sin(x)).astype(np.float32)
    plot.set_curves({"surprise": gap, "entropy": np.sqrt(x)}, list("abcdefghijkl"), 0)
    return plot


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (720, 240)))
