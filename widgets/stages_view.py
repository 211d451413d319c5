"""One head step by step: a square for each step, and the selected query as an equation."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from html import escape

import numpy as np
from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QButtonGroup,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QTextEdit,
    QVBoxLayout,
    QWidget,
)

from core.types import HeadRef, MaskKind, MaskSpec, Stack, Stages
from widgets.cost_text import solid
from widgets.grid_canvas import Cell
from widgets.grid_geometry import GridWindow
from widgets.grid_labels import AxisLabels
from widgets.mask_layout import axis_labels
from widgets.palette import current
from widgets.stage_grid import StageGrid

STEPS = {
    "scores": "Dot products of the query with every key, closed ones too",
    "scaled": "The same over the root of the head's width",
    "masked": "Closed cells become −∞, before the softmax",
    "softmax": "Weights: each open row adds up to 1",
    "output": "The values weighted by them: a column is a feature of the head",
    "too late": "A mistake: the mask put on after the softmax; rows no longer add up to 1",
}
WIDE = 820
"""Width from which on all squares stand side by side."""
_WEIGHTS = ("softmax", "too late")


class StagesView(QWidget):
    """All squares side by side where there is room, else the chosen one; they share cell and zoom.

    Left and right walk through the steps while a step's button has the focus.

    Signals
    -------
    cell_clicked : (query row, key column). example_toggled : bool, the example shall be shown.
    """

    cell_clicked = Signal(object)
    example_toggled = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._stages: Stages | None = None
        self._keys: tuple[str, ...] = ()
        self._words = ""
        self._row: int | None = None
        self._step, self._is_wide = "softmax", False
        self._mask: tuple[MaskSpec, int] | None = None
        self._labels = AxisLabels(()), AxisLabels(())
        self.grids = {name: StageGrid(name, signed=name not in _WEIGHTS) for name in STEPS}
        self.buttons = {name: self._button(name, tip) for name, tip in STEPS.items()}
        self._group = QButtonGroup(self)
        for button in self.buttons.values():
            self._group.addButton(button)
        self.example = self._button("Example", "Three keys whose numbers can be followed by hand")
        self.equation = QTextEdit()
        self.equation.setReadOnly(True)
        self.equation.setProperty("flat", True)
        self.equation.setAccessibleName("The selected query as an equation")
        self.equation.setMinimumWidth(200)
        self._lay_out()
        self._connect()
        self.buttons[self._step].setChecked(True)
        self._arrange()

    @staticmethod
    def _button(name: str, tip: str) -> QPushButton:
        button = QPushButton(name)
        button.setCheckable(True)
        button.setProperty("pill", True)
        button.setAccessibleName(name)
        button.setToolTip(tip)
        return button

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(4)
        for button in self.buttons.values():
            top.addWidget(button)
        top.addStretch(1)
        top.addWidget(self.example)
        self._panes: dict[str, QWidget] = {}
        squares = QWidget()
        across = QHBoxLayout(squares)
        across.setContentsMargins(0, 0, 0, 0)
        across.setSpacing(4)
        self._captions: list[QLabel] = []
        for name, grid in self.grids.items():
            pane = QWidget()
            column = QVBoxLayout(pane)
            column.setContentsMargins(0, 0, 0, 0)
            column.setSpacing(0)
            caption = QLabel(name)
            caption.setProperty("role", "muted")
            caption.setToolTip(STEPS[name])
            self._captions.append(caption)
            column.addWidget(caption)
            column.addWidget(grid, 1)
            self._panes[name] = pane
            grid.set_twin(self.grids["scores"])
            across.addWidget(pane, 1)
        self._body = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._body.addWidget(squares, 3)
        self._body.addWidget(self.equation, 2)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(top)
        layout.addLayout(self._body, 1)

    def _connect(self) -> None:
        self.example.toggled.connect(self._on_example_toggled)
        for name, button in self.buttons.items():
            button.toggled.connect(partial(self._on_step_chosen, name))
        for name, grid in self.grids.items():
            grid.cell_clicked.connect(partial(self._on_cell_clicked, name))
            grid.cell_hovered.connect(partial(self._on_cell_hovered, name))
            grid.view_changed.connect(partial(self._on_view_changed, name))

    # -- told from outside: never emits

    def set_stages(
        self,
        stages: Stages,
        mask: tuple[MaskSpec, int],
        queries: list[str],
        keys: list[str],
        words: str = "",
    ) -> None:
        """Show the steps of a head; ``mask`` is the mask it read under and the batch row.

        ``queries`` and ``keys`` are the tokens along the axes; ``words`` stand above the equation.
        """
        self._stages, self._keys, self._words = stages, tuple(keys), words
        self._mask = mask
        self._labels = axis_labels(*mask, queries, keys)
        self._fill()
        self._write()

    def set_cell(self, cell: Cell) -> None:
        """Select a cell in every square of keys, and write its query out."""
        self._row = cell[0]
        for name, grid in self.grids.items():
            grid.set_selected(None if name == "output" else cell)
        self._write()

    def set_step(self, name: str) -> None:
        """Show the step of that name where there is no room for all; an unknown one is left."""
        if name in self.buttons:
            self.buttons[name].setChecked(True)

    @property
    def step(self) -> str:
        """The step that is chosen."""
        return self._step

    def set_empty(self, sentence: str) -> None:
        """Show a sentence and no steps."""
        self._stages = None
        for grid in self.grids.values():
            grid.set_empty(sentence)
        self.equation.setPlainText("")

    @property
    def stages(self) -> Stages | None:
        """The steps that are shown."""
        return self._stages

    # -- showing

    def _fill(self) -> None:
        """Give every square its numbers; where all are shown, positions stand for the tokens."""
        found = self._stages
        if found is None or self._mask is None:
            return
        rows, columns = self._labels
        if self._is_wide:
            rows, columns = replace(rows, texts=()), replace(columns, texts=())
        plain = replace(columns, faded=())
        for name, values in (("scores", found.scores), ("scaled", found.scaled)):
            self.grids[name].set_values(values, rows, plain)
        for name, values in (
            ("masked", found.scaled),
            ("softmax", found.weights),
            ("too late", found.late_weights),
        ):
            self.grids[name].set_values(values, rows, columns, self._mask)
        if found.output is None:
            self.grids["output"].set_empty("\n".join(found.notes))
        else:
            self.grids["output"].set_values(found.output, rows, AxisLabels(()))

    def _write(self) -> None:
        """Write the selected query out, step by step."""
        found = self._stages
        if found is None or self._row is None or self._row >= len(found.mask):
            return
        muted = current().muted.name()
        lines = [
            f'<tr><td style="color:{muted}">{solid(name)}&nbsp;&nbsp;</td>'
            f"<td>{escape(line)}</td></tr>"
            for name, line in found.equation(self._row, self._keys)
        ]
        words = [f"<p>{escape(words)}</p>" for words in (self._words, *found.notes) if words]
        self.equation.setHtml(f"{''.join(words)}<table cellspacing=2>{''.join(lines)}</table>")

    def _arrange(self) -> None:
        """All squares in a row where they fit, else the chosen one beside the equation.

        The example puts the mistake beside what is right.
        """
        beside = self._is_wide or self.example.isChecked()
        wanted: list[tuple[bool, QWidget]] = [
            (self._is_wide or name == self._step or (beside and name == "too late"), pane)
            for name, pane in self._panes.items()
        ]
        wanted += [(beside, caption) for caption in self._captions]
        wanted += [(not self._is_wide, button) for button in self.buttons.values()]
        way = QBoxLayout.Direction
        self._body.setDirection(way.TopToBottom)  # Squares in a row have no room for text beside.
        for shown, part in sorted(wanted, key=_is_shown):
            part.setVisible(shown)  # What goes makes room first.
        if not self._is_wide:
            self._body.setDirection(way.LeftToRight)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: there may be room for all squares now."""
        super().resizeEvent(event)
        if (self.width() >= WIDE) != self._is_wide:
            self._is_wide = not self._is_wide
            self._arrange()
            self._fill()

    def changeEvent(self, event: QEvent) -> None:
        """Qt: a new palette is a new theme."""
        if event.type() == QEvent.Type.PaletteChange:
            self._write()
        super().changeEvent(event)

    # -- the user

    def _on_step_chosen(self, name: str, chosen: bool) -> None:
        if chosen:
            self._step = name
            self._arrange()

    def _on_example_toggled(self, shown: bool) -> None:
        self._arrange()
        self.example_toggled.emit(shown)

    def _others(self, name: str) -> list[StageGrid]:
        if name == "output":
            return []
        return [grid for other, grid in self.grids.items() if other not in (name, "output")]

    def _on_cell_hovered(self, name: str, cell: Cell | None) -> None:
        for grid in self._others(name):
            grid.set_cursor(cell)

    def _on_view_changed(self, name: str, window: GridWindow) -> None:
        for grid in self._others(name):
            grid.set_view(window)

    def _on_cell_clicked(self, name: str, cell: Cell) -> None:
        if name == "output":
            key = self.grids["softmax"].selected
            cell = cell[0], key[1] if key is not None else 0
        self.set_cell(cell)
        self.cell_clicked.emit(cell)


