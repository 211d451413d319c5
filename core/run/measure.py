"""How long prefill and decode take here, at several lengths.

Torch-free: an engine gives a `Pacer`, what is timed is the same for all. Random tokens without pads
are read, with as many rows and source tokens as the view has; attention is not looked at, so that
the model runs as it would for a user.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from core.model.config import ModelConfig
from core.run.cancel import CancelToken
from core.run.contract import Runs
from core.run.cost import cost, sizes_of
from core.run.validate import why_no_generation
from core.types import (
    Family,
    Inputs,
    MaskKind,
    MaskSpec,
    Measured,
    MeasuredPoint,
    MeasureJob,
    Quantity,
    Workload,
)


class Pacer(Protocol):
    """A model on an engine, ready to be timed; each call returns when the device is done."""

    config: ModelConfig
    engine: str
    device: str
    dtype: str
    threads: int

    def prepare(self, inputs: Inputs) -> None:
        """Make ids, positions and masks of ``inputs``, which the next calls read."""

    def prefill(self, stop: int) -> Any:
        """Read the source and the first ``stop`` columns; returns the state that they leave."""

    def step(self, state: Any) -> None:
        """Run the column after those of ``state``, which is as it was afterwards."""


def measure(
    engine: Runs,
    job: MeasureJob,
    cancel: CancelToken | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Measured:
    """Time the model of a job; the first pass at each length warms up and does not count.

    Raises
    ------
    ValueError
        where no length fits the model, or there is nothing to repeat.
    EngineError
        when the machine cannot do it.
    Cancelled
        when ``cancel`` was set.
    """
    if job.repeats < 1:
        raise ValueError(f"repeats is {job.repeats}, but must be 1 or more.")
    pacer = pacer_of(engine, job, cancel)
    most = pacer.config.positions
    lengths = sorted({n for n in job.lengths if 1 <= n <= most})
    if not lengths:
        raise ValueError(
            f"lengths are {', '.join(map(str, job.lengths)) or 'none'}, but one must be between 1"
            f" and {most}, the positions of the model."
        )
    work = sum(lengths)
    points: list[MeasuredPoint] = []
    for n in lengths:
        if progress is not None:
            done = sum(point.length for point in points)
            progress(f"timing {n} tokens", done / work)
        points.append(_point(pacer, job, n, cancel))
    notes = [f"Nothing is measured beyond {most} tokens: the model has no more positions."]
    why = why_no_generation(pacer.config.family, job.run.inputs.mask.kind)
    return Measured(
        model=job.run.model,
        engine=pacer.engine,
        device=pacer.device,
        dtype=pacer.dtype,
        threads=pacer.threads,
        batch=job.run.inputs.mask.rows,
        repeats=job.repeats,
        points=tuple(points),
        notes=tuple(notes + ([why] if why else [])),
    )


def pacer_of(engine: Runs, job: MeasureJob, cancel: CancelToken | None = None) -> Pacer:
    """What is timed; torch is imported only for its own engine.

    Raises
    ------
    ValueError
        with a sentence for a model, a device or a file that cannot be run.
    """
    from core.export.ort_engine import OrtEngine

    run = job.run
    if isinstance(engine, OrtEngine):
        from core.export.ort_pacer import OrtPacer

        return OrtPacer(engine.model(run.model, run.device), cancel)
    from core.run.devices import pick
    from core.run.engine import Engine
    from core.run.pacer import TorchPacer

    assert isinstance(engine, Engine)
    return TorchPacer(engine.model(run.model, *pick(run.device, run.dtype)), cancel)


def _point(pacer: Pacer, job: MeasureJob, length: int, cancel: CancelToken | None) -> MeasuredPoint:
    """The best times at a length: all of it at once, and its last token alone."""
    pacer.prepare(_inputs(pacer.config, job, length))

    def best(what: Callable[[], object]) -> float:
        times = []
        for _ in range(job.repeats + 1):
            if cancel is not None:
                cancel.check()
            started = time.perf_counter()
            what()
            times.append(time.perf_counter() - started)
        return min(times[1:])

    prefill = best(partial(pacer.prefill, length))
    sizes, given = sizes_of(pacer.config), job.run.inputs
    source = 1 if given.source_mask is None else given.source_mask.length
    whole = Workload(length, batch=given.mask.rows, source=source)
    last = replace(whole, length=1, past=length - 1)
    flops, step_flops = (cost(sizes, load).tallies[Quantity.FLOPS].total for load in (whole, last))
    if why_no_generation(pacer.config.family, given.mask.kind):
        return MeasuredPoint(length, prefill, None, flops, 0)
    state = pacer.prefill(length - 1)
    return MeasuredPoint(length, prefill, best(partial(pacer.step, state)), flops, step_flops)


def _inputs(config: ModelConfig, job: MeasureJob, length: int) -> Inputs:
    """Random ids of a length under the plainest mask that reads the same way."""
    given = job.run.inputs
    batch = given.mask.rows
    two = config.family is Family.ENCODER_DECODER
    kind = MaskKind.CAUSAL if given.mask.kind.is_causal else MaskKind.BIDIRECTIONAL
    pads = ((0,) * batch, (0,) * batch)
    spec = MaskSpec(
        MaskKind.DECODER_SELF if two else kind, length, left_pad=pads[0], right_pad=pads[1]
    )
    rows = _ids(config, batch, length)
    if given.source_mask is None or given.cross_mask is None:
        return Inputs(rows, spec)
    source = given.source_mask.length
    read = MaskSpec(MaskKind.ENCODER_SELF, source, left_pad=pads[0], right_pad=pads[1])
    cross = replace(read, kind=MaskKind.CROSS, length=length, source=source)
    return Inputs(rows, spec, _ids(config, batch, source), read, cross)


def _ids(config: ModelConfig, batch: int, length: int) -> tuple[tuple[int, ...], ...]:
    drawn = np.random.default_rng(length).integers(0, config.vocabulary, (batch, length))
    return tuple(tuple(row) for row in drawn.tolist())
