"""What a model costs: sizes in, formulas with their numbers in out; and what was measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from core.types.jobs import Job
from core.types.masks import require
from core.types.messages import RunRequest
from core.types.wording import counted

MOST = 10**12
"""The largest size of anything that is asked about."""

LETTERS = {
    "B": "batch rows",
    "T": "tokens of the pass",
    "past": "cached tokens before it",
    "S": "source tokens",
    "P": "prompt tokens",
    "G": "generated tokens",
    "D": "width",
    "A": "width of all query heads",
    "K": "width of all key heads",
    "F": "width of the FFN",
    "M": "matrices of the FFN",
    "V": "vocabulary",
    "N": "positions",
    "H": "heads",
    "L": "layers",
    "E": "encoder layers",
    "s": "bytes of a number",
    "W": "parameters",
    "R": "parameters that a decode step reads",
    "X": "FLOPs of the prefill, or of an encoder's pass",
    "Y": "FLOPs of the first decode step",
}
"""What the letters of the formulas stand for."""

_BYTES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_THOUSANDS = ("", "k", "M", "G", "T", "P", "E", "Z")


@dataclass(frozen=True)
class ModelSizes:
    """The sizes of a model that its cost depends on.

    0 stands for what is usual: as many ``kv_heads`` as heads, a ``head_width`` of width / heads, an
    ``ffn`` of four times the width, and no vocabulary or positions at all.

    Attributes
    ----------
    layers, encoder_layers : layers of the only stack or of the decoder, and of an encoder beside
        it.
    width, ffn, vocabulary : features ``D`` and ``F``, entries ``V``.
    heads, kv_heads, head_width : query heads, key/value heads, features of one head.
    positions : entries of each stack's table of learned positions.
    encoder : an encoder alone, with BERT's head before the output matrix: it caches nothing.
    gated : the FFN has three matrices (SwiGLU) and not two.
    attention_bias, output_bias : the linear layers of attention, or the output, have biases; those
        of the FFN always do.

    Raises
    ------
    ValueError
        naming the field, the value and what is allowed.
    """

    layers: int
    width: int
    heads: int
    kv_heads: int = 0
    head_width: int = 0
    ffn: int = 0
    vocabulary: int = 0
    positions: int = 0
    encoder_layers: int = 0
    encoder: bool = False
    gated: bool = False
    attention_bias: bool = True
    output_bias: bool = True

    def __post_init__(self) -> None:
        for name in ("layers", "width", "heads"):
            _sized(name, getattr(self, name), 1)
        for name in ("kv_heads", "head_width", "ffn", "vocabulary", "positions", "encoder_layers"):
            _sized(name, getattr(self, name), 0)
        if not self.head_width and self.width % self.heads:
            raise ValueError(
                f"width is {self.width}, but must be a multiple of the {self.heads} heads, unless"
                " the width of a head is given."
            )
        if self.kv_heads and self.heads % self.kv_heads:
            raise ValueError(
                f"kv-heads is {self.kv_heads}, but must divide the {self.heads} heads."
            )
        if self.encoder and self.encoder_layers:
            raise ValueError(
                f"encoder-layers is {self.encoder_layers}, but must be 0 for an encoder alone: its"
                " layers are the only ones there are."
            )

    @property
    def query_width(self) -> int:
        """Features of all query heads, ``A``; T5 has another number than ``D`` there."""
        return self.heads * self._one_head

    @property
    def key_width(self) -> int:
        """Features of all key heads, ``K``: less than ``A`` where heads are grouped."""
        return (self.kv_heads or self.heads) * self._one_head

    @property
    def ffn_width(self) -> int:
        """Features inside the FFN, ``F``."""
        return self.ffn or 4 * self.width

    @property
    def _one_head(self) -> int:
        return self.head_width or self.width // self.heads


@dataclass(frozen=True)
class Workload:
    """What a model is asked to read and to write.

    Attributes
    ----------
    length : tokens of one pass, ``T``; of an encoder-decoder those of the target.
    batch : rows ``B``.
    past : cached tokens before the pass.
    source : tokens of the source ``S``; of no matter without an encoder beside the decoder.
    bytes : of one number, ``s``: 4 for float32, 2 for half precision.
    prompt, generate : tokens that a generation starts from and adds, ``P`` and ``G``.

    Raises
    ------
    ValueError
        naming the field, the value and what is allowed.
    """

    length: int
    batch: int = 1
    past: int = 0
    source: int = 1
    bytes: int = 4
    prompt: int = 1
    generate: int = 1

    def __post_init__(self) -> None:
        for name in ("length", "batch", "source", "bytes", "prompt"):
            _sized(name, getattr(self, name), 1)
        for name in ("past", "generate"):
            _sized(name, getattr(self, name), 0)


def _sized(name: str, value: int, low: int) -> None:
    require(low <= value <= MOST, name, value, f"a whole number from {low} to {MOST:,}")


@dataclass(frozen=True)
class Term:
    """One number with where it comes from.

    ``formula`` is in letters, ``substituted`` the same with the numbers in; ``unit`` is
    "parameters", "FLOP", "bytes", "tokens" or "FLOP/byte".
    """

    name: str
    formula: str
    substituted: str
    value: float
    unit: str

    def figure(self) -> str:
        """The value as it is written, such as ``192 MiB``."""
        return figure(self.value, self.unit)


class Quantity(str, Enum):
    """What is added up from terms, and may be drawn against a size."""

    PARAMETERS = "parameters"
    FLOPS = "flops"
    SCORE_BYTES = "score_bytes"
    KV_CACHE_BYTES = "kv_cache_bytes"
    CROSS_CACHE_BYTES = "cross_cache_bytes"
    GENERATION_FLOPS = "generation_flops"
    GENERATION_BYTES = "generation_bytes"


TITLES: dict[Quantity, str] = {
    Quantity.PARAMETERS: "parameters",
    Quantity.FLOPS: "FLOPs of a pass",
    Quantity.SCORE_BYTES: "scores of a layer",
    Quantity.KV_CACHE_BYTES: "KV cache",
    Quantity.CROSS_CACHE_BYTES: "cross cache",
    Quantity.GENERATION_FLOPS: "FLOPs to generate",
    Quantity.GENERATION_BYTES: "bytes read to generate",
}
"""How quantities are called."""


@dataclass(frozen=True)
class Tally:
    """The terms of one quantity, all in ``unit``; there may be none."""

    quantity: Quantity
    unit: str
    terms: tuple[Term, ...]

    @property
    def total(self) -> int:
        """The sum of the terms."""
        return int(sum(term.value for term in self.terms))


@dataclass(frozen=True)
class Cost:
    """What a model costs under a workload.

    Attributes
    ----------
    letters : what the letters of the formulas stand for here.
    tallies : one for each `Quantity`.
    facts : what is no part of a sum: tokens read while generating, intensities, the crossing.
    """

    model: ModelSizes
    load: Workload
    letters: dict[str, int]
    tallies: dict[Quantity, Tally]
    facts: tuple[Term, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about what has more tokens than the model has learned positions."""
        load, most = self.load, self.model.positions
        tokens = {"pass": load.past + load.length}
        if self.model.encoder_layers:
            tokens["source"] = load.source
        if not self.model.encoder:
            tokens["generation"] = load.prompt + load.generate
        return tuple(
            f"The {what} comes to {counted(count, 'token')}, but the model has {most:,} positions:"
            " this is worked out, and cannot be run."
            for what, count in tokens.items()
            if 0 < most < count
        )


