"""What flow is made of on ONNX Runtime: patterns and value norms, no gradient."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.export.ort_model import OrtModel, Seen, State
from core.run.arrays import Arrays, Floats
from core.run.cancel import CancelToken
from core.run.rollout import Evidence
from core.run.walls import Key
from core.types import FlowMethod, Stack

NO_GRADIENT = "ONNX Runtime computes no gradient: choose torch to see gradient × input."
NO_VALUES = (
    "The exported encoder hands out no values, so value norms of its levels are not known: choose"
    " torch to see them."
)


def evidence(
    model: OrtModel,
    given: Arrays,
    *,
    top: Stack,
    position: int,
    depth: int | None = None,
    token: int | None = None,
    cancel: CancelToken | None = None,
) -> Evidence:
    """Patterns and value norms of a run of one batch row over all its columns.

    ``given`` holds one row under any bool masks; the rest is as in `core.run.gradient.evidence`.
    """
    state = model.begin(1, given.source, cancel)
    patterns: dict[Key, NDArray[np.float32]] = {}
    layers: dict[Stack, int] = {}
    if state.memory is not None:
        patterns |= _patterns(state.memory, Stack.ENCODER)
        layers[Stack.ENCODER] = len(state.memory.queries)
    rows = np.array([position])
    chunk = model.chunk(state, given, given.ids.shape[1], rows=rows, cancel=cancel)
    for seen in chunk.seen:
        patterns |= _patterns(seen, Stack.CROSS if seen.stack is Stack.CROSS else top)
    layers[top] = model.config.layers if depth is None else depth
    hidden = state.buffers is None or state.memory is not None
    return Evidence(
        depth=layers,
        patterns=patterns,
        norms=_norms(state, model.config.layers, top),
        token=int(chunk.logits[0, 0].argmax()) if token is None else token,
        notes={NO_GRADIENT: FlowMethod.GRADIENT}
        | ({NO_VALUES: FlowMethod.VALUE_NORM} if hidden else {}),
    )


def _patterns(seen: Seen, stack: Stack) -> dict[Key, NDArray[np.float32]]:
    return {(stack, layer): seen.pattern(layer, 0) for layer in range(len(seen.queries))}


def _norms(state: State, layers: int, top: Stack) -> dict[Key, NDArray[np.float32]]:
    """L2 norms ``[kv_heads, S]`` of the values that are cached, own and cross."""
    if state.buffers is None:
        return {}
    norms = {(top, n): _norm(state.buffers.filled(2 * n + 1)) for n in range(layers)}
    crossing = [value.numpy() for value in state.cross[1::2]]
    return norms | {(Stack.CROSS, n): _norm(values) for n, values in enumerate(crossing)}


def _norm(values: Floats) -> NDArray[np.float32]:
    found: NDArray[np.float32] = np.linalg.norm(values[0].astype(np.float32), axis=-1)
    return found
