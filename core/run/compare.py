"""Two runs side by side: weights, outputs and hidden states, and where they first part.

Torch-free: an engine reads each side, what is made of both here is the same for all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from core.run.cancel import CancelToken
from core.run.checks.parting import difference, first_place
from core.run.contract import Runs
from core.run.distance import (
    cosine,
    divergence,
    log_probabilities,
    moved,
    relative_norm,
    total_variation,
)
from core.run.prompt import one_row
from core.run.shared import Cut, Shared, cut, reasons, share
from core.run.side import SideReading
from core.run.validate import check_row
from core.run.walls import only_stack
from core.types import (
    MOVED,
    CompareJob,
    Comparison,
    HeadRef,
    Inputs,
    Levels,
    Place,
    RunRequest,
    Stack,
)


def compare(
    engine_of: Callable[[RunRequest], Runs],
    job: CompareJob,
    cancel: CancelToken | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Comparison:
    """Read both sides of ``job``, each on the engine that its run names, and compare them.

    The whole row is read on both sides. Two equal sides differ by exactly 0 everywhere.

    Raises
    ------
    ValueError
        for a side that its model cannot run, or texts that have nothing in common.
    EngineError
        when the machine cannot do it.
    Cancelled
        when ``cancel`` was set.
    """
    started = time.perf_counter()
    sides = job.a, job.b
    for side in sides:
        check_row(side.run.inputs, side.run.row)
    inputs = tuple(one_row(side.run.inputs, side.run.row) for side in sides)
    text, source = share(sides, inputs)
    readings = []
    for n, side in enumerate(sides):
        if cancel is not None:
            cancel.check()
        if progress is not None:
            progress(f"reading {side.title}", n / len(sides))
        readings.append(engine_of(side.run).reading(side, cancel))
    _check_vocabulary(job, readings)
    found = _told(job, inputs, readings, text, source)
    return replace(found, seconds=time.perf_counter() - started)


def _told(
    job: CompareJob,
    inputs: tuple[Inputs, ...],
    readings: list[SideReading],
    text: Shared,
    source: Shared,
) -> Comparison:
    """What two readings have in common, and the difference of the rest."""
    (a, b), lost = cut(readings, text, source)
    tolerance = min(reading.tolerance for reading in readings)  # Loss of bits is a difference.
    logs = [log_probabilities(one.logits) for one in (a, b)]
    ids, probabilities = moved(logs[0], logs[1], MOVED)
    head, shown_as = _nearest(job.head, a), _names(inputs[0])
    layer = head.stack, head.layer
    own = dict.fromkeys(note for reading in readings for note in reading.notes)
    levels = {
        shown_as(stack): Levels(
            cosine(states, b.states[stack]), relative_norm(states, b.states[stack])
        )
        for stack, states in a.states.items()
    }
    return Comparison(
        generation=job.generation,
        titles=(job.a.title, job.b.title),
        tokens=text.tokens,
        source_tokens=source.tokens,
        positions=text.positions,
        source_positions=source.positions,
        head=replace(head, stack=shown_as(head.stack)),
        patterns=np.stack([one.patterns[layer][head.head] for one in (a, b)]),
        reasons=reasons(inputs, head.stack, text, source),
        attention={shown_as(stack): apart for stack, apart in _attention(a, b).items()},
        total_variation=total_variation(logs[0], logs[1]),
        divergence=divergence(logs[0], logs[1]),
        moved_ids=ids,
        moved=probabilities,
        levels=levels,
        tolerance=tolerance,
        first=_first(a, b, tolerance, text, source, shown_as),
        notes=(
            *own,
            *_source_notes(inputs),
            *text.notes("text"),
            *source.notes("source"),
            *lost,
        ),
    )


def _check_vocabulary(job: CompareJob, readings: list[SideReading]) -> None:
    sizes = [reading.logits.shape[1] for reading in readings]
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"{job.a.title} has {sizes[0]} entries in its vocabulary and {job.b.title} {sizes[1]}:"
            " their tokens are not the same; compare models of one vocabulary."
        )


def _names(inputs: Inputs) -> Callable[[Stack], Stack]:
    """How A calls its stacks: its only one by how its mask reads."""
    only = only_stack(inputs)
    return lambda stack: only or stack


def _nearest(head: HeadRef, one: Cut) -> HeadRef:
    """The head itself, or the first one of the stack that makes the output.

    The only stack of a model may be asked for by either of its names.
    """
    stack = head.stack if (head.stack, 0) in one.patterns else Stack.DECODER
    layer = one.patterns.get((stack, head.layer))
    if layer is not None and 0 <= head.head < len(layer):
        return HeadRef(stack, head.layer, head.head)
    return HeadRef(stack)


def _attention(a: Cut, b: Cut) -> dict[Stack, NDArray[np.float32]]:
    """The largest absolute differences of weights, float32 ``[L, H]`` by stack."""
    found: dict[Stack, list[NDArray[np.float32]]] = {stack: [] for stack in Stack}
    for key in sorted(a.patterns, key=_layer):
        apart = np.abs(a.patterns[key] - b.patterns[key])
        found[key[0]].append(apart.max(axis=(1, 2), initial=0.0))
    return {stack: np.stack(layers) for stack, layers in found.items() if layers}


def _layer(key: tuple[Stack, int]) -> int:
    return key[1]


def _first(
    a: Cut,
    b: Cut,
    tolerance: float,
    text: Shared,
    source: Shared,
    shown_as: Callable[[Stack], Stack],
) -> Place | None:
    """Where the cuts first part, its position counted in A; None if by no more than rounding."""
    one, other = a.shown(), b.shown()
    weights = max(float(apart.max()) for apart in _attention(a, b).values())
    if weights <= tolerance / 10 and float(difference(one, other).max()) <= tolerance:
        return None
    place = first_place(one, other, tolerance)
    own = source if place.stack is Stack.ENCODER else text
    position = int(own.positions[0, place.position])
    stack = None if place.stack is None else shown_as(place.stack)
    return replace(place, position=position, stack=stack)


def _source_notes(inputs: tuple[Inputs, ...]) -> tuple[str, ...]:
    two = [given.source_mask is not None for given in inputs]
    if two[0] == two[1]:
        return ()
    name = "A" if two[0] else "B"
    return (
        f"{name} alone has a source: its encoder and its cross-attention are not compared, only the"
        " stack that makes the output.",
    )
