"""Where the nodes and edges of a flow lie: layers of tokens from the bottom up, two blocks at most.

Where the columns would stand closer than a finger's breadth, the strongest are shown and the rest
are left out: `Block.hidden` says how many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainterPath

from core.types import FlowMethod, FlowNode, FlowResult, FlowStack, Stack

NARROWEST = 17.0
"""Closest that two columns stand, in device-independent pixels."""

LARGEST_NODE = 9.0
"""Radius of a node where there is plenty of room."""

_BETWEEN = 34.0
_SAMPLES = 17


@dataclass(frozen=True)
class Block:
    """One stack: the shown ``columns`` of the whole row, in order, at ``levels`` heights."""

    stack: Stack
    columns: tuple[int, ...]
    hidden: int
    levels: int
    x: float
    y: float
    step: float
    rise: float

    @property
    def radius(self) -> float:
        """Radius of a node."""
        return max(3.0, min(LARGEST_NODE, 0.3 * self.step, 0.3 * self.rise))

    def bulge(self, column: int) -> float:
        """Return how far attention of a column to itself swings out: inwards from the last one."""
        out = min(20.0, 0.42 * self.step)
        return -out if column == self.columns[-1] else out

    def has(self, node: FlowNode) -> bool:
        """Tell whether a node is shown here."""
        return node.stack is self.stack and node.column in self.columns

    def point(self, node: FlowNode) -> QPointF:
        """Return the middle of a node that is shown here."""
        slot = self.columns.index(node.column)
        return QPointF(self.x + slot * self.step, self.y - node.level * self.rise)

    def node_at(self, point: QPointF) -> FlowNode | None:
        """Return the node near a point, if there is one."""
        slot = round((point.x() - self.x) / self.step)
        level = round((self.y - point.y()) / self.rise)
        if not (0 <= slot < len(self.columns) and 0 <= level < self.levels):
            return None
        node = FlowNode(self.stack, level, self.columns[slot])
        apart = self.point(node) - point
        near = self.radius + 3.0
        return node if apart.x() ** 2 + apart.y() ** 2 <= near**2 else None


@dataclass(frozen=True)
class Curve:
    """One edge on screen: its number in the result, its share, its path and points along it."""

    edge: int
    share: float
    path: QPainterPath
    points: NDArray[np.float64]

    def distance(self, point: QPointF) -> float:
        """Return how far a point is from the edge."""
        apart = self.points - (point.x(), point.y())
        return float(np.hypot(apart[:, 0], apart[:, 1]).min())


def lay_out(result: FlowResult, method: FlowMethod, room: QRectF, gutter: float) -> list[Block]:
    """Return the blocks of a result inside `room`; `gutter` is kept free left of each for labels.

    Source and target share the width by how many columns they have, a quarter at the least.
    """
    counts = np.array([stack.columns for stack in result.stacks], float)
    parts = np.clip(counts / counts.sum(), 0.25, 0.75) if len(counts) > 1 else np.ones(1)
    wide = room.width() - _BETWEEN * (len(counts) - 1)
    rise = room.height() / max(1, max(stack.levels for stack in result.stacks) - 1)
    blocks, x = [], room.left()
    for stack, part in zip(result.stacks, parts, strict=True):
        inner = max(NARROWEST, wide * part / parts.sum() - gutter - 2 * LARGEST_NODE)
        columns = shown_columns(result, stack, method, 1 + int(inner // NARROWEST))
        step = min(92.0, inner / max(1, len(columns) - 1))
        left = x + gutter + LARGEST_NODE
        hidden = stack.columns - len(columns)
        blocks.append(
            Block(stack.stack, columns, hidden, stack.levels, left, room.bottom(), step, rise)
        )
        x += wide * part / parts.sum() + _BETWEEN
    return blocks


def shown_columns(
    result: FlowResult, stack: FlowStack, method: FlowMethod, most: int
) -> tuple[int, ...]:
    """Return the columns that are shown, ascending: all, or the `most` with the largest shares.

    The output's own column is always among them; of equals the nearest to it is taken.
    """
    size = stack.columns
    if size <= most:
        return tuple(range(size))
    shares = stack.shares.get(method, stack.reach.astype(np.float32))
    weight = np.abs(shares).max(axis=0)
    away = np.zeros(size)
    if stack is result.stacks[-1]:
        away = np.abs(np.arange(size) - result.position)
        weight[result.position] = np.inf
    order = np.lexsort((away, -weight))
    return tuple(sorted(order[:most].tolist()))


def curves(
    result: FlowResult, blocks: list[Block], method: FlowMethod, least: float
) -> list[Curve]:
    """Return the edges that carry `least` or more between shown nodes, the weakest first."""
    edges, shares = result.edges, np.nan_to_num(result.edges.shares(method), nan=0.0)
    found = []
    for n in np.argsort(shares, kind="stable"):
        lower, upper = edges.lower(int(n)), edges.upper(int(n))
        low = next((block for block in blocks if block.has(lower)), None)
        high = next((block for block in blocks if block.has(upper)), None)
        if shares[n] < least or low is None or high is None:
            continue
        start, end = low.point(lower), high.point(upper)
        own = edges.head[n] >= 0 and lower.column == upper.column
        bulge = low.bulge(lower.column) if own else 0.0
        across = low is not high
        path = _crossing(start, end, high.rise) if across else _rising(start, end, bulge)
        along = [path.pointAtPercent(t) for t in np.linspace(0.0, 1.0, _SAMPLES)]
        points = np.array([(point.x(), point.y()) for point in along])
        found.append(Curve(int(n), float(shares[n]), path, points))
    return found


def _rising(start: QPointF, end: QPointF, bulge: float) -> QPainterPath:
    """Return a curve that leaves and arrives upright; attention to oneself swings out."""
    path = QPainterPath(start)
    half = (start.y() + end.y()) / 2.0
    path.cubicTo(QPointF(start.x() + bulge, half), QPointF(end.x() + bulge, half), end)
    return path


def _crossing(start: QPointF, end: QPointF, rise: float) -> QPainterPath:
    """Return a curve from block to block that runs between two levels, not over their nodes."""
    path = QPainterPath(start)
    lane = end.y() + rise / 2.0
    late = end.x() - 0.15 * (end.x() - start.x())
    path.cubicTo(QPointF(start.x(), lane), QPointF(late, lane), end)
    return path
