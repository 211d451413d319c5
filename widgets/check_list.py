"""What a model was checked for: a line a check, with its verdict, its number and its reason."""

from __future__ import annotations

import sys

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from core.types import Check, CheckReport, Place, Stack, Verdict
from core.types.checks import COLUMNS
from widgets.palette import current

_MARKS = {Verdict.PASS: "✓", Verdict.FAIL: "✗", Verdict.REFUSED: "–"}
"""Verdicts differ by mark and word, not by colour alone."""


class CheckList(QWidget):
    """The report, a button that makes it, and a click on a failure that leads to its place.

    Signals
    -------
    check_requested : the button was pressed. place_picked : a `Place` to look at.
    copy_requested : the report shall go to the clipboard.
    """

    check_requested = Signal()
    place_picked = Signal(object)
    copy_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._report: CheckReport | None = None
        self._sentence, self._stale = "", False
        self.verify = QPushButton("Verify")
        self.verify.setToolTip("Run every check on this model, this text and this mask")
        self.copy = QPushButton("Copy report")
        self.copy.setEnabled(False)
        self.copy.setToolTip("Put the report on the clipboard, a line a check")
        for button in (self.verify, self.copy):
            button.setProperty("pill", True)
            button.setAccessibleName(button.text())
        self.summary = QLabel()
        self.summary.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.summary.setWordWrap(True)
        self.table = QTableWidget(0, len(COLUMNS))
        self.table.setHorizontalHeaderLabels(list(COLUMNS))
        self.table.verticalHeader().hide()
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.setAccessibleName("Checks")
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(len(COLUMNS) - 1, QHeaderView.ResizeMode.Stretch)
        self.table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self._lay_out()
        self.verify.clicked.connect(self.check_requested)
        self.copy.clicked.connect(self.copy_requested)
        self.table.itemActivated.connect(self._on_item_chosen)
        self.table.itemClicked.connect(self._on_item_chosen)

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.addWidget(self.verify)
        top.addWidget(self.summary, 1)
        top.addWidget(self.copy)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(top)
        layout.addWidget(self.table, 1)

    # -- told from outside: never emits

    def set_report(self, report: CheckReport) -> None:
        """Show a report of the view that is on screen."""
        self._report, self._stale = report, False
        self.table.setRowCount(len(report.checks))
        self._fill()
        where = f"{report.model} on {report.engine}, {report.mask}"
        self.set_sentence(f"{where}: {report.sentence()}.")

    def set_stale(self, stale: bool) -> None:
        """Say whether the report is of a view that is no longer on screen."""
        if stale != self._stale:
            self._stale = stale
            self._fill()
        self.set_sentence(self._sentence)

    def set_empty(self, sentence: str) -> None:
        """Show a sentence and no report."""
        self._report = None
        self.table.setRowCount(0)
        self.set_sentence(sentence)

    def set_sentence(self, sentence: str) -> None:
        """Say something and keep the report that is there."""
        self._sentence = sentence
        old = self._stale and self._report is not None
        self.summary.setText(f"{sentence} This report is of an earlier view." if old else sentence)
        self.copy.setEnabled(self._report is not None and not old)
        self.table.setEnabled(not old)

    @property
    def report(self) -> CheckReport | None:
        """The report that is shown."""
        return self._report

    def changeEvent(self, event: QEvent) -> None:
        """Qt: another theme has other colours."""
        if event.type() == QEvent.Type.PaletteChange:
            self._fill()
        super().changeEvent(event)

    def _fill(self) -> None:
        for row, check in enumerate(self._report.checks if self._report is not None else ()):
            self._fill_line(row, check)

    def _fill_line(self, row: int, check: Check) -> None:
        """Write a line; a stale one has no colours of its own, so that it is faded whole."""
        theme = current()
        colors = {
            Verdict.PASS: theme.good, Verdict.FAIL: theme.error, Verdict.REFUSED: theme.muted,
        }  # fmt: skip
        place = check.place is not None
        tip = "Click: show the place in the window." if place else check.sentence
        for column, text in enumerate(check.cells):
            item = QTableWidgetItem(f"{_MARKS[check.verdict]} {text}" if column == 1 else text)
            item.setToolTip(tip)
            if not self._stale and (column == 1 or check.verdict is Verdict.REFUSED):
                item.setForeground(colors[check.verdict])
            self.table.setItem(row, column, item)

    def _on_item_chosen(self, item: QTableWidgetItem) -> None:
        if self._report is not None:
            place = self._report.checks[item.row()].place
            if place is not None:
                self.place_picked.emit(place)


def demo_report() -> CheckReport:
    """Return a report with every verdict."""
    place = Place(3, Stack.DECODER, 1, 2)
    return CheckReport(
        "prefix",
        "torch",
        "prefix mask, 20 tokens, prefix 6",
        (
            Check("weights", Verdict.PASS, "No head puts weight on a closed cell.", 0.0, 0.0),
            Check(
                "boundary",
                Verdict.FAIL,
                "Changing token 5 moves the output at 3, which may not depend on it: first in"
                f" {place.sentence()}.",
                0.31,
                2e-4,
                place,
            ),
            Check("documents", Verdict.REFUSED, "3 tokens cannot be two documents: 4 can."),
        ),
    )


def make_demo() -> QWidget:
    """Return a report in which one check fails."""
    view = CheckList()
    view.set_report(demo_report())
    return view


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (640, 260)))
