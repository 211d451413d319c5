"""What one head of an exported model works with, from its queries, keys and cached values."""

from __future__ import annotations

import numpy as np

from core.export.ort_model import OrtModel, Seen, State
from core.run.arrays import Floats, arrays_of
from core.run.cancel import CancelToken
from core.run.stages import HeadParts
from core.run.validate import check
from core.run.walls import only_stack
from core.types import HeadRef, Stack, StagesJob

NO_VALUES = (
    "The exported encoder hands out no values, so there is no output to show: choose torch to see"
    " it."
)


def head_parts(model: OrtModel, job: StagesJob, cancel: CancelToken | None = None) -> HeadParts:
    """Run once, and keep one head of the chunk; errors as in `core.run.stages.stages`."""
    inputs, row, head = job.run.inputs, job.run.row, job.head
    check(model, inputs, row)
    given, spec = arrays_of(inputs), inputs.mask
    state = model.begin(spec.rows, given.source, cancel)
    if spec.past:
        model.chunk(state, given, spec.past, rows=np.arange(0), cancel=cancel)
    last = model.chunk(state, given, spec.filled, rows=np.arange(0), cancel=cancel)
    only = only_stack(inputs)
    found = {only or seen.stack: seen for seen in last.seen}
    if state.memory is not None:
        found[Stack.ENCODER] = state.memory
    seen = _stack(found, head)
    own = head.head * model.config.kv_heads // model.config.heads
    query = seen.queries[head.layer][row, head.head].astype(np.float32)
    keys = seen.keys[head.layer][row, own].astype(np.float32)
    values = _values(state, head, only)
    return HeadParts(
        scaled=query @ keys.T / np.sqrt(np.float32(query.shape[-1])),
        mask=seen.mask[row, 0],
        weights=seen.pattern(head.layer, row)[head.head],
        values=None if values is None else values[row, own].astype(np.float32),
        width=query.shape[-1],
        notes=(NO_VALUES,) if values is None else (),
    )


def _stack(found: dict[Stack, Seen], head: HeadRef) -> Seen:
    """The stack of a head; raises ValueError if there is no such head."""
    seen = found.get(head.stack)
    layers = 0 if seen is None else len(seen.queries)
    if seen is not None and 0 <= head.layer < layers and 0 <= head.head < seen.heads:
        return seen
    raise ValueError(
        f"There is no head {head.head + 1} in {head.stack.value} layer {head.layer + 1}."
    )


def _values(state: State, head: HeadRef, only: Stack | None) -> Floats | None:
    """The values that a layer reads, ``[B, kv_heads, S, d]``; None where none are handed out."""
    if head.stack is Stack.CROSS:
        crossing: Floats = state.cross[2 * head.layer + 1].numpy()
        return crossing
    if state.buffers is None or (state.memory is not None and head.stack is Stack.ENCODER):
        return None
    return state.buffers.filled(2 * head.layer + 1)
