"""From logits to the next token."""

from __future__ import annotations

import torch
from torch import Tensor

from core.types import Sampling


def distribution(logits: Tensor, sampling: Sampling) -> Tensor:
    """Probabilities ``[V]`` that the next token is drawn from.

    ``logits`` float ``[V]``. Temperature first, then the ``top_k`` likeliest, then the smallest set
    whose probability reaches ``top_p`` (nucleus; Holtzman et al. 2020); the rest becomes 0 and the
    kept sum to 1. Temperature 0 puts everything on the likeliest (the first of equals).
    """
    if sampling.temperature == 0:
        greedy = torch.zeros_like(logits)
        greedy[logits.argmax()] = 1.0
        return greedy
    probabilities = ((logits - logits.max()) / sampling.temperature).softmax(dim=-1)
    if 0 < sampling.top_k < probabilities.numel():
        order = probabilities.argsort(descending=True, stable=True)
        probabilities[order[sampling.top_k :]] = 0.0
    if sampling.top_p < 1:
        ordered, order = probabilities.sort(descending=True, stable=True)
        total = ordered.sum()
        before = ordered.cumsum(dim=-1) - ordered
        probabilities[order[before >= sampling.top_p * total]] = 0.0
    return probabilities / probabilities.sum()


def draw(logits: Tensor, sampling: Sampling, position: int) -> tuple[int, float]:
    """One token id and the probability it was drawn with.

    Chance depends on the seed and on ``position``, the place that the token will take in the text,
    alone: a text generated in one go is the one generated step by step, and the same on every
    device and beside every padding.
    """
    probabilities = distribution(logits.float().cpu(), sampling)
    if sampling.temperature == 0:
        token = int(probabilities.argmax())
    else:
        seed = (sampling.seed * 1_000_003 + position) % 2**63
        generator = torch.Generator().manual_seed(seed)
        token = int(torch.multinomial(probabilities, 1, generator=generator))
    return token, float(probabilities[token])
