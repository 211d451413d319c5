"""A sentence as a training objective sees it, with the knobs of the objective above."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from core.types import MaskKind, Noise, Objective, ObjectiveView, Shift
from widgets.low_strip import LowStrip
from widgets.objective_canvas import ObjectiveCanvas, ObjectiveWords
from widgets.token_strip import TokenStripState

_OBJECTIVES = {
    Objective.MASKED: ("Masked tokens", "BERT: 15 % are selected and guessed back from both sides"),
    Objective.CAUSAL: ("Next token", "GPT: each position predicts the token after it"),
    Objective.PREFIX: ("Prefix-LM", "UniLM, UL2: the prefix is read both ways, the rest predicted"),
    Objective.SPANS: ("Span corruption", "T5: spans are cut out and written apart"),
    Objective.DENOISING: ("Denoising", "BART: the whole text is restored from a noisy one"),
    Objective.REPLACED: ("Replaced tokens", "ELECTRA: needs a second model, the generator"),
}
_SHIFTS = {
    Shift.RIGHT: "Shifted once",
    Shift.NONE: "Not shifted (bug)",
    Shift.DOUBLE: "Shifted twice (bug)",
}
_DRAWN = (Objective.MASKED, Objective.PREFIX, Objective.SPANS, Objective.DENOISING)
"""Objectives in which the seed decides something."""
_MOST = 2**31 - 1


@dataclass(frozen=True)
class ObjectiveChoice:
    """What the knobs say; ``prefix`` is None where it is to be found elsewhere."""

    objective: Objective = Objective.MASKED
    seed: int = 0
    prefix: int | None = None
    shift: Shift = Shift.RIGHT
    noise: Noise = Noise.INFILLING


class ObjectivePanel(QWidget):
    """Objective, shift, prefix, noise and seed; then what is read, predicted and lost.

    Signals
    -------
    choice_changed : an `ObjectiveChoice`, as the user changes a knob.
    hovered : the position under the mouse or the keys in words, or nothing.
    """

    choice_changed = Signal(object)
    hovered = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.objective, self.shift, self.noise = QComboBox(), QComboBox(), QComboBox()
        for objective, (name, tip) in _OBJECTIVES.items():
            self.objective.addItem(name, objective)
            row = self.objective.count() - 1
            self.objective.setItemData(row, tip, Qt.ItemDataRole.ToolTipRole)
        for shift, name in _SHIFTS.items():
            self.shift.addItem(name, shift)
        for noise in Noise:
            self.noise.addItem(noise.value.capitalize(), noise)
        self.prefix, self.seed = QSpinBox(), QSpinBox()
        self.prefix.setSpecialValueText("auto")
        self.prefix.setMaximum(9999)
        self.seed.setMaximum(_MOST)
        self.draw = QPushButton("Draw again")
        self.draw.setProperty("pill", True)
        self.prefix_label, self.seed_label = QLabel("Prefix"), QLabel("Seed")
        self.mean, self.counts, self.note = QLabel(), QLabel(), QLabel()
        self.strip = LowStrip()
        self.strip.setAccessibleName("What the encoder reads")
        self.canvas = ObjectiveCanvas()
        self._name()
        self._lay_out()
        self._connect()
        self._show_knobs()
        self.set_empty("Type a sentence to see it as the objective does.")

    # -- told from outside: never emits

    def set_view(self, view: ObjectiveView, words: ObjectiveWords) -> None:
        """Show an answer."""
        self.canvas.set_view(view, words)
        self._tell(view.sentence, view.counts, " ".join(view.notes))
        self.strip.setVisible(bool(words.source))
        self.strip.set_tokens(TokenStripState(words.source))

    def set_empty(self, text: str) -> None:
        """Show a sentence that says why there is nothing, or what to do."""
        self.canvas.set_empty(text)
        self._tell("", "", "")
        self.strip.hide()

    def set_stale(self, stale: bool) -> None:
        """Fade what is shown while a newer answer is computed."""
        self.canvas.set_stale(stale)

    def set_objective(self, objective: Objective) -> None:
        """Choose an objective, with the labels shifted as they must be."""
        with QSignalBlocker(self.objective), QSignalBlocker(self.shift):
            self.objective.setCurrentIndex(list(_OBJECTIVES).index(objective))
            self.shift.setCurrentIndex(0)
        self._show_knobs()

    # -- asked from outside

    @property
    def choice(self) -> ObjectiveChoice:
        """What the knobs say; one that an objective does not have says what it must."""
        objective = list(_OBJECTIVES)[self.objective.currentIndex()]
        shift = list(Shift)[self.shift.currentIndex()]
        noise = list(Noise)[self.noise.currentIndex()]
        has_prefix = objective is Objective.PREFIX and self.prefix.value() > 0
        return ObjectiveChoice(
            objective,
            self.seed.value(),
            self.prefix.value() if has_prefix else None,
            shift if objective.is_shifted else Shift.RIGHT,
            noise if objective is Objective.DENOISING else Noise.INFILLING,
        )

    # -- widgets

    def _name(self) -> None:
        for part, name, tip in (
            (self.objective, "Objective", "What the model is asked to predict"),
            (
                self.shift,
                "Shift",
                "How often labels are shifted against inputs: once is right, the others are bugs",
            ),
            (
                self.prefix,
                "Prefix",
                "Tokens of the prefix, <s> included; auto takes the mask's, or lets the seed draw",
            ),
            (self.noise, "Noise", "What is done to the text before it is restored"),
            (self.seed, "Seed", "The same seed draws the same tokens, spans and prefix"),
            (self.draw, "Draw again", "Draw with the next seed"),
        ):
            part.setAccessibleName(name)
            part.setToolTip(tip)
            part.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.canvas.setToolTip("Hover a column to read it in words; Ctrl+C copies all of them")
        for label in (self.counts, self.note):
            label.setProperty("role", "muted")
        for label in (self.mean, self.counts, self.note):
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.mean.setProperty("role", "title")
        self.prefix_label.setBuddy(self.prefix)
        self.seed_label.setBuddy(self.seed)

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(6)
        for part in (
            self.objective,
            self.shift,
            self.noise,
            self.prefix_label,
            self.prefix,
            self.seed_label,
            self.seed,
            self.draw,
        ):
            top.addWidget(part)
        top.addStretch(1)
        self.seed.setMaximumWidth(86)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(top)
        layout.addWidget(self.mean)
        layout.addWidget(self.strip)
        layout.addWidget(self.canvas, 1)
        layout.addWidget(self.note)
        layout.addWidget(self.counts)

    def _connect(self) -> None:
        for combo in (self.objective, self.shift, self.noise):
            combo.currentIndexChanged.connect(self._on_changed)
        self.prefix.valueChanged.connect(self._on_changed)
        self.seed.valueChanged.connect(self._on_changed)
        self.draw.clicked.connect(self._on_draw_clicked)
        self.canvas.hovered.connect(self.hovered)

    # -- what is shown

    def _tell(self, mean: str, counts: str, note: str) -> None:
        for label, text in ((self.mean, mean), (self.counts, counts), (self.note, note)):
            label.setText(text)
            label.setVisible(bool(text))

    def _show_knobs(self) -> None:
        """Show the knobs that the objective has."""
        objective = self.choice.objective
        self.shift.setEnabled(objective.is_shifted)
        self.noise.setVisible(objective is Objective.DENOISING)
        for part in (self.prefix_label, self.prefix):
            part.setVisible(objective is Objective.PREFIX)
        for knob in (self.seed_label, self.seed, self.draw):
            knob.setEnabled(objective in _DRAWN)

    # -- from the user

    def _on_changed(self) -> None:
        self._show_knobs()
        self.choice_changed.emit(self.choice)

    def _on_draw_clicked(self) -> None:
        self.seed.setValue(0 if self.seed.value() == _MOST else self.seed.value() + 1)


def demo_view() -> tuple[ObjectiveView, ObjectiveWords]:
    """Return an invented answer: three of ten tokens are masked, changed or kept."""
    words = ("<s>", "Once", "upon", "[MASK]", "time", "green", "cat", "sat", "down", "</s>")
    targets = ("", "", "", "a", "", "a", "", "sat", "", "")
    losses = np.full(10, np.nan, np.float32)
    losses[[3, 5, 7]] = 0.31, 4.2, 0.02
    ids = np.arange(1, 11, dtype=np.int32)
    wanted = np.where(np.isfinite(losses), ids, -100).astype(np.int32)
    wanted[[3, 5]] = 20
    view = ObjectiveView(
        1,
        Objective.MASKED,
        MaskKind.BIDIRECTIONAL,
        inputs=ids,
        source=np.zeros(0, np.int32),
        targets=wanted,
        loss=losses,
        top_ids=ids,
        top_probs=np.full(10, 0.7, np.float32),
        tokens=10,
        selectable=8,
    )
    return view, ObjectiveWords(words, targets, words)


def make_demo() -> QWidget:
    """Return the panel with an invented answer."""
    panel = ObjectivePanel()
    panel.set_view(*demo_view())
    return panel


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (640, 260)))
