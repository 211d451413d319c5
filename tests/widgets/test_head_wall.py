from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot

from core.types import AttentionMaps, HeadRef, Stack
from widgets import palette
from widgets.head_wall import HeadWall

Show = Callable[..., None]


def maps(stack: Stack, layers: int = 3, heads: int = 4, size: int = 8) -> AttentionMaps:
    thumbs = np.zeros((layers, heads, size, size), np.uint8)
    return AttentionMaps(stack, size, size, 1, thumbs, np.ones((layers, heads), np.float32))


def middle(wall: HeadWall, head: HeadRef) -> QPoint:
    return wall.head_rect(head).center().toPoint()


def test_hover_and_click_name_the_head(shown: Show, qtbot: QtBot) -> None:
    wall = HeadWall()
    wall.set_maps((maps(Stack.ENCODER), maps(Stack.DECODER), maps(Stack.CROSS)))
    shown(wall, 300, 390)
    for head in (HeadRef(Stack.DECODER, 2, 3), HeadRef(Stack.CROSS, 0, 1)):
        hovered = QSignalSpy(wall.head_hovered)
        qtbot.mouseMove(wall, middle(wall, head))
        assert hovered.at(hovered.count() - 1)[0] == head
        with qtbot.waitSignal(wall.head_clicked) as clicked:
            qtbot.mouseClick(wall, Qt.MouseButton.LeftButton, pos=middle(wall, head))
        assert clicked.args == [head]
        assert wall.selected == head
    assert "Cross layer 1 · head 2" in wall.accessibleDescription()


def test_arrows_walk_through_all_stacks(shown: Show, qtbot: QtBot) -> None:
    wall = HeadWall()
    wall.set_maps((maps(Stack.ENCODER, 2, 2), maps(Stack.DECODER, 2, 2)))
    wall.set_selected(HeadRef(Stack.ENCODER, 0, 1))
    shown(wall)
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Down):
        qtbot.keyClick(wall, key)
    assert wall.selected == HeadRef(Stack.DECODER, 1, 0)
    qtbot.keyClick(wall, Qt.Key.Key_Down)
    assert wall.selected == HeadRef(Stack.DECODER, 1, 0)


def test_a_hot_weight_is_where_it_belongs(shown: Show, pixel_at: Callable[..., int]) -> None:
    one = maps(Stack.ENCODER, 2, 3, 4)
    one.thumbs[1, 2, 0, 3] = 255
    wall = HeadWall()
    wall.set_maps((one,))
    shown(wall)
    image = wall.grab().toImage()
    lut = palette.attention_lut(palette.current(), "indigo")
    for layer in range(2):
        for head in range(3):
            box = wall.head_rect(HeadRef(Stack.ENCODER, layer, head))
            for row in range(4):
                for col in range(4):
                    x = box.left() + (col + 0.5) * box.width() / 4
                    y = box.top() + (row + 0.5) * box.height() / 4
                    hot = (layer, head, row, col) == (1, 2, 0, 3)
                    assert pixel_at(image, QPointF(x, y)) == int(lut[255 if hot else 0])


def test_shrinking_keeps_the_largest_weight(shown: Show) -> None:
    one = maps(Stack.ENCODER, 12, 12, 64)
    one.thumbs[5, 7, 33, 17] = 255
    wall = HeadWall()
    wall.set_maps((one,))
    shown(wall, 280, 320)
    box = wall.head_rect(HeadRef(Stack.ENCODER, 5, 7))
    image = wall.grab().toImage()
    ratio = image.devicePixelRatio()
    box = QRectF(box.topLeft() * ratio, box.size() * ratio).toRect()
    top = int(palette.attention_lut(palette.current(), "indigo")[255])
    assert any(
        image.pixel(x, y) == top
        for x in range(box.left(), box.right() + 1)
        for y in range(box.top(), box.bottom() + 1)
    )


def test_being_told_emits_nothing(shown: Show) -> None:
    wall = HeadWall()
    spies = [QSignalSpy(wall.head_hovered), QSignalSpy(wall.head_clicked)]
    shown(wall)
    wall.set_maps((maps(Stack.ENCODER),))
    wall.set_selected(HeadRef(Stack.ENCODER, 0, 0))
    wall.set_stale(True)
    wall.set_map("grey")
    wall.grab()
    wall.set_empty("Loading the model…")
    wall.grab()
    assert [spy.count() for spy in spies] == [0, 0]
