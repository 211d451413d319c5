"""A mask as a figure: open cells, and closed ones tinted and hatched by reason."""

from __future__ import annotations

from collections.abc import Sequence

from core.figure.axes import Axis, Box, heatmap
from core.figure.keys import legend, reason_swatches
from core.figure.page import page, room
from core.figure.runs import of_intervals, placed
from core.figure.style import ONE_COLUMN, REASON_HATCH, Style, reason_colors
from core.mask.intervals import reason_counts, reason_intervals
from core.mask.spec import only_row
from core.types import MaskSpec, Reason
from core.types.figure import Cells, Figure, Mark


def mask_figure(
    spec: MaskSpec,
    row: int = 0,
    queries: Sequence[str] = (),
    keys: Sequence[str] = (),
    *,
    style: Style = ONE_COLUMN,
) -> Figure:
    """Batch row ``row`` of a mask, with the labels of its queries and keys and a legend.

    Without labels, positions are written. Never makes a ``Tq x S`` array.

    Raises
    ------
    ValueError
        where labels do not fit the mask, or there is no such batch row.
    """
    counts = reason_counts(spec, row)
    present = [reason for reason in Reason if counts[reason]]
    below = legend(style, reason_swatches(present), style.width - 8.0)
    rows, cols = mask_axes(spec, row, queries, keys)

    def paint(box: Box) -> list[Mark]:
        return [*_open_cells(spec, row, box), *closed_cells(style, spec, row, box)]

    block, _ = heatmap(style, rows, cols, room(style, (below,)), paint)
    return page(style, (block, below), described(spec, row))


def mask_axes(
    spec: MaskSpec, row: int, queries: Sequence[str], keys: Sequence[str]
) -> tuple[Axis, Axis]:
    """The two axes of a mask; pads are faded."""
    only_row(spec, row)  # Names a batch row that is not there.
    ends = (spec.left_pad[row], spec.filled - spec.right_pad[row])
    pads = ((0, ends[0]), (ends[1], spec.filled))
    of_queries = () if spec.source is not None else pads
    shifted = tuple((start - spec.past, stop - spec.past) for start, stop in of_queries)
    said = tuple(keys) + ("",) * (spec.keys - spec.filled if keys else 0)
    return (
        Axis(spec.length, tuple(queries), spec.past, shifted, "query"),
        Axis(spec.keys, said[: max(spec.keys, len(keys))], 0, pads, "key"),
    )


def _open_cells(spec: MaskSpec, row: int, box: Box) -> list[Mark]:
    blocks = of_intervals(reason_intervals(spec, row)[Reason.OPEN])
    color, _ = reason_colors(Reason.OPEN)
    return [Cells(placed(blocks, box.corner, box.cell), color)] if len(blocks) else []


def closed_cells(
    style: Style, spec: MaskSpec, row: int, box: Box, *, quiet: bool = False
) -> list[Mark]:
    """The closed cells of a mask, one mark for each reason; ``quiet`` is paler."""
    marks: list[Mark] = []
    for reason, intervals in reason_intervals(spec, row).items():
        if reason is not Reason.OPEN and len(intervals.rows):
            ground, ink = reason_colors(reason, quiet=quiet)
            rects = placed(of_intervals(intervals), box.corner, box.cell)
            marks.append(Cells(rects, ground, REASON_HATCH[reason], ink, style.hatch_scale))
    return marks


def described(spec: MaskSpec, row: int) -> dict[str, str]:
    """The knobs of a mask as parameters of a figure; those at rest are left out."""
    told = {
        "mask": spec.kind.value,
        "queries": str(spec.length),
        "keys": str(spec.keys),
        "may read": str(reason_counts(spec, row)[Reason.OPEN]),
    }
    knobs = {
        "prefix": spec.prefix,
        "past": spec.past,
        "left pad": spec.left_pad[row],
        "right pad": spec.right_pad[row],
        "window": spec.window or 0,
        "documents": ", ".join(map(str, spec.documents)),
    }
    return told | {name: str(value) for name, value in knobs.items() if value}
