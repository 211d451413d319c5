"""Vectors of sentences from hidden states: pooled, compared, and what each position knows.

Torch-free: an engine gives states. Pooling is that of Reimers & Gurevych 2019 (mean, first token),
and the last token of a causal model, the only one that read the whole sentence.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from core.mask.padding import last_real, real_tokens
from core.run.cancel import CancelToken
from core.run.contract import Runs
from core.run.validate import out_of_training
from core.text.special import BOS, EOS, PAD
from core.types import (
    EmbeddingsJob,
    EmbeddingsView,
    Family,
    Inputs,
    MaskKind,
    MaskSpec,
    Pooling,
)

FIRST_KNOWS_NOTHING = (
    "The first token of a causal mask reads itself alone, so its vector is the same for every"
    " sentence; the mean mixes positions that saw little with the last, which saw everything."
)
_BOTH_WAYS = (
    "To read both ways is out of this model's training; unified was trained under both masks."
)


def embeddings(
    engine: Runs,
    job: EmbeddingsJob,
    cancel: CancelToken | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> EmbeddingsView:
    """How alike the batch rows of ``job.run.inputs`` are by each pooling.

    Raises
    ------
    ValueError
        for inputs that the model cannot take, or an engine that hands out no states.
    EngineError
        when the machine cannot do it.
    Cancelled
        when ``cancel`` was set.
    """
    started = time.perf_counter()
    inputs = job.run.inputs
    spec = inputs.mask if inputs.source_mask is None else inputs.source_mask
    if progress is not None:
        progress("reading the sentences", 0.0)
    states = engine.states(job.run, cancel)
    model = engine.model_for(job.run)
    notes = []
    known = np.zeros((spec.rows, 0), np.float32)
    if spec.kind.is_causal:
        if progress is not None:
            progress("reading them both ways", 0.5)
        both_ways = replace(spec, kind=MaskKind.BIDIRECTIONAL, prefix=0)
        read = replace(job.run, inputs=replace(inputs, mask=both_ways))
        known = cosine(states, engine.states(read, cancel)).astype(np.float32)
        known[~real_tokens(spec)] = np.nan
        notes.append(FIRST_KNOWS_NOTHING)
        if out_of_training(model, both_ways):
            notes.append(_BOTH_WAYS)
    outside = out_of_training(model, inputs.mask)
    if outside:
        notes.append(f"The model was {outside}.")
    return EmbeddingsView(
        generation=job.generation,
        kind=spec.kind,
        similarity={
            pooling: alike(pooled(states, spec, pooling)).astype(np.float32) for pooling in Pooling
        },
        known=known,
        notes=tuple(notes),
        seconds=time.perf_counter() - started,
    )


def pooled(states: NDArray[np.float32], spec: MaskSpec, pooling: Pooling) -> NDArray[np.float64]:
    """Vectors float64 ``[B, width]`` of states ``[B, N, width]``, a batch row each, no pads."""
    real, rows = real_tokens(spec), np.arange(spec.rows)
    vectors: NDArray[np.float64] = states.astype(np.float64)
    if pooling is Pooling.MEAN:
        total = np.where(real[:, :, None], vectors, 0.0).sum(axis=1)
        found: NDArray[np.float64] = total / real.sum(axis=1)[:, None]
    else:
        ends = last_real(spec) if pooling is Pooling.LAST else np.array(spec.left_pad)
        found = vectors[rows, ends]
    return found


def alike(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cosines ``[n, n]`` of vectors ``[n, width]``, one with another."""
    return cosine(vectors[:, None], vectors[None])


def cosine(one: NDArray[np.floating], other: NDArray[np.floating]) -> NDArray[np.float64]:
    """The cosine along the last axis, float64; 0 where either vector is 0."""
    a, b = one.astype(np.float64), other.astype(np.float64)
    norms = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    found: NDArray[np.float64] = (a * b).sum(axis=-1) / np.where(norms > 0, norms, 1.0)
    return found


def sentence_ids(text: Sequence[int], kind: MaskKind) -> tuple[int, ...]:
    """A sentence as it is embedded: ``BOS`` before it, ``EOS`` after it where all is read."""
    return (BOS, *text) if kind.is_causal else (BOS, *text, EOS)


def batch(sentences: Sequence[tuple[int, ...]], kind: MaskKind, family: Family) -> Inputs:
    """Sentences as rows of one length, padded on the right; the source of an encoder-decoder.

    Raises
    ------
    ValueError
        where there are fewer than two, or an encoder-decoder is asked for a causal mask.
    """
    if len(sentences) < 2:
        raise ValueError(f"There is {len(sentences)} sentence, but two or more can be compared.")
    width = max(map(len, sentences))
    pads = tuple(width - len(ids) for ids in sentences)
    rows = tuple((*ids, *(PAD,) * pad) for ids, pad in zip(sentences, pads, strict=True))
    none = (0,) * len(rows)
    if family is not Family.ENCODER_DECODER:
        return Inputs(rows, MaskSpec(kind, width, left_pad=none, right_pad=pads))
    if kind.is_causal:
        raise ValueError(
            f"mask is {kind.value}, but must be bidirectional: the encoder of an encoder-decoder"
            " makes the vectors."
        )
    return Inputs(
        ((BOS,),) * len(rows),
        MaskSpec(MaskKind.DECODER_SELF, 1, left_pad=none, right_pad=none),
        rows,
        MaskSpec(MaskKind.ENCODER_SELF, width, left_pad=none, right_pad=pads),
        MaskSpec(MaskKind.CROSS, 1, source=width, left_pad=none, right_pad=pads),
    )
