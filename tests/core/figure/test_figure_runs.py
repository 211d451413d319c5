"""Blocks against loops: every cell is covered once, by the colour that it has."""

from __future__ import annotations

import numpy as np
from figure_cases import specs
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from core.figure.runs import of_intervals, painted, runs
from core.mask.intervals import RowIntervals, reason_intervals
from core.mask.reference import reference_reasons
from core.types import MaskKind, MaskSpec, Reason

CODES = arrays.arrays(
    np.int64, arrays.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.integers(0, 3)
)


def spread(blocks: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """How often each cell is covered."""
    counts = np.zeros(shape, int)
    for top, bottom, left, right in blocks.tolist():
        assert top < bottom
        assert left < right
        for row in range(top, bottom):
            for col in range(left, right):
                counts[row, col] += 1
    return counts


@given(CODES)
def test_runs_cover_each_code_exactly(codes: np.ndarray) -> None:
    found = dict(runs(codes))
    assert set(found) == set(codes.ravel().tolist())
    for code, blocks in found.items():
        np.testing.assert_array_equal(spread(blocks, codes.shape), codes == code)


def test_equal_rows_are_one_block() -> None:
    codes = np.zeros((40, 30), np.int64)
    codes[5:35, 10:20] = 1
    assert dict(runs(codes))[1].tolist() == [[5, 35, 10, 20]]


@given(CODES)
def test_the_commonest_colour_is_one_rectangle_behind_all(codes: np.ndarray) -> None:
    colors = np.arange(12, dtype=np.uint8).reshape(4, 3)
    marks = painted(codes, colors, (2.0, 3.0), (4.0, 5.0))
    rows, cols = codes.shape
    assert marks[0].rects.tolist() == [[2.0, 3.0, 4.0 * cols, 5.0 * rows]]
    canvas = np.zeros((rows, cols, 3), int)
    for mark in marks:
        for x, y, wide, high in mark.rects:
            left, top = round((x - 2) / 4), round((y - 3) / 5)
            canvas[top : top + round(high / 5), left : left + round(wide / 4)] = mark.color
    np.testing.assert_array_equal(canvas, colors[codes])


@given(specs())
def test_each_reason_has_its_cells(spec: MaskSpec) -> None:
    told = reference_reasons(spec)[0]
    found = reason_intervals(spec)
    assert set(found) == set(Reason)
    for reason, intervals in found.items():
        counts = spread(of_intervals(intervals), told.shape)
        np.testing.assert_array_equal(counts, told == reason, err_msg=reason.name)
        assert isinstance(intervals, RowIntervals)


def test_a_long_mask_is_a_few_thousand_rectangles() -> None:
    spec = MaskSpec(MaskKind.PREFIX, 65_536, prefix=20_000, window=50_000)
    counts = {r: len(of_intervals(i)) for r, i in reason_intervals(spec).items()}
    assert sum(counts.values()) < 3 * 65_536
    assert counts[Reason.OPEN] <= 65_536 - 20_000 + 1
