"""How alike sentences are: a square of cosines for each pooling, and the sentences by number."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from core.figure.attention import weight_cells
from core.figure.axes import RISE, SMALLEST, Axis, Box, widest
from core.figure.keys import color_bar
from core.figure.page import MARGIN, Block, page, room, wrapped
from core.figure.panels import Panel, paneled
from core.figure.runs import rgb
from core.figure.style import ONE_COLUMN, Style, ink_on
from core.text.visible import visible
from core.types import EmbeddingsView, Pooling
from core.types.figure import Figure, Mark, Text

TITLES = {
    Pooling.MEAN: "mean",
    Pooling.LAST: "last token",
    Pooling.FIRST: "first token",
}
"""What the vector of a sentence is made of."""

HIGHEST_LOW = 0.9
"""The map begins at the lowest cosine, and at this one where all are higher."""


def embeddings_figure(
    view: EmbeddingsView, sentences: Sequence[str], *, style: Style = ONE_COLUMN
) -> Figure:
    """A square for each pooling, coloured from the lowest cosine of all of them up to 1.

    Numbers stand in the cells where they fit. Sentences are numbered from 1 and listed below.

    Raises
    ------
    ValueError
        where there is not one sentence for each row.
    """
    count = view.sentences
    if len(sentences) != count:
        raise ValueError(
            f"sentences has {len(sentences)} texts, but must have one for each of the {count} rows."
        )
    every = np.stack(list(view.similarity.values()))
    low = min(float(every.min()), HIGHEST_LOW)
    wide = widest([_number(float(value)) for value in every.flat], 1.0, style.measure)
    axis = Axis(count, tuple(str(n + 1) for n in range(count)))
    panels = [
        Panel(TITLES[pooling], axis, partial(_cosines, style, values, low, wide))
        for pooling, values in view.similarity.items()
    ]
    ticks = ((0.0, _number(low)), (0.5, _number((1.0 + low) / 2)), (1.0, "1"))
    bar = color_bar(style, style.map, ticks, "cosine")
    texts = _list(style, sentences) if style.labels else Block((), 0.0, 0.0)
    fit = wide * style.small + 2.5
    block, _ = paneled(style, axis, panels, room(style, (texts, bar)), least=fit)
    told = {"mask": view.kind.value, "sentences": str(count)}
    told |= {f"sentence {n}": text for n, text in enumerate(sentences, start=1)}
    return page(style, (block, texts, bar), told)


def _cosines(
    style: Style, values: NDArray[np.float32], low: float, wide: float, box: Box
) -> list[Mark]:
    """Cells, and the number in each where it fits without being too small to read.

    ``wide`` is the width of the widest number of all panels, in font sizes.
    """
    share = np.clip((values - low) / (1.0 - low), 0.0, 1.0)
    marks = weight_cells(style, share, box)
    size = min(style.small, (box.cell[0] - 2.0) / wide, 0.8 * box.cell[1])
    if size < SMALLEST * style.small:
        return marks
    for (row, col), value in np.ndenumerate(values):
        ground = rgb(style.map[round(255.0 * float(share[row, col]))])
        x = box.x + (col + 0.5) * box.cell[0]
        y = box.y + (row + 0.5) * box.cell[1] + RISE * size
        marks.append(Text(_number(float(value)), x, y, size, "middle", color=ink_on(ground)))
    return marks


def _number(value: float) -> str:
    """Two digits; what they round to 0 has no sign."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def _list(style: Style, sentences: Sequence[str]) -> Block:
    """The sentences with their numbers, wrapped."""
    size, wide = style.small, style.width - 2 * MARGIN
    left = style.measure(f"{len(sentences)}", size) + size
    marks: list[Mark] = []
    count = 0
    for n, sentence in enumerate(sentences, start=1):
        y = (1.4 * count + 0.95) * size
        marks.append(Text(str(n), left - 0.6 * size, y, size, "end", bold=True))
        words = " ".join(visible(word) for word in sentence.split())
        for text in wrapped(words, size, wide - left, style.measure) or [""]:
            marks.append(Text(text, left, (1.4 * count + 0.95) * size, size))
            count += 1
    return Block(tuple(marks), wide, 1.4 * count * size)
