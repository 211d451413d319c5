"""The models that ship: each exports, agrees with torch, and writes the same greedy text."""

from __future__ import annotations

import numpy as np
import pytest

from core.checkpoints import bundled, cards
from core.export.onnx_export import export
from core.export.ort_engine import OrtEngine
from core.export.parity import verify
from core.paths import MODELS
from core.run.engine import Engine
from core.types import (
    Family,
    GenerateRequest,
    HeadRef,
    Inputs,
    MaskKind,
    MaskSpec,
    RunRequest,
    Stack,
)


def request(name: str) -> RunRequest:
    """A prompt of random ids under the model's usual mask."""
    card = cards.card(name)
    rng = np.random.default_rng(1)
    ids, read = (tuple(rng.integers(20, card.vocabulary, n).tolist()) for n in (12, 9))
    spec = MaskSpec(card.kinds[0], len(ids))
    given = Inputs((ids,), spec)
    if card.family is Family.ENCODER_DECODER:
        source_mask = MaskSpec(MaskKind.ENCODER_SELF, len(read))
        cross = MaskSpec(MaskKind.CROSS, len(ids), source=len(read))
        given = Inputs((ids,), spec, (read,), source_mask, cross)
    stack = Stack.DECODER if spec.kind.is_causal else Stack.ENCODER
    return RunRequest(1, name, given, HeadRef(stack), device="cpu")


@pytest.mark.parametrize("name", cards.names())
def test_a_bundled_model_says_the_same_on_both_engines(tmp_path, name) -> None:
    model, out = bundled.load(name), tmp_path / f"{name}.onnx"
    export(model, out, name=name)
    report = verify(model, out)
    assert report.passed, report.sentence()
    asked = request(name)
    engines = Engine(MODELS), OrtEngine({name: out})
    torch_run, onnx_run = (engine.run(asked) for engine in engines)
    assert np.abs(torch_run.head.pattern - onnx_run.head.pattern).max() < 1e-5
    if asked.inputs.mask.kind.is_causal:
        texts = [
            [e.token for e in engine.generate(GenerateRequest(asked, max_new_tokens=48))]
            for engine in engines
        ]
        assert texts[0] == texts[1]
