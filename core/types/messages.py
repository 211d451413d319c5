"""What is asked of the engine, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.types.masks import MaskSpec, require
from core.types.models import HeadRef, Stack


@dataclass(frozen=True)
class Sampling:
    """How the next token is drawn: temperature 0 is greedy; top_k 0 and top_p 1 mean off."""

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        require(self.temperature >= 0, "temperature", self.temperature, "0 (greedy) or more")
        require(self.top_k >= 0, "top_k", self.top_k, "0 (off) or more")
        require(0 < self.top_p <= 1, "top_p", self.top_p, "above 0 and at most 1")


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
            require(len(ids) == spec.rows, name, f"{len(ids)} rows", f"{spec.rows} rows")
            for row in ids:
                require(len(row) == spec.filled, name, f"{len(row)} ids", f"{spec.filled} ids")

        same(self.rows, self.mask, "rows")
        if self.source_mask is not None and self.cross_mask is not None:
            same(self.source, self.source_mask, "source")
            same(self.source, self.cross_mask, "source")


@dataclass(frozen=True)
class RunRequest:
    """One run of the engine. ``generation`` orders requests: an older answer is dropped.

    ``row`` is the batch row whose attention and output come back; ``device`` is "auto", "cpu",
    "cuda" or "mps"; ``dtype`` "float32", "float16" or "bfloat16"; ``backend`` "torch" or "onnx".
    """

    generation: int
    model: str
    inputs: Inputs
    head: HeadRef
    row: int = 0
    top: int = 8
    device: str = "auto"
    dtype: str = "float32"
    backend: str = "torch"


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
    ``surprise`` float32 ``[Tq]``: nats of the token that does follow each query, NaN where none
    does or the model predicts none. ``cache_difference`` is the largest absolute logit difference
    between the cached and the uncached run where ``past > 0``. ``cross_bytes`` of the
    ``cache_bytes`` are cross keys and values, which never grow. ``engine`` names what ran, as a
    user knows it, with what it could not use.
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
    surprise: NDArray[np.float32] = field(
        default_factory=lambda: np.zeros(0, np.float32), repr=False
    )
    cache_bytes: int = 0
    cross_bytes: int = 0
    cache_difference: float | None = None
    note: str = ""
    engine: str = ""


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
