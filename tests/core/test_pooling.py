"""The largest value of each block, against a loop over the blocks."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from core.pooling import block_maximum

ARRAYS = hnp.arrays(
    st.sampled_from([np.float32, np.uint8, np.bool_]),
    hnp.array_shapes(min_dims=2, max_dims=4, max_side=9),
)


@settings(deadline=None, max_examples=100)
@given(ARRAYS, st.integers(1, 5), st.integers(1, 5))
def test_a_block_holds_its_largest_value(values: np.ndarray, down: int, across: int) -> None:
    values = np.nan_to_num(values)
    before = values.copy()
    small = block_maximum(values, down, across)
    rows, columns = values.shape[-2:]
    assert small.shape == (*values.shape[:-2], -(-rows // down), -(-columns // across))
    for i, j in np.ndindex(small.shape[-2:]):
        tile = values[..., i * down : (i + 1) * down, j * across : (j + 1) * across]
        assert np.array_equal(small[..., i, j], tile.max(axis=(-2, -1)))
    assert np.array_equal(values, before), "the values themselves stay"
