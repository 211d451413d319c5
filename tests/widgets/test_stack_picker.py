"""The small masks: a click and the arrows choose a stack, and the pictures tell them apart."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from core.types import MaskKind, MaskSpec, Stack
from widgets.palette import current
from widgets.stack_picker import StackPicker

MASKS = {
    Stack.ENCODER: MaskSpec(MaskKind.ENCODER_SELF, 12),
    Stack.DECODER: MaskSpec(MaskKind.DECODER_SELF, 12),
    Stack.CROSS: MaskSpec(MaskKind.CROSS, 6, source=12, right_pad=(6,)),
}


@pytest.fixture
def picker(shown: Callable[..., None]) -> StackPicker:
    made = StackPicker()
    made.set_masks(MASKS, 0, Stack.ENCODER)
    shown(made, 480, 70)
    return made


def test_a_click_chooses_a_stack_and_being_told_does_not_emit(
    qtbot: QtBot, picker: StackPicker
) -> None:
    picked: list[Stack] = []
    picker.stack_picked.connect(picked.append)
    at = picker.tile(Stack.CROSS).center().toPoint()
    qtbot.mouseClick(picker, Qt.MouseButton.LeftButton, pos=at)
    picker.set_masks(MASKS, 0, Stack.DECODER)
    assert picked == [Stack.CROSS]


def test_the_arrows_go_round(qtbot: QtBot, picker: StackPicker) -> None:
    picked: list[Stack] = []
    picker.stack_picked.connect(picked.append)
    for _ in range(3):
        qtbot.keyClick(picker, Qt.Key.Key_Right)
    assert picked == [Stack.DECODER, Stack.CROSS, Stack.ENCODER]


def test_open_and_closed_cells_have_their_colours(
    picker: StackPicker, pixel_at: Callable[[QImage, QPointF], int]
) -> None:
    image = picker.grab().toImage()
    opened = current().open.rgb()
    corner = QPointF(48.0, 8.0)
    encoder, decoder = picker.tile(Stack.ENCODER), picker.tile(Stack.DECODER)
    assert pixel_at(image, encoder.topLeft() + corner) == opened
    assert pixel_at(image, decoder.topLeft() + corner) != opened
    assert pixel_at(image, decoder.topLeft() + QPointF(10.0, 48.0)) == opened


def test_in_a_narrow_card_all_three_are_still_inside(shown: Callable[..., None]) -> None:
    narrow = StackPicker()
    narrow.set_masks(MASKS, 0, Stack.ENCODER)
    shown(narrow, 300, 70)
    assert narrow.tile(Stack.CROSS).right() <= 300
