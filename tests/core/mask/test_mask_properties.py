"""Random masks beyond the exhaustive sizes."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from mask_cases import assert_all_renderings_agree, specs, torch_arange
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.attention.flex_attention import create_mask

from core.mask.cover import BlockCover
from core.mask.dense import dense
from core.mask.intervals import RowIntervals, row_intervals
from core.mask.reasons import reason_at, reason_grid, reasons
from core.mask.spec import document_starts, layers, only_row, rule
from core.types import MaskKind, MaskSpec, Reason

unhurried = settings(deadline=None, max_examples=100)


@unhurried
@given(specs())
def test_renderings_agree(spec):
    assert_all_renderings_agree(spec)


@unhurried
@given(specs())
def test_the_mask_is_the_conjunction_of_its_layers(spec):
    b, q, kv = np.ix_(range(spec.rows), range(spec.past, spec.past + spec.length), range(spec.keys))
    together = np.ones((spec.rows, spec.length, spec.keys), bool)
    for _, layer in layers(spec):
        together &= layer(b, np.zeros(1, int), q, kv)
    np.testing.assert_array_equal(together, dense(spec)[:, 0])


@unhurried
@given(specs())
def test_a_row_alone_is_the_row_of_the_batch(spec):
    for b in range(spec.rows):
        np.testing.assert_array_equal(dense(only_row(spec, b))[0], dense(spec)[b])


@unhurried
@given(specs())
def test_a_chunk_is_the_last_rows_of_the_whole(spec):
    whole = dataclasses.replace(spec, past=0, length=spec.past + spec.length)
    np.testing.assert_array_equal(dense(spec), dense(whole)[:, :, spec.past :])


@unhurried
@given(specs())
def test_masking_pads_is_deleting_them(spec):
    if spec.kind is MaskKind.CROSS:
        spec = dataclasses.replace(
            spec, kind=MaskKind.BIDIRECTIONAL, past=0, source=None, length=spec.filled
        )
    spec = dataclasses.replace(spec, past=0, length=spec.filled, capacity=None)
    for b in range(spec.rows):
        row = only_row(spec, b)
        tokens = slice(row.left_pad[0], row.filled - row.right_pad[0])
        bare = dataclasses.replace(row, length=row.real_tokens(0), left_pad=(0,), right_pad=(0,))
        np.testing.assert_array_equal(dense(row)[:, :, tokens, tokens], dense(bare))


@unhurried
@given(specs(), st.data())
def test_sampled_reasons_are_those_of_the_cells(spec, data):
    b = data.draw(st.integers(0, spec.rows - 1))
    rows = data.draw(st.lists(st.integers(0, spec.length - 1), min_size=1, max_size=5))
    keys = data.draw(st.lists(st.integers(0, spec.keys - 1), min_size=1, max_size=5))
    grid = reason_grid(spec, b, rows, keys)
    np.testing.assert_array_equal(grid, reasons(spec, b)[np.ix_(rows, keys)])
    assert reason_at(spec, b, rows[0], keys[0]) is Reason(grid[0, 0])


@settings(deadline=None, max_examples=25)
@given(specs(largest=12))
def test_fake_and_meta_tensors(spec):
    with FakeTensorMode():
        fake = dense(spec, functools.partial(torch.arange, device="meta"))
        placed = dense(spec, torch_arange)
    meta = dense(spec, functools.partial(torch.arange, device="meta"))
    for tensor in (fake, placed, meta):
        assert tensor.shape == (spec.rows, 1, spec.length, spec.keys)
        assert tensor.dtype is torch.bool


@settings(deadline=None, max_examples=20)
@given(specs(largest=12))
def test_a_rule_is_a_mask_mod_of_flex_attention(spec):
    rows, keys = spec.length, spec.keys
    whole = rule(spec)
    made = create_mask(
        lambda b, h, q, kv: whole(b, h, q + spec.past, kv), spec.rows, 1, rows, keys, device="cpu"
    )
    np.testing.assert_array_equal(made.numpy(), dense(spec))


@unhurried
@given(specs())
def test_the_answer_may_be_written_into(spec):
    for made in (dense(spec), dense(spec, torch_arange)):
        made[...] = False
        assert not made.any()
        made[-1, 0, -1, -1] = True
        assert int(made.sum()) == 1


@unhurried
@given(hnp.arrays(bool, hnp.array_shapes(min_dims=2, max_dims=2, max_side=20)), st.data())
def test_block_cover_of_any_cells(mask, data):
    queries, keys = mask.shape
    intervals = RowIntervals.from_dense(mask)
    np.testing.assert_array_equal(intervals.dense(), mask)
    r0 = data.draw(st.integers(0, queries - 1))
    r1 = data.draw(st.integers(r0 + 1, queries))
    c0 = data.draw(st.integers(0, keys - 1))
    c1 = data.draw(st.integers(c0 + 1, keys))
    cover = BlockCover(data.draw(st.integers(1, r1 - r0)), data.draw(st.integers(1, c1 - c0)))
    # A stale buffer of another view must not shine through.
    if cover.rows <= queries and cover.cols <= keys:
        cover.states(intervals, (0, queries, 0, keys))
    _assert_cover(cover, intervals, mask, (r0, r1, c0, c1))


def _assert_cover(cover, intervals, mask, view):
    counts, area = (each.copy() for each in cover.cover(intervals, view))
    states = cover.states(intervals, view)
    rows, cols = cover.row_edges, cover.col_edges
    assert (rows[0], rows[-1], cols[0], cols[-1]) == view
    for i in range(cover.rows):
        for j in range(cover.cols):
            block = mask[rows[i] : rows[i + 1], cols[j] : cols[j + 1]]
            assert block.size == area[i, j] > 0
            assert block.sum() == counts[i, j]
            assert states[i, j] == (2 if block.all() else 1 if block.any() else 0)


@unhurried
@given(specs(), st.data())
def test_block_cover_of_specs(spec, data):
    b = data.draw(st.integers(0, spec.rows - 1))
    cover = BlockCover(data.draw(st.integers(1, spec.length)), data.draw(st.integers(1, spec.keys)))
    view = (0, spec.length, 0, spec.keys)
    _assert_cover(cover, row_intervals(spec, b), dense(spec)[b, 0], view)


@unhurried
@given(specs())
def test_documents_of_a_row_begin_at_its_tokens(spec):
    for b in range(spec.rows):
        starts = document_starts(spec, b)
        assert all(spec.left_pad[b] < n < spec.filled - spec.right_pad[b] for n in starts)


@pytest.mark.parametrize("b", [-1, 1])
def test_there_is_no_such_row(b):
    spec = MaskSpec(MaskKind.CAUSAL, 4)
    for ask in (row_intervals, reasons, only_row):
        with pytest.raises(ValueError, match=f"b is {b}, but must be between 0 and 0"):
            ask(spec, b)
