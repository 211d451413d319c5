"""Masks as their knobs, and why a cell is closed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum


class MaskKind(str, Enum):
    """The rule that the family of a mask adds to padding, documents and window."""

    BIDIRECTIONAL = "bidirectional"
    CAUSAL = "causal"
    PREFIX = "prefix"
    ENCODER_SELF = "encoder-self"
    DECODER_SELF = "decoder-self"
    CROSS = "cross"

    @property
    def is_causal(self) -> bool:
        """True where a query may not read every later key (causal, decoder self, prefix)."""
        return self in (MaskKind.CAUSAL, MaskKind.DECODER_SELF, MaskKind.PREFIX)


class Reason(IntEnum):
    """Why a cell is closed; ``OPEN`` where it is not.

    Where several rules close one cell, the first in the order PADDING, BEYOND_CACHE,
    OTHER_DOCUMENT, OUTSIDE_WINDOW, FUTURE is the one that is told.
    """

    OPEN = 0
    FUTURE = 1
    PADDING = 2
    OTHER_DOCUMENT = 3
    OUTSIDE_WINDOW = 4
    BEYOND_CACHE = 5


def require(ok: bool, field_name: str, value: object, allowed: str) -> None:
    """Raise ValueError naming field, value and allowed range unless ``ok``."""
    if not ok:
        shown = "not given" if value is None else value
        if isinstance(value, tuple):
            shown = ",".join(map(str, value))
        raise ValueError(f"{field_name} is {shown}, but must be {allowed}.")


@dataclass(frozen=True)
class MaskSpec:
    """A mask as its knobs: everything that is drawn, run or exported is a rendering of this.

    ``True`` means *may read*. Rows are queries, columns are keys. Query row ``r`` sits at the
    absolute position ``past + r`` (the bottom-right alignment of cached decoding).

    Attributes
    ----------
    kind : the family's rule.
    length : number of query rows ``Tq``; pads are slots and count. Self-attention kinds have
        ``past + length`` filled key columns.
    past : keys already in the cache (the cache offset).
    prefix : length of the bidirectional prefix in *real tokens of the row* (PREFIX only).
    left_pad, right_pad : pad slots per batch row, counted over all key columns; the two tuples
        have one entry for each batch row ``B``. They close key columns only.
    window : keys a query may reach including itself (``q - k < window``; kinds that are not
        causal also ``k - q < window``), or None. Applied after every other rule is united.
    documents : lengths of the packed documents in real tokens, first document first; they must
        add up to the real tokens of the longest row (shorter rows lose the tail). Empty means
        one document.
    source : key columns of a CROSS mask (pads of the source included); None otherwise.
    capacity : key columns including unfilled cache slots, at least ``past + length``; None means
        exactly ``past + length``. Unfilled slots are closed (BEYOND_CACHE).

    Raises
    ------
    ValueError
        naming the field, the value and the allowed range.
    """

    kind: MaskKind
    length: int
    past: int = 0
    prefix: int = 0
    left_pad: tuple[int, ...] = (0,)
    right_pad: tuple[int, ...] = (0,)
    window: int | None = None
    documents: tuple[int, ...] = ()
    source: int | None = None
    capacity: int | None = None

    def __post_init__(self) -> None:
        cross = self.kind is MaskKind.CROSS
        require(self.length >= 1, "length", self.length, "at least 1")
        require(self.past >= 0, "past", self.past, "0 or more")
        if cross:
            require(
                self.source is not None and self.source >= 1,
                "source",
                self.source,
                "at least 1 (the number of source tokens a cross mask reads)",
            )
            require(self.window is None, "window", self.window, "off for a cross mask")
            require(not self.documents, "documents", self.documents, "empty for a cross mask")
            require(self.capacity is None, "capacity", self.capacity, "unset for a cross mask")
        else:
            require(self.source is None, "source", self.source, "unset unless the kind is cross")
        if self.capacity is not None:
            require(
                self.capacity >= self.past + self.length,
                "capacity",
                self.capacity,
                f"at least past + length = {self.past + self.length}",
            )
        if self.window is not None:
            require(
                self.window >= 1, "window", self.window, "1 or more (it counts the query itself)"
            )
        self._check_rows()

    def _check_rows(self) -> None:
        require(
            len(self.left_pad) == len(self.right_pad) >= 1,
            "right_pad",
            self.right_pad,
            f"one number for each of the {len(self.left_pad)} rows",
        )
        filled = self.filled
        for left, right in zip(self.left_pad, self.right_pad, strict=True):
            require(0 <= left < filled, "left_pad", left, f"between 0 and {filled - 1}")
            room = filled - 1 - left
            require(
                0 <= right <= room,
                "right_pad",
                right,
                f"between 0 and {room}, so that a real token is left beside {left} left pads",
            )
        if self.kind is MaskKind.PREFIX:
            shortest = min(self.real_tokens(b) for b in range(self.rows))
            require(
                0 <= self.prefix <= shortest,
                "prefix",
                self.prefix,
                f"between 0 and {shortest}, the real tokens of the shortest row",
            )
        else:
            require(self.prefix == 0, "prefix", self.prefix, "0 unless the kind is prefix")
        if self.documents:
            require(
                all(n >= 1 for n in self.documents),
                "documents",
                self.documents,
                "lengths of at least 1",
            )
            longest = max(self.real_tokens(b) for b in range(self.rows))
            require(
                sum(self.documents) == longest,
                "documents",
                self.documents,
                f"lengths that add up to {longest}, the real tokens of the longest row"
                f" (they add up to {sum(self.documents)})",
            )

    @property
    def rows(self) -> int:
        """Batch rows ``B``."""
        return len(self.left_pad)

    @property
    def filled(self) -> int:
        """Key columns that hold a token or a pad: ``past + length``, or the source."""
        return self.past + self.length if self.source is None else self.source

    @property
    def keys(self) -> int:
        """Key columns ``S`` of the mask, unfilled cache slots included."""
        return self.filled if self.capacity is None else self.capacity

    def real_tokens(self, row: int) -> int:
        """Real (not pad) key columns of batch row ``row``."""
        return self.filled - self.left_pad[row] - self.right_pad[row]
