from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QSignalSpy
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.types import BackendRow, BackendTable
from widgets.backend_table import BackendTableView

Show = Callable[..., None]
PixelAt = Callable[[QImage, QPointF], int]


def row(name: str, *difference: float, available: bool = True) -> BackendRow:
    return BackendRow(name, available, np.array(difference, np.float32), f"what {name} does")


TABLE = BackendTable(
    1,
    np.ones((3, 5), bool),
    (row("a", 0, 1e-7, 2e-7), row("b", 0, 2.5, np.nan), row("c", available=False)),
    1e-5,
    "plain loops",
    past=2,
)


@pytest.fixture
def view(shown: Show) -> BackendTableView:
    found = BackendTableView()
    found.set_table(TABLE)
    shown(found, 700, 160)
    return found


def test_the_mouse_names_the_query_and_its_difference(view: BackendTableView, qtbot: QtBot) -> None:
    spy = QSignalSpy(view.row_hovered)
    qtbot.mouseMove(view, view.cell_rect(1, 1).center().toPoint())
    assert view.accessibleDescription() == view.toolTip() == "b: what b does. Query 3: 2.5e+00."
    qtbot.mouseMove(view, view.cell_rect(1, 2).center().toPoint())
    assert view.toolTip() == "b: what b does. Query 4: no number."
    qtbot.mouseMove(view, view.cell_rect(2, 2).center().toPoint())
    assert view.toolTip() == "c: what c does"
    QApplication.sendEvent(view, QEvent(QEvent.Type.Leave))
    assert view.toolTip() == ""
    assert view.accessibleDescription() == TABLE.sentence()
    assert [spy.at(i)[0] for i in range(spy.count())] == [1, 2, -1]


def test_arrows_walk_and_ctrl_c_copies(view: BackendTableView, qtbot: QtBot) -> None:
    spy = QSignalSpy(view.row_hovered)
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Up):
        qtbot.keyClick(view, key)
    assert view.accessibleDescription() == "a: what a does. Query 3: 1.0e-07."
    assert [spy.at(i)[0] for i in range(spy.count())] == [0, 1]
    for _ in range(5):
        qtbot.keyClick(view, Qt.Key.Key_Right)
    assert spy.at(spy.count() - 1)[0] == 2, "there is no fourth query"
    qtbot.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.clipboard().text().splitlines() == [
        "a\t2.0e-07\twhat a does",
        "b\tNaN\twhat b does",
        "c\t–\twhat c does",
    ]


def test_agreeing_differing_and_no_number_differ_in_grey(
    view: BackendTableView, pixel_at: PixelAt
) -> None:
    picture = view.grab().toImage().convertToFormat(QImage.Format.Format_Grayscale8)

    def greys(query: int) -> set[int]:
        cell = view.cell_rect(1, query).adjusted(2.0, 2.0, -3.0, -2.0)
        xs = np.arange(cell.left(), cell.right())
        return {pixel_at(picture, QPointF(x, cell.center().y())) & 0xFF for x in xs}

    (agrees,), (differs,) = greys(0), greys(1)
    assert agrees - differs > 60
    assert len(greys(2)) > 1, "what is no number is hatched"


def test_one_query_of_many_is_not_lost(shown: Show, pixel_at: PixelAt) -> None:
    difference = np.zeros(1000, np.float32)
    difference[777] = 1.0
    one = BackendRow("a", True, difference, "")
    view = BackendTableView()
    view.set_table(BackendTable(1, np.ones((1000, 1), bool), (one,), 1e-5, ""))
    shown(view, 700, 80)
    picture = view.grab().toImage()
    strip = view.cell_rect(0, 0).united(view.cell_rect(0, 999))
    y = strip.center().y()
    colours = [pixel_at(picture, QPointF(x, y)) for x in np.arange(strip.left() + 1, strip.right())]
    assert len(set(colours)) >= 2
    at = view.cell_rect(0, 777).center()
    near = {pixel_at(picture, QPointF(at.x() + x, y)) for x in (-1, 0, 1)}
    assert near - {colours[0]}


def test_it_is_deaf_and_has_an_empty_state(view: BackendTableView) -> None:
    spy = QSignalSpy(view.row_hovered)
    view.set_empty("Stopped.")
    view.grab()
    assert (view.accessibleDescription(), view.text()) == ("Stopped.", "")
    view.set_table(TABLE)
    assert view.accessibleDescription() == "1 of 2 backends agree with plain loops."
    assert spy.count() == 0


def test_a_stale_table_is_pale_until_a_new_one_comes(view: BackendTableView) -> None:
    fresh = view.grab().toImage()
    view.set_stale(True)
    assert view.grab().toImage() != fresh
    view.set_table(TABLE)
    assert view.grab().toImage() == fresh
