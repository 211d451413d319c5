from __future__ import annotations

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from widgets import palette


@pytest.fixture(autouse=True)
def dressed(qapp: QApplication) -> Iterator[None]:
    palette.apply(qapp, False)
    yield
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


@pytest.fixture
def shown(qtbot: QtBot) -> Callable[..., None]:
    """Show a widget at a size and let it settle."""

    def show(widget: QWidget, width: int = 420, height: int = 560) -> None:
        qtbot.addWidget(widget)
        widget.resize(width, height)
        with qtbot.waitExposed(widget):
            widget.show()
        QApplication.processEvents()

    return show
