"""The line of a long job, and the table that proves an export."""

from __future__ import annotations

import math

from pytestqt.qtbot import QtBot

from core.types import ParityCase, ParityReport
from widgets.job_bar import JobBar
from widgets.parity_table import ParityTable


def test_the_line_shows_itself_with_progress_and_says_when_it_is_stopped(qtbot: QtBot) -> None:
    bar = JobBar()
    qtbot.addWidget(bar)
    assert bar.isHidden()
    bar.set_progress("exporting", 0.5)
    assert not bar.isHidden()
    with qtbot.waitSignal(bar.stop_requested):
        bar.stop.click()
    assert bar.sentence.text() == "stopping…"
    assert not bar.stop.isEnabled()
    bar.set_progress("exporting", 0.6)
    assert bar.stop.isEnabled()
    bar.set_idle()
    assert bar.isHidden()


def test_what_is_not_a_number_is_said_in_words(qtbot: QtBot) -> None:
    table = ParityTable()
    qtbot.addWidget(table)
    case = ParityCase("ids", 2, 5, 1, math.nan, 0.0, None, False, False, "int8", "it broke")
    largest = {"logits": math.nan, "present": 0.0, "attention": None}
    table.set_report(ParityReport("FAIL", largest, False, (case,), ("CPU",), {}))
    row = [table.table.item(1, column).text() for column in range(table.table.columnCount())]
    assert row == [
        "ids", "2 × 5", "1", "not a number", "0.0e+00", "–", "differ", "FAIL: it broke",
    ]  # fmt: skip
    assert "1e+00 passes" in table.table.horizontalHeaderItem(3).toolTip()
