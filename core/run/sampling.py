"""From logits to the next token: one distribution and one chance for every engine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.run.arrays import softmax
from core.types import Sampling


def distribution(logits: NDArray[np.float32], sampling: Sampling) -> NDArray[np.float32]:
    """Probabilities ``[V]`` that the next token is drawn from.

    ``logits`` float32 ``[V]``. Temperature first, then the ``top_k`` likeliest, then the smallest
    set whose probability reaches ``top_p`` (nucleus; Holtzman et al. 2020); the rest becomes 0 and
    the kept sum to 1. Temperature 0 puts everything on the likeliest (the first of equals).
    """
    if sampling.temperature == 0:
        greedy = np.zeros_like(logits)
        greedy[logits.argmax()] = 1.0
        return greedy
    with np.errstate(over="ignore"):  # A temperature near 0 leaves the likeliest alone.
        probabilities = softmax((logits - logits.max()) / np.float32(sampling.temperature))
    if 0 < sampling.top_k < probabilities.size:
        order = np.argsort(-probabilities, kind="stable")
        probabilities[order[sampling.top_k :]] = 0.0
    if sampling.top_p < 1:
        order = np.argsort(-probabilities, kind="stable")
        ordered = probabilities[order]
        before = ordered.cumsum() - ordered
        probabilities[order[before >= sampling.top_p * ordered.sum()]] = 0.0
    total: NDArray[np.float32] = probabilities / probabilities.sum()
    return total


def draw(logits: NDArray[np.float32], sampling: Sampling, position: int) -> tuple[int, float]:
    """One token id and the probability it was drawn with.

    Chance depends on the seed and on ``position``, the place that the token will take in the text,
    alone: a text generated in one go is the one generated step by step, and the same on every
    device, on every engine and beside every padding.
    """
    probabilities = distribution(logits, sampling)
    if sampling.temperature == 0:
        token = int(probabilities.argmax())
    else:
        generator = np.random.default_rng((sampling.seed % 2**64, position))
        reached = np.cumsum(probabilities, dtype=np.float64)
        token = int(np.searchsorted(reached, generator.random() * reached[-1], side="right"))
    return token, float(probabilities[token])
