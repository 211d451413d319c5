"""The frozen dataclasses that cross rooms.

Nothing here computes a mask or touches a tensor library: the GUI process imports this module and
must stay free of torch. Arrays are numpy, owned by whoever made the object, and treated as
read-only by everyone else.

Letters used in shapes: ``B`` batch rows, ``H`` heads, ``L`` layers, ``Tq`` query rows, ``S`` key
columns, ``V`` vocabulary entries.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum

import numpy as np
from numpy.typing import NDArray


class Family(str, Enum):
    """How a model is assembled from the one block."""

    ENCODER = "encoder"
    DECODER = "decoder"
    PREFIX = "prefix"
    ENCODER_DECODER = "encoder-decoder"


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


def _require(ok: bool, field_name: str, value: object, allowed: str) -> None:
    if not ok:
        raise ValueError(f"{field_name} is {value}, but must be {allowed}.")


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
        _require(self.length >= 1, "length", self.length, "at least 1")
        _require(self.past >= 0, "past", self.past, "0 or more")
        if cross:
            _require(
                self.source is not None and self.source >= 1,
                "source",
                self.source,
                "at least 1 (the number of source tokens a cross mask reads)",
            )
            _require(self.window is None, "window", self.window, "off for a cross mask")
            _require(not self.documents, "documents", self.documents, "empty for a cross mask")
            _require(self.capacity is None, "capacity", self.capacity, "unset for a cross mask")
        else:
            _require(self.source is None, "source", self.source, "unset unless the kind is cross")
        if self.capacity is not None:
            _require(
                self.capacity >= self.past + self.length,
                "capacity",
                self.capacity,
                f"at least past + length = {self.past + self.length}",
            )
        if self.window is not None:
            _require(
                self.window >= 1, "window", self.window, "1 or more (it counts the query itself)"
            )
        self._check_rows()

    def _check_rows(self) -> None:
        _require(
            len(self.left_pad) == len(self.right_pad) >= 1,
            "right_pad",
            self.right_pad,
            f"one entry for each of the {len(self.left_pad)} rows of left_pad",
        )
        filled = self.filled
        for left, right in zip(self.left_pad, self.right_pad, strict=True):
            _require(0 <= left < filled, "left_pad", left, f"between 0 and {filled - 1}")
            room = filled - 1 - left
            _require(
                0 <= right <= room,
                "right_pad",
                right,
                f"between 0 and {room}, so that a real token is left beside {left} left pads",
            )
        if self.kind is MaskKind.PREFIX:
            shortest = min(self.real_tokens(b) for b in range(self.rows))
            _require(
                0 <= self.prefix <= shortest,
                "prefix",
                self.prefix,
                f"between 0 and {shortest}, the real tokens of the shortest row",
            )
        else:
            _require(self.prefix == 0, "prefix", self.prefix, "0 unless the kind is prefix")
        if self.documents:
            _require(
                all(n >= 1 for n in self.documents),
                "documents",
                self.documents,
                "lengths of at least 1",
            )
            longest = max(self.real_tokens(b) for b in range(self.rows))
            _require(
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


class Stack(str, Enum):
    """One pile of attention layers that is shown as a wall of heads."""

    ENCODER = "encoder"
    DECODER = "decoder"
    CROSS = "cross"


@dataclass(frozen=True)
class HeadRef:
    """One attention head; ``layer`` and ``head`` count from 0 (shown counted from 1)."""

    stack: Stack
    layer: int = 0
    head: int = 0


@dataclass(frozen=True)
class ModelCard:
    """What a bundled model is, read from ``assets/models/NAME/card.json`` and its config."""

    name: str
    title: str
    family: Family
    parameters: int
    layers: int
    encoder_layers: int
    heads: int
    width: int
    vocabulary: int
    positions: int
    kinds: tuple[MaskKind, ...]
    """The self-attention masks that it was trained under."""
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Sampling:
    """How the next token is drawn: temperature 0 is greedy; top_k 0 and top_p 1 mean off."""

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        _require(self.temperature >= 0, "temperature", self.temperature, "0 (greedy) or more")
        _require(self.top_k >= 0, "top_k", self.top_k, "0 (off) or more")
        _require(0 < self.top_p <= 1, "top_p", self.top_p, "above 0 and at most 1")


@dataclass(frozen=True)
class Inputs:
    """Token ids with the masks they are read under: one forward pass, fully said.

    Attributes
    ----------
    rows : token ids ``[B][past + length]``, pads included. The first ``mask.past`` are prefilled
        into the cache, the rest is the chunk that is run (encoder-decoder: the target).
    mask : the mask of the self-attention that makes the output.
    source : encoder token ids ``[B][S]`` of an encoder-decoder, empty otherwise.
    source_mask, cross_mask : the encoder's own mask and the cross mask, None otherwise.
    """

    rows: tuple[tuple[int, ...], ...]
    mask: MaskSpec
    source: tuple[tuple[int, ...], ...] = ()
    source_mask: MaskSpec | None = None
    cross_mask: MaskSpec | None = None

    def __post_init__(self) -> None:
        def same(ids: tuple[tuple[int, ...], ...], spec: MaskSpec, name: str) -> None:
            _require(len(ids) == spec.rows, name, f"{len(ids)} rows", f"{spec.rows} rows")
            for row in ids:
                _require(len(row) == spec.filled, name, f"{len(row)} ids", f"{spec.filled} ids")

        same(self.rows, self.mask, "rows")
        if self.source_mask is not None and self.cross_mask is not None:
            same(self.source, self.source_mask, "source")
            same(self.source, self.cross_mask, "source")


@dataclass(frozen=True)
class RunRequest:
    """One run of the engine. ``generation`` orders requests: an older answer is dropped.

    ``row`` is the batch row whose attention and output come back; ``device`` is "auto", "cpu",
    "cuda" or "mps"; ``dtype`` "float32", "float16" or "bfloat16".
    """

    generation: int
    model: str
    inputs: Inputs
    head: HeadRef
    row: int = 0
    top: int = 8
    device: str = "auto"
    dtype: str = "float32"


@dataclass(frozen=True)
class GenerateRequest:
    """Generate up to ``max_new_tokens`` after batch row ``run.row`` of ``run.inputs``."""

    run: RunRequest
    sampling: Sampling = field(default_factory=Sampling)
    max_new_tokens: int = 32


@dataclass(frozen=True)
class HeadRequest:
    """Another head of the last run, served from what the engine kept."""

    generation: int
    head: HeadRef


@dataclass(frozen=True)
class AttentionMaps:
    """All heads of one stack as thumbnails.

    ``thumbs`` uint8 ``[L, H, h, w]`` holds ``255 * sqrt(weight / scale)`` with ``scale`` float32
    ``[L, H]`` the head's largest weight; ``h, w`` is ``rows, keys`` divided by ``block`` (rounded
    up), each value the maximum over its block.
    """

    stack: Stack
    rows: int
    keys: int
    block: int
    thumbs: NDArray[np.uint8] = field(repr=False)
    scale: NDArray[np.float32] = field(repr=False)


@dataclass(frozen=True)
class HeadPattern:
    """One head in full: ``pattern`` float32 ``[Tq, S]``, weights after softmax, 0 where closed."""

    generation: int
    head: HeadRef
    pattern: NDArray[np.float32] = field(repr=False)


@dataclass(frozen=True)
class RunResult:
    """What one run says, for the shown batch row.

    ``top_ids`` int32 and ``top_probs`` float32 ``[Tq, k]``: the likeliest tokens at each query
    row (the next token for families that generate, the token itself for an encoder), best first.
    ``cache_difference`` is the largest absolute logit difference between the cached and the
    uncached run where ``past > 0``. ``cross_bytes`` of the ``cache_bytes`` are cross keys and
    values, which never grow.
    """

    generation: int
    model: str
    device: str
    dtype: str
    seconds: float
    maps: tuple[AttentionMaps, ...]
    head: HeadPattern
    top_ids: NDArray[np.int32] = field(repr=False)
    top_probs: NDArray[np.float32] = field(repr=False)
    cache_bytes: int = 0
    cross_bytes: int = 0
    cache_difference: float | None = None
    note: str = ""


@dataclass(frozen=True)
class StepEvent:
    """One generated token.

    ``mask_row`` bool ``[S]``: what the query that chose the token could read. ``cache_length``
    counts the cached keys after the step. ``maps`` and ``head`` cover everything read so far
    (``Tq = S``), so that the picture grows with the text. ``stopped`` is True on the end token.
    """

    generation: int
    step: int
    token: int
    probability: float
    candidate_ids: NDArray[np.int32] = field(repr=False)
    candidate_probs: NDArray[np.float32] = field(repr=False)
    mask_row: NDArray[np.bool_] = field(repr=False)
    cache_length: int
    cache_bytes: int
    cross_bytes: int
    seconds: float
    stopped: bool
    maps: tuple[AttentionMaps, ...] = field(default=(), repr=False)
    head: HeadPattern | None = field(default=None, repr=False)
