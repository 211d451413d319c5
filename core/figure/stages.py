"""One head step by step, from scores to weighted values, and one query in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from core.figure.attention import block_of, signed_cells, weight_cells
from core.figure.axes import Axis, Box, widest
from core.figure.keys import ROOT_TICKS, color_bar, legend, reason_swatches, signed_bar
from core.figure.mask import closed_cells, described, mask_axes
from core.figure.page import MARGIN, Block, flowed, page, room, wrapped
from core.figure.panels import Panel, paneled
from core.figure.style import ONE_COLUMN, Style
from core.mask.intervals import reason_counts
from core.types import MaskSpec, Reason, Stages
from core.types.colors import MUTED
from core.types.figure import Figure, Mark, Text
from core.types.masks import require
from core.types.stages import Floats

STEPS = ("scores", "scaled", "masked", "softmax", "output")
"""The steps that are drawn, as the equation names them."""

MOST_LINES = 18
"""An equation that takes more lines is left out."""

_SHORT = 0.9
"""Panels are put into more lines where their cells would be lower than this share of a label."""


def stages_figure(
    found: Stages,
    spec: MaskSpec,
    row: int = 0,
    queries: Sequence[str] = (),
    keys: Sequence[str] = (),
    query: int | None = None,
    *,
    style: Style = ONE_COLUMN,
) -> Figure:
    """A heatmap for each step of a head that read under batch row ``row`` of ``spec``.

    Scores and output are orange above zero and blue below, weights have the colours of the
    attention figure. Closed cells are hatched from the mask on. Row ``query`` is framed, and its
    numbers are written below where they are short; None frames none. Where the engine handed out no
    values, there is no output.

    Raises
    ------
    ValueError
        where steps, mask and labels do not fit each other, or there is no such query.
    """
    if found.mask.shape != (spec.length, spec.keys):
        raise ValueError(
            f"the steps are {found.mask.shape[0]} x {found.mask.shape[1]}, but must be"
            f" {spec.length} x {spec.keys} like the mask they were made under."
        )
    last = spec.length - 1
    require(query is None or 0 <= query <= last, "query", query, f"between 0 and {last}")
    rows, cols = mask_axes(spec, row, queries, keys)
    told = described(spec, row) | {"head width": str(found.width)}
    below, lines = _below(style, found, spec, row), Block((), 0.0, 0.0)
    if query is not None:
        steps = found.equation(query, [cols.label(n) for n in range(spec.keys)])
        told["query"] = str(spec.past + query)
        told |= {f"query {name}": line for name, line in steps}
        if style.labels:
            token = f" “{rows.label(query)}”" if rows.texts else ""
            title = f"query {spec.past + query}{token}"
            lines = _equation(style, steps, title, room(style, (below,))[1])
    block, box = paneled(
        style,
        rows,
        _panels(style, found, (spec, row), cols),
        room(style, (below, lines)),
        least=_SHORT * style.label,
        lit=query,
    )
    step = block_of(box)
    if step != (1, 1):
        told["cells drawn"] = f"the largest size of each {step[0]} x {step[1]}"
    return page(style, (block, lines, below), told)


def _panels(style: Style, found: Stages, mask: tuple[MaskSpec, int], cols: Axis) -> list[Panel]:
    """A panel for each step; scaled and masked have one scale, that of all scaled scores."""
    plain = replace(cols, faded=())
    panels = [
        Panel("scores", plain, partial(_signed, style, found.scores, None), "q · k"),
        Panel(
            "scaled", plain, partial(_signed, style, found.scaled, None), f"q · k / √{found.width}"
        ),
        Panel("masked", cols, partial(_signed, style, found.scaled, mask), "closed: −∞"),
        Panel("softmax", cols, partial(_weights, style, found.weights, mask), "rows add up to 1"),
    ]
    if found.output is not None:
        features = Axis(found.output.shape[1], name="feature")
        panels.append(
            Panel("output", features, partial(_signed, style, found.output, None), "weights · v")
        )
    return panels


def _signed(
    style: Style, values: Floats, closed: tuple[MaskSpec, int] | None, box: Box
) -> list[Mark]:
    """Numbers ``[Tq, n]`` up to the largest of them; ``closed`` is a mask and a batch row."""
    marks = signed_cells(style, values / _peak(values), box)
    return marks if closed is None else [*marks, *closed_cells(style, *closed, box, quiet=True)]


def _weights(style: Style, weights: Floats, closed: tuple[MaskSpec, int], box: Box) -> list[Mark]:
    marks = weight_cells(style, np.sqrt(np.clip(weights, 0.0, 1.0)), box)
    return [*marks, *closed_cells(style, *closed, box, quiet=True)]


def _peak(values: Floats) -> float:
    return max(float(np.abs(values).max(initial=0.0)), 1e-12)


def _equation(style: Style, steps: Sequence[tuple[str, str]], title: str, high: float) -> Block:
    """The steps that are drawn in numbers; empty where they take too much of ``high`` points."""
    size, wide = style.small, style.width - 2 * MARGIN
    lines = {name: line for name, line in steps if name in ("keys", *STEPS)}
    left = widest(list(lines), size, style.measure) + 1.2 * size
    marks: list[Mark] = [Text(title, 0.0, 0.95 * size, size, bold=True)]
    count = 1
    for name, line in lines.items():
        y = (1.35 * count + 0.95) * size
        marks.append(Text(name, 0.0, y, size, color=MUTED))
        for n, text in enumerate(wrapped(line, size, wide - left, style.measure)):
            marks.append(Text(text, left, y + 1.35 * n * size, size))
            count += 1
    tall = 1.35 * count * size
    if count > MOST_LINES or (style.height is not None and tall > 0.4 * high):
        return Block((), 0.0, 0.0)
    return Block(tuple(marks), wide, tall)


def _below(style: Style, found: Stages, spec: MaskSpec, row: int) -> Block:
    """The bars of the scores, of the weights and of the output, and the reasons of closed cells."""
    counts = reason_counts(spec, row)
    closed = [one for one in Reason if one is not Reason.OPEN and counts[one]]
    bars = [
        signed_bar(style, _peak(found.scaled), f"scaled (scores: √{found.width} times)"),
        color_bar(style, style.map, ROOT_TICKS, "softmax"),
    ]
    if found.output is not None:
        bars.append(signed_bar(style, _peak(found.output), "output"))
    swatches = reason_swatches(closed, quiet=True)
    return flowed(style, (*bars, legend(style, swatches, style.width - 2 * MARGIN)))
