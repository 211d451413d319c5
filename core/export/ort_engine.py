"""The engine on ONNX Runtime: the contract of `core.run.engine`, from exported files alone.

Torch is never imported. Patterns are not part of the graph: they are computed from its queries and
the cached keys where they are wanted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.export.files import find
from core.export.ort_flow import evidence
from core.export.ort_model import Chunk, OrtModel, State
from core.export.ort_side import read_side
from core.mask.padding import real_tokens
from core.run.arrays import Arrays, arrays_of, likeliest
from core.run.cancel import CancelToken
from core.run.flow import checked, top_stack
from core.run.prompt import appended, one_row, prompt
from core.run.rollout import Evidence
from core.run.sampling import draw
from core.run.side import SideReading
from core.run.surprise import surprise
from core.run.validate import check, check_generates, check_row, out_of_training, room
from core.run.walls import Walls, only_stack
from core.text.special import EOS
from core.types import (
    Family,
    FlowJob,
    GenerateRequest,
    HeadPattern,
    HeadRef,
    HeadRequest,
    Inputs,
    MaskSpec,
    RunRequest,
    RunResult,
    Side,
    Stack,
    StepEvent,
)


@dataclass(frozen=True)
class _Look:
    """Where the patterns of one batch row of a run go."""

    row: int
    only: Stack | None
    walls: Walls

    def at(self, chunk: Chunk) -> None:
        """Keep the patterns of a chunk."""
        for seen in chunk.seen:
            for layer in range(len(seen.queries)):
                key = self.only or seen.stack, layer
                self.walls.patterns.add(key, seen.pattern(layer, self.row))

    def at_memory(self, state: State) -> None:
        """Keep the patterns of an encoder-decoder's encoder."""
        if state.memory is not None:
            self.at(Chunk(np.empty(0, np.float32), (state.memory,)))


