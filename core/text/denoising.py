"""What denoising does to a text before it is restored (BART, Lewis et al. 2020).

Pure functions on numpy arrays of text without begin and end; chance comes from the generator that
is passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
from numpy.typing import NDArray

from core.text.objectives import Example, Ids, parts
from core.text.special import BOS, EOS, MASK, PAD
from core.types import Noise

RATE = 0.3
"""Share of the text that is masked, deleted or cut out."""
MEAN_SPAN = 3.0
"""Mean length of a span that is cut out; lengths are Poisson, so a span may be empty."""


def masking(text: Ids, rng: np.random.Generator) -> Ids:
    """Tokens become ``[MASK]``, each with probability `RATE`."""
    return np.where(rng.random(len(text)) < RATE, MASK, text)


def deletion(text: Ids, rng: np.random.Generator) -> Ids:
    """Tokens vanish, each with probability `RATE`; which ones has to be found out."""
    return text[rng.random(len(text)) >= RATE]


def infilling(text: Ids, rng: np.random.Generator) -> Ids:
    """Spans that hold `RATE` of the text become one ``[MASK]`` each, however long.

    An empty span inserts a ``[MASK]``. Two spans never touch.
    """
    due = round(RATE * len(text))
    left = len(text) - due
    sizes: list[int] = []
    while sum(sizes) < due:
        sizes.append(min(int(rng.poisson(MEAN_SPAN)), due - sum(sizes)))
    if len(sizes) > left + 1:
        sizes = [due]
    # The first and the last gap may be empty.
    gaps = parts(left + 2, len(sizes) + 1, rng)
    gaps[0] -= 1
    out: list[int] = []
    at = 0
    for gap, size in zip(gaps, sizes, strict=False):
        out += [*text[at : at + gap].tolist(), MASK]
        at += gap + size
    return np.array([*out, *text[at:].tolist()], np.int64)


def permutation(text: Ids, rng: np.random.Generator, stops: Collection[int] = ()) -> Ids:
    """Sentences stand in random order; one ends behind each of ``stops``."""
    ends = np.flatnonzero(np.isin(text, list(stops))) + 1
    sentences = [part for part in np.split(text, ends) if len(part)]
    if not sentences:
        return text
    return np.concatenate([sentences[n] for n in rng.permutation(len(sentences))])


def rotation(text: Ids, rng: np.random.Generator) -> Ids:
    """The text begins at a token drawn from it, and goes on from its own begin at its end."""
    return np.roll(text, -int(rng.integers(len(text)))) if len(text) else text


def denoising(
    tokens: NDArray[np.integer],
    rng: np.random.Generator,
    *,
    noise: Noise = Noise.INFILLING,
    stops: Collection[int] = (),
) -> Example:
    """Read a corrupted text, write the whole original: every token but ``BOS`` carries loss.

    Parameters
    ----------
    tokens : integer ``[T]``; pads are dropped.
    noise : what is done to the text between ``BOS`` and ``EOS``.
    stops : ids that end a sentence.
    """
    real = np.array(tokens[tokens != PAD], np.int64)
    first = int(len(real) > 0 and real[0] == BOS)
    last = len(real) - int(len(real) > first and real[-1] == EOS)
    text = real[first:last]
    if noise is Noise.PERMUTATION:
        changed = permutation(text, rng, stops)
    else:
        changed = _NOISES[noise](text, rng)
    target = real[first:]
    source = np.concatenate((real[:first], changed, real[last:]))
    return Example(np.concatenate(([BOS], target[:-1])), target, source)


_NOISES: dict[Noise, Callable[[Ids, np.random.Generator], Ids]] = {
    Noise.MASKING: masking,
    Noise.DELETION: deletion,
    Noise.INFILLING: infilling,
    Noise.ROTATION: rotation,
}
