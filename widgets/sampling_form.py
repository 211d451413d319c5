"""How the next token is drawn: temperature, top-k, top-p, seed, and how many at most."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import (
    QDoubleSpinBox,
    QFormLayout,
    QLabel,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from core.types import Sampling


@dataclass(frozen=True)
class SamplingChoice:
    """Sampling and the most tokens that Play generates."""

    sampling: Sampling = field(default_factory=Sampling)
    max_new_tokens: int = 32

    def text(self) -> str:
        """Return the choice in a few words."""
        drawn = self.sampling
        if drawn.temperature == 0.0:
            return "greedy"
        words = [f"T {drawn.temperature:g}"]
        if drawn.top_k:
            words.append(f"k {drawn.top_k}")
        if drawn.top_p < 1.0:
            words.append(f"p {drawn.top_p:g}")
        return " · ".join(words)


class SamplingForm(QWidget):
    """Spin boxes for a `SamplingChoice`.

    Signals
    -------
    sampling_changed : a `SamplingChoice`, at each change by the user.
    """

    sampling_changed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.temperature = QDoubleSpinBox()
        self.temperature.setRange(0.0, 5.0)
        self.temperature.setSingleStep(0.1)
        self.temperature.setSpecialValueText("0 (greedy)")
        self.top_k = QSpinBox()
        self.top_k.setRange(0, 1000)
        self.top_k.setSpecialValueText("off")
        self.top_p = QDoubleSpinBox()
        self.top_p.setRange(0.01, 1.0)
        self.top_p.setSingleStep(0.05)
        self.seed = QSpinBox()
        self.seed.setRange(0, 2**31 - 1)
        self.most = QSpinBox()
        self.most.setRange(1, 512)
        self.most.setSuffix(" tokens")
        self._lay_out()
        for box in (self.temperature, self.top_p):
            box.valueChanged.connect(self._on_box_changed)
        for whole in (self.top_k, self.seed, self.most):
            whole.valueChanged.connect(self._on_box_changed)
        self.set_choice(SamplingChoice())

    def _lay_out(self) -> None:
        title = QLabel("Sampling")
        title.setProperty("role", "title")
        form = QFormLayout()
        for name, box, tip in (
            ("Temperature", self.temperature, "Logits are divided by it; 0 takes the likeliest."),
            ("Top-k", self.top_k, "Draw among the k likeliest tokens only; off draws among all."),
            (
                "Top-p",
                self.top_p,
                "Draw among the fewest tokens that hold this share; 1: all.",
            ),
            ("Seed", self.seed, "The same seed, text and mask give the same tokens."),
            ("At most", self.most, "Play stops after so many new tokens, or at the end token."),
        ):
            label = QLabel(name)
            label.setBuddy(box)
            for part in (label, box):
                part.setToolTip(tip)
            box.setAccessibleName(name)
            box.setMinimumWidth(110)
            form.addRow(label, box)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 12, 14, 12)
        layout.addWidget(title)
        layout.addLayout(form)
        layout.addStretch(1)

    def set_choice(self, choice: SamplingChoice) -> None:
        """Show a choice; never emits."""
        drawn = choice.sampling
        for part, value in (
            (self.temperature, drawn.temperature),
            (self.top_p, drawn.top_p),
        ):
            with QSignalBlocker(part):
                part.setValue(value)
        for whole, number in (
            (self.top_k, drawn.top_k),
            (self.seed, drawn.seed),
            (self.most, choice.max_new_tokens),
        ):
            with QSignalBlocker(whole):
                whole.setValue(number)
        self._enable()

    def choice(self) -> SamplingChoice:
        """Return what is shown."""
        sampling = Sampling(
            temperature=round(self.temperature.value(), 2),
            top_k=self.top_k.value(),
            top_p=round(self.top_p.value(), 2),
            seed=self.seed.value(),
        )
        return SamplingChoice(sampling, self.most.value())

    def _enable(self) -> None:
        drawn = self.temperature.value() > 0.0
        for part in (self.top_k, self.top_p, self.seed):
            part.setEnabled(drawn)

    def _on_box_changed(self) -> None:
        self._enable()
        self.sampling_changed.emit(self.choice())


def make_demo() -> QWidget:
    """Return the form with a warm choice."""
    form = SamplingForm()
    form.set_choice(SamplingChoice(Sampling(0.8, 40, 0.95, 7), 24))
    return form


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (280, 260)))
