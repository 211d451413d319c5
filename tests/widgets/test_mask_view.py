from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QWheelEvent
from PySide6.QtTest import QSignalSpy
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.mask.intervals import row_intervals
from core.types import MaskKind, MaskSpec, Reason
from widgets import palette
from widgets.grid_geometry import GridWindow
from widgets.mask_view import MaskView

Show = Callable[..., None]
Pixel = Callable[..., int]

SPECS = [
    MaskSpec(MaskKind.CAUSAL, 12),
    MaskSpec(MaskKind.BIDIRECTIONAL, 9, left_pad=(2,), right_pad=(1,)),
    MaskSpec(MaskKind.PREFIX, 15, prefix=6),
    MaskSpec(MaskKind.CAUSAL, 4, past=7, window=3),
    MaskSpec(MaskKind.CAUSAL, 10, documents=(4, 3, 3)),
    MaskSpec(MaskKind.CROSS, 5, source=11, left_pad=(0,), right_pad=(3,)),
    MaskSpec(MaskKind.CAUSAL, 3, past=4, capacity=12),
]


def labels(count: int) -> list[str]:
    return [f"t{i}" for i in range(count)]


def fill(view: MaskView, spec: MaskSpec) -> None:
    view.set_mask(spec, 0, labels(spec.length), labels(spec.keys))


def middle(view: MaskView, row: int, col: int) -> QPoint:
    return view.cell_rect((row, col)).center().toPoint()


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("dark", [False, True])
def test_pixels_agree_with_the_mask(
    shown: Show, pixel_at: Pixel, qapp: QApplication, spec: MaskSpec, dark: bool
) -> None:
    theme = palette.apply(qapp, dark)
    view = MaskView()
    fill(view, spec)
    shown(view)
    image = view.grab().toImage()
    seen = np.zeros((spec.length, spec.keys), bool)
    known = np.ones_like(seen)
    pads = [r for start, stop in view._row_labels.faded for r in range(start, stop)]
    for row in range(spec.length):
        for col in range(spec.keys):
            at = view.cell_rect((row, col)).center()
            seen[row, col] = pixel_at(image, at) == theme.open.rgb()
    known[pads] = False
    dense = row_intervals(spec, 0).dense()
    assert np.array_equal(seen & known, dense & known)


def test_rows_are_queries_and_columns_are_keys(shown: Show, pixel_at: Pixel) -> None:
    view = MaskView()
    fill(view, MaskSpec(MaskKind.CAUSAL, 4, past=4))
    shown(view)
    image = view.grab().toImage()
    theme = palette.current()
    assert pixel_at(image, view.cell_rect((3, 7)).center()) == theme.open.rgb()
    assert pixel_at(image, view.cell_rect((0, 7)).center()) != theme.open.rgb()
    assert middle(view, 0, 7).x() > middle(view, 0, 0).x()
    assert middle(view, 3, 0).y() > middle(view, 0, 0).y()


def picture(view: MaskView) -> np.ndarray:
    frame = view.frame()
    assert frame is not None
    image = view._make_picture(frame, palette.current())
    flat = np.frombuffer(image.constBits(), np.uint32)
    return flat.reshape(image.height(), image.width()).copy()


@pytest.mark.parametrize("length", [1024, 4096, 65536])
def test_one_readable_column_is_seen_at_any_length(shown: Show, length: int) -> None:
    view = MaskView()
    left = length // 3
    pads = {"left_pad": (left,), "right_pad": (length - left - 1,)}
    view.set_mask(MaskSpec(MaskKind.BIDIRECTIONAL, length, **pads), 0, [], [])
    shown(view, 700, 900)
    closed = [pair.rgb() for pair in palette.reason_pair(Reason.PADDING)]
    lit = ~np.isin(picture(view), closed)
    assert lit.any(axis=1).all()
    assert lit.any(axis=0).sum() == 1


def test_one_closed_column_is_seen_at_any_length(shown: Show) -> None:
    view = MaskView()
    view.set_mask(MaskSpec(MaskKind.BIDIRECTIONAL, 4096, right_pad=(1,), left_pad=(0,)), 0, [], [])
    shown(view, 700, 900)
    pixels = picture(view)[:-2]
    assert (pixels[:, :-1] == palette.current().open.rgb()).all()
    assert (pixels[:, -1] != palette.current().open.rgb()).all()


def test_hover_click_and_leave(shown: Show, qtbot: QtBot) -> None:
    view = MaskView()
    fill(view, SPECS[0])
    shown(view)
    with qtbot.waitSignal(view.cell_hovered) as hovered:
        qtbot.mouseMove(view, middle(view, 3, 5))
    assert hovered.args == [(3, 5)]
    with qtbot.waitSignal(view.cell_clicked) as clicked:
        qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=middle(view, 3, 5))
    assert clicked.args == [(3, 5)]
    assert view.selected == (3, 5)
    assert 'query 3 "t3" may not read key 5 "t5"' in view.accessibleDescription()
    with qtbot.waitSignal(view.cell_hovered) as left:
        qtbot.mouseMove(view, QPoint(2, 2))
    assert left.args == [None]


