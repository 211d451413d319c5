"""Torch and ONNX Runtime side by side."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from export_cases import NAMES, inputs, request

from core.export.onnx_export import export
from core.export.ort_engine import OrtEngine
from core.run.compare import compare
from core.run.engine import Engine
from core.types import CompareJob, Comparison, HeadRef, RunRequest, Side, Stack


def compared(engine: Engine, onnx: OrtEngine, a: Side, b: Side) -> Comparison:
    def engine_of(run: RunRequest) -> Engine | OrtEngine:
        return onnx if run.backend == "onnx" else engine

    return compare(engine_of, CompareJob(1, a, b, HeadRef(Stack.DECODER)))


@pytest.mark.parametrize(
    ("name", "past"),
    [(name, past) for name in NAMES for past in (0, 3) if name != "encoder" or not past],
)
def test_torch_and_onnx_part_nowhere(
    engine: Engine, onnx_engine: OrtEngine, name: str, past: int
) -> None:
    run = request(name, inputs(name, 7, past=past))
    sides = Side("torch", run), Side("ONNX", replace(run, backend="onnx"))
    found = compared(engine, onnx_engine, *sides)
    assert found.first is None
    assert found.total_variation.max() < 1e-4
    assert all(apart.max() < 1e-4 for apart in found.attention.values())
    assert found.levels == {}
    assert found.notes == (
        "An exported graph hands out no hidden states, so levels are not compared; choose"
        " torch to see them.",
    )
    top = Stack.ENCODER if name == "encoder" else Stack.DECODER
    assert np.abs(found.patterns[0].sum(axis=1) - 1).max() < 1e-5
    assert found.head.stack is top


def test_fewer_bits_are_a_difference_and_not_rounding(models, tmp_path) -> None:
    for dtype in ("float32", "int8"):
        export(models["decoder"], tmp_path / f"{dtype}.onnx", dtype=dtype)
    engine, run = OrtEngine({}), request("decoder")
    sides = [
        Side(dtype, replace(run, model=str(tmp_path / f"{dtype}.onnx"), backend="onnx"))
        for dtype in ("float32", "int8")
    ]
    assert compared(engine, engine, *sides).first is not None
    assert compared(engine, engine, sides[1], sides[1]).first is None


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ({"mask_after_softmax": True}, "an exported model cannot mask after the softmax"),
        ({"positions": False}, "an exported model cannot leave position ids out"),
    ],
)
def test_a_file_has_no_deliberate_fault(
    engine: Engine, onnx_engine: OrtEngine, fault: dict[str, bool], told: str
) -> None:
    run = replace(request("decoder"), backend="onnx")
    with pytest.raises(ValueError, match=told):
        compared(engine, onnx_engine, Side("A", run), Side("B", run, **fault))
