"""What made an output: layers of tokens, the edges between them, and each input's share."""

from __future__ import annotations

import sys

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QSlider,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from core.types import LEAST_EDGE, FlowMethod, FlowResult, FlowStack, Stack
from widgets.flow_canvas import FlowCanvas
from widgets.flow_paint import NAMES, Cone, Labels
from widgets.low_strip import LowStrip
from widgets.token_strip import TokenStripState

_METHODS = {
    FlowMethod.ROLLOUT: "Rollout",
    FlowMethod.VALUE_NORM: "Value norm",
    FlowMethod.GRADIENT: "Gradient × input",
}
_TIPS = {
    "method": (
        "How the share of a token in the output is measured.\n"
        "Rollout: heads averaged, half of every layer from the token's own residual.\n"
        "Value norm: the same, each weight times the norm of the value that it brings.\n"
        "Gradient × input: what the token adds to the logit, or takes from it (minus). It is\n"
        "nearly 0 at the output itself: the norm that follows forgets how long a state is."
    ),
    "layer": "How many layers are looked through, from the first on",
    "least": "Edges that carry less than this of the output are hidden",
}
_STEPS = 100
_LARGEST = 0.5
"""The threshold at the right end of the slider."""


class FlowView(QWidget):
    """A `FlowCanvas` with its knobs above, and the inputs tinted by their shares below.

    Signals
    -------
    edge_clicked : a `HeadRef` and (query row, key column), both counted over the whole row.
    node_clicked : the column of a node of the output's stack: its output is asked about.
    job_changed : a `FlowMethod` and the number of layers, as the user changes one of them.
    """

    edge_clicked = Signal(object, object)
    node_clicked = Signal(int)
    job_changed = Signal(object, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._result: FlowResult | None = None
        self._labels: Labels = {}
        self._cone_said = ""
        self.method = QComboBox()
        for method, name in _METHODS.items():
            self.method.addItem(name, method)
        self.layer = QSpinBox()
        self.layer.setMinimum(1)
        self.least = QSlider(Qt.Orientation.Horizontal)
        self.least.setRange(0, _STEPS)
        self.least.setValue(30)
        self.canvas = FlowCanvas()
        self.strips = {stack: LowStrip() for stack in NAMES}
        self.titles = {stack: QLabel(name) for stack, name in NAMES.items()}
        self.least_text, self.note = QLabel(), QLabel()
        self.note.setWordWrap(True)
        for label in (*self.titles.values(), self.least_text, self.note):
            label.setProperty("role", "muted")
        self._name()
        self._lay_out()
        self._connect()
        self._on_least_changed()
        self._show()

    # -- told from outside: never emits

    def set_flow(self, result: FlowResult, labels: Labels, layers: int = 0) -> None:
        """Show a result.

        Parameters
        ----------
        result : what an engine answered.
        labels : a token label for each column of each of its stacks.
        layers : layers of the model; 0 where that is not known, then no more than the result's.
        """
        self._result, self._labels, self._cone_said = result, labels, ""
        with QSignalBlocker(self.layer):
            self.layer.setMaximum(max(layers, result.layer))
            self.layer.setValue(result.layer)
        self.canvas.set_flow(result, labels)
        self._show()

    def set_cone(self, cone: Cone, sentence: str) -> None:
        """Shade what lies downstream of a cell of the mask, and say of which; empty for nothing."""
        self._cone_said = sentence
        self.canvas.set_cone(cone)
        self._show()

    def set_empty(self, text: str) -> None:
        """Show no flow, but a sentence that says what is awaited or what to do."""
        self._result, self._labels = None, {}
        self.canvas.set_empty(text)
        self._show()

    def set_stale(self, stale: bool) -> None:
        """Fade the flow while a newer one is computed."""
        self.canvas.set_stale(stale)

    def set_method(self, method: FlowMethod) -> None:
        """Measure shares by a method."""
        with QSignalBlocker(self.method):
            self.method.setCurrentIndex(list(_METHODS).index(method))
        self.canvas.set_method(method)
        self._show()

    # -- asked from outside

    @property
    def chosen(self) -> FlowMethod:
        """The method that is shown."""
        return list(_METHODS)[self.method.currentIndex()]

    @property
    def threshold(self) -> float:
        """The least share of an edge that is drawn; even steps of the slider are even factors."""
        factor: float = (_LARGEST / LEAST_EDGE) ** (self.least.value() / _STEPS)
        return LEAST_EDGE * factor

    # -- widgets

    def _name(self) -> None:
        for part, name in (
            (self.method, "Method"),
            (self.layer, "Layers looked through"),
            (self.least, "Least edge"),
        ):
            part.setAccessibleName(name)
            part.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.method.setToolTip(_TIPS["method"])
        self.layer.setToolTip(_TIPS["layer"])
        self.least.setToolTip(_TIPS["least"])
        for stack, strip in self.strips.items():
            strip.setAccessibleName(f"Shares of the {NAMES[stack]}")

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        layer_label, edges_label = QLabel("Layers"), QLabel("Edges from")
        layer_label.setBuddy(self.layer)
        edges_label.setBuddy(self.least)
        self.least.setMaximumWidth(160)
        self.least_text.setMinimumWidth(42)
        for part in (self.method, layer_label, self.layer, edges_label, self.least):
            top.addWidget(part)
        top.addWidget(self.least_text)
        top.addStretch(1)
        below = QGridLayout()
        for row, stack in enumerate(NAMES):
            below.addWidget(self.titles[stack], row, 0, Qt.AlignmentFlag.AlignTop)
            below.addWidget(self.strips[stack], row, 1)
        below.setColumnStretch(1, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(top)
        layout.addWidget(self.note)
        layout.addWidget(self.canvas, 1)
        layout.addLayout(below)

    def _connect(self) -> None:
        self.method.currentIndexChanged.connect(self._on_method_changed)
        self.layer.valueChanged.connect(self._on_layer_changed)
        self.least.valueChanged.connect(self._on_least_changed)
        self.canvas.edge_clicked.connect(self.edge_clicked)
        self.canvas.node_clicked.connect(self.node_clicked)
        self.strips[Stack.ENCODER].token_clicked.connect(self._on_source_clicked)
        self.strips[Stack.DECODER].token_clicked.connect(self._on_target_clicked)

    # -- what is shown

    def _show(self) -> None:
        result = self._result
        for part in (self.method, self.layer, self.least):
            part.setEnabled(result is not None)
        stacks = () if result is None else result.stacks
        shown = {stack.stack: stack for stack in stacks}
        for name, strip in self.strips.items():
            strip.setVisible(name in shown)
            self.titles[name].setVisible(name in shown and len(shown) > 1)
            if name in shown:
                strip.set_tokens(self._strip_state(shown[name]))
        told = () if result is None else result.notes_for(self.chosen)
        notes = (*told, *filter(None, [self._cone_said]))
        self.note.setText(" ".join(notes))
        self.note.setVisible(bool(notes))

    def _strip_state(self, stack: FlowStack) -> TokenStripState:
        assert self._result is not None
        known = stack.shares.get(self.chosen)
        shares = () if known is None else tuple(known[0].tolist())
        output = self._result.output
        selected = output.column if output.stack is stack.stack else None
        return TokenStripState(self._labels[stack.stack], selected=selected, shares=shares)

    # -- from the user

    def _on_method_changed(self) -> None:
        self.canvas.set_method(self.chosen)
        self._show()
        self.job_changed.emit(self.chosen, self.layer.value())

    def _on_layer_changed(self, layers: int) -> None:
        self.job_changed.emit(self.chosen, layers)

    def _on_least_changed(self) -> None:
        self.least_text.setText(f"{self.threshold:.3f}")
        self.canvas.set_least(self.threshold)

    def _on_source_clicked(self, slot: int) -> None:
        self._ask(Stack.ENCODER, slot)

    def _on_target_clicked(self, slot: int) -> None:
        self._ask(Stack.DECODER, slot)

    def _ask(self, stack: Stack, slot: int) -> None:
        """Ask about the output of another token; a source makes none."""
        if self._result is not None and self._result.output.stack is stack:
            self.node_clicked.emit(slot)


def make_demo() -> QWidget:
    """Return the flow of an invented decoder, or with ``--three`` of an encoder-decoder."""
    from widgets.flow_demo import LAYERS, demo_flow

    view = FlowView()
    view.set_flow(*demo_flow("--three" in sys.argv), layers=LAYERS)
    return view


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (700, 420)))
