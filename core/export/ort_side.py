"""One side of a comparison read on ONNX Runtime: weights and logits, no states."""

from __future__ import annotations

from core.export.ort_model import OrtModel
from core.export.ort_subject import OrtSubject
from core.run.cancel import CancelToken
from core.run.side import SideReading, checked
from core.run.validate import out_of_training
from core.types import Side, Stack

NO_STATES = (
    "{}: the exported graph hands out no hidden states, so levels are not compared; choose torch to"
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
    subject = OrtSubject(model, side.run.model, cancel)
    reading = subject.read(inputs, (past,), patterns=True)
    note = out_of_training(model, inputs.mask)
    patterns = {key: pattern[0] for key, pattern in reading.patterns.items()}
    if inputs.source_mask is None:  # An exported encoder calls its only stack by its own name.
        patterns = {(Stack.DECODER, layer): patterns[stack, layer] for stack, layer in patterns}
    return SideReading(
        logits=reading.logits[0],
        patterns=patterns,
        tolerance=subject.tolerance,
        notes=(
            *((f"{side.title}: {side.run.model} was {note}.",) if note else ()),
            NO_STATES.format(side.title),
        ),
    )
