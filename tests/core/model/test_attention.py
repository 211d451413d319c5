from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from core.mask.reference import reference_attention
from core.model.attention import Attention, attend, attend_late, attend_traced
from core.model.config import ModelConfig
from core.types import Family, MaskKind

unhurried = settings(deadline=None, max_examples=40)


def fast(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    return attend(query, key, value, mask)


def captured(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    return attend_traced(query, key, value, mask)[0]


both_paths = pytest.mark.parametrize("path", [fast, captured])


@st.composite
def problems(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Queries, keys, values and a mask of any sizes; some rows may read nothing."""
    batch, heads, tq, s, d = (draw(st.integers(1, n)) for n in (2, 3, 6, 6, 5))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 999)))

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    share = draw(st.sampled_from((0.2, 0.6, 1.0)))
    shape = (draw(st.sampled_from((1, batch))), draw(st.sampled_from((1, heads))), tq, s)
    mask = torch.rand(shape, generator=generator) < share
    return (
        3 * normal(batch, heads, tq, d),
        normal(batch, heads, s, d),
        normal(batch, heads, s, d),
        mask,
    )


@unhurried
@given(problems())
def test_both_paths_give_what_the_loops_give(problem: tuple[Tensor, ...]) -> None:
    query, key, value, mask = problem
    output, trace = attend_traced(query, key, value, mask)
    torch.testing.assert_close(attend(query, key, value, mask), output, atol=1e-5, rtol=0)
    full = mask.expand(trace.pattern.shape)
    for b in range(query.shape[0]):
        for h in range(query.shape[1]):
            scores = (query[b, h] @ key[b, h].T / math.sqrt(query.shape[-1])).numpy()
            cells = full[b, h].numpy()
            weights = reference_attention(scores, np.eye(key.shape[2]), cells)
            np.testing.assert_allclose(trace.pattern[b, h], weights, atol=1e-5)
            expected = reference_attention(scores, value[b, h].numpy(), cells)
            np.testing.assert_allclose(output[b, h], expected, atol=1e-5)


@unhurried
@given(problems())
def test_scores_are_those_before_the_mask(problem: tuple[Tensor, ...]) -> None:
    query, key, value, mask = problem
    trace = attend_traced(query, key, value, mask)[1]
    unmasked = torch.einsum("bhqd,bhkd->bhqk", query, key) / math.sqrt(query.shape[-1])
    torch.testing.assert_close(trace.scores, unmasked, atol=1e-5, rtol=0)


@unhurried
@given(problems())
def test_a_row_of_weights_adds_up_to_one_or_is_empty(problem: tuple[Tensor, ...]) -> None:
    query, key, value, mask = problem
    pattern = attend_traced(query, key, value, mask)[1].pattern
    full = mask.expand(pattern.shape)
    assert (pattern[~full] == 0).all()
    torch.testing.assert_close(pattern.sum(-1), full.any(-1).float(), atol=1e-5, rtol=0)


@both_paths
def test_the_mask_comes_before_the_softmax(path) -> None:
    """Scores ln 2, 0, 0 with the third key closed: weights 2/3, 1/3, 0.

    Zeroing the third weight after the softmax would give 1/2, 1/4, 0 and the output 1, 1/2.
    """
    query = torch.tensor([[[[math.sqrt(2), 0.0]]]])
    key = torch.tensor([[[[math.log(2), 0.0], [0.0, 0.0], [0.0, 0.0]]]])
    value = torch.tensor([[[[2.0, 0.0], [0.0, 2.0], [4.0, 4.0]]]])
    mask = torch.tensor([[[[True, True, False]]]])
    output = path(query, key, value, mask)
    torch.testing.assert_close(output, torch.tensor([[[[4 / 3, 2 / 3]]]]))
    trace = attend_traced(query, key, value, mask)[1]
    torch.testing.assert_close(trace.pattern, torch.tensor([[[[2 / 3, 1 / 3, 0.0]]]]))
    torch.testing.assert_close(trace.scores, torch.tensor([[[[math.log(2), 0.0, 0.0]]]]))
    late = trace.scores.softmax(-1) * mask
    torch.testing.assert_close(late, torch.tensor([[[[1 / 2, 1 / 4, 0.0]]]]))


@both_paths
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_query_that_may_read_nothing_gives_exact_zeros(path, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(2, 2, 3, 4, generator=generator).to(dtype) for _ in range(3))
    mask = torch.ones(2, 1, 3, 3, dtype=torch.bool)
    mask[0, :, 1] = False
    mask[1] = False
    output = path(100 * query, key, value, mask)
    assert (output[0, :, 1] == 0).all()
    assert (output[1] == 0).all()
    assert output.isfinite().all()
    assert (output[0, :, [0, 2]] != 0).all()
    assert (attend_traced(query, key, value, mask)[1].pattern[1] == 0).all()


@unhurried
@given(problems())
def test_gradients_of_both_paths_are_finite_and_the_same(problem: tuple[Tensor, ...]) -> None:
    *parts, mask = problem
    found = []
    for path in (fast, captured):
        leaves = [part.clone().requires_grad_() for part in parts]
        output = path(*leaves, mask)
        (output * torch.linspace(-1, 1, output.numel()).view(output.shape)).sum().backward()
        found.append([leaf.grad for leaf in leaves])
    for one, other in zip(*found, strict=True):
        assert one.isfinite().all()
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("kv_heads", [1, 2])
@pytest.mark.parametrize("cross", [False, True])
def test_shared_keys_and_values_are_repeated_ones(traced: bool, kv_heads: int, cross: bool) -> None:
    def config(kv: int) -> ModelConfig:
        return ModelConfig(
            Family.DECODER, (MaskKind.CAUSAL,), width=16, heads=4, kv_heads=kv, ffn=8
        )

    torch.manual_seed(0)
    grouped, plain = Attention(config(kv_heads), cross=cross), Attention(config(4), cross=cross)
    own = 0 if cross else grouped.q_width
    joined, wide = (m.kv if cross else m.qkv for m in (grouped, plain))
    with torch.no_grad():
        for small, large in ((joined.weight, wide.weight), (joined.bias, wide.bias)):
            pairs = small[own:].unflatten(0, (2, kv_heads, 4))
            large[own:] = pairs.repeat_interleave(4 // kv_heads, dim=1).flatten(0, 2)
            large[:own] = small[:own]
        plain.out.load_state_dict(grouped.out.state_dict())
        if cross:
            plain.q.load_state_dict(grouped.q.state_dict())
    x, memory = torch.randn(2, 5, 16), torch.randn(2, 5, 16)
    mask = torch.ones(5, 5, dtype=torch.bool).tril()

    def output(module: Attention) -> Tensor:
        if cross:
            query, pair = module.project_query(x), module.project_memory(memory)
        else:
            query, *rest = module.project(x)
            pair = (rest[0], rest[1])
        assert pair[0].shape[1] == module.kv_heads
        mixed, trace = module(query, pair, mask, traced)
        assert (trace is not None) == traced
        if trace is not None:
            assert trace.pattern.shape == (2, 4, 5, 5)
        return mixed

    torch.testing.assert_close(output(grouped), output(plain), atol=1e-6, rtol=1e-5)


def test_masking_late_leaves_a_sum_below_one() -> None:
    """Scores ln 2, 0, 0 with the third key closed: 1/2, 1/4, 0 where 2/3, 1/3, 0 is right."""
    query, key = torch.tensor([[[[math.log(2)]]]]), torch.tensor([[[[1.0], [0.0], [0.0]]]])
    value = torch.tensor([[[[2.0, 0.0], [0.0, 2.0], [4.0, 4.0]]]])
    mask = torch.tensor([True, True, False])
    output, trace = attend_late(query, key, value, mask)
    assert torch.allclose(trace.pattern.flatten(), torch.tensor([1 / 2, 1 / 4, 0.0]))
    assert torch.allclose(output.flatten(), torch.tensor([1.0, 1 / 2]))
    output, trace = attend_traced(query, key, value, mask)
    assert torch.allclose(trace.pattern.flatten(), torch.tensor([2 / 3, 1 / 3, 0.0]))
    assert torch.allclose(output.flatten(), torch.tensor([4 / 3, 2 / 3]))
