from __future__ import annotations

import itertools

import numpy as np
import pytest

from core.text.special import BOS, EOS
from core.train.baselines import KneserNey, Neighbours, trigrams
from core.train.corpus import TokenisedCorpus

V = 7
A, B, C, D = 3, 4, 5, 6


def corpus(*rows: list[int]) -> TokenisedCorpus:
    sizes = np.array([len(row) for row in rows], np.int64)
    return TokenisedCorpus(
        tokens=np.array([i for row in rows for i in row], np.int16),
        offsets=np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes))),
        real=np.ones(len(rows), np.bool_),
    )


def random_corpus(seed: int, rows: int = 30, vocabulary: int = V) -> TokenisedCorpus:
    rng = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, vocabulary - 2)
    weights /= weights.sum()
    sizes = rng.integers(1, 9, rows)
    return corpus(
        *([BOS, *(rng.choice(vocabulary - 3, n, p=weights) + 3).tolist(), EOS] for n in sizes)
    )


def test_trigrams_do_not_cross_documents() -> None:
    two = corpus([BOS, A, B, EOS], [BOS, C, EOS])
    found = np.stack(trigrams(two.tokens, two.offsets), axis=1).tolist()
    assert found == [
        [BOS, BOS, A],
        [BOS, A, B],
        [A, B, EOS],
        [BOS, BOS, C],
        [BOS, C, EOS],
    ]


@pytest.mark.parametrize("discount", [None, 0.1, 0.75])
@pytest.mark.parametrize("seed", range(4))
def test_probabilities_add_up_to_one_in_every_context(seed: int, discount: float | None) -> None:
    model = KneserNey.fit(random_corpus(seed), vocabulary=V, discount=discount)
    for u, v in itertools.product(range(V), repeat=2):
        distribution = model.distribution(u, v)
        assert distribution.sum() == pytest.approx(1.0, abs=1e-12)
        assert (distribution > 0).all()


@pytest.mark.parametrize("discount", [None, 0.5])
def test_the_nats_of_a_text_are_those_of_the_distributions(discount: float | None) -> None:
    model = KneserNey.fit(random_corpus(1), vocabulary=V, discount=discount)
    other = random_corpus(2)
    u, v, w = trigrams(other.tokens, other.offsets)
    expected = [-np.log(model.distribution(*c)[t]) for *c, t in zip(u, v, w, strict=True)]
    assert model.nll(other.tokens, other.offsets) == pytest.approx(np.array(expected))
    first = other.document(0)
    assert model.nll(first) == pytest.approx(np.array(expected[: len(first) - 1]))


def test_a_tiny_example_worked_by_hand() -> None:
    """Documents "A B" and "A C", discount 1/2.

    Distinct trigrams: (s s A) x2, (s A B), (A B /s), (s A C), (A C /s).
    Distinct bigrams, counted by the words before them: (s A), (A B), (B /s), (A C), (C /s): 1 each.
    Words, counted by the words before them: A 1, B 1, C 1, /s 2; 5 in all.
    """
    model = KneserNey.fit(corpus([BOS, A, B, EOS], [BOS, A, C, EOS]), vocabulary=V, discount=0.5)
    left_one = 4 * 0.5 / 5
    one_b = 0.5 / 5 + left_one / V
    one_a = one_b
    one_end = 1.5 / 5 + left_one / V
    two_b_after_a = 0.5 / 2 + (2 * 0.5 / 2) * one_b
    three_b_after_s_a = 0.5 / 2 + (2 * 0.5 / 2) * two_b_after_a
    assert model.distribution(BOS, A)[B] == pytest.approx(three_b_after_s_a)
    two_a_after_s = 0.5 / 1 + 0.5 * one_a
    assert model.distribution(BOS, BOS)[A] == pytest.approx(1.5 / 2 + 0.25 * two_a_after_s)
    two_end_after_b = 0.5 + 0.5 * one_end
    assert model.distribution(D, B)[EOS] == pytest.approx(two_end_after_b)
    assert model.distribution(D, D)[EOS] == pytest.approx(one_end)
    assert model.distribution(D, D)[D] == pytest.approx(left_one / V)


