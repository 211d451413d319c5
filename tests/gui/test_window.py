"""The whole program offscreen: real window, real engine process, real models."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction
from pytestqt.qtbot import QtBot

from app.gui import Session
from core.types import Family, MaskKind, RunResult, Stack
from widgets.compare_view import CompareView

WAIT = 60_000


def answer(session: Session) -> RunResult:
    result = session.controller.answer
    assert result is not None
    return result


def test_dragging_a_slider_runs_the_model_again_under_the_new_mask(
    qtbot: QtBot, session: Session
) -> None:
    slider = session.window.form.knobs["window"].slider
    before = answer(session)
    with qtbot.waitSignal(session.client.finished, timeout=WAIT):
        slider.setFocus()
        qtbot.keyClick(slider, Qt.Key.Key_Home)
        qtbot.keyClick(slider, Qt.Key.Key_Right)
        qtbot.keyClick(slider, Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: not session.client.is_busy, timeout=WAIT)
    after = answer(session)
    assert after.generation > before.generation
    assert np.count_nonzero(after.head.pattern[-1]) == 2
    assert session.window.attention_view.accessibleName().startswith("Attention, 16 queries")


@pytest.mark.parametrize("family", list(Family))
def test_every_family_shows_its_attention_and_its_output(
    qtbot: QtBot, session: Session, family: Family
) -> None:
    if family is not session.controller.state.family:
        with qtbot.waitSignal(session.client.finished, timeout=WAIT):
            qtbot.mouseClick(session.window.run_bar.pills[family], Qt.MouseButton.LeftButton)
    result = answer(session)
    spec = session.controller.scene.inputs.mask
    assert result.top_ids.shape[0] == spec.length
    assert result.head.pattern.shape == (spec.length, spec.keys)
    assert np.allclose(result.head.pattern.sum(axis=1), 1.0, atol=1e-5)
    stacks = {maps.stack for maps in result.maps}
    if family is Family.ENCODER_DECODER:
        assert stacks == set(Stack)
    else:
        assert len(stacks) == 1
    shown = session.window.bars.text().splitlines()
    assert len(shown) == result.top_ids.shape[1]


def test_the_unified_model_is_offered_under_every_mask_of_one_stack(
    qtbot: QtBot, session: Session
) -> None:
    rows = {}
    for family in (Family.ENCODER, Family.DECODER, Family.PREFIX):
        session.controller.pick_family(family)
        state = session.controller.state
        same = replace(state.with_row(text="The cat sat on the mat."), model="unified", prefix=0)
        with qtbot.waitSignal(session.client.finished, timeout=WAIT):
            session.controller.update(replace(same, prefix=4) if family is Family.PREFIX else same)
        rows[family] = answer(session)
        assert rows[family].note == ""
    causal, prefix = rows[Family.DECODER], rows[Family.PREFIX]
    assert np.count_nonzero(causal.head.pattern[0]) == 1
    assert np.count_nonzero(prefix.head.pattern[0]) == 4


def test_a_cache_offset_runs_the_chunk_alone_and_agrees_with_the_uncached_run(
    qtbot: QtBot, session: Session
) -> None:
    with qtbot.waitSignal(session.client.finished, timeout=WAIT):
        session.controller.update(replace(session.controller.state, past=6))
    result = answer(session)
    spec = session.controller.scene.inputs.mask
    assert (spec.length, spec.keys) == (10, 16)
    assert result.cache_difference is not None
    assert result.cache_difference < 1e-4
    assert "cached − uncached" in session.window.facts.text()


def test_playing_appends_tokens_and_the_picture_grows_with_them(
    qtbot: QtBot, session: Session
) -> None:
    session.controller.update(replace(session.controller.state, max_new_tokens=5))
    steps = []
    session.client.step_arrived.connect(steps.append)
    transport = session.window.run_bar.transport
    qtbot.mouseClick(transport.play, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(steps) == 5 and not session.client.is_busy, timeout=WAIT)
    assert [event.mask_row.size for event in steps] == [16, 17, 18, 19, 20]
    assert [event.head.pattern.shape for event in steps][-1] == (20, 20)
    state = session.controller.state
    assert state.current.generated == tuple(event.token for event in steps)
    assert session.controller.scene.inputs.mask.filled == 21
    assert answer(session).head.pattern.shape == (21, 21)


def test_a_killed_engine_is_replaced_and_nothing_the_user_made_is_lost(
    qtbot: QtBot, session: Session
) -> None:
    session.window.text.setFocus()
    session.window.text.selectAll()
    with qtbot.waitSignal(session.client.finished, timeout=WAIT):
        qtbot.keyClicks(session.window.text, "My own words")
    qtbot.waitUntil(lambda: not session.client.is_busy, timeout=WAIT)
    state = session.controller.state
    assert session.client.pid is not None
    with (
        qtbot.waitSignal(session.client.died, timeout=WAIT),
        qtbot.waitSignal(session.client.finished, timeout=WAIT),
    ):
        os.kill(session.client.pid, signal.SIGKILL)
    assert session.controller.state == state
    assert "Nothing that you made is lost" in session.window.sentence.text()
    assert answer(session).head.pattern.shape[0] == session.controller.scene.inputs.mask.length


def test_hovering_the_mask_says_why_a_cell_is_closed(qtbot: QtBot, session: Session) -> None:
    view = session.window.mask_view
    at = view.cell_rect((3, 9)).center()
    qtbot.mouseMove(view, QPoint(5, 5))
    qtbot.mouseMove(view, at.toPoint())
    assert session.window.sentence.text().endswith("in the future")
    assert 'query 3 "a" may not read key 9 "girl"' in session.window.sentence.text()


def test_a_batch_row_with_left_pads_keeps_its_output(qtbot: QtBot, session: Session) -> None:
    alone = answer(session).top_probs[-1]
    with qtbot.waitSignal(session.client.finished, timeout=WAIT):
        session.controller.update(session.controller.state.with_row(left_pad=5))
    padded = answer(session)
    assert session.controller.scene.inputs.mask.left_pad == (5,)
    assert np.allclose(padded.top_probs[-1], alone, atol=1e-4)


def test_a_decoder_under_a_bidirectional_mask_is_said_to_be_out_of_its_training(
    qtbot: QtBot, session: Session
) -> None:
    session.controller.pick_family(Family.ENCODER)
    with qtbot.waitSignal(session.client.finished, timeout=WAIT):
        session.controller.update(replace(session.controller.state, model="decoder"))
    assert session.controller.scene.inputs.mask.kind is MaskKind.BIDIRECTIONAL
    assert "out of its training" in session.window.sentence.text()


def test_the_curves_open_with_their_numbers_and_follow_the_mask(
    qtbot: QtBot, session: Session
) -> None:
    window = session.window
    window.curves_dock.show()
    qtbot.waitUntil(lambda: "surprise" in window.curve_plot().accessibleDescription(), timeout=WAIT)
    before = window.curve_plot().accessibleDescription()
    with qtbot.waitSignal(session.client.finished, timeout=WAIT):
        session.controller.update(replace(session.controller.state, window=2))
    assert window.curve_plot().accessibleDescription() != before


def test_the_engine_switch_gives_the_same_text_and_tells_how_fast_each_is(
    qtbot: QtBot, session: Session
) -> None:
    window, client = session.window, session.client
    texts = []
    for backend, name in ((0, "torch"), (1, "ONNX Runtime")):
        window.run_bar.backend.setCurrentIndex(backend)
        qtbot.waitUntil(lambda: not client.is_busy, timeout=WAIT)
        assert answer(session).engine.startswith(name)
        session.controller.play()
        qtbot.waitUntil(lambda: not client.is_busy, timeout=WAIT)
        texts.append(session.controller.state.current.generated)
        session.controller.scrub(0)
        qtbot.waitUntil(lambda: not client.is_busy, timeout=WAIT)
    assert len(texts[0]) > 10
    assert texts[0] == texts[1]
    told = window.facts.text()
    assert "torch " in told
    assert "ONNX " in told
    assert told.count("tokens/s") == 2


def test_a_model_is_exported_from_the_window_with_its_proof(
    qtbot: QtBot, session: Session, tmp_path: Path
) -> None:
    session.exporting.open()
    dialog = session.exporting.dialog
    folder = tmp_path / "models"
    folder.mkdir()
    dialog.path.setText(str(folder / "story.onnx"))
    with qtbot.waitSignal(session.workshop.answered, timeout=WAIT):
        dialog.export.click()
    assert "parity PASS" in dialog.sentence.text()
    made = {path.name for path in folder.iterdir()}
    assert made == {"story.onnx", "story.tokenizer.json", "story.parity.json"}


def test_an_export_that_cannot_be_written_says_so(
    qtbot: QtBot, session: Session, tmp_path: Path
) -> None:
    session.exporting.open()
    dialog = session.exporting.dialog
    dialog.path.setText(str(tmp_path / "missing" / "story.onnx"))
    with qtbot.waitSignal(session.workshop.job_ended, timeout=WAIT):
        dialog.export.click()
    assert "missing" in dialog.sentence.text()
    assert dialog.export.isEnabled()


def test_two_runs_stand_side_by_side_with_the_selection_of_the_window(
    qtbot: QtBot, session: Session
) -> None:
    with qtbot.waitSignal(session.client.answered, timeout=WAIT):
        session.board.open("compare")
    view = session.board.places["compare"].dock.findChild(CompareView)
    assert "causal and prefix" in view.sentence.text()
    where = view.squares[2].cell_rect((5, 2)).center().toPoint()
    qtbot.mouseClick(view.squares[2], Qt.MouseButton.LeftButton, pos=where)
    assert session.controller.state.cell == (5, 2)
    assert session.window.mask_view.selected == (5, 2)
    session.controller.update(replace(session.controller.state, cell=(9, 4)))
    assert view.squares[0].selected == (9, 4)
    with qtbot.waitSignal(session.client.answered, timeout=WAIT):
        qtbot.mouseClick(view.pin, Qt.MouseButton.LeftButton)
    assert "part nowhere" in view.sentence.text()
    with qtbot.waitSignal(session.client.answered, timeout=WAIT):
        session.controller.update(replace(session.controller.state, window=3))
    assert "pinned and this view part first in decoder layer 1" in view.sentence.text()


def test_no_two_actions_share_a_shortcut(session: Session) -> None:
    actions = session.window.findChildren(QAction)
    keys = [action.shortcut().toString() for action in actions if not action.shortcut().isEmpty()]
    keys += [button.shortcut().toString() for button in session.layouts.buttons.values()]
    assert len(keys) > 20
    assert sorted(keys) == sorted(set(keys))
