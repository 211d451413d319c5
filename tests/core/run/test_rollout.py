"""Rollout, value norms and edges against plain matrix products and path sums, on any bool mask."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.mask.intervals import RowIntervals
from core.mask.reach import below, read_across
from core.run.flow_edges import Walked, strongest
from core.run.rollout import by_value_norm, even, walk
from core.types import LEAST_EDGE, FlowMethod, Stack

E, D, C = Stack.ENCODER, Stack.DECODER, Stack.CROSS
quick = settings(deadline=None, max_examples=80)


def weights(mask: np.ndarray, heads: int, seed: int) -> np.ndarray:
    """Random attention ``[H, Tq, S]`` under a mask; an empty row is 0."""
    raw = np.random.default_rng(seed).gamma(0.5, size=(heads, *mask.shape)) * mask + 0.0
    total = raw.sum(axis=2, keepdims=True)
    return (raw / np.where(total > 0, total, 1)).astype(np.float32)


def plain_layer(pattern: np.ndarray, norms: np.ndarray | None) -> np.ndarray:
    """``0.5 A + 0.5 I``, the identity where a row is empty; float64, entry by entry."""
    heads, queries, keys = pattern.shape
    mixed = np.zeros((queries, keys))
    for q in range(queries):
        for k in range(keys):
            for h in range(heads):
                by = 1.0 if norms is None else float(norms[h * len(norms) // heads, k])
                mixed[q, k] += float(pattern[h, q, k]) * by / heads
        if norms is not None and mixed[q].sum() > 0:
            mixed[q] /= mixed[q].sum()
    return mixed


def with_residual(mixed: np.ndarray) -> np.ndarray:
    full = np.zeros_like(mixed)
    for q in range(len(mixed)):
        share = 0.5 if mixed[q].any() else 0.0
        full[q] = share * mixed[q]
        full[q, q] += 1 - share
    return full


@st.composite
def one_stack(draw: st.DrawFn) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray], int]:
    """Masks of up to 3 layers, patterns and value norms, and a position."""
    size, layers = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    heads, seed = draw(st.sampled_from([(1, 1), (2, 2), (4, 2)])), draw(st.integers(0, 99))
    density = draw(st.sampled_from([0.1, 0.5, 0.9]))
    rng = np.random.default_rng(seed)
    masks = [rng.random((size, size)) < density for _ in range(layers)]
    patterns = [weights(mask, heads[0], seed + n) for n, mask in enumerate(masks)]
    norms = [rng.gamma(1.0, size=(heads[1], size)).astype(np.float32) for _ in range(layers)]
    return masks, patterns, norms, draw(st.integers(0, size - 1))


@quick
@given(one_stack(), st.booleans())
def test_shares_are_rows_of_plain_matrix_products(case, with_norms) -> None:
    masks, patterns, norms, at = case
    pairs = zip(patterns, norms, strict=True)
    made = [by_value_norm(*pair) if with_norms else even(pair[0]) for pair in pairs]
    weighed = {(D, layer): one for layer, one in enumerate(made)}
    flow = walk(weighed, {D: len(made)}, {D: len(masks[0])}, at)
    product = np.eye(len(masks[0]))
    for level in range(len(masks), -1, -1):
        assert np.abs(flow.mass[D][level] - product[at]).max() < 1e-6
        assert flow.mass[D][level].sum() == pytest.approx(1.0, abs=1e-5)
        if level:
            norm = norms[level - 1] if with_norms else None
            product = product @ with_residual(plain_layer(patterns[level - 1], norm))


@quick
@given(one_stack())
def test_nothing_that_cannot_reach_the_output_has_a_share(case) -> None:
    masks, patterns, norms, at = case
    cone = below([RowIntervals.from_dense(mask) for mask in masks], np.arange(len(masks[0])) == at)
    plain = [even(pattern) for pattern in patterns]
    weighted = [by_value_norm(*pair) for pair in zip(patterns, norms, strict=True)]
    for made in (plain, weighted):
        weighed = {(D, layer): one for layer, one in enumerate(made)}
        mass = walk(weighed, {D: len(masks)}, {D: len(masks[0])}, at).mass[D]
        assert (mass[~cone] == 0).all()
        assert (mass >= 0).all()


def two_stacks(seed: int, source: int = 4, target: int = 3):
    """One encoder layer and two decoder layers under random masks, some rows empty."""
    rng = np.random.default_rng(seed)
    shapes = {(E, 0): (source, source)} | {
        (stack, layer): (target, keys)
        for layer in (0, 1)
        for stack, keys in ((D, target), (C, source))
    }
    masks = {key: rng.random(shape) < 0.6 for key, shape in shapes.items()}
    patterns = {key: weights(mask, 2, seed + n) for n, (key, mask) in enumerate(masks.items())}
    return masks, patterns


def one_step(patterns, target: int, source: int) -> list[np.ndarray]:
    """Each decoder layer as one matrix over target and memory columns together."""
    steps = []
    for layer in (0, 1):
        own = with_residual(plain_layer(patterns[D, layer], None))
        cross = plain_layer(patterns[C, layer], None)
        full = np.eye(target + source)
        for q in range(target):
            share = 0.5 if cross[q].any() else 0.0
            full[q] = 0.0
            full[q, :target] = (1 - share) * own[q]
            full[q, target:] = share * cross[q]
        steps.append(full)
    return steps


@pytest.mark.parametrize("seed", range(8))
def test_a_decoder_hands_half_of_it_to_what_it_reads_across(seed) -> None:
    source, target = 4, 3
    masks, patterns = two_stacks(seed, source, target)
    weighed = {key: even(pattern) for key, pattern in patterns.items()}
    lower, upper = one_step(patterns, target, source)
    encoder = with_residual(plain_layer(patterns[E, 0], None))
    for at in range(target):
        flow = walk(weighed, {E: 1, D: 2}, {E: source, D: target}, at)
        total = (upper @ lower)[at]
        assert np.allclose(flow.mass[D][1], upper[at, :target], atol=1e-6)
        assert np.allclose(flow.mass[D][0], total[:target], atol=1e-6)
        assert np.allclose(flow.mass[E][1], total[target:], atol=1e-6)
        assert np.allclose(flow.mass[E][0], total[target:] @ encoder, atol=1e-6)
        own = below([RowIntervals.from_dense(masks[D, n]) for n in (0, 1)], np.arange(target) == at)
        crossing = [RowIntervals.from_dense(masks[C, n]) for n in (0, 1)]
        memory = read_across(crossing, own, source)
        reach = below([RowIntervals.from_dense(masks[E, 0])], memory)
        assert (flow.mass[D][~own] == 0).all()
        assert (flow.mass[E][~reach] == 0).all()


def test_a_stack_without_weights_is_left_out_with_those_below() -> None:
    _, patterns = two_stacks(1)
    weighed = {key: even(pattern) for key, pattern in patterns.items()}
    del weighed[E, 0]
    depth, sizes = {E: 1, D: 2}, {E: 4, D: 3}
    assert walk(weighed, depth, sizes, 0).mass.keys() == {D}
    del weighed[D, 1]
    assert walk(weighed, depth, sizes, 0).mass == {}


@pytest.mark.parametrize("seed", range(6))
def test_edges_carry_what_the_paths_through_them_carry(seed) -> None:
    """The share of an edge is the sum over all paths from the output that use it."""
    size, layers, at = 4, 3, 3
    rng = np.random.default_rng(seed)
    patterns = {(D, n): weights(rng.random((size, size)) < 0.7, 2, seed + n) for n in range(layers)}
    weighed = {key: even(pattern) for key, pattern in patterns.items()}
    walked = Walked(weighed, walk(weighed, {D: layers}, {D: size}, at))
    edges = strongest(patterns, walked, Walked({}, walk({}, {D: layers}, {D: size}, at)), 0)
    carried: dict[tuple[int, int, int, bool], float] = {}
    steps = itertools.product(range(size), (False, True), repeat=layers)
    for choice in steps:
        columns, ways = [at, *choice[::2]], choice[1::2]
        share, used = 1.0, []
        for n, (q, k, residual) in enumerate(zip(columns, columns[1:], ways, strict=False)):
            layer = layers - 1 - n
            mixed = plain_layer(patterns[D, layer], None)
            half = 0.5 if mixed[q].any() else 0.0
            share *= ((1 - half) if q == k else 0.0) if residual else half * mixed[q, k]
            used.append((layer, q, k, residual))
        for edge in used:
            carried[edge] = carried.get(edge, 0.0) + share
    found = {}
    for n in range(len(edges)):
        head = edges.head_ref(n)
        key = (int(edges.layer[n]), int(edges.query[n]), int(edges.key[n]), head is None)
        found[key] = float(edges.rollout[n])
        if head is not None:
            own = patterns[D, head.layer][:, edges.query[n], edges.key[n]]
            assert own[head.head] == own.max()
    strong = {edge: share for edge, share in carried.items() if share >= LEAST_EDGE + 1e-6}
    assert strong.keys() <= found.keys()
    for edge, share in found.items():
        assert share == pytest.approx(carried[edge], abs=1e-6)
        assert share >= LEAST_EDGE - 1e-6
    assert np.isnan(edges.value_norm).all()
    assert (np.diff(edges.shares(FlowMethod.GRADIENT)) <= 0).all()


def test_an_edge_knows_its_ends() -> None:
    _, patterns = two_stacks(3)
    weighed = {key: even(pattern) for key, pattern in patterns.items()}
    walked = Walked(weighed, walk(weighed, {E: 1, D: 2}, {E: 4, D: 3}, 2))
    edges = strongest(patterns, walked, walked, 2)
    assert {edges.attention(n) for n in range(len(edges))} == {E, D, C}
    for n in range(len(edges)):
        upper, lower, own = edges.upper(n), edges.lower(n), edges.attention(n)
        assert (upper.stack, lower.stack) == ((D, E) if own is C else (own, own))
        assert lower.level == (1 if own is C else upper.level - 1)
        assert edges.head_ref(n) is not None or upper.column == lower.column
