"""File ▸ Export figure…: what is on screen goes to the dialog that makes a figure of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from app import presenter
from app.controller import Controller
from app.instruments.board import Board
from app.main_window import MainWindow
from app.scene import Scene, request
from app.state import ViewState
from core.text.tokenizer import Tokenizer
from core.types import GenerateRequest, HeadRef, Stack, StepEvent

if TYPE_CHECKING:
    from app.figure_dialog import FigureDialog
    from app.figure_views import Shown
    from core.figure.style import Style
    from core.types.figure import Figure

Generated = tuple[Scene, GenerateRequest, tuple[StepEvent, ...]]
"""What was read when generation began, how it was asked, and its steps."""


class FigureMenu(QObject):
    """Owns the dialog, and remembers the steps of the last generation for it."""

    def __init__(
        self, window: MainWindow, controller: Controller, board: Board, words: Tokenizer
    ) -> None:
        super().__init__(window)
        self._window, self._controller, self._board, self._words = window, controller, board, words
        self._generated: Generated | None = None
        self._author = controller.state
        """The state that the last generation went on from."""
        self._on_engine_asked()
        self._shown: Shown | None = None
        self.dialog: FigureDialog | None = None
        controller.asking.connect(self._on_engine_asked)
        controller.client.step_arrived.connect(self._on_step_arrived)

    @Slot()
    def _on_engine_asked(self) -> None:
        """Remember what is read, and how, when tokens are generated next."""
        state, read = self._controller.state, self._controller.scene
        self._start = read, GenerateRequest(request(state, read), state.sampling), state

    @Slot(object)
    def _on_step_arrived(self, event: StepEvent) -> None:
        if event.step == 0:
            read, wanted, self._author = self._start
            self._generated = read, wanted, (event,)
        elif self._generated is not None:
            read, wanted, events = self._generated
            self._generated = read, wanted, (*events, event)

    def _on_screen(self) -> Generated | None:
        """The last generation, while what it wrote is on screen, or the beginning of that."""
        if self._generated is None:
            return None
        now, before = self._controller.state, self._author
        chosen = [event.token for event in self._generated[2] if not event.stopped]
        shown, written = now.current.generated, (*before.current.generated, *chosen)
        is_there = _unwritten(now) == _unwritten(before) and shown == written[: len(shown)]
        return self._generated if is_there else None

    def shown(self) -> Shown:
        """What is on screen now; what an older view was answered is left out."""
        from app.figure_views import Shown

        controller = self._controller
        view = controller.view
        return Shown(
            self._words,
            controller.scene,
            request(controller.state, controller.scene),
            controller.head if view else None,
            view.result.maps if view else (),
            self._on_screen(),
            self._board.shown(),
            self._board.remember(),
            self._board.jobs(),
            presenter.cell_shown(controller.state, controller.scene)[0],
        )

    @Slot()
    def open(self) -> None:
        """Show the dialog for what is on screen; an open one is made anew."""
        from app.figure_dialog import FigureDialog  # A fifth of a second: not at the start.
        from app.figure_views import available

        if self.dialog is not None:
            self.dialog.close()
            self.dialog.deleteLater()
        self._shown = self.shown()
        self.dialog = FigureDialog(self._draw, available(self._shown), self._window)
        self.dialog.show()

    def _draw(self, name: str, style: Style) -> Figure:
        from app.figure_views import drawn

        assert self._shown is not None
        return drawn(name, self._shown, style)


def _unwritten(state: ViewState) -> ViewState:
    """A state without what was generated, what grows with it, and what is looked at."""
    return replace(
        state.with_row(generated=()),
        documents=state.documents[:-1],
        head=HeadRef(Stack.DECODER),
        cell=None,
        max_new_tokens=1,
    )
