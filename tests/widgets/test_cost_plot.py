"""The cost plot: curves carry their numbers, fields ask, formulas can be read and copied."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.types import Measured, MeasuredPoint, ModelSizes, Quantity, Workload
from widgets import palette
from widgets.cost_form import CostForm
from widgets.cost_plot import RATE, TIME, CostPlot, CostQuestion, demo_cost
from widgets.log_plot import UnitAxis

POINTS = (
    MeasuredPoint(16, 0.004, 0.001, 10**8, 10**6),
    MeasuredPoint(64, 0.009, 0.001, 4 * 10**8, 10**6),
)
MEASURED = Measured("decoder", "torch", "cpu", "float32", 2, 1, 3, POINTS, ("Up to 512.",))


@pytest.fixture
def view(shown: Callable[..., None]) -> CostPlot:
    made = CostPlot()
    shown(made, 640, 270)
    made.set_cost(*demo_cost(), "TB", own=False)
    return made


def drawn(view: CostPlot) -> dict[str, list[list[float]]]:
    items = view.plot.getPlotItem().listDataItems()
    return {i.name(): [v.tolist() for v in i.getOriginalDataset()] for i in items if i.name()}


def test_a_curve_has_the_numbers_it_was_given_and_the_place_is_marked(view: CostPlot) -> None:
    values = [128, 512, 2048, 8192, 32_768]
    assert drawn(view) == {"scores": [values, [32.0 * v**2 for v in values]]}
    marked = [i for i in view.plot.getPlotItem().listDataItems() if not i.name()]
    assert [v.tolist() for v in marked[0].getOriginalDataset()] == [[2048], [32.0 * 2048**2]]
    assert not view.reset.isEnabled()


def test_the_formula_stands_beside_it_with_its_numbers_in(view: CostPlot) -> None:
    told = view.formulas.toPlainText()
    assert "= B·H·T²·s" in told
    assert "= 1·16·2,048²·2" in told
    assert "128 MiB" in told
    assert "= 134,217,728" in told
    assert view.formulas.isReadOnly()


def test_hovering_says_the_numbers_there(view: CostPlot) -> None:
    view.plot.place_hovered.emit(500.0)
    assert "T = 512" in view.said.text()
    assert "8&nbsp;MiB" in view.said.text()
    view.plot.place_hovered.emit(None)
    assert "T = 2,048" in view.said.text()


def test_a_field_asks_and_a_number_that_cannot_be_is_told(qtbot: QtBot, view: CostPlot) -> None:
    box = view.form.fields["length"]
    with qtbot.waitSignal(view.question_changed) as asked:
        box.setValue(4096)
    (question,) = asked.args
    model, load = demo_cost()[0].model, demo_cost()[0].load
    assert question.load == Workload(4096, bytes=2, prompt=2048)
    assert (question.quantity, question.axis) == (Quantity.SCORE_BYTES, "T")
    assert question.model.query_width == model.query_width
    asked_again: list[CostQuestion] = []
    view.question_changed.connect(asked_again.append)
    view.form.fields["heads"].setValue(15)
    assert asked_again == []
    assert "width is 1024, but must be a multiple of the 15 heads" in view.said.text()
    assert load.length == 2048


def test_another_axis_asks(qtbot: QtBot, view: CostPlot) -> None:
    with qtbot.waitSignal(view.question_changed) as asked:
        view.axis.setFocus()
        qtbot.keyClick(view.axis, Qt.Key.Key_Down)
    assert asked.args[0].axis == "B"


def test_measured_points_are_drawn_in_time_and_in_rate(view: CostPlot) -> None:
    assert view.timed is None
    view.set_measured(MEASURED)
    assert view.quantity.currentText() == TIME
    assert (view.timed, view.is_rate) == (MEASURED, False)
    found = drawn(view)
    assert found["prefill"] == [[16, 64], [0.004, 0.009]]
    assert found["decode step"] == [[16, 64], [0.001, 0.001]]
    line = found["prefill at its best rate"][1]
    assert line == pytest.approx([0.00225, 0.009])
    told = view.formulas.toPlainText().replace("\u00a0", " ")
    assert "9 ms" in told
    assert "Up to 512." in told
    assert "best of 3" in view.said.text()
    view.quantity.setCurrentText(RATE)
    assert view.is_rate
    view.quantity.activated.emit(view.quantity.currentIndex())
    assert "25 GFLOP/s" in view.formulas.toPlainText().replace("\u00a0", " ")
    assert drawn(view)["prefill"][1] == pytest.approx([2.5e10, 10**9 / 0.0225])


def test_what_cannot_generate_has_no_steps(view: CostPlot) -> None:
    point = MeasuredPoint(16, 0.004, None, 10**8, 0)
    view.set_measured(Measured("encoder", "torch", "cpu", "float32", 2, 1, 3, (point,)))
    assert set(drawn(view)) == {"prefill", "prefill at its best rate"}


def test_a_new_theme_repaints(view: CostPlot, qapp: QApplication) -> None:
    palette.apply(qapp, True)
    assert view.plot.backgroundBrush().color() == palette.DARK.card
    assert palette.DARK.muted.name() in view.formulas.toHtml()


@pytest.mark.parametrize("low_high", [(0.0, 9.0), (3.3, 3.9), (-3.0, 0.5)])
@pytest.mark.parametrize("unit", ["bytes", "FLOP", "", "seconds"])
def test_ticks_are_few_inside_and_written_in_units(
    qapp: QApplication, unit: str, low_high: tuple[float, float]
) -> None:
    axis = UnitAxis("left")
    axis.unit = unit
    ((_, values),) = axis.tickValues(*low_high, 200.0)
    assert 1 <= len(values) <= 9
    assert all(low_high[0] - 1e-9 <= v <= low_high[1] + 1e-9 for v in values)
    assert len(set(axis.tickStrings(values, 1.0, 1.0))) == len(values) or low_high[0] < 0


def test_powers_of_two_are_whole_in_bytes(qapp: QApplication) -> None:
    axis = UnitAxis("left")
    axis.unit = "bytes"
    texts = axis.tickStrings(np.log10([2.0**30, 2.0**15]).tolist(), 1.0, 1.0)
    assert texts == ["1 GiB", "32 KiB"]


def test_the_form_gives_back_what_it_was_given(qtbot: QtBot) -> None:
    form = CostForm()
    qtbot.addWidget(form)
    model = ModelSizes(2, 12, 6, 3, 4, 24, 99, 7, 1, gated=True, output_bias=False)
    load = Workload(9, 2, 0, 5, 2, 9, 4)
    asked: list[None] = []
    form.changed.connect(partial_append(asked))
    form.set_sizes(model, load)
    assert asked == []
    assert form.sizes() == (model, load)
    assert form.fields["source"].isEnabled()
    form.set_sizes(ModelSizes(2, 12, 6, encoder=True), load)
    assert not form.fields["source"].isEnabled()
    assert not form.fields["generate"].isEnabled()


def partial_append(found: list[None]) -> Callable[[], None]:
    def append() -> None:
        found.append(None)

    return append
