"""The window: which widget stands where. It wires nothing; `app.controller` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import (
    QDockWidget,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMainWindow,
    QSizePolicy,
    QSplitter,
    QToolBar,
    QVBoxLayout,
    QWidget,
)

from app.cards import Card, plain_card
from app.state import MOST_LETTERS
from widgets.attention_view import AttentionView
from widgets.cache_slots import CacheSlots
from widgets.head_wall import HeadWall
from widgets.job_bar import JobBar
from widgets.mask_form import MaskForm
from widgets.mask_view import MaskView
from widgets.next_token_bars import NextTokenBars
from widgets.run_bar import RunBar
from widgets.stack_picker import StackPicker
from widgets.step_timeline import StepTimeline
from widgets.token_strip import TokenStrip

if TYPE_CHECKING:
    from widgets.curve_plot import CurvePlot


QUICK_HEIGHT = 305
"""The least height of the lower row while an instrument is open beside the tokens."""
_BOTTOM = Qt.DockWidgetArea.BottomDockWidgetArea


class MainWindow(QMainWindow):
    """Run bar on top; mask form, mask, attention, heads and candidates; tokens below."""

    closing = Signal()
    """The window is about to close."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("maskscope")
        self.setObjectName("main")
        self._make_widgets()
        self._lay_out()
        self._make_status_bar()
        self._curves: CurvePlot | None = None
        self.setDockOptions(
            QMainWindow.DockOption.AllowTabbedDocks | QMainWindow.DockOption.AllowNestedDocks
        )
        self.tokens_dock = self._tokens_dock()
        self._beside: QDockWidget | None = None
        self.curves_dock = self.add_dock("curves", "Curves along the text")
        self.resize(1440, 900)

    # -- widgets

    def _make_widgets(self) -> None:
        self.run_bar = RunBar()
        self.form = MaskForm()
        self.mask_view = MaskView()
        self.attention_view = AttentionView()
        self.mask_view.set_twin(self.attention_view)
        self.attention_view.set_twin(self.mask_view)
        self.heads = HeadWall()
        self.stacks = StackPicker()
        self.reads = QLabel()
        self.reads.setProperty("role", "muted")
        self.reads.setWordWrap(True)
        self.reads.setFixedHeight(self.stacks.sizeHint().height())
        self.bars = NextTokenBars()
        self.strip = TokenStrip()
        self.cache = CacheSlots()
        self.timeline = StepTimeline()
        self.text = self._edit("Text", "Type a sentence; each token becomes a row and a column.")
        self.target = self._edit(
            "Target", "What the decoder has written so far; empty starts with <s> alone."
        )
        self.text_label = QLabel("Text")
        self.target_label = QLabel("Target")
        for label, edit in ((self.text_label, self.text), (self.target_label, self.target)):
            label.setProperty("role", "title")
            label.setBuddy(edit)

    @staticmethod
    def _edit(name: str, tip: str) -> QLineEdit:
        edit = QLineEdit()
        edit.setAccessibleName(name)
        edit.setToolTip(tip)
        edit.setPlaceholderText(tip)
        edit.setMaxLength(MOST_LETTERS)
        return edit

    # -- layout

    def _lay_out(self) -> None:
        self.mask_card = Card("Mask", self._over(self.stacks, self.mask_view))
        self.attention_card = Card("Attention", self._over(self.reads, self.attention_view))
        self.heads_card = Card("Heads", self.heads)
        self.right = QSplitter(Qt.Orientation.Vertical)
        self.right.addWidget(self.heads_card)
        self.right.addWidget(plain_card(self.bars))
        self.right.setStretchFactor(0, 3)
        self.right.setStretchFactor(1, 2)
        self.across = QSplitter(Qt.Orientation.Horizontal)
        for pane, width in (
            (plain_card(self.form), 236),
            (self.mask_card, 420),
            (self.attention_card, 420),
            (self.right, 290),
        ):
            self.across.addWidget(pane)
            self.across.setStretchFactor(self.across.count() - 1, width)
        self.across.setSizes([236, 420, 420, 290])
        for splitter in (self.across, self.right):
            splitter.setChildrenCollapsible(False)
            splitter.setHandleWidth(8)
        central = QWidget()
        layout = QVBoxLayout(central)
        layout.setContentsMargins(10, 0, 10, 2)
        layout.addWidget(self.across)
        self.setCentralWidget(central)
        self.bar = QToolBar("Run bar")
        self.bar.setObjectName("run bar")
        self.bar.setMovable(False)
        self.bar.toggleViewAction().setEnabled(False)
        self.bar.addWidget(self.run_bar)
        self.addToolBar(self.bar)

    def _tokens_dock(self) -> QDockWidget:
        """The tokens: always there, and other docks beside them."""
        dock = QDockWidget("Tokens", self)
        dock.setObjectName("tokens")
        dock.setTitleBarWidget(QWidget())
        dock.setFeatures(QDockWidget.DockWidgetFeature.NoDockWidgetFeatures)
        frame = QWidget()
        layout = QVBoxLayout(frame)
        layout.setContentsMargins(10, 0, 10, 4)
        layout.addWidget(self._tokens_card())
        dock.setWidget(frame)
        self.addDockWidget(_BOTTOM, dock)
        return dock

    def add_dock(self, name: str, title: str) -> QDockWidget:
        """A closed dock whose place is beside the tokens, tabbed with the others there."""
        dock = QDockWidget(title, self)
        dock.setObjectName(name)
        if self._beside is None:
            self.splitDockWidget(self.tokens_dock, dock, Qt.Orientation.Horizontal)
        else:
            self.tabifyDockWidget(self._beside, dock)
        self._beside = dock
        dock.hide()
        return dock

    @staticmethod
    def _over(upper: QWidget, lower: QWidget) -> QWidget:
        both = QWidget()
        layout = QVBoxLayout(both)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(upper)
        layout.addWidget(lower, 1)
        return both

    def _tokens_card(self) -> Card:
        content = QWidget()
        grid = QGridLayout(content)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(6)
        for row, (label, edit) in enumerate(
            ((self.text_label, self.text), (self.target_label, self.target))
        ):
            grid.addWidget(label, row, 0)
            grid.addWidget(edit, row, 1)
        grid.addWidget(self.strip, 2, 0, 1, 2)
        below = QHBoxLayout()
        below.addWidget(self.cache, 3)
        below.addWidget(self.timeline, 2)
        grid.addLayout(below, 3, 0, 1, 2)
        grid.setRowStretch(2, 1)
        self.strip.setMinimumHeight(90)  # Two lines of chips in the window as it opens.
        card = Card("Tokens", content)
        card.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        return card

    def _make_status_bar(self) -> None:
        bar = self.statusBar()
        self.sentence = QLabel()
        self.sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.sentence.setAccessibleName("What is under the cursor")
        bar.addWidget(self.sentence, 1)
        self.job = JobBar()
        self.job.progress.setFixedWidth(120)
        bar.addPermanentWidget(self.job)
        self.facts = QLabel()
        self.facts.setProperty("role", "muted")
        self.facts.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.facts.setAccessibleName("Numbers of the last run")
        bar.addPermanentWidget(self.facts)

    # -- told from outside

    def show_family(self, *, stacks: bool) -> None:
        """Show what an encoder-decoder needs beside the rest: three masks and a target."""
        for part in (self.stacks, self.reads, self.target, self.target_label):
            part.setVisible(stacks)
        self.text_label.setText("Source" if stacks else "Text")

    def give_room(self, dock: QDockWidget) -> None:
        """Give most of the lower row to a dock that was opened beside the tokens."""
        if dock.isFloating() or self.dockWidgetArea(dock) is not _BOTTOM:
            return
        tokens = self.width() * 2 // 5
        wide = self.width() - tokens
        self.resizeDocks([self.tokens_dock, dock], [tokens, wide], Qt.Orientation.Horizontal)
        height = max(QUICK_HEIGHT, self.height() * 2 // 5 - 30)
        self.resizeDocks([dock], [height], Qt.Orientation.Vertical)

    def curve_plot(self) -> CurvePlot:
        """The curves below the window, made when they are first asked for."""
        if self._curves is None:
            from widgets.curve_plot import CurvePlot  # Half a second: not at the start.

            self._curves = CurvePlot()
            self.curves_dock.setWidget(self._curves)
            self.give_room(self.curves_dock)
        return self._curves

    def forget_curves(self) -> None:
        """Empty the curves, if they were ever asked for."""
        if self._curves is not None:
            self._curves.set_curves({}, [], 0)

    def splitters(self) -> dict[str, QSplitter]:
        """The splitters by the name that their layout is remembered under."""
        return {"across": self.across, "right": self.right}

    def closeEvent(self, event: QCloseEvent) -> None:
        """Qt: say so before the window goes."""
        self.closing.emit()
        super().closeEvent(event)
