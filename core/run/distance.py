"""How far two outputs, or two states, are apart: numpy alone, in float64.

Equal inputs give exactly 0 (a cosine of exactly 1); nothing here is ever NaN for finite inputs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def log_probabilities(logits: NDArray[np.float32]) -> Floats:
    """Log-softmax over the last axis, in nats."""
    shifted = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    found: Floats = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return found


def total_variation(log_p: Floats, log_q: Floats) -> NDArray[np.float32]:
    """Half the sum of ``|p - q|`` over the last axis, from 0 to 1."""
    apart: Floats = 0.5 * np.abs(np.exp(log_p) - np.exp(log_q)).sum(axis=-1)
    return apart.astype(np.float32)


def divergence(log_p: Floats, log_q: Floats) -> NDArray[np.float32]:
    """KL(p || q) over the last axis, in nats (Kullback & Leibler 1951); rounding below 0 is 0."""
    nats: Floats = (np.exp(log_p) * (log_p - log_q)).sum(axis=-1)
    return np.maximum(nats, 0.0).astype(np.float32)


def moved(
    log_p: Floats, log_q: Floats, count: int
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The tokens whose probability differs most, the first most; of equals the likeliest.

    Returns
    -------
    tuple
        ids int32 ``[n, count]``, and their probabilities float32 ``[2, n, count]``.
    """
    p, q = np.exp(log_p), np.exp(log_q)
    order = np.lexsort((-(p + q), -np.abs(p - q)), axis=-1)[:, :count]
    both = [np.take_along_axis(one, order, axis=-1) for one in (p, q)]
    return order.astype(np.int32), np.stack(both).astype(np.float32)


def cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cosine of the angle between states over the last axis; with a state of 0 it is 0.

    Equal states have exactly 1, two states of 0 too.
    """
    one, other = a.astype(np.float64), b.astype(np.float64)
    lengths = np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1)
    found = (one * other).sum(axis=-1) / np.where(lengths > 0, lengths, 1.0)
    found = np.where((a == b).all(axis=-1), 1.0, np.clip(found, -1.0, 1.0))
    return found.astype(np.float32)


def relative_norm(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    """L2 norm of ``a - b`` over the last axis in norms of ``a``; in its own norm where a is 0."""
    one, other = a.astype(np.float64), b.astype(np.float64)
    apart, own = np.linalg.norm(one - other, axis=-1), np.linalg.norm(one, axis=-1)
    whole = np.where(own > 0, own, np.where(apart > 0, apart, 1.0))
    found: Floats = apart / whole
    return found.astype(np.float32)
