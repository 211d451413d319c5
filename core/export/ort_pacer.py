"""An exported model that is timed; torch-free."""

from __future__ import annotations

import numpy as np

from core.export.ort_model import OrtModel, State
from core.run.arrays import Arrays, arrays_of
from core.run.cancel import CancelToken
from core.types import Inputs


class OrtPacer:
    """Runs as its engine does: logits of the whole prefill, buffers that are written in place."""

    engine = "ONNX Runtime"

    def __init__(self, model: OrtModel, cancel: CancelToken | None = None) -> None:
        self.config, self.device, self.dtype = model.config, model.device, model.dtype
        self.threads = model.threads
        self._model, self._cancel = model, cancel
        self._given: Arrays | None = None

    def prepare(self, inputs: Inputs) -> None:
        """Ids, positions and masks as arrays."""
        self._given = arrays_of(inputs)

    def prefill(self, stop: int) -> State:
        """Read the source and the first ``stop`` columns; returns the state."""
        assert self._given is not None
        batch = len(self._given.ids)
        state = self._model.begin(batch, self._given.source, self._cancel)
        if stop:
            self._model.chunk(state, self._given, stop, cancel=self._cancel)
        return state

    def step(self, state: State) -> None:
        """Run one more column, and take it back."""
        assert self._given is not None
        assert state.buffers is not None
        before = state.length
        self._model.chunk(state, self._given, before + 1, rows=np.arange(1), cancel=self._cancel)
        state.buffers.length = before
