"""An invented flow to show `widgets.flow_view` with: random weights, rolled out by hand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.mask.intervals import row_intervals
from core.mask.reach import upstream, upstream_across
from core.types import (
    LEAST_EDGE,
    FlowEdges,
    FlowMethod,
    FlowResult,
    FlowStack,
    Inputs,
    MaskKind,
    MaskSpec,
    Stack,
)
from widgets.demo import WORDS

LAYERS = 4
_SOURCE = ("Mia", "put", "her", "<extra_id_0>", "in", "the", "box", "and", "went", "out")
_TARGET = ("<s>", "<extra_id_0>", "red", "ball", "<extra_id_1>", "box")

Labels = dict[Stack, tuple[str, ...]]
Floats = NDArray[np.float64]


def demo_flow(two: bool = False, columns: int = 15) -> tuple[FlowResult, Labels]:
    """Return what made the last but one column of a decoder, or of an encoder-decoder."""
    return _two_stacks() if two else _one_stack(columns)


def _one_stack(columns: int) -> tuple[FlowResult, Labels]:
    spec = MaskSpec(MaskKind.PREFIX, columns, prefix=6, left_pad=(2,))
    position = columns - 2
    mass = np.eye(columns)[position]
    edges: list[Floats] = []
    levels = [mass]
    for layer in reversed(range(LAYERS)):
        mass = _walk(edges, mass, _weights(spec, layer), (Stack.DECODER, layer))
        levels.append(mass)
    reach = upstream(spec, 0, position, LAYERS)
    stack = FlowStack(Stack.DECODER, reach, _shares(np.stack(levels[::-1])))
    labels = tuple((WORDS[n] if n < len(WORDS) else WORDS[n % 15 + 2]) for n in range(columns))
    result = FlowResult(1, position, LAYERS, 7, (stack,), _edges(edges, 0))
    return result, {Stack.DECODER: labels}


def _two_stacks() -> tuple[FlowResult, Labels]:
    source, target = len(_SOURCE), len(_TARGET)
    spec = MaskSpec(MaskKind.DECODER_SELF, target)
    read = MaskSpec(MaskKind.ENCODER_SELF, source)
    cross = MaskSpec(MaskKind.CROSS, target, source=source)
    inputs = Inputs(((0,) * target,), spec, ((0,) * source,), read, cross)
    position = target - 2
    mass, memory = np.eye(target)[position], np.zeros(source)
    edges: list[Floats] = []
    levels = [mass]
    for layer in reversed(range(LAYERS)):
        memory = memory + _hand_on(
            edges, 0.5 * mass, _weights(cross, layer + 9), (Stack.CROSS, layer)
        )
        mass = _walk(edges, 0.5 * mass, _weights(spec, layer), (Stack.DECODER, layer))
        levels.append(mass)
    below = [memory]
    for layer in (1, 0):
        below.append(_walk(edges, below[-1], _weights(read, layer + 20), (Stack.ENCODER, layer)))
    cones = upstream_across(inputs, 0, position, LAYERS, 2)
    made = {Stack.ENCODER: below, Stack.DECODER: levels}
    stacks = tuple(FlowStack(s, cones[s], _shares(np.stack(made[s][::-1]))) for s in made)
    labels = {Stack.ENCODER: _SOURCE, Stack.DECODER: _TARGET}
    return FlowResult(1, position, LAYERS, 7, stacks, _edges(edges, 3)), labels


def _weights(spec: MaskSpec, seed: int) -> Floats:
    open_cells = row_intervals(spec).dense()
    raw = np.random.default_rng(seed).gamma(0.25, size=open_cells.shape) * open_cells
    total = raw.sum(axis=1, keepdims=True)
    weights: Floats = raw / np.where(total > 0, total, 1.0)
    return weights


def _walk(edges: list[Floats], mass: Floats, weights: Floats, key: tuple[Stack, int]) -> Floats:
    """Half down the residual, half to what is read; a query that reads nothing keeps all."""
    half = np.where(weights.any(axis=1), 0.5, 0.0) * mass
    kept = mass - half
    _tell(edges, np.diag(kept), key, -1)
    brought: Floats = _hand_on(edges, half, weights, key)
    return kept + brought


def _hand_on(edges: list[Floats], mass: Floats, weights: Floats, key: tuple[Stack, int]) -> Floats:
    _tell(edges, mass[:, None] * weights, key, 1)
    brought: Floats = mass @ weights
    return brought


def _tell(edges: list[Floats], shares: Floats, key: tuple[Stack, int], head: int) -> None:
    rows, keys = np.nonzero(shares >= LEAST_EDGE)
    ones = np.ones(len(rows))
    stack, layer = list(Stack).index(key[0]), key[1]
    edges.append(
        np.stack([stack * ones, layer * ones, rows, keys, head * ones, shares[rows, keys]])
    )


def _edges(found: list[Floats], levels: int) -> FlowEdges:
    table = np.concatenate(found, axis=1)
    stack, layer, query, key, head, share = table[:, np.argsort(-table[5], kind="stable")]
    return FlowEdges(
        stack.astype(np.int8),
        layer.astype(np.int16),
        query.astype(np.int32),
        key.astype(np.int32),
        head.astype(np.int16),
        share.astype(np.float32),
        share.astype(np.float32),
        levels,
    )


def _shares(mass: Floats) -> dict[FlowMethod, NDArray[np.float32]]:
    """Rollout twice, and a signed gradient that is no more than a picture of one."""
    sign = np.random.default_rng(3).choice([-1.0, 1.0], mass.shape)
    made = (mass, mass, 3.0 * sign * mass)
    return {method: one.astype(np.float32) for method, one in zip(FlowMethod, made, strict=True)}
