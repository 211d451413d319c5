"""ONNX Runtime on CUDA: its providers, buffers on the device, and half precision; skipped without.

The library must be the one that is built for CUDA, and its libraries must be found.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from export_cases import GENERATORS, NAMES, inputs, request

from core.export.onnx_export import export
from core.export.ort_engine import OrtEngine
from core.export.parity import verify
from core.run.engine import Engine
from core.types import GenerateRequest

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]


@pytest.mark.parametrize("name", NAMES)
def test_the_providers_that_are_told_are_those_that_run(onnx_engine: OrtEngine, name: str) -> None:
    model = onnx_engine.model(name, "cuda")
    assert model.providers[0] == "CUDAExecutionProvider"
    assert model.device == "cuda"
    assert model.missing == ""


@pytest.mark.parametrize("name", GENERATORS)
def test_keys_and_values_stay_on_the_device(onnx_engine: OrtEngine, name: str) -> None:
    model = onnx_engine.model(name, "cuda")
    state = model.begin(1)
    assert state.buffers is not None
    state.buffers.reserve(5)
    assert {value.device_name() for value in state.buffers.values} == {"cuda"}


@pytest.mark.parametrize("name", GENERATORS)
def test_greedy_tokens_are_those_of_torch_on_the_cpu(
    engine: Engine, onnx_engine: OrtEngine, name: str
) -> None:
    run = request(name, inputs(name))
    said = [event.token for event in engine.generate(GenerateRequest(run, max_new_tokens=8))]
    on_gpu = GenerateRequest(request(name, inputs(name), device="cuda"), max_new_tokens=8)
    assert [event.token for event in onnx_engine.generate(on_gpu)] == said


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_parity_passes_on_the_device(models, tmp_path: Path, name: str, dtype: str) -> None:
    files = export(models[name], tmp_path / f"{name}.onnx", name=name, dtype=dtype)
    report = verify(models[name], files.folder / f"{name}.onnx")
    assert report.providers[0] == "CUDAExecutionProvider"
    assert report.passed, report.sentence()
    assert all(np.isfinite(value) for value in report.max_abs.values() if value is not None)
