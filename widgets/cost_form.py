"""The sizes of a model and of its work, each in a field."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QFormLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from core.types import ModelSizes, Workload
from widgets.knob import CalmSpinBox

_LARGEST = 10**9
_LOAD = (
    ("length", "T", "tokens", "Tokens of one pass; of an encoder-decoder those of the target"),
    ("past", "past", "cached", "Cached tokens before the pass"),
    ("batch", "B", "rows", "Batch rows"),
    ("source", "S", "source", "Tokens of the source that an encoder-decoder reads"),
    ("prompt", "P", "prompt", "Tokens that a generation starts from"),
    ("generate", "G", "generated", "Tokens that a generation adds"),
    ("bytes", "s", "bytes", "Bytes of a number: 4 for float32, 2 for half precision"),
)
_MODEL = (
    ("layers", "L", "layers", "Layers of the only stack, or of the decoder"),
    ("encoder_layers", "E", "encoder", "Layers of an encoder beside the decoder"),
    ("width", "D", "width", "Features of a token"),
    ("heads", "H", "heads", "Query heads"),
    ("kv_heads", "", "KV heads", "Key and value heads; fewer than heads share them"),
    ("ffn", "F", "FFN", "Features inside the FFN"),
    ("vocabulary", "V", "entries", "Entries of the vocabulary"),
    ("positions", "N", "positions", "Learned positions of each stack; 0: none"),
)


class CostForm(QScrollArea):
    """A column of numbers; every one may be changed, whatever is on screen.

    Signals
    -------
    changed : a number was changed by the user; `sizes` tells what is shown now.
    """

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = ModelSizes(1, 1, 1)
        self._load = Workload(1)
        self.fields: dict[str, CalmSpinBox] = {}
        content = QWidget()
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 6, 0)
        for title, rows in (("Work", _LOAD), ("Model", _MODEL)):
            head = QLabel(title)
            head.setProperty("role", "title")
            layout.addWidget(head)
            layout.addLayout(self._form(rows))
        layout.addStretch(1)
        self.setWidget(content)
        self.setWidgetResizable(True)
        self.setMinimumWidth(content.sizeHint().width() + 16)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Sizes")

    def _form(self, rows: tuple[tuple[str, str, str, str], ...]) -> QFormLayout:
        form = QFormLayout()
        form.setVerticalSpacing(2)
        form.setHorizontalSpacing(6)
        for name, letter, word, tip in rows:
            box = CalmSpinBox()
            box.setRange(0, _LARGEST)
            box.setGroupSeparatorShown(True)
            box.setAlignment(Qt.AlignmentFlag.AlignRight)
            box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            box.setFixedWidth(92)
            box.setAccessibleName(f"{word} {letter}".strip())
            label = QLabel(f"{word} {letter}".strip())
            label.setBuddy(box)
            for part in (label, box):
                part.setToolTip(tip)
            box.valueChanged.connect(self._on_value_changed)
            self.fields[name] = box
            form.addRow(label, box)
        return form

    # -- told from outside: never emits

    def set_sizes(self, model: ModelSizes, load: Workload) -> None:
        """Show sizes; what a model has beside the fields is kept."""
        self._model, self._load = model, load
        shown = {"kv_heads": model.kv_heads or model.heads, "ffn": model.ffn_width}
        for name, box in self.fields.items():
            owner = load if hasattr(load, name) else model
            with QSignalBlocker(box):
                box.setValue(shown.get(name, getattr(owner, name)))
        for name in ("past", "prompt", "generate", "encoder_layers"):
            self.fields[name].setEnabled(not model.encoder)
        self.fields["source"].setEnabled(model.encoder_layers > 0)

    def sizes(self) -> tuple[ModelSizes, Workload]:
        """What is shown; raises ValueError with a sentence where the numbers cannot be."""
        now: dict[str, Any] = {name: box.value() for name, box in self.fields.items()}
        load = replace(self._load, **{name: now[name] for name, *_ in _LOAD})
        return replace(self._model, **{name: now[name] for name, *_ in _MODEL}), load

    def _on_value_changed(self) -> None:
        self.fields["source"].setEnabled(self.fields["encoder_layers"].value() > 0)
        self.changed.emit()


def make_demo() -> QWidget:
    """Return the sizes of a large decoder."""
    form = CostForm()
    form.set_sizes(
        ModelSizes(24, 1024, 16, vocabulary=32_000), Workload(2048, bytes=2, prompt=2048)
    )
    return form


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (220, 480)))
