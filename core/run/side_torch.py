"""One side of a comparison read on torch: weights, logits, and the states between the layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.model.attention import Attention, attend_late, attend_traced
from core.model.cache import Cache
from core.model.transformer import Transformer
from core.run.cancel import CancelToken
from core.run.capture import Capture
from core.run.checks.torch_subject import TOLERANCES
from core.run.gradient import climb
from core.run.side import SideReading, arrays_of_side, checked
from core.run.step import Tensors
from core.run.validate import out_of_training
from core.types import Inputs, Side, Stack


def read_side(model: Transformer, side: Side, cancel: CancelToken | None = None) -> SideReading:
    """Read the row of a side on the device of the model.

    Raises
    ------
    ValueError
        for inputs that the model cannot run.
    Cancelled
        when ``cancel`` was set.
    """
    inputs = checked(model, side)
    weight, past = model.tokens.weight, side.run.inputs.mask.past
    only = Stack.DECODER if inputs.source_mask is None else None
    capture = Capture(cancel=cancel, scores=side.scores, only=only)
    tensors = _on_device(side, inputs, weight.device)
    fault = masking_late(model) if side.mask_after_softmax else nullcontext()
    with fault, torch.no_grad():
        logits, states = climb_in_chunks(model, tensors, capture, (past,) if past else ())
    note = out_of_training(model, inputs.mask)
    return SideReading(
        logits=_array(logits),
        patterns=capture.patterns,
        states={stack: _array(levels) for stack, levels in states.items()},
        scores=capture.scores,
        tolerance=TOLERANCES[weight.dtype],
        notes=(f"{side.title}: {side.run.model} was {note}.",) if note else (),
    )


def climb_in_chunks(
    model: Transformer, tensors: Tensors, capture: Capture, stops: Sequence[int]
) -> tuple[Tensor, dict[Stack, Tensor]]:
    """Logits ``[N, V]`` and states ``[L + 1, N, width]`` of one row, cached at each of ``stops``.

    The last chunk ends with the row. Any bool masks; the capture sees every layer.
    """
    states: dict[Stack, Tensor] = {}
    cache = Cache()
    if tensors.source_ids is not None:
        assert tensors.source_positions is not None
        assert tensors.source_mask is not None
        source = tensors.source_ids, tensors.source_positions, tensors.source_mask
        levels = climb(model.encoder, *source, Cache(), watcher=capture)
        states[Stack.ENCODER] = torch.cat(levels)
        cache = Cache(cross=model.body.project_memory(model.encoder.norm(levels[-1])))
    parts, cross = [], tensors.cross_mask
    for past, stop in pairwise((0, *stops, tensors.ids.shape[1])):
        levels = climb(
            model.body,
            tensors.ids[:, past:stop],
            tensors.positions[:, past:stop],
            tensors.mask[:, :, past:stop, :stop],
            cache,
            None if cross is None else cross[:, :, past:stop],
            capture,
        )
        parts.append(torch.cat(levels))
    states[Stack.DECODER] = torch.cat(parts, dim=1)
    return model.head(model.body.norm(states[Stack.DECODER][-1])), states


@contextmanager
def masking_late(model: Transformer) -> Iterator[None]:
    """Let a model zero closed weights after the softmax, wherever its attention is traced."""
    parts = [part for part in model.modules() if isinstance(part, Attention)]
    try:
        for part in parts:
            part.attend_traced = attend_late
        yield
    finally:
        for part in parts:
            part.attend_traced = attend_traced


def _on_device(side: Side, inputs: Inputs, device: torch.device) -> Tensors:
    def on(array: NDArray[np.int64] | NDArray[np.bool_]) -> Tensor:
        return torch.as_tensor(array, device=device)

    given = arrays_of_side(side, inputs)
    body = on(given.ids), on(given.positions), on(given.mask)
    if given.source is None or given.cross_mask is None:
        return Tensors(*body)
    source = given.source
    return Tensors(
        *body, on(source.ids), on(source.positions), on(source.mask), on(given.cross_mask)
    )


def _array(values: Tensor) -> NDArray[np.float32]:
    array: NDArray[np.float32] = values.float().cpu().numpy()
    return array
