"""Stopping is a question that the engine asks, not a kill."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Cancelled(Exception):
    """The run was stopped because its answer is no longer wanted."""


class CancelToken:
    """Asked before each layer and each generated token; may be set from any thread."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._stops: list[Callable[[], None]] = []

    def cancel(self) -> None:
        """Ask the run to stop at its next question."""
        with self._lock:
            self._event.set()
            for stop in self._stops:
                stop()

    def check(self) -> None:
        """Raise Cancelled if the run shall stop."""
        if self._event.is_set():
            raise Cancelled

    @contextmanager
    def calling(self, stop: Callable[[], None]) -> Iterator[None]:
        """Call ``stop`` on a cancel meanwhile, for a run that asks no questions; first `check`."""
        with self._lock:
            self.check()
            self._stops.append(stop)
        try:
            yield
        finally:
            with self._lock:
                self._stops.remove(stop)
