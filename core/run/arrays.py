"""What a model reads, as numpy arrays, and what its attention then weighs: torch-free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.mask.dense import dense
from core.mask.padding import position_ids
from core.mask.spec import whole
from core.types import Inputs

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Source:
    """What an encoder reads: ids and positions ``[B, S]``, its mask ``[B, 1 or H, S, S]``."""

    ids: Ints
    positions: Ints
    mask: Mask


@dataclass(frozen=True)
class Arrays:
    """Whole rows, cached part and chunk alike, with ``N = past + length``.

    ``ids`` and ``positions`` ``[B, N]``, ``mask`` ``[B, 1 or H, N, N]``; an encoder-decoder has a
    source and ``cross_mask`` ``[B, 1 or H, N, S]`` beside.
    """

    ids: Ints
    positions: Ints
    mask: Mask
    source: Source | None = None
    cross_mask: Mask | None = None


def arrays_of(inputs: Inputs) -> Arrays:
    """Ids, position ids and dense masks of ``inputs``."""
    spec = whole(inputs.mask)
    body = np.asarray(inputs.rows, np.int64), position_ids(spec), dense(spec)
    if inputs.source_mask is None or inputs.cross_mask is None:
        return Arrays(*body)
    read = inputs.source_mask
    source = Source(np.asarray(inputs.source, np.int64), position_ids(read), dense(read))
    return Arrays(*body, source, dense(whole(inputs.cross_mask)))


def pattern(query: Floats, keys: Floats, mask: Mask) -> NDArray[np.float32]:
    """Attention weights float32 ``[H, Tq, S]`` of one batch row, anew from what they are made of.

    ``query`` ``[H, Tq, d]``, ``keys`` ``[kv_heads, S, d]``, ``mask`` ``[1 or H, Tq, S]``. A row
    that may read nothing is 0. Differs from the weights inside the graph by rounding alone.
    """
    weights = softmax(np.where(mask, scores(query, keys), np.finfo(np.float32).min))
    np.copyto(weights, 0, where=~mask)
    return weights


def scores(query: Floats, keys: Floats) -> NDArray[np.float32]:
    """Scaled dot products before the mask, float32 ``[H, Tq, S]``; shapes as in `pattern`."""
    group = len(query) // len(keys)
    shared = np.repeat(keys, group, axis=0) if group > 1 else keys
    found = _single(query) @ _single(shared).transpose(0, 2, 1)
    found /= np.sqrt(np.float32(query.shape[-1]))
    return found


def _single(values: Floats) -> NDArray[np.float32]:
    return values.astype(np.float32, copy=False)


def softmax(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Softmax over the last axis."""
    powers: NDArray[np.float32] = np.exp(values - values.max(axis=-1, keepdims=True))
    powers /= powers.sum(axis=-1, keepdims=True)
    return powers


def likeliest(
    logits: NDArray[np.float32], count: int
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Ids and probabilities ``[..., count]`` of the likeliest tokens, best first.

    Of equally likely ones the smaller id comes first; which of them are among the last is chance.
    """
    count = min(count, logits.shape[-1])
    some = np.sort(np.argpartition(-logits, count - 1, axis=-1)[..., :count], axis=-1)
    order = np.argsort(-np.take_along_axis(logits, some, axis=-1), axis=-1, kind="stable")
    found = np.take_along_axis(some, order, axis=-1)
    return found.astype(np.int32), np.take_along_axis(softmax(logits), found, axis=-1)
