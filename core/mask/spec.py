"""From a `MaskSpec` to rules: the one place that reads the knobs as predicates."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import accumulate, pairwise
from operator import and_

import numpy as np
from numpy.typing import NDArray

from core.mask.rules import Rule, causal, documents, everything, filled, not_padding, prefix, window
from core.types import MaskKind, MaskSpec, Reason


def rule(spec: MaskSpec) -> Rule:
    """Family rule & window & documents & filled & padding: the conjunction of `layers`.

    Returns
    -------
    Rule
        True = may read, over batch row, head, absolute query position and key column.
    """
    parts = [part for _, part in reversed(layers(spec))]
    return reduce(and_, parts) if parts else everything()


def layers(spec: MaskSpec) -> tuple[tuple[Reason, Rule], ...]:
    """The rules that close cells, in the order in which a reason is told.

    Only rules that the spec has: a bidirectional mask without pads has no layer at all. The mask
    is the conjunction of all of them, and a closed cell is told the first that closes it.
    """
    found = []
    if any(spec.left_pad) or any(spec.right_pad):
        padding = not_padding(spec.left_pad, spec.right_pad, spec.filled)
        found.append((Reason.PADDING, padding))
    if spec.keys > spec.filled:
        found.append((Reason.BEYOND_CACHE, filled(spec.filled)))
    if len(spec.documents) > 1:
        starts = tuple(document_starts(spec, b) for b in range(spec.rows))
        found.append((Reason.OTHER_DOCUMENT, documents(starts)))
    if spec.window is not None:
        # No two filled slots are further apart than `filled`: a huge width stays a small integer.
        reach = window(min(spec.window, spec.filled), two_sided=not spec.kind.is_causal)
        found.append((Reason.OUTSIDE_WINDOW, reach))
    if spec.kind.is_causal:
        found.append((Reason.FUTURE, _order(spec)))
    return tuple(found)


def _order(spec: MaskSpec) -> Rule:
    if spec.kind is MaskKind.PREFIX and spec.prefix:
        return causal() | prefix(tuple(prefix_end(spec, b) for b in range(spec.rows)))
    return causal()


def only_row(spec: MaskSpec, b: int) -> MaskSpec:
    """The mask of batch row ``b`` as a spec of one row, cell for cell the same.

    Raises
    ------
    ValueError
        where there is no batch row ``b``.
    """
    if not 0 <= b < spec.rows:
        raise ValueError(f"b is {b}, but must be between 0 and {spec.rows - 1}.")
    first, tokens = spec.left_pad[b], spec.real_tokens(b)
    edges = (first, *document_starts(spec, b), first + tokens)
    lengths = tuple(end - start for start, end in pairwise(edges))
    return replace(
        spec,
        left_pad=(first,),
        right_pad=(spec.right_pad[b],),
        documents=lengths if spec.documents else (),
    )


def whole(spec: MaskSpec) -> MaskSpec:
    """The same rows run at once: what is cached becomes queries, and no slot is unfilled."""
    return replace(spec, length=spec.past + spec.length, past=0, capacity=None)


def query_positions(spec: MaskSpec) -> NDArray[np.int64]:
    """Absolute positions ``past + r`` of the query rows, int64 ``[Tq]``."""
    return spec.past + np.arange(spec.length, dtype=np.int64)


def prefix_end(spec: MaskSpec, b: int) -> int:
    """First column after the prefix of batch row ``b``: the prefix is counted in real tokens."""
    return spec.left_pad[b] + spec.prefix


def document_starts(spec: MaskSpec, b: int) -> tuple[int, ...]:
    """Columns in which the second and later documents of batch row ``b`` begin.

    A document that a shorter row has lost with its tail does not begin in it.
    """
    tokens = spec.real_tokens(b)
    lengths = spec.documents[:-1]
    return tuple(spec.left_pad[b] + n for n in accumulate(lengths) if n < tokens)
