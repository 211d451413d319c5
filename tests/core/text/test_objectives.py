from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.text.objectives import (
    IGNORE,
    MOST_SPANS,
    causal,
    corrupt_spans,
    masked,
    masked_mean,
    misshifted,
    next_tokens,
    prefix_lm,
    refilled,
    sample_prefix,
    sample_spans,
    span_corruption,
)
from core.text.special import BOS, EOS, FIRST_PIECE, MASK, PAD, sentinel

V = 2048
SEEDS = st.integers(0, 2**32 - 1)


def row(length: int, seed: int = 0) -> NDArray[np.int64]:
    """BOS, pieces of text, EOS."""
    ids = np.random.default_rng(seed).integers(FIRST_PIECE, V, length)
    ids[0], ids[-1] = BOS, EOS
    return ids


# -- causal


def test_labels_are_shifted_exactly_once() -> None:
    ids = row(512)
    example = causal(ids)
    assert example.inputs.tolist() == ids.tolist()
    assert example.labels[:-1].tolist() == ids[1:].tolist()
    assert example.labels[-1] == IGNORE
    assert example.denominator == 511


def test_a_following_token_lets_every_position_learn() -> None:
    ids = row(512)
    example = causal(ids, following=77)
    assert example.labels[-1] == 77
    assert example.denominator == 512


def test_three_objects_of_a_padded_row() -> None:
    example = causal(np.array([BOS, 30, 31, EOS, PAD]))
    assert example.labels.tolist() == [30, 31, EOS, IGNORE, IGNORE]
    real = example.inputs != PAD
    assert real.tolist() == [True, True, True, True, False]
    assert example.loss_mask.tolist() == [True, True, True, False, False]


def test_a_left_pad_does_not_learn_to_predict_the_begin() -> None:
    assert next_tokens(np.array([PAD, PAD, BOS, 30])).tolist() == [IGNORE, IGNORE, 30, IGNORE]


def test_no_token_gives_no_label() -> None:
    assert next_tokens(np.zeros(0, np.int64), following=3).tolist() == []


@given(st.lists(st.integers(FIRST_PIECE, V - 1), max_size=12), st.integers(0, 2))
def test_a_shift_moves_every_target_by_as_much(tokens: list[int], by: int) -> None:
    labels = misshifted(next_tokens(np.array(tokens, np.int64)), by)
    wanted = [IGNORE] * len(tokens)
    for place, token in enumerate(tokens[1:], start=1):
        if place >= by:
            wanted[place - by] = token
    assert labels.tolist() == wanted


# -- masked


def test_masked_shares_are_15_and_80_10_10() -> None:
    ids = row(400_000)
    example = masked(ids, np.random.default_rng(1), vocabulary=V)
    chosen = example.loss_mask
    assert chosen.mean() == pytest.approx(0.15, abs=0.003)
    assert (example.labels[chosen] == ids[chosen]).all()
    assert (example.inputs[~chosen] == ids[~chosen]).all()
    hidden = example.inputs[chosen] == MASK
    kept = example.inputs[chosen] == ids[chosen]
    assert hidden.mean() == pytest.approx(0.8, abs=0.01)
    assert kept.mean() == pytest.approx(0.1, abs=0.01)
    assert (~hidden & ~kept).mean() == pytest.approx(0.1, abs=0.01)


def test_a_row_of_512_selects_76_8_on_average() -> None:
    rng = np.random.default_rng(2)
    ids = np.random.default_rng(3).integers(FIRST_PIECE, V, 512)
    counts = [masked(ids, rng, vocabulary=V).denominator for _ in range(2000)]
    assert np.mean(counts) == pytest.approx(76.8, abs=0.8)
    assert causal(ids).denominator / np.mean(counts) == pytest.approx(6.65, abs=0.08)


@given(SEEDS)
def test_special_tokens_and_pads_are_never_selected(seed: int) -> None:
    ids = np.array([BOS, 40, MASK, sentinel(3), 41, EOS, PAD, PAD])
    example = masked(ids, np.random.default_rng(seed), vocabulary=V, rate=1.0)
    assert np.flatnonzero(example.loss_mask).tolist() == [1, 4]
    changed = example.inputs[example.loss_mask]
    assert ((changed == MASK) | (changed >= FIRST_PIECE)).all()


def test_the_given_row_is_not_changed() -> None:
    ids = row(64)
    before = ids.copy()
    masked(ids, np.random.default_rng(0), vocabulary=V)
    span_corruption(ids, np.random.default_rng(0))
    assert (ids == before).all()


# -- prefix


@given(st.integers(2, 64), st.data())
def test_prefix_lm_takes_loss_on_the_tokens_after_the_prefix(
    length: int, data: st.DataObject
) -> None:
    prefix = data.draw(st.integers(1, length - 1))
    ids = row(length)
    example = prefix_lm(ids, prefix)
    assert example.denominator == length - prefix
    assert example.labels[example.loss_mask].tolist() == ids[prefix:].tolist()
    assert np.flatnonzero(example.loss_mask).tolist() == list(range(prefix - 1, length - 1))
    assert example.prefix == prefix


def test_prefix_counts_real_tokens_of_a_padded_row() -> None:
    example = prefix_lm(np.array([PAD, BOS, 30, 31, EOS, PAD]), 2)
    assert example.labels.tolist() == [IGNORE, IGNORE, 31, EOS, IGNORE, IGNORE]


@pytest.mark.parametrize("prefix", [0, 4, -1])
def test_a_prefix_that_leaves_nothing_is_refused(prefix: int) -> None:
    with pytest.raises(ValueError, match="between 1 and 3"):
        prefix_lm(row(4), prefix)