def _is_shown(wanted: tuple[bool, QWidget]) -> bool:
    return wanted[0]


def demo_stages(spec: MaskSpec) -> Stages:
    """Return invented numbers of a head of 8 features under a mask."""
    from core.mask.intervals import row_intervals

    rng = np.random.default_rng(3)
    mask = row_intervals(spec, 0).dense()
    scaled = rng.normal(size=mask.shape).astype(np.float32)
    every = np.exp(scaled)
    powers = np.where(mask, every, 0)
    weights = (powers / np.maximum(powers.sum(1, keepdims=True), 1e-9)).astype(np.float32)
    late = np.where(mask, every / every.sum(1, keepdims=True), 0).astype(np.float32)
    values = rng.normal(size=(mask.shape[1], 8)).astype(np.float32)
    return Stages(
        0,
        HeadRef(Stack.DECODER),
        8,
        scaled * np.float32(8**0.5),
        scaled,
        mask,
        weights,
        values,
        weights @ values,
        late,
        late @ values,
    )


def make_demo() -> QWidget:
    """Return the steps of an invented head."""
    from widgets.demo import WORDS

    view, spec = StagesView(), MaskSpec(MaskKind.CAUSAL, 8, left_pad=(2,))
    view.set_stages(demo_stages(spec), (spec, 0), list(WORDS[:8]), list(WORDS[:8]))
    view.set_cell((5, 3))
    return view


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (640, 270)))
