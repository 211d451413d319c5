"""What the user does with the widgets, as changes of the state."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QObject, Slot

from app import presenter
from app.controller import Controller
from app.main_window import MainWindow
from app.state import NEW_ROW
from core.text.special import MASK, SPECIAL_PIECES
from core.text.tokenizer import Tokenizer
from core.types import Family, HeadRef, Stack
from widgets.mask_form import MaskKnobs
from widgets.sampling_form import SamplingChoice

MASK_TEXT = SPECIAL_PIECES[MASK]


class Gestures(QObject):
    """Listens to every widget of the window; the controller does the rest."""

    def __init__(self, window: MainWindow, controller: Controller, tokenizer: Tokenizer) -> None:
        super().__init__(window)
        self._window, self._controller, self._tokenizer = window, controller, tokenizer
        self._connect_controls()
        self._connect_views()

    def _connect_controls(self) -> None:
        bar, form, window = self._window.run_bar, self._window.form, self._window
        for signal, slot in (
            (bar.family_picked, self._controller.pick_family),
            (bar.model_picked, self._on_model_picked),
            (bar.backend_picked, self._on_backend_picked),
            (bar.device_picked, self._on_device_picked),
            (bar.dtype_picked, self._on_dtype_picked),
            (bar.sampling_changed, self._on_sampling_changed),
            (bar.step_requested, self._controller.step),
            (bar.play_requested, self._controller.play),
            (bar.pause_requested, self._controller.stop),
            (bar.stop_requested, self._controller.stop),
            (bar.back_requested, self._on_back_requested),
            (bar.start_requested, self._on_start_requested),
            (form.knobs_changed, self._on_knobs_changed),
            (form.row_selected, self._on_row_selected),
            (form.row_added, self._on_row_added),
            (form.row_removed, self._on_row_removed),
            (window.text.textEdited, self._on_text_edited),
            (window.target.textEdited, self._on_target_edited),
        ):
            signal.connect(slot)

    def _connect_views(self) -> None:
        window = self._window
        mask, attention = window.mask_view, window.attention_view
        for signal, slot in (
            (mask.cell_hovered, self._on_mask_hovered),
            (attention.cell_hovered, self._on_attention_hovered),
            (mask.cell_clicked, self._on_cell_clicked),
            (attention.cell_clicked, self._on_cell_clicked),
            (mask.view_changed, attention.set_view),
            (attention.view_changed, mask.set_view),
            (window.heads.head_clicked, self._on_head_clicked),
            (window.heads.head_hovered, self._on_head_hovered),
            (window.stacks.stack_picked, self._on_stack_picked),
            (window.strip.token_clicked, self._on_token_clicked),
            (window.bars.candidate_clicked, self._on_candidate_clicked),
            (window.timeline.step_picked, self._on_step_picked),
            (window.curves_dock.visibilityChanged, self._on_curves_shown),
        ):
            signal.connect(slot)

    # -- run bar

    @Slot(str)
    def _on_model_picked(self, model: str) -> None:
        self._controller.update(replace(self._controller.state, model=model))

    @Slot(str)
    def _on_backend_picked(self, backend: str) -> None:
        self._controller.update(replace(self._controller.state, backend=backend))

    @Slot(str)
    def _on_device_picked(self, device: str) -> None:
        self._controller.update(replace(self._controller.state, device=device))

    @Slot(str)
    def _on_dtype_picked(self, dtype: str) -> None:
        self._controller.update(replace(self._controller.state, dtype=dtype))

    @Slot(object)
    def _on_sampling_changed(self, choice: SamplingChoice) -> None:
        state, most = self._controller.state, choice.max_new_tokens
        self._controller.update(replace(state, sampling=choice.sampling, max_new_tokens=most))

    @Slot()
    def _on_back_requested(self) -> None:
        self._controller.scrub(len(self._controller.state.current.generated) - 1)

    @Slot()
    def _on_start_requested(self) -> None:
        self._controller.scrub(0)

    @Slot(int)
    def _on_step_picked(self, count: int) -> None:
        self._controller.scrub(count)

    # -- form and texts

    @Slot(object)
    def _on_knobs_changed(self, knobs: MaskKnobs) -> None:
        self._controller.update(presenter.with_knobs(self._controller.state, knobs))

    @Slot(int)
    def _on_row_selected(self, row: int) -> None:
        self._controller.edit(replace(self._controller.state, row=row))

    @Slot()
    def _on_row_added(self) -> None:
        state = self._controller.state
        rows = (*state.rows, NEW_ROW)
        self._controller.edit(replace(state, rows=rows, row=len(rows) - 1))

    @Slot(int)
    def _on_row_removed(self, row: int) -> None:
        state = self._controller.state
        rows = state.rows[:row] + state.rows[row + 1 :]
        if rows:
            self._controller.edit(replace(state, rows=rows, row=max(0, row - 1)))

    @Slot(str)
    def _on_text_edited(self, text: str) -> None:
        self._controller.edit(self._controller.state.with_row(text=text, generated=()))

    @Slot(str)
    def _on_target_edited(self, text: str) -> None:
        self._controller.edit(self._controller.state.with_row(target=text, generated=()))

    # -- mask, attention, heads, tokens

    @Slot(object)
    def _on_mask_hovered(self, cell: tuple[int, int] | None) -> None:
        self._window.attention_view.set_cursor(cell)
        if cell is not None:
            self._window.sentence.setText(self._window.mask_view.describe(cell))

    @Slot(object)
    def _on_attention_hovered(self, cell: tuple[int, int] | None) -> None:
        self._window.mask_view.set_cursor(cell)
        if cell is not None:
            self._window.sentence.setText(self._window.attention_view.describe(cell))

    @Slot(object)
    def _on_cell_clicked(self, cell: tuple[int, int]) -> None:
        self._controller.update(replace(self._controller.state, cell=cell))
        self._window.sentence.setText(self._window.mask_view.describe(cell))

    @Slot(object)
    def _on_head_clicked(self, head: HeadRef) -> None:
        state = self._controller.state
        if head.stack in self._controller.scene.masks:  # Else the wall is of the family before.
            cell = state.cell if head.stack is state.stack else None
            self._controller.update(replace(state, head=head, cell=cell))

    @Slot(object)
    def _on_head_hovered(self, head: HeadRef | None) -> None:
        self._controller.ask_head(head or self._controller.state.head)

    @Slot(object)
    def _on_stack_picked(self, stack: Stack) -> None:
        self._controller.update(replace(self._controller.state, head=HeadRef(stack), cell=None))

    @Slot(int)
    def _on_token_clicked(self, slot: int) -> None:
        state = self._controller.state
        spec = self._controller.scene.masks[state.stack]
        row = max(0, min(slot - spec.past, spec.length - 1))
        self._on_cell_clicked((row, min(slot, spec.keys - 1)))

    @Slot(bool)
    def _on_curves_shown(self, shown: bool) -> None:
        if shown:
            self._window.curve_plot()
            self._controller.show_curves()

    @Slot(int)
    def _on_candidate_clicked(self, token: int) -> None:
        """Take a candidate: after the text, or in the place of a ``[MASK]``."""
        state, scene = self._controller.state, self._controller.scene
        if state.family is not Family.ENCODER:
            written = (*state.current.generated, token)
            self._controller.edit(state.with_row(generated=written))
            return
        ids = scene.query_ids[Stack.ENCODER]
        query = presenter.query_shown(scene, state.stack, state.cell[0] if state.cell else None)
        if ids[query] == MASK:
            parts = state.current.text.split(MASK_TEXT)
            here = ids[:query].count(MASK) + 1
            before, after = MASK_TEXT.join(parts[:here]).rstrip(), MASK_TEXT.join(parts[here:])
            text = f"{before} {self._tokenizer.decode([token])}{after}"
            self._controller.edit(state.with_row(text=text, generated=()))
