"""Which inputs made an output: what can reach it by the mask, and what does by the model.

Torch-free: an engine gives the evidence, what is made of it here is the same for all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from core.mask.padding import real_tokens
from core.mask.reach import upstream, upstream_across
from core.run.cancel import CancelToken
from core.run.contract import Runs
from core.run.flow_edges import Walked, strongest
from core.run.prompt import one_row
from core.run.rollout import Evidence, Values, by_value_norm, even, walk
from core.run.validate import Model, check
from core.run.walls import Key, only_stack
from core.types import FlowJob, FlowMethod, FlowResult, FlowStack, Inputs, Stack


def flow(
    engine: Runs,
    job: FlowJob,
    cancel: CancelToken | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> FlowResult:
    """What made the output of ``job.position``: reach, shares by every method, strongest edges.

    The whole row is run at once, whatever ``past`` says. Nothing that cannot reach the output has a
    share other than exactly 0.

    Raises
    ------
    ValueError
        for inputs that the model cannot run, or a position, layer or token that it has not.
    EngineError
        when the machine cannot do it.
    Cancelled
        when ``cancel`` was set.
    """
    started = time.perf_counter()
    tell = progress or _nobody
    tell("running the model", 0.0)
    found = engine.evidence(job, cancel)
    tell("following the paths", 0.7)
    inputs = one_row(job.run.inputs, job.run.row)
    reach = _reach(inputs, job.position, found.depth)
    sizes = {stack: cone.shape[1] for stack, cone in reach.items()}
    walked = {
        method: Walked(weights, walk(weights, found.depth, sizes, job.position))
        for method, weights in _weights(found).items()
    }
    rollout, value_norm = walked[FlowMethod.ROLLOUT], walked[FlowMethod.VALUE_NORM]
    stacks = []
    for stack, cone in reach.items():
        shares = {
            method: one.flow.mass[stack].astype(np.float32)
            for method, one in walked.items()
            if stack in one.flow.mass
        }
        if stack in found.gradients:
            shares[FlowMethod.GRADIENT] = found.gradients[stack]
        stacks.append(FlowStack(stack, cone, shares))
    encoder = found.depth[Stack.ENCODER] + 1 if len(found.depth) > 1 else 0
    edges = strongest(found.patterns, rollout, value_norm, encoder)
    tell("done", 1.0)
    return FlowResult(
        generation=job.generation,
        position=job.position,
        layer=found.depth[found.top],
        token=found.token,
        stacks=tuple(stacks),
        edges=edges,
        notes=(*found.notes, *_notes(inputs, job)),
        about=found.notes,
        seconds=time.perf_counter() - started,
    )


def top_stack(inputs: Inputs) -> Stack:
    """The stack that makes the output, under the name that it is shown by."""
    return only_stack(inputs) or Stack.DECODER


def checked(model: Model, job: FlowJob) -> Inputs:
    """The row of a job that its model can run; raises ValueError with a sentence otherwise."""
    check(model, job.run.inputs, job.run.row)
    inputs = one_row(job.run.inputs, job.run.row)
    last = inputs.mask.filled - 1
    if not 0 <= job.position <= last:
        raise ValueError(
            f"position is {job.position}, but must be between 0 and {last}, the columns of the row."
        )
    layers, vocabulary = model.config.layers, model.config.vocabulary
    if job.layer is not None and not 1 <= job.layer <= layers:
        raise ValueError(
            f"layer is {job.layer}, but must be between 1 and {layers}, the layers of the model."
        )
    if job.token is not None and not 0 <= job.token < vocabulary:
        raise ValueError(f"token is {job.token}, but must be between 0 and {vocabulary - 1}.")
    return inputs


def _reach(
    inputs: Inputs, position: int, depth: Mapping[Stack, int]
) -> dict[Stack, NDArray[np.bool_]]:
    """Cones by stack, in the order of ``depth``."""
    if len(depth) == 1:
        ((stack, layers),) = depth.items()
        return {stack: upstream(inputs.mask, 0, position, layers)}
    cones = upstream_across(inputs, 0, position, depth[Stack.DECODER], depth[Stack.ENCODER])
    return {stack: cones[stack] for stack in depth}


def _weights(found: Evidence) -> dict[FlowMethod, dict[Key, Values]]:
    """Weights of rollout and of value norm, of every attention layer that is looked through."""
    keys = [(stack, layer) for stack, layers in found.depth.items() for layer in range(layers)]
    keys += [(Stack.CROSS, layer) for stack, layer in keys if stack is found.top]
    taken = {key: found.patterns[key] for key in keys if key in found.patterns}
    norms = {key: found.norms[key] for key in taken if key in found.norms}
    return {
        FlowMethod.ROLLOUT: {key: even(pattern) for key, pattern in taken.items()},
        FlowMethod.VALUE_NORM: {
            key: by_value_norm(taken[key], norm) for key, norm in norms.items()
        },
    }


def _notes(inputs: Inputs, job: FlowJob) -> tuple[str, ...]:
    if real_tokens(inputs.mask)[0, job.position]:
        return ()
    return (f"Column {job.position} is a pad: what comes out there is never scored.",)


def _nobody(sentence: str, share: float) -> None:
    """Whom progress is told where nobody asks."""