def test_prefix_lengths_are_even() -> None:
    rng = np.random.default_rng(4)
    counts = np.bincount([sample_prefix(row(5), rng) for _ in range(8000)], minlength=5)
    assert counts[0] == 0
    assert counts[1:] / 8000 == pytest.approx(np.full(4, 0.25), abs=0.02)
    with pytest.raises(ValueError, match="at least 2"):
        sample_prefix(np.array([BOS, PAD]), rng)


# -- spans


def test_the_example_of_the_paper() -> None:
    names = [
        "Thank",
        "you",
        "for",
        "inviting",
        "me",
        "to",
        "your",
        "party",
        "last",
        "week",
        ".",
        "X",
        "Y",
        "Z",
    ]
    source, target = corrupt_spans(np.arange(11), [(2, 4), (8, 9)], [11, 12, 13])
    assert " ".join(names[i] for i in source) == "Thank you X me to your party Y week ."
    assert " ".join(names[i] for i in target) == "X for inviting Y last Z"


def test_an_end_is_appended_when_asked_for() -> None:
    _, target = corrupt_spans(np.array([20, 21]), [(0, 1)], [4, 5], end=EOS)
    assert target.tolist() == [4, 20, 5, EOS]


def test_no_span_leaves_the_row_and_one_sentinel() -> None:
    source, target = corrupt_spans(np.array([20, 21]), [], [4])
    assert source.tolist() == [20, 21]
    assert target.tolist() == [4]


@pytest.mark.parametrize(
    "spans", [[(0, 0)], [(2, 1)], [(0, 6)], [(-1, 2)], [(0, 2), (2, 3)], [(3, 4), (0, 1)]]
)
def test_bad_spans_are_refused(spans: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match="span is"):
        corrupt_spans(np.arange(5), spans, range(4, 20))


def test_too_few_sentinels_are_refused() -> None:
    with pytest.raises(ValueError, match="one more is needed"):
        corrupt_spans(np.arange(5), [(0, 1), (2, 3)], [4, 5])


@given(st.integers(2, 600), SEEDS)
def test_spans_cover_the_density_and_never_touch(length: int, seed: int) -> None:
    spans = sample_spans(length, np.random.default_rng(seed))
    assert sum(stop - start for start, stop in spans) == max(1, round(0.15 * length))
    assert 1 <= len(spans) <= MOST_SPANS
    assert spans[0][0] >= 0
    assert spans[-1][1] <= length
    assert all(one[1] < two[0] for one, two in itertools.pairwise(spans))


def test_spans_are_three_long_on_average_and_reach_everywhere() -> None:
    rng = np.random.default_rng(5)
    covered = np.zeros(200)
    sizes: list[int] = []
    for _ in range(4000):
        for start, stop in sample_spans(200, rng):
            covered[start:stop] += 1
            sizes.append(stop - start)
    assert np.mean(sizes) == pytest.approx(3.0, abs=0.01)
    assert (covered / 4000).min() > 0.05


def test_a_row_of_one_token_has_no_spans() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        sample_spans(1, np.random.default_rng(0))


@given(st.integers(4, 300), SEEDS)
def test_source_and_target_together_hold_the_row(length: int, seed: int) -> None:
    ids = row(length, seed)
    example = span_corruption(np.append(ids, PAD), np.random.default_rng(seed))
    assert refilled(example.source.tolist(), example.labels.tolist()) == ids.tolist()
    assert example.labels[-1] == EOS
    assert example.inputs.tolist() == [BOS, *example.labels[:-1].tolist()]
    assert example.loss_mask.all()
    marks = [t for t in example.source.tolist() if 4 <= t < FIRST_PIECE]
    assert marks == [sentinel(n) for n in range(len(marks))]
    assert example.source[0] == BOS
    assert example.source[-1] == EOS


@given(st.integers(6, 80), SEEDS, st.data())
def test_a_gap_of_the_text_is_never_cut_out(length: int, seed: int, data: st.DataObject) -> None:
    ids = row(length, seed)
    places = st.lists(st.integers(1, length - 2), max_size=length - 4, unique=True)
    ids[data.draw(places)] = MASK
    example = span_corruption(ids, np.random.default_rng(seed))
    assert MASK not in example.labels
    assert (example.source == MASK).sum() == (ids == MASK).sum()
    assert refilled(example.source.tolist(), example.labels.tolist()) == ids.tolist()


def test_a_sentinel_without_a_span_stays_a_gap() -> None:
    source, target = [30, sentinel(0), 31, sentinel(1)], [BOS, sentinel(0), 40, 41]
    assert refilled(source, target) == [30, 40, 41, 31, sentinel(1)]
    assert refilled(source, []) == source


# -- the mean


def test_the_mean_is_over_the_positions_that_carry_loss() -> None:
    losses = np.array([[1.0, 3.0, np.nan], [np.inf, 5.0, 7.0]])
    labels = np.array([[20, 21, IGNORE], [IGNORE, 22, IGNORE]])
    assert masked_mean(losses, labels) == 3.0


def test_an_empty_selection_is_said_instead_of_nan() -> None:
    example = masked(row(8), np.random.default_rng(0), vocabulary=V, rate=0.0)
    assert example.denominator == 0
    with pytest.raises(ValueError, match="no position carries loss"):
        masked_mean(np.zeros(8), example.labels)


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match="shape"):
        masked_mean(np.zeros(3), np.zeros(4, np.int64))
