"""Undo and redo over the states of a controller."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from app import history
from app.engine_process import Finished
from app.history import History
from core.types import Family, HeadRef, Stack
from tests.app.test_controller import Desk


@pytest.fixture
def desk(qtbot: QtBot) -> Desk:
    made = Desk(Family.DECODER)
    qtbot.addWidget(made.window)
    return made


@pytest.fixture
def past(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> History:
    monkeypatch.setattr(history, "PAUSE_S", 0.0)  # Nothing is taken for one change.
    return History(desk.controller)


def typed(desk: Desk, text: str) -> None:
    desk.controller.edit(desk.controller.state.with_row(text=text, generated=()))


def test_undo_goes_back_step_by_step_and_redo_forth_again(desk: Desk, past: History) -> None:
    states = [desk.controller.state]
    for change in ("one", "one two", "one two three"):
        typed(desk, change)
        states.append(desk.controller.state)
    desk.controller.update(replace(desk.controller.state, window=3))
    states.append(desk.controller.state)
    for state in reversed(states[:-1]):
        past.undo()
        assert desk.controller.state == state
        assert desk.window.text.text() == state.current.text
    past.undo()
    assert desk.controller.state == states[0]
    for state in states[1:]:
        past.redo()
        assert desk.controller.state == state
    past.redo()
    assert desk.controller.state == states[-1]


def test_a_new_change_forgets_what_was_undone(desk: Desk, past: History) -> None:
    told: list[tuple[bool, bool]] = []
    past.moved.connect(lambda *can: told.append(can))
    typed(desk, "one")
    past.undo()
    typed(desk, "other")
    past.redo()
    assert desk.controller.state.current.text == "other"
    assert told == [(True, False), (False, True), (True, False)]


def test_a_drag_is_one_change(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "PAUSE_S", 1e9)
    past = History(desk.controller)
    start = desk.controller.state
    for window in range(1, 9):
        desk.controller.update(replace(desk.controller.state, window=window))
    desk.controller.update(replace(desk.controller.state, past=2))
    past.undo()
    assert (desk.controller.state.window, desk.controller.state.past) == (8, 0)
    past.undo()
    assert desk.controller.state == start


def test_looking_elsewhere_is_no_change_and_stays(desk: Desk, past: History) -> None:
    typed(desk, "one two three")
    head = HeadRef(Stack.DECODER, 2, 1)
    desk.controller.update(replace(desk.controller.state, head=head, cell=(1, 0), backend="onnx"))
    past.undo()
    assert desk.controller.state.current.text != "one two three"
    assert desk.controller.state.head == head
    assert desk.controller.state.backend == "onnx"
    past.undo()
    past.redo()
    assert desk.controller.state.current.text == "one two three"


def test_a_family_that_is_left_is_found_again_as_it_was(desk: Desk, past: History) -> None:
    typed(desk, "for the decoder")
    desk.controller.pick_family(Family.PREFIX)
    typed(desk, "for the prefix")
    past.undo()
    past.undo()
    assert desk.controller.state.family is Family.DECODER
    assert desk.controller.state.current.text == "for the decoder"
    desk.controller.pick_family(Family.PREFIX)
    assert desk.controller.state.current.text != "for the decoder"


def test_what_was_generated_can_be_undone(desk: Desk, past: History) -> None:
    before = desk.controller.state
    desk.controller.step()
    desk.controller.update(before.with_row(generated=(40,)))
    past.undo()
    assert desk.controller.state == before


def test_scrubbing_away_and_back_is_no_change(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "PAUSE_S", 1e9)
    past = History(desk.controller)
    told: list[tuple[bool, bool]] = []
    past.moved.connect(lambda *can: told.append(can))
    before = desk.controller.state
    desk.answer()
    desk.controller.play()
    for number in range(4):
        desk.step(40 + number, number)
    desk.client.finished.emit(Finished(0))
    desk.answer()
    for count in (2, 0, 4):
        desk.controller.scrub(count)
    past.undo()
    assert desk.controller.state == before
    assert told[-1] == (False, True)
    past.redo()
    assert len(desk.controller.state.current.generated) == 4


def test_a_generation_that_wrote_nothing_is_no_change(desk: Desk, past: History) -> None:
    before = desk.controller.state
    typed(desk, "one")
    desk.controller.play()
    past.undo()
    assert desk.controller.state == before
