from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.gui import Session
from core.types import Family

WAIT = 60_000


@pytest.fixture
def session(qtbot: QtBot, qapp: QApplication) -> Iterator[Session]:
    """The whole program offscreen, with its first result."""
    made = Session(Family.DECODER, "light")
    qtbot.addWidget(made.window)
    with qtbot.waitExposed(made.window):
        made.window.show()
    with qtbot.waitSignal(made.client.finished, timeout=WAIT):
        made.controller.start()
    yield made
    made.window.close()
    made.deleteLater()
