"""Real tokens, position ids and labels: three objects that padding must not be confused with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.types import MaskSpec


def real_tokens(spec: MaskSpec) -> NDArray[np.bool_]:
    """True where a filled key column holds a token and not a pad, bool ``[B, filled]``.

    The two-dimensional ``attention_mask`` of Hugging Face, with 1 for True.
    """
    column = np.arange(spec.filled)
    left = np.array(spec.left_pad)[:, None]
    end = spec.filled - np.array(spec.right_pad)[:, None]
    return (left <= column) & (column < end)


def position_ids(spec: MaskSpec) -> NDArray[np.int64]:
    """Position of every filled column, int64 ``[B, filled]``.

    ``cumsum(real) - 1``, restarting at 0 in each document; 0 on left pads, and on right pads the
    position of the last token, so that every id is in range of a position table. Without it the
    same text gets other positions in other batches.
    """
    index = np.maximum(np.cumsum(real_tokens(spec), axis=1, dtype=np.int64) - 1, 0)
    starts = np.cumsum((0, *spec.documents[:-1]), dtype=np.int64)
    return index - starts[np.searchsorted(starts, index, side="right") - 1]


def last_real(spec: MaskSpec) -> NDArray[np.int64]:
    """Column of the last token of every batch row, int64 ``[B]``.

    The column whose output continues the row: the final one under left padding, not so under
    right padding.
    """
    return spec.filled - 1 - np.array(spec.right_pad, dtype=np.int64)


def shifted_labels(
    ids: NDArray[np.integer], real: NDArray[np.bool_], ignore: int = -100
) -> NDArray[np.int64]:
    """Next-token labels, shifted by exactly one.

    Parameters
    ----------
    ids : token ids, int ``[B, T]``.
    real : bool ``[B, T]``, True where a token and not a pad.
    ignore : the label that a loss leaves out; -100 as in ``torch.nn.functional.cross_entropy``.

    Returns
    -------
    array
        int64 ``[B, T]``: the id one column on where both columns are real, else ``ignore``. So
        EOS is learned, the last token of a row predicts nothing, and a pad never does.

    Raises
    ------
    ValueError
        where ``ids`` and ``real`` differ in shape.
    """
    if ids.shape != real.shape:
        raise ValueError(f"real has shape {real.shape}, but must have that of ids, {ids.shape}.")
    labels = np.full(ids.shape, ignore, np.int64)
    np.copyto(labels[:, :-1], ids[:, 1:], where=real[:, :-1] & real[:, 1:])
    return labels
