"""Cones against a search over paths that knows masks as cells alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from mask_cases import specs

from core.mask.intervals import RowIntervals
from core.mask.reach import (
    above,
    below,
    downstream,
    downstream_across,
    read_across,
    upstream,
    upstream_across,
)
from core.mask.reference import reference_mask
from core.types import Inputs, MaskKind, MaskSpec, Stack

quick = settings(deadline=None, max_examples=120)
self_specs = specs(14).filter(lambda spec: spec.kind is not MaskKind.CROSS)


def cells(spec: MaskSpec, row: int) -> np.ndarray:
    """The mask of the whole row, cell by cell."""
    whole = replace(spec, length=spec.past + spec.length, past=0, capacity=None)
    return reference_mask(whole)[row]


def paths_to(masks: list[np.ndarray], level: int, column: int) -> set[tuple[int, int]]:
    """Every node that is met by walking down from one, a step at a time."""
    seen, waiting = set(), [(level, column)]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        at, query = node
        if at > 0:
            keys = [k for k in range(masks[at - 1].shape[1]) if masks[at - 1][query, k]]
            waiting += [(at - 1, key) for key in [query, *keys]]
    return seen


def nodes(cone: np.ndarray) -> set[tuple[int, int]]:
    return {(int(level), int(column)) for level, column in np.argwhere(cone)}


@quick
@given(self_specs, st.data(), st.integers(0, 4))
def test_upstream_is_what_a_path_leads_from(spec, data, layers) -> None:
    row = data.draw(st.integers(0, spec.rows - 1))
    position = data.draw(st.integers(0, spec.filled - 1))
    cone = upstream(spec, row, position, layers)
    assert cone.shape == (layers + 1, spec.filled)
    assert nodes(cone) == paths_to([cells(spec, row)] * layers, layers, position)


@quick
@given(self_specs, st.data(), st.integers(0, 4))
def test_downstream_is_where_a_path_through_the_cell_leads(spec, data, layers) -> None:
    row = data.draw(st.integers(0, spec.rows - 1))
    query = data.draw(st.integers(0, spec.length - 1))
    key = data.draw(st.integers(0, spec.keys - 1))
    cone = downstream(spec, row, (query, key), layers)
    hit = {(level, spec.past + query) for level in range(1, layers + 1)}
    mask = [cells(spec, row)] * layers
    for level in range(layers + 1):
        for column in range(spec.filled):
            expected = bool(paths_to(mask, level, column) & hit)
            assert cone[level, column] == expected


@quick
@given(hnp.arrays(np.bool_, st.tuples(st.integers(1, 4), st.just(6), st.just(6))), st.data())
def test_every_layer_may_have_a_mask_of_its_own(masks, data) -> None:
    """Also masks that no spec describes."""
    top = data.draw(st.integers(0, 5))
    intervals = [RowIntervals.from_dense(mask) for mask in masks]
    cone = below(intervals, np.arange(6) == top)
    assert nodes(cone) == paths_to(list(masks), len(masks), top)
    grown = above(intervals, [np.arange(6) == top] * len(masks), 6)
    hit = {(level, top) for level in range(1, len(masks) + 1)}
    for level, column in np.ndindex(grown.shape):
        assert grown[level, column] == bool(paths_to(list(masks), level, column) & hit)


def two_stacks(length: int = 5, past: int = 2, source: int = 6) -> Inputs:
    pads = {"left_pad": (1, 0), "right_pad": (1, 2)}
    spec = MaskSpec(
        MaskKind.DECODER_SELF, length, past=past, window=2, left_pad=(0, 1), right_pad=(0, 0)
    )
    return Inputs(
        ((0,) * spec.filled,) * 2,
        spec,
        ((0,) * source,) * 2,
        MaskSpec(MaskKind.ENCODER_SELF, source, window=2, **pads),
        MaskSpec(MaskKind.CROSS, length, past=past, source=source, **pads),
    )


def one_graph(inputs: Inputs, row: int, layers: int, encoder_layers: int) -> np.ndarray:
    """Both stacks as one bool matrix over all nodes: [n, m] = m feeds n directly."""
    assert inputs.source_mask is not None
    assert inputs.cross_mask is not None
    source, target = inputs.source_mask.filled, inputs.mask.filled
    first = source * (encoder_layers + 1)
    size = first + target * (layers + 1)
    own, cross, encoder = (
        cells(spec, row) for spec in (inputs.mask, inputs.cross_mask, inputs.source_mask)
    )
    feeds = np.eye(size, dtype=bool)
    for level in range(encoder_layers):
        for q in range(source):
            for k in range(source):
                feeds[source * (level + 1) + q, source * level + k] = encoder[q, k] or q == k
    for level in range(layers):
        for q in range(target):
            for k in range(target):
                at = first + target * (level + 1) + q
                feeds[at, first + target * level + k] = own[q, k] or q == k
            for k in range(source):
                feeds[first + target * (level + 1) + q, first - source + k] = cross[q, k]
    return feeds


def closed_under(feeds: np.ndarray) -> np.ndarray:
    while True:
        more = (feeds.astype(int) @ feeds.astype(int)) > 0
        if np.array_equal(more, feeds):
            return feeds
        feeds = more


def split(flat: np.ndarray, inputs: Inputs, encoder_layers: int) -> dict[Stack, np.ndarray]:
    assert inputs.source_mask is not None
    first = inputs.source_mask.filled * (encoder_layers + 1)
    return {
        Stack.ENCODER: flat[:first].reshape(encoder_layers + 1, -1),
        Stack.DECODER: flat[first:].reshape(-1, inputs.mask.filled),
    }


@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize(("layers", "encoder_layers"), [(1, 1), (2, 1), (3, 2)])
def test_both_stacks_are_walked_from_a_target_position(row, layers, encoder_layers) -> None:
    inputs = two_stacks()
    reaches = closed_under(one_graph(inputs, row, layers, encoder_layers))
    for position in range(inputs.mask.filled):
        at = reaches.shape[0] - inputs.mask.filled + position
        cones = upstream_across(inputs, row, position, layers, encoder_layers)
        for stack, expected in split(reaches[at], inputs, encoder_layers).items():
            assert np.array_equal(cones[stack], expected), (stack, position)


@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("stack", Stack)
def test_a_cell_of_any_mask_changes_what_lies_above_it(row, stack) -> None:
    layers, encoder_layers = 3, 2
    inputs = two_stacks()
    assert inputs.source_mask is not None
    reaches = closed_under(one_graph(inputs, row, layers, encoder_layers))
    source, target = inputs.source_mask.filled, inputs.mask.filled
    first = source * (encoder_layers + 1)
    for query in (0, 1, 4):
        if stack is Stack.ENCODER:
            hit = [source * level + query for level in range(1, encoder_layers + 1)]
        else:
            at = inputs.mask.past + query
            hit = [first + target * level + at for level in range(1, layers + 1)]
        expected = split(reaches[:, hit].any(axis=1), inputs, encoder_layers)
        cones = downstream_across(
            inputs, row, stack, (query, 3), layers=layers, encoder_layers=encoder_layers
        )
        for name, cone in cones.items():
            assert np.array_equal(cone, expected[name]), (name, query)


def test_cross_masks_may_differ_by_layer() -> None:
    masks = [np.zeros((2, 3), bool) for _ in range(2)]
    masks[0][0, 2] = masks[1][1, 0] = True
    cone = np.array([[True, True], [True, False], [False, True]])
    read = read_across([RowIntervals.from_dense(mask) for mask in masks], cone, 3)
    assert read.tolist() == [True, False, True]


def test_a_window_reaches_a_window_further_with_every_layer() -> None:
    cone = upstream(MaskSpec(MaskKind.CAUSAL, 20, window=4), 0, 19, 3)
    assert [int(level.sum()) for level in cone[::-1]] == [1, 4, 7, 10]


def test_a_long_row_needs_no_square() -> None:
    """65,536 squared would be 4 GiB."""
    spec = MaskSpec(MaskKind.CAUSAL, 65_536, window=1000)
    assert int(upstream(spec, 0, 65_535, 8)[0].sum()) == 8 * 999 + 1
    assert int(downstream(spec, 0, (0, 9), 8)[8].sum()) == 7 * 999 + 1


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda spec: upstream(spec, 0, 6, 1), "position is 6, but must be between 0 and 5"),
        (lambda spec: upstream(spec, 1, 0, 1), "must be between 0 and 0"),
        (lambda spec: downstream(spec, 0, (4, 0), 1), "query is 4"),
        (lambda spec: downstream(spec, 0, (0, 6), 1), "key is 6"),
        (lambda spec: upstream(MaskSpec(MaskKind.CROSS, 2, source=2), 0, 0, 1), "kind is cross"),
        (lambda spec: upstream_across(Inputs(((0,) * 6,), spec), 0, 0, 1, 1), "no source"),
    ],
)
def test_what_is_out_of_range_is_named(ask, told) -> None:
    with pytest.raises(ValueError, match=told):
        ask(MaskSpec(MaskKind.CAUSAL, 4, past=2))
