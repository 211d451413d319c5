"""File ▸ Export ONNX…: what to write and where; then how far it is, and the proof."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from core.mask.spec import only_row, whole
from core.types import Exported, ExportJob, Inputs, MaskSpec
from widgets.job_bar import JobBar
from widgets.parity_table import ParityTable

DTYPES = (
    ("float32", "float32: as exact as torch"),
    ("float16", "float16: half as large, less exact"),
    ("int8", "8-bit weights: the smallest, the least exact"),
)
MASKS = (
    ("input", "an input: one file runs under every mask, with a cache"),
    ("fixed", "built in: the mask on screen, the file takes token ids alone"),
)


@dataclass(frozen=True)
class Choices:
    """What can be exported of the view: the model, and the mask that can be built into it."""

    model: str
    mask: MaskSpec
    source_mask: MaskSpec | None = None


def choices(model: str, inputs: Inputs, row: int) -> Choices:
    """What the view offers to an export: its mask is that of the shown batch row, uncached."""
    own = whole(only_row(inputs.mask, row))
    if inputs.source_mask is None:
        return Choices(model, own)
    return Choices(model, own, only_row(inputs.source_mask, row))


class ExportDialog(QDialog):
    """Asks what to export, shows progress, and then the parity table.

    An export that runs goes on while the dialog is closed, and shows when it is opened again.

    Signals
    -------
    export_requested : an `ExportJob` with generation 0. stop_requested : stop the export.
    """

    export_requested = Signal(object)
    stop_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Export ONNX")
        self._choices: Choices | None = None
        self._running = False
        self._make_widgets()
        self._lay_out()
        self.resize(680, 480)

    def _make_widgets(self) -> None:
        self.model = QLabel()
        self.model.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.masks, self.numbers = QComboBox(), QComboBox()
        for combo, entries, name in (
            (self.masks, MASKS, "Mask"),
            (self.numbers, DTYPES, "Numbers"),
        ):
            combo.setAccessibleName(name)
            for key, title in entries:
                combo.addItem(title, key)
        self.path = QLineEdit()
        self.path.setAccessibleName("File")
        self.path.textChanged.connect(self._on_path_changed)
        self.browse = QPushButton("Choose…")
        self.browse.clicked.connect(self._on_browse_clicked)
        self.verify = QCheckBox("Compare with torch in 20 cases, and write the report beside it")
        self.verify.setChecked(True)
        self.sentence = QLabel()
        self.sentence.setWordWrap(True)
        self.sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.table = ParityTable()
        self.bar = JobBar()
        self.bar.stop_requested.connect(self.stop_requested)
        self.export = QPushButton("Export")
        self.export.setDefault(True)
        self.export.clicked.connect(self._on_export_clicked)
        self.leave = QPushButton("Close")
        self.leave.clicked.connect(self.close)

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.addRow("Model", self.model)
        form.addRow("Mask", self.masks)
        form.addRow("Numbers", self.numbers)
        place = QHBoxLayout()
        place.addWidget(self.path, 1)
        place.addWidget(self.browse)
        form.addRow("File", place)
        form.addRow("", self.verify)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self.leave)
        buttons.addWidget(self.export)
        layout = QVBoxLayout(self)
        layout.addLayout(form)
        layout.addWidget(self.sentence)
        layout.addWidget(self.table, 1)
        layout.addWidget(self.bar)
        layout.addLayout(buttons)

    # -- told from outside: never emits

    def set_choices(self, found: Choices, folder: Path) -> None:
        """Show what can be exported; a running export keeps what it was asked."""
        self.set_view(found)
        if self._running:
            return
        self.path.setText(str(folder / f"{found.model}.onnx"))
        self.sentence.setText("")
        self.table.set_empty("")

    def set_view(self, found: Choices) -> None:
        """Another model or mask is on screen; where to write stays."""
        self._choices = found
        self.model.setText(found.model)

    def set_progress(self, sentence: str, share: float) -> None:
        """Show how far the export is."""
        self.bar.set_progress(sentence, share)

    def set_done(self, exported: Exported) -> None:
        """Show what was written, and the proof."""
        size = sum(exported.sizes) / 2**20
        names = " and ".join(Path(path).name for path in exported.graphs)
        told = f"Wrote {names} ({size:.1f} MiB), with {Path(exported.tokenizer).name}."
        if exported.report is None:
            self.table.set_empty("The file is there, but was not compared with torch.")
        else:
            told += f" In words: {exported.report.sentence()}."
            self.table.set_report(exported.report)
        self._end(told)

    def set_failed(self, sentence: str) -> None:
        """Show why there is no file; what was there is as it was."""
        self._end(sentence)

    def _end(self, sentence: str) -> None:
        self._running = False
        self.bar.set_idle()
        self.sentence.setText(sentence)
        self._enable()

    # -- handlers

    def _enable(self) -> None:
        ready = not self._running and bool(self.path.text().strip())
        self.export.setEnabled(ready)
        for part in (self.masks, self.numbers, self.path, self.browse, self.verify):
            part.setEnabled(not self._running)

    def _on_path_changed(self) -> None:
        self._enable()

    def _on_browse_clicked(self) -> None:
        name, _ = QFileDialog.getSaveFileName(
            self, "Export ONNX", self.path.text(), "ONNX model (*.onnx)"
        )
        if name:
            self.path.setText(name if name.lower().endswith(".onnx") else f"{name}.onnx")

    def _on_export_clicked(self) -> None:
        if self._choices is None:
            return
        fixed = self.masks.currentData() == "fixed"
        self._running = True
        self._enable()
        self.sentence.setText("")
        self.table.set_empty("")
        self.bar.set_progress("starting the exporter", 0.0)
        self.export_requested.emit(
            ExportJob(
                0,
                self._choices.model,
                self.path.text().strip(),
                self.numbers.currentData(),
                self._choices.mask if fixed else None,
                self._choices.source_mask if fixed else None,
                self.verify.isChecked(),
            )
        )
