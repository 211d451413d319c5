"""Numbers that are known from outside, written out."""

from __future__ import annotations

import numpy as np
import pytest

from core.mask.closed_form import allowed_pairs
from core.mask.cover import BlockCover
from core.mask.dense import additive, dense
from core.mask.intervals import RowIntervals, reason_counts, row_intervals
from core.mask.padding import position_ids
from core.mask.reasons import reason_at, sentence
from core.mask.reference import reference_attention
from core.mask.spec import query_positions
from core.types import MaskKind, MaskSpec, Reason

K = MaskKind


def drawn(spec: MaskSpec, b: int = 0) -> str:
    return "/".join("".join(str(int(cell)) for cell in row) for row in dense(spec)[b, 0])


@pytest.mark.parametrize(
    ("spec", "picture"),
    [
        (MaskSpec(K.BIDIRECTIONAL, 3), "111/111/111"),
        (MaskSpec(K.ENCODER_SELF, 2), "11/11"),
        (MaskSpec(K.CAUSAL, 4), "1000/1100/1110/1111"),
        (MaskSpec(K.DECODER_SELF, 3), "100/110/111"),
        (MaskSpec(K.PREFIX, 6, prefix=3), "111000/111000/111000/111100/111110/111111"),
        (MaskSpec(K.CROSS, 2, source=5), "11111/11111"),
        (MaskSpec(K.CROSS, 2, source=5, left_pad=(1,), right_pad=(2,)), "01100/01100"),
        (MaskSpec(K.CAUSAL, 1, past=4), "11111"),
        (MaskSpec(K.CAUSAL, 4, capacity=10), "1000000000/1100000000/1110000000/1111000000"),
        (MaskSpec(K.CAUSAL, 2, past=4, window=3), "001110/000111"),
        (MaskSpec(K.CAUSAL, 4, left_pad=(2,)), "0000/0000/0010/0011"),
        (MaskSpec(K.CAUSAL, 4, right_pad=(2,)), "1000/1100/1100/1100"),
        (MaskSpec(K.BIDIRECTIONAL, 4, window=2), "1100/1110/0111/0011"),
        (MaskSpec(K.CAUSAL, 4, documents=(1, 3)), "1000/0100/0110/0111"),
        (MaskSpec(K.PREFIX, 4, prefix=2, left_pad=(1,)), "0110/0110/0110/0111"),
    ],
)
def test_pictures(spec, picture):
    assert drawn(spec) == picture


@pytest.mark.parametrize(
    ("spec", "pairs"),
    [
        (MaskSpec(K.PREFIX, 6, prefix=3), 24),
        (MaskSpec(K.PREFIX, 10, prefix=6), 70),
        (MaskSpec(K.PREFIX, 1024, prefix=256), 557_440),
        (MaskSpec(K.CAUSAL, 6), 21),
        (MaskSpec(K.BIDIRECTIONAL, 1024), 1_048_576),
        (MaskSpec(K.CROSS, 7, source=11), 77),
        (MaskSpec(K.CAUSAL, 1, past=4), 5),
        (MaskSpec(K.CAUSAL, 3, past=4), 3 * 4 + 6),
        (MaskSpec(K.CAUSAL, 8, window=4), 26),
        (MaskSpec(K.CAUSAL, 4096, window=2048), 6_292_480),
        (MaskSpec(K.CAUSAL, 10, documents=(4, 2, 4)), 23),
        (MaskSpec(K.CAUSAL, 6, documents=(3, 1, 2)), 10),
        (MaskSpec(K.PREFIX, 4, prefix=2, left_pad=(1,)), 9),
        (MaskSpec(K.CAUSAL, 4, right_pad=(2,)), 7),
        (MaskSpec(K.CAUSAL, 65_536), 2_147_516_416),
        (MaskSpec(K.BIDIRECTIONAL, 65_536), 2**32),
    ],
)
def test_pairs(spec, pairs):
    assert allowed_pairs(spec) == pairs
    assert row_intervals(spec).count() == pairs
    assert reason_counts(spec)[Reason.OPEN] == pairs
    assert int(row_intervals(spec).column_counts().sum()) == pairs


def test_packed_positions_start_anew():
    spec = MaskSpec(K.CAUSAL, 10, documents=(4, 2, 4))
    assert "".join(map(str, position_ids(spec)[0])) == "0123010123"


