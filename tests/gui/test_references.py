"""PySide6 6.12 on Python 3.11 drops references to True and None with each call, and aborts."""

from __future__ import annotations

import sys

import pytest
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

ROUNDS = 500


class Speaker(QObject):
    said = Signal(bool)


class Painted(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def paintEvent(self, event: QPaintEvent) -> None:
        self.count += 1


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="True and None are immortal from 3.12 on")
def test_signals_and_paints_lose_no_reference_to_true_and_none(qtbot: QtBot) -> None:
    speaker, widget = Speaker(), Painted()
    qtbot.addWidget(widget)
    with qtbot.waitExposed(widget):
        widget.show()
    QApplication.processEvents()
    before = sys.getrefcount(True), sys.getrefcount(None)
    for _ in range(ROUNDS):
        speaker.said.emit(True)
        widget.repaint()
    after = sys.getrefcount(True), sys.getrefcount(None)
    assert widget.count >= ROUNDS
    assert abs(after[0] - before[0]) < 50
    assert abs(after[1] - before[1]) < 50
