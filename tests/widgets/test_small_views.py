from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QSignalSpy
from PySide6.QtWidgets import QApplication, QLabel, QSlider
from pytestqt.qtbot import QtBot

from widgets.cache_slots import CacheSlots, bytes_text
from widgets.next_token_bars import Candidate, NextTokenBars
from widgets.step_timeline import StepTimeline

Show = Callable[..., None]

FOUND = [Candidate(40_000 + i, f"w{i}", 0.5 / (i + 1)) for i in range(12)]


def test_a_bar_gives_its_token(shown: Show, qtbot: QtBot) -> None:
    bars = NextTokenBars()
    bars.set_candidates("Next token", "after “was”", FOUND)
    shown(bars, 300, 230)
    with qtbot.waitSignal(bars.candidate_clicked) as clicked:
        qtbot.mouseClick(bars, Qt.MouseButton.LeftButton, pos=bars.bar_rect(3).center().toPoint())
    assert clicked.args == [40_003]
    bars.set_candidates("Next token", "", FOUND)
    with qtbot.waitSignal(bars.candidate_clicked) as entered:
        qtbot.keyClick(bars, Qt.Key.Key_Down)
        qtbot.keyClick(bars, Qt.Key.Key_Down)
        qtbot.keyClick(bars, Qt.Key.Key_Return)
    assert entered.args == [40_001]
    qtbot.keyClick(bars, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.clipboard().text().splitlines()[0] == "w0\t0.5000"


def test_bars_are_deaf_and_have_an_empty_state(shown: Show) -> None:
    bars = NextTokenBars()
    spy = QSignalSpy(bars.candidate_clicked)
    shown(bars, 200, 120)
    bars.set_candidates("Candidates for [MASK]", "at 3", FOUND)
    bars.grab()
    bars.set_empty("An encoder does not generate.")
    bars.grab()
    assert bars.accessibleDescription() == "An encoder does not generate."
    assert spy.count() == 0


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (61440, "60 KiB"), (1536, "1.5 KiB"), (3 * 2**30, "3 GiB")],
)
def test_bytes(count: int, text: str) -> None:
    assert bytes_text(count) == text


@pytest.mark.parametrize("slots", [(0, 0, 0), (13, 2, 24), (4000, 1, 4096), (5, 0, 3)])
def test_cache_in_words_and_paint(shown: Show, slots: tuple[int, int, int]) -> None:
    cache = CacheSlots()
    shown(cache, 500, 30)
    cache.set_cache(*slots, 60 * 1024, 96 * 1024)
    cache.grab()
    if slots[2] == 24:
        assert cache.text() == "13 of 24 slots · 2 pads · 60 KiB of 96 KiB"


def test_scrubbing_goes_from_no_token_to_the_last_and_says_how_many(
    shown: Show, qtbot: QtBot
) -> None:
    timeline = StepTimeline()
    spy = QSignalSpy(timeline.step_picked)
    timeline.set_steps(["It", "was", "very"], 2)
    timeline.set_steps(["It", "was", "very", "happy"], 3)
    shown(timeline, 400, 40)
    assert spy.count() == 0
    slider, label = timeline.findChild(QSlider), timeline.findChild(QLabel)
    assert label.text() == "3 of 4 tokens · last “very”"
    for key, count, text in (
        (Qt.Key.Key_Left, 2, "2 of 4 tokens · last “was”"),
        (Qt.Key.Key_Home, 0, "0 of 4 tokens"),
        (Qt.Key.Key_End, 4, "4 of 4 tokens · last “happy”"),
    ):
        qtbot.keyClick(slider, key)
        assert spy.at(spy.count() - 1)[0] == count
        assert label.text() == text
