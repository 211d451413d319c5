from __future__ import annotations

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QEvent, QPointF
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from widgets import palette


def pixel(image: QImage, point: QPointF) -> int:
    """Return the colour of a grabbed picture under a point in widget coordinates."""
    ratio = image.devicePixelRatio()
    return image.pixel(int(point.x() * ratio), int(point.y() * ratio))


@pytest.fixture
def pixel_at() -> Callable[[QImage, QPointF], int]:
    return pixel


@pytest.fixture(autouse=True)
def dressed(qapp: QApplication) -> Iterator[None]:
    palette.apply(qapp, False)
    qapp.setCursorFlashTime(0)  # A blinking text cursor would tell two equal pictures apart.
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