class OrtEngine:
    """Runs exported models; not for use from two threads at once.

    ``models`` are the files by the name that a request calls a model, looked up when they are asked
    for; any other name is taken for the path of a file.
    """

    def __init__(self, models: Mapping[str, Path] | None = None) -> None:
        self._paths: Mapping[str, Path] = {} if models is None else models
        self._models: dict[tuple[str, str], OrtModel] = {}
        self._kept: tuple[int, Walls] | None = None

    def model(self, name: str, device: str = "auto") -> OrtModel:
        """A model on a device, opened once; raises ValueError with a sentence if it cannot be."""
        key = (name, device)
        if key not in self._models:
            self._models[key] = OrtModel(*find(self._paths.get(name, Path(name))), device)
        return self._models[key]

    def model_for(self, run: RunRequest) -> OrtModel:
        """The model that a request names, on its device; raises ValueError if it cannot be."""
        model = self.model(run.model, run.device)
        if run.dtype not in ("float32", model.dtype):
            raise ValueError(
                f"dtype is {run.dtype}, but {run.model} was exported in {model.dtype}."
            )
        return model

    def run(self, request: RunRequest, cancel: CancelToken | None = None) -> RunResult:
        """One forward pass: attention of every head and the likeliest tokens at every query row.

        Raises
        ------
        ValueError
            for a file or inputs that cannot be run; the message is a sentence for the user.
        EngineError
            when ONNX Runtime cannot do it.
        Cancelled
            when ``cancel`` was set.
        """
        model, inputs = self.model_for(request), request.inputs
        check(model, inputs, request.row)
        _check_cache(model, inputs.mask)
        started = time.perf_counter()
        given = arrays_of(inputs)
        look = _Look(request.row, only_stack(inputs), Walls())
        spec = inputs.mask
        state = model.begin(spec.rows, given.source, cancel)
        look.at_memory(state)
        if spec.past:
            model.chunk(state, given, spec.past, rows=np.arange(0), cancel=cancel)
        last = model.chunk(state, given, spec.filled, cancel=cancel)
        look.at(last)
        top_ids, top_probs = likeliest(last.logits[request.row], request.top)
        seconds = time.perf_counter() - started
        difference = _difference(model, given, spec, last.logits, cancel)
        self._kept = request.generation, look.walls
        own, cross = _bytes(model, inputs, spec.filled)
        return RunResult(
            generation=request.generation,
            model=request.model,
            device=model.device,
            dtype=model.dtype,
            seconds=seconds,
            maps=look.walls.maps(),
            head=self._pattern(request.head, request.generation),
            top_ids=top_ids,
            top_probs=top_probs,
            surprise=surprise(last.logits[request.row], inputs, request.row),
            cache_bytes=own + cross,
            cross_bytes=cross,
            cache_difference=difference,
            note=out_of_training(model, spec),
            engine=f"ONNX Runtime{model.missing}",
        )

    def head(self, request: HeadRequest) -> HeadPattern | None:
        """Another head of the last run; None if that run is not the one that is meant."""
        if self._kept is None or self._kept[0] != request.generation:
            return None
        return self._pattern(request.head, request.generation)

    def evidence(self, job: FlowJob, cancel: CancelToken | None = None) -> Evidence:
        """What `core.run.flow` is made of; an export computes no gradient, and a note says so."""
        model = self.model_for(job.run)
        inputs = checked(model, job)
        return evidence(
            model,
            arrays_of(inputs),
            top=top_stack(inputs),
            position=job.position,
            depth=job.layer,
            token=job.token,
            cancel=cancel,
        )

    def reading(self, side: Side, cancel: CancelToken | None = None) -> SideReading:
        """What `core.run.compare` is made of; an export hands out no states, and a note says so."""
        model = self.model_for(side.run)
        _check_cache(model, side.run.inputs.mask)
        return read_side(model, side, cancel)

    def logits(self, run: RunRequest, cancel: CancelToken | None = None) -> NDArray[np.float32]:
        """Logits ``[N, V]`` of one batch row over all its columns; errors as in `run`."""
        model = self.model_for(run)
        check(model, run.inputs, run.row)
        inputs = one_row(run.inputs, run.row)
        given = arrays_of(inputs)
        state = model.begin(1, given.source, cancel)
        chunk = model.chunk(state, given, inputs.mask.filled, cancel=cancel)
        logits: NDArray[np.float32] = chunk.logits[0]
        return logits

    def states(self, run: RunRequest, cancel: CancelToken | None = None) -> NDArray[np.float32]:
        """Always refused: a graph hands out logits, queries and keys alone."""
        raise ValueError("An exported model hands out no hidden states: choose torch to see them.")

    def _pattern(self, head: HeadRef, generation: int) -> HeadPattern:
        assert self._kept is not None
        walls = self._kept[1]
        nearest = walls.nearest(head)
        return HeadPattern(generation, nearest, walls.pattern(nearest))

    def generate(
        self, request: GenerateRequest, cancel: CancelToken | None = None
    ) -> Iterator[StepEvent]:
        """Generate token by token after one batch row, with a cache; an event a token.

        Right pads of the row are dropped, and the prompt is prefilled in one piece, as in
        `core.run.engine`.

        Raises
        ------
        ValueError
            if the family or the mask cannot generate, with the reason in a sentence.
        EngineError, Cancelled
            as `run`.
        """
        run = request.run
        model = self.model_for(run)
        check_row(run.inputs, run.row)
        inputs = prompt(run.inputs, run.row)
        check_generates(model, inputs.mask)
        check(model, inputs)
        most = min(request.max_new_tokens, room(model, inputs.mask))
        look = _Look(0, only_stack(inputs), Walls())
        state = model.begin(1, arrays_of(inputs).source, cancel)
        look.at_memory(state)
        self._kept = run.generation, look.walls
        for step in range(most):
            if cancel is not None:
                cancel.check()
            event = self._step(request, model, inputs, state, look, step, cancel)
            yield event
            if event.stopped:
                return
            inputs = appended(inputs, event.token)

    def _step(
        self,
        request: GenerateRequest,
        model: OrtModel,
        inputs: Inputs,
        state: State,
        look: _Look,
        step: int,
        cancel: CancelToken | None,
    ) -> StepEvent:
        started = time.perf_counter()
        given, spec, run = arrays_of(inputs), inputs.mask, request.run
        last = np.array([spec.filled - state.length - 1])
        chunk = model.chunk(state, given, spec.filled, rows=last, cancel=cancel)
        look.at(chunk)
        logits = chunk.logits[0, 0]
        token, probability = draw(logits, request.sampling, spec.real_tokens(0))
        ids, probabilities = likeliest(logits, run.top)
        own, cross = _bytes(model, inputs, spec.filled)
        return StepEvent(
            generation=run.generation,
            step=step,
            token=token,
            probability=probability,
            candidate_ids=ids,
            candidate_probs=probabilities,
            mask_row=given.mask[0, 0, -1],
            cache_length=spec.filled,
            cache_bytes=own + cross,
            cross_bytes=cross,
            seconds=time.perf_counter() - started,
            stopped=token == EOS,
            maps=look.walls.maps(),
            head=self._pattern(run.head, run.generation),
        )


def _check_cache(model: OrtModel, spec: MaskSpec) -> None:
    if spec.past and model.config.family is Family.ENCODER:
        raise ValueError(
            f"past is {spec.past}, but must be 0: an encoder is exported without a cache."
        )


def _bytes(model: OrtModel, inputs: Inputs, length: int) -> tuple[int, int]:
    """Bytes of keys and values of one batch row: of its own text, and of the source."""
    config = model.config
    column = 2 * config.layers * config.kv_heads * config.head_width
    column *= np.dtype(model.floats).itemsize
    source = 0 if inputs.source_mask is None else inputs.source_mask.length
    return column * length, column * source


def _difference(
    model: OrtModel,
    given: Arrays,
    spec: MaskSpec,
    logits: NDArray[np.float32],
    cancel: CancelToken | None,
) -> float | None:
    """Largest absolute difference to the uncached logits over real rows; None without a past."""
    if not spec.past:
        return None
    state = model.begin(spec.rows, given.source, cancel)
    uncached = model.chunk(state, given, spec.filled, cancel=cancel).logits[:, spec.past :]
    apart = np.abs(uncached - logits).max(axis=-1)[real_tokens(spec)[:, spec.past :]]
    return float(apart.max()) if apart.size else 0.0
