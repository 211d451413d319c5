"""The steps of a head of an exported model are those of torch, as far as the file tells."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from export_cases import inputs, request

from core.export.ort_engine import OrtEngine
from core.export.ort_stages import NO_VALUES
from core.run.engine import Engine
from core.run.stages import stages
from core.types import HeadRef, Stack, StagesJob


@pytest.mark.parametrize("past", [0, 3])
@pytest.mark.parametrize(
    ("name", "stack"),
    [
        ("encoder", Stack.ENCODER),
        ("decoder", Stack.DECODER),
        ("prefix", Stack.DECODER),
        ("encdec", Stack.ENCODER),
        ("encdec", Stack.DECODER),
        ("encdec", Stack.CROSS),
    ],
)
def test_steps_are_those_of_torch(
    engine: Engine, onnx_engine: OrtEngine, name: str, stack: Stack, past: int
) -> None:
    past = 0 if name == "encoder" else past
    given = inputs(name, 5, rows=2, past=past, left_pad=(0, 1))
    config = engine.model(name, torch.device("cpu"), torch.float32).config
    encoder = config.encoder_layers if name == "encdec" and stack is Stack.ENCODER else 0
    last = (encoder or config.layers) - 1
    for head in (HeadRef(stack, last, 0), HeadRef(stack, 0, config.heads - 1)):
        job = StagesJob(1, request(name, given, row=1), head)
        ours, theirs = stages(engine, job), stages(onnx_engine, job)
        assert np.array_equal(ours.mask, theirs.mask)
        for step in ("scores", "scaled", "weights", "late_weights"):
            np.testing.assert_allclose(getattr(theirs, step), getattr(ours, step), atol=1e-4)
        if stack is Stack.ENCODER:
            assert theirs.output is None
            assert theirs.notes == (NO_VALUES,)
        else:
            np.testing.assert_allclose(theirs.output, ours.output, atol=1e-4)
            assert theirs.notes == ()


def test_a_head_that_is_not_there_gets_a_sentence(onnx_engine: OrtEngine) -> None:
    for head in (HeadRef(Stack.CROSS), HeadRef(Stack.DECODER, 7), HeadRef(Stack.DECODER, 0, 9)):
        with pytest.raises(ValueError, match=f"There is no head {head.head + 1} in"):
            stages(onnx_engine, StagesJob(1, request("decoder"), head))
