"""Side by side: a ready pair, or a pinned view and the one on screen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from app import presenter
from app.instruments.base import Instrument, View
from app.pairs import PAIRS, PINNED, pinned_sides, sides
from app.state import ViewState
from core.types import CompareJob, Comparison, HeadRef, Job, MaskSpec, Place, RunRequest, Stack

if TYPE_CHECKING:
    from widgets.compare_view import CompareView


_PINNED = (PINNED, "Pinned view / this view", "A view that you kept, and the one on screen")


class Compare(Instrument):
    """Two runs with one selection, which is that of the window."""

    name = "compare"
    title = "Side by side"
    tip = "Two masks, models or engines beside each other, and where they first part"
    shortcut = "Ctrl+Shift+P"

    _content: CompareView
    _pair = PAIRS[0].name
    _is_chosen = False
    """True once the user chose the pair; until then it is the first that the view has."""
    _kept: RunRequest | None = None
    """The view that was pinned."""
    _view: View | None = None
    _found: Comparison | None = None

    def make(self) -> QWidget:
        """The view, with its pairs."""
        from widgets.compare_view import CompareView

        self._content = CompareView()
        self._offer()
        self._content.pair_picked.connect(self._on_pair_picked)
        self._content.pin_requested.connect(self._on_pin_requested)
        self._content.head_clicked.connect(self._on_head_clicked)
        self._content.cell_clicked.connect(self._on_cell_clicked)
        self._content.place_clicked.connect(self._on_place_clicked)
        self._content.said.connect(self.said)
        return self._content

    def job(self, view: View) -> Job | str:
        """The sides of the chosen pair; the selection follows the view at once."""
        self._view = view
        self._select()
        run = view.request
        if not self._is_chosen:
            self._take_first(run)
        made = pinned_sides(self._kept, run) if self._pair == PINNED else sides(self._pair, run)
        return made if isinstance(made, str) else CompareJob(0, *made, view.state.head)

    def show(self, view: View, answer: object) -> None:
        """Show a comparison."""
        assert isinstance(answer, Comparison)
        self._found = answer
        self._content.set_comparison(answer, self.tokenizer.label)
        self._select()

    def refuse(self, sentence: str) -> None:
        """Say why there is no comparison."""
        self._found = None
        self._content.set_empty(sentence)

    def await_answer(self) -> None:
        """Fade what is old."""
        self._content.set_stale(True)

    def _offer(self) -> None:
        pairs = [(pair.name, pair.title, pair.tip) for pair in PAIRS]
        self._content.set_pairs((*pairs, _PINNED), self._pair)

    def _take_first(self, run: RunRequest) -> None:
        """Choose the first pair that has two sides."""
        there = [pair.name for pair in PAIRS if not isinstance(pair.make(run), str)]
        if there and there[0] != self._pair:
            self._pair = there[0]
            self._offer()

    def _select(self) -> None:
        if self._view is not None and self._found is not None:
            self._content.set_selected(selected_cell(self._view, self._found))

    # -- from the user

    def _on_pair_picked(self, name: str) -> None:
        self._pair, self._is_chosen = name, True
        self.asked.emit()

    def _on_pin_requested(self) -> None:
        if self._view is not None:
            self._kept, self._pair, self._is_chosen = self._view.request, PINNED, True
            self._offer()
            self.asked.emit()

    def _on_head_clicked(self, head: HeadRef) -> None:
        if self._view is not None and self._found is not None:
            stack = stack_in_view(self._view, self._found, head.stack)
            state = self._view.state
            cell = state.cell if stack is state.stack else None
            self.picked.emit(replace(state, head=replace(head, stack=stack), cell=cell))

    def _on_cell_clicked(self, cell: tuple[int, int]) -> None:
        if self._found is not None:
            self._pick(self._found.head, cell)

    def _on_place_clicked(self, place: Place) -> None:
        if self._found is not None:
            self._pick(*where(self._found, place))

    def _pick(self, head: HeadRef, cell: tuple[int, int]) -> None:
        if self._view is None or self._found is None:
            return
        state = with_cell(self._view, self._found, head, cell)
        if state is None:
            self.said.emit("This query is in the cache, and has no row on screen.")
        else:
            self.picked.emit(state)


# -- between the tokens that both sides share and the cells on screen; B follows the view


def stack_in_view(view: View, found: Comparison, stack: Stack) -> Stack:
    """What the view calls a stack of a comparison."""
    if found.source_tokens.size and stack in view.scene.masks:
        return stack
    return Stack.DECODER if Stack.DECODER in view.scene.masks else Stack.ENCODER


def where(found: Comparison, place: Place) -> tuple[HeadRef, tuple[int, int]]:
    """The head and the cell of a place: what its query reads of itself, or first of a source."""
    if place.stack is None or place.layer is None or place.head is None:
        head = found.head
    else:
        head = HeadRef(place.stack, place.layer, place.head)
    is_source = bool(found.source_tokens.size) and place.stack is Stack.ENCODER
    positions = found.source_positions if is_source else found.positions
    row = positions[0].tolist().index(place.position)
    crosses = bool(found.source_tokens.size) and head.stack is Stack.CROSS
    return head, (row, 0 if crosses else row)


def with_cell(
    view: View, found: Comparison, head: HeadRef, cell: tuple[int, int]
) -> ViewState | None:
    """The state in which a cell of a head is selected; None where its query has no row."""
    stack = stack_in_view(view, found, head.stack)
    rows, keys = _axes(view, found, stack)
    if cell[0] >= len(rows) or cell[1] >= len(keys) or rows[cell[0]] < 0:
        return None
    picked = rows[cell[0]], keys[cell[1]]
    return replace(view.state, head=replace(head, stack=stack), cell=picked)


def selected_cell(view: View, found: Comparison) -> tuple[int, int] | None:
    """The selected cell of the view, counted over the shared tokens; None where it is not one."""
    stack = view.state.stack
    if stack is not stack_in_view(view, found, found.head.stack):
        return None
    rows, keys = _axes(view, found, stack)
    row, key = presenter.cell_shown(view.state, view.scene)
    return (rows.index(row), keys.index(key)) if row in rows and key in keys else None


def _axes(view: View, found: Comparison, stack: Stack) -> tuple[list[int], list[int]]:
    """Row and column on screen of every shared token; a row below 0 is in the cache."""
    inputs, row = view.scene.inputs, view.scene.row
    read = inputs.source_mask

    def columns(spec: MaskSpec, positions: list[int]) -> list[int]:
        return [spec.left_pad[row] + n for n in positions]

    text = columns(inputs.mask, found.positions[1].tolist())
    rows = [column - inputs.mask.past for column in text]
    if read is None or stack is Stack.DECODER:
        return rows, text
    source = columns(read, found.source_positions[1].tolist())
    return (source, source) if stack is Stack.ENCODER else (rows, source)
