"""Specs to test with, and the one comparison of every rendering with the oracle."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

import numpy as np
import torch
from hypothesis import strategies as st

from core.mask.closed_form import allowed_pairs
from core.mask.dense import dense
from core.mask.intervals import RowIntervals, reason_counts, row_intervals
from core.mask.padding import last_real, position_ids, real_tokens
from core.mask.reasons import reasons
from core.mask.reference import reference_positions, reference_reasons
from core.types import MaskKind, MaskSpec, Reason

SELF_KINDS = tuple(kind for kind in MaskKind if kind is not MaskKind.CROSS)
torch_arange = functools.partial(torch.arange, device="cpu")


def assert_all_renderings_agree(spec: MaskSpec) -> None:
    told = reference_reasons(spec)
    mask = told == Reason.OPEN
    array, tensor = dense(spec), dense(spec, torch_arange)
    assert array.dtype == bool
    assert array.shape == (spec.rows, 1, spec.length, spec.keys)
    assert tensor.dtype is torch.bool
    assert np.array_equal(array[:, 0], mask)
    assert np.array_equal(tensor.numpy()[:, 0], mask)
    assert np.array_equal(position_ids(spec), reference_positions(spec))
    readable = np.zeros((spec.rows, spec.filled), bool)
    for b in range(spec.rows):
        assert np.array_equal(reasons(spec, b), told[b])
        assert reason_counts(spec, b) == {why: int((told[b] == why).sum()) for why in Reason}
        assert allowed_pairs(spec, b) == int(mask[b].sum())
        _assert_intervals(row_intervals(spec, b), mask[b])
        end = spec.filled - spec.right_pad[b]
        readable[b, spec.left_pad[b] : end] = True
        assert last_real(spec)[b] == end - 1
    assert np.array_equal(real_tokens(spec), readable)


def _assert_intervals(intervals: RowIntervals, mask: np.ndarray) -> None:
    assert intervals.shape == mask.shape
    assert np.array_equal(intervals.dense(), mask)
    assert intervals.count() == int(mask.sum())
    assert np.array_equal(intervals.column_counts(), mask.sum(axis=0))
    assert np.array_equal(intervals.empty_rows(), np.flatnonzero(~mask.any(axis=1)))


def pads(total: int, keep: int = 1) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Every pair of left and right pads that leaves ``keep`` tokens: one batch row each."""
    pairs = [
        (left, right)
        for left in range(total)
        for right in range(total - left)
        if left + right <= total - keep
    ]
    left, right = zip(*pairs, strict=True)
    return left, right


def compositions(total: int) -> list[tuple[int, ...]]:
    """Every way to pack ``total`` tokens into documents, 2 ** (total - 1) of them."""
    cuts = itertools.product((False, True), repeat=total - 1)
    packed = []
    for cut in cuts:
        edges = [0, *(i + 1 for i, here in enumerate(cut) if here), total]
        packed.append(tuple(np.diff(edges).tolist()))
    return packed


def small_self_specs(total: int) -> Iterator[MaskSpec]:
    """Every spec of ``total`` columns up to 3; beyond, every pad with a choice of the rest."""
    some = total > 3
    packings = compositions(total)
    if total > 4:
        packings = [packings[0], packings[len(packings) // 3], packings[-1]]
    windows = (None, 2, total - 1) if some else (None, *range(1, total + 1))
    pasts = (0, total // 2, total - 1) if some else range(total)
    prefixes = (0, 3, total) if some else range(total + 1)
    kinds = [(kind, 0) for kind in SELF_KINDS if kind is not MaskKind.PREFIX]
    if some:  # the other two are the same rules under another name
        kinds = [(MaskKind.BIDIRECTIONAL, 0), (MaskKind.CAUSAL, 0)]
    kinds += [(MaskKind.PREFIX, prefix) for prefix in prefixes]
    every = itertools.product(kinds, windows, pasts, packings)
    for number, ((kind, prefix), window, past, packing) in enumerate(every):
        left, right = pads(total, max(1, prefix))
        yield MaskSpec(
            kind,
            total - past,
            past=past,
            prefix=prefix,
            left_pad=left,
            right_pad=right,
            window=window,
            documents=packing,
            capacity=total + number % 3 if number % 2 else None,
        )


@st.composite
def specs(draw: st.DrawFn, largest: int = 40) -> MaskSpec:
    """Any spec with up to 4 batch rows and ``largest`` filled columns."""
    kind = draw(st.sampled_from(MaskKind))
    cross = kind is MaskKind.CROSS
    length = draw(st.integers(1, largest // 2))
    past = draw(st.integers(0, largest // 2))
    filled = draw(st.integers(1, largest)) if cross else past + length
    rows = draw(st.integers(1, 4))
    left = [draw(st.integers(0, filled - 1)) for _ in range(rows)]
    right = [draw(st.integers(0, filled - 1 - n)) for n in left]
    tokens = [filled - a - b for a, b in zip(left, right, strict=True)]
    documents: tuple[int, ...] = ()
    if not cross and draw(st.booleans()):
        cuts = draw(st.sets(st.integers(1, max(tokens)), max_size=4)) - {max(tokens)}
        documents = tuple(np.diff([0, *sorted(cuts), max(tokens)]).tolist())
    return MaskSpec(
        kind,
        length,
        past=past,
        prefix=draw(st.integers(0, min(tokens))) if kind is MaskKind.PREFIX else 0,
        left_pad=tuple(left),
        right_pad=tuple(right),
        window=None if cross else draw(st.none() | st.integers(1, largest + 5)),
        documents=documents,
        source=filled if cross else None,
        capacity=None if cross else draw(st.none() | st.integers(filled, filled + 6)),
    )
