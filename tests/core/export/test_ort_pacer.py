"""Exported models are timed too, without changing what they hold."""

from __future__ import annotations

import numpy as np
import pytest
from export_cases import NAMES, inputs, request

from core.export.ort_engine import OrtEngine
from core.export.ort_model import State
from core.run.measure import _inputs, measure, pacer_of
from core.types import MeasureJob


@pytest.mark.parametrize("name", NAMES)
def test_an_exported_model_is_timed(onnx_engine: OrtEngine, name: str) -> None:
    asked = MeasureJob(1, request(name, inputs(name)), (1, 6), repeats=1)
    found = measure(onnx_engine, asked)
    assert [point.length for point in found.points] == [1, 6]
    assert all(point.prefill > 0 for point in found.points)
    assert {point.decode is None for point in found.points} == {name == "encoder"}
    assert found.engine == "ONNX Runtime"


def test_a_step_is_taken_back(onnx_engine: OrtEngine) -> None:
    asked = MeasureJob(1, request("decoder", inputs("decoder")), (6,))
    pacer = pacer_of(onnx_engine, asked)
    pacer.prepare(_inputs(pacer.config, asked, 6))
    state = pacer.prefill(5)
    assert isinstance(state, State)
    assert state.buffers is not None
    before = state.buffers.filled(0).copy()
    pacer.step(state)
    assert state.length == 5
    np.testing.assert_array_equal(state.buffers.filled(0), before)
