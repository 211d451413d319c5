"""Runs the export dialog: its job goes to the second process, answers come back to it."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from PySide6.QtCore import QObject, QStandardPaths, Slot

from app.controller import Controller
from app.engine_client import EngineClient
from app.engine_process import Failed, Finished
from app.export_dialog import ExportDialog, choices
from app.main_window import MainWindow
from core.types import Answer, Exported, ExportJob, Progress


class Exporting(QObject):
    """Owns the dialog of File ▸ Export ONNX…; one export at a time."""

    def __init__(self, window: MainWindow, controller: Controller, workshop: EngineClient) -> None:
        super().__init__(window)
        self._controller, self._workshop = controller, workshop
        self._generation = 0
        self._window = window
        workshop.progressed.connect(self._on_progressed)
        workshop.answered.connect(self._on_answered)
        workshop.job_ended.connect(self._on_job_ended)
        workshop.died.connect(self._on_died)

    @cached_property
    def dialog(self) -> ExportDialog:
        """The dialog, made when it is first asked for."""
        dialog = ExportDialog(self._window)
        dialog.export_requested.connect(self._on_export_requested)
        dialog.stop_requested.connect(self._on_stop_requested)
        return dialog

    @Slot()
    def open(self) -> None:
        """Show the dialog for the model and the mask on screen."""
        scene = self._controller.scene
        found = choices(self._controller.state.model, scene.inputs, scene.row)
        documents = QStandardPaths.writableLocation(
            QStandardPaths.StandardLocation.DocumentsLocation
        )
        folder = Path(documents) if Path(documents).is_dir() else Path.home()
        self.dialog.set_choices(found, folder)
        self.dialog.show()
        self.dialog.raise_()

    @Slot(object)
    def _on_export_requested(self, job: ExportJob) -> None:
        self._generation = self._workshop.ask(job)

    @Slot()
    def _on_stop_requested(self) -> None:
        self._workshop.cancel(self._generation)

    @Slot(object)
    def _on_progressed(self, progress: Progress) -> None:
        if progress.generation == self._generation:
            self.dialog.set_progress(progress.sentence, progress.share)

    @Slot(object)
    def _on_answered(self, answer: Answer) -> None:
        if answer.generation == self._generation and isinstance(answer.value, Exported):
            self.dialog.set_done(answer.value)

    @Slot(object)
    def _on_job_ended(self, end: Failed | Finished) -> None:
        if end.generation != self._generation:
            return
        if isinstance(end, Failed):
            self.dialog.set_failed(end.sentence)
        elif end.stopped:
            self.dialog.set_failed("Stopped: nothing was written over.")

    @Slot(str)
    def _on_died(self, sentence: str) -> None:
        if self._generation:
            self._generation = 0
            self.dialog.set_failed(sentence)
