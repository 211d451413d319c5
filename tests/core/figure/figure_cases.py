"""One figure of every view, and how to read one back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.figure.flow import FlowEdge, FlowRow
from core.figure.steps import GrowthStep
from core.figure.style import Style
from core.figure.views import VIEWS
from core.mask.intervals import row_intervals
from core.types import (
    AttentionMaps,
    Check,
    CheckReport,
    EmbeddingsView,
    HeadRef,
    MaskKind,
    MaskSpec,
    Objective,
    ObjectiveView,
    Pooling,
    Stack,
    Stages,
    Verdict,
)
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


def stages(spec: MaskSpec, *, features: int = 5, seed: int = 0) -> Stages:
    """The steps of a head of invented scores and values; no features are no values."""
    rng = np.random.default_rng(seed)
    mask = row_intervals(spec, 0).dense()
    scaled = rng.normal(size=mask.shape).astype(np.float32)
    powers = np.where(mask, np.exp(scaled), 0.0)
    read = (powers / np.maximum(powers.sum(axis=1, keepdims=True), 1e-9)).astype(np.float32)
    values = rng.normal(size=(mask.shape[1], features)).astype(np.float32) if features else None
    return Stages(
        generation=1,
        head=HeadRef(Stack.DECODER),
        width=16,
        scores=4.0 * scaled,
        scaled=scaled,
        mask=mask,
        weights=read,
        values=values,
        output=None if values is None else read @ values,
        late_weights=read,
        late_output=None,
    )


def objective(length: int, *, seed: int = 0, source: int = 0, prefix: int = 0) -> ObjectiveView:
    """A sentence whose every third position or so carries a loss of up to 9 nats."""
    rng = np.random.default_rng(seed)
    ids = np.arange(20, 20 + length, dtype=np.int32)
    scored = rng.random(length) < 0.4
    return ObjectiveView(
        generation=1,
        objective=Objective.MASKED,
        kind=MaskKind.BIDIRECTIONAL,
        inputs=ids,
        source=np.arange(source, dtype=np.int32),
        targets=np.where(scored, ids + (ids % 2), -100).astype(np.int32),
        loss=np.where(scored, 9.0 * rng.random(length), np.nan).astype(np.float32),
        top_ids=ids,
        top_probs=np.full(length, 0.5, np.float32),
        tokens=length,
        selectable=length,
        prefix=prefix,
        notes=("This must be known to read the rest.",),
    )


def similar(count: int, seed: int = 0) -> EmbeddingsView:
    """Cosines of invented vectors, some of them below 0."""
    raw = np.random.default_rng(seed).normal(size=(3, count, 4)) + 0.5
    unit = raw / np.linalg.norm(raw, axis=-1, keepdims=True)
    cosines = (unit @ unit.transpose(0, 2, 1)).astype(np.float32)
    known = np.zeros((count, 0), np.float32)
    return EmbeddingsView(1, MaskKind.CAUSAL, dict(zip(Pooling, cosines, strict=True)), known)


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
    checks = (
        Check("boundary", Verdict.PASS, "A later token changes no earlier output.", 3.1e-6, 2e-4),
        Check("padding & <pads>", Verdict.FAIL, "It differs, first at layer 2.", 0.4, 2e-4),
    )
    rows = [FlowRow(word, (k < 9, k == 3), share=k / 66) for k, word in enumerate(WORDS)]
    report = CheckReport("decoder", "torch", "causal mask, 9 tokens", checks)
    stacks = [maps(stack, 2, 3, (n, n)) for stack in (Stack.ENCODER, Stack.DECODER)]
    x = np.geomspace(8.0, 4096.0, 31)
    given: dict[str, tuple[object, ...]] = {
        "mask": (spec, 0, WORDS, WORDS),
        "attention": (pattern, spec, 0, WORDS, WORDS),
        "heads": (stacks, {Stack.DECODER: spec}),
        "steps": (steps, WORDS, 5),
        "difference": (pattern, weights(n, n, seed=1), WORDS, WORDS),
        "report": (report, "The <b> cat & a dog"),
        "flow": (("input", "1"), rows, edges),
        "stages": (stages(spec), spec, 0, WORDS, WORDS, 3),
        "objectives": (objective(n, source=n, prefix=2), WORDS, WORDS, WORDS),
        "embeddings": (similar(3), ("A <b> cat.", "猫 שלום", "A--B 🙂 " * 20)),
        "cost": (
            {"scores": (x, x**2), "FFN": (x, 40.0 * x), "total": (x, x**2 + 40.0 * x)},
            {"prefill": (x, 50.0 * x)},
            "FLOP",
            ("tokens, T", "FLOPs"),
        ),
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