@dataclass(frozen=True)
class CostCurves:
    """How a quantity grows with the size that a letter stands for.

    ``values`` int64 ``[n]`` ascend and hold the size that there is; ``parts`` float64 ``[n]`` by
    name.
    """

    quantity: Quantity
    axis: str
    values: NDArray[np.int64] = field(repr=False)
    parts: dict[str, NDArray[np.float64]] = field(repr=False)

    @property
    def total(self) -> NDArray[np.float64]:
        """The sum of the parts, float64 ``[n]``."""
        added = np.zeros(len(self.values))
        for part in self.parts.values():
            added += part
        return added


@dataclass(frozen=True)
class MeasureJob(Job):
    """Time the model of ``run`` on its device at ``lengths``, each the best of ``repeats``.

    Rows and source are as many as in ``run``; lengths beyond the model's positions are left out.
    """

    run: RunRequest
    lengths: tuple[int, ...]
    repeats: int = 3


@dataclass(frozen=True)
class MeasuredPoint:
    """Seconds of a prefill of ``length`` tokens, and of one decode step that reads so many.

    ``decode`` is None for what cannot generate. The FLOPs are those of `core.run.cost`.
    """

    length: int
    prefill: float
    decode: float | None
    prefill_flops: int
    decode_flops: int


@dataclass(frozen=True)
class Measured:
    """What was timed, and on what; ``threads`` of the CPU, ``repeats`` of which the best counts."""

    model: str
    engine: str
    device: str
    dtype: str
    threads: int
    batch: int
    repeats: int
    points: tuple[MeasuredPoint, ...]
    notes: tuple[str, ...] = ()

    def sentence(self) -> str:
        """What was measured, in a line."""
        cores = f", {counted(self.threads, 'thread')}" if self.device == "cpu" else ""
        rows = counted(self.batch, "row")
        return (
            f"{self.model} on {self.engine}, {self.device}{cores}, {self.dtype}, {rows}, best of"
            f" {self.repeats}"
        )


def figure(value: float, unit: str) -> str:
    """A number as it is read: bytes in KiB and so on, FLOP in GFLOP and so on, counts in full."""
    if unit == "bytes":
        return _scaled(value, 1024, _BYTES, " ")
    if unit in ("FLOP", "FLOP/s"):
        return _scaled(value, 1000, _THOUSANDS, " ") + unit
    if unit == "seconds":
        return f"{value:.3g} s" if value >= 1 else f"{1000 * value:.3g} ms"
    whole = value == int(value) or abs(value) >= 100
    return f"{value:,.0f} {unit}" if whole else f"{value:,.3g} {unit}"


def _scaled(value: float, step: int, names: tuple[str, ...], space: str) -> str:
    power = 0
    while abs(value) >= step and power < len(names) - 1:
        value, power = value / step, power + 1
    whole = value == int(value) or abs(value) >= 100
    return f"{value:,.0f}{space}{names[power]}" if whole else f"{value:.3g}{space}{names[power]}"
