"""The step makes nothing on another device than the one it was given.

Fake tensors on ``meta`` stand for an accelerator: mixing them with a CPU tensor is an error.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import fields, replace

import pytest
import torch
from run_cases import GENERATORS, LAYERS, MODELS, V, config, inputs
from torch._subclasses.fake_tensor import FakeTensorMode

from core.model.attention import Trace
from core.model.transformer import Transformer
from core.run.gradient import climb
from core.run.side_torch import masking_late
from core.run.step import begin, chunk, to_device
from core.types import Stack

META = torch.device("meta")
KNOBS = {"rows": 2, "left_pad": (0, 2), "right_pad": (1, 0), "window": 4}


class Looker:
    """Asks for every trace, so that the capture path runs too."""

    def __init__(self) -> None:
        self.traces: list[Trace] = []

    def before_layer(self, stack: Stack, layer: int) -> None:
        pass

    def wants(self, stack: Stack, layer: int) -> bool:
        return True

    def keep(self, stack: Stack, layer: int, trace: Trace) -> None:
        self.traces.append(trace)


def steps_of(name: str) -> list[int]:
    """Where the chunks end: a prefill and two tokens, or the whole at once."""
    return [5, 6, 7] if name in GENERATORS else [7]


@pytest.mark.parametrize("watched", [False, True], ids=["fast", "captured"])
@pytest.mark.parametrize("name", MODELS)
def test_prefill_and_decode_stay_on_their_device(name: str, watched: bool) -> None:
    knobs = {"prefix": 2} if name in ("prefix", "unified") else {}
    with FakeTensorMode():
        with META:
            model = Transformer(config(name))
        tensors = to_device(inputs(name, 7, **KNOBS, **knobs), META)
        placed = [getattr(tensors, f.name) for f in fields(tensors)]
        assert {t.device.type for t in placed if t is not None} == {"meta"}
        watcher = Looker() if watched else None
        cache, done = begin(model, tensors, watcher), 0
        for stop in steps_of(name):
            logits = chunk(model, tensors, cache, stop, watcher)
            assert logits.shape == (2, stop - done, V)
            assert logits.device.type == "meta"
            assert cache.length == stop
            done = stop
        pairs = [*cache.own.values(), *cache.cross]
        assert {t.device.type for pair in pairs for t in pair} == {"meta"}
        if watcher is not None:
            assert {t.device.type for trace in watcher.traces for t in trace} == {"meta"}


@pytest.mark.parametrize("lost", ["mask", "source_mask", "cross_mask"])
@pytest.mark.parametrize("watched", [False, True], ids=["fast", "captured"])
def test_a_tensor_left_on_the_cpu_would_be_found(lost: str, watched: bool) -> None:
    with FakeTensorMode():
        with META:
            model = Transformer(config("encdec"))
        tensors = to_device(inputs("encdec", 7), META)
        shape = getattr(tensors, lost).shape
        planted = replace(tensors, **{lost: torch.ones(shape, dtype=torch.bool)})
        watcher = Looker() if watched else None
        with pytest.raises(RuntimeError, match="two devices"):
            chunk(model, planted, begin(model, planted, watcher), 7, watcher)


@pytest.mark.parametrize("late", [False, True], ids=["right", "masked late"])
@pytest.mark.parametrize("name", MODELS)
def test_states_and_their_gradients_stay_on_their_device(name: str, late: bool) -> None:
    knobs = {"prefix": 2} if name in ("prefix", "unified") else {}
    with FakeTensorMode():
        with META:
            model = Transformer(config(name))
        tensors = to_device(inputs(name, 7, **KNOBS, **knobs), META)
        given = tensors.ids, tensors.positions, tensors.mask, begin(model, tensors)
        with masking_late(model) if late else nullcontext():
            levels = climb(model.body, *given, tensors.cross_mask, Looker())
        logits = model.head(model.body.norm(levels[-1]))
        gradients = torch.autograd.grad(logits.sum(), levels)
        assert len(levels) == LAYERS + 1
        assert {t.device.type for t in (*levels, *gradients)} == {"meta"}
        assert {tuple(t.shape[:2]) for t in gradients} == {(2, 7)}
