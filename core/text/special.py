"""The ids that stand for no text: the first twenty entries of every vocabulary here."""

from __future__ import annotations

PAD = 0
BOS = 1
EOS = 2
MASK = 3
SENTINELS = 16
FIRST_SENTINEL = 4
FIRST_PIECE = FIRST_SENTINEL + SENTINELS
"""The smallest id that stands for text."""

SPECIAL_PIECES = (
    "<pad>",
    "<s>",
    "</s>",
    "[MASK]",
    *(f"<extra_id_{n}>" for n in range(SENTINELS)),
)


def sentinel(n: int) -> int:
    """The id of ``<extra_id_n>``.

    Raises
    ------
    ValueError
        if there is no such sentinel.
    """
    if not 0 <= n < SENTINELS:
        raise ValueError(f"sentinel is {n}, but must be between 0 and {SENTINELS - 1}.")
    return FIRST_SENTINEL + n
