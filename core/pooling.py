"""A large matrix made small: the largest value of each block."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.generic)


def block_maximum(values: NDArray[Number], rows: int, columns: int) -> NDArray[Number]:
    """The largest value of each block of ``rows`` x ``columns`` of the last two axes.

    The last blocks may be smaller. Never writes into ``values``, which may be what is returned.
    """
    return _folded(_folded(values, rows).swapaxes(-1, -2), columns).swapaxes(-1, -2)


def _folded(values: NDArray[Number], block: int) -> NDArray[Number]:
    """The same along the next to last axis; strided, as `np.maximum.reduceat` is far slower."""
    if block == 1:
        return values
    most = values[..., ::block, :].copy()
    for step in range(1, block):
        others = values[..., step::block, :]
        part = most[..., : others.shape[-2], :]
        np.maximum(part, others, out=part)
    return most
