"""The panel of an objective: its knobs, its columns, its words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.types import Noise, Objective, Shift
from widgets.objective_view import ObjectiveChoice, ObjectivePanel, demo_view


def made(shown: Callable[..., None]) -> ObjectivePanel:
    panel = ObjectivePanel()
    shown(panel, 640, 260)
    panel.set_view(*demo_view())
    return panel


def test_the_mean_is_written_out(shown: Callable[..., None]) -> None:
    panel = made(shown)
    assert panel.mean.text() == "mean loss 4.530 nats / 3 positions = 1.510 nats"
    assert "masking selects 1.20 on average" in panel.counts.text()
    assert not panel.note.isVisible()
    assert not panel.strip.isVisible()


def test_being_told_emits_nothing_and_knobs_say_what_they_mean(
    qtbot: QtBot, shown: Callable[..., None]
) -> None:
    panel = made(shown)
    choices: list[ObjectiveChoice] = []
    panel.choice_changed.connect(choices.append)
    panel.set_objective(Objective.CAUSAL)
    panel.set_view(*demo_view())
    assert choices == []
    panel.shift.setCurrentIndex(2)
    assert choices[-1] == ObjectiveChoice(Objective.CAUSAL, shift=Shift.DOUBLE)
    panel.objective.setCurrentIndex(0)
    assert choices[-1].shift is Shift.RIGHT
    assert not panel.shift.isEnabled()
    qtbot.mouseClick(panel.draw, Qt.MouseButton.LeftButton)
    assert choices[-1] == ObjectiveChoice(Objective.MASKED, seed=1)


def test_a_knob_stands_where_the_objective_has_it(shown: Callable[..., None]) -> None:
    panel = made(shown)
    panel.set_objective(Objective.PREFIX)
    assert panel.prefix.isVisible()
    assert panel.choice.prefix is None
    panel.prefix.setValue(4)
    assert panel.choice.prefix == 4
    panel.set_objective(Objective.DENOISING)
    assert panel.noise.isVisible()
    assert not panel.prefix.isVisible()
    panel.noise.setCurrentIndex(2)
    assert panel.choice == ObjectiveChoice(Objective.DENOISING, noise=Noise.DELETION)
    panel.set_objective(Objective.CAUSAL)
    assert not panel.draw.isEnabled()
    assert panel.choice.noise is Noise.INFILLING


def test_columns_are_aligned_wrapped_and_in_words(qtbot: QtBot, shown: Callable[..., None]) -> None:
    panel = made(shown)
    canvas = panel.canvas
    words = canvas.describe(3)
    assert words.startswith("position 3 · reads “[MASK]” · has to predict “a” · loss 0.310 nats")
    assert "carries no loss" in canvas.describe(0)
    said: list[str] = []
    panel.hovered.connect(said.append)
    qtbot.mouseMove(canvas.viewport(), canvas.box_rect(5).center().toPoint())
    qtbot.waitUntil(lambda: bool(said) and "position 5" in said[-1])
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    assert "position 6" in said[-1]
    panel.resize(260, 260)
    QApplication.processEvents()
    tops = {canvas.box_rect(n).top() for n in range(10)}
    assert len(tops) > 1
    qtbot.keyClick(canvas, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = QApplication.clipboard().text().splitlines()
    assert lines[3] == "3\t[MASK]\ta\t0.3100"
    assert len(lines) == 10


def test_a_bar_is_as_high_as_its_loss(
    shown: Callable[..., None], pixel_at: Callable[..., int]
) -> None:
    panel = made(shown)
    canvas = panel.canvas
    image = canvas.viewport().grab().toImage()

    def height(position: int) -> int:
        column = canvas.box_rect(position)
        empty = image.pixel(2, image.height() - 2)
        x = int(column.center().x())
        rows = range(int(column.bottom()) - 30, int(column.bottom()) - 1)
        return sum(image.pixel(x, y) != empty for y in rows)

    assert height(5) > height(3) > 0
    assert height(0) == 0


def test_a_sentence_stands_where_there_is_nothing(shown: Callable[..., None]) -> None:
    panel = made(shown)
    panel.set_empty("The text has 1 of the 2 tokens.")
    assert panel.mean.text() == ""
    assert panel.canvas.accessibleDescription() == "The text has 1 of the 2 tokens."
    assert panel.canvas.text() == ""


def test_nothing_is_lost_where_nothing_is_computed(shown: Callable[..., None]) -> None:
    from dataclasses import replace

    panel = made(shown)
    view, words = demo_view()
    none = replace(
        view, loss=np.full(10, np.nan, np.float32), top_ids=np.zeros(0, np.int32), notes=("No.",)
    )
    panel.set_view(none, replace(words, guesses=(), source=("<s>", "A", "cat")))
    assert panel.mean.text() == "3 positions carry loss; no loss was computed."
    assert panel.note.text() == "No."
    assert panel.strip.isVisible()
    assert "loss" not in panel.canvas.describe(3)
