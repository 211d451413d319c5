"""From logits to the next token without torch: the distribution of `core.run.sampling` in numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.export.arrays import softmax
from core.types import Sampling


def distribution(logits: NDArray[np.float32], sampling: Sampling) -> NDArray[np.float32]:
    """Probabilities ``[V]`` that the next token is drawn from; see `core.run.sampling`."""
    if sampling.temperature == 0:
        greedy = np.zeros_like(logits)
        greedy[logits.argmax()] = 1.0
        return greedy
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

    Chance depends on the seed and on ``position``, the place of the token in the text, alone.
    Greedy tokens are those of torch; drawn ones come from numpy's chance, which is another.
    """
    probabilities = distribution(logits, sampling)
    if sampling.temperature == 0:
        token = int(probabilities.argmax())
    else:
        generator = np.random.default_rng((sampling.seed, position))
        reached = np.cumsum(probabilities, dtype=np.float64)
        token = int(np.searchsorted(reached, generator.random() * reached[-1], side="right"))
    return token, float(probabilities[token])
