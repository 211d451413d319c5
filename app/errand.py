"""What the window asks an engine for, one job after the other, and what is told of the newest."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot

from app.engine_client import EngineClient
from app.engine_process import Failed, Finished
from core.types import Answer, Job, Progress


class Errand(QObject):
    """Owns the number of the job that is under way; what the client tells of others is dropped.

    A job that has ended is not touched by the death of the process afterwards.
    """

    progressed = Signal(str, float)
    """What is being done, and the share from 0 to 1 that is done."""
    answered = Signal(object)
    """The value of the answer; `ended` follows."""
    ended = Signal()
    """The job is no longer under way; where it has no answer, the reason follows."""
    failed = Signal(str)
    """It was refused; a sentence."""
    stopped = Signal()
    """It was stopped, by `stop` or because the view goes first."""
    died = Signal(str)
    """The process ended by itself; a sentence."""

    def __init__(self, client: EngineClient, parent: QObject) -> None:
        super().__init__(parent)
        self._client = client
        self._number = 0
        """Of the job that is under way, 0 for none."""
        client.progressed.connect(self._on_progressed)
        client.answered.connect(self._on_answered)
        client.job_ended.connect(self._on_job_ended)
        client.died.connect(self._on_died)

    @Slot(object)
    def ask(self, job: Job) -> None:
        """Ask for a job; nothing more is told of an older one."""
        self._number = self._client.ask(job)

    @Slot()
    def stop(self) -> None:
        """Stop the job, if one is under way; `stopped` follows."""
        self._client.cancel(self._number)

    @Slot(object)
    def _on_progressed(self, progress: Progress) -> None:
        if progress.generation == self._number:
            self.progressed.emit(progress.sentence, progress.share)

    @Slot(object)
    def _on_answered(self, answer: Answer) -> None:
        if answer.generation == self._number:
            self.answered.emit(answer.value)

    @Slot(object)
    def _on_job_ended(self, end: Failed | Finished) -> None:
        if end.generation != self._number:
            return
        self._end()
        if isinstance(end, Failed):
            self.failed.emit(end.sentence)
        elif end.stopped:
            self.stopped.emit()

    @Slot(str)
    def _on_died(self, sentence: str) -> None:
        if self._number:
            self._end()
            self.died.emit(sentence)

    def _end(self) -> None:
        self._number = 0
        self.ended.emit()
