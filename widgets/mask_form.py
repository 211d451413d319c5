"""The knobs of a mask: prefix, cache offset, padding, window, documents, batch rows, legend."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QFrame, QLabel, QLineEdit, QScrollArea, QVBoxLayout, QWidget

from core.types import Reason
from widgets.knob import Knob
from widgets.legend import Legend
from widgets.row_picker import RowPicker

_TIPS = {
    "prefix": (
        "Prefix length",
        "Tokens at the start that read each other in both directions (prefix-LM). Counted in"
        " real tokens; everything after them is causal.",
    ),
    "past": (
        "Cache offset",
        "Keys that are in the KV cache already (past). Query row r then sits at absolute position"
        " past + r, so the triangle is aligned to the bottom right.",
    ),
    "left_pad": (
        "Left padding",
        "Pad slots before the text of this batch row. Padding closes key columns only; position"
        " ids start after it.",
    ),
    "right_pad": (
        "Right padding",
        "Pad slots after the text of this batch row. No query may read them; their own outputs"
        " are not scored.",
    ),
    "window": (
        "Window",
        "Sliding window: how many keys a query reaches, itself included (q − k < window)."
        " Off means no limit.",
    ),
}


@dataclass(frozen=True)
class MaskKnobs:
    """What the form edits: a mask's knobs for the shown batch row.

    ``window`` counts the query itself, None is off; ``documents`` are lengths in real tokens.
    """

    prefix: int = 0
    past: int = 0
    left_pad: int = 0
    right_pad: int = 0
    window: int | None = None
    documents: tuple[int, ...] = ()


@dataclass(frozen=True)
class KnobLimits:
    """The largest value of each knob; None hides a knob that makes no sense for the kind."""

    prefix: int | None = None
    past: int | None = None
    left_pad: int | None = None
    right_pad: int | None = None
    window: int | None = None
    documents: bool = False


class MaskForm(QScrollArea):
    """Sliders that speak while they are dragged.

    Signals
    -------
    knobs_changed : a `MaskKnobs`, at each change by the user.
    row_selected, row_added, row_removed : as in `RowPicker`.
    """

    knobs_changed = Signal(object)
    row_selected = Signal(int)
    row_added = Signal()
    row_removed = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._knobs = MaskKnobs()
        self._told: tuple[int, ...] = ()
        self._typed = False
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)
        self._make_widgets()
        self._lay_out()
        self._connect()
        self.set_knobs(MaskKnobs(), KnobLimits())

    # -- widgets

    def _make_widgets(self) -> None:
        self.knobs = {
            name: Knob(title, tip, zero_text="off" if name == "window" else "")
            for name, (title, tip) in _TIPS.items()
        }
        self.documents_label = QLabel("Documents")
        self.documents = QLineEdit()
        self.documents_label.setBuddy(self.documents)
        self.documents.setPlaceholderText("lengths, such as 3, 2, 1")
        self.documents.setAccessibleName("Document lengths")
        tip = (
            "Packed documents: their lengths in real tokens, first first. They must add up to the"
            " row's real tokens. No document reads another."
        )
        self.documents.setToolTip(tip)
        self.documents_label.setToolTip(tip)
        self.error = QLabel()
        self.error.setProperty("role", "error")
        self.error.setWordWrap(True)
        self.error.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.error.hide()
        self.rows = RowPicker()
        self.legend = Legend()

    # -- layout

    def _lay_out(self) -> None:
        inner = QWidget()
        inner.setAutoFillBackground(False)
        layout = QVBoxLayout(inner)
        layout.setContentsMargins(2, 2, 6, 2)
        layout.setSpacing(5)
        layout.addWidget(self._heading("Mask"))
        for knob in self.knobs.values():
            layout.addWidget(knob)
        layout.addWidget(self.documents_label)
        layout.addWidget(self.documents)
        layout.addWidget(self.error)
        layout.addSpacing(6)
        layout.addWidget(self._heading("Batch row"))
        layout.addWidget(self.rows)
        layout.addSpacing(8)
        layout.addWidget(self._heading("Legend"))
        layout.addWidget(self.legend)
        layout.addStretch(1)
        self.setWidget(inner)
        inner.setAutoFillBackground(False)
        self.setMinimumWidth(190)

    @staticmethod
    def _heading(text: str) -> QLabel:
        label = QLabel(text)
        label.setProperty("role", "title")
        return label

    # -- signals

    def _connect(self) -> None:
        self.knobs["prefix"].value_changed.connect(self._on_prefix_changed)
        self.knobs["past"].value_changed.connect(self._on_past_changed)
        self.knobs["left_pad"].value_changed.connect(self._on_left_pad_changed)
        self.knobs["right_pad"].value_changed.connect(self._on_right_pad_changed)
        self.knobs["window"].value_changed.connect(self._on_window_changed)
        self.documents.textEdited.connect(self._on_documents_edited)
        self.rows.row_selected.connect(self.row_selected)
        self.rows.row_added.connect(self.row_added)
        self.rows.row_removed.connect(self.row_removed)

    # -- told from outside: never emits

    def set_knobs(self, knobs: MaskKnobs, limits: KnobLimits) -> None:
        """Show `knobs`; hides those without a limit.

        Document lengths that the user has typed and that were not taken yet stay as they are,
        until the documents change from elsewhere.
        """
        for name, knob in self.knobs.items():
            limit = getattr(limits, name)
            knob.setVisible(limit is not None)
            knob.set_value(getattr(knobs, name) or 0, limit or 0)
        self.documents.setVisible(limits.documents)
        self.documents_label.setVisible(limits.documents)
        taken = parse_documents(self.documents.text()) == knobs.documents
        if not taken and (not self._typed or knobs.documents != self._told):
            with QSignalBlocker(self.documents):
                self.documents.setText(", ".join(map(str, knobs.documents)))
            self._typed = False
        if taken:
            self._typed = False
        self._knobs, self._told = knobs, knobs.documents

    def set_error(self, text: str) -> None:
        """Show a sentence in place, an empty one to take it away; what was typed stays."""
        self.error.setText(text)
        self.error.setVisible(bool(text))
        self.documents.setProperty("invalid", bool(text) and self._typed)
        self.documents.style().unpolish(self.documents)
        self.documents.style().polish(self.documents)

    def set_counts(self, counts: dict[Reason, int]) -> None:
        """Show the cells of the batch row by reason."""
        self.legend.set_counts(counts)

    def set_rows(self, labels: list[str], row: int) -> None:
        """Show the batch rows with `row` chosen."""
        self.rows.set_rows(labels, row)

    # -- handlers

    def _change(self, knobs: MaskKnobs) -> None:
        if knobs != self._knobs:
            self._knobs = knobs
            self.knobs_changed.emit(knobs)

    def _on_prefix_changed(self, value: int) -> None:
        self._change(replace(self._knobs, prefix=value))

    def _on_past_changed(self, value: int) -> None:
        self._change(replace(self._knobs, past=value))

    def _on_left_pad_changed(self, value: int) -> None:
        self._change(replace(self._knobs, left_pad=value))

    def _on_right_pad_changed(self, value: int) -> None:
        self._change(replace(self._knobs, right_pad=value))

    def _on_window_changed(self, value: int) -> None:
        self._change(replace(self._knobs, window=value or None))

    def _on_documents_edited(self, text: str) -> None:
        self._typed = True
        lengths = parse_documents(text)
        if lengths is None:
            self.set_error("Documents are lengths of 1 or more with commas between: 3, 2, 1.")
            return
        self.set_error("")
        before = self._knobs
        self._change(replace(self._knobs, documents=lengths))
        if self.error.text():
            # Refused while the signal was out: the text stays, the next knob must not carry it.
            self._knobs = before
        else:
            self._typed, self._told = False, lengths


def parse_documents(text: str) -> tuple[int, ...] | None:
    """Return the lengths in `text`, () where it is blank, None where it is no list of lengths."""
    parts = text.replace(",", " ").split()
    if not all(part.isdecimal() and int(part) >= 1 for part in parts):
        return None
    return tuple(int(part) for part in parts)


def make_demo() -> QWidget:
    """Return the form with the mask of the demos."""
    from core.mask.intervals import reason_counts
    from widgets.demo import demo_spec

    form = MaskForm()
    form.set_knobs(
        MaskKnobs(prefix=6, left_pad=2),
        KnobLimits(prefix=13, past=8, left_pad=12, right_pad=12, window=15, documents=True),
    )
    form.set_rows(["row 1 · Once upon a time", "row 2 · The end"], 0)
    form.set_counts(reason_counts(demo_spec(), 0))
    return form


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (250, 640)))
