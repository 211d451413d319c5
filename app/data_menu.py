"""File ▸ Export data…: what is on screen as arrays, written by the second process."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QFileDialog, QMessageBox

from app.controller import Controller
from app.data import data_job
from app.engine_client import EngineClient
from app.engine_process import Failed, Finished
from app.instruments.board import Board
from app.main_window import MainWindow
from core.text.tokenizer import Tokenizer
from core.types import Answer, CheckReport, FlowResult, Progress, Written

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
        self._workshop, self._words = workshop, words
        self._generation = 0
        window.job.stop_requested.connect(self._on_stop_requested)
        workshop.progressed.connect(self._on_progressed)
        workshop.answered.connect(self._on_answered)
        workshop.job_ended.connect(self._on_job_ended)
        workshop.died.connect(self._on_died)

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
        answers = self._board.answers_about(view)
        flow, report = answers.get("flow"), answers.get("checks")
        beside = (
            flow if isinstance(flow, FlowResult) else None,
            report if isinstance(report, CheckReport) else None,
        )
        job = data_job(view.state, view.scene, view.request, self._words, str(path), beside)
        self._window.job.set_progress(f"writing {path.name}", 0.0)
        self._generation = self._workshop.ask(job)

    def _warn(self, sentence: str) -> None:
        self._window.sentence.setText(sentence)
        box = QMessageBox(QMessageBox.Icon.Warning, "maskscope", sentence, parent=self._window)
        box.open()

    @Slot()
    def _on_stop_requested(self) -> None:
        self._workshop.cancel(self._generation)

    # -- the second process answers

    @Slot(object)
    def _on_progressed(self, progress: Progress) -> None:
        if progress.generation == self._generation:
            self._window.job.set_progress(progress.sentence, progress.share)

    @Slot(object)
    def _on_answered(self, answer: Answer) -> None:
        if answer.generation == self._generation and isinstance(answer.value, Written):
            self._window.sentence.setText(answer.value.sentence())

    @Slot(object)
    def _on_job_ended(self, end: Failed | Finished) -> None:
        if end.generation == self._generation:
            self._generation = 0
            self._window.job.set_idle()
            if isinstance(end, Failed):
                self._warn(end.sentence)
            elif end.stopped:
                self._window.sentence.setText("Stopped: nothing was written over.")

    @Slot(str)
    def _on_died(self, sentence: str) -> None:
        if self._generation:
            self._generation = 0
            self._window.job.set_idle()
            self._warn(f"{sentence} No data was written.")
