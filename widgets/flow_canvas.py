"""The paint of a flow, and what mouse and keyboard do on it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from core.types import FlowMethod, FlowNode, FlowResult
from widgets.flow_layout import LARGEST_NODE, Block, Curve, curves, lay_out
from widgets.flow_paint import (
    Cone,
    Labels,
    Picture,
    in_words,
    paint_curves,
    paint_labels,
    paint_nodes,
    stack_of,
)
from widgets.grid_labels import LabelFonts, longest_label
from widgets.palette import current

_NEAR = 5.0
"""How close to an edge the mouse must be, in device-independent pixels."""


class FlowCanvas(QWidget):
    """Layers of tokens with the inputs at the bottom, and the edges that carry the output.

    Signals
    -------
    edge_clicked : the `HeadRef` behind an edge of attention, and (query, key) as columns of the
        whole row.
    node_clicked : the column of a node of the output's own stack.
    """

    edge_clicked = Signal(object, object)
    node_clicked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._result: FlowResult | None = None
        self._labels: Labels = {}
        self._method = FlowMethod.ROLLOUT
        self._least = 0.0
        self._empty = "Choose an output to see what made it."
        self._stale = False
        self._cone: Cone = {}
        self._hot: FlowNode | int | None = None
        self._selected: FlowNode | int | None = None
        self._laid: tuple[list[Block], list[Curve]] = ([], [])
        self._laid_key: tuple[object, ...] = ()
        self._version = 0
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(220, 150)
        self.setAccessibleName("Information flow")

    # -- told from outside: never emits

    def set_flow(self, result: FlowResult | None, labels: Labels) -> None:
        """Show a result, or the empty state; the output's node is selected."""
        self._result, self._labels, self._stale = result, labels, False
        self._version += 1
        self._hot, self._cone = None, {}
        self._select(None if result is None else result.output)

    def set_empty(self, text: str) -> None:
        """Show no flow, but `text`."""
        self._empty = text
        self.set_flow(None, {})

    def set_method(self, method: FlowMethod) -> None:
        """Measure shares by another method."""
        self._method = method
        self._select(self._selected)

    def set_cone(self, cone: Cone) -> None:
        """Shade nodes, bool ``[levels, S]`` by stack; empty for none."""
        self._cone = cone
        self.update()

    def set_least(self, share: float) -> None:
        """Hide the edges that carry less than `share` of the output."""
        self._least = share
        self.update()

    def set_stale(self, stale: bool) -> None:
        """Fade the flow while a newer one is computed."""
        self._stale = stale
        self.update()

    # -- asked from outside

    @property
    def selected(self) -> FlowNode | int | None:
        """The selected node, or the number of the selected edge."""
        return self._selected

    def sizeHint(self) -> QSize:
        """Qt: the least that can be read; it takes what room there is."""
        return QSize(640, 150)

    def laid(self) -> tuple[list[Block], list[Curve]]:
        """Return where everything lies now; nothing while there is nothing to show."""
        if self._result is None:
            return [], []
        key = (self._version, self._method, self._least, self.size(), self.font())
        if key != self._laid_key:
            fonts = LabelFonts.beside(self.font())
            texts = [text for labels in self._labels.values() for text in labels]
            below = 0.85 * longest_label(texts, fonts.label) + 14.0
            below = min(below, 0.3 * self.height()) + LARGEST_NODE
            title = QFontMetricsF(fonts.digit).height() + LARGEST_NODE + 4.0
            gutter = QFontMetricsF(fonts.digit).horizontalAdvance("L00") + 8.0
            room = QRectF(self.rect()).adjusted(4.0, title, -8.0, -below)
            blocks = lay_out(self._result, self._method, room, gutter)
            self._laid = blocks, curves(self._result, blocks, self._method, self._least)
            self._laid_key = key
        return self._laid

    def describe(self, what: FlowNode | int | None) -> str:
        """Return a node or an edge in words, with its share."""
        if self._result is None or what is None:
            return ""
        return in_words(self._result, self._labels, self._method, what)

    # -- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: edges from the weakest on, nodes over them, labels below."""
        with QPainter(self) as painter:
            theme = current()
            painter.fillRect(self.rect(), theme.card)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            if self._result is None:
                painter.setPen(theme.muted)
                flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
                painter.drawText(self.rect().adjusted(24, 24, -24, -24), flags, self._empty)
                return
            blocks, drawn = self.laid()
            painter.setOpacity(0.4 if self._stale else 1.0)
            picture = Picture(
                self._result,
                self._labels,
                self._method,
                self._hot,
                self._selected,
                theme,
                self._cone,
            )
            paint_curves(painter, picture, drawn)
            fonts = LabelFonts.beside(self.font())
            for block in blocks:
                paint_nodes(painter, picture, block)
                paint_labels(painter, picture, block, fonts, float(self.height()))

    # -- events

    def _at(self, point: QPointF) -> FlowNode | int | None:
        """Return the node or the edge under a point, the strongest of several edges."""
        blocks, drawn = self.laid()
        for block in blocks:
            node = block.node_at(point)
            if node is not None:
                return node
        near = [curve for curve in reversed(drawn) if curve.distance(point) <= _NEAR]
        return near[0].edge if near else None

    def _select(self, what: FlowNode | int | None) -> None:
        self._selected = what
        told = self.describe(what)
        self.setAccessibleName(f"Information flow: {told}" if told else "Information flow")
        self.setAccessibleDescription(told)
        self.update()

    def _choose(self, what: FlowNode | int) -> None:
        """Say what was chosen by the user."""
        assert self._result is not None
        if isinstance(what, FlowNode):
            if what.stack is self._result.output.stack:
                self.node_clicked.emit(what.column)
            return
        edges = self._result.edges
        head = edges.head_ref(what)
        if head is not None:
            self.edge_clicked.emit(head, (int(edges.query[what]), int(edges.key[what])))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Qt: light up what is under the mouse, and what touches it."""
        self._light(self._at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        """Qt: nothing is under the mouse any more."""
        self._light(None)

    def _light(self, what: FlowNode | int | None) -> None:
        if what != self._hot:
            self._hot = what
            self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Qt: choose a node or an edge."""
        what = self._at(event.position())
        if what is not None and event.button() == Qt.MouseButton.LeftButton:
            self._select(what)
            self._choose(what)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt: arrows walk the nodes, Page Up and Down the edges by strength, Enter chooses."""
        key = Qt.Key(event.key())
        if self._selected is not None and key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._choose(self._selected)
        elif self._result is None or not self._walk(key):
            super().keyPressEvent(event)

    def _walk(self, key: Qt.Key) -> bool:
        """Move the selection by a key; False where the key means nothing here."""
        blocks, drawn = self.laid()
        if key in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            order = [curve.edge for curve in reversed(drawn)]
            step = 1 if key == Qt.Key.Key_PageDown else -1
            at = order.index(self._selected) + step if self._selected in order else 0
            if order:
                self._select(order[min(max(at, 0), len(order) - 1)])
            return True
        assert self._result is not None
        node = self._selected
        if not isinstance(node, FlowNode):
            node = self._result.output if node is None else self._result.edges.upper(node)
        moves = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        if key in moves:
            row = [
                FlowNode(block.stack, node.level, column)
                for block in blocks
                if node.level < block.levels
                for column in block.columns
            ]
            at = row.index(node) + moves[key] if node in row else 0
            if 0 <= at < len(row):
                self._select(row[at])
            return True
        if key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            level = node.level + (1 if key == Qt.Key.Key_Up else -1)
            if 0 <= level < stack_of(self._result, node.stack).levels:
                self._select(FlowNode(node.stack, level, node.column))
            return True
        return False

    def event(self, event: QEvent) -> bool:
        """Qt: the tool tip says what is under the mouse."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            QToolTip.showText(
                event.globalPos(), self.describe(self._at(QPointF(event.pos()))), self
            )
            return True
        return super().event(event)
