"""Why a cell is closed: for one cell, for a picture, and in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.mask.spec import layers, only_row
from core.types import MaskSpec, Reason

WORDS = {
    Reason.FUTURE: "in the future",
    Reason.PADDING: "padding",
    Reason.OTHER_DOCUMENT: "another document",
    Reason.OUTSIDE_WINDOW: "outside the window",
    Reason.BEYOND_CACHE: "beyond the cache",
}
"""How each reason ends the sentence "query ... may not read key ...:"."""


def reason_at(spec: MaskSpec, b: int, row: int, key: int) -> Reason:
    """Why query row ``row`` may not read key column ``key``; ``OPEN`` where it may.

    Raises
    ------
    ValueError
        where ``b``, ``row`` or ``key`` is outside the mask.
    """
    for name, value, size in (
        ("b", b, spec.rows),
        ("row", row, spec.length),
        ("key", key, spec.keys),
    ):
        if not 0 <= value < size:
            raise ValueError(f"{name} is {value}, but must be between 0 and {size - 1}.")
    return Reason(int(reason_grid(spec, b, [row], [key])[0, 0]))


def reasons(spec: MaskSpec, b: int = 0) -> NDArray[np.uint8]:
    """The `Reason` of every cell of batch row ``b``, uint8 ``[Tq, S]``."""
    return reason_grid(spec, b, np.arange(spec.length), np.arange(spec.keys))


def reason_grid(spec: MaskSpec, b: int, rows: ArrayLike, keys: ArrayLike) -> NDArray[np.uint8]:
    """The `Reason` of sampled cells of batch row ``b``.

    Parameters
    ----------
    rows : query rows, int ``[R]``, each below ``Tq``.
    keys : key columns, int ``[C]``, each below ``S``.

    Returns
    -------
    array
        uint8 ``[R, C]``.

    Raises
    ------
    ValueError
        where there is no batch row ``b``.
    """
    first = np.zeros((), np.int32)
    q = spec.past + np.asarray(rows, np.int32)[:, None]
    kv = np.asarray(keys, np.int32)[None, :]
    told = np.zeros((q.shape[0], kv.shape[1]), np.uint8)
    # From the last told to the first, so that the first has the last word.
    for reason, rule in reversed(layers(only_row(spec, b))):
        np.copyto(told, np.uint8(reason), where=~rule(first, first, q, kv))
    return told


def sentence(spec: MaskSpec, b: int, row: int, key: int, query_text: str, key_text: str) -> str:
    """One cell in words, such as ``query 3 "sat" may not read key 5 "mat": in the future``.

    The query is told by its absolute position ``past + row``, the key by its column, both
    counted from 0. Errors as in `reason_at`.
    """
    reason = reason_at(spec, b, row, key)
    query = f'query {spec.past + row} "{query_text}"'
    target = f'key {key} "{key_text}"'
    if reason is Reason.OPEN:
        return f"{query} may read {target}"
    return f"{query} may not read {target}: {WORDS[reason]}"
