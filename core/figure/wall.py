"""All heads of some stacks as small multiples: layers down, heads across."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from core.figure.attention import weight_cells
from core.figure.axes import Box, framed
from core.figure.keys import Swatch, color_bar, legend
from core.figure.mask import closed_cells
from core.figure.page import Block, beside, captioned, flowed, page, room
from core.figure.style import ONE_COLUMN, REASON_HATCH, Style, reason_colors
from core.mask.intervals import reason_counts
from core.types import AttentionMaps, MaskSpec, Reason, Stack
from core.types.colors import MUTED, WHITE, mixed
from core.types.figure import Figure, Mark, Text

TITLES = {Stack.ENCODER: "Encoder", Stack.DECODER: "Decoder", Stack.CROSS: "Cross"}

_SHARE_TICKS = ((0.0, "0"), (0.25**0.5, "¼"), (0.5**0.5, "½"), (1.0, "largest"))

_SIDE_BY_SIDE = 14.0
"""Stacks stand side by side while their tiles have this many points."""

_BETWEEN = 10.0


def wall_figure(
    maps: Sequence[AttentionMaps],
    masks: Mapping[Stack, MaskSpec] = {},
    row: int = 0,
    *,
    style: Style = ONE_COLUMN,
) -> Figure:
    """Every head of one to three stacks, each coloured up to its own largest weight.

    Closed cells of batch row ``row`` of the stacks that ``masks`` holds are hatched. Layers and
    heads are numbered from 1; where there is more than one stack, each has its name.

    Raises
    ------
    ValueError
        where there is no stack.
    """
    if not maps:
        raise ValueError("There are no heads to draw: run the model first.")
    closed = any(
        reason_counts(spec, row)[Reason.OPEN] < spec.length * spec.keys for spec in masks.values()
    )
    below = _below(style, closed)
    free = room(style, (below,))
    across, tile = _laid(style, maps, free)
    blocks = [_stack(style, one, tile, masks.get(one.stack), row) for one in maps]
    if len(maps) > 1:
        blocks = [_titled(style, one, block) for one, block in zip(maps, blocks, strict=True)]
    if across:
        blocks = [beside(blocks, _BETWEEN)]
    parameters = {
        f"{one.stack.value} heads": f"{one.thumbs.shape[0]} layers x {one.thumbs.shape[1]}"
        for one in maps
    }
    return page(style, (*blocks, below), parameters, gap=8.0)


def _below(style: Style, closed: bool) -> Block:
    bar = color_bar(style, style.map, _SHARE_TICKS, "weight, of the head's largest")
    ground, ink = reason_colors(Reason.FUTURE, quiet=True)
    swatches = [Swatch("may not read", ground, REASON_HATCH[Reason.FUTURE], ink)] * closed
    return flowed(style, (bar, legend(style, swatches, style.width - 8.0)))


def _laid(
    style: Style, maps: Sequence[AttentionMaps], free: tuple[float, float]
) -> tuple[bool, float]:
    """Whether the stacks stand side by side, and the width of all tiles in points."""
    count = len(maps)
    between = _BETWEEN * (count - 1)
    heads = sum(one.thumbs.shape[1] for one in maps)
    left, top = _margins(style)
    title = 1.6 * style.label if count > 1 else 0.0

    def lowest(wide: float, high: float, one: AttentionMaps) -> float:
        layers, own = one.thumbs.shape[:2]
        tall = ((high - top - title) / layers - _gap(style)) / _flatness(one)
        return float(min((wide - left) / own - _gap(style), tall))

    high = free[1] if style.height is not None else 1e6
    beside_each = min(
        lowest((free[0] - between - left * count) * one.thumbs.shape[1] / heads + left, high, one)
        for one in maps
    )
    below_each = min(lowest(free[0], (high - between) / count, one) for one in maps)
    across = count > 1 and (beside_each >= _SIDE_BY_SIDE or beside_each >= below_each)
    tile = beside_each if across else below_each
    return across, max(min(tile, max(48.0, 0.18 * style.width)), 2.0)


def _margins(style: Style) -> tuple[float, float]:
    numbers = style.small if style.labels else 0.0
    return 2.6 * numbers, 1.5 * numbers


def _gap(style: Style) -> float:
    return 0.45 * style.small


def _flatness(maps: AttentionMaps) -> float:
    """Height of a tile as a share of its width."""
    return float(np.clip(maps.rows / maps.keys, 0.25, 2.0))


def _titled(style: Style, maps: AttentionMaps, block: Block) -> Block:
    left, _ = _margins(style)
    title = Text(TITLES[maps.stack], left, 0.95 * style.label, style.label, bold=True)
    return captioned(title, block, 1.6 * style.label)


def _stack(
    style: Style, maps: AttentionMaps, tile: float, spec: MaskSpec | None, row: int
) -> Block:
    layers, heads = maps.thumbs.shape[:2]
    left, top = _margins(style)
    size = (tile, tile * _flatness(maps))
    across, down = size[0] + _gap(style), size[1] + _gap(style)
    marks: list[Mark] = []
    for layer in range(layers):
        for head in range(heads):
            x, y = left + head * across, top + layer * down
            marks += _tile(style, maps, (layer, head), Box(x, y, size, 1, 1))
            if spec is not None:
                cell = (size[0] / spec.keys, size[1] / spec.length)
                marks += closed_cells(
                    style, spec, row, Box(x, y, cell, spec.length, spec.keys), quiet=True
                )
            pale = mixed(WHITE, MUTED, 0.5)
            marks.append(framed(Box(x, y, size, 1, 1), pale, 0.7 * style.line))
    if style.labels:
        marks += _numbers(style, (layers, heads), (across, down), size)
    return Block(
        tuple(marks), left + heads * across - _gap(style), top + layers * down - _gap(style)
    )


def _tile(style: Style, maps: AttentionMaps, at: tuple[int, int], box: Box) -> list[Mark]:
    """One head; the last block of a thumbnail may reach over the end of its axes."""
    share = maps.thumbs[at] / 255.0
    cell = (box.cell[0] * maps.block / maps.keys, box.cell[1] * maps.block / maps.rows)
    return weight_cells(
        style, share, Box(box.x, box.y, cell, *share.shape), ends=(box.right, box.bottom)
    )


def _numbers(
    style: Style, counts: tuple[int, int], step: tuple[float, float], size: tuple[float, float]
) -> list[Mark]:
    left, top = _margins(style)
    small = style.small
    every = max(1, int(np.ceil((style.measure(f"H{counts[1]}", small) + 2.0) / step[0])))
    marks: list[Mark] = []
    for head in range(0, counts[1], every):
        x = left + head * step[0] + size[0] / 2
        marks.append(Text(f"H{head + 1}", x, top - 0.4 * small, small, "middle", color=MUTED))
    for layer in range(0, counts[0], max(1, int(np.ceil(small / step[1])))):
        y = top + layer * step[1] + size[1] / 2 + 0.36 * small
        marks.append(Text(f"L{layer + 1}", left - 3.0, y, small, "end", color=MUTED))
    return marks
