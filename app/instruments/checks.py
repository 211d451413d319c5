"""The Verify dock: whether the model keeps to its mask, and where it first does not."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.instruments.base import Instrument, View
from core.types import CheckJob, CheckReport, HeadRef, Place, Stack

_IDLE = "Verify runs every check on the model, the text and the mask on screen."


class Checks(Instrument):
    """Runs the checks when it is asked to; a report of an earlier view stays, and says so."""

    name = "checks"
    title = "Verify"
    tip = "Causality, prefix, padding, documents, cache, batch order: checked on the model"
    shortcut = "Ctrl+Shift+V"
    follows = False
    long = True

    def make(self) -> QWidget:
        """The list of checks."""
        from widgets.check_list import CheckList

        self._view: View | None = None
        self._list = CheckList()
        self._list.set_empty(_IDLE)
        self._list.check_requested.connect(self.asked)
        self._list.place_picked.connect(self._on_place_picked)
        self._list.copy_requested.connect(self._on_copy_requested)
        return self._list

    def look(self, view: View) -> None:
        """Places are picked in the view that is on screen."""
        self._view = view

    @property
    def report(self) -> CheckReport | None:
        """The report that is shown."""
        return self._list.report

    def job(self, view: View) -> CheckJob:
        """Every check of the view's model."""
        return CheckJob(0, view.request)

    def show(self, view: View, answer: object) -> None:
        """Show the report."""
        assert isinstance(answer, CheckReport)
        self._list.set_report(answer)

    def refuse(self, sentence: str) -> None:
        """Say why there is no report; the one that is there stays."""
        self._list.set_sentence(sentence)

    def await_answer(self) -> None:
        """Say that checks run."""
        self._list.set_sentence("Checking…")

    def set_stale(self, stale: bool) -> None:
        """Say that the report is of an earlier view, or of this one again."""
        self._list.set_stale(stale)

    @Slot(object)
    def _on_place_picked(self, place: Place) -> None:
        """Select the head and the query where two runs first parted."""
        if self._view is None:
            return
        state, scene = self._view.state, self._view.scene
        own = next(s for s in (Stack.DECODER, Stack.ENCODER) if s in scene.masks)
        stack = place.stack if place.stack in scene.masks else own
        assert stack is not None
        spec = scene.masks[stack]
        queries = spec if spec.source is None else scene.inputs.mask
        query = place.position + queries.left_pad[scene.row] - spec.past
        if not 0 <= query < spec.length:
            self.said.emit(f"Position {place.position} is in the cache: lower the cache offset.")
            return
        head = HeadRef(stack, place.layer or 0, place.head or 0)
        key = min(spec.past + query, spec.keys - 1) if spec.source is None else 0
        self.picked.emit(replace(state, head=head, cell=(query, key)))

    @Slot()
    def _on_copy_requested(self) -> None:
        report = self.report
        if report is not None:
            QGuiApplication.clipboard().setText(as_text(report))
            self.said.emit("The report is on the clipboard.")


def as_text(report: CheckReport) -> str:
    """A report to hand over, a line a check."""
    lines = [f"{report.model} on {report.engine}, {report.mask}: {report.sentence()}."]
    for check in report.checks:
        figure = "" if check.difference is None else f" ({check.difference:.1e})"
        lines.append(f"{check.verdict.word:11}{check.name}{figure}: {check.sentence}")
    return "\n".join(lines)
