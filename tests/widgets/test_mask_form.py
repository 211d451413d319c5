from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot

from core.types import Reason
from widgets.mask_form import KnobLimits, MaskForm, MaskKnobs, parse_documents

Show = Callable[..., None]

ALL = KnobLimits(prefix=9, past=8, left_pad=7, right_pad=6, window=12, documents=True)


@pytest.fixture
def form(shown: Show) -> MaskForm:
    made = MaskForm()
    made.set_knobs(MaskKnobs(prefix=3), ALL)
    made.set_rows(["row 1", "row 2"], 0)
    shown(made, 250, 700)
    return made


@pytest.mark.parametrize("name", ["prefix", "past", "left_pad", "right_pad", "window"])
def test_a_slider_speaks_and_moves_its_spin_box(form: MaskForm, qtbot: QtBot, name: str) -> None:
    knob = form.knobs[name]
    before = knob.value
    with qtbot.waitSignal(form.knobs_changed) as changed:
        qtbot.keyClick(knob.slider, Qt.Key.Key_Right)
    assert getattr(changed.args[0], name) == before + 1 == knob.spin.value()
    assert getattr(changed.args[0], "prefix" if name != "prefix" else "past") in (0, 3)
    with qtbot.waitSignal(form.knobs_changed):
        qtbot.keyClick(knob.spin, Qt.Key.Key_Up)
    assert knob.slider.value() == before + 2


def test_a_drag_speaks_at_each_value(form: MaskForm, qtbot: QtBot) -> None:
    slider = form.knobs["prefix"].slider
    spy = QSignalSpy(form.knobs_changed)
    y = slider.height() // 2
    x = round(7 + (slider.width() - 14) * 3 / 9)
    start = slider.rect().topLeft()
    qtbot.mousePress(slider, Qt.MouseButton.LeftButton, pos=start.__class__(x, y))
    for step in range(1, 6):
        qtbot.mouseMove(slider, start.__class__(x + step * slider.width() // 10, y))
    qtbot.mouseRelease(slider, Qt.MouseButton.LeftButton)
    values = [spy.at(i)[0].prefix for i in range(spy.count())]
    assert len(values) >= 4
    assert values == sorted(values)


def test_window_zero_is_off(form: MaskForm, qtbot: QtBot) -> None:
    form.set_knobs(MaskKnobs(window=1), ALL)
    with qtbot.waitSignal(form.knobs_changed) as changed:
        qtbot.keyClick(form.knobs["window"].slider, Qt.Key.Key_Left)
    assert changed.args[0].window is None
    assert form.knobs["window"].spin.text() == "off"


def test_only_sensible_knobs_are_shown(form: MaskForm) -> None:
    form.set_knobs(MaskKnobs(), KnobLimits(left_pad=3, right_pad=3))
    shown_now = {name for name, knob in form.knobs.items() if knob.isVisible()}
    assert shown_now == {"left_pad", "right_pad"}
    assert not form.documents.isVisible()


def test_documents_are_parsed(form: MaskForm, qtbot: QtBot) -> None:
    spy = QSignalSpy(form.knobs_changed)
    qtbot.keyClicks(form.documents, "3, 2,1")
    assert spy.at(spy.count() - 1)[0].documents == (3, 2, 1)
    assert parse_documents("3,x") is None
    assert parse_documents("0") is None
    assert parse_documents("  ") == ()


def test_an_error_keeps_what_was_typed(form: MaskForm, qtbot: QtBot) -> None:
    def refuse(knobs: MaskKnobs) -> None:
        if knobs.documents:
            form.set_error("documents is (4,), but must add up to 6.")
            form.set_knobs(MaskKnobs(prefix=3), ALL)

    form.knobs_changed.connect(refuse)
    qtbot.keyClicks(form.documents, "4")
    assert form.documents.text() == "4"
    assert "add up to 6" in form.error.text()
    assert form.error.isVisible()
    with qtbot.waitSignal(form.knobs_changed) as changed:
        qtbot.keyClick(form.knobs["prefix"].slider, Qt.Key.Key_Right)
    assert changed.args[0].documents == ()
    form.set_knobs(MaskKnobs(prefix=3, documents=(2, 4)), ALL)
    assert form.documents.text() == "2, 4"
    form.knobs_changed.disconnect(refuse)


def test_taken_documents_follow_an_undo(form: MaskForm, qtbot: QtBot) -> None:
    qtbot.keyClicks(form.documents, "4 2")
    form.set_knobs(MaskKnobs(documents=(4, 2)), ALL)
    assert form.documents.text() == "4 2"
    form.set_knobs(MaskKnobs(), ALL)
    assert form.documents.text() == ""


def test_nonsense_is_told_in_place(form: MaskForm, qtbot: QtBot) -> None:
    spy = QSignalSpy(form.knobs_changed)
    qtbot.keyClicks(form.documents, "x")
    assert spy.count() == 0
    assert form.error.isVisible()
    qtbot.keyClick(form.documents, Qt.Key.Key_Backspace)
    assert not form.error.isVisible()


def test_rows(form: MaskForm, qtbot: QtBot) -> None:
    with qtbot.waitSignal(form.row_selected) as chosen:
        qtbot.keyClick(form.rows.combo, Qt.Key.Key_Down)
    assert chosen.args == [1]
    with qtbot.waitSignal(form.row_removed) as removed:
        qtbot.mouseClick(form.rows.remove, Qt.MouseButton.LeftButton)
    assert removed.args == [1]
    with qtbot.waitSignal(form.row_added):
        qtbot.mouseClick(form.rows.add, Qt.MouseButton.LeftButton)
    form.set_rows(["row 1"], 0)
    assert not form.rows.remove.isEnabled()


def test_being_told_emits_nothing(form: MaskForm) -> None:
    spies = [QSignalSpy(s) for s in (form.knobs_changed, form.row_selected, form.row_removed)]
    form.set_knobs(MaskKnobs(2, 3, 4, 5, 6, (7, 8)), ALL)
    form.set_knobs(MaskKnobs(), KnobLimits())
    form.set_rows(["a", "b", "c"], 2)
    form.set_counts({Reason.OPEN: 12345})
    form.set_error("no")
    form.set_error("")
    form.grab()
    assert [spy.count() for spy in spies] == [0, 0, 0]
