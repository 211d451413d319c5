from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage
from PySide6.QtTest import QSignalSpy

from core.mask.intervals import row_intervals
from core.types import MaskKind, MaskSpec
from widgets import palette
from widgets.attention_view import AttentionView

Show = Callable[..., None]


def labels(count: int) -> list[str]:
    return [f"t{i}" for i in range(count)]


def grab_at(view: AttentionView, cell: tuple[int, int]) -> int:
    image: QImage = view.grab().toImage()
    ratio = image.devicePixelRatio()
    return image.pixel((view.cell_rect(cell).center() * ratio).toPoint())


def test_one_hot_cell_is_where_it_belongs(shown: Show) -> None:
    pattern = np.zeros((4, 8), np.float32)
    pattern[0, 6] = 1.0
    view = AttentionView()
    view.set_pattern(pattern, None, 0, labels(4), labels(8))
    shown(view)
    lut = palette.attention_lut(palette.current(), "indigo")
    for row in range(4):
        for col in range(8):
            hot = (row, col) == (0, 6)
            assert grab_at(view, (row, col)) == int(lut[255 if hot else 0]), (row, col)


@pytest.mark.parametrize("name", palette.MAP_NAMES)
def test_closed_is_not_weight_zero(shown: Show, name: str) -> None:
    spec = MaskSpec(MaskKind.CAUSAL, 6, left_pad=(1,))
    pattern = np.zeros((6, 6), np.float32)
    view = AttentionView()
    view.set_map(name)
    view.set_pattern(pattern, spec, 0, labels(6), labels(6))
    shown(view)
    image = view.grab().toImage()
    dense = row_intervals(spec, 0).dense()
    zero = int(palette.attention_lut(palette.current(), name)[0])
    for row in range(1, 6):
        for col in range(6):
            box = view.cell_rect((row, col)).adjusted(3, 3, -3, -3)
            ratio = image.devicePixelRatio()
            box = QRectF(box.topLeft() * ratio, box.size() * ratio).toRect()
            colors = {
                image.pixel(x, y)
                for x in range(box.left(), box.right())
                for y in range(box.top(), box.bottom())
            }
            assert (colors == {zero}) == dense[row, col]
            assert (len(colors) > 1) != dense[row, col]


def test_one_strong_weight_is_seen_when_cells_are_smaller_than_pixels(shown: Show) -> None:
    pattern = np.zeros((1500, 1500), np.float32)
    pattern[1111, 777] = 1.0
    view = AttentionView()
    view.set_pattern(pattern, None, 0, [], [])
    shown(view, 500, 640)
    frame = view.frame()
    assert frame is not None
    assert frame.cell < 1
    image = view._make_picture(frame, palette.current())
    pixels = np.frombuffer(image.constBits(), np.uint32)
    top = palette.attention_lut(palette.current(), "indigo")[255]
    assert (pixels == top).sum() == 1


def test_row_contrast_lifts_a_weak_row(shown: Show) -> None:
    pattern = np.full((3, 3), 1 / 3, np.float32)
    view = AttentionView()
    view.set_pattern(pattern, None, 0, labels(3), labels(3))
    shown(view)
    plain = grab_at(view, (0, 0))
    view.set_row_contrast(True)
    lifted = grab_at(view, (0, 0))
    lut = palette.attention_lut(palette.current(), "indigo")
    assert plain != lifted == int(lut[255])


def test_stale_fades_and_a_pattern_ends_it(shown: Show) -> None:
    pattern = np.eye(4, dtype=np.float32)
    view = AttentionView()
    view.set_pattern(pattern, None, 0, labels(4), labels(4))
    shown(view)
    fresh = grab_at(view, (0, 0))
    view.set_stale(True)
    assert grab_at(view, (0, 0)) != fresh
    view.set_pattern(pattern, None, 0, labels(4), labels(4))
    assert grab_at(view, (0, 0)) == fresh


def test_empty_and_back(shown: Show) -> None:
    view = AttentionView()
    spies = [QSignalSpy(s) for s in (view.cell_hovered, view.cell_clicked, view.view_changed)]
    shown(view)
    assert not view.grab().isNull()
    view.set_pattern(np.eye(3, dtype=np.float32), None, 0, labels(3), labels(3))
    view.set_selected((1, 1))
    assert view.accessibleDescription() == 'query 1 "t1" reads key 1 "t1" with weight 1.000'
    view.set_empty("The engine stopped; it is being started again.")
    view.grab()
    assert view.selected is None
    assert view.describe((0, 0)) == ""
    assert [spy.count() for spy in spies] == [0, 0, 0]
