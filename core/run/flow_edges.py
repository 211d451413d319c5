"""The edges that carry much of a flow, cut where they carry little."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.run.rollout import Flow, Values
from core.run.walls import Key
from core.types import LEAST_EDGE, FlowEdges, Stack

MOST = 4000
"""The most edges that are kept; no layer has more than 500 of `LEAST_EDGE` by one method."""

_NUMBER = {stack: number for number, stack in enumerate(Stack)}


@dataclass(frozen=True)
class Walked:
    """A flow and the weights ``[Tq, S]`` that it went along."""

    weights: Mapping[Key, Values]
    flow: Flow


def strongest(
    patterns: Mapping[Key, NDArray[np.float32]], rollout: Walked, value_norm: Walked, levels: int
) -> FlowEdges:
    """Edges whose share by either method is `LEAST_EDGE` or more, the larger of the two deciding.

    ``patterns`` ``[H, Tq, S]`` name the head with the largest weight; ``levels`` are the encoder's.
    """
    parts = [_attention(key, patterns[key], rollout, value_norm) for key in rollout.flow.passed]
    parts += [_residual(key, rollout.flow, value_norm.flow) for key in rollout.flow.kept]
    table = np.concatenate(parts, axis=1)
    order = np.argsort(-np.fmax(table[5], table[6]), kind="stable")[:MOST]
    stack, layer, query, key, head, by_rollout, by_norm = table[:, order]
    return FlowEdges(
        stack.astype(np.int8),
        layer.astype(np.int16),
        query.astype(np.int32),
        key.astype(np.int32),
        head.astype(np.int16),
        by_rollout.astype(np.float32),
        by_norm.astype(np.float32),
        levels,
    )


def _attention(
    key: Key, pattern: NDArray[np.float32], rollout: Walked, value_norm: Walked
) -> Values:
    """Seven rows, as the fields of `FlowEdges`, of the edges of one attention layer."""
    by_rollout = rollout.flow.passed[key]
    by_norm = value_norm.flow.passed.get(key)
    heavy = by_rollout if by_norm is None else np.maximum(by_rollout, by_norm)
    rows = np.flatnonzero(heavy >= LEAST_EDGE)
    shares = by_rollout[rows, None] * rollout.weights[key][rows]
    norms = np.full_like(shares, np.nan)
    if by_norm is not None:
        norms = by_norm[rows, None] * value_norm.weights[key][rows]
    at, keys = np.nonzero(np.fmax(shares, norms) >= LEAST_EDGE)
    heads = pattern[:, rows[at], keys].argmax(axis=0)
    found = shares[at, keys], norms[at, keys]
    return _table(key, rows[at], keys, heads, *found)


def _residual(key: Key, rollout: Flow, value_norm: Flow) -> Values:
    shares = rollout.kept[key]
    norms = value_norm.kept.get(key, np.full_like(shares, np.nan))
    rows = np.flatnonzero(np.fmax(shares, norms) >= LEAST_EDGE)
    return _table(key, rows, rows, np.full(len(rows), -1), shares[rows], norms[rows])


def _table(key: Key, *columns: NDArray[np.integer] | Values) -> Values:
    count = len(columns[0])
    first = np.full(count, _NUMBER[key[0]]), np.full(count, key[1])
    return np.stack([*first, *columns]).astype(np.float64)
