"""What counting alone can do: the models that a trained network has to beat.

Both are fitted on the tokens that the networks train on. Letters: ``u v w`` three tokens that
follow each other, ``V`` vocabulary entries, ``N`` predicted tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.text.special import BOS
from core.train.corpus import TokenisedCorpus

Ids = NDArray[np.int64]
Real = NDArray[np.float64]


def trigrams(tokens: NDArray[np.integer], offsets: Ids) -> tuple[Ids, Ids, Ids]:
    """The predicted tokens of all documents with the two tokens before each.

    Parameters
    ----------
    tokens : integer ``[N + D]``, documents one after the other, each begins with ``BOS``.
    offsets : int64 ``[D + 1]``, where each of the ``D`` documents begins, and the end.

    Returns
    -------
    u, v, w : int64 ``[N]``; the first predicted token of a document has ``BOS BOS`` before it.
    """
    ids = np.asarray(tokens, np.int64)
    before = np.concatenate(([BOS], ids[:-1]))
    starts = offsets[:-1][np.diff(offsets) > 0]
    before[starts] = BOS
    predicted = np.ones(len(ids), np.bool_)
    predicted[starts] = False
    at = np.flatnonzero(predicted)
    return before[at - 1], ids[at - 1], ids[at]


@dataclass(frozen=True)
class _Level:
    """Discounted shares of the words that were seen after each context, in sorted keys.

    ``keys`` int64 ``[K]`` are ``context * V + word``; ``share`` float64 ``[K]`` the discounted
    part of each. ``contexts`` int64 ``[C]`` with ``starts`` ``[C + 1]`` into the keys, and
    ``left`` float64 ``[C]`` the mass that the discounts took away, for the level below.
    """

    vocabulary: int
    keys: Ids = field(repr=False)
    share: Real = field(repr=False)
    contexts: Ids = field(repr=False)
    starts: Ids = field(repr=False)
    left: Real = field(repr=False)

    @classmethod
    def build(cls, keys: Ids, counts: Ids, vocabulary: int, discount: float | None) -> _Level:
        """Discount ``counts`` of sorted, distinct ``keys``; None estimates three discounts."""
        taken = _discounts(counts) if discount is None else np.full(3, discount)
        contexts, starts = np.unique(keys // vocabulary, return_index=True)
        starts = np.append(starts, len(keys))
        totals = np.add.reduceat(counts, starts[:-1])
        kept = counts - taken[np.minimum(counts, 3) - 1]
        share = kept / np.repeat(totals, np.diff(starts))
        left = 1.0 - np.add.reduceat(share, starts[:-1])
        return cls(vocabulary, keys, share, contexts, starts, np.maximum(left, 0.0))

    def blend(self, context: Ids, word: Ids, lower: Real) -> Real:
        """Probability of each word after its context, all ``[N]``; ``lower`` is that below."""
        at, seen = _lookup(self.contexts, context)
        key, known = _lookup(self.keys, context * self.vocabulary + word)
        blended: Real = np.where(known, self.share[key], 0.0)
        return blended + np.where(seen, self.left[at], 1.0) * lower

    def spread(self, context: int, lower: Real) -> Real:
        """Probabilities ``[V]`` of all words after one context."""
        at, seen = _lookup(self.contexts, np.array([context]))
        if not seen[0]:
            return lower
        part = slice(self.starts[at[0]], self.starts[at[0] + 1])
        spread: Real = self.left[at[0]] * lower
        spread[self.keys[part] - context * self.vocabulary] += self.share[part]
        return spread


class KneserNey:
    """The trigram model with interpolated, modified Kneser-Ney smoothing.

    A context's own counts are discounted, and the freed mass goes to the next shorter context,
    whose counts say after how many *different* words a word was seen. Below the single words
    stands the uniform distribution, so every probability is above 0 and they add up to 1.

    Source: Kneser and Ney 1995; Chen and Goodman 1999 (three discounts, interpolation).
    """

    def __init__(self, levels: tuple[_Level, _Level, _Level], vocabulary: int) -> None:
        self._one, self._two, self._three = levels
        self.vocabulary = vocabulary

    @classmethod
    def fit(
        cls, corpus: TokenisedCorpus, *, vocabulary: int, discount: float | None = None
    ) -> KneserNey:
        """Count the corpus.

        Parameters
        ----------
        vocabulary : number of ids ``V``.
        discount : one discount in ``(0, 1)`` for all counts (plain Kneser-Ney), or None for
            three discounts that each level estimates from its own counts.

        Raises
        ------
        ValueError
            if the corpus predicts no token.
        """
        u, v, w = trigrams(corpus.tokens, corpus.offsets)
        if not len(w):
            raise ValueError("The corpus has no token to predict.")
        keys, counts = np.unique((u * vocabulary + v) * vocabulary + w, return_counts=True)
        three = _Level.build(keys, counts, vocabulary, discount)
        keys, counts = np.unique(keys % vocabulary**2, return_counts=True)
        two = _Level.build(keys, counts, vocabulary, discount)
        keys, counts = np.unique(keys % vocabulary, return_counts=True)
        one = _Level.build(keys, counts, vocabulary, discount)
        return cls((one, two, three), vocabulary)

    def nll(self, tokens: NDArray[np.integer], offsets: Ids | None = None) -> Real:
        """Nats of each predicted token, float64 ``[N]``.

        Parameters
        ----------
        tokens : integer, one document that begins with ``BOS``, or several with ``offsets``.
        offsets : int64 ``[D + 1]`` of several documents, as in `TokenisedCorpus`.
        """
        bounds = np.array([0, len(tokens)]) if offsets is None else offsets
        u, v, w = trigrams(tokens, bounds)
        uniform = np.full(len(w), 1.0 / self.vocabulary)
        one = self._one.blend(np.zeros_like(w), w, uniform)
        two = self._two.blend(v, w, one)
        nats: Real = -np.log(self._three.blend(u * self.vocabulary + v, w, two))
        return nats

    def distribution(self, prev2: int, prev1: int) -> Real:
        """Probabilities float64 ``[V]`` of the token after ``prev2 prev1``."""
        uniform = np.full(self.vocabulary, 1.0 / self.vocabulary)
        two = self._two.spread(prev1, self._one.spread(0, uniform))
        return self._three.spread(prev2 * self.vocabulary + prev1, two)

    def trigram_top1(self, prev2: int, prev1: int) -> int:
        """The likeliest token after ``prev2 prev1``."""
        return int(self.distribution(prev2, prev1).argmax())


class Neighbours:
    """Guesses a token from the one before it and the one after it.

    The counts of ``(left, ?, right)`` are discounted; the freed mass, or all of it where the pair
    was never seen, goes by ``P(w | left) * P(right | w)``, the best guess when only pairs were
    counted. Both parts of that product are discounted pair counts over single counts. Beside a
    neighbour that is not known only the other one counts, and without both the single counts.
    """

    def __init__(self, pairs: _Level, follows: NDArray[np.float32], single: Real) -> None:
        self._pairs = pairs
        self._follows = follows
        self._single = single
        self.vocabulary = len(follows)

    @classmethod
    def fit(cls, corpus: TokenisedCorpus, *, vocabulary: int) -> Neighbours:
        """Count the corpus, whose documents begin with ``BOS`` and end with ``EOS``.

        Raises
        ------
        ValueError
            if no token of the corpus stands between two others.
        """
        u, v, w = trigrams(corpus.tokens, corpus.offsets)
        inner = v != BOS
        if not inner.any():
            raise ValueError("No token of the corpus stands between two others.")
        triples = (u * vocabulary + w) * vocabulary + v
        keys, counts = np.unique(triples[inner], return_counts=True)
        # A half did best among discounts; it leaves ties between counts to the product.
        pairs = _Level.build(keys, counts, vocabulary, 0.5)
        keys, counts = np.unique(v * vocabulary + w, return_counts=True)
        level = _Level.build(keys, counts, vocabulary, None)
        weights = np.bincount(w, minlength=vocabulary).astype(np.float64) + 0.5
        single = weights / weights.sum()
        follows = np.empty((vocabulary, vocabulary), np.float32)
        for token in range(vocabulary):
            follows[token] = level.spread(token, single)
        return cls(pairs, follows, single)

    def distribution(self, left: int | None, right: int | None) -> Real:
        """Probabilities float64 ``[V]`` of the token between ``left`` and ``right``.

        None stands for a neighbour that is not known.
        """
        before = self._single if left is None else self._follows[left]
        product: Real = before.astype(np.float64)
        if right is not None:
            product *= self._follows[:, right]
        product /= product.sum()
        if left is None or right is None:
            return product
        return self._pairs.spread(left * self.vocabulary + right, product)

    def predict(self, left: int | None, right: int | None) -> int:
        """The likeliest token between ``left`` and ``right``."""
        return int(self.distribution(left, right).argmax())


def _lookup(table: Ids, keys: Ids) -> tuple[Ids, NDArray[np.bool_]]:
    """Where each key stands in the sorted table, and whether it does."""
    at = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    return at, table[at] == keys


def _discounts(counts: Ids) -> Real:
    """What to take from counts of 1, 2, and 3 or more, float64 ``[3]``.

    Chen and Goodman's estimate from how many counts are 1, 2, 3 and 4. Where one of these never
    occurs (a small corpus) or the estimate leaves ``(0, count)``, three quarters are taken.
    """
    n = [int((counts == k).sum()) for k in range(1, 5)]
    if min(n) == 0:
        return np.full(3, 0.75)
    y = n[0] / (n[0] + 2 * n[1])
    taken = np.array([k - (k + 1) * y * n[k] / n[k - 1] for k in (1, 2, 3)])
    return np.where((taken > 0) & (taken < (1, 2, 3)), taken, 0.75)
