"""Sentences to be compared, and how alike a model's vectors of them are by each pooling."""

from __future__ import annotations

import sys

import numpy as np
from PySide6.QtCore import QSignalBlocker, QTimer, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from core.types import EmbeddingsView, MaskKind, Pooling
from widgets.similarity_canvas import SimilarityCanvas

_KINDS = {MaskKind.BIDIRECTIONAL: "Read both ways", MaskKind.CAUSAL: "Causal"}
_PAUSE_MS = 300
"""Typing pauses so long before the sentences are read."""
_MOST = 80
"""Letters of a row of the window that are shown: the whole stands beside the tokens."""

SENTENCES = (
    "Tom put his blue kite behind the door.",
    "Tom put his blue kite under the old tree.",
    "A cat sat on the mat in the sun.",
    "A dog sat on the mat in the sun.",
)
"""A pair that begins alike and ends differently, and one that differs in a word early on."""


class SimilarityView(QWidget):
    """The list of sentences beside a `SimilarityCanvas`, and the mask they are read under.

    Signals
    -------
    asked : the user changed the sentences or the mask.
    hovered : the pair under the mouse or the keys in words, or nothing.
    """

    asked = Signal()
    hovered = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.reading = QComboBox()
        for kind, name in _KINDS.items():
            self.reading.addItem(name, kind)
        self.reading.setAccessibleName("Mask of the sentences")
        self.reading.setToolTip(
            "What each token of a sentence may read: all of it, or what is before"
        )
        self.edit = QPlainTextEdit("\n".join(SENTENCES))
        self.edit.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        self.edit.setMinimumHeight(60)
        self.edit.setAccessibleName("Sentences")
        self.edit.setToolTip("A sentence on each line; the rows of the window come first")
        self.edit.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.first, self.note = QLabel(), QLabel()
        for label in (self.first, self.note):
            label.setProperty("role", "muted")
            label.setWordWrap(True)
        self.canvas = SimilarityCanvas()
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_PAUSE_MS)
        self._lay_out()
        self.edit.textChanged.connect(self._pause.start)
        self._pause.timeout.connect(self.asked)
        self.reading.currentIndexChanged.connect(self._on_mask_changed)
        self.canvas.hovered.connect(self.hovered)

    def _lay_out(self) -> None:
        left = QVBoxLayout()
        left.addWidget(self.reading)
        left.addWidget(self.first)
        left.addWidget(self.edit, 1)
        across = QHBoxLayout()
        across.setSpacing(12)
        across.addLayout(left, 2)
        across.addWidget(self.canvas, 5)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(across, 1)
        layout.addWidget(self.note)

    # -- told from outside: never emits

    def set_view(self, view: EmbeddingsView, tokens: tuple[tuple[str, ...], ...]) -> None:
        """Show an answer; ``tokens`` are the labels of each sentence's tokens, without pads."""
        self.canvas.set_view(view, tokens)
        self._tell(" ".join(view.notes))

    def set_rows(self, rows: tuple[str, ...]) -> None:
        """Say which sentences come before the list: the rows of the window."""
        cut = (row if len(row) <= _MOST else f"{row[: _MOST - 1]}…" for row in rows)
        numbered = (f"{n}  {row}" for n, row in enumerate(cut, start=1))
        self.first.setText("\n".join(numbered) + f"\nand from {len(rows) + 1} on:")

    def set_mask(self, kind: MaskKind, *, fixed: bool = False) -> None:
        """Choose the mask; ``fixed`` where there is no other."""
        with QSignalBlocker(self.reading):
            self.reading.setCurrentIndex(list(_KINDS).index(kind))
        self.reading.setEnabled(not fixed)

    def set_empty(self, text: str) -> None:
        """Show a sentence that says why there is nothing, or what to do."""
        self.canvas.set_empty(text)
        self._tell("")

    def set_stale(self, stale: bool) -> None:
        """Fade what is shown while a newer answer is computed."""
        self.canvas.set_stale(stale)

    def _tell(self, note: str) -> None:
        self.note.setText(note)
        self.note.setVisible(bool(note))

    # -- asked from outside

    @property
    def kind(self) -> MaskKind:
        """The mask that is chosen."""
        return list(_KINDS)[self.reading.currentIndex()]

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences of the list; empty lines are none."""
        lines = self.edit.toPlainText().splitlines()
        return tuple(line.strip() for line in lines if line.strip())

    def _on_mask_changed(self) -> None:
        self.asked.emit()


def make_demo() -> QWidget:
    """Return the view with invented cosines."""
    view = SimilarityView()
    raw = np.random.default_rng(1).normal(size=(3, 5, 8)) + 1.2
    unit = raw / np.linalg.norm(raw, axis=-1, keepdims=True)
    cosines = (unit @ unit.transpose(0, 2, 1)).astype(np.float32)
    tokens = tuple(("<s>", "A", "cat", "sat", "on", "the", "mat", ".") for _ in range(5))
    known = np.tile(np.linspace(0.2, 0.97, 8, dtype=np.float32), (5, 1))
    similarity = dict(zip(Pooling, cosines, strict=True))
    view.set_rows(("Once upon a time there was a little girl.",))
    view.set_mask(MaskKind.CAUSAL)
    view.set_view(EmbeddingsView(1, MaskKind.CAUSAL, similarity, known), tokens)
    return view


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (640, 260)))
