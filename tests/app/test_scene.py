"""A state becomes ids and masks: checked against padding by hand and the loop oracle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.scene import scene
from app.state import SAMPLES, RowState, ViewState, initial
from core.mask.dense import dense
from core.mask.reference import reference_mask
from core.paths import TOKENIZER
from core.text.tokenizer import BOS, EOS, PAD, Tokenizer
from core.types import Family, MaskKind, Stack

TOKENS = Tokenizer.load(TOKENIZER)


def with_rows(family: Family, *rows: RowState, **changes: object) -> ViewState:
    return replace(initial(family), rows=rows, prefix=0, **changes)


@pytest.mark.parametrize("family", Family)
def test_every_family_starts_with_a_sentence_that_makes_a_scene(family: Family) -> None:
    state = initial(family)
    made = scene(state, TOKENS)
    assert state.current is SAMPLES[family]
    assert made.inputs.rows[0][0] == BOS
    assert set(made.masks) >= {state.stack}


def test_an_encoder_row_is_closed_by_an_end_token_and_a_generating_row_is_not() -> None:
    row = RowState("The cat sat.")
    read = scene(with_rows(Family.ENCODER, row), TOKENS).inputs.rows[0]
    written = scene(with_rows(Family.DECODER, row), TOKENS).inputs.rows[0]
    assert read == (*written, EOS)


def test_shorter_rows_are_padded_left_where_tokens_follow_and_right_where_they_are_read() -> None:
    rows = (RowState("The cat sat on the mat."), RowState("The cat"))
    generating = scene(with_rows(Family.DECODER, *rows), TOKENS).inputs
    reading = scene(with_rows(Family.ENCODER, *rows), TOKENS).inputs
    spare = generating.mask.left_pad[1]
    assert spare > 0
    assert generating.mask.right_pad == (0, 0)
    assert generating.rows[1][:spare] == (PAD,) * spare
    assert reading.mask.left_pad == (0, 0)
    assert reading.rows[1][-spare:] == (PAD,) * spare
    assert {len(row) for row in generating.rows} == {generating.mask.filled}


def test_a_cache_offset_splits_the_text_and_keeps_the_keys() -> None:
    plain = scene(with_rows(Family.DECODER, RowState("The cat sat on the mat.")), TOKENS)
    cached = scene(with_rows(Family.DECODER, RowState("The cat sat on the mat."), past=3), TOKENS)
    assert cached.inputs.rows == plain.inputs.rows
    assert cached.query_ids[Stack.DECODER] == plain.query_ids[Stack.DECODER][3:]
    assert cached.key_ids == plain.key_ids
    whole = dense(plain.inputs.mask)[0, 0]
    assert np.array_equal(dense(cached.inputs.mask)[0, 0], whole[3:])


def test_an_encoder_decoder_has_three_masks_and_the_cross_mask_closes_source_pads() -> None:
    rows = (RowState("The cat sat on the mat."), RowState("The cat", "A dog ran"))
    made = scene(with_rows(Family.ENCODER_DECODER, *rows, row=1), TOKENS)
    kinds = [made.masks[stack].kind for stack in Stack]
    assert kinds == [MaskKind.ENCODER_SELF, MaskKind.DECODER_SELF, MaskKind.CROSS]
    cross, source = made.masks[Stack.CROSS], made.masks[Stack.ENCODER]
    assert cross.source == source.length
    assert cross.right_pad == source.right_pad
    assert source.right_pad[1] > 0
    open_keys = dense(cross)[1, 0].any(axis=0)
    assert open_keys.tolist() == [i != PAD for i in made.inputs.source[1]]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"past": 99}, "past is 99, but must be between 0 and"),
        ({"prefix": 99}, "prefix is 99, but must be between 0 and"),
        ({"window": 0}, "window is 0, but must be 1 or more"),
        ({"documents": (2, 2)}, "documents is 2,2, but must be lengths that add up to"),
    ],
)
def test_a_knob_that_cannot_be_is_refused_with_a_sentence(
    changes: dict[str, object], sentence: str
) -> None:
    state = replace(initial(Family.PREFIX), **changes)
    with pytest.raises(ValueError, match="but must be") as told:
        scene(state, TOKENS)
    assert sentence in str(told.value)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([Family.ENCODER, Family.DECODER, Family.PREFIX]),
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=3
    ),
    st.data(),
)
def test_any_rows_and_knobs_give_the_mask_of_the_loops(
    family: Family, sizes: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    rows = tuple(
        RowState(" ".join(["cat"] * n), left_pad=left, right_pad=right) for n, left, right in sizes
    )
    plain = scene(with_rows(family, *rows), TOKENS).inputs.mask
    shortest = min(plain.real_tokens(b) for b in range(plain.rows))
    past = data.draw(st.integers(0, plain.filled - 1)) if plain.kind.is_causal else 0
    prefix = data.draw(st.integers(0, shortest)) if family is Family.PREFIX else 0
    window = data.draw(st.none() | st.integers(1, plain.filled))
    state = replace(with_rows(family, *rows, past=past, window=window), prefix=prefix)
    spec = scene(state, TOKENS).inputs.mask
    assert np.array_equal(dense(spec)[:, 0], reference_mask(spec))
