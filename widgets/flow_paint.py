"""The picture of a flow, and its nodes and edges in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen

from core.types import FlowMethod, FlowNode, FlowResult, FlowStack, Stack
from widgets.flow_layout import LARGEST_NODE, Block, Curve
from widgets.grid_labels import LabelFonts
from widgets.palette import Theme, mix
from widgets.share_tint import paint_minus, tinted

Labels = dict[Stack, tuple[str, ...]]
"""Token labels of the columns of each stack of nodes."""

NAMES = {Stack.ENCODER: "source", Stack.DECODER: "target"}
"""What the two stacks of an encoder-decoder are called."""

Cone = dict[Stack, NDArray[np.bool_]]
_LEAN = 55.0
_WIDEST = 0.5
"""An edge that carries so much of the output, or more, is drawn at full width."""


@dataclass(frozen=True)
class Picture:
    """What is painted, and what of it is lit: a node, or the number of an edge."""

    result: FlowResult
    labels: Labels
    method: FlowMethod
    hot: FlowNode | int | None
    selected: FlowNode | int | None
    theme: Theme
    cone: Cone = field(default_factory=dict)
    """Nodes that are shaded, bool ``[levels, S]`` by stack."""


def stack_of(result: FlowResult, stack: Stack) -> FlowStack:
    """Return the nodes of a stack."""
    return next(one for one in result.stacks if one.stack is stack)


def largest_share(result: FlowResult, method: FlowMethod) -> float:
    """Return the largest share of any node, 1 where none is known."""
    tops = [
        float(np.abs(stack.shares[method]).max())
        for stack in result.stacks
        if method in stack.shares
    ]
    return max(tops, default=0.0) or 1.0


# -- in words


def in_words(result: FlowResult, labels: Labels, method: FlowMethod, what: FlowNode | int) -> str:
    """Return a node, or the edge of a number, in words with its share."""
    if isinstance(what, FlowNode):
        return _node_in_words(result, labels, method, what)
    edges = result.edges
    upper, lower = (_token(labels, node) for node in (edges.upper(what), edges.lower(what)))
    share = f"{edges.shares(method)[what]:.3f} of the output"
    if method is FlowMethod.GRADIENT:
        share += " by rollout"
    head = edges.head_ref(what)
    if head is None:
        return f"layer {edges.layer[what] + 1} · {upper} keeps its own · {share}"
    name = f"{head.stack.value} layer {head.layer + 1} · head {head.head + 1}"
    return f"{name} · {upper} reads {lower} · {share}"


def _node_in_words(result: FlowResult, labels: Labels, method: FlowMethod, node: FlowNode) -> str:
    stack = stack_of(result, node.stack)
    words = [NAMES[node.stack]] if len(result.stacks) > 1 else []
    words += [f"after layer {node.level}" if node.level else "input", _token(labels, node)]
    if not stack.reach[node.level, node.column]:
        return " · ".join([*words, "cannot reach the output under this mask"])
    words.append("the output" if node == result.output else "can reach the output")
    if method in stack.shares:
        sign = "+" if method is FlowMethod.GRADIENT else ""
        words.append(f"{method.value} {stack.shares[method][node.level, node.column]:{sign}.3f}")
    return " · ".join(words)


def _token(labels: Labels, node: FlowNode) -> str:
    return f"{node.column} “{labels[node.stack][node.column]}”"


def heading(result: FlowResult, block: Block) -> str:
    """Return what stands over a block: its name beside another one, and what is left out of it."""
    words = [NAMES[block.stack]] if len(result.stacks) > 1 else []
    if block.hidden:
        shown = len(block.columns)
        words.append(f"the {shown} strongest of {shown + block.hidden} columns")
    return " · ".join(words)


# -- on screen


def paint_curves(painter: QPainter, picture: Picture, drawn: list[Curve]) -> None:
    """Paint edges: attention in ink as wide as its share, what a column keeps as a dotted line."""
    theme, edges = picture.theme, picture.result.edges
    hot = picture.hot if picture.hot is not None else picture.selected
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for curve in drawn:
        strength = sqrt(min(1.0, curve.share / _WIDEST))
        lit = hot in (curve.edge, edges.upper(curve.edge), edges.lower(curve.edge))
        residual = edges.head[curve.edge] < 0
        ink = theme.muted if residual else theme.accent
        pen = QPen(mix(theme.card, ink, 0.95 if lit else 0.26 + 0.5 * strength))
        pen.setWidthF(0.9 + (2.0 if residual else 6.0) * strength)
        pen.setStyle(Qt.PenStyle.DotLine if residual else Qt.PenStyle.SolidLine)
        painter.setPen(pen)
        painter.drawPath(curve.path)


def paint_nodes(painter: QPainter, picture: Picture, block: Block) -> None:
    """Paint the nodes of a stack: outlined and tinted by share, small and faint out of reach."""
    theme, radius = picture.theme, block.radius
    stack = stack_of(picture.result, block.stack)
    shares = stack.shares.get(picture.method)
    largest = largest_share(picture.result, picture.method)
    cone = picture.cone.get(block.stack)
    for level in range(block.levels):
        for column in block.columns:
            node = FlowNode(block.stack, level, column)
            at = block.point(node)
            box = QRectF(at.x() - radius, at.y() - radius, 2 * radius, 2 * radius)
            if cone is not None and cone[level, column]:
                painter.setPen(QPen(theme.warning, 1.0, Qt.PenStyle.DotLine))
                painter.setBrush(mix(theme.card, theme.warning, 0.3))
                painter.drawRoundedRect(box.adjusted(-5.0, -3.5, 5.0, 3.5), 3.0, 3.0)
            if stack.reach[level, column]:
                share = 0.0 if shares is None else float(shares[level, column]) / largest
                painter.setBrush(tinted(theme.card, share, theme))
                painter.setPen(QPen(mix(theme.card, theme.text, 0.65), 1.2))
                painter.drawEllipse(box)
                paint_minus(painter, box, share, theme)
            else:
                painter.setBrush(theme.card)
                painter.setPen(QPen(theme.hairline, 1.0))
                painter.drawEllipse(box.adjusted(2.0, 2.0, -2.0, -2.0))
            if node in (picture.hot, picture.selected):
                painter.setBrush(Qt.BrushStyle.NoBrush)
                ink = theme.accent if node == picture.selected else theme.muted
                painter.setPen(QPen(ink, 2.0))
                painter.drawEllipse(box.adjusted(-3.0, -3.0, 3.0, 3.0))


def paint_labels(
    painter: QPainter, picture: Picture, block: Block, fonts: LabelFonts, height: float
) -> None:
    """Paint the levels left of a block, its heading above, its tokens below, dots for gaps."""
    theme = picture.theme
    painter.setFont(fonts.digit)
    painter.setPen(theme.muted)
    right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    for level in range(block.levels):
        y = block.y - level * block.rise
        side = QRectF(block.x - 60.0, y - 8.0, 60.0 - LARGEST_NODE - 5.0, 16.0)
        painter.drawText(side, right, f"L{level}" if level else "in")
    top = block.y - (block.levels - 1) * block.rise - LARGEST_NODE - 5.0
    painter.drawText(QPointF(block.x - LARGEST_NODE, top), heading(picture.result, block))
    painter.setFont(fonts.label)
    metrics = QFontMetricsF(fonts.label)
    reach = stack_of(picture.result, block.stack).reach[0]
    cut = max(20.0, (height - block.y - block.radius - 10.0) / 0.85)
    for slot, column in enumerate(block.columns):
        x = block.x + slot * block.step
        label = picture.labels[block.stack][column]
        text = metrics.elidedText(label, Qt.TextElideMode.ElideMiddle, cut)
        painter.setPen(theme.text if reach[column] else mix(theme.card, theme.muted, 0.6))
        _paint_label(painter, QPointF(x, block.y + block.radius + 5.0), text, block.step)
        if slot and column > block.columns[slot - 1] + 1:
            painter.setPen(QPen(theme.muted, 2.5))
            painter.drawPoint(QPointF(x - block.step / 2.0, block.y))


def _paint_label(painter: QPainter, foot: QPointF, text: str, step: float) -> None:
    """Paint a token below its node: level where there is room, else leaning up to it."""
    metrics = QFontMetricsF(painter.font())
    wide = metrics.horizontalAdvance(text)
    if wide + 6.0 <= step:
        painter.drawText(QPointF(foot.x() - wide / 2.0, foot.y() + metrics.ascent()), text)
        return
    painter.save()
    painter.translate(foot + QPointF(3.0, 4.0))
    painter.rotate(-_LEAN)
    painter.drawText(QPointF(-wide, metrics.ascent() / 2.0), text)
    painter.restore()
