"""The child side: one long-lived process that runs models, so that the window never waits.

The parent sends messages, the child answers them in order; a reader thread hears a stop while the
engine is busy. Torch is imported here, after the window is up, and nowhere in the GUI process.
"""

from __future__ import annotations

import os
import queue
import threading
import traceback
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection

from core.types import Answer, GenerateRequest, HeadRequest, Job, Progress, RunRequest


@dataclass(frozen=True)
class Ready:
    """The engine is there. ``devices`` the fastest first, ``threads`` what torch may use."""

    devices: tuple[str, ...]
    threads: int


@dataclass(frozen=True)
class Finished:
    """The request of this generation has been answered in full, or was stopped."""

    generation: int
    stopped: bool = False


@dataclass(frozen=True)
class Failed:
    """The request could not be answered; ``sentence`` is for the user, ``details`` for a report."""

    generation: int
    sentence: str
    details: str = ""


@dataclass(frozen=True)
class Stop:
    """Stop what is running; asked by the parent."""


Request = RunRequest | GenerateRequest | HeadRequest | Job


def number(request: Request) -> int:
    """The generation of any request."""
    if isinstance(request, GenerateRequest):
        return request.run.generation
    return request.generation


def main(connection: Connection) -> None:
    """Serve requests until the parent closes the connection."""
    threads = max(1, (os.cpu_count() or 2) - 1)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # Read when torch is imported.
    import torch

    torch.set_num_threads(threads)
    from core.run.devices import available

    with suppress(BrokenPipeError):  # The parent has gone.
        _Server(connection).serve(Ready(available(), threads))


class _Server:
    """Reads in one thread, computes in the other."""

    def __init__(self, connection: Connection) -> None:
        from app.engine_work import Engines
        from core.run.cancel import CancelToken

        self._new_token = CancelToken
        self._engines = Engines()
        self._connection = connection
        self._todo: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._token = CancelToken()
        self._reader = threading.Thread(target=self._read, name="requests", daemon=True)

    def serve(self, ready: Ready) -> None:
        self._connection.send(ready)
        self._reader.start()
        while (request := self._todo.get()) is not None:
            self._answer(request)

    def _read(self) -> None:
        try:
            while True:
                message = self._connection.recv()
                if isinstance(message, Stop):
                    self._token.cancel()
                else:
                    self._todo.put(message)
        except (EOFError, OSError):
            self._token.cancel()
            self._todo.put(None)

    def _answer(self, request: Request) -> None:
        from core.run.cancel import Cancelled
        from core.run.contract import EngineError

        self._token = self._new_token()
        generation, send = number(request), self._connection.send
        try:
            for message in self._messages(request):
                send(message)
            send(Finished(generation))
        except Cancelled:
            send(Finished(generation, stopped=True))
        except (ValueError, EngineError) as error:
            send(Failed(generation, str(error)))
        except Exception as error:
            sentence = f"The engine failed with {type(error).__name__}: {error}"
            send(Failed(generation, sentence, traceback.format_exc()))

    def _messages(self, request: Request) -> Iterator[object]:
        token, engines, generation = self._token, self._engines, number(request)

        def progress(sentence: str, share: float) -> None:
            self._connection.send(Progress(generation, sentence, share))

        if isinstance(request, RunRequest):
            yield engines.of(request, progress, token).run(request, token)
        elif isinstance(request, HeadRequest):
            yield engines.last.head(request)
        elif isinstance(request, GenerateRequest):
            yield from engines.of(request.run, progress, token).generate(request, token)
        else:
            yield Answer(generation, engines.work(request, progress, token))
