from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot

from core.types import Family, Sampling
from widgets.run_bar import EngineStatus, RunBar
from widgets.sampling_form import SamplingChoice

Show = Callable[..., None]


@pytest.fixture
def bar(shown: Show) -> RunBar:
    made = RunBar()
    made.set_family(Family.DECODER)
    made.set_models([("a", "model a"), ("b", "model b")], "a")
    made.set_devices([("auto", "auto"), ("cpu", "cpu")], "auto")
    made.set_dtypes(["float32", "bfloat16"], "float32")
    made.set_steps(2, 2)
    shown(made, 1260, 60)
    return made


@pytest.mark.parametrize("family", list(Family))
def test_pills_pick_a_family(bar: RunBar, qtbot: QtBot, family: Family) -> None:
    with qtbot.waitSignal(bar.family_picked) as picked:
        qtbot.mouseClick(bar.pills[family], Qt.MouseButton.LeftButton)
    assert picked.args == [family]
    assert [one for one, pill in bar.pills.items() if pill.isChecked()] == [family]


def test_combos_pick_by_id(bar: RunBar, qtbot: QtBot) -> None:
    for combo, signal, name in (
        (bar.model, bar.model_picked, "b"),
        (bar.device, bar.device_picked, "cpu"),
        (bar.dtype, bar.dtype_picked, "bfloat16"),
    ):
        with qtbot.waitSignal(signal) as picked:
            qtbot.keyClick(combo, Qt.Key.Key_Down)
        assert picked.args == [name]


def test_transport_asks(bar: RunBar, qtbot: QtBot) -> None:
    buttons = bar.transport
    for button, signal in (
        (buttons.start, bar.start_requested),
        (buttons.back, bar.back_requested),
        (buttons.step, bar.step_requested),
        (buttons.play, bar.play_requested),
    ):
        with qtbot.waitSignal(signal):
            qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    bar.set_playing(True)
    assert buttons.play.text() == "Pause"
    assert not buttons.step.isEnabled()
    for button, signal in (
        (buttons.play, bar.pause_requested),
        (buttons.stop, bar.stop_requested),
    ):
        with qtbot.waitSignal(signal):
            qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def test_an_encoder_says_why_it_cannot_generate(bar: RunBar) -> None:
    why = "An encoder reads the future, so it cannot be asked for the next token."
    bar.set_can_generate(False, why)
    assert not bar.transport.play.isEnabled()
    assert bar.transport.step.toolTip() == why
    bar.set_can_generate(True)
    assert bar.transport.play.isEnabled()
    assert bar.transport.step.toolTip() != why


def test_sampling_is_told_and_asked(bar: RunBar, qtbot: QtBot) -> None:
    form = bar.transport.form
    choice = SamplingChoice(Sampling(0.8, 40, 0.95, 7), 24)
    spy = QSignalSpy(bar.sampling_changed)
    bar.set_sampling(choice)
    assert spy.count() == 0
    assert form.choice() == choice
    assert bar.transport.sampling.text() == "T 0.8 · k 40 · p 0.95"
    with qtbot.waitSignal(bar.sampling_changed) as changed:
        form.temperature.setValue(0.0)
    assert changed.args[0].sampling.temperature == 0.0
    assert bar.transport.sampling.text() == "greedy"
    assert not form.seed.isEnabled()


def test_being_told_emits_nothing(bar: RunBar) -> None:
    spies = [
        QSignalSpy(s)
        for s in (bar.family_picked, bar.model_picked, bar.device_picked, bar.dtype_picked)
    ]
    for family in Family:
        bar.set_family(family)
    bar.set_models([("x", "x"), ("y", "y")], "y")
    bar.set_devices([("cuda", "cuda:0")], "cuda")
    bar.set_dtypes(["float16"], "float16")
    for status in EngineStatus:
        bar.set_status(status, "CPU, 2 threads")
    for share in (0.5, -1.0, None):
        bar.set_progress(share)
    bar.grab()
    assert [spy.count() for spy in spies] == [0, 0, 0, 0]


def test_it_fits_a_small_window(bar: RunBar) -> None:
    assert bar.minimumSizeHint().width() <= 1260
