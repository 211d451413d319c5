from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.grid_geometry import (
    GridWindow,
    Margins,
    axis_map,
    lay_out,
    max_zoom,
    revealing,
    zoomed,
)

NONE = Margins(40, 50, 20, 100)


@given(
    st.integers(1, 300),
    st.integers(1, 300),
    st.floats(1, 30),
    st.floats(0, 300),
    st.sampled_from([1.0, 1.5, 2.0]),
)
def test_pixel_to_cell_and_back(rows: int, cols: int, zoom: float, at: float, dpr: float) -> None:
    frame = lay_out((640, 700), (rows, cols), GridWindow(zoom, at, at), margins=NONE, dpr=dpr)
    row, col = frame.row_span[1] - 1, frame.col_span[0]
    left, top = max(frame.x, frame.left_of(col)), max(frame.y, frame.top_of(row))
    right = min(frame.left_of(col + 1), frame.x + frame.width)
    bottom = min(frame.top_of(row + 1), frame.y + frame.height)
    if right - left > 1e-6 and bottom - top > 1e-6:
        assert frame.cell_at((left + right) / 2, (top + bottom) / 2) == (row, col)
    assert frame.cell_at(frame.x - 1, frame.y) is None
    assert 0 <= frame.row <= rows
    assert frame.x + frame.width <= 640
    assert frame.y + frame.height <= 700


def test_zoom_keeps_the_point_under_the_cursor() -> None:
    window = GridWindow(4.0, 30.0, 20.0)
    frame = lay_out((640, 700), (128, 128), window, margins=NONE)
    x, y = frame.x + 200.0, frame.y + 150.0
    before = frame.cell_at(x, y)
    closer = zoomed(frame, window, 1.25, x, y)
    after = lay_out((640, 700), (128, 128), closer, margins=NONE).cell_at(x, y)
    assert before is not None
    assert after is not None
    assert max(abs(before[0] - after[0]), abs(before[1] - after[1])) <= 1


def test_zoom_has_ends() -> None:
    window = GridWindow()
    frame = lay_out((640, 700), (64, 64), window, margins=NONE)
    assert zoomed(frame, window, 0.5, 100, 100) == GridWindow()
    assert zoomed(frame, window, 1e9, 100, 100).zoom == max_zoom(frame)


def test_a_cell_out_of_sight_is_revealed() -> None:
    window = GridWindow(8.0, 0.0, 0.0)
    frame = lay_out((640, 700), (256, 256), window, margins=NONE)
    moved = lay_out((640, 700), (256, 256), revealing(frame, window, (255, 128)), margins=NONE)
    assert moved.row_span[1] == 256
    assert moved.col_span[0] <= 128 < moved.col_span[1]


@pytest.mark.parametrize(
    ("cell", "total"), [(0.1, 6000), (0.5, 4000), (0.3, 9000), (0.9, 600), (1.0, 500), (7.0, 90)]
)
def test_an_axis_map_skips_no_cell(cell: float, total: int) -> None:
    pixels = int(cell * total)
    made = axis_map(0.0, cell, total, pixels, 1.0)
    edges = made.edges()
    assert edges[0] == 0
    assert edges[-1] == total
    assert len(made.index) == pixels
    assert np.array_equal(np.unique(made.index), np.arange(made.blocks))
    assert made.gap.any() == (cell >= 6)
