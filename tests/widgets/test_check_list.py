"""The list of checks: marks, numbers, and where a click on a failure leads."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from widgets.check_list import CheckList, demo_report


def test_a_line_a_check_with_mark_number_and_reason(shown: Callable[..., None]) -> None:
    view = CheckList()
    shown(view, 640, 260)
    view.set_report(demo_report())
    lines = [[view.table.item(row, column).text() for column in range(5)] for row in range(3)]
    assert lines[0][:4] == ["weights", "✓ PASS", "0", "0"]
    assert lines[1][:4] == ["boundary", "✗ FAIL", "3.1e-01", "2.0e-04"]
    assert lines[2][:4] == ["documents", "– NOT SHOWN", "", ""]
    assert "1 check passed, 1 failed, 1 cannot be shown here" in view.summary.text()
    assert view.copy.isEnabled()


def test_a_click_on_a_failure_leads_to_its_place_and_on_others_nowhere(
    qtbot: QtBot, shown: Callable[..., None]
) -> None:
    view = CheckList()
    shown(view, 640, 260)
    view.set_report(demo_report())
    places = []
    view.place_picked.connect(places.append)
    for row in (0, 1, 2):
        point = view.table.visualItemRect(view.table.item(row, 0)).center()
        qtbot.mouseClick(view.table.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert places == [demo_report().checks[1].place]


def test_a_sentence_keeps_the_report_and_emptying_drops_it(qtbot: QtBot) -> None:
    view = CheckList()
    qtbot.addWidget(view)
    view.set_report(demo_report())
    view.set_sentence("Stopped.")
    assert view.report == demo_report()
    view.set_empty("Verify runs every check.")
    assert view.report is None
    assert view.table.rowCount() == 0
    assert not view.copy.isEnabled()


def test_a_stale_report_says_so_whatever_is_said_and_cannot_be_taken_away(qtbot: QtBot) -> None:
    view, old = CheckList(), " This report is of an earlier view."
    qtbot.addWidget(view)
    view.set_empty("Verify runs every check.")
    view.set_stale(True)
    assert view.summary.text() == "Verify runs every check."
    view.set_report(demo_report())
    assert not view.summary.text().endswith(old)
    view.set_stale(True)
    assert view.summary.text().endswith(f"1 cannot be shown here.{old}")
    view.set_sentence("Checking…")
    assert view.summary.text() == f"Checking…{old}"
    assert not view.copy.isEnabled()
    assert not view.table.isEnabled()
    view.set_stale(False)
    assert view.summary.text() == "Checking…"
    assert view.copy.isEnabled()
    assert view.table.isEnabled()


def test_a_stale_report_is_faded_whole_and_its_colours_come_back(qtbot: QtBot) -> None:
    view = CheckList()
    qtbot.addWidget(view)
    view.set_report(demo_report())
    colored = {place: ink for place, ink in inks(view).items() if ink is not None}
    assert {(0, 1), (1, 1), (2, 0), (2, 4)} <= set(colored)
    view.set_stale(True)
    assert set(inks(view).values()) == {None}, "disabled words have the one faded colour"
    view.set_stale(False)
    assert {place: ink for place, ink in inks(view).items() if ink is not None} == colored
    view.set_stale(True)
    view.set_report(demo_report())
    assert inks(view)[0, 1] is not None


def inks(view: CheckList) -> dict[tuple[int, int], str | None]:
    """The colour that each cell of the table has of its own, None where it has none."""
    found: dict[tuple[int, int], str | None] = {}
    for row in range(view.table.rowCount()):
        for column in range(view.table.columnCount()):
            brush = view.table.item(row, column).foreground()
            none = brush.style() is Qt.BrushStyle.NoBrush
            found[row, column] = None if none else brush.color().name()
    return found
