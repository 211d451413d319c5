"""Run and generate: the only place for device, dtype and inference mode.

One engine keeps the models it has loaded and the attention of its last run, so that another head is
served without running again. It knows token ids, never text.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.checkpoints import bundled
from core.mask.padding import real_tokens
from core.model.cache import Cache
from core.model.transformer import Transformer
from core.paths import MODELS
from core.run.cancel import CancelToken
from core.run.capture import Capture
from core.run.contract import EngineError
from core.run.devices import pick
from core.run.flow import checked, top_stack
from core.run.gradient import evidence
from core.run.prompt import appended, one_row, prompt
from core.run.rollout import Evidence
from core.run.sampling import draw
from core.run.side import SideReading
from core.run.side_torch import read_side
from core.run.step import Tensors, begin, chunk, to_device
from core.run.surprise import surprise
from core.run.validate import check, check_generates, check_row, out_of_training, room
from core.run.walls import only_stack
from core.text.special import EOS
from core.types import (
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
    StepEvent,
)


@contextmanager
def _memory_told(device: torch.device) -> Iterator[None]:
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError) as error:
        if device.type == "cuda":
            torch.cuda.empty_cache()
        raise EngineError(
            f"{device} ran out of memory; shorten the text, take rows away, or run on the cpu."
        ) from error


@dataclass
class _Kept:
    """The last run: what other heads are served from."""

    generation: int
    capture: Capture


class Engine:
    """Runs the models bundled in ``folder``; not for use from two threads at once."""

    def __init__(self, folder: Path = MODELS) -> None:
        self._folder = folder
        self._models: dict[tuple[str, torch.device, torch.dtype], Transformer] = {}
        self._kept: _Kept | None = None

    def model(self, name: str, device: torch.device, dtype: torch.dtype) -> Transformer:
        """A bundled model on a device, loaded once; raises ValueError for an unknown name."""
        key = (name, device, dtype)
        if key not in self._models:
            with torch.inference_mode(False):  # Weights made inside could have no gradients.
                self._models[key] = bundled.load(name, self._folder).to(device=device, dtype=dtype)
        return self._models[key]

    def run(self, request: RunRequest, cancel: CancelToken | None = None) -> RunResult:
        """One forward pass: attention of every head and the likeliest tokens at every query row.

        Raises
        ------
        ValueError
            for inputs that the model cannot take; the message is a sentence for the user.
        EngineError
            when the device cannot do it.
        Cancelled
            when ``cancel`` was set.
        """
        device, dtype = pick(request.device, request.dtype)
        with _memory_told(device), torch.inference_mode():
            model = self.model(request.model, device, dtype)
            check(model, request.inputs, request.row)
            started = time.perf_counter()
            tensors = to_device(request.inputs, device)
            capture = Capture(request.row, cancel=cancel, only=only_stack(request.inputs))
            silent = Capture(cancel=cancel, layers=())
            logits, cache = _cached_logits(model, tensors, request.inputs.mask, capture, silent)
            logits_row = logits[request.row].float()
            best = logits_row.softmax(-1).topk(min(request.top, logits_row.shape[-1]))
            result_ids = best.indices.cpu().numpy().astype(np.int32)
            seconds = time.perf_counter() - started
            difference = _difference(model, tensors, request.inputs.mask, logits, silent)
        self._kept = _Kept(request.generation, capture)
        return RunResult(
            generation=request.generation,
            model=request.model,
            device=str(device),
            dtype=request.dtype,
            seconds=seconds,
            maps=capture.maps(),
            head=self._pattern(request.head, request.generation),
            top_ids=result_ids,
            top_probs=best.values.cpu().numpy(),
            surprise=surprise(logits_row.cpu().numpy(), request.inputs, request.row),
            cache_bytes=cache.bytes // request.inputs.mask.rows,
            cross_bytes=cache.cross_bytes // request.inputs.mask.rows,
            cache_difference=difference,
            note=out_of_training(model, request.inputs.mask),
            engine="torch",
        )

    def head(self, request: HeadRequest) -> HeadPattern | None:
        """Another head of the last run; None if that run is not the one that is meant."""
        if self._kept is None or self._kept.generation != request.generation:
            return None
        return self._pattern(request.head, request.generation)

    def evidence(self, job: FlowJob, cancel: CancelToken | None = None) -> Evidence:
        """What `core.run.flow` is made of; in float32, as half gradients would overflow."""
        run = job.run
        device, _ = pick(run.device, run.dtype)
        with _memory_told(device):
            model = self.model(run.model, device, torch.float32)
            inputs = checked(model, job)
            return evidence(
                model,
                to_device(inputs, device),
                Capture(cancel=cancel, only=only_stack(inputs)),
                top=top_stack(inputs),
                position=job.position,
                depth=job.layer,
                token=job.token,
            )

    def reading(self, side: Side, cancel: CancelToken | None = None) -> SideReading:
        """What `core.run.compare` is made of; the last run stays the one that heads are of."""
        device, dtype = pick(side.run.device, side.run.dtype)
        with _memory_told(device):
            return read_side(self.model(side.run.model, device, dtype), side, cancel)

    def model_for(self, run: RunRequest) -> Transformer:
        """The model that a request names, on its device; raises ValueError if it cannot be."""
        return self.model(run.model, *pick(run.device, run.dtype))

    def logits(self, run: RunRequest, cancel: CancelToken | None = None) -> NDArray[np.float32]:
        """Logits ``[N, V]`` of one batch row over all its columns; errors as in `run`."""
        device, dtype = pick(run.device, run.dtype)
        with _memory_told(device), torch.inference_mode():
            model = self.model(run.model, device, dtype)
            check(model, run.inputs, run.row)
            inputs = one_row(run.inputs, run.row)
            tensors, silent = to_device(inputs, device), Capture(cancel=cancel, layers=())
            cache = begin(model, tensors, silent)
            found = chunk(model, tensors, cache, inputs.mask.filled, silent)[0].float()
            logits: NDArray[np.float32] = found.cpu().numpy()
            return logits

    def states(self, run: RunRequest, cancel: CancelToken | None = None) -> NDArray[np.float32]:
        """Hidden states ``[B, N, width]`` of whole rows after the last norm; errors as in `run`.

        Those of its source where the model is an encoder-decoder.
        """
        device, dtype = pick(run.device, run.dtype)
        with _memory_told(device), torch.inference_mode():
            model = self.model(run.model, device, dtype)
            check(model, run.inputs, run.row)
            read, silent = to_device(run.inputs, device), Capture(cancel=cancel, layers=())
            if read.source_ids is None:
                found = model.body(read.ids, read.positions, read.mask, watcher=silent)
            else:
                ids, positions, mask = read.source_ids, read.source_positions, read.source_mask
                found = model.encoder(ids, positions, mask, watcher=silent)
            states: NDArray[np.float32] = found.float().cpu().numpy()
            return states

    def _pattern(self, head: HeadRef, generation: int) -> HeadPattern:
        assert self._kept is not None
        nearest = self._kept.capture.nearest(head)
        return HeadPattern(generation, nearest, self._kept.capture.pattern(nearest))

    def generate(
        self, request: GenerateRequest, cancel: CancelToken | None = None
    ) -> Iterator[StepEvent]:
        """Generate token by token after one batch row, with a cache; an event a token.

        Right pads of the row are dropped: a token follows the last real one. The prompt is
        prefilled in one piece, whatever ``past`` says.

        Raises
        ------
        ValueError
            if the family or the mask cannot generate, with the reason in a sentence.
        EngineError, Cancelled
            as `run`.
        """
        run = request.run
        device, dtype = pick(run.device, run.dtype)
        with _memory_told(device):
            model = self.model(run.model, device, dtype)
            check_row(run.inputs, run.row)
            inputs = prompt(run.inputs, run.row)
            check_generates(model, inputs.mask)
            check(model, inputs)
            most = min(request.max_new_tokens, room(model, inputs.mask))
            capture = Capture(cancel=cancel, only=only_stack(inputs))
            with torch.inference_mode():
                cache = begin(model, to_device(inputs, device), capture)
            self._kept = _Kept(run.generation, capture)
            for step in range(most):
                if cancel is not None:
                    cancel.check()
                event = self._step(request, model, inputs, cache, capture, step)
                yield event
                if event.stopped:
                    return
                inputs = appended(inputs, event.token)

    def _step(
        self,
        request: GenerateRequest,
        model: Transformer,
        inputs: Inputs,
        cache: Cache,
        capture: Capture,
        step: int,
    ) -> StepEvent:
        """Read what the cache has not read yet, and draw the next token."""
        run, spec, started = request.run, inputs.mask, time.perf_counter()
        with torch.inference_mode():
            tensors = to_device(inputs, model.tokens.weight.device)
            logits = chunk(model, tensors, cache, spec.filled, capture)[0, -1].float()
            token, probability = draw(logits.cpu().numpy(), request.sampling, spec.real_tokens(0))
            best = logits.softmax(-1).topk(min(run.top, logits.numel()))
        return StepEvent(
            generation=run.generation,
            step=step,
            token=token,
            probability=probability,
            candidate_ids=best.indices.cpu().numpy().astype(np.int32),
            candidate_probs=best.values.cpu().numpy(),
            mask_row=tensors.mask[0, 0, -1].cpu().numpy(),
            cache_length=cache.length,
            cache_bytes=cache.bytes,
            cross_bytes=cache.cross_bytes,
            seconds=time.perf_counter() - started,
            stopped=token == EOS,
            maps=capture.maps(),
            head=self._pattern(run.head, run.generation),
        )


def _cached_logits(
    model: Transformer, tensors: Tensors, spec: MaskSpec, capture: Capture, silent: Capture
) -> tuple[Tensor, Cache]:
    """Prefill the first ``past`` columns, then run the chunk and look on."""
    cache = begin(model, tensors, capture)
    if spec.past:
        chunk(model, tensors, cache, spec.past, silent)
    return chunk(model, tensors, cache, spec.filled, capture), cache


def _difference(
    model: Transformer, tensors: Tensors, spec: MaskSpec, logits: Tensor, silent: Capture
) -> float | None:
    """Largest absolute difference to the uncached logits over real rows; None without a past."""
    if not spec.past:
        return None
    uncached = chunk(model, tensors, begin(model, tensors, silent), spec.filled, silent)
    real = torch.as_tensor(real_tokens(spec)[:, spec.past :], device=logits.device)
    apart = (uncached[:, spec.past :] - logits).abs().amax(dim=-1)[real]
    return float(apart.max()) if apart.numel() else 0.0
