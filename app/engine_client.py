"""The parent side: one request in flight, one of each kind waiting, newest wins.

The run that is shown goes first: it stops what an instrument has asked, which asks again once the
run is there. Answers come in on a thread and cross once, as a queued signal, into the GUI thread.
When the child dies or does not react to a stop, it is started again; the owner asks again. One that
only dies is given up.
"""

from __future__ import annotations

import itertools
import multiprocessing
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from multiprocessing.connection import Connection

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.engine_process import Failed, Finished, Ready, Request, Stop, main, number
from core.types import (
    Answer,
    GenerateRequest,
    HeadPattern,
    HeadRequest,
    Job,
    Progress,
    RunRequest,
    RunResult,
    StepEvent,
)

PATIENCE_MS = 5000
"""How long a stopped request may go on before its process is ended."""
MOST_DEATHS = 3
"""How often in a row, with nothing answered in between, a process may die before it is given up."""
VIEW, HEAD = "view", "head"
_numbers = itertools.count(1)  # Of all clients: no two requests have the same.


def kind(request: Request) -> str:
    """What a newer request of the same kind replaces: the view, a head, or a type of job."""
    if isinstance(request, RunRequest | GenerateRequest):
        return VIEW
    return HEAD if isinstance(request, HeadRequest) else type(request).__name__


