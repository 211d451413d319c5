"""One side of a comparison read on ONNX Runtime: weights, scores and logits, no states."""

from __future__ import annotations

import numpy as np

from core.export.ort_model import OrtModel, Seen
from core.export.ort_subject import tolerance
from core.run.arrays import arrays_of
from core.run.cancel import CancelToken
from core.run.side import SideReading, checked
from core.run.validate import out_of_training
from core.run.walls import Layers
from core.types import Side, Stack

NO_STATES = (
    "An exported graph hands out no hidden states, so levels are not compared; choose torch to"
    " see them."
)


def read_side(model: OrtModel, side: Side, cancel: CancelToken | None = None) -> SideReading:
    """Read the row of a side.

    Raises
    ------
    ValueError
        for inputs that the model cannot run, and for a deliberate fault: a file has none.
    EngineError, Cancelled
        as `core.export.ort_engine`.
    """
    if side.mask_after_softmax or not side.positions:
        fault = "mask after the softmax" if side.mask_after_softmax else "leave position ids out"
        raise ValueError(
            f"{side.title}: an exported model cannot {fault}; choose torch to see what that does."
        )
    inputs, past = checked(model, side), side.run.inputs.mask.past
    given, width = arrays_of(inputs), inputs.mask.filled
    state = model.begin(1, given.source, cancel)
    kept = _Kept(side.scores)
    if state.memory is not None:
        kept.take(state.memory, Stack.ENCODER)
    logits = []
    for stop in (past, width) if past else (width,):
        chunk = model.chunk(state, given, stop, cancel=cancel)
        logits.append(chunk.logits[0].copy())
        for seen in chunk.seen:  # An exported encoder calls its only stack by its own name.
            kept.take(seen, Stack.CROSS if seen.stack is Stack.CROSS else Stack.DECODER)
    note = out_of_training(model, inputs.mask)
    return SideReading(
        logits=np.concatenate(logits),
        patterns=kept.patterns,
        scores=kept.scores,
        tolerance=tolerance(model),
        notes=(
            *((f"{side.title}: {side.run.model} was {note}.",) if note else ()),
            NO_STATES,
        ),
    )


class _Kept:
    """Weights, and scores if they are wanted, by stack and layer: chunk below chunk."""

    def __init__(self, wants_scores: bool) -> None:
        self.patterns, self.scores = Layers(), Layers()
        self._wants_scores = wants_scores

    def take(self, seen: Seen, stack: Stack) -> None:
        """Keep the layers of one call."""
        for layer in range(len(seen.queries)):
            self.patterns.add((stack, layer), seen.pattern(layer, 0))
            if self._wants_scores:
                self.scores.add((stack, layer), seen.scores(layer, 0))
