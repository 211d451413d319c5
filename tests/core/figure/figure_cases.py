"""One figure of every view, and how to read one back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.figure.flow import FlowEdge
from core.figure.report import ReportRow
from core.figure.steps import GrowthStep
from core.figure.style import Style
from core.figure.views import VIEWS
from core.types import AttentionMaps, MaskKind, MaskSpec, Stack
from core.types.figure import Cells, Curve, Figure, Polygon, Polyline, Text

WORDS = ("<s>", "The", "cat", "<b>", "&", "fine", "猫", "שלום", "␣", "o'clock", "🙂", "A--B")


def weights(rows: int, cols: int, seed: int = 0) -> NDArray[np.float32]:
    """Rows that add up to 1 under a causal mask that ends in the last column."""
    raw = np.exp(2.0 * np.random.default_rng(seed).normal(size=(rows, cols)))
    raw *= np.tri(rows, cols, cols - rows)
    return (raw / raw.sum(axis=1, keepdims=True)).astype(np.float32)


def maps(stack: Stack, layers: int, heads: int, size: tuple[int, int]) -> AttentionMaps:
    """Heads of invented weights."""
    rng = np.random.default_rng(layers)
    thumbs = rng.integers(0, 256, (layers, heads, *size), dtype=np.uint8)
    scale = np.ones((layers, heads), np.float32)
    return AttentionMaps(stack, *size, 1, thumbs, scale)


def every_view(style: Style) -> Iterator[tuple[str, Figure]]:
    """A figure of each view that is registered."""
    n = len(WORDS)
    spec = MaskSpec(MaskKind.CAUSAL, n, left_pad=(1,), window=7)
    pattern = weights(n, n)
    steps = [
        GrowthStep(word, np.ones(k, bool), weights(k, k), MaskSpec(MaskKind.CAUSAL, k))
        for k, word in enumerate(WORDS, start=1)
    ]
    edges = [FlowEdge(0, j, i, float(pattern[i, j])) for i in range(n) for j in range(n)]
    rows = [
        ReportRow("causality", "pass", "3.1e-06", "A later token changes no earlier output."),
        ReportRow("padding & <pads>", "fail", "0.4 nats", "It differs, first at layer 2."),
    ]
    stacks = [maps(stack, 2, 3, (n, n)) for stack in (Stack.ENCODER, Stack.DECODER)]
    given: dict[str, tuple[object, ...]] = {
        "mask": (spec, 0, WORDS, WORDS),
        "attention": (pattern, spec, 0, WORDS, WORDS),
        "heads": (stacks, {Stack.DECODER: spec}),
        "steps": (steps,),
        "difference": (pattern, weights(n, n, seed=1), WORDS, WORDS),
        "report": (rows,),
        "flow": (("input", "1"), WORDS, edges),
    }
    for name, make in VIEWS.items():
        yield name, make(*given[name], style=style)


def extent(figure: Figure) -> NDArray[np.float64]:
    """Left, top, right and bottom of all marks but texts, and the feet of texts."""
    points: list[tuple[float, float]] = []
    for mark in figure.marks:
        if isinstance(mark, Cells):
            x, y, wide, high = mark.rects.T
            points += zip(x, y, strict=True)
            points += zip(x + wide, y + high, strict=True)
        elif isinstance(mark, Text):
            points.append((mark.x, mark.y))
        else:
            assert isinstance(mark, Curve | Polygon | Polyline)
            points += mark.points
    found = np.array(points)
    return np.array([*found.min(axis=0), *found.max(axis=0)])


def box_of_cells(figure: Figure, shape: tuple[int, int]) -> tuple[float, float, float, float]:
    """Left, top, width and height of a cell of the first heatmap."""
    frames = [
        mark.points for mark in figure.marks if isinstance(mark, Polyline) and len(mark.points) == 5
    ]
    frame = np.array(frames[0])
    left, top = frame.min(axis=0)
    wide, high = np.ptp(frame, axis=0)
    return left, top, wide / shape[1], high / shape[0]


def colors_of(figure: Figure, shape: tuple[int, int]) -> NDArray[np.int64]:
    """The colour at the middle of every cell of the first heatmap, int ``[R, C, 3]``."""
    left, top, wide, high = box_of_cells(figure, shape)
    x = left + (np.arange(shape[1]) + 0.5) * wide
    y = top + (np.arange(shape[0]) + 0.5) * high
    seen = np.full((*shape, 3), -1, np.int64)
    for mark in figure.marks:
        if isinstance(mark, Cells):
            for rx, ry, rw, rh in mark.rects:
                inside = ((y > ry) & (y < ry + rh))[:, None] & ((x > rx) & (x < rx + rw))[None, :]
                seen[inside] = mark.color
    return seen


@st.composite
def specs(draw: st.DrawFn) -> MaskSpec:
    """Any mask of up to 12 queries."""
    kind = draw(st.sampled_from(list(MaskKind)))
    length, past = draw(st.integers(1, 12)), draw(st.integers(0, 4))
    if kind is MaskKind.CROSS:
        source = draw(st.integers(1, 12))
        left = draw(st.integers(0, source - 1))
        right = draw(st.integers(0, source - 1 - left))
        return MaskSpec(
            kind, length, past=past, source=source, left_pad=(left,), right_pad=(right,)
        )
    filled = past + length
    left = draw(st.integers(0, filled - 1))
    right = draw(st.integers(0, filled - 1 - left))
    real = filled - left - right
    cut = draw(st.integers(0, real - 1))
    return MaskSpec(
        kind,
        length,
        past=past,
        prefix=draw(st.integers(0, real)) if kind is MaskKind.PREFIX else 0,
        left_pad=(left,),
        right_pad=(right,),
        window=draw(st.none() | st.integers(1, 14)),
        documents=(cut, real - cut) if cut else (),
        capacity=draw(st.none() | st.integers(filled, filled + 3)),
    )
