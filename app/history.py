"""Edit ▸ Undo and Redo: the states that were on screen, and the way back to them."""

from __future__ import annotations

import time
from dataclasses import fields, replace

from PySide6.QtCore import QObject, Signal, Slot

from app.controller import Controller
from app.state import ViewState

MOST = 200
"""States that are remembered."""
PAUSE_S = 1.0
"""Changes of one thing that follow each other sooner are one change: a drag, a typed word."""
_LOOKS = ("cell", "head", "device", "dtype", "backend")
"""What is looked at and how it is run: no change of what was made."""


class History(QObject):
    """Remembers the states of a controller.

    Signals
    -------
    moved : whether there is something to undo, and something to redo.
    """

    moved = Signal(bool, bool)

    def __init__(self, controller: Controller, parent: QObject | None = None) -> None:
        super().__init__(parent or controller)
        self._controller = controller
        self._past: list[ViewState] = []
        self._future: list[ViewState] = []
        self._last: tuple[frozenset[str], float] = (frozenset(), 0.0)
        self._is_moving = False
        controller.changed.connect(self._on_state_changed)

    @Slot(object)
    def _on_state_changed(self, before: ViewState) -> None:
        if self._is_moving:
            return
        now = self._controller.state
        what = _changes(before, now)
        if not what and now != before:
            return
        same, since = self._last
        if not (what and what == same and time.monotonic() - since < PAUSE_S):
            self._past = [*self._past, before][-MOST:]
        self._last = what, time.monotonic()
        if what and self._forget_present():
            self._last = frozenset(), 0.0
        self._future = []
        self._tell()

    @Slot()
    def undo(self) -> None:
        """Show the state before the last change."""
        self._forget_present()
        if self._past:
            self._future.append(self._controller.state)
            self._go(self._past.pop())
        else:
            self._tell()

    @Slot()
    def redo(self) -> None:
        """Show again what was undone."""
        if self._future:
            self._past.append(self._controller.state)
            self._go(self._future.pop())

    def _go(self, state: ViewState) -> None:
        """Show a state; what is looked at, and what runs it, stays where it can."""
        now = self._controller.state
        kept = {name: getattr(now, name) for name in ("device", "dtype", "backend")}
        if now.family is state.family:
            kept["head"] = now.head
        others = {one.family: one for one in (*self._controller.others, now)}
        others.pop(state.family, None)
        self._is_moving = True
        try:
            self._controller.restore(replace(state, **kept), tuple(others.values()))
        finally:
            self._is_moving = False
        self._last = frozenset(), 0.0
        self._tell()

    def _forget_present(self) -> bool:
        """Forget what is on screen again: going back to it would change nothing."""
        before, now = len(self._past), self._controller.state
        while self._past and not _changes(self._past[-1], now):
            self._past.pop()
        return len(self._past) < before

    def _tell(self) -> None:
        self.moved.emit(bool(self._past), bool(self._future))


def _changes(before: ViewState, now: ViewState) -> frozenset[str]:
    """The fields that differ, without those that are only looked at."""
    names = [field.name for field in fields(now) if field.name not in _LOOKS]
    return frozenset(name for name in names if getattr(now, name) != getattr(before, name))
