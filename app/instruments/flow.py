"""The Flow dock: what can reach an output, and what does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app import presenter
from app.instruments.base import Instrument, View
from core.mask.reach import downstream, downstream_across
from core.types import FlowJob, FlowMethod, FlowResult, HeadRef, Stack


def downstream_of(view: View, result: FlowResult) -> tuple[dict[Stack, NDArray[np.bool_]], str]:
    """What lies downstream of the selected cell of the mask: bool ``[levels, S]`` by stack.

    Empty unless a query is selected with another key than itself.
    """
    cell, inputs, row = view.state.cell, view.scene.inputs, view.scene.row
    spec = view.scene.masks[view.state.stack]
    if cell is None or (spec.source is None and cell[1] == spec.past + cell[0]):
        return {}, ""
    depth = {stack.stack: stack.levels - 1 for stack in result.stacks}
    if inputs.source_mask is None:
        ((stack, layers),) = depth.items()
        cone = {stack: downstream(inputs.mask, row, cell, layers)}
    else:
        cone = downstream_across(
            inputs,
            row,
            view.state.stack,
            cell,
            layers=depth[Stack.DECODER],
            encoder_layers=depth[Stack.ENCODER],
        )
    count = sum(int(shaded.sum()) for shaded in cone.values())
    sentence = (
        f"Shaded: the {count} states that depend on whether query {spec.past + cell[0]} may read"
        f" key {cell[1]}."
    )
    return cone, sentence


class Flow(Instrument):
    """Follows the selected query: its output is what is explained."""

    name = "flow"
    title = "Flow"
    tip = "Which inputs can reach the selected output through the layers, and which do"
    shortcut = "Ctrl+Shift+F"

    def make(self) -> QWidget:
        """The layers of tokens."""
        from widgets.flow_view import FlowView

        self._layers = 0
        self._view: View | None = None
        self._flow = FlowView()
        self._flow.edge_clicked.connect(self._on_edge_clicked)
        self._flow.node_clicked.connect(self._on_node_clicked)
        self._flow.job_changed.connect(self._on_job_changed)
        return self._flow

    @property
    def method(self) -> FlowMethod:
        """How shares are measured."""
        return FlowMethod(self._flow.method.currentData())

    def job(self, view: View) -> FlowJob:
        """What flows to the selected query, or to the one that speaks for the text."""
        state, scene = view.state, view.scene
        row = state.cell[0] if state.cell else None
        query = presenter.query_shown(scene, state.stack, row)
        position = scene.inputs.mask.past + query
        request = replace(view.request, head=HeadRef(Stack.DECODER))
        return FlowJob(0, request, position, min(self._layers, self._deep(view)) or None)

    def show(self, view: View, answer: object) -> None:
        """Draw the flow."""
        assert isinstance(answer, FlowResult)
        self._view = view
        labels = {stack: tuple(names) for stack, names in self.labels(view.scene).items()}
        self._flow.set_flow(answer, labels, self._deep(view))
        cone, sentence = downstream_of(view, answer)
        self._flow.set_cone(cone, sentence)

    def refuse(self, sentence: str) -> None:
        """Say why nothing flows."""
        self._flow.set_empty(sentence)

    def await_answer(self) -> None:
        """Fade what is old."""
        self._flow.set_stale(True)

    def remember(self) -> dict[str, str]:
        """Method and number of layers."""
        return {"method": self.method.value, "layers": str(self._layers)}

    def restore(self, settings: dict[str, str]) -> None:
        """Method and number of layers."""
        if settings.get("method") in [method.value for method in FlowMethod]:
            self._flow.set_method(FlowMethod(settings["method"]))
        layers = settings.get("layers", "")
        if layers.isdecimal() and len(layers) < 4:
            self._layers = int(layers)
            self.asked.emit()

    @staticmethod
    def _deep(view: View) -> int:
        """Layers of the stack that makes the output."""
        deep = [m.thumbs.shape[0] for m in view.result.maps if m.stack is not Stack.CROSS]
        return int(deep[-1])

    @Slot(object, int)
    def _on_job_changed(self, method: FlowMethod, layers: int) -> None:
        if layers != self._layers:
            self._layers = layers
            self.asked.emit()

    @Slot(int)
    def _on_node_clicked(self, position: int) -> None:
        if self._view is None:
            return
        spec = self._view.scene.inputs.mask
        query = position - spec.past
        if not 0 <= query < spec.length:
            self.said.emit(f"Position {position} is in the cache: lower the cache offset.")
            return
        own = next(s for s in (Stack.DECODER, Stack.ENCODER) if s in self._view.scene.masks)
        state = self._view.state
        head = state.head if state.stack is not Stack.ENCODER or own is Stack.ENCODER else None
        self.picked.emit(replace(state, cell=(query, self._key(query)), head=head or HeadRef(own)))

    def _key(self, query: int) -> int:
        """The key that is selected with a query: itself, or the first source token."""
        assert self._view is not None
        spec = self._view.scene.masks[self._view.state.stack]
        return min(spec.past + query, spec.keys - 1) if spec.source is None else 0

    @Slot(object, object)
    def _on_edge_clicked(self, head: HeadRef, cell: tuple[int, int]) -> None:
        """Show the head that carries most of an edge, and its cell."""
        if self._view is None:
            return
        masks = self._view.scene.masks
        stack = head.stack if head.stack in masks else next(iter(masks))
        spec = masks[stack]
        query = cell[0] - spec.past
        if not 0 <= query < spec.length:
            self.said.emit(f"Query {cell[0]} is in the cache: lower the cache offset.")
            return
        picked = HeadRef(stack, head.layer, head.head)
        self.picked.emit(replace(self._view.state, head=picked, cell=(query, cell[1])))
