"""The numpy halves against those of torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.export.buffers import Buffers
from core.model.attention import attend_traced
from core.model.config import ModelConfig
from core.run.arrays import likeliest, pattern
from core.types import Family, MaskKind


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 4]), st.booleans())
def test_patterns_are_those_of_the_model(seed: int, kv_heads: int, each_head: bool) -> None:
    rng = np.random.default_rng(seed)
    rows, keys, width = rng.integers(1, 9, 3)
    query = rng.normal(0, 2, (4, rows, width)).astype(np.float32)
    cached = rng.normal(0, 2, (kv_heads, keys, width)).astype(np.float32)
    mask = rng.random((4 if each_head else 1, rows, keys)) < 0.5
    found = pattern(query, cached, mask)
    shared = torch.from_numpy(cached).repeat_interleave(4 // kv_heads, dim=0)[None]
    _, trace = attend_traced(
        torch.from_numpy(query)[None], shared, shared, torch.from_numpy(mask)[None]
    )
    assert found.dtype == np.float32
    assert np.abs(found - trace.pattern[0].numpy()).max() < 1e-5
    assert not found[np.broadcast_to(~mask, found.shape)].any()


def test_the_likeliest_come_first_and_equals_in_order() -> None:
    logits = np.array([[1.0, 3.0, 3.0, 2.0]], np.float32)
    ids, probabilities = likeliest(logits, 9)
    assert ids.tolist() == [[1, 2, 3, 0]]
    assert ids.dtype == np.int32
    assert probabilities.sum() == pytest.approx(1)
    assert likeliest(logits, 2)[0].shape == (1, 2)


@given(st.integers(1, 40), st.integers(1, 50), st.integers(0, 99))
def test_the_likeliest_are_those_of_a_whole_sort(tokens: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits = np.stack([rng.permutation(tokens) for _ in range(3)]).astype(np.float32)
    ids, probabilities = likeliest(logits, count)
    for row, found, shares in zip(logits.tolist(), ids.tolist(), probabilities, strict=True):
        assert found == sorted(range(tokens), key=row.__getitem__, reverse=True)[:count]
        assert shares.tolist() == sorted(shares.tolist(), reverse=True)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 700), st.integers(1, 200))
def test_buffers_grow_by_little_and_lose_nothing(length: int, more: int) -> None:
    config = ModelConfig(Family.DECODER, (MaskKind.CAUSAL,), width=4, layers=1, heads=2, kv_heads=1)
    buffers = Buffers(config, 2, dtype="float32", device="cpu")
    buffers.reserve(length)
    buffers.length = length
    before = np.random.default_rng(length).random((2, 1, length, 2), np.float32)
    buffers.filled(0)[:] = before
    buffers.reserve(length + more)
    assert length + more <= buffers.capacity < length + more + max(32, (length + more) // 8)
    np.testing.assert_array_equal(buffers.filled(0), before)
    buffers.length = buffers.capacity
    assert not buffers.filled(0)[:, :, length:].any()
    assert not buffers.filled(1).any()
