"""Runs the export dialog: its job goes to the second process, answers come back to it."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from PySide6.QtCore import QObject, QStandardPaths, Slot

from app.controller import Controller
from app.engine_client import EngineClient
from app.errand import Errand
from app.export_dialog import Choices, ExportDialog, choices
from app.main_window import MainWindow


class Exporting(QObject):
    """Owns the dialog of File ▸ Export ONNX…; one export at a time."""

    def __init__(self, window: MainWindow, controller: Controller, workshop: EngineClient) -> None:
        super().__init__(window)
        self._window, self._controller = window, controller
        self._errand = Errand(workshop, self)

    @cached_property
    def dialog(self) -> ExportDialog:
        """The dialog, made when it is first asked for."""
        dialog, errand = ExportDialog(self._window), self._errand
        dialog.export_requested.connect(errand.ask)
        dialog.stop_requested.connect(errand.stop)
        errand.progressed.connect(dialog.set_progress)
        errand.answered.connect(dialog.set_done)
        errand.failed.connect(dialog.set_failed)
        errand.died.connect(dialog.set_failed)
        errand.stopped.connect(self._on_stopped)
        self._controller.asking.connect(self._on_view_asked)
        return dialog

    def _found(self) -> Choices:
        """What can be exported of the view."""
        scene = self._controller.scene
        return choices(self._controller.state.model, scene.inputs, scene.row)

    @Slot()
    def open(self) -> None:
        """Show the dialog for the model and the mask on screen."""
        documents = QStandardPaths.writableLocation(
            QStandardPaths.StandardLocation.DocumentsLocation
        )
        folder = Path(documents) if Path(documents).is_dir() else Path.home()
        self.dialog.set_choices(self._found(), folder)
        self.dialog.show()
        self.dialog.raise_()

    @Slot()
    def _on_view_asked(self) -> None:
        self.dialog.set_view(self._found())

    @Slot()
    def _on_stopped(self) -> None:
        self.dialog.set_failed("Stopped: nothing was written over.")
