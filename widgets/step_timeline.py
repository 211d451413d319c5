"""The generated steps on a line: drag back to see what was read when."""

from __future__ import annotations

import sys

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QSlider, QWidget


class StepTimeline(QWidget):
    """A slider over the generated tokens; hidden words until there is one.

    Signals
    -------
    step_picked : how many of the tokens the user wants to see, from 0 to all of them.
    """

    step_picked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._steps: list[str] = []
        self._slider = QSlider(Qt.Orientation.Horizontal)
        self._slider.setToolTip(
            "Scrub through the generated tokens: mask row, attention, cache and candidates"
            " are shown as they were at that step."
        )
        self._slider.setAccessibleName("Generated step")
        self._slider.setMinimumWidth(90)
        self._label = QLabel()
        self._label.setProperty("role", "muted")
        self._label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(10)
        layout.addWidget(self._slider, 1)
        layout.addWidget(self._label, 2)
        self._label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._label.setMinimumWidth(70)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._slider.valueChanged.connect(self._on_slider_moved)
        self.set_steps([], 0)

    # -- told from outside: never emits

    def set_steps(self, steps: list[str], shown: int) -> None:
        """Show the generated tokens `steps`, of which the first `shown` are in the text."""
        self._steps = steps
        with QSignalBlocker(self._slider):
            self._slider.setRange(0, len(steps))
            self._slider.setValue(shown)
        self._slider.setEnabled(bool(steps))
        self._say()

    def _say(self) -> None:
        shown = self._slider.value()
        if not self._steps:
            self._tell("no steps yet", "Press Step or Play to generate tokens.")
            return
        last = f" · last “{self._steps[shown - 1]}”" if shown else ""
        text = f"{shown} of {len(self._steps)} tokens{last}"
        self._tell(text, text)

    def _tell(self, text: str, tip: str) -> None:
        self._label.setText(text)
        self._label.setToolTip(tip)

    def _on_slider_moved(self, value: int) -> None:
        self._say()
        self.step_picked.emit(value)


def make_demo() -> QWidget:
    """Return a timeline of three steps."""
    timeline = StepTimeline()
    timeline.set_steps(["It", "was", "very"], 1)
    return timeline


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (420, 60)))
