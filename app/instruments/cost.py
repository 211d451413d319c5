"""The Cost dock: formulas with their numbers in, and what was measured on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.instruments.base import Instrument, View
from app.sizes import sizes_of_model, work_of
from core.run.cost import axes, cost, sweep
from core.types import Cost as Found
from core.types import (
    CostCurves,
    Measured,
    MeasureJob,
    ModelSizes,
    Quantity,
    RunRequest,
    Workload,
)

if TYPE_CHECKING:
    from app.training_figures import CostShown
    from widgets.cost_plot import CostPlot, CostQuestion

LENGTHS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
"""What is measured, as far as a model has positions."""
GENERATED = 64
"""Tokens that a generation of the view is taken to add."""


class Cost(Instrument):
    """Follows the view by arithmetic alone, until a size is changed; measures when asked to."""

    name = "cost"
    title = "Cost"
    tip = "Parameters, FLOPs, score matrices and caches against any size; timed here on request"
    shortcut = "Ctrl+Shift+K"
    follows = False
    long = True

    def make(self) -> QWidget:
        """Fields, curves and formulas."""
        from widgets.cost_plot import CostPlot  # Half a second: not at the start.

        self._view: View | None = None
        self._shown: tuple[ModelSizes, Workload] | None = None
        self._cost: tuple[Found, CostCurves] | None = None
        self._timed: tuple[object, ...] = ()
        """What the times on screen depend on, as `_pace` says."""
        self._is_own = False
        self._drawn = Quantity.FLOPS, ""
        self._plot: CostPlot = CostPlot()
        self._plot.question_changed.connect(self._on_question_changed)
        self._plot.reset_requested.connect(self._on_reset_requested)
        self._plot.measure_requested.connect(self.asked)
        return self._plot

    def look(self, view: View) -> None:
        """Work out what the model and the text on screen cost, unless other sizes are shown."""
        self._view = view
        self._plot.set_stale(_pace(view.request) != self._timed)
        if self._is_own:
            return
        try:
            load = work_of(view.request.inputs, view.state.dtype, GENERATED)
            sizes = sizes_of_model(view.request.model), load
        except ValueError as error:
            self._plot.set_sentence(str(error))
            return
        if sizes != self._shown:
            self._draw(*sizes)

    def job(self, view: View) -> MeasureJob:
        """Time the model on screen."""
        return MeasureJob(0, view.request, LENGTHS)

    def show(self, view: View, answer: object) -> None:
        """Show the times."""
        assert isinstance(answer, Measured)
        self._timed = _pace(view.request)
        self._plot.set_measured(answer)

    def refuse(self, sentence: str) -> None:
        """Say why nothing was measured; what is drawn stays."""
        self._plot.set_sentence(sentence)

    def shown(self) -> CostShown | None:
        """The curves, or what was timed while that is drawn; None for times of another view."""
        from app.training_figures import CostShown  # Figures are not needed at the start.

        if self._cost is None or self._plot.is_stale:
            return None
        return CostShown(*self._cost, self._plot.timed, rates=self._plot.is_rate)

    def await_answer(self) -> None:
        """Say that something is measured."""
        self._plot.set_sentence("Measuring…")

    def set_stale(self, stale: bool) -> None:
        """Say that the times are of another run, until the view says that it takes as long."""
        self._plot.set_stale(stale)

    def remember(self) -> dict[str, str]:
        """What is drawn against which letter."""
        quantity, axis = self._drawn
        return {"quantity": quantity.value, "axis": axis}

    def restore(self, settings: dict[str, str]) -> None:
        """What is drawn against which letter."""
        if settings.get("quantity") in [quantity.value for quantity in Quantity]:
            self._drawn = Quantity(settings["quantity"]), settings.get("axis", "")
            if self._shown is not None:
                self._draw(*self._shown)

    def _draw(self, model: ModelSizes, load: Workload) -> None:
        """Show a cost; what it has not, or no such axis, is replaced by what it has."""
        self._shown = model, load
        quantity, axis = self._drawn
        found = cost(model, load)
        if not found.tallies[quantity].terms:
            quantity = Quantity.FLOPS
        offered = axes(quantity, model)
        axis = axis if axis and axis in offered else offered[0]
        self._cost = found, sweep(found, quantity, axis)
        self._plot.set_cost(*self._cost, offered, own=self._is_own)

    @Slot(object)
    def _on_question_changed(self, question: CostQuestion) -> None:
        self._is_own = self._is_own or (question.model, question.load) != self._shown
        self._drawn = question.quantity, question.axis
        self._draw(question.model, question.load)

    @Slot()
    def _on_reset_requested(self) -> None:
        self._is_own, self._shown = False, None
        if self._view is not None:
            self.look(self._view)


def _pace(run: RunRequest) -> tuple[object, ...]:
    """What `core.run.measure` times of a run: neither its tokens nor how many they are."""
    mask, source = run.inputs.mask, run.inputs.source_mask
    sources = None if source is None else source.length
    return run.model, run.backend, run.device, run.dtype, mask.kind, mask.rows, sources
