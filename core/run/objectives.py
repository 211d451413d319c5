"""A sentence as a training objective sees it, and the loss that a model takes there.

Torch-free: `core.text` corrupts, an engine gives logits, what is made of them here is the same for
all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from core.run.cancel import CancelToken
from core.run.contract import Runs
from core.run.surprise import cross_entropy
from core.run.validate import Model, out_of_training
from core.text.denoising import denoising
from core.text.objectives import (
    IGNORE,
    Example,
    causal,
    masked,
    misshifted,
    prefix_lm,
    sample_prefix,
    span_corruption,
)
from core.text.special import FIRST_PIECE, FIRST_SENTINEL, MASK
from core.types import (
    MASK_RATE,
    Family,
    Inputs,
    MaskKind,
    MaskSpec,
    Noise,
    Objective,
    ObjectiveJob,
    ObjectiveView,
    Shift,
)

KINDS = {
    Objective.MASKED: MaskKind.BIDIRECTIONAL,
    Objective.CAUSAL: MaskKind.CAUSAL,
    Objective.PREFIX: MaskKind.PREFIX,
    Objective.SPANS: MaskKind.DECODER_SELF,
    Objective.DENOISING: MaskKind.DECODER_SELF,
}
"""The self-attention mask of what makes the output under each objective."""
SHIFTS = {Shift.NONE: 0, Shift.RIGHT: 1, Shift.DOUBLE: 2}
NEEDS_GENERATOR = (
    "Replaced-token detection (ELECTRA) trains two models: a small generator fills masked tokens,"
    " and the model tells at every position whether the token is the original one. No generator is"
    " here to replace tokens, so nothing is computed: choose mlm to see what a generator learns."
)
_COPY = (
    "The shift is missing: each position names the token that it reads. Trained so, a model learns"
    " to copy: its loss falls far below that of prediction, and it generates nothing."
)
_TWICE = (
    "The shift is done twice: each position names the token after the next. Trained so, a model"
    " never knows what stands between, and its loss stays high."
)
_ONE_SHIFT = (
    "This one was trained with one shift and is only surprised; encoder, trained to name what it"
    " reads, shows what the missing shift teaches."
)


def objective(
    engine: Runs,
    job: ObjectiveJob,
    cancel: CancelToken | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> ObjectiveView:
    """Inputs, targets and loss of ``job.ids`` under its objective.

    A model that cannot run the objective still shows what is read and asked for; a note says why
    there is no loss.

    Raises
    ------
    ValueError
        for a sentence that is too short or too long, a prefix out of range, or an objective that
        needs a second model.
    EngineError
        when the machine cannot do it.
    Cancelled
        when ``cancel`` was set.
    """
    started = time.perf_counter()
    model = engine.model_for(job.run)
    config = model.config
    example = corrupted(job, config.vocabulary)
    kind = KINDS[job.objective]
    labels = example.labels
    refusal = _refusal(config.family, job.objective)
    logits = np.zeros((0, config.vocabulary), np.float32)
    notes = [refusal]
    if not refusal:
        if progress is not None:
            progress("running the model", 0.0)
        inputs = inputs_of(example, kind)
        logits = engine.logits(replace(job.run, inputs=inputs, row=0), cancel)
        notes = _notes(model, inputs.mask, job)
    top = logits.argmax(axis=-1)
    probabilities = np.exp(-cross_entropy(logits, top))
    selectable = int((np.array(job.ids) >= FIRST_PIECE).sum())
    return ObjectiveView(
        generation=job.generation,
        objective=job.objective,
        kind=kind,
        inputs=example.inputs.astype(np.int32),
        source=example.source.astype(np.int32),
        targets=labels.astype(np.int32),
        loss=np.full(len(labels), np.nan, np.float32) if refusal else cross_entropy(logits, labels),
        top_ids=top.astype(np.int32),
        top_probs=probabilities,
        tokens=len(job.ids),
        selectable=selectable,
        prefix=example.prefix,
        notes=(*filter(None, notes), *_shift_notes(config.family, job)),
        seconds=time.perf_counter() - started,
        gaps=_gaps(job),
    )


def corrupted(job: ObjectiveJob, vocabulary: int) -> Example:
    """What ``job`` makes of its sentence; a gap in it carries no loss.

    Raises
    ------
    ValueError
        as `objective`.
    """
    if job.objective is Objective.REPLACED:
        raise ValueError(NEEDS_GENERATOR)
    if job.shift is not Shift.RIGHT and not job.objective.is_shifted:
        raise ValueError(
            f"shift is {job.shift.value}, but must be right: masked tokens are named where they"
            " stand, so nothing is shifted."
        )
    if job.noise is not Noise.INFILLING and job.objective is not Objective.DENOISING:
        raise ValueError(f"noise is {job.noise.value}, but only denoise makes noise.")
    if job.prefix is not None and job.objective is not Objective.PREFIX:
        raise ValueError(f"prefix is {job.prefix}, but only the objective prefix has one.")
    ids = np.array(job.ids, np.int64)
    is_gap = (ids >= FIRST_SENTINEL) & (ids < FIRST_PIECE)
    ids[is_gap] = MASK
    example = _example(job, ids, vocabulary)
    known = np.where(example.labels == MASK, IGNORE, example.labels)
    if job.objective.is_shifted:
        known = misshifted(known, SHIFTS[job.shift])
    return replace(example, labels=known)


def _example(job: ObjectiveJob, ids: NDArray[np.int64], vocabulary: int) -> Example:
    rng = np.random.default_rng(job.seed)
    match job.objective:
        case Objective.MASKED:
            return masked(ids, rng, vocabulary=vocabulary, rate=MASK_RATE)
        case Objective.PREFIX:
            prefix = sample_prefix(ids, rng) if job.prefix is None else job.prefix
            return prefix_lm(ids, prefix)
        case Objective.SPANS:
            if (found := int((ids >= FIRST_PIECE).sum())) < 2:
                raise ValueError(
                    f"The text has {found} of the 2 tokens that span corruption needs: type more."
                )
            return span_corruption(ids, rng)
        case Objective.DENOISING:
            return denoising(ids, rng, noise=job.noise, stops=job.stops)
        case _:
            return causal(ids)


def inputs_of(example: Example, kind: MaskKind) -> Inputs:
    """One example, unpadded, as a model reads it."""
    length, row = len(example.inputs), tuple(example.inputs.tolist())
    spec = MaskSpec(kind, length, prefix=example.prefix if kind is MaskKind.PREFIX else 0)
    if not len(example.source):
        return Inputs((row,), spec)
    source = tuple(example.source.tolist())
    return Inputs(
        (row,),
        spec,
        (source,),
        MaskSpec(MaskKind.ENCODER_SELF, len(source)),
        MaskSpec(MaskKind.CROSS, length, source=len(source)),
    )


def _refusal(family: Family, asked: Objective) -> str:
    """Why a family has no loss under an objective; empty where it has."""
    two = family is Family.ENCODER_DECODER
    if two == asked.has_source:
        return ""
    if two:
        return (
            "An encoder–decoder reads a source and writes a target, so it has no loss on a text"
            " alone: choose span or denoise."
        )
    return (
        "This model has no encoder that could read the corrupted source while its decoder writes"
        " the target: choose an encoder–decoder to see the loss."
    )


def _gaps(job: ObjectiveJob) -> int:
    return sum(MASK <= token < FIRST_PIECE for token in job.ids)


def _notes(model: Model, spec: MaskSpec, job: ObjectiveJob) -> list[str]:
    """What must be known of a loss that was computed."""
    notes, config = [], model.config
    if gaps := _gaps(job):
        places = "A gap" if gaps == 1 else f"{gaps} gaps"
        note = f"{places} in the text: what belongs there is not known, so no loss is taken"
        met = config.family is Family.ENCODER or MaskKind.BIDIRECTIONAL in config.kinds
        stranger = "" if met else "; the model never met a [MASK], and is the worse for it after it"
        notes.append(f"{note}{stranger}.")
    if job.objective is Objective.DENOISING:
        notes.append("The model was trained on spans: to restore a whole text is new to it.")
    if config.family is Family.ENCODER and job.objective is not Objective.MASKED:
        notes.append(
            "An encoder is trained to name the token at a position, not the next one: that is what"
            " the loss shows, whatever the mask."
        )
    elif job.objective is Objective.MASKED and MaskKind.BIDIRECTIONAL not in config.kinds:
        notes.append(
            "This model has no head for masked tokens: it was trained to say the next token, and"
            " never met a [MASK]."
        )
    outside = out_of_training(model, spec)
    if outside:
        notes.append(f"It was {outside}.")
    return notes


def _shift_notes(family: Family, job: ObjectiveJob) -> list[str]:
    if job.shift is Shift.RIGHT:
        return []
    said = _COPY if job.shift is Shift.NONE else _TWICE
    return [said] if family is Family.ENCODER else [said, _ONE_SHIFT]
