"""How much of an output stands at each node below it: rollout, weighed evenly or by value norm.

Needs numpy only, so that every engine's patterns go through the same arithmetic.

Attention rollout is that of Abnar & Zuidema 2020: the heads of a layer are averaged, and half of
what a position holds is taken to come from its own residual, ``0.5 A + 0.5 I``. A query that may
read nothing takes all from its residual, so nothing is lost. A decoder layer with cross-attention
mixes twice: half is what cross-attention brings, the other half what self-attention left.

With value norms, each weight is multiplied by the L2 norm of the head's value vector before the
average, and each row is brought back to the sum 1. After Kobayashi et al. 2020, who take the norm
of the value behind the output matrix; here it is the value as a cache holds it, before that matrix,
so that it can be said of an exported model too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.run.walls import Key
from core.types import FlowMethod, Stack

Values = NDArray[np.float64]


@dataclass
class Evidence:
    """What one run over whole rows leaves behind for flow, of one batch row.

    Attributes
    ----------
    depth : layers of each stack that are looked through.
    patterns : float32 ``[H, Tq, S]`` by layer, 0 where closed.
    norms : float32 ``[kv_heads, S]`` by layer, L2 norms of the value vectors; layers whose values
        cannot be had are absent.
    token : the token that is explained.
    gradients : float32 ``[levels, S]`` of each stack, signed; empty where there are none.
    notes : sentences about what could not be had, with the method that each is about.
    """

    depth: dict[Stack, int]
    patterns: dict[Key, NDArray[np.float32]]
    norms: dict[Key, NDArray[np.float32]]
    token: int
    gradients: dict[Stack, NDArray[np.float32]] = field(default_factory=dict)
    notes: dict[str, FlowMethod] = field(default_factory=dict)

    @property
    def top(self) -> Stack:
        """The stack that makes the output."""
        return next(reversed(self.depth))


def even(pattern: NDArray[np.float32]) -> Values:
    """The average of the heads, float64 ``[Tq, S]``, of a pattern ``[H, Tq, S]``."""
    mean: Values = pattern.mean(axis=0, dtype=np.float64)
    return mean


def by_value_norm(pattern: NDArray[np.float32], norms: NDArray[np.float32]) -> Values:
    """Weights times value norms, averaged over heads, rows brought to the sum 1, ``[Tq, S]``.

    ``norms`` ``[kv_heads, S]``, each shared by an equal group of heads. A row that carries nothing
    stays 0.
    """
    shared = np.repeat(norms, len(pattern) // len(norms), axis=0)
    mixed: Values = np.einsum("hqk,hk->qk", pattern, shared, dtype=np.float64)
    total = mixed.sum(axis=1, keepdims=True)
    return mixed / np.where(total > 0, total, 1.0)


@dataclass
class Flow:
    """Mass walked down from one output.

    ``mass`` float64 ``[levels, S]`` by stack. ``passed`` float64 ``[Tq]`` by attention layer: what
    a query hands on through that attention. ``kept`` float64 ``[Tq]`` by layer of nodes: what goes
    down the residual.
    """

    mass: dict[Stack, Values]
    passed: dict[Key, Values] = field(default_factory=dict)
    kept: dict[Key, Values] = field(default_factory=dict)


def walk(
    weights: Mapping[Key, Values], depth: Mapping[Stack, int], sizes: Mapping[Stack, int], at: int
) -> Flow:
    """Send a mass of 1 down from column ``at`` on top of the last stack of ``depth``.

    Parameters
    ----------
    weights : float ``[Tq, S]`` by attention layer, each row with the sum 1, or 0 where empty. A
        stack that lacks a layer is left out, and so are the stacks below it.
    depth : layers by stack, source before target.
    sizes : columns by stack.
    at : column.
    """
    flow = Flow({})
    *sources, top = depth
    down = np.zeros(sizes[top])
    down[at] = 1.0
    for stack in (top, *sources):
        own = [(stack, layer) for layer in range(depth[stack])]
        if any(key not in weights for key in own):
            return flow
        levels = [down]
        memory = np.zeros(sizes[sources[0]] if sources else 0)
        for key in reversed(own):
            cross = (Stack.CROSS, key[1])
            left = levels[-1]
            if stack is top and cross in weights:
                left, brought = _mix(flow, cross, left, weights[cross])
                memory = memory + brought
            flow.kept[key], brought = _mix(flow, key, left, weights[key])
            levels.append(flow.kept[key] + brought)
        flow.mass[stack] = np.stack(levels[::-1])
        down = memory
    return flow


def _mix(flow: Flow, key: Key, mass: Values, weights: Values) -> tuple[Values, Values]:
    """What stays with each query, and what its keys get: a half each, unless it reads nothing."""
    flow.passed[key] = np.where(weights.any(axis=1), 0.5, 0.0) * mass
    brought: Values = flow.passed[key] @ weights
    return mass - flow.passed[key], brought
