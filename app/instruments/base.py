"""What every instrument is: a dock that asks the engine about the view and shows the answer.

What needs no engine is shown at once, by `Instrument.look`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.scene import Scene
from app.state import ViewState
from core.text.tokenizer import Tokenizer
from core.types import Job, RunRequest, RunResult, Stack


@dataclass(frozen=True)
class View:
    """What is on screen, and what the engine said of it.

    ``request`` is how the run was asked, with generation 0: equal views make equal jobs.
    """

    state: ViewState
    scene: Scene
    request: RunRequest
    result: RunResult


class Instrument(QObject):
    """One dock. Subclasses say what they ask (`job`) and how they show an answer (`show`).

    Class attributes
    ----------------
    name : of the dock, as the layout is remembered under; the title stands on its tab.
    follows : asks again whenever the view has changed; otherwise only when `asked` is emitted.
    long : works in the second process, so that the view never waits for it.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    tip: ClassVar[str]
    shortcut: ClassVar[str] = ""
    follows: ClassVar[bool] = True
    long: ClassVar[bool] = False

    asked = Signal()
    """The instrument's own controls changed: ask again."""
    picked = Signal(object)
    """A `ViewState` whose head and cell the user chose in the instrument."""
    said = Signal(str)
    """A sentence for the status line."""

    def __init__(self, tokenizer: Tokenizer, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.tokenizer = tokenizer

    def make(self) -> QWidget:
        """The content of the dock, made when it is first shown."""
        raise NotImplementedError

    def look(self, view: View) -> None:
        """The view is another one: show what can be told without the engine."""

    def job(self, view: View) -> Job | str:
        """What to ask about a view, with generation 0; a sentence where there is nothing to ask."""
        raise NotImplementedError

    def show(self, view: View, answer: object) -> None:
        """Show what the job was answered with; ``view`` is the one that it was asked about."""
        raise NotImplementedError

    def refuse(self, sentence: str) -> None:
        """Say why there is no answer."""
        raise NotImplementedError

    def shown(self) -> object:
        """What a figure can show that no engine answered; None where there is no such."""
        return None

    def await_answer(self) -> None:
        """Fade what is old; an answer is on its way."""

    def set_stale(self, stale: bool) -> None:
        """Say whether the answer of an instrument that does not follow is of another run."""

    def remember(self) -> dict[str, str]:
        """What a workspace keeps of the instrument's own controls."""
        return {}

    def restore(self, settings: dict[str, str]) -> None:
        """Set the controls as `remember` told them; what is not known is left alone."""

    def labels(self, scene: Scene) -> dict[Stack, list[str]]:
        """How the tokens along the keys of each stack are written."""
        label = self.tokenizer.label
        return {stack: [label(i) for i in ids] for stack, ids in scene.key_ids.items()}
