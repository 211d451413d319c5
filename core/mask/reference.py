"""The slow, plain oracle: every definition once more, as a student would write it down.

Loops over single cells, no broadcasting, and nothing shared with the rest of the package, so that
an error would have to be made twice to go unseen. Used by tests; far too slow for a picture.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from core.types import MaskKind, MaskSpec, Reason


def reference_mask(spec: MaskSpec) -> NDArray[np.bool_]:
    """Bool ``[B, Tq, S]``, True = query row may read key column."""
    mask: NDArray[np.bool_] = reference_reasons(spec) == Reason.OPEN
    return mask


def reference_reasons(spec: MaskSpec) -> NDArray[np.uint8]:
    """The `Reason` of every cell, uint8 ``[B, Tq, S]``."""
    table = np.zeros((spec.rows, spec.length, spec.keys), np.uint8)
    for b in range(spec.rows):
        slots = _slots(spec, b)
        for r in range(spec.length):
            for key in range(spec.keys):
                table[b, r, key] = _why(spec, b, slots, spec.past + r, key)
    return table


def _slots(spec: MaskSpec, b: int) -> list[int]:
    """The document number of every filled slot of a row; a pad has its neighbour's."""
    tokens = [number for number, length in enumerate(spec.documents) for _ in range(length)]
    if not spec.documents:
        tokens = [0] * spec.filled
    tokens = tokens[: spec.real_tokens(b)]
    left = [tokens[0]] * spec.left_pad[b]
    right = [tokens[-1]] * spec.right_pad[b]
    return left + tokens + right


def _why(spec: MaskSpec, b: int, slots: list[int], query: int, key: int) -> Reason:
    """The first rule that closes a cell; ``query`` is the absolute position."""
    first_real = spec.left_pad[b]
    last_real = len(slots) - 1 - spec.right_pad[b]
    if key < first_real or last_real < key < len(slots):
        return Reason.PADDING
    if key >= len(slots):
        return Reason.BEYOND_CACHE
    if spec.kind is MaskKind.CROSS:
        return Reason.OPEN
    if slots[query] != slots[key]:
        return Reason.OTHER_DOCUMENT

    looks_ahead = spec.kind in (MaskKind.BIDIRECTIONAL, MaskKind.ENCODER_SELF)
    if spec.window is not None:
        distance = query - key
        if distance >= spec.window:
            return Reason.OUTSIDE_WINDOW
        if looks_ahead and -distance >= spec.window:
            return Reason.OUTSIDE_WINDOW

    if key <= query or looks_ahead:
        return Reason.OPEN
    end_of_prefix = first_real + spec.prefix
    if spec.kind is MaskKind.PREFIX and query < end_of_prefix and key < end_of_prefix:
        return Reason.OPEN
    return Reason.FUTURE


def reference_positions(spec: MaskSpec) -> NDArray[np.int64]:
    """Position ids int64 ``[B, filled]``, counted token by token."""
    table = np.zeros((spec.rows, spec.filled), np.int64)
    for b in range(spec.rows):
        slots = _slots(spec, b)
        position = 0
        for column in range(spec.left_pad[b] + 1, spec.filled):
            is_pad = column >= spec.filled - spec.right_pad[b]
            if slots[column] != slots[column - 1]:
                position = 0
            elif not is_pad:
                position += 1
            table[b, column] = position
    return table


def reference_attention(
    scores: NDArray[np.floating], values: NDArray[np.floating], mask: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Weighted values of one head, the mask applied before the softmax.

    Parameters
    ----------
    scores : float ``[Tq, S]``, already scaled.
    values : float ``[S, D]``. An identity matrix gives the weights themselves.
    mask : bool ``[Tq, S]``, True = may read.

    Returns
    -------
    array
        float64 ``[Tq, D]``; a row that may read nothing is zero.
    """
    output = np.zeros((scores.shape[0], values.shape[1]))
    for i in range(scores.shape[0]):
        allowed = [j for j in range(scores.shape[1]) if mask[i, j]]
        if not allowed:
            continue
        highest = max(float(scores[i, j]) for j in allowed)
        weights = {j: math.exp(float(scores[i, j]) - highest) for j in allowed}
        total = sum(weights.values())
        for j in allowed:
            output[i] += weights[j] / total * values[j]
    return output