class EngineClient(QObject):
    """Owns the engine process."""

    became_ready = Signal(object)
    """`Ready`: the process answers."""
    result_arrived = Signal(object)
    """`RunResult` of the newest request."""
    step_arrived = Signal(object)
    """`StepEvent` of the newest request."""
    head_arrived = Signal(object)
    """`HeadPattern` of the newest run."""
    failed = Signal(object)
    """`Failed`: the newest request could not be answered."""
    finished = Signal(object)
    """`Finished`: the newest request is done."""
    progressed = Signal(object)
    """`Progress` of a request."""
    answered = Signal(object)
    """`Answer` to the newest job of its kind."""
    job_ended = Signal(object)
    """`Failed` or `Finished`: the newest job of its kind has no answer, or has been given it."""
    died = Signal(str)
    """The process ended by itself; a sentence. A new one is being started, or it is given up."""
    _arrived = Signal(object, object)

    def __init__(
        self,
        parent: QObject | None = None,
        *,
        target: Callable[[Connection], None] = main,
        patience_ms: int = PATIENCE_MS,
    ) -> None:
        super().__init__(parent)
        self._target = target
        self._newest: dict[str, int] = {}
        self._run = 0
        self._in_flight: Request | None = None
        self._waiting: dict[str, Request] = {}
        self._process: multiprocessing.process.BaseProcess | None = None
        self._connection: Connection | None = None
        self._reader: threading.Thread | None = None
        self._ready = False
        self._deaths = 0
        """Of processes, since something was answered."""
        self._gave_up = ""
        """Why there is no process any more; empty while there may be one."""
        self._patience = QTimer(self, singleShot=True, interval=patience_ms)
        self._patience.timeout.connect(self._on_patience_ended)
        self._arrived.connect(self._on_message_arrived)

    # -- life

    def start(self) -> None:
        """Start the process; `became_ready` follows."""
        self._gave_up = ""
        context = multiprocessing.get_context("spawn")
        mine, theirs = context.Pipe()
        self._process = context.Process(
            target=self._target, args=(theirs,), name="engine", daemon=True
        )
        self._process.start()
        theirs.close()
        self._connection = mine
        self._ready = False
        self._reader = threading.Thread(
            target=_read, args=(mine, self._arrived.emit), name="answers", daemon=True
        )
        self._reader.start()

    def shutdown(self) -> None:
        """End the process and the reading thread; nothing is emitted afterwards."""
        self._patience.stop()
        self._in_flight, self._waiting = None, {}
        self._end_process()

    def restart(self) -> None:
        """End the process, whatever it does, and start a new one; its jobs are stopped."""
        jobs = [self._in_flight, *self._waiting.values()]
        self._deaths = 0
        self._start_again()
        self._tell_stopped(jobs)

    def _start_again(self) -> None:
        self.shutdown()
        self.start()

    def _end_process(self) -> None:
        connection, process, reader = self._connection, self._process, self._reader
        self._connection = self._process = self._reader = None
        self._ready = False
        if process is not None:
            process.terminate()
            process.join(2)
            if process.is_alive():
                process.kill()
                process.join()
        if connection is not None and reader is not None:
            reader.join()
            connection.close()

    # -- state

    @property
    def pid(self) -> int | None:
        """The id of the engine process."""
        return self._process.pid if self._process is not None else None

    @property
    def is_ready(self) -> bool:
        """True once the process answers."""
        return self._ready

    @property
    def is_busy(self) -> bool:
        """True while a request is in flight or waiting."""
        return self._in_flight is not None or bool(self._waiting)

    # -- requests

    def next_generation(self) -> int:
        """The number of the next view; answers to lower ones are dropped from now on."""
        self._newest[VIEW] = next(_numbers)
        return self._newest[VIEW]

    def submit(self, request: RunRequest | GenerateRequest) -> None:
        """Ask for a run or a generation made with the newest number; replaces all that waits.

        Once the process is given up, `failed` says so.
        """
        self._run = self._newest[VIEW]
        self._forget_waiting()
        if self._gave_up:
            sentence = f"{self._gave_up} Engine ▸ Restart the engine tries once more."
            self.failed.emit(Failed(self._run, sentence))
        else:
            self._enqueue(request)

    def ask_head(self, request: HeadRequest) -> None:
        """Ask for another head of the run that is shown; dropped if a run is under way."""
        in_flight = self._in_flight is not None and kind(self._in_flight) == VIEW
        if not in_flight and VIEW not in self._waiting:
            self._enqueue(request)

    def ask(self, job: Job) -> int:
        """Ask for a job; returns the number that it is given, which its answer carries.

        A process that was not started yet is started.
        """
        if self._process is None:
            self.start()
        numbered = replace(job, generation=next(_numbers))
        self._newest[kind(job)] = numbered.generation
        self._enqueue(numbered)
        return numbered.generation

    def cancel(self, generation: int) -> None:
        """Stop a job, wherever it is; `job_ended` follows."""
        if self._in_flight is not None and number(self._in_flight) == generation:
            self._stop_flight()
            return
        for name, request in list(self._waiting.items()):
            if isinstance(request, Job) and request.generation == generation:
                self._tell_stopped([self._waiting.pop(name)])

    def stop(self) -> None:
        """Stop what runs and forget what waits; the process is restarted if it does not react."""
        self._forget_waiting()
        self._stop_flight()

    def _forget_waiting(self) -> None:
        waiting, self._waiting = self._waiting, {}
        self._tell_stopped(waiting.values())

    def _tell_stopped(self, requests: Iterable[Request | None]) -> None:
        """Say of those that are jobs that they were stopped."""
        for request in requests:
            if isinstance(request, Job):
                self.job_ended.emit(Finished(request.generation, stopped=True))

    def _stop_flight(self) -> None:
        if self._in_flight is not None and self._ready:
            self._send(Stop())
            self._patience.start()

    def _enqueue(self, request: Request) -> None:
        if self._in_flight is None and self._ready:
            self._in_flight = request
            self._send(request)
            return
        self._waiting[kind(request)] = request
        if self._in_flight is not None and kind(request) in (VIEW, kind(self._in_flight)):
            self._send(Stop())

    def _send(self, message: Request | Stop) -> None:
        if self._connection is not None:
            try:
                self._connection.send(message)
            except OSError:
                return  # The process has died: the reader says so.

    # -- answers

    @Slot(object, object)
    def _on_message_arrived(self, source: object, message: object) -> None:
        if source is not self._connection:
            return  # From a process that was ended.
        if message is None:
            self._on_process_died()
        elif isinstance(message, Ready):
            self._ready = True
            self.became_ready.emit(message)
            self._send_waiting()
        elif isinstance(message, RunResult) and message.generation == self._newest[VIEW]:
            self.result_arrived.emit(message)
        elif isinstance(message, StepEvent) and message.generation == self._newest[VIEW]:
            self.step_arrived.emit(message)
        elif isinstance(message, HeadPattern) and message.generation == self._run:
            self.head_arrived.emit(message)
        elif isinstance(message, Progress) and message.generation in self._newest.values():
            self.progressed.emit(message)
        elif isinstance(message, Answer) and message.generation in self._newest.values():
            self.answered.emit(message)
        elif isinstance(message, Failed | Finished):
            self._on_request_landed(message)

    def _on_request_landed(self, message: Failed | Finished) -> None:
        self._patience.stop()
        self._deaths = 0
        landed, self._in_flight = self._in_flight, None
        name = HEAD if landed is None else kind(landed)
        newest = message.generation == self._newest.get(name) and name not in self._waiting
        self._send_waiting()
        if not newest or name == HEAD:
            return
        if name == VIEW:
            (self.failed if isinstance(message, Failed) else self.finished).emit(message)
        else:
            self.job_ended.emit(message)

    def _send_waiting(self) -> None:
        """Send the next of what waits: the view, then a head, then jobs as they were asked."""
        for name in (VIEW, HEAD, *self._waiting):
            if name in self._waiting:
                self._enqueue(self._waiting.pop(name))
                return

    def _on_process_died(self) -> None:
        code = None
        if self._process is not None:
            self._process.join(2)
            code = self._process.exitcode
        self._deaths += 1
        if self._deaths < MOST_DEATHS:
            self._start_again()
            self.died.emit(f"The engine stopped (exit code {code}) and was started again.")
            return
        self.shutdown()
        self._gave_up = (
            f"The engine stopped {self._deaths} times in a row (exit code {code}) and was not"
            " started again."
        )
        self.died.emit(self._gave_up)

    @Slot()
    def _on_patience_ended(self) -> None:
        self._start_again()
        self.died.emit("The engine did not react to the stop and was started again.")


def _read(connection: Connection, deliver: Callable[[object, object], None]) -> None:
    """Hand every message over until the process is gone; None is the last one."""
    try:
        while True:
            deliver(connection, connection.recv())
    except (EOFError, OSError):
        deliver(connection, None)
