"""What denoising does to a text: what is left, what is hidden, and that the whole is the target."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.denoising import deletion, denoising, infilling, masking, permutation, rotation
from core.text.special import BOS, EOS, FIRST_PIECE, MASK, PAD
from core.types import Noise

V, STOP = 300, 299
SEEDS = st.integers(0, 2**32 - 1)
TEXTS = st.lists(st.integers(FIRST_PIECE, V - 1), max_size=60)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(TEXTS, SEEDS, st.sampled_from(Noise))
def test_the_whole_original_is_the_target(text: list[int], seed: int, noise: Noise) -> None:
    row = [PAD, BOS, *text, EOS, PAD]
    example = denoising(np.array(row), rng(seed), noise=noise, stops=(STOP,))
    assert example.labels.tolist() == [*text, EOS]
    assert example.inputs.tolist() == [BOS, *text]
    assert example.source[0] == BOS
    assert example.source[-1] == EOS
    again = denoising(np.array(row), rng(seed), noise=noise, stops=(STOP,))
    assert again.source.tolist() == example.source.tolist()


def test_512_tokens_carry_512_losses() -> None:
    example = denoising(rng(1).integers(FIRST_PIECE, V, 512), rng())
    assert example.denominator == 512


@given(TEXTS, SEEDS)
def test_infilling_keeps_the_rest_in_order_and_hides_three_tenths(
    text: list[int], seed: int
) -> None:
    found = infilling(np.array(text, np.int64), rng(seed)).tolist()
    kept = [token for token in found if token != MASK]
    assert len(kept) == len(text) - round(0.3 * len(text))
    rest = iter(text)
    assert all(token in rest for token in kept)
    assert (MASK in found) == (round(0.3 * len(text)) > 0)
    assert all(one != MASK or two != MASK for one, two in pairwise(found))


def test_spans_are_three_long_on_average() -> None:
    text = np.arange(FIRST_PIECE, FIRST_PIECE + 200)
    marks = [(infilling(text, rng(seed)) == MASK).sum() for seed in range(400)]
    assert 60 / np.mean(marks) == pytest.approx(3.0, abs=0.2)


def test_masking_and_deletion_take_three_tenths() -> None:
    text = np.full(100_000, 40)
    assert (masking(text, rng()) == MASK).mean() == pytest.approx(0.3, abs=0.01)
    assert len(deletion(text, rng())) / len(text) == pytest.approx(0.7, abs=0.01)


@given(TEXTS, SEEDS)
def test_permutation_moves_whole_sentences(text: list[int], seed: int) -> None:
    def sentences(row: list[int]) -> Counter[tuple[int, ...]]:
        found, now = [], []
        for token in row:
            now.append(token)
            if token == STOP:
                found.append(tuple(now))
                now = []
        return Counter([*found, tuple(now)] if now else found)

    row = [*text, STOP]
    moved = permutation(np.array(row), rng(seed), (STOP,)).tolist()
    assert sentences(moved) == sentences(row)


def test_permutation_comes_to_every_order() -> None:
    text = np.array([30, STOP, 31, STOP, 32, STOP])
    orders = {tuple(permutation(text, rng(seed), (STOP,)).tolist()) for seed in range(60)}
    assert len(orders) == 6


@given(st.lists(st.integers(FIRST_PIECE, V - 1), min_size=1, max_size=20), SEEDS)
def test_rotation_turns_the_text(text: list[int], seed: int) -> None:
    turned = rotation(np.array(text), rng(seed)).tolist()
    assert turned in [text[n:] + text[:n] for n in range(len(text))]
