"""Tests of whole models: what a mask promises must hold from the ids to the logits."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from model_cases import (
    Keeper,
    V,
    logits_in_chunks,
    logits_of,
    one_row,
    row_of_ids,
    some_inputs,
    tiny,
)
from torch import Tensor

from core.mask.padding import real_tokens
from core.mask.spec import prefix_end
from core.run.prompt import prompt
from core.types import Family, Inputs, MaskKind, MaskSpec, Stack

GENERATORS = (Family.DECODER, Family.PREFIX, Family.ENCODER_DECODER)
families = pytest.mark.parametrize("family", Family)
generators = pytest.mark.parametrize("family", GENERATORS)
unhurried = settings(deadline=None, max_examples=15)


def same(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def with_token(inputs: Inputs, column: int) -> Inputs:
    """The same row with another token in one column."""
    row = list(inputs.rows[0])
    row[column] = (row[column] + 1) % V
    return replace(inputs, rows=(tuple(row),))


def changed(model, inputs: Inputs, column: int) -> list[bool]:
    """Which columns of the output change with the token of one column."""
    before, after = (logits_of(model, each)[0] for each in (inputs, with_token(inputs, column)))
    return ((before - after).abs().amax(dim=-1) > 1e-5).tolist()


# -- who reads whom


@pytest.mark.parametrize("family", [Family.DECODER, Family.ENCODER_DECODER])
@pytest.mark.parametrize("column", range(6))
def test_a_token_changes_its_own_output_and_all_later_ones_only(
    family: Family, column: int
) -> None:
    expected = [at >= column for at in range(6)]
    assert changed(tiny(family), one_row(family, 6), column) == expected


@pytest.mark.parametrize("column", range(6))
def test_a_token_of_the_prefix_changes_all_and_one_after_it_nothing_before(column: int) -> None:
    inputs = one_row(Family.PREFIX, 6, prefix=3)
    expected = [column < 3 or at >= column for at in range(6)]
    assert changed(tiny(Family.PREFIX), inputs, column) == expected


@pytest.mark.parametrize("column", range(6))
def test_a_token_of_an_encoder_changes_every_output(column: int) -> None:
    assert all(changed(tiny(Family.ENCODER), one_row(Family.ENCODER, 6), column))


@pytest.mark.parametrize("column", range(5))
def test_a_source_token_changes_every_output(column: int) -> None:
    family = Family.ENCODER_DECODER
    inputs = one_row(family, 6)
    source = list(inputs.source[0])
    source[column] = (source[column] + 1) % V
    other = replace(inputs, source=(tuple(source),))
    before, after = (logits_of(tiny(family), each)[0] for each in (inputs, other))
    assert ((before - after).abs().amax(dim=-1) > 1e-5).all()


def test_a_window_hides_what_lies_behind_it_in_one_layer() -> None:
    inputs = one_row(Family.DECODER, 8, window=3)
    expected = [1 <= at < 4 for at in range(8)]
    assert changed(tiny(Family.DECODER, layers=1), inputs, 1) == expected
    deeper = [1 <= at < 6 for at in range(8)]
    assert changed(tiny(Family.DECODER, layers=2), inputs, 1) == deeper


# -- one layer, two masks


def under(kind: MaskKind, **knobs: int) -> tuple[Tensor, Keeper]:
    inputs = Inputs((row_of_ids(6, 0),), MaskSpec(kind, 6, **knobs))
    keeper = Keeper()
    return logits_of(tiny(Family.DECODER, layers=1), inputs, keeper)[0], keeper


def test_causal_and_prefix_agree_on_the_last_row_of_one_layer_and_differ_on_row_1() -> None:
    causal, kept = under(MaskKind.CAUSAL)
    prefix, kept_prefix = under(MaskKind.PREFIX, prefix=3)
    apart = (causal - prefix).abs().amax(dim=-1)
    assert apart[5] < 1e-6
    assert apart[1] > 1e-3
    rows, others = (k.patterns[Stack.DECODER, 0][0, :, -1] for k in (kept, kept_prefix))
    assert torch.equal(rows, others)


def test_in_two_layers_the_prefix_reaches_the_last_row() -> None:
    model, ids = tiny(Family.DECODER), (row_of_ids(6, 0),)
    causal, prefix = (
        logits_of(model, Inputs(ids, spec))[0, -1]
        for spec in (MaskSpec(MaskKind.CAUSAL, 6), MaskSpec(MaskKind.PREFIX, 6, prefix=3))
    )
    assert (causal - prefix).abs().max() > 1e-3


def test_bidirectional_and_causal_differ_on_row_0_and_not_on_the_last() -> None:
    causal, bidirectional = under(MaskKind.CAUSAL)[0], under(MaskKind.BIDIRECTIONAL)[0]
    apart = (causal - bidirectional).abs().amax(dim=-1)
    assert apart[0] > 1e-3
    assert apart[5] < 1e-6


# -- padding


@families
@unhurried
@given(data=st.data())
def test_a_padded_row_says_what_it_says_alone(family: Family, data: st.DataObject) -> None:
    inputs = data.draw(some_inputs(family))
    model, real = tiny(family), real_tokens(inputs.mask)
    logits = logits_of(model, inputs)
    for row in range(inputs.mask.rows):
        alone = _without_pads(prompt(inputs, row))
        assert alone.mask.left_pad == alone.mask.right_pad == (0,)
        same(logits_of(model, alone)[0], logits[row][torch.from_numpy(real[row])])


def _without_pads(inputs: Inputs) -> Inputs:
    """One row with every pad cut off, of the source too."""

    def bare(spec: MaskSpec) -> MaskSpec:
        return replace(spec, length=spec.real_tokens(0), left_pad=(0,), right_pad=(0,))

    def cut(row: tuple[int, ...], spec: MaskSpec) -> tuple[int, ...]:
        return row[spec.left_pad[0] : spec.filled - spec.right_pad[0]]

    mask, source_mask, cross = inputs.mask, inputs.source_mask, inputs.cross_mask
    ids = (cut(inputs.rows[0], mask),)
    if source_mask is None or cross is None:
        return Inputs(ids, bare(mask))
    source = cut(inputs.source[0], source_mask)
    cross = MaskSpec(MaskKind.CROSS, len(ids[0]), source=len(source))
    return Inputs(ids, bare(mask), (source,), bare(source_mask), cross)


@families
def test_what_stands_in_a_pad_does_not_matter(family: Family) -> None:
    inputs = one_row(family, 7, left_pad=(2,), right_pad=(1,))
    before, model = logits_of(tiny(family), inputs), tiny(family)
    for column in (0, 1, 6):
        same(before[0, 2:6], logits_of(model, with_token(inputs, column))[0, 2:6])


def test_left_pads_without_position_ids_would_change_the_answer() -> None:
    """The mask alone does not make a padded row invariant: learned positions must follow."""
    family = Family.DECODER
    model, ids = tiny(family), row_of_ids(5, 0)
    padded = logits_of(model, Inputs(((0, 0, *ids),), MaskSpec(MaskKind.CAUSAL, 7, left_pad=(2,))))
    mask = torch.ones(7, 7, dtype=torch.bool).tril()
    mask[:, :2] = False
    naive = model(torch.tensor([[0, 0, *ids]]), torch.arange(7)[None], mask)
    alone = logits_of(model, Inputs((ids,), MaskSpec(MaskKind.CAUSAL, 5)))
    same(padded[:, 2:], alone)
    assert (naive[:, 2:] - alone).abs().max() > 1e-3


# -- documents


@families
def test_a_packed_document_says_what_it_says_alone(family: Family) -> None:
    sizes, model = (3, 1, 4), tiny(family)
    packed = one_row(family, 8)
    packed = replace(packed, mask=replace(packed.mask, documents=sizes))
    logits, start = logits_of(model, packed)[0], 0
    for size in sizes:
        stop = start + size
        mask, cross = MaskSpec(packed.mask.kind, size), packed.cross_mask
        if cross is not None:
            cross = replace(cross, length=size)
        alone = replace(packed, rows=(packed.rows[0][start:stop],), mask=mask, cross_mask=cross)
        same(logits_of(model, alone)[0], logits[start:stop])
        start = stop


# -- cache


@generators
@unhurried
@given(data=st.data())
def test_cached_chunks_say_what_the_whole_row_says(family: Family, data: st.DataObject) -> None:
    inputs = data.draw(some_inputs(family))
    spec, first = inputs.mask, 1
    if spec.kind is MaskKind.PREFIX:
        first = max(1, *(prefix_end(spec, b) for b in range(spec.rows)))
    token_by_token = set(range(first, spec.length))
    cuts = data.draw(st.just(token_by_token) | st.sets(st.sampled_from([*token_by_token, first])))
    stops = sorted({*cuts, spec.length})
    model = tiny(family)
    logits, cache, _ = logits_in_chunks(model, inputs, stops)
    same(logits, logits_of(model, inputs))
    assert cache.length == spec.length


def test_a_prefix_prefilled_in_pieces_would_be_wrong() -> None:
    """What the refusal of such a cache protects from."""
    model, inputs = tiny(Family.PREFIX), one_row(Family.PREFIX, 6, prefix=4)
    logits = logits_in_chunks(model, inputs, [2, 6])[0]
    assert (logits - logits_of(model, inputs)).abs().max() > 1e-3


def test_a_bidirectional_cache_would_be_wrong() -> None:
    model, inputs = tiny(Family.ENCODER), one_row(Family.ENCODER, 6)
    logits = logits_in_chunks(model, inputs, [3, 6])[0]
    assert (logits - logits_of(model, inputs)).abs().max() > 1e-3


def test_a_triangle_that_ignores_the_cache_would_be_wrong() -> None:
    """past = 4 and one new token: all five keys are open, not the first alone."""
    model, inputs = tiny(Family.DECODER), one_row(Family.DECODER, 5)
    _, cache, tensors = logits_in_chunks(model, inputs, [4])
    assert tensors.mask[0, 0, 4].tolist() == [True] * 5
    naive = torch.tensor([[[[True, False, False, False, False]]]])
    logits = model(tensors.ids[:, 4:], tensors.positions[:, 4:], naive, cache)
    assert (logits - logits_of(model, inputs)[:, 4:]).abs().max() > 1e-3


def test_the_cross_part_of_a_cache_is_filled_once() -> None:
    family = Family.ENCODER_DECODER
    model, inputs = tiny(family), one_row(family, 6)
    _, early, _ = logits_in_chunks(model, inputs, [1])
    _, late, _ = logits_in_chunks(model, inputs, [1, 3, 6])
    own = 2 * 2 * 12 * 4  # layers, keys and values, width, bytes: per cached token
    assert early.bytes == own * 1 + own * 5
    assert late.bytes == own * 6 + own * 5
