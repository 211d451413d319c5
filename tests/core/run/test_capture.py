from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.model.attention import Trace
from core.run.capture import Capture
from core.run.walls import THUMB, Layers
from core.types import HeadRef, Stack

FIRST = (Stack.DECODER, 0)


def trace(rows: int, keys: int, *, batch: int = 2, heads: int = 3, seed: int = 0) -> Trace:
    generator = torch.Generator().manual_seed(seed)
    shape = (batch, heads, rows, keys)
    scores, pattern = (torch.rand(shape, generator=generator) for _ in range(2))
    return Trace(scores, pattern)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=8), st.booleans())
def test_chunks_grow_as_if_they_were_put_together_anew(chunks: list[int], cross: bool) -> None:
    """What was handed out on the way stays as it was, though it lies in the same buffer."""
    layers, wanted = Layers(), np.zeros((2, 0, 7 if cross else 0), np.float32)
    handed_out = []
    for count in chunks:
        rows = wanted.shape[1] + count
        new = np.random.default_rng(rows).random((2, count, 7 if cross else rows), np.float32)
        wider = np.zeros((2, wanted.shape[1], new.shape[2]), np.float32)
        wider[:, :, : wanted.shape[2]] = wanted
        wanted = np.concatenate((wider, new), axis=1)
        layers.add(FIRST, new)
        handed_out.append((layers[FIRST], wanted))
    for found, expected in handed_out:
        assert np.array_equal(found, expected)


def test_only_the_shown_row_is_kept_and_scores_only_if_asked() -> None:
    one = trace(4, 5)
    plain, full = Capture(1), Capture(1, scores=True)
    for capture in (plain, full):
        capture.keep(*FIRST, one)
        assert np.array_equal(capture.patterns[FIRST], one.pattern[1])
    assert plain.scores == {}
    assert np.array_equal(full.scores[FIRST], one.scores[1])


def test_a_kept_pattern_is_a_copy_in_float32() -> None:
    capture, half = Capture(), Trace(*(part.half() for part in trace(2, 2)))
    capture.keep(*FIRST, half)
    before = capture.patterns[FIRST].copy()
    half.pattern.zero_()
    assert before.dtype == np.float32
    assert np.array_equal(capture.patterns[FIRST], before)
    assert before.max() > 0


def test_later_chunks_go_below_earlier_ones() -> None:
    capture = Capture()
    first, second = trace(3, 3), trace(1, 4, seed=1)
    capture.keep(*FIRST, first)
    capture.keep(*FIRST, second)
    grown = capture.pattern(HeadRef(Stack.DECODER, 0, 2))
    assert grown.shape == (4, 4)
    assert np.array_equal(grown[:3, :3], first.pattern[0, 2])
    assert (grown[:3, 3] == 0).all()
    assert np.array_equal(grown[3], second.pattern[0, 2, 0])


def test_only_the_layers_that_were_asked_for_are_wanted() -> None:
    capture = Capture(layers=[FIRST])
    assert capture.wants(*FIRST)
    assert not capture.wants(Stack.DECODER, 1)
    assert not Capture(layers=()).wants(*FIRST)
    assert Capture().wants(Stack.CROSS, 9)


def test_an_only_stack_goes_by_the_name_it_is_given() -> None:
    capture = Capture(only=Stack.ENCODER)
    capture.keep(*FIRST, trace(2, 2))
    assert capture.stacks() == (Stack.ENCODER,)
    assert Capture(layers=[(Stack.ENCODER, 0)], only=Stack.ENCODER).wants(*FIRST)


@pytest.mark.parametrize("side", [1, THUMB, THUMB + 1, 3 * THUMB])
def test_thumbnails_are_never_wider_than_their_limit(side: int) -> None:
    capture = Capture()
    capture.keep(*FIRST, trace(side, 2, batch=1, heads=1))
    wall = capture.maps()[0]
    assert wall.block == -(-side // THUMB)
    assert max(wall.thumbs.shape[2:]) <= THUMB
    assert wall.thumbs.max() == 255


def test_a_head_that_reads_nothing_has_a_black_thumbnail() -> None:
    capture = Capture()
    nothing = torch.zeros(1, 1, 2, 2)
    capture.keep(*FIRST, Trace(nothing, nothing))
    wall = capture.maps()[0]
    assert wall.scale.tolist() == [[0.0]]
    assert not wall.thumbs.any()


@pytest.mark.parametrize("head", [HeadRef(*FIRST, 3), HeadRef(Stack.CROSS), HeadRef(*FIRST, -1)])
def test_a_head_that_was_not_kept_is_named(head: HeadRef) -> None:
    capture = Capture()
    capture.keep(*FIRST, trace(2, 2))
    with pytest.raises(ValueError, match=f"no head {head.head + 1} in {head.stack.value} layer 1"):
        capture.pattern(head)
