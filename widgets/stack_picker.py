"""The masks of a model with several stacks side by side, small; a click chooses one."""

from __future__ import annotations

import sys

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from core.mask.cover import BlockCover
from core.mask.intervals import row_intervals
from core.types import MaskSpec, Stack
from widgets.palette import current, mix

_TITLES = {Stack.ENCODER: "encoder", Stack.DECODER: "decoder", Stack.CROSS: "cross"}
_SIDE = 54.0
_WIDE = 148.0


class StackPicker(QWidget):
    """One small mask a stack, with its name and its size, the chosen one outlined.

    Signals
    -------
    stack_picked : the `Stack` that was clicked or reached with the arrows.
    """

    stack_picked = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._masks: dict[Stack, MaskSpec] = {}
        self._row = 0
        self._stack: Stack | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Masks of the model")
        self.setToolTip(
            "The three masks of an encoder–decoder: the encoder reads the source in both"
            " directions, the decoder reads its own text up to each token, and the cross mask lets"
            " every target token read every real source token. Click one to see it in full."
        )

    # -- told from outside: never emits

    def set_masks(self, masks: dict[Stack, MaskSpec], row: int, stack: Stack) -> None:
        """Show batch row ``row`` of each mask with ``stack`` chosen."""
        self._masks, self._row, self._stack = masks, row, stack
        self.setAccessibleDescription(f"{_TITLES[stack]} chosen")
        self.update()

    # -- asked from outside

    def tile(self, stack: Stack) -> QRectF:
        """Where a stack's mask and name stand."""
        wide = min(_WIDE, (self.width() + 8.0) / max(1, len(self._masks)))
        return QRectF(list(self._masks).index(stack) * wide, 0.0, wide - 8.0, _SIDE + 6.0)

    def sizeHint(self) -> QSize:
        """Qt: one row of small masks."""
        return QSize(int(3 * _WIDE), int(_SIDE + 8))

    def minimumSizeHint(self) -> QSize:
        """Qt: as `sizeHint`, but it may be cut on the right."""
        return QSize(200, int(_SIDE + 8))

    # -- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: the small masks."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme = current()
        for stack, spec in self._masks.items():
            tile = self.tile(stack)
            chosen = stack is self._stack
            if chosen:
                painter.setPen(QPen(theme.accent, 1.5))
                painter.setBrush(mix(theme.card, theme.accent, 0.08))
                painter.drawRoundedRect(tile.adjusted(1, 1, -1, -1), 6, 6)
            side = min(_SIDE, 0.42 * tile.width())  # In a narrow card the words need the room.
            self._paint_mask(painter, QRectF(tile.x() + 6, 6, side - 6, side - 6), spec)
            words = tile.adjusted(side + 6, 0, 0, 0)
            painter.setPen(theme.accent if chosen else theme.text)
            upper = words.adjusted(0, 0, 0, -words.height() / 2)
            painter.drawText(upper, Qt.AlignmentFlag.AlignBottom, _TITLES[stack])
            painter.setPen(theme.muted)
            lower = words.adjusted(0, words.height() / 2, 0, 0)
            painter.drawText(lower, Qt.AlignmentFlag.AlignTop, f"{spec.length} × {spec.keys}")

    def _paint_mask(self, painter: QPainter, box: QRectF, spec: MaskSpec) -> None:
        theme = current()
        scale = min(box.width() / spec.keys, box.height() / spec.length)
        width, height = spec.keys * scale, spec.length * scale
        rows, cols = min(spec.length, int(_SIDE)), min(spec.keys, int(_SIDE))
        view = (0, spec.length, 0, spec.keys)
        states = BlockCover(rows, cols).states(row_intervals(spec, self._row), view)
        closed = mix(theme.card, theme.text, 0.13)
        inks: tuple[QColor, ...] = (closed, mix(closed, theme.open, 0.6), theme.open)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.fillRect(QRectF(box.x(), box.y(), width, height), closed)
        for state in (1, 2):
            for r, c in np.argwhere(states == state):
                cell = QRectF(
                    box.x() + c * width / cols,
                    box.y() + r * height / rows,
                    width / cols,
                    height / rows,
                )
                painter.fillRect(cell, inks[state])
        painter.restore()

    # -- what the user does

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Qt: choose the mask under the mouse."""
        for stack in self._masks:
            if self.tile(stack).contains(event.position()):
                self._pick(stack)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt: left and right choose the neighbour."""
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        stacks = list(self._masks)
        if step is None or self._stack not in stacks:
            super().keyPressEvent(event)
            return
        self._pick(stacks[(stacks.index(self._stack) + step) % len(stacks)])

    def _pick(self, stack: Stack) -> None:
        if stack is not self._stack:
            self._stack = stack
            self.update()
            self.stack_picked.emit(stack)


def make_demo() -> QWidget:
    """Return the three masks of an encoder-decoder with two source pads."""
    from core.types import MaskKind

    picker = StackPicker()
    masks = {
        Stack.ENCODER: MaskSpec(MaskKind.ENCODER_SELF, 12, right_pad=(2,)),
        Stack.DECODER: MaskSpec(MaskKind.DECODER_SELF, 7),
        Stack.CROSS: MaskSpec(MaskKind.CROSS, 7, source=12, right_pad=(2,)),
    }
    picker.set_masks(masks, 0, Stack.CROSS)
    return picker


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (480, 80)))
