"""Where pads, the prefix, documents and the cache lie in a square: indices, no painting."""

from __future__ import annotations

from core.mask.spec import document_starts, prefix_end
from core.types import MaskKind, MaskSpec
from widgets.grid_labels import AxisLabels

_PAD_TEXTS = frozenset({"<pad>", "[PAD]", "PAD", "<|pad|>"})


def axis_labels(
    spec: MaskSpec, row: int, row_labels: list[str], key_labels: list[str]
) -> tuple[AxisLabels, AxisLabels]:
    """Return the labels of query rows and key columns, pads and unfilled slots faded."""
    left, right = spec.left_pad[row], spec.right_pad[row]
    closed = [(0, left), (spec.filled - right, spec.keys)]
    keys = AxisLabels(tuple(key_labels), 0, _real(closed))
    if spec.kind is MaskKind.CROSS:
        pads = [(i, i + 1) for i, text in enumerate(row_labels) if text in _PAD_TEXTS]
        return AxisLabels(tuple(row_labels), spec.past, tuple(pads)), keys
    ranges = [(0, left - spec.past), (spec.filled - right - spec.past, spec.length)]
    rows = [(max(0, start), min(stop, spec.length)) for start, stop in ranges]
    return AxisLabels(tuple(row_labels), spec.past, _real(rows)), keys


def _real(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    return tuple((start, stop) for start, stop in ranges if stop > start)


def prefix_block(spec: MaskSpec, row: int) -> tuple[int, int, int, int] | None:
    """Return the prefix as (first row, first column, rows, columns), None where there is none.

    Rows of the prefix that sit in the cache are not in the square.
    """
    if not spec.prefix:
        return None
    start, end = spec.left_pad[row], prefix_end(spec, row)
    first = max(0, start - spec.past)
    rows = end - spec.past - first
    return (first, start, rows, end - start) if rows > 0 else None


def document_borders(spec: MaskSpec, row: int) -> list[int]:
    """Return the key columns at which a document after the first begins."""
    return [int(start) for start in document_starts(spec, row)] if spec.documents else []
