"""What stands below a figure and explains its colours: swatches, and the bar of a map."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.figure.axes import Box, framed
from core.figure.page import Block
from core.figure.runs import painted
from core.figure.style import (
    REASON_HATCH,
    REASON_NAMES,
    Style,
    diverging,
    reason_colors,
)
from core.types import Reason
from core.types.colors import MUTED, WHITE, Rgb, mixed
from core.types.figure import Cells, Hatch, Mark, Polyline, Text


@dataclass(frozen=True)
class Swatch:
    """One colour and what it means."""

    name: str
    color: Rgb
    hatch: Hatch | None = None
    ink: Rgb = MUTED


def reason_swatches(reasons: Iterable[Reason], *, quiet: bool = False) -> list[Swatch]:
    """A swatch for each of some reasons, as the cells are painted."""
    return [
        Swatch(REASON_NAMES[one], ground, REASON_HATCH.get(one), ink)
        for one in reasons
        for ground, ink in (reason_colors(one, quiet=quiet),)
    ]


def legend(style: Style, swatches: Sequence[Swatch], width: float) -> Block:
    """Swatches with their names in lines of at most ``width`` points."""
    size, line = style.small, 1.6 * style.small
    side = (1.7 * size, 1.05 * size)
    marks: list[Mark] = []
    x = y = widest = 0.0
    for one in swatches:
        wide = side[0] + 0.5 * size + style.measure(one.name, size)
        if x and x + wide > width:
            x, y = 0.0, y + line
        top = y + (line - side[1]) / 2
        rect = np.array([[x, top, *side]])
        marks.append(Cells(rect, one.color, one.hatch, one.ink, style.hatch_scale))
        marks.append(_outline(style, x, top, side))
        baseline = y + line / 2 + 0.36 * size
        marks.append(Text(one.name, x + side[0] + 0.5 * size, baseline, size))
        widest = max(widest, x + wide)
        x += wide + 1.6 * size
    return Block(tuple(marks), widest, y + line if swatches else 0.0)


def color_bar(
    style: Style,
    colors: NDArray[np.uint8],
    ticks: Sequence[tuple[float, str]],
    caption: str,
) -> Block:
    """The colours ``[n, 3]`` from left to right, ``ticks`` as (share of the bar, text), a caption.

    An empty block where the style has no colour bar.
    """
    if not style.color_bar:
        return Block((), 0.0, 0.0)
    size = style.small
    wide, high = min(16.0 * size, 0.6 * style.width), 0.9 * size
    said = style.measure(caption, size) + size
    codes = np.linspace(0, len(colors) - 1, min(64, len(colors))).round().astype(np.intp)
    top = 0.35 * size  # In line with the swatches of a legend.
    marks: list[Mark] = [Text(caption, 0.0, 0.8 * size + 0.36 * size, size)]
    marks += painted(codes[None, :], colors, (said, top), (wide / len(codes), high))
    marks.append(_outline(style, said, top, (wide, high)))
    foot = top + high
    for share, text in ticks:
        x = said + share * wide
        marks.append(Polyline(((x, foot), (x, foot + 0.3 * size)), MUTED, style.line))
        marks.append(Text(text, x, foot + 1.3 * size, size, "middle", color=MUTED))
    over = style.measure(ticks[-1][1], size) / 2 if ticks else 0.0
    return Block(tuple(marks), said + wide + over, foot + 1.6 * size)


def signed_bar(style: Style, peak: float, caption: str) -> Block:
    """The bar of numbers from ``-peak`` to ``peak``; of no numbers but 0, their place alone."""
    ticks = ((0.0, f"−{peak:.2g}"), (0.5, "0"), (1.0, f"{peak:.2g}"))
    is_empty = peak <= 1e-12
    colors = diverging(style.map_name)
    return color_bar(style, colors, ticks[1:2] if is_empty else ticks, caption)


def _outline(style: Style, x: float, y: float, side: tuple[float, float]) -> Mark:
    return framed(Box(x, y, side, 1, 1), mixed(WHITE, MUTED, 0.7), 0.7 * style.line)


ROOT_TICKS = ((0.0, "0"), (0.1**0.5, "0.1"), (0.25**0.5, "0.25"), (0.5**0.5, "0.5"), (1.0, "1"))
"""Weights where they lie on a map over the square root of the weight."""