def test_a_cached_token_reads_the_cache_where_the_row_index_would_not():
    spec = MaskSpec(K.CAUSAL, 1, past=4)
    assert query_positions(spec).tolist() == [4]
    row_index = np.arange(5) <= 0
    assert row_index.tolist() == [True, False, False, False, False]
    assert dense(spec)[0, 0, 0].tolist() == [True] * 5


def test_dense_size_of_a_long_batch():
    spec = MaskSpec(K.CAUSAL, 8192, left_pad=(0,) * 8, right_pad=(0,) * 8)
    assert spec.rows * spec.length * spec.keys == 512 * 2**20


def test_the_mask_comes_before_the_softmax():
    scores = np.array([[np.log(2), 0.0, 0.0]])
    values = np.array([[2.0, 0.0], [0.0, 2.0], [4.0, 4.0]])
    mask = np.array([[True, True, False]])
    np.testing.assert_allclose(reference_attention(scores, np.eye(3), mask), [[2 / 3, 1 / 3, 0]])
    np.testing.assert_allclose(reference_attention(scores, values, mask), [[4 / 3, 2 / 3]])
    late = reference_attention(scores, np.eye(3), np.ones((1, 3), bool)) * mask
    np.testing.assert_allclose(late, [[1 / 2, 1 / 4, 0]])
    np.testing.assert_allclose(late @ values, [[1, 1 / 2]])


def test_a_row_that_reads_nothing_is_zero():
    closed = np.zeros((2, 3), bool)
    np.testing.assert_array_equal(
        reference_attention(np.ones((2, 3)), np.ones((3, 4)), closed), np.zeros((2, 4))
    )


def test_additive_gives_the_same_attention():
    mask = dense(MaskSpec(K.CAUSAL, 4))[0, 0]
    scores = np.random.default_rng(0).normal(size=(4, 4))
    raised = np.exp(scores + additive(mask, np.float64))
    weights = raised / raised.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(weights, reference_attention(scores, np.eye(4), mask))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_additive_values(dtype):
    scores = additive(np.array([[True, False]]), dtype)
    assert scores.dtype == dtype
    assert scores.tolist() == [[0.0, -np.inf]]


EVERY = MaskSpec(
    K.CAUSAL, 6, past=2, left_pad=(1, 0), right_pad=(1, 0), window=3, documents=(2, 6), capacity=10
)


@pytest.mark.parametrize(
    ("row", "key", "reason"),
    [
        (1, 0, Reason.PADDING),
        (1, 7, Reason.PADDING),
        (1, 8, Reason.BEYOND_CACHE),
        (1, 1, Reason.OTHER_DOCUMENT),
        (5, 4, Reason.OUTSIDE_WINDOW),
        (1, 4, Reason.FUTURE),
        (1, 3, Reason.OPEN),
    ],
)
def test_the_first_reason_is_told(row, key, reason):
    assert reason_at(EVERY, 0, row, key) is reason


def test_sentences():
    spec = MaskSpec(K.CAUSAL, 6)
    assert (
        sentence(spec, 0, 3, 5, "sat", "mat")
        == 'query 3 "sat" may not read key 5 "mat": in the future'
    )
    assert sentence(spec, 0, 3, 1, "sat", "cat") == 'query 3 "sat" may read key 1 "cat"'
    endings = {
        (1, 0): "padding",
        (1, 8): "beyond the cache",
        (1, 1): "another document",
        (5, 4): "outside the window",
        (1, 4): "in the future",
    }
    for (row, key), words in endings.items():
        told = sentence(EVERY, 0, row, key, "a", "b")
        assert told == f'query {row + 2} "a" may not read key {key} "b": {words}'


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ((2, 0, 0), "b is 2, but must be between 0 and 1"),
        ((0, 6, 0), "row is 6, but must be between 0 and 5"),
        ((0, -1, 0), "row is -1, but must be between 0 and 5"),
        ((0, 0, 10), "key is 10, but must be between 0 and 9"),
    ],
)
def test_there_is_no_such_cell(cell, message):
    with pytest.raises(ValueError, match=message):
        reason_at(EVERY, *cell)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"length": 0}, "length is 0, but must be at least 1"),
        ({"past": -1}, "past is -1, but must be 0 or more"),
        ({"window": 0}, "window is 0, but must be 1 or more"),
        ({"capacity": 5, "past": 2}, "capacity is 5, but must be at least past . length = 6"),
        ({"left_pad": (4,)}, "left_pad is 4, but must be between 0 and 3"),
        ({"left_pad": (1,), "right_pad": (3,)}, "right_pad is 3, but must be between 0 and 2"),
        ({"left_pad": (0, 0)}, "right_pad is 0, but must be one number for each of the 2 rows"),
        ({"prefix": 2}, "prefix is 2, but must be 0 unless the kind is prefix"),
        ({"kind": K.PREFIX, "prefix": 5}, "prefix is 5, but must be between 0 and 4"),
        ({"documents": (2, 3)}, "documents is 2,3, but must be lengths that add up to 4"),
        ({"documents": (4, 0)}, "documents is 4,0, but must be lengths of at least 1"),
        ({"source": 3}, "source is 3, but must be unset unless the kind is cross"),
        ({"kind": K.CROSS}, "source is not given, but must be at least 1"),
        ({"kind": K.CROSS, "source": 3, "window": 2}, "window is 2, but must be off for a cross"),
        ({"kind": K.CROSS, "source": 3, "documents": (3,)}, "documents is 3, but must be empty"),
        ({"kind": K.CROSS, "source": 3, "capacity": 9}, "capacity is 9, but must be unset"),
    ],
)
def test_a_bad_spec_is_named(knobs, message):
    with pytest.raises(ValueError, match=message):
        MaskSpec(**{"kind": K.CAUSAL, "length": 4, **knobs})


