"""What a model is asked to predict: the four pre-training objectives on rows of ids.

Pure functions on numpy arrays; chance comes from the generator that is passed in. A row is a
whole document ``BOS ... EOS``, perhaps with pads at its ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.text.special import (
    BOS,
    EOS,
    FIRST_PIECE,
    FIRST_SENTINEL,
    MASK,
    PAD,
    SENTINELS,
)

Ids = NDArray[np.int64]

IGNORE = -100
"""The label of a position that carries no loss."""
MOST_SPANS = SENTINELS - 1
"""One sentinel is needed to end the target."""


def _no_ids() -> Ids:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class Example:
    """One row to learn from.

    Attributes
    ----------
    inputs : int64 ``[T]``, what the model reads (encoder-decoder: what the decoder reads).
    labels : int64 ``[T]``, the id that position ``t`` has to predict, or `IGNORE`.
    source : int64 ``[S]``, what the encoder of an encoder-decoder reads; empty otherwise.
    prefix : length of the bidirectional prefix of a prefix-LM, 0 otherwise.
    """

    inputs: Ids = field(repr=False)
    labels: Ids = field(repr=False)
    source: Ids = field(default_factory=_no_ids, repr=False)
    prefix: int = 0

    @property
    def loss_mask(self) -> NDArray[np.bool_]:
        """Bool ``[T]``, True where loss is taken. It is not the mask of real inputs."""
        mask: NDArray[np.bool_] = self.labels != IGNORE
        return mask

    @property
    def denominator(self) -> int:
        """The number of positions that the mean loss is divided by."""
        return int(self.loss_mask.sum())


def next_tokens(tokens: NDArray[np.integer], *, following: int | None = None) -> Ids:
    """The labels of a causal model: the row shifted left by one. Nothing else may shift.

    Parameters
    ----------
    tokens : integer ``[T]``.
    following : the token after the row where there is one, so that all ``T`` positions learn.

    Returns
    -------
    int64 ``[T]``: ``tokens[t + 1]`` at ``t``, `IGNORE` where either is a pad or the row ends.
    """
    labels = np.full(len(tokens), IGNORE, np.int64)
    labels[:-1] = tokens[1:]
    if following is not None and len(tokens):
        labels[-1] = following
    labels[(labels == PAD) | (tokens == PAD)] = IGNORE
    return labels


def misshifted(labels: NDArray[np.integer], by: int) -> Ids:
    """Labels of `next_tokens` shifted ``by`` times instead of once: a bug to be looked at.

    Parameters
    ----------
    labels : integer ``[T]``, shifted once.
    by : 0 has each position predict what it reads, 2 the token after the next.

    Returns
    -------
    int64 ``[T]``: the same targets at other positions, less those that fall off the row.
    """
    moved = np.full(len(labels), IGNORE, np.int64)
    first = max(0, 1 - by)
    kept = labels[max(0, by - 1) : len(labels) - first]
    moved[first : first + len(kept)] = kept
    return moved


def causal(tokens: NDArray[np.integer], *, following: int | None = None) -> Example:
    """Predict each token from those before it (Radford et al. 2018): ``T - 1`` positions."""
    return Example(_ids(tokens), next_tokens(tokens, following=following))


def masked(
    tokens: NDArray[np.integer],
    rng: np.random.Generator,
    *,
    vocabulary: int,
    rate: float = 0.15,
) -> Example:
    """Guess tokens back from both sides (BERT, Devlin et al. 2019).

    Every token that stands for text is selected with probability ``rate``. Of the selected, 80 %
    become ``[MASK]``, 10 % any piece of text and 10 % stay; loss is taken on the selected only.

    Parameters
    ----------
    tokens : integer ``[T]``; pads and special tokens are never selected.
    vocabulary : number of pieces ``V`` that a random one is drawn from.
    """
    inputs = _ids(tokens)
    selected = (inputs >= FIRST_PIECE) & (rng.random(len(inputs)) < rate)
    labels = np.where(selected, inputs, IGNORE)
    fate = rng.random(len(inputs))
    replaced = selected & (fate >= 0.8) & (fate < 0.9)
    inputs[selected & (fate < 0.8)] = MASK
    inputs[replaced] = rng.integers(FIRST_PIECE, vocabulary, int(replaced.sum()))
    return Example(inputs, labels)


def prefix_lm(tokens: NDArray[np.integer], prefix: int) -> Example:
    """Predict what follows a prefix that is read both ways (UniLM, T5, UL2's S-denoiser).

    The last token of the prefix predicts the first one after it: it sees the prefix only. The
    tokens before it see their own successor and carry no loss, so ``T - prefix`` positions do.

    Raises
    ------
    ValueError
        if ``prefix`` leaves nothing before or nothing to predict: it must be in ``[1, T - 1]``.
    """
    inputs = _ids(tokens)
    real = int((inputs != PAD).sum())
    if not 1 <= prefix < real:
        raise ValueError(f"prefix is {prefix}, but must be between 1 and {real - 1}.")
    start = int(np.flatnonzero(inputs != PAD)[0])
    labels = next_tokens(inputs)
    labels[: start + prefix - 1] = IGNORE
    return Example(inputs, labels, prefix=prefix)


def sample_prefix(tokens: NDArray[np.integer], rng: np.random.Generator) -> int:
    """A prefix length for `prefix_lm`, each from 1 to ``T - 1`` equally likely.

    Raises
    ------
    ValueError
        if the row has fewer than two real tokens.
    """
    real = int((tokens != PAD).sum())
    if real < 2:
        raise ValueError(f"The row has {real} real tokens, but a prefix-LM needs at least 2.")
    return int(rng.integers(1, real))


def corrupt_spans(
    tokens: NDArray[np.integer],
    spans: Sequence[tuple[int, int]],
    sentinels: Sequence[int],
    *,
    end: int | None = None,
) -> tuple[Ids, Ids]:
    """Cut spans out of a row and list them apart (T5, Raffel et al. 2020).

    Parameters
    ----------
    tokens : integer ``[T]``.
    spans : ``(start, stop)`` of each span, left to right, with a token between two of them.
    sentinels : one id for each span and one more to end the target; further ids are not used.
    end : id that is put behind the target's last sentinel, or None for nothing.

    Returns
    -------
    source, target : int64. The source has one sentinel in place of each span; the target is
        sentinel, span, sentinel, span, ..., last sentinel, and ``end``.

    Raises
    ------
    ValueError
        if spans are empty, touch, are out of order or out of the row, or outnumber the sentinels.
    """
    if len(spans) >= len(sentinels):
        raise ValueError(
            f"There are {len(spans)} spans, but {len(sentinels)} sentinels: one more is needed."
        )
    source: list[int] = []
    target: list[int] = []
    done = -1
    for (start, stop), mark in zip(spans, sentinels, strict=False):
        if not done < start < stop <= len(tokens):
            raise ValueError(
                f"span is ({start}, {stop}), but must start after {done}, hold a token and end "
                f"by {len(tokens)}."
            )
        source += [*tokens[max(done, 0) : start].tolist(), mark]
        target += [mark, *tokens[start:stop].tolist()]
        done = stop
    source += tokens[max(done, 0) :].tolist()
    target += [sentinels[len(spans)], *([] if end is None else [end])]
    return np.array(source, np.int64), np.array(target, np.int64)


def sample_spans(
    length: int, rng: np.random.Generator, *, density: float = 0.15, mean: float = 3.0
) -> list[tuple[int, int]]:
    """Spans that cover ``density`` of a row and are ``mean`` tokens long on average.

    There are at most `MOST_SPANS`: in a row so long that more were due, they are longer. Two
    spans never touch.

    Raises
    ------
    ValueError
        if the row has fewer than two tokens.
    """
    if length < 2:
        raise ValueError(f"length is {length}, but must be at least 2.")
    noise = min(max(round(length * density), 1), length - 1)
    count = min(max(round(noise / mean), 1), MOST_SPANS, noise, length - noise + 1)
    sizes = parts(noise, count, rng)
    # The first and the last gap may be empty.
    gaps = parts(length - noise + 2, count + 1, rng)
    gaps[0] -= 1
    spans: list[tuple[int, int]] = []
    at = 0
    for gap, size in zip(gaps[:-1], sizes, strict=True):
        spans.append((at + gap, at + gap + size))
        at += gap + size
    return spans


def span_corruption(
    tokens: NDArray[np.integer],
    rng: np.random.Generator,
    *,
    density: float = 0.15,
    mean: float = 3.0,
) -> Example:
    """Read a row with spans cut out, write the spans (T5, Raffel et al. 2020).

    ``BOS`` and ``EOS`` of the row stay in the source. The target ends with ``EOS``; the decoder
    reads ``BOS`` and the target without its end, and every target token carries loss. A ``[MASK]``
    of the row stays in the source too, for nobody knows what it stands for: a span ends before it.

    Raises
    ------
    ValueError
        if the row has fewer than two tokens of text.
    """
    real = _ids(tokens[tokens != PAD])
    first = int(len(real) > 0 and real[0] == BOS)
    last = len(real) - int(len(real) > 0 and real[-1] == EOS)
    known = first + np.flatnonzero(real[first:last] != MASK)
    spans = []
    for start, stop in sample_spans(len(known), rng, density=density, mean=mean):
        places = known[start:stop]
        unbroken = int((places - places[0] == np.arange(len(places))).sum())
        spans.append((int(places[0]), int(places[0]) + unbroken))
    sentinels = range(FIRST_SENTINEL, FIRST_SENTINEL + SENTINELS)
    source, target = corrupt_spans(real, spans, sentinels, end=EOS)
    return Example(np.concatenate(([BOS], target[:-1])), target, source)


def refilled(source: Sequence[int], target: Sequence[int]) -> list[int]:
    """A source with the spans of a target put back; a sentinel that has no span stays.

    ``BOS`` and ``EOS`` of the target belong to no span. The way back from `corrupt_spans`.
    """
    spans: dict[int, list[int]] = {}
    mark: int | None = None
    for token in target:
        if FIRST_SENTINEL <= token < FIRST_PIECE:
            mark = token
        elif mark is not None and token not in (BOS, EOS, PAD):
            spans.setdefault(mark, []).append(token)
    return [token for mark in source for token in spans.get(mark, [mark])]


def masked_mean(losses: NDArray[np.floating], labels: NDArray[np.integer]) -> float:
    """Mean of the losses over the positions that carry loss, not over all.

    Parameters
    ----------
    losses : floating, any shape; what stands at ignored positions does not matter.
    labels : integer, the same shape, `IGNORE` where no loss is taken.

    Raises
    ------
    ValueError
        if the shapes differ, or no position carries loss: the mean is undefined then.
    """
    if losses.shape != labels.shape:
        raise ValueError(f"losses have shape {losses.shape}, but labels have {labels.shape}.")
    chosen = labels != IGNORE
    if not chosen.any():
        raise ValueError("no position carries loss, so the mean loss is undefined.")
    return float(losses[chosen].mean(dtype=np.float64))


def _ids(tokens: NDArray[np.integer]) -> Ids:
    return np.array(tokens, np.int64)


def parts(total: int, count: int, rng: np.random.Generator) -> list[int]:
    """Cut ``total`` into ``count`` parts of at least 1; every way to cut is equally likely."""
    cuts = np.sort(rng.choice(total - 1, count - 1, replace=False)) + 1
    sizes: list[int] = np.diff(np.concatenate(([0], cuts, [total]))).tolist()
    return sizes
