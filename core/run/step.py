"""One chunk of one model on one device: the step that running and generating are made of.

Nothing here reads a value back from the device, so the step runs on any device and can be checked
on ``meta`` tensors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from core.mask.dense import dense
from core.mask.padding import position_ids
from core.mask.spec import whole
from core.model.cache import Cache
from core.model.transformer import Transformer, Watcher
from core.types import Inputs


@dataclass(frozen=True)
class Tensors:
    """The whole rows of `Inputs` on a device, cached part and chunk alike.

    ``ids`` and ``positions`` int64 ``[B, N]``, ``mask`` bool ``[B, 1, N, N]`` with
    ``N = past + length``; ``cross_mask`` bool ``[B, 1, N, S]``; the source's own three beside.
    """

    ids: Tensor
    positions: Tensor
    mask: Tensor
    source_ids: Tensor | None = None
    source_positions: Tensor | None = None
    source_mask: Tensor | None = None
    cross_mask: Tensor | None = None


def to_device(inputs: Inputs, device: torch.device) -> Tensors:
    """Ids, position ids and dense masks of ``inputs`` on ``device``."""
    arange = partial(torch.arange, device=device)

    def integers(values: object) -> Tensor:
        return torch.as_tensor(np.asarray(values, np.int64), device=device)

    spec = whole(inputs.mask)
    body = Tensors(integers(inputs.rows), integers(position_ids(spec)), dense(spec, arange))
    if inputs.source_mask is None or inputs.cross_mask is None:
        return body
    return Tensors(
        body.ids,
        body.positions,
        body.mask,
        integers(inputs.source),
        integers(position_ids(inputs.source_mask)),
        dense(inputs.source_mask, arange),
        dense(whole(inputs.cross_mask), arange),
    )


def begin(model: Transformer, tensors: Tensors, watcher: Watcher | None = None) -> Cache:
    """An empty cache, or the encoder's output as every decoder layer's cross keys and values."""
    if tensors.source_ids is None:
        return Cache()
    assert tensors.source_positions is not None
    assert tensors.source_mask is not None
    return model.encode(tensors.source_ids, tensors.source_positions, tensors.source_mask, watcher)


def chunk(
    model: Transformer,
    tensors: Tensors,
    cache: Cache,
    stop: int,
    watcher: Watcher | None = None,
) -> Tensor:
    """Logits ``[B, stop - past, V]`` of the columns from the cache's end up to ``stop``."""
    past = cache.length
    cross = tensors.cross_mask
    logits: Tensor = model(
        tensors.ids[:, past:stop],
        tensors.positions[:, past:stop],
        tensors.mask[:, :, past:stop, :stop],
        cache,
        None if cross is None else cross[:, :, past:stop],
        watcher,
    )
    return logits
