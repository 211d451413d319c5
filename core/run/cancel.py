"""Stopping is a question that the engine asks, not a kill."""

from __future__ import annotations

import threading


class Cancelled(Exception):
    """The run was stopped because its answer is no longer wanted."""


class CancelToken:
    """Asked before each layer and each generated token; may be set from any thread."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        """Ask the run to stop at its next question."""
        self._event.set()

    def check(self) -> None:
        """Raise Cancelled if the run shall stop."""
        if self._event.is_set():
            raise Cancelled
