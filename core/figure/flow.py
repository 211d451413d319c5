"""Where information can run and does: rows of nodes, and curves between them as wide as a share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.figure.axes import FADED, GAP, RISE, SMALLEST, nice_step, widest
from core.figure.page import MARGIN, Block, cut, flowed, page, paragraphs, room
from core.figure.style import ONE_COLUMN, Style, ink_on
from core.text.visible import visible
from core.types.colors import ACCENT, MUTED, REASONS, TEXT, WARNING, WHITE, Rgb, mixed
from core.types.figure import Cells, Curve, Figure, Mark, Polygon, Polyline, Text
from core.types.masks import Reason, require


@dataclass(frozen=True)
class FlowRow:
    """One token: its label, and a node at each level from ``first`` on.

    ``reach`` True = the node can reach the output, by the mask alone. ``share`` is the part of the
    output that the token as an input makes, None where it is not known.
    """

    label: str
    reach: tuple[bool, ...]
    first: int = 0
    share: float | None = None


@dataclass(frozen=True)
class FlowEdge:
    """``share`` (0 to 1) of the output passes from node ``source`` of ``level`` to node ``target``
    of ``level + 1``.
    """

    level: int
    source: int
    target: int
    share: float


LEAST = 0.01
"""Edges with a smaller share are left out."""

_KEY = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, LEAST)
"""Shares whose widths are shown: the first three that are not above the largest."""

_HALF = 0.23
"""Half the side of a node, in labels."""


def flow_figure(
    levels: Sequence[str],
    rows: Sequence[FlowRow],
    edges: Sequence[FlowEdge],
    *,
    focus: int | None = None,
    caption: str = "",
    style: Style = ONE_COLUMN,
) -> Figure:
    """A row of nodes for each token and a column for each of ``levels``, input on the left.

    Nodes that can reach the output are filled, others are hollow. The widest edge has the largest
    share; the key tells the widths. The share of an input stands beside its token. ``focus`` is the
    node of the last level that is asked about: it is written bold. ``caption`` stands above. Of
    more tokens than can be read on the page, those with the largest shares are drawn.

    Raises
    ------
    ValueError
        where there are no two levels, or nodes or edges lie beyond them.
    """
    _check(levels, rows, edges)
    told = {"levels": str(len(levels)), "nodes": str(len(rows)), "edges": str(len(edges))}
    wide, size = style.width - 2 * MARGIN, style.label
    fit = max(1, int(room(style)[1] / (1.1 * SMALLEST * size)) - 8)  # Eight: what stands around.
    if len(rows) > fit:
        caption = f"{caption} Only the {fit} strongest of {len(rows)} tokens are shown.".strip()
        rows, edges, focus = _strongest(rows, edges, fit, focus)
    drawn = sorted((edge for edge in edges if edge.share >= LEAST), key=lambda edge: edge.share)
    above = paragraphs(style, [(caption, style.small, TEXT)])
    # The key is as high whatever its widths are: the rows set these.
    free = room(style, (above, _key(style, 1.0, drawn)))
    top = 1.8 * style.small
    pitch = min((1.5 if style.height is None else 2.2) * size, (free[1] - top) / len(rows))
    look = _Look(style, rows, pitch)
    sides = look.left + look.right
    across = max((wide - sides) / (len(levels) - 1), 4.0)  # Less is too narrow: the page says so.
    grid, thickest = _Grid(look.left, top, across, pitch), min(0.6 * pitch, size)
    marks = _edges(grid, drawn, thickest) + _nodes(style, grid, rows)
    step = nice_step(1.2 * widest(levels, style.small, style.measure), across)
    for n in range(0, len(levels), step):
        x, _ = grid.at(n, 0)
        marks.append(Text(levels[n], x, style.small, style.small, "middle", color=MUTED))
    if style.labels:
        marks += _labels(look, grid, len(levels) - 1, focus)
    if look.left > look.right:
        x = look.left - style.measure(levels[0], style.small) / 2 - 0.5 * style.small
        marks.append(Text("share", x, style.small, style.small, "end", color=MUTED))
    taken = max(wide, sides + across * (len(levels) - 1))
    body = Block(tuple(marks), taken, top + pitch * len(rows))
    return page(style, (above, body, _key(style, thickest, drawn)), told)


def _check(levels: Sequence[str], rows: Sequence[FlowRow], edges: Sequence[FlowEdge]) -> None:
    require(len(levels) >= 2, "levels", len(levels), "at least 2: the input and an output")
    require(len(rows) >= 1, "rows", len(rows), "at least 1")
    for row in rows:
        end = row.first + len(row.reach)
        require(end <= len(levels), "reach", f"up to level {end - 1}", f"below {len(levels)}")
    for edge in edges:
        require(0 <= edge.level < len(levels) - 1, "level", edge.level, f"below {len(levels) - 1}")
        for name, node in (("source", edge.source), ("target", edge.target)):
            require(0 <= node < len(rows), name, node, f"between 0 and {len(rows) - 1}")
        require(0.0 <= edge.share <= 1.0 + 1e-6, "share", edge.share, "between 0 and 1")


def _strongest(
    rows: Sequence[FlowRow], edges: Sequence[FlowEdge], most: int, focus: int | None
) -> tuple[list[FlowRow], list[FlowEdge], int | None]:
    """The rows with the largest shares and ``focus``, in order, and the edges between them."""
    order = sorted(range(len(rows)), key=lambda n: (n != focus, -abs(rows[n].share or 0.0)))
    kept = sorted(order[:most])
    place = {row: n for n, row in enumerate(kept)}
    between = [
        replace(edge, source=place[edge.source], target=place[edge.target])
        for edge in edges
        if edge.source in place and edge.target in place
    ]
    return [rows[n] for n in kept], between, None if focus is None else place[focus]


@dataclass(frozen=True)
class _Grid:
    left: float
    top: float
    across: float
    pitch: float

    def at(self, level: int, node: int) -> tuple[float, float]:
        return self.left + level * self.across, self.top + (node + 0.5) * self.pitch


@dataclass(frozen=True)
class _Look:
    """How tokens and shares are written beside rows that are ``pitch`` points apart."""

    style: Style
    rows: Sequence[FlowRow]
    pitch: float

    @property
    def size(self) -> float:
        """The font size of tokens."""
        return max(min(self.style.label, 0.95 * self.pitch), SMALLEST * self.style.label)

    def label(self, row: FlowRow) -> str:
        """How a token is written."""
        return cut(visible(row.label), self.size, 0.2 * self.style.width, self.style.measure)

    def share(self, row: FlowRow) -> str:
        """How the share of an input is written: with a sign where some speak against the output."""
        if row.share is None:
            return ""
        sign = "+" if any((one.share or 0.0) < 0.0 for one in self.rows) else ""
        return f"{row.share:{sign}.3f}".replace("-", "−") if row.share else "0"

    @property
    def chip(self) -> float:
        """The width of a share, 0 where none is known."""
        wide = widest([self.share(row) for row in self.rows], 0.86 * self.size, self.style.measure)
        return wide + 3.0 if wide else 0.0

    @property
    def gap(self) -> float:
        """From the middle of a node to what is written beside it."""
        return GAP + _HALF * self.style.label

    @property
    def right(self) -> float:
        """What a token takes beside its node."""
        if not self.style.labels:
            return 3.0
        labels = [self.label(row) for row in self.rows]
        return widest(labels, 1.08 * self.size, self.style.measure) + self.gap + 1.0

    @property
    def left(self) -> float:
        """What a token and its share take."""
        return self.right + (self.chip + GAP if self.style.labels and self.chip else 0.0)


def _stroke(share: float, thickest: float, largest: float) -> tuple[float, float]:
    """The width of an edge in points, and its opacity."""
    return max(0.25, thickest * share / largest), 0.4 + 0.4 * share / largest


def _edges(grid: _Grid, edges: Sequence[FlowEdge], thickest: float) -> list[Mark]:
    """Edges, the weakest first: strong ones lie on weak ones."""
    color: Rgb = REASONS[Reason.OPEN]
    marks: list[Mark] = []
    for edge in edges:
        start, end = grid.at(edge.level, edge.source), grid.at(edge.level + 1, edge.target)
        bend = 0.45 * grid.across
        points = (start, (start[0] + bend, start[1]), (end[0] - bend, end[1]), end)
        marks.append(Curve(points, color, *_stroke(edge.share, thickest, edges[-1].share)))
    return marks


def _nodes(style: Style, grid: _Grid, rows: Sequence[FlowRow]) -> list[Mark]:
    half = min(0.2 * grid.pitch, _HALF * style.label)
    return [
        _node(style, grid.at(row.first + n, node), half, can)
        for node, row in enumerate(rows)
        for n, can in enumerate(row.reach)
    ]


def _node(style: Style, place: tuple[float, float], half: float, can: bool) -> Mark:
    """A square, filled or hollow, ``half`` points to each side."""
    x, y = place
    corners = ((x - half, y - half), (x + half, y - half), (x + half, y + half))
    square = (*corners, (x - half, y + half))
    return Polygon(square, TEXT) if can else Polyline((*square, square[0]), FADED, style.line)


def _labels(look: _Look, grid: _Grid, last: int, focus: int | None) -> list[Mark]:
    """Tokens at the first and the last level, and their shares."""
    size = look.size
    largest = max((abs(row.share or 0.0) for row in look.rows), default=0.0) or 1.0
    marks: list[Mark] = []
    for node, row in enumerate(look.rows):
        x, y = grid.at(row.first, node)
        foot, text = y + RISE * size, look.label(row)
        ink = TEXT if row.reach[0] else MUTED
        marks.append(
            Text(text, x - look.left + look.right - look.gap, foot, size, "end", color=ink)
        )
        if row.share is not None and look.chip:
            rect = (x - look.gap - look.chip, y, look.chip, min(1.3 * size, look.pitch))
            marks += _chip(look, rect, row, largest)
        if row.first + len(row.reach) > last:
            x, _ = grid.at(last, node)
            marks.append(Text(text, x + look.gap, foot, size, bold=node == focus))
    return marks


def _chip(
    look: _Look, place: tuple[float, float, float, float], row: FlowRow, largest: float
) -> list[Mark]:
    """The share of an input on its tint; ``place`` is left, middle, width and height."""
    (x, y, wide, high), share, size = place, row.share or 0.0, 0.86 * look.size
    ground = mixed(WHITE, ACCENT if share >= 0.0 else WARNING, 0.6 * (abs(share) / largest) ** 0.5)
    text, foot = look.share(row), y + RISE * size
    return [
        Cells(np.array([[x, y - high / 2, wide, high]]), ground),
        Text(text, x + wide - 1.5, foot, size, "end", color=ink_on(ground)),
    ]


def _key(style: Style, thickest: float, edges: Sequence[FlowEdge]) -> Block:
    """What nodes and the widths of edges mean; ``edges`` have the weakest first."""
    size, high, half = style.small, 1.6 * style.small, _HALF * style.label
    middle, foot = high / 2, high / 2 + RISE * size
    blocks: list[Block] = []
    for can, text in ((True, "can reach the output"), (False, "cannot")):
        node, left = _node(style, (half, middle), half, can), 2 * half + 0.4 * size
        said = Text(text, left, foot, size)
        blocks.append(Block((node, said), left + style.measure(text, size), high))
    if not edges:
        return flowed(style, blocks)
    marks: list[Mark] = []
    x, largest = 0.0, edges[-1].share
    for share in [one for one in _KEY if one <= largest][:3]:
        width, opacity = _stroke(share, thickest, largest)
        ends, text = ((x, middle), (x + 2.0 * size, middle)), f"{share:g}"
        marks.append(Polyline(ends, REASONS[Reason.OPEN], width, opacity))
        marks.append(Text(text, x + 2.4 * size, foot, size))
        x += 3.2 * size + style.measure(text, size)
    for text in ("of the output", f"below {LEAST:g}: left out"):
        marks.append(Text(text, x, foot, size))
        blocks.append(Block(tuple(marks), x + style.measure(text, size), high))
        marks, x = [], 0.0
    return flowed(style, blocks)
