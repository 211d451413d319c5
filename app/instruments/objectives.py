"""The Objectives dock: the text as a training objective sees it, and the loss there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.instruments.base import Instrument, View
from app.scene import document, sentence_ends
from core.types import Family, HeadRef, Objective, ObjectiveJob, ObjectiveView, Stack

if TYPE_CHECKING:
    from widgets.objective_view import ObjectiveChoice


_OWN = {
    Family.ENCODER: Objective.MASKED,
    Family.DECODER: Objective.CAUSAL,
    Family.PREFIX: Objective.PREFIX,
    Family.ENCODER_DECODER: Objective.SPANS,
}
"""The objective that a family is trained with."""


class Objectives(Instrument):
    """Follows the text; another family brings its own objective along."""

    name = "objectives"
    title = "Objectives"
    tip = "What each training objective hides and asks for, and the loss at every position"
    shortcut = "Ctrl+Shift+O"

    def make(self) -> QWidget:
        """Columns of tokens and losses."""
        from widgets.objective_view import ObjectivePanel

        self._family: Family | None = None
        self._panel = ObjectivePanel()
        self._panel.choice_changed.connect(self._on_choice_changed)
        self._panel.hovered.connect(self.said)
        return self._panel

    def job(self, view: View) -> ObjectiveJob:
        """The whole text of the shown row under the objective that is chosen."""
        state = view.state
        if state.family is not self._family:
            self._family = state.family
            self._panel.set_objective(_OWN[state.family])
        choice = self._panel.choice
        prefix = choice.prefix
        if choice.objective is Objective.PREFIX and prefix is None:
            prefix = state.prefix or None
        ids = document(state, self.tokenizer)
        return ObjectiveJob(
            generation=0,
            run=replace(view.request, head=HeadRef(Stack.DECODER)),
            ids=ids,
            objective=choice.objective,
            seed=choice.seed,
            prefix=prefix,
            shift=choice.shift,
            noise=choice.noise,
            stops=sentence_ends(ids, self.tokenizer),
        )

    def show(self, view: View, answer: object) -> None:
        """Show the answer."""
        assert isinstance(answer, ObjectiveView)
        label = self.tokenizer.label
        pairs = zip(answer.targets, answer.loss_mask, strict=True)
        from widgets.objective_canvas import ObjectiveWords

        words = ObjectiveWords(
            tuple(self.tokenizer.pieces(answer.inputs)),
            tuple(label(int(target)) if scored else "" for target, scored in pairs),
            tuple(self.tokenizer.pieces(answer.top_ids)),
            tuple(self.tokenizer.pieces(answer.source)),
        )
        self._panel.set_view(answer, words)

    def refuse(self, sentence: str) -> None:
        """Say why there is nothing to show."""
        self._panel.set_empty(sentence)

    def await_answer(self) -> None:
        """Fade what is old."""
        self._panel.set_stale(True)

    @Slot(object)
    def _on_choice_changed(self, choice: ObjectiveChoice) -> None:
        self.asked.emit()
