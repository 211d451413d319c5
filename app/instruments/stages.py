"""The Stages dock: what the selected head does with the selected query, step by step."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app import presenter
from app.instruments.base import Instrument, View
from core.run.stages import EXAMPLE_KEYS, EXAMPLE_MASK, EXAMPLE_WORDS, example
from core.types import Stages as Found
from core.types import StagesJob


class Stages(Instrument):
    """Follows head and cell; the example stands in for them until it is left."""

    name = "stages"
    title = "Stages"
    tip = "The selected head step by step: scores, scaled, masked, softmax, weighted values"
    shortcut = "Ctrl+Shift+T"

    def make(self) -> QWidget:
        """The squares and the equation."""
        from widgets.stages_view import StagesView

        self._view: View | None = None
        self._answer: tuple[View, Found] | None = None
        self._stages = StagesView()
        self._stages.cell_clicked.connect(self._on_cell_clicked)
        self._stages.example_toggled.connect(self._on_example_toggled)
        return self._stages

    def look(self, view: View) -> None:
        """Write out the query that is selected now."""
        self._view = view
        if not self._is_example and self._stages.stages is not None:
            self._stages.set_cell(presenter.cell_shown(view.state, view.scene))

    def job(self, view: View) -> StagesJob:
        """The steps of the selected head; whichever cell is selected, they are the same."""
        head = view.state.head
        return StagesJob(0, replace(view.request, head=head), head)

    def show(self, view: View, answer: object) -> None:
        """Show the steps."""
        assert isinstance(answer, Found)
        self._answer = view, answer
        if not self._is_example:
            self._show()

    def refuse(self, sentence: str) -> None:
        """Say why there are no steps."""
        self._answer = None
        if not self._is_example:
            self._stages.set_empty(sentence)

    def remember(self) -> dict[str, str]:
        """The step that is shown where there is no room for all."""
        return {"step": self._stages.step}

    def restore(self, settings: dict[str, str]) -> None:
        """The step that is shown where there is no room for all."""
        self._stages.set_step(settings.get("step", ""))

    @property
    def _is_example(self) -> bool:
        return self._stages.example.isChecked()

    def _show(self) -> None:
        """Show the last answer."""
        if self._answer is None:
            self._stages.set_empty("The steps are shown once the model has run.")
            return
        view, found = self._answer
        scene, stack = view.scene, found.head.stack
        queries = presenter.labels(self.tokenizer, scene.query_ids[stack])
        keys = presenter.labels(self.tokenizer, scene.key_ids[stack])
        self._stages.set_stages(found, (scene.masks[stack], scene.row), queries, keys)
        now = self._view or view
        if now.state.stack is stack:
            self._stages.set_cell(presenter.cell_shown(now.state, now.scene))

    @Slot(bool)
    def _on_example_toggled(self, shown: bool) -> None:
        if not shown:
            self._show()
            return
        keys = list(EXAMPLE_KEYS)
        self._stages.set_stages(example(), (EXAMPLE_MASK, 0), ["query"], keys, EXAMPLE_WORDS)
        self._stages.set_cell((0, 2))

    @Slot(object)
    def _on_cell_clicked(self, cell: tuple[int, int]) -> None:
        if self._view is not None and not self._is_example:
            self.picked.emit(replace(self._view.state, cell=cell))
