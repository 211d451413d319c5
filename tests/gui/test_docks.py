"""Instruments in the real window: opened, followed, answered by the real engine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.gui import Session
from app.instruments.checks import Checks
from app.instruments.cost import Cost
from app.instruments.embeddings import Embeddings
from app.instruments.flow import Flow
from app.instruments.objectives import Objectives
from app.instruments.stages import Stages
from core.types import Family, FlowMethod, FlowResult, HeadRef, Objective, Place, Stack, Verdict
from tests.gui.conftest import WAIT

HEAD = HeadRef(Stack.DECODER, 2, 1)


def opened(qtbot: QtBot, session: Session, name: str) -> object:
    """Open a dock and wait for its first answer."""
    place = session.board.places[name]
    with qtbot.waitSignal(place.errand.answered, timeout=WAIT):
        session.board.open(name)
        if not place.instrument.follows:
            place.instrument.asked.emit()
    return place.instrument


def flow_of(instrument: Flow) -> FlowResult:
    result = instrument._flow._result
    assert result is not None
    return result


@pytest.mark.parametrize("family", list(Family))
def test_the_flow_follows_the_view_in_every_family(
    qtbot: QtBot, session: Session, family: Family
) -> None:
    flow = opened(qtbot, session, "flow")
    assert isinstance(flow, Flow)
    if family is not Family.DECODER:
        with qtbot.waitSignal(session.client.answered, timeout=WAIT):
            session.controller.pick_family(family)
    result = flow_of(flow)
    spec = session.controller.scene.inputs.mask
    assert result.stacks[-1].columns == spec.filled
    assert (len(result.stacks) == 2) == (family is Family.ENCODER_DECODER)
    for stack in result.stacks:
        shares = stack.shares[FlowMethod.ROLLOUT]
        assert (shares[~stack.reach] == 0).all()
        assert shares.sum() > 0


def test_another_query_is_another_question_and_a_click_on_a_node_selects_it(
    qtbot: QtBot, session: Session
) -> None:
    flow = opened(qtbot, session, "flow")
    assert isinstance(flow, Flow)
    with qtbot.waitSignal(session.client.answered, timeout=WAIT):
        flow._flow.node_clicked.emit(5)
    assert session.controller.state.cell == (5, 5)
    assert flow_of(flow).position == 5
    flow._flow.edge_clicked.emit(HeadRef(Stack.DECODER, 2, 1), (4, 3))
    assert session.controller.state.head == HeadRef(Stack.DECODER, 2, 1)
    assert session.controller.state.cell == (4, 3)


def test_a_click_in_an_instrument_brings_no_older_settings_back(
    qtbot: QtBot, session: Session
) -> None:
    flow = opened(qtbot, session, "flow")
    assert isinstance(flow, Flow)
    session.controller.update(replace(session.controller.state, max_new_tokens=7))
    flow._flow.edge_clicked.emit(HEAD, (4, 3))
    state = session.controller.state
    assert (state.head, state.cell, state.max_new_tokens) == (HEAD, (4, 3), 7)


def test_what_is_in_the_cache_cannot_be_selected_and_says_so(
    qtbot: QtBot, session: Session
) -> None:
    flow = opened(qtbot, session, "flow")
    assert isinstance(flow, Flow)
    past = session.window.form.knobs["past"].slider
    with qtbot.waitSignal(session.client.answered, timeout=WAIT):
        past.setFocus()
        qtbot.keyClick(past, Qt.Key.Key_PageUp)
    cached = session.controller.state.past
    assert cached > 0
    before = session.controller.state
    flow._flow.node_clicked.emit(0)
    assert session.controller.state == before
    assert "in the cache" in session.window.sentence.text()


def test_a_run_that_is_refused_empties_the_flow(qtbot: QtBot, session: Session) -> None:
    opened(qtbot, session, "flow")
    with qtbot.waitSignal(session.client.failed, timeout=WAIT):
        session.window.text.setText("word " * 600)
        session.window.text.textEdited.emit(session.window.text.text())
    flow = session.board.places["flow"].instrument
    assert isinstance(flow, Flow)
    assert flow._flow._result is None


def test_a_closed_dock_asks_nothing(qtbot: QtBot, session: Session) -> None:
    opened(qtbot, session, "flow")
    session.board.places["flow"].dock.close()
    asked: list[object] = []
    session.client.answered.connect(asked.append)
    with qtbot.waitSignal(session.client.finished, timeout=WAIT):
        session.controller.pick_family(Family.PREFIX)
    qtbot.waitUntil(lambda: not session.client.is_busy, timeout=WAIT)
    assert asked == []


def test_verify_reports_and_a_place_leads_to_its_head(qtbot: QtBot, session: Session) -> None:
    checks = opened(qtbot, session, "checks")
    assert isinstance(checks, Checks)
    report = checks.report
    assert report is not None
    assert report.passed
    assert report.model == "decoder"
    checks._list.place_picked.emit(Place(3, Stack.DECODER, 1, 2))
    assert session.controller.state.head == HeadRef(Stack.DECODER, 1, 2)
    assert session.controller.state.cell == (3, 3)
    checks._list.copy.click()
    told = QApplication.clipboard().text()
    assert told.startswith("decoder on torch, causal mask, 16 tokens: ")
    assert told.count(Verdict.PASS.value) >= 6


def test_the_mask_follows_while_verify_works(qtbot: QtBot, session: Session) -> None:
    place = session.board.places["checks"]
    session.board.open("checks")
    place.instrument.asked.emit()
    with qtbot.waitSignal(session.client.finished, timeout=WAIT):
        session.controller.pick_family(Family.PREFIX)
    answer = session.controller.answer
    assert answer is not None
    assert np.isfinite(answer.top_probs).all()
    with qtbot.waitSignal(session.workshop.job_ended, timeout=WAIT):
        place.errand.stop()


def test_cost_follows_the_view_until_a_size_is_changed(qtbot: QtBot, session: Session) -> None:
    session.board.open("cost")
    cost = session.board.places["cost"].instrument
    assert isinstance(cost, Cost)
    fields = cost._plot.form.fields
    assert fields["length"].value() == session.controller.scene.inputs.mask.length
    with qtbot.waitSignal(session.client.finished, timeout=WAIT):
        session.controller.pick_family(Family.ENCODER_DECODER)
    inputs = session.controller.scene.inputs
    assert inputs.source_mask is not None
    assert fields["encoder_layers"].value() == 3
    assert fields["source"].value() == inputs.source_mask.length
    fields["batch"].setValue(64)
    assert cost._plot.reset.isEnabled()
    with qtbot.waitSignal(session.client.finished, timeout=WAIT):
        session.controller.pick_family(Family.ENCODER)
    assert fields["batch"].value() == 64
    cost._plot.reset.click()
    assert fields["batch"].value() == 1
    assert fields["encoder_layers"].value() == 0
    assert session.workshop.pid is None
    cost.restore({"quantity": "score_bytes", "axis": "B"})
    assert cost.remember() == {"quantity": "score_bytes", "axis": "B"}
    assert (cost._plot.drawn.value, cost._plot.letter) == ("score_bytes", "B")
    cost.restore({"quantity": "colour"})
    assert cost.remember() == {"quantity": "score_bytes", "axis": "B"}


def test_measuring_can_be_stopped_and_keeps_what_is_drawn(qtbot: QtBot, session: Session) -> None:
    session.board.open("cost")
    place = session.board.places["cost"]
    cost = place.instrument
    assert isinstance(cost, Cost)
    cost._plot.measure.click()
    with qtbot.waitSignal(session.workshop.job_ended, timeout=WAIT):
        place.errand.stop()
    assert cost._plot.measured is None
    assert "Stopped." in cost._plot.said.text()
    assert cost._plot.plot.names


def test_stages_follow_head_and_cell_and_leave_the_example_again(
    qtbot: QtBot, session: Session
) -> None:
    stages = opened(qtbot, session, "stages")
    assert isinstance(stages, Stages)
    shown = stages._stages.stages
    assert shown is not None
    pattern = session.window.attention_view._pattern
    np.testing.assert_allclose(shown.weights, pattern, atol=1e-5)
    with qtbot.waitSignal(session.client.answered, timeout=WAIT):
        session.controller.update(replace(session.controller.state, head=HEAD))
    found = stages._stages.stages
    assert found is not None
    assert found.head == HEAD
    asked: list[object] = []
    session.client.answered.connect(asked.append)
    stages._stages.grids["softmax"].cell_clicked.emit((4, 2))
    assert session.controller.state.cell == (4, 2)
    assert dict(found.equation(4, ["?"] * 16))["scores"] in stages._stages.equation.toPlainText()
    stages._stages.example.click()
    assert "[2/3, 1/3, 0]" in stages._stages.equation.toPlainText()
    stages._stages.example.click()
    assert stages._stages.stages is found
    assert asked == []
    for step in ("output", "nonsense"):
        stages.restore({"step": step})
        assert stages.remember() == {"step": "output"}


@pytest.mark.parametrize("stack", list(Stack))
def test_every_stack_of_an_encoder_decoder_has_stages(
    qtbot: QtBot, session: Session, stack: Stack
) -> None:
    stages = opened(qtbot, session, "stages")
    assert isinstance(stages, Stages)
    with qtbot.waitSignal(session.client.answered, timeout=WAIT):
        session.controller.pick_family(Family.ENCODER_DECODER)
    if stack is not Stack.DECODER:
        with qtbot.waitSignal(session.client.answered, timeout=WAIT):
            session.controller.update(
                replace(session.controller.state, head=HeadRef(stack), cell=None)
            )
    found = stages._stages.stages
    assert found is not None
    spec = session.controller.scene.masks[stack]
    assert found.mask.shape == (spec.length, spec.keys)
    assert found.output is not None


def test_the_backends_run_the_mask_on_screen_and_follow_it(qtbot: QtBot, session: Session) -> None:
    place = session.board.places["backends"]
    with qtbot.waitSignal(session.workshop.answered, timeout=4 * WAIT) as told:
        session.board.open("backends")
    table = told.args[0].value
    spec = session.controller.scene.inputs.mask
    assert table.mask.shape == (spec.length, spec.keys)
    assert {row.name for row in table.rows} >= {"SDPA, bool mask", "ONNX Runtime, opset 24"}
    with qtbot.waitSignal(session.workshop.answered, timeout=4 * WAIT) as told:
        session.controller.pick_family(Family.PREFIX)
    spec = session.controller.scene.inputs.mask
    assert told.args[0].value.mask.shape == (spec.length, spec.keys)
    assert place.instrument._shown is told.args[0].value  # type: ignore[attr-defined]


def test_what_lies_downstream_of_a_clicked_cell_is_shaded(qtbot: QtBot, session: Session) -> None:
    flow = opened(qtbot, session, "flow")
    assert isinstance(flow, Flow)
    with qtbot.waitSignal(session.client.answered, timeout=WAIT):
        session.window.mask_view.cell_clicked.emit((5, 2))
    cone = flow._flow.canvas._cone[Stack.DECODER]
    expected = np.zeros_like(cone)
    expected[1:, 5] = True  # The query itself from the first layer on,
    expected[2:, 6:] = True  # and from the second on all that may read it.
    np.testing.assert_array_equal(cone, expected)
    assert "whether query 5 may read key 2" in flow._flow.note.text()
    with qtbot.waitSignal(session.client.answered, timeout=WAIT):
        flow._flow.node_clicked.emit(7)
    assert flow._flow.canvas._cone == {}


def test_a_cell_of_the_cross_mask_shades_the_target_alone(qtbot: QtBot, session: Session) -> None:
    flow = opened(qtbot, session, "flow")
    assert isinstance(flow, Flow)
    with qtbot.waitSignal(session.client.answered, timeout=WAIT):
        session.controller.pick_family(Family.ENCODER_DECODER)
    session.window.stacks.stack_picked.emit(Stack.CROSS)
    qtbot.waitUntil(lambda: not session.client.is_busy, timeout=WAIT)
    with qtbot.waitSignal(session.client.answered, timeout=WAIT):
        session.window.mask_view.cell_clicked.emit((1, 4))
    cone = flow._flow.canvas._cone
    assert not cone[Stack.ENCODER].any()
    assert cone[Stack.DECODER][1:, 1].all()
    assert not cone[Stack.DECODER][:, 0].any()


# -- objectives and embeddings


@pytest.mark.parametrize("family", list(Family))
def test_each_family_brings_its_objective_and_a_bug_can_be_switched_on(
    qtbot: QtBot, session: Session, family: Family
) -> None:
    dock = opened(qtbot, session, "objectives")
    assert isinstance(dock, Objectives)
    if family is not Family.DECODER:
        with qtbot.waitSignal(session.client.answered, timeout=WAIT):
            session.controller.pick_family(family)
    panel = dock._panel
    own = {
        Family.ENCODER: Objective.MASKED,
        Family.DECODER: Objective.CAUSAL,
        Family.PREFIX: Objective.PREFIX,
        Family.ENCODER_DECODER: Objective.SPANS,
    }
    assert panel.choice.objective is own[family]
    right = panel.canvas._view
    assert right is not None
    assert right.mean is not None
    assert right.prefix == session.controller.state.prefix
    if family is Family.DECODER:
        with qtbot.waitSignal(session.client.answered, timeout=WAIT):
            panel.shift.setCurrentIndex(1)
        bug = panel.canvas._view
        assert bug is not None
        assert bug.mean is not None
        assert bug.mean > right.mean
        assert "shift is missing" in panel.note.text()


def test_another_seed_draws_again_and_what_is_not_computed_is_explained(
    qtbot: QtBot, session: Session
) -> None:
    dock = opened(qtbot, session, "objectives")
    assert isinstance(dock, Objectives)
    panel = dock._panel
    with qtbot.waitSignal(session.client.answered, timeout=WAIT):
        panel.objective.setCurrentIndex(0)
    first = panel.canvas._view
    with qtbot.waitSignal(session.client.answered, timeout=WAIT):
        panel.draw.click()
    second = panel.canvas._view
    assert first is not None
    assert second is not None
    assert first.targets.tolist() != second.targets.tolist()
    with qtbot.waitSignal(session.client.job_ended, timeout=WAIT):
        panel.objective.setCurrentIndex(5)
    assert "No generator is here" in panel.canvas.accessibleDescription()


def test_embeddings_follow_the_text_and_the_list(qtbot: QtBot, session: Session) -> None:
    dock = opened(qtbot, session, "embeddings")
    assert isinstance(dock, Embeddings)
    view = dock._view
    assert view.canvas._view is not None
    assert view.canvas._view.sentences == 5
    assert view.canvas._view.known.shape[1] > 0
    with qtbot.waitSignal(session.client.answered, timeout=WAIT):
        view.edit.setPlainText("A cat sat on the mat.")
    assert view.canvas._view.sentences == 2
    with qtbot.waitSignal(session.client.answered, timeout=WAIT):
        view.reading.setCurrentIndex(0)
    assert view.canvas._view.known.shape[1] == 0
    view.edit.setPlainText("")
    qtbot.waitUntil(lambda: view.canvas._view is None, timeout=WAIT)
    assert "two or more" in view.canvas.accessibleDescription()


def test_an_instrument_that_is_opened_from_the_menu_comes_to_the_front(
    qtbot: QtBot, session: Session
) -> None:
    opened(qtbot, session, "flow")
    with qtbot.waitSignal(session.client.answered, timeout=WAIT):
        session.board.places["stages"].dock.toggleViewAction().trigger()
    qtbot.waitUntil(lambda: session.board.open_names[0] == "stages", timeout=WAIT)
    session.board.places["stages"].dock.toggleViewAction().trigger()
    assert session.board.open_names == ("flow",)
