"""What one head of a `Transformer` works with, taken from a run."""

from __future__ import annotations

import torch

from core.model.cache import Cache
from core.model.transformer import Transformer
from core.run.cancel import CancelToken
from core.run.capture import Capture
from core.run.stages import HeadParts
from core.run.step import Tensors, begin, chunk, to_device
from core.run.validate import check
from core.run.walls import only_stack
from core.types import Inputs, Stack, StagesJob


def head_parts(
    model: Transformer, job: StagesJob, device: torch.device, cancel: CancelToken | None = None
) -> HeadParts:
    """Run once, and keep one head of the chunk; errors as in `core.run.stages.stages`."""
    inputs, row, head = job.run.inputs, job.run.row, job.head
    check(model, inputs, row)
    key = (head.stack, head.layer)
    seen = Capture(row, cancel=cancel, layers=(key,), scores=True, only=only_stack(inputs))
    tensors = to_device(inputs, device)
    with torch.inference_mode():
        cache = _run(model, inputs, tensors, head.stack, seen)
        weights = seen.pattern(head)
        held = cache.cross[head.layer] if head.stack is Stack.CROSS else cache.own[head.layer]
        own = head.head * model.config.kv_heads // model.config.heads
        values = held[1][row, own].float().cpu().numpy()
    mask = _mask(tensors, inputs, head.stack)[row, 0].cpu().numpy()
    scaled = seen.scores[key][head.head]
    return HeadParts(scaled, mask, weights, values, model.config.head_width)


def _run(
    model: Transformer, inputs: Inputs, tensors: Tensors, stack: Stack, seen: Capture
) -> Cache:
    """Run what the stack needs; the cache holds the values that its heads read."""
    if tensors.source_ids is not None and stack is Stack.ENCODER:
        cache = Cache()
        read = (tensors.source_ids, tensors.source_positions, tensors.source_mask)
        model.encoder(*read, cache, watcher=seen)
        return cache
    silent = Capture(layers=())
    cache, spec = begin(model, tensors, silent), inputs.mask
    if spec.past:
        chunk(model, tensors, cache, spec.past, silent)
    chunk(model, tensors, cache, spec.filled, seen)
    return cache


def _mask(tensors: Tensors, inputs: Inputs, stack: Stack) -> torch.Tensor:
    """The mask of the stack's queries, bool ``[B, 1, Tq, S]``."""
    past = inputs.mask.past
    if tensors.source_mask is not None and stack is Stack.ENCODER:
        return tensors.source_mask
    if tensors.cross_mask is not None and stack is Stack.CROSS:
        return tensors.cross_mask[:, :, past:]
    return tensors.mask[:, :, past:]
