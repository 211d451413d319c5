"""File ▸ Export data…: what is on screen as arrays, written by the second process."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QFileDialog, QMessageBox

from app.controller import Controller
from app.data import data_job
from app.engine_client import EngineClient
from app.errand import Errand
from app.instruments.board import Board
from app.main_window import MainWindow
from core.text.tokenizer import Tokenizer
from core.types import CheckReport, FlowResult, Written

FILTERS = {
    "NumPy archive (*.npz)": ".npz",
    "Tensors (*.safetensors)": ".safetensors",
    "Folder of tables (*.csv)": ".csv",
    "JSON (*.json)": ".json",
}


class DataMenu(QObject):
    """Asks where to, and tells how far it is and how it went; a newer export stops an older one."""

    def __init__(
        self,
        window: MainWindow,
        controller: Controller,
        board: Board,
        workshop: EngineClient,
        words: Tokenizer,
    ) -> None:
        super().__init__(window)
        self._window, self._controller, self._board = window, controller, board
        self._words = words
        self._errand = Errand(workshop, self)
        window.job.stop_requested.connect(self._errand.stop)
        self._errand.progressed.connect(window.job.set_progress)
        self._errand.ended.connect(window.job.set_idle)
        self._errand.answered.connect(self._on_answered)
        self._errand.failed.connect(self._warn)
        self._errand.stopped.connect(self._on_stopped)
        self._errand.died.connect(self._on_died)

    @Slot()
    def open(self) -> None:
        """Ask for a file, and write what is on screen to it."""
        name, chosen = QFileDialog.getSaveFileName(
            self._window, "Export data", "data.npz", ";;".join(FILTERS)
        )
        if name:
            known = Path(name).suffix.lower() in FILTERS.values()
            self.save(Path(name if known else f"{name}{FILTERS.get(chosen, '.npz')}"))

    def save(self, path: Path) -> None:
        """Write what is on screen, with the flow and the checks that were computed of it."""
        view = self._controller.view
        if view is None:
            self._warn("There is no result to export yet: wait until the model has run.")
            return
        answers = self._board.answers()
        flow, report = answers.get("flow"), answers.get("checks")
        beside = (
            flow if isinstance(flow, FlowResult) else None,
            report if isinstance(report, CheckReport) else None,
        )
        job = data_job(view.state, view.scene, view.request, self._words, str(path), beside)
        self._window.job.set_progress(f"writing {path.name}", 0.0)
        self._errand.ask(job)

    @Slot(str)
    def _warn(self, sentence: str) -> None:
        self._window.sentence.setText(sentence)
        box = QMessageBox(QMessageBox.Icon.Warning, "maskscope", sentence, parent=self._window)
        box.open()

    # -- the second process answers

    @Slot(object)
    def _on_answered(self, written: Written) -> None:
        self._window.sentence.setText(written.sentence())

    @Slot()
    def _on_stopped(self) -> None:
        self._window.sentence.setText("Stopped: nothing was written over.")

    @Slot(str)
    def _on_died(self, sentence: str) -> None:
        self._warn(f"{sentence} No data was written.")
