"""What a model costs, drawn against a size, with the formulas and their numbers beside it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from html import escape

import numpy as np
from PySide6.QtCore import QEvent, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSplitter,
    QTextEdit,
    QVBoxLayout,
    QWidget,
)

from core.types import (
    Cost,
    CostCurves,
    Measured,
    ModelSizes,
    Quantity,
    Tally,
    Term,
    Workload,
)
from core.types.cost import LETTERS, TITLES, figure
from core.types.log_curves import cost_lines, timed_lines
from widgets.cost_form import CostForm
from widgets.cost_text import cost_html, measured_html, solid
from widgets.log_plot import LogPlot
from widgets.palette import current

TIME, RATE = "time, measured here", "FLOP/s, measured here"


@dataclass(frozen=True)
class CostQuestion:
    """What is asked for: sizes, and what is to be drawn against which letter ("": whichever)."""

    model: ModelSizes
    load: Workload
    quantity: Quantity
    axis: str = ""


class CostPlot(QWidget):
    """Fields on the left, curves in the middle, formulas on the right.

    Signals
    -------
    question_changed : a `CostQuestion`, as the user changes a size or what is drawn.
    reset_requested : show the sizes of the view again. measure_requested : time the model here.
    """

    question_changed = Signal(object)
    reset_requested = Signal()
    measure_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._cost: Cost | None = None
        self._curves: CostCurves | None = None
        self._measured: Measured | None = None
        self._stale = False
        self.form = CostForm()
        self.plot = LogPlot()
        self.plot.setAccessibleName("Cost against a size")
        self.quantity, self.axis = QComboBox(), QComboBox()
        for box, name, tip in (
            (self.quantity, "Quantity", "What is drawn"),
            (self.axis, "Against", "The size that it is drawn against"),
        ):
            box.setAccessibleName(name)
            box.setToolTip(tip)
            box.activated.connect(self._on_choice_made)
        self.reset = QPushButton("From the view")
        self.reset.setToolTip("Show the sizes of the model and the text on screen again")
        self.measure = QPushButton("Measure here")
        self.measure.setToolTip("Time prefill and decode of the model on screen, on its device")
        for button in (self.reset, self.measure):
            button.setProperty("pill", True)
            button.setAccessibleName(button.text())
        self.said = QLabel()
        self.said.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.said.setWordWrap(True)
        self.formulas = QTextEdit()
        self.formulas.setReadOnly(True)
        self.formulas.setProperty("flat", True)
        self.formulas.setAccessibleName("Formulas with their numbers")
        self._lay_out()
        self.form.changed.connect(self._on_choice_made)
        self.plot.place_hovered.connect(self._on_place_hovered)
        self.reset.clicked.connect(self.reset_requested)
        self.measure.clicked.connect(self.measure_requested)

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.addWidget(self.quantity)
        top.addWidget(QLabel("against"))
        top.addWidget(self.axis)
        top.addStretch(1)
        top.addWidget(self.reset)
        top.addWidget(self.measure)
        middle = QWidget()
        column = QVBoxLayout(middle)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(self.plot, 1)
        column.addWidget(self.said)
        across = QSplitter(Qt.Orientation.Horizontal)
        for part, share in ((self.form, 186), (middle, 300), (self.formulas, 210)):
            across.addWidget(part)
            across.setStretchFactor(across.count() - 1, 0 if part is self.form else share)
        across.setSizes([186, 290, 204])
        across.setChildrenCollapsible(False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(top)
        layout.addWidget(across, 1)

    # -- told from outside: never emits

    def set_cost(self, found: Cost, curves: CostCurves, axes: str, *, own: bool) -> None:
        """Show a cost and how it grows; ``axes`` are the letters that it may be drawn against.

        ``own`` is True where the sizes are not those of the view.
        """
        self._cost, self._curves = found, curves
        self.form.set_sizes(found.model, found.load)
        self.reset.setEnabled(own)
        self._fill(axes)
        self._show()

    def set_measured(self, measured: Measured) -> None:
        """Show what was measured."""
        self._measured, self._stale = measured, False
        self._fill(self._axes())
        with QSignalBlocker(self.quantity):
            self.quantity.setCurrentText(TIME)
        self._show()

    def set_stale(self, stale: bool) -> None:
        """Say whether what was measured is of another view; the formulas never are."""
        if stale != self._stale:
            self._stale = stale
            if self.timed is not None:
                self._show()

    def set_sentence(self, sentence: str) -> None:
        """Say something under the plot; what is drawn stays."""
        self._tell(escape(sentence), "muted")

    # -- asked from outside

    @property
    def drawn(self) -> Quantity:
        """The quantity that is chosen; the FLOPs of a pass while measurements are shown."""
        chosen = self.quantity.currentData()
        return Quantity(chosen) if chosen else Quantity.FLOPS

    @property
    def letter(self) -> str:
        """The letter that it is drawn against, "" before there is one."""
        return str(self.axis.currentData() or "")

    @property
    def timed(self) -> Measured | None:
        """What was measured, while that is drawn."""
        return None if self.quantity.currentData() else self._measured

    @property
    def is_stale(self) -> bool:
        """True while what is drawn was measured of another view."""
        return self._stale and self.timed is not None

    @property
    def is_rate(self) -> bool:
        """True while what was measured is drawn as FLOP a second."""
        return self.quantity.currentText() == RATE

    @property
    def measured(self) -> Measured | None:
        """What was measured last."""
        return self._measured

    # -- showing

    def _axes(self) -> str:
        return "".join(str(self.axis.itemData(n)) for n in range(self.axis.count()))

    def _fill(self, axes: str) -> None:
        """Offer what there is to draw, and keep what is chosen."""
        assert self._cost is not None
        assert self._curves is not None
        chosen = self.quantity.currentText()
        with QSignalBlocker(self.quantity):
            self.quantity.clear()
            for quantity, tally in self._cost.tallies.items():
                if tally.terms:
                    self.quantity.addItem(TITLES[quantity], quantity.value)
            for name in (TIME, RATE) if self._measured is not None else ():
                self.quantity.addItem(name, "")
            wanted = chosen if chosen in (TIME, RATE) else TITLES[self._curves.quantity]
            self.quantity.setCurrentText(wanted)
        with QSignalBlocker(self.axis):
            self.axis.clear()
            for letter in axes:
                self.axis.addItem(f"{LETTERS[letter]} {letter}", letter)
            self.axis.setCurrentIndex(axes.find(self._curves.axis))

    def _show(self) -> None:
        """Draw what is chosen and write its formulas."""
        self.axis.setEnabled(bool(self.quantity.currentData()))
        self.plot.getPlotItem().setOpacity(0.4 if self.is_stale else 1.0)
        self.formulas.setEnabled(not self.is_stale)
        if not self.quantity.currentData() and self._measured is not None:
            self._show_measured(self._measured)
            return
        found, curves = self._cost, self._curves
        if found is None or curves is None:
            return
        tally = found.tallies[curves.quantity]
        self.plot.set_curves(cost_lines(curves), {}, found.letters[curves.axis], tally.unit)
        self._say(float(found.letters[curves.axis]))
        place = self.formulas.verticalScrollBar().value()
        self.formulas.setHtml(cost_html(found, curves.quantity, current().muted.name()))
        self.formulas.verticalScrollBar().setValue(place)

    def _show_measured(self, measured: Measured) -> None:
        """Draw and list what was timed; the line is a prefill that is always at its best rate."""
        lines, dots, unit = timed_lines(measured, rates=self.is_rate)
        self.plot.set_curves(lines, dots, 0.0, unit)
        keys = "&nbsp; ".join(self._key(name) + escape(name) for name in self.plot.names)
        old = ". These times are of an earlier view." if self.is_stale else ""
        self._tell(f"{keys}<br>{escape(measured.sentence())}{old}", "muted")
        self.formulas.setHtml(measured_html(measured, rates=unit == "FLOP/s"))

    def _say(self, x: float) -> None:
        """Tell the numbers of the curves at the size next to ``x``."""
        curves, found = self._curves, self._cost
        assert curves is not None
        assert found is not None
        n = int(np.abs(np.log(curves.values / max(x, 1.0))).argmin())
        unit = found.tallies[curves.quantity].unit
        told = {name: float(y[n]) for name, y in curves.parts.items()}
        if len(told) > 1:
            told["total"] = float(curves.total[n])
        words = "&nbsp; ".join(
            self._key(name) + solid(f"{name} {figure(value, unit)}") for name, value in told.items()
        )
        self._tell(f"{curves.axis} = {curves.values[n]:,} &nbsp;{words}", "")

    def _key(self, name: str) -> str:
        """A square in the colour of a curve; of one that is not drawn there is none."""
        if name not in self.plot.names:
            return ""
        return f'<span style="color:{self.plot.ink(name).name()}">■</span>&nbsp;'

    def _tell(self, words: str, role: str) -> None:
        self.said.setProperty("role", role)
        self.said.style().polish(self.said)
        self.said.setText(words)

    # -- the user

    def _on_place_hovered(self, x: float | None) -> None:
        if self._cost is not None and self._curves is not None and self.quantity.currentData():
            self._say(self._cost.letters[self._curves.axis] if x is None else x)

    def _on_choice_made(self) -> None:
        if not self.quantity.currentData():
            self._show()
            return
        try:
            model, load = self.form.sizes()
        except ValueError as error:
            self._tell(escape(str(error)), "error")
            return
        self.question_changed.emit(CostQuestion(model, load, self.drawn, self.letter))

    def changeEvent(self, event: QEvent) -> None:
        """Qt: a new palette is a new theme."""
        if event.type() == QEvent.Type.PaletteChange:
            self._show()
        super().changeEvent(event)


def demo_cost() -> tuple[Cost, CostCurves]:
    """Return the score matrices of a decoder, worked out by hand."""
    model, load = ModelSizes(24, 1024, 16), Workload(2048, bytes=2, prompt=2048)
    term = Term("scores", "B·H·T²·s", "1·16·2,048²·2", 134_217_728, "bytes")
    tally = Tally(Quantity.SCORE_BYTES, "bytes", (term,))
    values = np.array([128, 512, 2048, 8192, 32_768])
    curves = CostCurves(tally.quantity, "T", values, {"scores": 32.0 * values**2})
    letters = {"B": 1, "H": 16, "T": 2048, "s": 2}
    return Cost(model, load, letters, {tally.quantity: tally}, ()), curves


def make_demo() -> QWidget:
    """Return score matrices against the length."""
    view = CostPlot()
    view.set_cost(*demo_cost(), "TB", own=True)
    return view


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (640, 270)))
