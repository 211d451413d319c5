from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.run.sampling import distribution, draw
from core.types import Sampling

LOGITS = np.array([0.0, math.log(2.0), math.log(4.0), math.log(1.0), -np.inf], np.float32)
"""Probabilities 1/8, 2/8, 4/8, 1/8 and 0."""


def single(values: list[float]) -> NDArray[np.float32]:
    return np.array(values, np.float32)


unhurried = settings(deadline=None, max_examples=60)
steps = st.integers(-32, 32).map(lambda n: n / 4)  # Equal or clearly apart.
some_logits = st.lists(steps, min_size=1, max_size=12).map(single)


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (Sampling(1.0), [1 / 8, 2 / 8, 4 / 8, 1 / 8, 0]),
        (Sampling(0.5), [1 / 22, 4 / 22, 16 / 22, 1 / 22, 0]),
        (Sampling(0.0), [0, 0, 1, 0, 0]),
        (Sampling(1.0, top_k=2), [0, 1 / 3, 2 / 3, 0, 0]),
        (Sampling(1.0, top_k=1), [0, 0, 1, 0, 0]),
        (Sampling(1.0, top_k=3), [1 / 7, 2 / 7, 4 / 7, 0, 0]),
        (Sampling(1.0, top_k=99), [1 / 8, 2 / 8, 4 / 8, 1 / 8, 0]),
        (Sampling(1.0, top_p=0.5), [0, 0, 1, 0, 0]),
        (Sampling(1.0, top_p=0.51), [0, 1 / 3, 2 / 3, 0, 0]),
        (Sampling(1.0, top_p=0.8), [1 / 7, 2 / 7, 4 / 7, 0, 0]),
        (Sampling(1.0, top_k=2, top_p=0.6), [0, 0, 1, 0, 0]),
        (Sampling(0.0, top_k=2, top_p=0.9), [0, 0, 1, 0, 0]),
    ],
)
def test_distributions_worked_by_hand(sampling: Sampling, expected: list[float]) -> None:
    assert distribution(LOGITS, sampling).tolist() == pytest.approx(expected, abs=1e-6)


def plain(logits: NDArray[np.float32], sampling: Sampling) -> list[float]:
    """The definition once more, in loops over a sorted list."""
    values = [v / sampling.temperature for v in logits.tolist()]
    weights = [math.exp(v - max(values)) for v in values]
    order = sorted(range(len(weights)), key=lambda i: -weights[i])
    order = order[: sampling.top_k or len(order)]
    total, reached, kept = sum(weights[i] for i in order), 0.0, []
    for i in order:
        if reached < sampling.top_p * total:
            kept.append(i)
        reached += weights[i]
    mass = sum(weights[i] for i in kept)
    return [weights[i] / mass if i in kept else 0.0 for i in range(len(weights))]


@unhurried
@given(
    some_logits,
    st.sampled_from((0.3, 0.7, 1.0, 2.5)),
    st.integers(0, 13),
    st.sampled_from((0.13, 0.37, 0.71, 0.93, 1.0)),
)
def test_distributions_are_those_of_the_loops(
    logits: NDArray[np.float32], temperature: float, top_k: int, top_p: float
) -> None:
    sampling = Sampling(temperature, top_k, top_p)
    before = logits.copy()
    found = distribution(logits, sampling)
    np.testing.assert_array_equal(logits, before)
    assert float(found.sum()) == pytest.approx(1.0, abs=1e-5)
    assert found.tolist() == pytest.approx(plain(logits, sampling), abs=1e-5)


@pytest.mark.parametrize("temperature", [1e-40, 1e-6, 1e30])
def test_extreme_temperatures_give_a_distribution(temperature: float) -> None:
    found = distribution(single([20.0, 21.0, 19.0]), Sampling(temperature))
    expected = [1 / 3] * 3 if temperature > 1 else [0.0, 1.0, 0.0]
    assert found.tolist() == pytest.approx(expected)


def test_the_first_of_equals_is_taken() -> None:
    assert draw(np.zeros(9, np.float32), Sampling(), 0) == (0, 1.0)
    assert distribution(np.zeros(4, np.float32), Sampling(1.0, top_k=2)).tolist() == [
        0.5,
        0.5,
        0,
        0,
    ]


def test_draws_follow_the_distribution() -> None:
    """Of 4000 draws a share is off by five standard deviations once in a million."""
    sampling = Sampling(1.0, top_k=3)
    tokens = [draw(LOGITS, sampling, position)[0] for position in range(4000)]
    counts = np.bincount(tokens, minlength=5)
    shares = distribution(LOGITS, sampling)
    bound = 5 * np.sqrt(4000 * shares * (1 - shares))
    assert (np.abs(counts - 4000 * shares) <= bound).all()
    assert counts[3] == counts[4] == 0


def test_a_draw_depends_on_seed_and_place_alone() -> None:
    def text(seed: int) -> list[tuple[int, float]]:
        return [draw(LOGITS, Sampling(1.0, seed=seed), place) for place in range(40)]

    first = text(5)
    assert text(5) == first
    assert text(6) != first
    assert len({token for token, _ in first}) > 1


@pytest.mark.parametrize("seed", [0, -3, 2**31, 2**63])
def test_any_seed_will_do(seed: int) -> None:
    token, probability = draw(LOGITS, Sampling(1.0, seed=seed), 7)
    assert probability == pytest.approx([1 / 8, 2 / 8, 4 / 8, 1 / 8][token])
