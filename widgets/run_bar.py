"""The bar on top: family, model, device, how the engine is, and the transport buttons."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import Enum

from PySide6.QtCore import QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from core.types import Family
from widgets.palette import Theme, current
from widgets.sampling_form import SamplingChoice
from widgets.transport import Transport

_FAMILIES = (
    (Family.ENCODER, "Encoder", "Encoder only (BERT): every query reads every key; no generation."),
    (Family.DECODER, "Decoder", "Decoder only (GPT): a query reads keys up to its own position."),
    (
        Family.PREFIX,
        "Prefix-LM",
        "Prefix-LM (UniLM, UL2): the prefix reads itself both ways, the rest is causal.",
    ),
    (
        Family.ENCODER_DECODER,
        "Encoder–decoder",
        "Encoder–decoder (T5, BART): a causal decoder that reads the whole source by"
        " cross-attention.",
    ),
)


class EngineStatus(Enum):
    """How the engine is; the value is what the bar says."""

    LOADING = "loading…"
    READY = "ready"
    RUNNING = "running"
    STOPPED = "stopped"


class StatusDot(QWidget):
    """A coloured dot; the words beside it say the same."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._status = EngineStatus.LOADING
        self.setFixedSize(QSize(10, 10))

    def set_status(self, status: EngineStatus) -> None:
        """Show a status; never emits."""
        self._status = status
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: a disc, hollow while nothing can run."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        color = _status_color(self._status, current())
        painter.setPen(color)
        hollow = self._status in (EngineStatus.LOADING, EngineStatus.STOPPED)
        painter.setBrush(Qt.BrushStyle.NoBrush if hollow else color)
        painter.drawEllipse(QRectF(1.5, 1.5, 7.0, 7.0))


def _status_color(status: EngineStatus, theme: Theme) -> QColor:
    return {
        EngineStatus.LOADING: theme.warning,
        EngineStatus.READY: theme.good,
        EngineStatus.RUNNING: theme.accent,
        EngineStatus.STOPPED: theme.error,
    }[status]


