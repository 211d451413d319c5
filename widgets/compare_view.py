"""Two runs side by side: the weights of both and their difference, outputs and hidden states."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from core.types import Comparison
from widgets.compare_square import CompareSquare
from widgets.compare_tables import (
    NO_LEVELS,
    DifferenceWall,
    SmallTable,
    level_lines,
    moved_lines,
    number,
)
from widgets.grid_canvas import Cell
from widgets.grid_geometry import GridWindow
from widgets.grid_labels import AxisLabels
from widgets.token_strip import TokenStrip, TokenStripState

_PAGES = (
    ("Attention", "The weights of one head on both sides, and A − B"),
    ("Output and states", "The next token and the states between the layers, by token"),
)
LEAST_TOLD = 1e-3
"""Total variation below this tints no token: it is rounding."""


class CompareView(QWidget):
    """Three squares with one cursor and one zoom on one page, outputs and states on the other.

    Signals
    -------
    pair_picked : the name of the pair that was chosen.
    pin_requested : what is on screen shall be kept as A.
    head_clicked : the `HeadRef` of a tile.
    cell_clicked : (query, key), counted over the tokens that both sides share.
    place_clicked : the `Place` where the sides first part.
    said : a cell in words, as the mouse is over it.
    """

    pair_picked = Signal(str)
    pin_requested = Signal()
    head_clicked = Signal(object)
    cell_clicked = Signal(object)
    place_clicked = Signal(object)
    said = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._found: Comparison | None = None
        self._label: Callable[[int], str] = str
        self._position = 0
        self._make_widgets()
        self._lay_out()
        self._connect()
        self.set_empty("Choose a pair to see two runs side by side.")

    # -- told from outside: never emits

    def set_pairs(self, pairs: Sequence[tuple[str, str, str]], chosen: str) -> None:
        """Offer pairs, each (name, title, what it shows)."""
        with QSignalBlocker(self.pair):
            self.pair.clear()
            for name, title, tip in pairs:
                self.pair.addItem(title, name)
                self.pair.setItemData(self.pair.count() - 1, tip, Qt.ItemDataRole.ToolTipRole)
            self.pair.setCurrentIndex(self.pair.findData(chosen))

    def set_comparison(self, found: Comparison, label: Callable[[int], str]) -> None:
        """Show a comparison; `label` writes a token id."""
        same = self._found is not None and self._found.tokens.shape == found.tokens.shape
        self._found, self._label = found, label
        self._position = self._position if same else 0
        tokens = AxisLabels(tuple(label(int(i)) for i in found.tokens[0]))
        source = AxisLabels(tuple(label(int(i)) for i in found.source_tokens[0]))
        axes = (
            source if found.from_source else tokens,
            source if found.reads_source else tokens,
        )
        for square in self.squares:
            square.set_patterns(found.patterns, found.reasons, axes, found.titles)
        for title, text in zip(self.titles, _titles(found), strict=True):
            title.setText(text)
        self.wall.set_differences(found)
        self.sentence.setText(found.sentence)
        self.note.setText(" ".join(found.notes))
        self.note.setVisible(bool(found.notes))
        self.pages.show()
        self.go.setEnabled(found.first is not None)
        self._show_position()

    def set_empty(self, text: str) -> None:
        """Show no comparison, but a sentence that says what is awaited or what to do."""
        self._found, self._position = None, 0
        for square in self.squares:
            square.set_empty("")
        for title in self.titles:
            title.clear()
        self.wall.set_empty("")
        self.sentence.setText(text)
        self.note.hide()
        self.pages.hide()
        self.go.setEnabled(False)
        self._show_position()

    def set_stale(self, stale: bool) -> None:
        """Fade what is shown while a newer answer is computed."""
        for square in self.squares:
            square.set_stale(stale)
        self.wall.set_stale(stale)

    def set_selected(self, cell: Cell | None) -> None:
        """Outline a cell, counted over the shared tokens, and speak of its query."""
        for square in self.squares:
            square.set_selected(cell)
        found = self._found
        if found is not None and cell is not None and not found.from_source:
            self._position = min(cell[0], found.tokens.shape[1] - 1)
        self._show_position()

    # -- widgets

    def _make_widgets(self) -> None:
        self.pair = QComboBox()
        self.pair.setAccessibleName("Pair")
        self.pair.setToolTip("Which two runs stand side by side")
        self.pin = QPushButton("Pin")
        self.pin.setToolTip("Keep this view as A; then change anything, and B follows")
        self.go = QPushButton("Go there")
        self.go.setToolTip("Show the head and the query where both first part")
        self.pages, self.switch = QStackedWidget(), QButtonGroup(self)
        for page, (name, tip) in enumerate(_PAGES):
            button = QPushButton(name)
            button.setCheckable(True)
            button.setToolTip(tip)
            self.switch.addButton(button, page)
        self.switch.button(0).setChecked(True)
        for pill in (self.pin, self.go, *self.switch.buttons()):
            pill.setProperty("pill", True)
            pill.setAccessibleName(pill.text())
        self.sentence, self.note = QLabel(), QLabel()
        self.note.setProperty("role", "muted")
        for label in (self.sentence, self.note):
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.squares = tuple(CompareSquare(which) for which in (0, 1, None))
        self.titles = tuple(QLabel() for _ in self.squares)
        for title in self.titles:
            title.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        for one in self.squares[1:]:
            one.set_twin(self.squares[0])
        self.wall = DifferenceWall()
        self.wall.setMinimumSize(100, 100)
        self.wall.setAccessibleName("Largest differences of weights by head")
        self.strip = TokenStrip()
        self.strip.setAccessibleName("Total variation by token")
        self.at = QLabel()
        self.at.setProperty("role", "muted")
        self.moved = SmallTable(
            "Tokens that moved most", "Tokens whose probability differs most at the chosen token"
        )
        self.levels = SmallTable(
            "Hidden states by level",
            "Cosine of the states of A and B, and |A − B| in norms of A: at the chosen token, and"
            " the mean over all",
        )

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.addWidget(self.pair)
        top.addWidget(self.pin)
        top.addStretch(1)
        top.addWidget(self.go)
        for button in self.switch.buttons():
            top.addWidget(button)
        attention, page = QWidget(), QGridLayout()
        attention.setLayout(page)
        for column, (title, square) in enumerate(zip(self.titles, self.squares, strict=True)):
            title.setProperty("role", "title")
            page.addWidget(title, 0, column)
            page.addWidget(square, 1, column)
            page.setColumnStretch(column, 3)
        heads = QLabel("Heads")
        heads.setProperty("role", "title")
        page.addWidget(heads, 0, 3)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setWidget(self.wall)
        page.addWidget(scroll, 1, 3)
        page.setColumnStretch(3, 2)
        page.setRowStretch(1, 1)
        outputs, below = QWidget(), QGridLayout()
        outputs.setLayout(below)
        below.addWidget(self.at, 0, 0, 1, 2)
        below.addWidget(self.strip, 1, 0, 1, 2)
        below.addWidget(self.moved, 2, 0)
        below.addWidget(self.levels, 2, 1)
        below.setRowStretch(2, 1)
        below.setColumnStretch(0, 4)
        below.setColumnStretch(1, 5)
        for layout in (page, below):
            layout.setContentsMargins(0, 0, 0, 0)
            layout.setSpacing(4)
        policy = self.pages.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.pages.setSizePolicy(policy)
        self.pages.addWidget(attention)
        self.pages.addWidget(outputs)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(4)
        whole.addLayout(top)
        whole.addWidget(self.sentence)
        whole.addWidget(self.note)
        whole.addWidget(self.pages, 1)

    def _connect(self) -> None:
        self.pair.activated.connect(self._on_pair_activated)
        self.pin.clicked.connect(self._on_pin_clicked)
        self.go.clicked.connect(self._on_go_clicked)
        self.switch.idClicked.connect(self.pages.setCurrentIndex)
        for square in self.squares:
            square.cell_hovered.connect(self._on_cell_hovered)
            square.cell_clicked.connect(self._on_cell_clicked)
            square.view_changed.connect(self._on_view_changed)
        self.wall.head_clicked.connect(self.head_clicked)
        self.strip.token_clicked.connect(self._on_token_clicked)

    # -- what is shown

    def _show_position(self) -> None:
        """The numbers of the chosen token."""
        found, at = self._found, self._position
        if found is None:
            self.at.clear()
            self.strip.set_tokens(TokenStripState(()))
            self.moved.set_lines((), ())
            self.levels.set_lines((), ())
            return
        texts = tuple(self._label(int(i)) for i in found.tokens[0])
        told = found.total_variation.max() >= LEAST_TOLD
        shares = tuple(found.total_variation.tolist()) if told else ()
        self.strip.set_tokens(
            TokenStripState(texts, selected=at, shares=shares, measure="total variation")
        )
        apart, nats = (number(float(n[at])) for n in (found.total_variation, found.divergence))
        self.at.setText(
            f"output at “{texts[at]}” {at}: total variation {apart}, KL(A‖B) {nats} nats"
        )
        moved = ("output", "A", "B", "A − B")
        self.moved.set_lines(moved, moved_lines(found, at, self._label))
        lines = level_lines(found, at)
        header = ("state", "cosine", "mean", "|A−B|/|A|", "mean")
        self.levels.set_lines(header if lines else (NO_LEVELS,), lines)

    # -- from the user

    def _on_pair_activated(self) -> None:
        self.pair_picked.emit(self.pair.currentData())

    def _on_pin_clicked(self) -> None:
        self.pin_requested.emit()

    def _on_go_clicked(self) -> None:
        if self._found is not None and self._found.first is not None:
            self.place_clicked.emit(self._found.first)

    def _on_cell_hovered(self, cell: Cell | None) -> None:
        for square in self.squares:
            square.set_cursor(cell)
        if cell is not None:
            self.said.emit(self.squares[-1].describe(cell))

    def _on_cell_clicked(self, cell: Cell) -> None:
        self.set_selected(cell)
        self.cell_clicked.emit(cell)

    def _on_view_changed(self, window: GridWindow) -> None:
        for square in self.squares:
            square.set_view(window)

    def _on_token_clicked(self, slot: int) -> None:
        found = self._found
        if found is None:
            return
        self._position = slot
        if found.from_source:
            self._show_position()
        else:
            self._on_cell_clicked((slot, min(slot, found.patterns.shape[2] - 1)))


def _titles(found: Comparison) -> tuple[str, str, str]:
    a, b = found.titles
    return f"A: {a}", f"B: {b}", "A − B"


def make_demo() -> QWidget:
    """Return an invented comparison."""
    from widgets.compare_demo import demo_comparison

    view = CompareView()
    view.set_pairs((("masks", "Causal / prefix", "An invented pair"),), "masks")
    view.set_comparison(*demo_comparison("--three" in sys.argv))
    view.set_selected((3, 5))
    return view


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (620, 270)))