def test_a_word_seen_after_many_words_beats_one_seen_often_after_one() -> None:
    rows = [[BOS, A, B, EOS]] * 6 + [[BOS, C, EOS], [BOS, A, C, EOS], [BOS, D, C, EOS]]
    distribution = KneserNey.fit(corpus(*rows), vocabulary=V).distribution(0, 0)
    assert distribution[C] > distribution[B]


def test_the_trigram_guesses_what_followed_most_often() -> None:
    rows = [[BOS, A, B, C, EOS]] * 5 + [[BOS, A, B, D, EOS]] * 2
    model = KneserNey.fit(corpus(*rows), vocabulary=V)
    assert model.trigram_top1(A, B) == C
    assert model.trigram_top1(BOS, BOS) == A


def test_more_of_the_same_text_is_less_surprising() -> None:
    text = random_corpus(7)
    model = KneserNey.fit(text, vocabulary=V)
    assert model.nll(text.tokens, text.offsets).mean() < np.log(V)


def test_neighbours_add_up_to_one() -> None:
    model = Neighbours.fit(random_corpus(3), vocabulary=V)
    for left, right in itertools.product(range(V), repeat=2):
        distribution = model.distribution(left, right)
        assert distribution.sum() == pytest.approx(1.0, abs=1e-6)
        assert (distribution > 0).all()


def test_neighbours_know_both_sides() -> None:
    rows = [[BOS, A, B, C, EOS]] * 3 + [[BOS, A, D, A, EOS]] * 4
    model = Neighbours.fit(corpus(*rows), vocabulary=V)
    assert model.predict(A, C) == B
    assert model.predict(A, A) == D
    assert model.predict(B, EOS) == C


def test_neighbours_that_were_never_seen_together_still_both_count() -> None:
    rows = [[BOS, A, B, EOS], [BOS, A, D, EOS], [BOS, B, C, EOS], [BOS, D, A, EOS]] * 3
    model = Neighbours.fit(corpus(*rows), vocabulary=V)
    assert model.predict(A, C) == B


def test_nothing_to_count_is_said() -> None:
    with pytest.raises(ValueError, match="no token to predict"):
        KneserNey.fit(corpus([BOS]), vocabulary=V)
    with pytest.raises(ValueError, match="between two others"):
        Neighbours.fit(corpus([BOS, A]), vocabulary=V)


def test_a_neighbour_that_is_not_known_leaves_the_other_side_to_count() -> None:
    """Documents A B C and A D C, three quarters taken from the count of every pair."""
    model = Neighbours.fit(corpus([BOS, A, B, C, EOS], [BOS, A, D, C, EOS]), vocabulary=V)
    pairs = {(BOS, A): 2, (A, B): 1, (A, D): 1, (B, C): 1, (D, C): 1, (C, EOS): 2}
    words = {A: 2.5, B: 1.5, C: 2.5, D: 1.5, EOS: 2.5, BOS: 0.5, 0: 0.5}
    single = np.array([words[word] / 11.5 for word in range(V)])

    def follows(left: int, word: int) -> float:
        seen = {w: n for (v, w), n in pairs.items() if v == left}
        total = sum(seen.values())
        if not total:
            return single[word]
        kept = max(seen.get(word, 0) - 0.75, 0)
        return (kept + 0.75 * len(seen) * single[word]) / total

    def likely(left: int | None, right: int | None) -> list[float]:
        return pytest.approx(model.distribution(left, right).tolist(), rel=1e-6)

    assert likely(None, None) == single.tolist()
    assert likely(A, None) == [follows(A, word) for word in range(V)]
    product = np.array([single[word] * follows(word, C) for word in range(V)])
    assert likely(None, C) == (product / product.sum()).tolist()
    assert model.predict(A, None) in (B, D)
    assert model.predict(None, EOS) == C
