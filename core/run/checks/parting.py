"""Where two runs of one text first part: layer by layer, in the order in which they compute."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.run.checks.subject import Reading
from core.run.walls import Key
from core.types import Place, Stack

Rows = NDArray[np.bool_]


@dataclass(frozen=True)
class Shown:
    """One batch row of a reading, and which of its columns are the text (and the source)."""

    reading: Reading
    row: int
    text: slice
    source: slice | None = None

    def logits(self) -> NDArray[np.float32]:
        """Logits of the text, float32 ``[n, V]``."""
        found: NDArray[np.float32] = self.reading.logits[self.row, self.text]
        return found

    def pattern(self, key: Key) -> NDArray[np.float32]:
        """Weights between real tokens alone, float32 ``[H, queries, keys]``."""
        whole = self.reading.patterns[key][self.row]
        stack = key[0]
        reads_source = self.source is not None and stack is not Stack.DECODER
        from_source = self.source is not None and stack is Stack.ENCODER
        queries = self.source if from_source else self.text
        keys = self.source if reads_source else self.text
        assert queries is not None
        assert keys is not None
        found: NDArray[np.float32] = whole[:, queries, keys]
        return found


def in_order(key: Key) -> tuple[int, int]:
    """Encoder layers first, then each decoder layer and its cross-attention."""
    stack, layer = key
    return (0, layer) if stack is Stack.ENCODER else (1 + layer, int(stack is Stack.CROSS))


def difference(one: Shown, other: Shown) -> NDArray[np.float32]:
    """Largest absolute difference of the logits at each token, float32 ``[n]``."""
    apart: NDArray[np.float32] = np.abs(one.logits() - other.logits()).max(axis=-1)
    return apart


def first_place(one: Shown, other: Shown, tolerance: float, rows: Rows | None = None) -> Place:
    """The first layer and head whose weights differ, or else the first output that does.

    ``rows`` are the tokens of the text whose difference counts, None for all; weights count as
    different above a tenth of ``tolerance``.
    """
    for key in sorted(one.reading.patterns, key=in_order):
        apart = np.abs(one.pattern(key) - other.pattern(key)).max(axis=-1)
        of_source = one.source is not None and key[0] is Stack.ENCODER
        if rows is not None and not of_source:
            apart = np.where(rows, apart, 0.0)
        found = np.flatnonzero((apart > tolerance / 10).any(axis=0) | np.isnan(apart).any(axis=0))
        if found.size:
            position = int(found[0])
            return Place(position, *key, int(np.nanargmax(apart[:, position])))
    apart = difference(one, other)
    if rows is not None:
        apart = np.where(rows, apart, 0.0)
    found = np.flatnonzero(~(apart <= tolerance))
    return Place(int(found[0]) if found.size else 0)
