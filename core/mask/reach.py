"""What the mask alone lets through: the cones above and below, layer by layer.

A node is a column at a level; level 0 is the embedding. From one level to the next a column keeps
what it has (the residual) and takes what its query may read. Every cone is walked over row
intervals: O(layers * Tq), never a ``T x T`` array.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.mask.intervals import RowIntervals, row_intervals
from core.mask.spec import whole
from core.types import Inputs, MaskKind, MaskSpec, Stack

Cone = NDArray[np.bool_]


def upstream(spec: MaskSpec, row: int, position: int, layers: int) -> Cone:
    """Nodes that can reach ``position`` after ``layers`` layers of self-attention.

    Parameters
    ----------
    spec : the mask of every layer; any kind but CROSS.
    row : batch row.
    position : absolute column of the whole row, ``past`` included.
    layers : 0 or more.

    Returns
    -------
    array
        bool ``[layers + 1, S]`` with ``S = past + length``, True = a path leads to ``position`` at
        level ``layers``; level 0 are the inputs.

    Raises
    ------
    ValueError
        naming what is out of range.
    """
    _check_self(spec)
    _check("position", position, spec.filled)
    return below([_intervals(spec, row)] * layers, _only(position, spec.filled))


def downstream(spec: MaskSpec, row: int, cell: tuple[int, int], layers: int) -> Cone:
    """Nodes that letting a query read a key can change: the cone above a cell of self-attention.

    The cell is let open in every layer. ``cell`` is (query row ``r``, key column); it may be closed
    in ``spec``. Returns bool ``[layers + 1, S]``, True = may change; level 0 never does. Raises
    ValueError naming what is out of range.
    """
    _check_self(spec)
    query = _query(spec, cell)
    return above([_intervals(spec, row)] * layers, [query] * layers, spec.filled)


def upstream_across(
    inputs: Inputs, row: int, position: int, layers: int, encoder_layers: int
) -> dict[Stack, Cone]:
    """`upstream` of a target position of an encoder-decoder, through both of its stacks.

    Returns bool ``[layers + 1, U]`` for DECODER and ``[encoder_layers + 1, S]`` for ENCODER: every
    decoder layer reads the last level of the encoder. Raises ValueError as `upstream`, and where
    the inputs have no source.
    """
    source, cross = _source_masks(inputs)
    cones = {Stack.DECODER: upstream(inputs.mask, row, position, layers)}
    memory = read_across([_intervals(cross, row)] * layers, cones[Stack.DECODER], source.filled)
    cones[Stack.ENCODER] = below([_intervals(source, row)] * encoder_layers, memory)
    return cones


def downstream_across(
    inputs: Inputs,
    row: int,
    stack: Stack,
    cell: tuple[int, int],
    *,
    layers: int,
    encoder_layers: int,
) -> dict[Stack, Cone]:
    """`downstream` of a cell of any of an encoder-decoder's three masks, in both of its stacks.

    ``stack`` names the mask of the cell. Shapes and errors as in `upstream_across`.
    """
    source, cross = _source_masks(inputs)
    spec = {Stack.ENCODER: source, Stack.CROSS: cross, Stack.DECODER: inputs.mask}[stack]
    query = _query(spec, cell)
    hit = query if stack is Stack.ENCODER else np.zeros(source.filled, np.bool_)
    piles = [_intervals(source, row)] * encoder_layers, [_intervals(inputs.mask, row)] * layers
    encoder = above(piles[0], [hit] * encoder_layers, source.filled)
    if stack is Stack.ENCODER:
        query = _readers(_intervals(cross, row), encoder[-1])
    decoder = above(piles[1], [query] * layers, inputs.mask.filled)
    return {Stack.ENCODER: encoder, Stack.DECODER: decoder}


def below(layers: Sequence[RowIntervals], top: NDArray[np.bool_]) -> Cone:
    """Nodes with a path to ``top``, bool ``[S]``, through ``layers`` (the lowest first)."""
    cone = [top]
    for intervals in reversed(layers):
        cone.append(cone[-1] | _read(intervals, cone[-1]))
    return np.stack(cone[::-1])


def above(layers: Sequence[RowIntervals], changed: Sequence[NDArray[np.bool_]], size: int) -> Cone:
    """Nodes that a change can reach, among ``size`` columns.

    ``changed`` bool ``[S]`` are the queries that it hits in each of the ``layers``.
    """
    cone = [np.zeros(size, np.bool_)]
    for intervals, hit in zip(layers, changed, strict=True):
        cone.append(cone[-1] | hit | _readers(intervals, cone[-1]))
    return np.stack(cone)


def read_across(layers: Sequence[RowIntervals], cone: Cone, size: int) -> NDArray[np.bool_]:
    """Source columns bool ``[size]`` that the queries of a decoder's ``cone`` may read.

    ``layers`` are the cross masks; that of layer ``l`` is read by the nodes of level ``l + 1``.
    """
    found = np.zeros(size, np.bool_)
    for level, intervals in enumerate(layers, 1):
        found |= _read(intervals, cone[level])
    return found


def _read(intervals: RowIntervals, queries: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Keys that any of ``queries`` may read."""
    keys = intervals.shape[1]
    asked = queries[intervals.rows]
    steps = np.bincount(intervals.lo[asked], minlength=keys + 1)
    steps -= np.bincount(intervals.hi[asked], minlength=keys + 1)
    found: NDArray[np.bool_] = np.cumsum(steps)[:keys] > 0
    return found


def _readers(intervals: RowIntervals, keys: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Queries that may read any of ``keys``."""
    before = np.concatenate(([0], np.cumsum(keys)))
    readers = np.zeros(intervals.shape[0], np.bool_)
    readers[intervals.rows[before[intervals.hi] > before[intervals.lo]]] = True
    return readers


def _intervals(spec: MaskSpec, row: int) -> RowIntervals:
    return row_intervals(whole(spec), row)


def _query(spec: MaskSpec, cell: tuple[int, int]) -> NDArray[np.bool_]:
    """The query of a cell as a set of columns of the whole row."""
    _check("query", cell[0], spec.length)
    _check("key", cell[1], spec.keys)
    return _only(spec.past + cell[0], spec.past + spec.length)


def _only(column: int, size: int) -> NDArray[np.bool_]:
    chosen = np.zeros(size, np.bool_)
    chosen[column] = True
    return chosen


def _check(name: str, value: int, size: int) -> None:
    if not 0 <= value < size:
        raise ValueError(f"{name} is {value}, but must be between 0 and {size - 1}.")


def _check_self(spec: MaskSpec) -> None:
    if spec.kind is MaskKind.CROSS:
        raise ValueError("kind is cross, but must be one of self-attention; ask for both stacks.")


def _source_masks(inputs: Inputs) -> tuple[MaskSpec, MaskSpec]:
    if inputs.source_mask is None or inputs.cross_mask is None:
        raise ValueError("These inputs have no source; ask for one stack instead.")
    return inputs.source_mask, inputs.cross_mask
