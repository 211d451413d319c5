from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QSignalSpy
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from widgets.token_strip import TokenStrip, TokenStripState

Show = Callable[..., None]


def test_a_click_names_the_slot(shown: Show, qtbot: QtBot) -> None:
    strip = TokenStrip()
    strip.set_tokens(TokenStripState(("<pad>", "The", "cat"), (0, 0, 1), left_pad=1, selected=1))
    shown(strip, 500, 60)
    with qtbot.waitSignal(strip.token_clicked) as clicked:
        qtbot.mouseClick(
            strip.viewport(), Qt.MouseButton.LeftButton, pos=strip.box_rect(2).center().toPoint()
        )
    assert clicked.args == [2]
    assert strip.accessibleDescription() == "slot 1 · “The” · position id 0"
    assert "pad" in strip.describe(0)


def test_arrows_and_copy(shown: Show, qtbot: QtBot) -> None:
    strip = TokenStrip()
    strip.set_tokens(TokenStripState(("The", "cat", "sat"), selected=1))
    shown(strip, 500, 60)
    spy = QSignalSpy(strip.token_clicked)
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_End):
        qtbot.keyClick(strip, key)
    assert [spy.at(i)[0] for i in range(spy.count())] == [0, 2, 2]
    qtbot.keyClick(strip, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.clipboard().text() == "The cat sat"


def test_long_text_wraps_scrolls_and_shows_the_selected(shown: Show) -> None:
    strip = TokenStrip()
    spy = QSignalSpy(strip.token_clicked)
    shown(strip, 400, 100)
    words = tuple(f"word{i}" for i in range(3000))
    strip.set_tokens(TokenStripState(words, selected=2000))
    rect = strip.box_rect(2000)
    assert rect.top() >= 0
    assert rect.bottom() <= strip.viewport().height()
    assert all(strip.box_rect(i).right() <= strip.viewport().width() for i in range(0, 3000, 7))
    strip.grab()
    strip.set_tokens(TokenStripState(()))
    strip.grab()
    assert spy.count() == 0


@pytest.mark.parametrize("size", [(300, 62), (300, 90), (420, 140), (260, 46)])
def test_the_selected_token_stays_in_sight_and_no_line_is_cut_above(
    shown: Show, size: tuple[int, int]
) -> None:
    strip = TokenStrip()
    shown(strip, 900, 90)
    strip.set_tokens(TokenStripState(tuple(f"word{n}" for n in range(200)), selected=150))
    strip.resize(*size)
    QApplication.processEvents()
    box, high = strip.box_rect(150), strip.viewport().height()
    assert box.top() >= 0
    assert box.bottom() <= high
    assert strip.verticalScrollBar().value() % strip.line == 0
