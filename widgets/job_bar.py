"""A line that says how far a long job is, with a button that stops it."""

from __future__ import annotations

import sys

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QWidget


class JobBar(QWidget):
    """Hidden until there is progress to tell.

    Signals
    -------
    stop_requested : the button was pressed.
    """

    stop_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.sentence = QLabel()
        self.sentence.setProperty("role", "muted")
        self.sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.progress = QProgressBar()
        self.progress.setRange(0, 1000)
        self.progress.setTextVisible(False)
        self.progress.setAccessibleName("Progress")
        self.stop = QPushButton("Stop")
        self.stop.setProperty("pill", True)
        self.stop.setAccessibleName("Stop the job")
        self.stop.setToolTip("Stop what is running; nothing that is there is lost")
        self.stop.clicked.connect(self._on_stop_clicked)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.sentence)
        layout.addWidget(self.progress, 1)
        layout.addWidget(self.stop)
        self.hide()

    def set_progress(self, sentence: str, share: float) -> None:
        """Show what is being done and the share from 0 to 1 that is done; never emits."""
        self.sentence.setText(sentence)
        self.progress.setValue(round(1000 * share))
        self.stop.setEnabled(True)
        self.show()

    def set_idle(self) -> None:
        """Hide the line."""
        self.hide()

    def _on_stop_clicked(self) -> None:
        self.stop.setEnabled(False)
        self.sentence.setText("stopping…")
        self.stop_requested.emit()


def make_demo() -> QWidget:
    """Return the line in the middle of an export."""
    bar = JobBar()
    bar.set_progress("comparing with torch: left pads", 0.6)
    return bar


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (520, 60)))
