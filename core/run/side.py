"""What is read of one side of a comparison, whatever engine reads it. Torch-free."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from core.run.arrays import Arrays, Source, arrays_of
from core.run.prompt import one_row
from core.run.validate import Model, check
from core.run.walls import Key
from core.types import Inputs, Side, Stack


@dataclass(frozen=True)
class SideReading:
    """One batch row, read over all ``N`` columns, pads and cached ones included.

    Attributes
    ----------
    logits : float32 ``[N, V]``.
    patterns : float32 ``[H, N, S]`` by stack and layer, 0 where closed. The stack that makes the
        output is DECODER here, whatever it is shown as.
    states : float32 ``[L + 1, N, width]`` by stack, the embedding and what comes out of each layer,
        before the last norm; empty where the engine hands out none.
    scores : float32 ``[H, N, S]`` by stack and layer, the scaled dot products before the mask, 0
        for keys that came after the chunk of their query; empty unless the side asks for them.
    tolerance : the largest absolute difference of logits that is rounding.
    notes : sentences about what could not be had, or must be known to read the rest.
    """

    logits: NDArray[np.float32]
    patterns: Mapping[Key, NDArray[np.float32]]
    states: Mapping[Stack, NDArray[np.float32]] = field(default_factory=dict)
    scores: Mapping[Key, NDArray[np.float32]] = field(default_factory=dict)
    tolerance: float = 0.0
    notes: tuple[str, ...] = ()


def checked(model: Model, side: Side) -> Inputs:
    """The whole row of a side that its model can run; raises ValueError with a sentence if not."""
    check(model, side.run.inputs, side.run.row)
    inputs = one_row(side.run.inputs, side.run.row)
    longest = max(spec.filled for spec in (inputs.mask, inputs.source_mask) if spec is not None)
    if not side.positions and longest > model.config.positions:
        raise ValueError(
            f"The row has {longest} columns, but the model has {model.config.positions} positions:"
            f" without position ids pads take them too; shorten it by"
            f" {longest - model.config.positions}."
        )
    return inputs


def arrays_of_side(side: Side, inputs: Inputs) -> Arrays:
    """Ids, masks and position ids of the row of a side, the position ids wrong if it says so."""
    given = arrays_of(inputs)
    if side.positions:
        return given
    source = given.source
    if source is not None:
        source = Source(source.ids, _columns(source.ids), source.mask)
    return replace(given, positions=_columns(given.ids), source=source)


def _columns(ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """The column of each id as its position, ``[1, N]``: what is used where nobody counts."""
    return np.arange(ids.shape[1], dtype=np.int64)[None]
