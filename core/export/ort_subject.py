"""An exported model as the subject of checks; torch-free."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.export.ort_model import Chunk, OrtModel
from core.run.arrays import Arrays
from core.run.cancel import CancelToken
from core.run.checks.subject import Reading, Subject
from core.run.walls import Key
from core.types import Stack

TOLERANCES = {"float32": 2e-4, "float16": 5e-2, "int8": 4e-1}
"""The largest difference of logits between two readings of one graph that is rounding."""


class OrtSubject(Subject):
    """An `OrtModel` read as its engine reads it."""

    engine = "ONNX Runtime"
    blind_to_weights = (
        "An exported graph hands out queries and keys, not weights: those are computed from the"
        " declared mask."
    )

    def __init__(self, model: OrtModel, name: str, cancel: CancelToken | None = None) -> None:
        super().__init__(cancel)
        self.model, self.name, self.config = model, name, model.config
        self.tolerance = tolerance(model)

    def _read(self, given: Arrays, stops: tuple[int, ...], patterns: bool) -> Reading:
        state = self.model.begin(len(given.ids), given.source, self.cancel)
        kept: dict[Key, list[NDArray[np.float32]]] = {}
        if patterns and state.memory is not None:
            _keep(kept, Chunk(np.empty(0, np.float32), (state.memory,)), 0)
        logits = []
        for stop in stops:
            chunk = self.model.chunk(state, given, stop, cancel=self.cancel)
            logits.append(chunk.logits.copy())
            if patterns:
                _keep(kept, chunk, stops[-1])
        whole = {key: np.concatenate(parts, axis=2) for key, parts in kept.items()}
        return Reading(np.concatenate(logits, axis=1), whole)


def tolerance(model: OrtModel) -> float:
    """The largest absolute difference of logits that is rounding."""
    return TOLERANCES[model.dtype]


def _keep(kept: dict[Key, list[NDArray[np.float32]]], chunk: Chunk, width: int) -> None:
    """Add the patterns of a chunk, as wide as the whole row."""
    for seen in chunk.seen:
        for layer, queries in enumerate(seen.queries):
            pattern = np.stack([seen.pattern(layer, row) for row in range(len(queries))])
            if seen.stack is not Stack.CROSS and pattern.shape[-1] < width:
                short = width - pattern.shape[-1]
                pattern = np.pad(pattern, ((0, 0), (0, 0), (0, 0), (0, short)))
            kept.setdefault((seen.stack, layer), []).append(pattern)
