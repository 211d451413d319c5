"""How far an exported model is from torch: the largest differences, and every case."""

from __future__ import annotations

import sys

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLabel,
    QStackedLayout,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from core.types import BOUNDS, LOSSY_BOUNDS, ParityCase, ParityReport
from core.types.exports import figure
from widgets.palette import current

_HEADER = (
    "case",
    "batch × tokens",
    "chunks",
    "logits",
    "present",
    "attention",
    "greedy",
    "verdict",
)


class ParityTable(QWidget):
    """The report as a small table: the verdict over all on top, a line a case below."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._report: ParityReport | None = None
        self.empty = QLabel()
        self.empty.setProperty("role", "muted")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.table = QTableWidget(0, len(_HEADER))
        self.table.setHorizontalHeaderLabels(list(_HEADER))
        self.table.verticalHeader().hide()
        self.table.verticalHeader().setDefaultSectionSize(24)
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setAccessibleName("Parity with torch")
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self._layout = QStackedLayout(self)
        self._layout.addWidget(self.empty)
        self._layout.addWidget(self.table)

    def set_empty(self, sentence: str) -> None:
        """Show a sentence instead of a table; never emits."""
        self._report = None
        self.empty.setText(sentence)
        self._layout.setCurrentWidget(self.empty)

    def set_report(self, report: ParityReport) -> None:
        """Show a report; cases that fail come first."""
        self._report = report
        cases = sorted(report.cases, key=_passed)
        self.table.setRowCount(1 + len(cases))
        bounds = LOSSY_BOUNDS.get(report.cases[0].dtype, BOUNDS) if report.cases else BOUNDS
        largest = [figure(report.max_abs[name]) for name in BOUNDS]
        greedy = "equal" if report.greedy_equal else "differ"
        self._fill(0, ["largest of all", "", "", *largest, greedy, report.verdict], report.passed)
        for number, case in enumerate(cases, start=1):
            self._fill(number, _cells(case), case.passed)
        for column, name in enumerate(BOUNDS, start=3):
            tip = f"The largest absolute difference of {name}; {bounds[name]:.0e} passes."
            item = QTableWidgetItem(name)
            item.setToolTip(tip)
            self.table.setHorizontalHeaderItem(column, item)
        self._layout.setCurrentWidget(self.table)

    def changeEvent(self, event: QEvent) -> None:
        """Qt: another theme has other colours."""
        if event.type() == QEvent.Type.PaletteChange and self._report is not None:
            self.set_report(self._report)
        super().changeEvent(event)

    def _fill(self, row: int, cells: list[str], passed: bool) -> None:
        theme = current()
        for column, text in enumerate(cells):
            item = QTableWidgetItem(text)
            if column:
                item.setTextAlignment(Qt.AlignmentFlag.AlignCenter)
            if column == len(cells) - 1:
                item.setForeground(theme.good if passed else theme.error)
            if row == 0:
                font = item.font()
                font.setBold(True)
                item.setFont(font)
            self.table.setItem(row, column, item)


def _passed(case: ParityCase) -> bool:
    return case.passed


def _cells(case: ParityCase) -> list[str]:
    return [
        case.name,
        f"{case.batch} × {case.length}",
        str(case.chunks),
        figure(case.logits),
        figure(case.present),
        figure(case.attention),
        "equal" if case.greedy_equal else "differ",
        ("PASS" if case.passed else "FAIL") + (f": {case.error}" if case.error else ""),
    ]


def make_demo() -> QWidget:
    """Return the table of a report in which one case fails."""
    good = ParityCase("left pads", 3, 17, 2, 1.2e-5, 2.1e-6, 9e-7, True, True, "float32")
    bad = ParityCase("a prefix", 1, 40, 1, 0.4, 3e-6, 0.2, False, False, "float32")
    largest: dict[str, float | None] = {"logits": 0.4, "present": 3e-6, "attention": 0.2}
    table = ParityTable()
    table.set_report(
        ParityReport("FAIL", largest, False, (good, bad), ("CPUExecutionProvider",), {})
    )
    return table


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (640, 220)))