def test_arrows_move_the_cell_and_stop_at_the_edge(shown: Show, qtbot: QtBot) -> None:
    view = MaskView()
    fill(view, SPECS[0])
    view.set_selected((10, 0))
    shown(view)
    spy = QSignalSpy(view.cell_clicked)
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Right):
        qtbot.keyClick(view, key)
    assert [spy.at(i)[0] for i in range(spy.count())] == [(11, 0), (11, 0), (11, 0), (11, 1)]
    qtbot.keyClick(view, Qt.Key.Key_End)
    qtbot.keyClick(view, Qt.Key.Key_PageUp)
    assert view.selected == (0, 11)


def wheel(view: MaskView, at: QPoint, turn: int) -> None:
    event = QWheelEvent(
        QPointF(at),
        QPointF(view.mapToGlobal(at)),
        QPoint(0, 0),
        QPoint(0, turn),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(view, event)


def test_wheel_zooms_drag_pans_and_a_double_click_resets(shown: Show, qtbot: QtBot) -> None:
    view = MaskView()
    fill(view, MaskSpec(MaskKind.CAUSAL, 100))
    shown(view)
    spy = QSignalSpy(view.view_changed)
    clicks = QSignalSpy(view.cell_clicked)
    at = middle(view, 25, 20)
    for _ in range(6):
        wheel(view, at, 120)
    assert view.view.zoom > 3
    frame = view.frame()
    assert frame is not None
    row, col = frame.cell_at(at.x(), at.y()) or (0, 0)
    assert abs(row - 25) <= 2
    assert abs(col - 20) <= 2
    before = view.view
    qtbot.mousePress(view, Qt.MouseButton.LeftButton, pos=at)
    qtbot.mouseMove(view, at + QPoint(30, 20))
    qtbot.mouseMove(view, at + QPoint(60, 40))
    qtbot.mouseRelease(view, Qt.MouseButton.LeftButton, pos=at + QPoint(60, 40))
    assert view.view.col < before.col
    assert view.view.row < before.row
    assert clicks.count() == 0
    qtbot.mouseDClick(view, Qt.MouseButton.LeftButton, pos=at)
    assert view.view == GridWindow()
    assert spy.at(spy.count() - 1)[0] == GridWindow()


def test_being_told_emits_nothing(shown: Show) -> None:
    view = MaskView()
    shown(view)
    spies = [QSignalSpy(s) for s in (view.cell_hovered, view.cell_clicked, view.view_changed)]
    for spec in SPECS:
        fill(view, spec)
        view.set_cursor((1, 2))
        view.set_selected((2, 1))
        view.set_view(GridWindow(2.0, 1.0, 1.0))
        view.set_view(GridWindow())
        view.grab()
    assert [spy.count() for spy in spies] == [0, 0, 0]


def test_a_smaller_mask_drops_a_cell_that_is_gone(shown: Show) -> None:
    view = MaskView()
    fill(view, MaskSpec(MaskKind.CAUSAL, 20))
    shown(view)
    view.set_selected((19, 19))
    fill(view, MaskSpec(MaskKind.CAUSAL, 5))
    assert view.selected is None
    assert not view.grab().isNull()


@pytest.mark.parametrize("size", [(180, 180), (200, 600), (900, 200)])
def test_every_size_paints(shown: Show, size: tuple[int, int]) -> None:
    for spec in SPECS:
        view = MaskView()
        fill(view, spec)
        shown(view, *size)
        image = view.grab().toImage()
        assert image.pixelColor(0, 0) == QColor(palette.current().card)


def test_twins_of_nearly_one_size_lay_their_squares_out_alike(shown: Callable[..., None]) -> None:
    one, other = MaskView(), MaskView()
    for view in (one, other):
        view.set_mask(MaskSpec(MaskKind.BIDIRECTIONAL, 22), 0, [], [])
        shown(view, 400, 700)
    for width in range(400, 430):  # At one of them a cell is a pixel wider.
        one.resize(width, 700)
        other.resize(width + 1, 700)
        if one.frame() != other.frame():
            break
    assert one.frame() != other.frame()
    one.set_twin(other)
    other.set_twin(one)
    assert one.frame() == other.frame()
    other.resize(600, 700)
    assert other.frame() != one.frame()


@pytest.mark.parametrize("length", [6, 36, 72])
@pytest.mark.parametrize("scrolled", [0.0, 0.5, 0.8])
def test_the_name_of_the_cache_stands_above_the_first_label(
    shown: Show, length: int, scrolled: float
) -> None:
    view = MaskView()
    fill(view, MaskSpec(MaskKind.CAUSAL, length, past=3))
    shown(view)
    if scrolled:
        view.set_view(GridWindow(2.0, scrolled, 0.0))
    frame, image = view.frame(), view.grab().toImage()
    assert frame is not None
    blue, grey = set(), set()
    for y in range(int(frame.y) - 30, int(frame.y + frame.height)):
        for x in range(int(frame.x) - 8):
            ink = QColor(image.pixel(x, y))
            if ink.blue() - ink.red() > 60:
                blue.add(y)
            elif ink.lightness() < 200:
                grey.add(y)
    assert len(blue) > 4
    assert max(blue) < min(grey)