class RunBar(QWidget):
    """What runs, where, and the buttons that make it go.

    Signals
    -------
    family_picked : a `Family`. model_picked, backend_picked, device_picked, dtype_picked : the id
    of the entry.
    start_requested, back_requested, step_requested, play_requested, pause_requested,
    stop_requested, sampling_changed : as in `Transport`.
    """

    family_picked = Signal(object)
    model_picked = Signal(str)
    backend_picked = Signal(str)
    device_picked = Signal(str)
    dtype_picked = Signal(str)
    start_requested = Signal()
    back_requested = Signal()
    step_requested = Signal()
    play_requested = Signal()
    pause_requested = Signal()
    stop_requested = Signal()
    sampling_changed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._make_widgets()
        self._lay_out()
        self._connect()

    # -- widgets

    def _make_widgets(self) -> None:
        self.families = QButtonGroup(self)
        self.pills: dict[Family, QPushButton] = {}
        for index, (family, name, tip) in enumerate(_FAMILIES):
            pill = QPushButton(name)
            pill.setProperty("pill", True)
            pill.setCheckable(True)
            pill.setToolTip(tip)
            pill.setAccessibleName(f"Family: {name}")
            self.families.addButton(pill, index)
            self.pills[family] = pill
        self.model = self._combo("Model", "The trained model that reads the text.", 7)
        self.backend = self._combo(
            "Engine",
            "What runs the model: torch, or ONNX Runtime on its exported file. The status line"
            " tells the tokens per second of each.",
            4,
        )
        self.device = self._combo("Device", "Where the model runs; auto takes a GPU if any.", 6)
        self.dtype = self._combo("Number type", "Precision of weights and activations.", 6)
        self.dot = StatusDot()
        self.status = QLabel()
        self.status.setProperty("role", "muted")
        self.status.setMinimumWidth(54)
        self.transport = Transport()
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
        self.progress.setFixedHeight(3)
        self.progress.setAccessibleName("Progress")
        self.set_progress(None)
        self.set_status(EngineStatus.LOADING)

    @staticmethod
    def _combo(name: str, tip: str, letters: int) -> QComboBox:
        combo = QComboBox()
        combo.setToolTip(tip)
        combo.setAccessibleName(name)
        combo.setMinimumContentsLength(letters)
        combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        return combo

    # -- layout

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        for pill in self.pills.values():
            row.addWidget(pill)
        row.addSpacing(8)
        row.addWidget(self.model, 4)
        row.addWidget(self.backend)
        row.addWidget(self.device)
        row.addWidget(self.dtype)
        row.addSpacing(4)
        row.addWidget(self.dot)
        row.addWidget(self.status)
        row.addStretch(1)
        row.addWidget(self.transport)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(3)
        column.addLayout(row)
        column.addWidget(self.progress)
        self.model.setMaximumWidth(280)

    # -- signals

    def _connect(self) -> None:
        self.families.idClicked.connect(self._on_family_clicked)
        self.model.currentIndexChanged.connect(self._on_model_changed)
        self.backend.currentIndexChanged.connect(self._on_backend_changed)
        self.device.currentIndexChanged.connect(self._on_device_changed)
        self.dtype.currentIndexChanged.connect(self._on_dtype_changed)
        self.transport.start_requested.connect(self.start_requested)
        self.transport.back_requested.connect(self.back_requested)
        self.transport.step_requested.connect(self.step_requested)
        self.transport.play_requested.connect(self.play_requested)
        self.transport.pause_requested.connect(self.pause_requested)
        self.transport.stop_requested.connect(self.stop_requested)
        self.transport.sampling_changed.connect(self.sampling_changed)

    # -- told from outside: never emits

    def set_family(self, family: Family) -> None:
        """Light up a family."""
        self.pills[family].setChecked(True)

    def set_models(self, models: Sequence[tuple[str, str]], model: str) -> None:
        """Offer models as (id, title) with `model` chosen."""
        self._fill(self.model, models, model)

    def set_backends(self, backends: Sequence[tuple[str, str]], backend: str) -> None:
        """Offer engines as (id, title) with `backend` chosen."""
        self._fill(self.backend, backends, backend)

    def set_devices(self, devices: Sequence[tuple[str, str]], device: str) -> None:
        """Offer devices as (id, title) with `device` chosen."""
        self._fill(self.device, devices, device)

    def set_dtypes(self, dtypes: Sequence[str], dtype: str) -> None:
        """Offer number types with `dtype` chosen; where there is but one, nothing is offered."""
        self.dtype.setVisible(len(dtypes) > 1)
        self._fill(self.dtype, [(name, name) for name in dtypes], dtype)

    def set_status(self, status: EngineStatus, detail: str = "") -> None:
        """Tell how the engine is; `detail` goes into the tool tip."""
        self.dot.set_status(status)
        self.status.setText(status.value)
        for part in (self.dot, self.status):
            part.setToolTip(detail or f"Engine: {status.value}")
            part.setAccessibleName(f"Engine {status.value}")

    def set_progress(self, share: float | None) -> None:
        """Show a thin line of progress (0 to 1), below 0 a moving one, None to hide it."""
        if share is None:
            self.progress.setRange(0, 1)
            self.progress.setValue(0)
        elif share < 0.0:
            self.progress.setRange(0, 0)
        else:
            self.progress.setRange(0, 1000)
            self.progress.setValue(round(share * 1000))

    def set_playing(self, playing: bool) -> None:
        """Show Pause instead of Play while tokens come."""
        self.transport.set_playing(playing)

    def set_steps(self, count: int, at: int) -> None:
        """Tell how many tokens were generated, and after how many of them the view stands."""
        self.transport.set_steps(count, at)

    def set_can_generate(self, able: bool, why_not: str = "") -> None:
        """Enable the transport buttons, or disable them with a sentence that says why."""
        self.transport.set_can_generate(able, why_not)

    def set_sampling(self, choice: SamplingChoice) -> None:
        """Show how tokens are drawn."""
        self.transport.set_sampling(choice)

    @staticmethod
    def _fill(combo: QComboBox, entries: Sequence[tuple[str, str]], chosen: str) -> None:
        with QSignalBlocker(combo):
            combo.clear()
            for name, title in entries:
                combo.addItem(title, name)
            combo.setCurrentIndex(combo.findData(chosen))

    # -- handlers

    def _on_family_clicked(self, index: int) -> None:
        self.family_picked.emit(_FAMILIES[index][0])

    def _on_model_changed(self, index: int) -> None:
        self.model_picked.emit(str(self.model.itemData(index)))

    def _on_backend_changed(self, index: int) -> None:
        self.backend_picked.emit(str(self.backend.itemData(index)))

    def _on_device_changed(self, index: int) -> None:
        self.device_picked.emit(str(self.device.itemData(index)))

    def _on_dtype_changed(self, index: int) -> None:
        self.dtype_picked.emit(str(self.dtype.itemData(index)))


def make_demo() -> QWidget:
    """Return the bar in the middle of a run."""
    bar = RunBar()
    bar.set_family(Family.PREFIX)
    bar.set_models([("unified", "unified · 2.1 M parameters"), ("decoder", "decoder")], "unified")
    bar.set_backends([("torch", "torch"), ("onnx", "ONNX")], "torch")
    bar.set_devices([("auto", "auto"), ("cpu", "cpu"), ("cuda", "cuda:0")], "cpu")
    bar.set_dtypes(["float32", "bfloat16"], "float32")
    bar.set_status(EngineStatus.RUNNING)
    bar.set_progress(0.4)
    bar.set_steps(2, 2)
    return bar


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (1280, 70)))
