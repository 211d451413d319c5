"""A mask as an array: bool of any array library, and additive floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from core.mask.spec import rule
from core.types import MaskSpec

T = TypeVar("T")


@overload
def dense(spec: MaskSpec) -> NDArray[np.bool_]: ...
@overload
def dense(spec: MaskSpec, arange: Callable[[int], T]) -> T: ...
def dense(spec: MaskSpec, arange: Callable[[int], Any] = np.arange) -> Any:
    """Bool array ``[B, 1, Tq, S]``, True = may read; the 1 broadcasts over heads.

    Parameters
    ----------
    spec : the mask.
    arange : makes ``0 .. n - 1`` in a signed integer dtype; the mask comes out as its kind of
        array. ``functools.partial(torch.arange, device=d)`` gives a tensor on ``d``, ready for
        ``scaled_dot_product_attention`` (whose True also takes part).

    Returns
    -------
    array
        contiguous, and the caller's to write into.
    """
    shape = (spec.rows, 1, spec.length, spec.keys)
    b = arange(spec.rows)[:, None, None, None]
    h = arange(1)[:, None, None]
    q = arange(spec.length)[:, None] + spec.past
    kv = arange(spec.keys)
    mask = rule(spec)(b, h, q, kv)
    if tuple(mask.shape) == shape:
        return mask
    # A rule leaves out axes that it does not depend on.
    if hasattr(mask, "expand"):
        return mask.expand(shape).contiguous()
    return np.broadcast_to(mask, shape).copy()


def additive(mask: NDArray[np.bool_], dtype: DTypeLike = np.float32) -> NDArray[np.floating[Any]]:
    """Float array to add to the scores: 0 where ``mask`` is True (may read), else minus infinity.

    A row without any 0 makes a plain softmax NaN: its reader must give such a row zero weights.
    """
    scores = np.zeros(mask.shape, dtype)
    scores[~mask] = -np.inf
    return scores
