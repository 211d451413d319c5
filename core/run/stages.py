"""The steps of one head: scores, scaled, masked, softmax, weighted values.

Torch-free: an engine gives what its head worked with, the steps are the same for all. The mask goes
on before the softmax (Vaswani et al. 2017, section 3.2.1: illegal scores are set to -inf).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.run.cancel import CancelToken
from core.run.contract import Runs
from core.types import HeadRef, MaskKind, MaskSpec, Stack, Stages, StagesJob

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class HeadParts:
    """What one head of one batch row worked with.

    ``scaled`` float32 and ``mask`` bool ``[Tq, S]``, ``values`` float32 ``[S, d]`` or None, and
    ``weights`` float32 ``[Tq, S]`` as the engine has them; ``width`` is ``d``.
    """

    scaled: Floats
    mask: NDArray[np.bool_]
    weights: Floats
    values: Floats | None
    width: int
    notes: tuple[str, ...] = field(default=())


def stages(engine: Runs, job: StagesJob, cancel: CancelToken | None = None) -> Stages:
    """The steps of the head of a job, of the chunk that its run shows.

    Raises
    ------
    ValueError
        for inputs that the model cannot run, or a head that it has not.
    EngineError
        when the machine cannot do it.
    Cancelled
        when ``cancel`` was set.
    """
    return made_of(parts_of(engine, job, cancel), job.head, job.generation)


def made_of(parts: HeadParts, head: HeadRef, generation: int = 0) -> Stages:
    """Every step from the parts of a head."""
    late = np.where(parts.mask, softmax(parts.scaled), np.float32(0))
    values = parts.values
    return Stages(
        generation=generation,
        head=head,
        width=parts.width,
        scores=parts.scaled * np.sqrt(np.float32(parts.width)),
        scaled=parts.scaled,
        mask=parts.mask,
        weights=parts.weights,
        values=values,
        output=None if values is None else parts.weights @ values,
        late_weights=late,
        late_output=None if values is None else late @ values,
        notes=parts.notes,
    )


def softmax(scores: Floats) -> Floats:
    """Softmax over the last axis; a row of -inf alone becomes zeros."""
    highest = scores.max(axis=-1, keepdims=True)
    powers: Floats = np.exp(scores - np.where(np.isfinite(highest), highest, np.float32(0)))
    total = powers.sum(axis=-1, keepdims=True)
    np.divide(powers, total, out=powers, where=total > 0)
    return powers


EXAMPLE_MASK = MaskSpec(MaskKind.CROSS, 1, source=3, right_pad=(1,))
"""One query that may read the first two of three keys."""
EXAMPLE_KEYS: tuple[str, ...] = ("first", "second", "pad")
EXAMPLE_WORDS = (
    "Masked before the softmax the weights are [2/3, 1/3, 0] and the output is [4/3, 2/3]. Masked"
    " after it they are [1/2, 1/4, 0]: a quarter went to a key that may not be read and is lost, so"
    " they add up to 3/4, and the output [1, 1/2] is too small."
)


def example() -> Stages:
    """Scores ``[ln 2, 0, 0]`` over values ``[2, 0], [0, 2], [4, 4]``, the third key closed."""
    scaled = np.log(np.array([[2.0, 1.0, 1.0]])).astype(np.float32)
    mask = np.array([[True, True, False]])
    values = np.array([[2, 0], [0, 2], [4, 4]], np.float32)
    weights = softmax(np.where(mask, scaled, np.float32(-np.inf)))
    return made_of(HeadParts(scaled, mask, weights, values, 2), HeadRef(Stack.CROSS))


def parts_of(engine: Runs, job: StagesJob, cancel: CancelToken | None = None) -> HeadParts:
    """What the head worked with on that engine; torch is imported only for its own."""
    from core.export.ort_engine import OrtEngine

    run = job.run
    if isinstance(engine, OrtEngine):
        from core.export import ort_stages

        return ort_stages.head_parts(engine.model(run.model, run.device), job, cancel)
    from core.run import torch_stages
    from core.run.devices import pick
    from core.run.engine import Engine

    assert isinstance(engine, Engine)
    device, dtype = pick(run.device, run.dtype)
    return torch_stages.head_parts(engine.model(run.model, device, dtype), job, device, cancel)
