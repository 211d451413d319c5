"""Where information runs: columns of nodes, and curves between them as wide as their share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.figure.axes import GAP, RISE, widest
from core.figure.page import MARGIN, Block, cut, page, room
from core.figure.style import ONE_COLUMN, Style
from core.text.visible import visible
from core.types.colors import MUTED, REASONS, TEXT, Rgb
from core.types.figure import Curve, Figure, Mark, Polygon, Text
from core.types.masks import Reason, require


@dataclass(frozen=True)
class FlowEdge:
    """``share`` (0 to 1) of what node ``target`` of level ``level + 1`` has comes from node
    ``source`` of ``level``.
    """

    level: int
    source: int
    target: int
    share: float


LEAST = 0.01
"""Edges with a smaller share are left out."""


def flow_figure(
    levels: Sequence[str],
    labels: Sequence[str],
    edges: Sequence[FlowEdge],
    *,
    focus: int | None = None,
    style: Style = ONE_COLUMN,
) -> Figure:
    """Nodes in a row for each token and a column for each of ``levels``, input on the left.

    ``focus`` is the node of the last level that is asked about: it is written bold.

    Raises
    ------
    ValueError
        where there are no two levels, or an edge begins or ends where no node is.
    """
    require(len(levels) >= 2, "levels", len(levels), "at least 2: the input and an output")
    require(len(labels) >= 1, "labels", len(labels), "at least 1")
    for edge in edges:
        require(0 <= edge.level < len(levels) - 1, "level", edge.level, f"below {len(levels) - 1}")
        for name, node in (("source", edge.source), ("target", edge.target)):
            require(0 <= node < len(labels), name, node, f"between 0 and {len(labels) - 1}")
        require(0.0 <= edge.share <= 1.0 + 1e-6, "share", edge.share, "between 0 and 1")
    wide, high = room(style)
    size = style.label
    said = [cut(visible(text), size, 0.2 * wide, style.measure) for text in labels]
    side = widest(said, size, style.measure) * 1.08 + GAP + 2.0 if style.labels else 3.0
    top = 1.8 * style.small
    loose = 1.5 if style.height is None else 2.2
    pitch = min(loose * size, (high - top) / len(labels))
    across = (wide - 2 * side) / (len(levels) - 1)
    grid = _Grid(side, top, across, pitch)
    marks = _edges(grid, edges) + _nodes(grid, len(levels), len(labels))
    for n, level in enumerate(levels):
        x, _ = grid.at(n, 0)
        marks.append(Text(level, x, style.small, style.small, "middle", color=MUTED))
    if style.labels:
        marks += _labels(style, grid, said, (len(levels), focus))
    told = {"levels": str(len(levels)), "nodes": str(len(labels)), "edges": str(len(edges))}
    return page(
        style, (Block(tuple(marks), style.width - 2 * MARGIN, top + pitch * len(labels)),), told
    )


@dataclass(frozen=True)
class _Grid:
    left: float
    top: float
    across: float
    pitch: float

    def at(self, level: int, node: int) -> tuple[float, float]:
        return self.left + level * self.across, self.top + (node + 0.5) * self.pitch


def _edges(grid: _Grid, edges: Sequence[FlowEdge]) -> list[Mark]:
    """Weak edges first, so that strong ones lie on them."""
    thick = 0.55 * grid.pitch
    color: Rgb = REASONS[Reason.OPEN]
    marks: list[Mark] = []
    for edge in sorted(edges, key=lambda edge: edge.share):
        if edge.share < LEAST:
            continue
        start, end = grid.at(edge.level, edge.source), grid.at(edge.level + 1, edge.target)
        bend = 0.45 * grid.across
        points = (start, (start[0] + bend, start[1]), (end[0] - bend, end[1]), end)
        opacity = 0.25 + 0.55 * edge.share
        marks.append(Curve(points, color, max(0.25, thick * edge.share), opacity))
    return marks


def _nodes(grid: _Grid, levels: int, nodes: int) -> list[Mark]:
    half = min(0.2 * grid.pitch, 1.6)
    marks: list[Mark] = []
    for level in range(levels):
        for node in range(nodes):
            x, y = grid.at(level, node)
            corners = ((x - half, y - half), (x + half, y - half), (x + half, y + half))
            marks.append(Polygon((*corners, (x - half, y + half)), TEXT))
    return marks


def _labels(
    style: Style, grid: _Grid, said: Sequence[str], ends: tuple[int, int | None]
) -> list[Mark]:
    levels, focus = ends
    size = min(style.label, 0.95 * grid.pitch)
    marks: list[Mark] = []
    for node, text in enumerate(said):
        x, y = grid.at(0, node)
        marks.append(Text(text, x - GAP - 1.0, y + RISE * size, size, "end"))
        x, _ = grid.at(levels - 1, node)
        marks.append(Text(text, x + GAP + 1.0, y + RISE * size, size, bold=node == focus))
    return marks
