"""Documents to batches: several documents share a row, and no document reads another.

Packing keeps the rows full; the document number of every slot becomes part of the mask. Position
ids restart in each document, and some rows start them at a random offset, so that every learned
position is trained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.text.objectives import IGNORE, Example, Ids
from core.text.special import PAD
from core.types import MaskKind

OFFSET_SHARE = 0.2
"""Share of the rows whose positions start at a random offset."""


@dataclass(frozen=True)
class Side:
    """Packed rows, each array int64 ``[B, T]``.

    ``documents`` numbers the documents of a row from 1; 0 is padding, which reads only padding.
    ``prefix`` is 1 inside a prefix, 0 elsewhere.
    """

    ids: Tensor
    documents: Tensor
    positions: Tensor
    prefix: Tensor
    labels: Tensor


@dataclass(frozen=True)
class Batch:
    """What one training step reads."""

    body: Side
    source: Side | None = None


def _pack_row(pieces: list[tuple[Ids, Ids, int]], width: int, offset: int) -> list[Ids]:
    """One row of (ids, documents, positions, prefix, labels), cut and padded to ``width``."""
    columns: list[list[Ids]] = [[], [], [], [], []]
    for number, (ids, labels, prefix) in enumerate(pieces, start=1):
        steps = np.arange(len(ids))
        values = (ids, np.full(len(ids), number), steps + offset, steps < prefix, labels)
        for column, value in zip(columns, values, strict=True):
            column.append(np.asarray(value, np.int64))
    fills = (PAD, 0, 0, 0, IGNORE)
    row = []
    for column, fill in zip(columns, fills, strict=True):
        joined = np.concatenate(column)[:width]
        row.append(np.pad(joined, (0, width - len(joined)), constant_values=fill))
    return row


def _side(rows: list[list[Ids]]) -> Side:
    return Side(*(torch.from_numpy(np.stack(column)) for column in zip(*rows, strict=True)))


def packed(
    documents: Iterator[Ids],
    objective: Callable[[Ids], Example],
    *,
    rows: int,
    width: int,
    positions: int,
    rng: np.random.Generator,
) -> Batch:
    """Fill ``rows`` rows of ``width`` slots with documents under an objective.

    ``positions`` is the number of position embeddings; the random offset keeps within it. A
    document that passes the end of its row is cut there, except beside a source: an encoder-decoder
    row ends with the last document whose source and target both fit.
    """
    body_rows, source_rows = [], []
    target_width = width // 2
    for _ in range(rows):
        samples: list[Example] = []
        used = used_source = 0
        while used < width:
            sample = objective(next(documents))
            if len(sample.source):
                full = used + len(sample.inputs) > target_width
                if samples and (full or used_source + len(sample.source) > width):
                    break
                used_source += len(sample.source)
            samples.append(sample)
            used += len(sample.inputs)
        offset = int(rng.integers(0, positions - width + 1)) if rng.random() < OFFSET_SHARE else 0
        two_sided = len(samples[0].source) > 0
        pieces = [(s.inputs, s.labels, s.prefix) for s in samples]
        body_rows.append(_pack_row(pieces, target_width if two_sided else width, offset))
        sources = [(s.source, s.source, 0) for s in samples if len(s.source)]
        if sources:
            source_rows.append(_pack_row(sources, width, offset))
    return Batch(_side(body_rows), _side(source_rows) if source_rows else None)


def packed_mask(query: Side, key: Side, kind: MaskKind) -> Tensor:
    """Bool ``[B, 1, Tq, S]`` of packed rows: the family's rule within each document.

    A row of a text can read something, itself at least, and padding only padding: beside a source
    without any it reads nothing.
    """
    same = query.documents[:, :, None] == key.documents[:, None, :]
    if kind in (MaskKind.CAUSAL, MaskKind.DECODER_SELF, MaskKind.PREFIX):
        length = query.ids.shape[1]
        open_ = torch.ones(length, length, dtype=torch.bool).tril()
        if kind is MaskKind.PREFIX:
            open_ = open_ | (query.prefix[:, :, None] & key.prefix[:, None, :]).bool()
        same = same & open_
    return same[:, None]


def shuffled(
    pools: list[list[Ids]], shares: list[float], rng: np.random.Generator
) -> Iterator[Ids]:
    """Documents without end: a pool is drawn by its share, then passed through in random order."""
    orders: list[list[int]] = [[] for _ in pools]
    while True:
        pool = int(rng.choice(len(pools), p=shares))
        if not orders[pool]:
            orders[pool] = rng.permutation(len(pools[pool])).tolist()
        yield pools[pool][orders[pool].pop()]
