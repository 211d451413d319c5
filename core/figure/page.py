"""Blocks of marks that know their size, and the page that they are stacked on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from core.figure.style import Measure, Style, in_words
from core.types.colors import Rgb
from core.types.figure import Cells, Curve, Figure, Mark, Polygon, Polyline, Text

MARGIN = 4.0
"""Room around a figure, in points."""


@dataclass(frozen=True)
class Block:
    """Marks within ``(0, 0)`` and ``(width, height)``, in points."""

    marks: tuple[Mark, ...] = field(repr=False)
    width: float
    height: float


def moved(marks: Sequence[Mark], dx: float, dy: float) -> tuple[Mark, ...]:
    """The marks, ``dx`` points further right and ``dy`` further down."""
    return tuple(_moved(mark, dx, dy) for mark in marks)


def _moved(mark: Mark, dx: float, dy: float) -> Mark:
    if isinstance(mark, Cells):
        return replace(mark, rects=mark.rects + np.array([dx, dy, 0.0, 0.0]))
    if isinstance(mark, Text):
        return replace(mark, x=mark.x + dx, y=mark.y + dy)
    if isinstance(mark, Curve):
        a, b, c, d = ((x + dx, y + dy) for x, y in mark.points)
        return replace(mark, points=(a, b, c, d))
    shape: Polyline | Polygon = mark
    return replace(shape, points=tuple((x + dx, y + dy) for x, y in shape.points))


def room(style: Style, below: Sequence[Block] = (), *, gap: float = 6.0) -> tuple[float, float]:
    """Width and greatest height of what stands between the title and some blocks, in points."""
    wide = style.width - 2 * MARGIN
    if style.height is None:
        return wide, 1.25 * wide
    taken = sum(block.height + gap for block in (*_heading(style), *below) if block.height)
    return wide, max(style.height - 2 * MARGIN - taken, 24.0)


def page(
    style: Style, blocks: Sequence[Block], parameters: dict[str, str], *, gap: float = 6.0
) -> Figure:
    """The title and the blocks below each other, each in the middle of the page.

    Raises
    ------
    ValueError
        where they do not fit, with the size that they need.
    """
    blocks = [block for block in blocks if block.height]
    above = sum(block.height + gap for block in _heading(style))
    high = sum(block.height + gap for block in blocks) - gap
    needed = (max(block.width for block in blocks), MARGIN + above + high)
    height = needed[1] + MARGIN if style.height is None else style.height
    _check_room(style, (style.width, height), (needed[0] + 2 * MARGIN, needed[1]))
    marks: list[Mark] = []
    for block in _heading(style):
        marks += moved(block.marks, MARGIN, MARGIN)
    y = MARGIN + above + max(0.0, (height - MARGIN - needed[1]) / 2)
    for block in blocks:
        marks += moved(block.marks, max(MARGIN, (style.width - block.width) / 2), y)
        y += block.height + gap
    return Figure(
        style.width, height, tuple(marks), style.background, style.title, dict(parameters)
    )


def _check_room(style: Style, given: tuple[float, float], needed: tuple[float, float]) -> None:
    less = ", or leave labels out" if style.labels else ""
    for name, have, least in zip(("width", "height"), given, needed, strict=True):
        if have < least - 1.0:
            raise ValueError(
                f"{name} is {in_words(have)}, but this figure needs at least {in_words(least)};"
                f" take a larger size{less}."
            )


def _heading(style: Style) -> tuple[Block, ...]:
    if not style.title:
        return ()
    wide, size = style.width - 2 * MARGIN, style.heading
    lines = wrapped(style.title, size * 1.12, wide, style.measure)  # Bold runs wider.
    marks = tuple(
        Text(line, wide / 2, size * (0.95 + 1.25 * n), size, "middle", bold=True)
        for n, line in enumerate(lines)
    )
    return (Block(marks, wide, size * 1.25 * len(lines)),)


def beside(blocks: Sequence[Block], gap: float) -> Block:
    """The blocks side by side, their tops in a line."""
    marks: list[Mark] = []
    x = 0.0
    for block in blocks:
        marks += moved(block.marks, x, 0.0)
        x += block.width + gap
    return Block(tuple(marks), x - gap, max(block.height for block in blocks))


def captioned(caption: Text, block: Block, high: float) -> Block:
    """The block below a caption that takes ``high`` points."""
    return Block((caption, *moved(block.marks, 0.0, high)), block.width, block.height + high)


def flowed(style: Style, blocks: Sequence[Block]) -> Block:
    """The blocks side by side as far as the page is wide enough, in lines below each other."""
    lines: list[Block] = []
    gap = 3.0 * style.small
    for block in blocks:
        if not block.height:
            continue
        if lines and lines[-1].width + gap + block.width <= style.width - 2 * MARGIN:
            lines[-1] = beside((lines[-1], block), gap)
        else:
            lines.append(block)
    widest = max((line.width for line in lines), default=0.0)
    marks: list[Mark] = []
    y = 0.0
    for line in lines:
        marks += moved(line.marks, (widest - line.width) / 2, y)
        y += line.height + 4.0
    return Block(tuple(marks), widest, max(0.0, y - 4.0))


def paragraphs(style: Style, parts: Sequence[tuple[str, float, Rgb]]) -> Block:
    """Texts below each other, each in a font size and a colour, in lines as wide as the page."""
    wide = style.width - 2 * MARGIN
    marks: list[Mark] = []
    y = 0.0
    for text, size, color in parts:
        for line in wrapped(text, size, wide, style.measure):
            marks.append(Text(line, 0.0, y + 0.95 * size, size, color=color))
            y += 1.35 * size
    return Block(tuple(marks), wide, y)


def wrapped(text: str, size: float, width: float, measure: Measure) -> list[str]:
    """The words of a text in lines of at most ``width`` points; a longer word is cut with "…"."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and measure(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(cut(word, size, width, measure))
    return lines


def cut(text: str, size: float, width: float, measure: Measure) -> str:
    """The text, its end replaced by "…" where it is wider than ``width`` points."""
    if measure(text, size) <= width:
        return text
    while text and measure(f"{text}…", size) > width:
        text = text[:-1]
    return f"{text}…"