def test_a_huge_window_is_no_window():
    wide = MaskSpec(K.CAUSAL, 5, window=10**30)
    assert drawn(wide) == drawn(MaskSpec(K.CAUSAL, 5))
    assert reason_at(wide, 0, 4, 0) is Reason.OPEN
    assert row_intervals(wide).count() == 15


def test_one_visible_column_of_65536_stays_visible():
    length = 65_536
    spec = MaskSpec(K.BIDIRECTIONAL, length, left_pad=(40_000,), right_pad=(length - 40_001,))
    states = BlockCover(50, 50).states(row_intervals(spec), (0, length, 0, length))
    assert states.any(axis=1).all()
    assert np.count_nonzero(states.any(axis=0)) == 1
    assert states.max() == 1


def test_a_block_of_more_cells_than_int32_holds():
    length = 65_536
    cover = BlockCover(1, 1)
    counts, area = cover.cover(row_intervals(MaskSpec(K.CAUSAL, length)), (0, length, 0, length))
    assert (counts.item(), area.item()) == (2_147_516_416, 2**32)
    counts, area = cover.cover(row_intervals(MaskSpec(K.CAUSAL, 6)), (0, 6, 0, 6))
    assert (counts.item(), area.item()) == (21, 36)
    assert counts.dtype == area.dtype == np.int32


def test_a_block_needs_a_cell():
    intervals = row_intervals(MaskSpec(K.CAUSAL, 4))
    with pytest.raises(ValueError, match="view has 4 x 3 cells, but must have at least 4 x 4"):
        BlockCover(4, 4).cover(intervals, (0, 4, 0, 3))
    with pytest.raises(ValueError, match="rows x cols is 0 x 4, but must be at least 1 x 1"):
        BlockCover(0, 4)


def test_intervals_of_a_row():
    mask = np.array([[1, 1, 0, 1], [0, 0, 0, 0], [0, 1, 1, 1]], bool)
    intervals = RowIntervals.from_dense(mask)
    assert intervals.row(0) == [(0, 2), (3, 4)]
    assert intervals.row(1) == []
    assert intervals.row(2) == [(1, 4)]
    assert intervals.empty_rows().tolist() == [1]
    assert intervals.column_counts().tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize(
    ("rows", "lo", "hi", "message"),
    [
        ([0, 1], [0], [1], "2, 1 and 1 entries, but must be of one length"),
        ([1, 0], [0, 0], [1, 1], "rows must ascend between 0 and 2"),
        ([0, 3], [0, 0], [1, 1], "rows must ascend between 0 and 2"),
        ([0, 1], [0, 2], [1, 2], "must hold a key and lie between 0 and 4"),
        ([0, 1], [0, 2], [1, 5], "must hold a key and lie between 0 and 4"),
    ],
)
def test_bad_intervals(rows, lo, hi, message):
    with pytest.raises(ValueError, match=message):
        RowIntervals((3, 4), *(np.array(x, np.int32) for x in (rows, lo, hi)))
