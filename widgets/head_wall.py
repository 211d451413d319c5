"""All heads of one to three stacks as one picture: layers down, heads across."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFont,
    QFontMetricsF,
    QHelpEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from core.types import AttentionMaps, HeadRef, Stack
from widgets.grid_labels import LabelFonts
from widgets.head_atlas import GAP, atlas
from widgets.palette import Theme, attention_lut, current

_TITLES = {Stack.ENCODER: "Encoder", Stack.DECODER: "Decoder", Stack.CROSS: "Cross"}


@dataclass(frozen=True)
class _Group:
    """Where one stack lies: the corner of its first tile, the size of a tile, all in pixels."""

    stack: Stack
    x: float
    y: float
    tile: float
    layers: int
    heads: int

    def tile_rect(self, layer: int, head: int) -> QRectF:
        step = self.tile + GAP
        return QRectF(self.x + head * step, self.y + layer * step, self.tile, self.tile)

    def head_at(self, x: float, y: float) -> HeadRef | None:
        step = self.tile + GAP
        head, layer = int((x - self.x) // step), int((y - self.y) // step)
        if 0 <= head < self.heads and 0 <= layer < self.layers:
            return HeadRef(self.stack, layer, head)
        return None


class HeadWall(QWidget):
    """One atlas of thumbnails; hover previews a head, a click locks it, arrows move the lock.

    Signals
    -------
    head_hovered : the `HeadRef` under the mouse, or None as it leaves.
    head_clicked : the `HeadRef` that was clicked or reached by keyboard.
    """

    head_hovered = Signal(object)
    head_clicked = Signal(object)
    measure = "largest weight"
    """What `AttentionMaps.scale` is called in words."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._maps: tuple[AttentionMaps, ...] = ()
        self._selected: HeadRef | None = None
        self._hovered: HeadRef | None = None
        self._stale = False
        self._empty = "Loading the model…"
        self._map = "indigo"
        self._atlas: list[QImage] = []
        self._atlas_key: tuple[object, ...] = ()
        self._version = 0
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(150, 120)
        self.setAccessibleName("Heads")

    # -- told from outside: never emits

    def set_maps(self, maps: tuple[AttentionMaps, ...]) -> None:
        """Show the heads of one or several stacks; an empty tuple shows the empty state."""
        self._maps = maps
        self._stale = False
        self._version += 1
        heads = ", ".join(
            f"{_TITLES[one.stack]} {one.thumbs.shape[0]} layers by {one.thumbs.shape[1]} heads"
            for one in maps
        )
        self.setAccessibleName(f"Heads: {heads}" if heads else "Heads")
        self.update()

    def set_selected(self, head: HeadRef | None) -> None:
        """Outline a head."""
        self._selected = head
        self.setAccessibleDescription(self.describe(head) if head else "")
        self.update()

    def set_stale(self, stale: bool) -> None:
        """Fade the wall while a newer one is computed."""
        if stale != self._stale:
            self._stale = stale
            self.update()

    def set_map(self, name: str) -> None:
        """Choose the colour map, one of `widgets.palette.MAP_NAMES`."""
        self._map = name
        self.update()

    def set_empty(self, text: str) -> None:
        """Show no heads, but `text`."""
        self._empty = text
        self.set_maps(())

    # -- asked from outside

    @property
    def selected(self) -> HeadRef | None:
        """The outlined head."""
        return self._selected

    def sizeHint(self) -> QSize:
        """Qt: a comfortable size."""
        return QSize(270, 330)

    def head_rect(self, head: HeadRef) -> QRectF:
        """Return where a head lies in the widget (empty where it does not)."""
        for group in self._groups():
            if group.stack is head.stack:
                return group.tile_rect(head.layer, head.head)
        return QRectF()

    def describe(self, head: HeadRef) -> str:
        """Return one head in words, with its largest weight."""
        for one in self._maps:
            layers, heads = one.scale.shape
            if one.stack is head.stack and head.layer < layers and head.head < heads:
                top = float(one.scale[head.layer, head.head])
                name = f"layer {head.layer + 1} · head {head.head + 1}"
                return f"{_TITLES[head.stack]} {name} · {self.measure} {top:.2f}"
        return ""

    # -- layout

    def _groups(self) -> list[_Group]:
        """Lay the stacks side by side or above each other, whichever gives larger tiles."""
        if not self._maps:
            return []
        options = [self._laid(across) for across in {True, len(self._maps) == 1}]
        return max(options, key=lambda groups: groups[0].tile)

    def _laid(self, across: bool) -> list[_Group]:
        fonts = LabelFonts.beside(self.font())
        line = QFontMetricsF(fonts.digit).height()
        side = QFontMetricsF(fonts.digit).horizontalAdvance("L00") + 6.0
        title = QFontMetricsF(fonts.label).height() + 4.0 if len(self._maps) > 1 else 0.0
        shapes = [(one.thumbs.shape[0], one.thumbs.shape[1]) for one in self._maps]
        head_room = title + line + 4.0
        if across:
            wide = self.width() - side * len(shapes) - 10.0 * (len(shapes) - 1)
            tile_w = wide / sum(heads for _, heads in shapes) - GAP
            tile_h = (self.height() - head_room) / max(layers for layers, _ in shapes) - GAP
        else:
            tile_w = (self.width() - side) / max(heads for _, heads in shapes) - GAP
            high = self.height() - head_room * len(shapes) - 6.0 * (len(shapes) - 1)
            tile_h = high / sum(layers for layers, _ in shapes) - GAP
        tile = float(max(4, int(min(tile_w, tile_h, 96.0))))
        groups, x, y = [], 0.0, 0.0
        for one, (layers, heads) in zip(self._maps, shapes, strict=True):
            groups.append(_Group(one.stack, x + side, y + head_room, tile, layers, heads))
            if across:
                x += side + heads * (tile + GAP) + 10.0
            else:
                y += head_room + layers * (tile + GAP) + 6.0
        return groups

    # -- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: blit one picture for each stack, then labels and outlines."""
        painter = QPainter(self)
        theme = current()
        painter.fillRect(self.rect(), theme.card)
        if not self._maps:
            painter.setPen(theme.muted)
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(self.rect().adjusted(12, 12, -12, -12), flags, self._empty)
            return
        groups = self._groups()
        key = (self._version, theme.name, self._map, groups[0].tile, self.devicePixelRatioF())
        if key != self._atlas_key:
            lut = attention_lut(theme, self._map)
            ground = int(theme.card.rgb())
            self._atlas = [
                atlas(one.thumbs, group.tile, self.devicePixelRatioF(), lut=lut, ground=ground)
                for one, group in zip(self._maps, groups, strict=True)
            ]
            self._atlas_key = key
        painter.setOpacity(0.4 if self._stale else 1.0)
        for group, image in zip(groups, self._atlas, strict=True):
            painter.drawImage(QPointF(group.x, group.y), image)
        painter.setOpacity(1.0)
        for group in groups:
            self._paint_group(painter, group, theme)

    def _paint_group(self, painter: QPainter, group: _Group, theme: Theme) -> None:
        fonts = LabelFonts.beside(self.font())
        digit = QFontMetricsF(fonts.digit)
        if len(self._maps) > 1:
            bold = QFont(fonts.label)
            bold.setWeight(QFont.Weight.DemiBold)
            painter.setFont(bold)
            painter.setPen(theme.text)
            top = group.y - digit.height() - 8.0 - QFontMetricsF(bold).height()
            box = QRectF(group.x, top + 4.0, 200.0, QFontMetricsF(bold).height())
            painter.drawText(box, Qt.AlignmentFlag.AlignLeft, _TITLES[group.stack])
        painter.setFont(fonts.digit)
        hot = self._hovered or self._selected
        for head in range(0, group.heads, _thin(digit.horizontalAdvance("H00"), group.tile)):
            tile = group.tile_rect(0, head)
            box = QRectF(tile.left() - 10, tile.top() - digit.height() - 3, group.tile + 20, 20)
            mine = hot is not None and (hot.stack, hot.head) == (group.stack, head)
            painter.setPen(theme.accent if mine else theme.muted)
            flags = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop
            painter.drawText(box, flags, f"H{head + 1}")
        for layer in range(0, group.layers, _thin(digit.height(), group.tile)):
            tile = group.tile_rect(layer, 0)
            box = QRectF(tile.left() - 46.0, tile.top() - 6.0, 40.0, group.tile + 12.0)
            mine = hot is not None and (hot.stack, hot.layer) == (group.stack, layer)
            painter.setPen(theme.accent if mine else theme.muted)
            flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(box, flags, f"L{layer + 1}")
        painter.setPen(theme.hairline)
        for layer in range(group.layers):
            for head in range(group.heads):
                painter.drawRect(group.tile_rect(layer, head).adjusted(-1.0, -1.0, 0.0, 0.0))
        for head_ref, width in ((self._hovered, 1.0), (self._selected, 2.0)):
            if head_ref is not None and head_ref.stack is group.stack:
                painter.setPen(QPen(theme.accent, width))
                box = group.tile_rect(head_ref.layer, head_ref.head)
                painter.drawRect(box.adjusted(-1.5, -1.5, 1.0, 1.0))

    # -- events

    def _head_at(self, point: QPointF) -> HeadRef | None:
        for group in self._groups():
            head = group.head_at(point.x(), point.y())
            if head is not None:
                return head
        return None

    def _hover(self, head: HeadRef | None) -> None:
        if head != self._hovered:
            self._hovered = head
            self.update()
            self.head_hovered.emit(head)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Qt: preview the head under the mouse."""
        self._hover(self._head_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        """Qt: no head is under the mouse any more."""
        self._hover(None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Qt: lock the head under the mouse."""
        head = self._head_at(event.position())
        if head is not None and event.button() == Qt.MouseButton.LeftButton:
            self.set_selected(head)
            self.head_clicked.emit(head)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt: arrows move the lock; at an end of a stack they go on in the next."""
        heads = [
            HeadRef(one.stack, layer, head)
            for one in self._maps
            for layer in range(one.thumbs.shape[0])
            for head in range(one.thumbs.shape[1])
        ]
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        key = Qt.Key(event.key())
        row = next((m.thumbs.shape[1] for m in self._maps if self._in(m)), 1)
        steps |= {Qt.Key.Key_Up: -row, Qt.Key.Key_Down: row}
        if key not in steps or not heads:
            super().keyPressEvent(event)
            return
        at = heads.index(self._selected) + steps[key] if self._selected in heads else 0
        if 0 <= at < len(heads):
            self.set_selected(heads[at])
            self.head_clicked.emit(heads[at])

    def _in(self, maps: AttentionMaps) -> bool:
        return self._selected is not None and self._selected.stack is maps.stack

    def event(self, event: QEvent) -> bool:
        """Qt: the tool tip names the head under the mouse."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            head = self._head_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), self.describe(head) if head else "", self)
            return True
        return super().event(event)


def _thin(room: float, tile: float) -> int:
    return max(1, -(-int(room + 2.0) // int(tile + GAP)))


def make_demo() -> QWidget:
    """Return a wall of invented heads."""
    from widgets.demo import demo_maps

    wall = HeadWall()
    stacks = (Stack.ENCODER, Stack.DECODER, Stack.CROSS)
    wall.set_maps(tuple(demo_maps(stack) for stack in stacks[: 3 if "--three" in sys.argv else 1]))
    wall.set_selected(HeadRef(Stack.ENCODER, 1, 1))
    return wall


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (300, 420)))
