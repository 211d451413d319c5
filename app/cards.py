"""The cards of the main window: a title row over a widget, with a hairline border."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget


class Card(QFrame):
    """A titled frame. ``note`` stands muted beside the title; ``header`` takes more widgets."""

    def __init__(self, title: str, content: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("card", True)
        self.title = QLabel(title)
        self.title.setProperty("role", "title")
        self.note = QLabel()
        self.note.setProperty("role", "muted")
        self.note.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.header = QHBoxLayout()
        self.header.setSpacing(10)
        self.header.addWidget(self.title)
        self.header.addWidget(self.note, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 10, 14, 10)
        layout.setSpacing(6)
        layout.addLayout(self.header)
        layout.addWidget(content, 1)


def plain_card(content: QWidget) -> QFrame:
    """A frame without a title, for a widget that paints its own."""
    frame = QFrame()
    frame.setProperty("card", True)
    layout = QVBoxLayout(frame)
    layout.setContentsMargins(14, 10, 8, 10)
    layout.addWidget(content)
    return frame
