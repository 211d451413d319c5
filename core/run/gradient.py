"""Gradient times input, and the rest of what flow asks of a run on torch.

The gradient is that of one logit with respect to the state of every column at every level, times
that state, summed over the width (Shrikumar et al. 2016): signed, in logits. Attention is traced,
so that a closed cell hands back a gradient of exactly 0. At the level that the logit is read from
it is nearly 0, since the norm that follows forgets how long a state is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.model.cache import Cache, KeyValue
from core.model.transformer import LayerStack, Transformer, Watcher
from core.run.capture import Capture
from core.run.rollout import Evidence
from core.run.step import Tensors
from core.run.walls import Key
from core.types import FlowMethod, Stack

_EARLY = (
    "The gradient is that of the logit as it is read after layer {} of {}, through the last norm"
    " and the output matrix."
)


def climb(
    stack: LayerStack,
    ids: Tensor,
    positions: Tensor,
    mask: Tensor,
    cache: Cache,
    cross_mask: Tensor | None = None,
    watcher: Watcher | None = None,
) -> list[Tensor]:
    """States ``[B, T, width]`` of every level of a stack, before its last norm; level 0 is a leaf.

    Parameters are those of `LayerStack.forward`, which computes the same and keeps the last alone.
    """
    levels = [stack.embedding(ids, positions).detach().requires_grad_()]
    for layer, block in enumerate(stack.blocks):
        memory = cache.cross[layer] if cache.cross else None
        levels.append(block(levels[-1], mask, cache, cross_mask, memory, watcher))
    return levels


def gradient_times_input(
    logit: Tensor, climbed: Mapping[Stack, Sequence[Tensor]]
) -> dict[Stack, NDArray[np.float32]]:
    """Gradient of a scalar times the states it was made of, float32 ``[levels, T]`` by stack.

    ``climbed`` holds ``[1, T, width]`` of every level. The gradients of the model's parameters stay
    as they are.
    """
    states = [state for levels in climbed.values() for state in levels]
    gradients = iter(torch.autograd.grad(logit, states))
    found = {}
    for stack, levels in climbed.items():
        products = [(next(gradients) * state.detach()).sum(dim=-1)[0] for state in levels]
        found[stack] = torch.stack(products).float().cpu().numpy()
    return found


def evidence(
    model: Transformer,
    tensors: Tensors,
    capture: Capture,
    *,
    top: Stack,
    position: int,
    depth: int | None = None,
    token: int | None = None,
) -> Evidence:
    """Patterns, value norms and gradients of a run of one batch row over all its columns.

    Parameters
    ----------
    model, tensors : what is run; one batch row, any bool masks. Call outside of inference mode.
    capture : keeps the patterns; may stop the run.
    top : what the stack that makes the output is called.
    position : the column whose logit is explained.
    depth : the level that the logit is read from, through the last norm and the output matrix;
        None is the last, and the logit then the model's own.
    token : the explained token; None is the likeliest of the whole model at ``position``.
    """
    climbed: dict[Stack, list[Tensor]] = {}
    cache, norms = Cache(), {}
    if tensors.source_ids is not None:
        assert tensors.source_positions is not None
        assert tensors.source_mask is not None
        own, source = Cache(), (tensors.source_ids, tensors.source_positions, tensors.source_mask)
        climbed[Stack.ENCODER] = climb(model.encoder, *source, own, watcher=capture)
        memory = model.encoder.norm(climbed[Stack.ENCODER][-1])
        cache = Cache(cross=model.body.project_memory(memory))
        norms = _norms(Stack.ENCODER, own.own) | _norms(Stack.CROSS, dict(enumerate(cache.cross)))
    given = tensors.ids, tensors.positions, tensors.mask, cache, tensors.cross_mask
    levels = climb(model.body, *given, watcher=capture)
    last = len(levels) - 1
    depth = last if depth is None else depth
    climbed[top] = levels[: depth + 1]
    if token is None:
        token = int(_logits(model, levels[-1], position).argmax())
    logit = _logits(model, levels[depth], position)[token]
    return Evidence(
        depth={stack: len(states) - 1 for stack, states in climbed.items()},
        patterns=capture.patterns,
        norms=norms | _norms(top, cache.own),
        token=token,
        gradients=gradient_times_input(logit, climbed),
        notes={} if depth == last else {_EARLY.format(depth, last): FlowMethod.GRADIENT},
    )


def _logits(model: Transformer, states: Tensor, position: int) -> Tensor:
    """Logits ``[V]`` of one column of ``[1, T, width]``."""
    found: Tensor = model.head(model.body.norm(states[0, position]))
    return found


def _norms(stack: Stack, pairs: dict[int, KeyValue]) -> dict[Key, NDArray[np.float32]]:
    """L2 norms ``[kv_heads, S]`` of the cached values of every layer."""
    return {
        (stack, layer): values[0].detach().float().norm(dim=-1).cpu().numpy()
        for layer, (_, values) in pairs.items()
    }
