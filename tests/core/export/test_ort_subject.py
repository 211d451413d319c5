"""An exported model is checked as its torch original is, without torch."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from broken_graphs import blind_to_mask, spoiled
from export_cases import NAMES

from core.export.names import Part
from core.export.onnx_export import export
from core.export.ort_engine import OrtEngine
from core.export.ort_subject import OrtSubject
from core.mask.dense import dense
from core.run.arrays import Arrays, arrays_of
from core.run.checks.engines import subject_of
from core.run.checks.run import check
from core.types import (
    Family,
    HeadRef,
    Inputs,
    MaskKind,
    MaskSpec,
    RunRequest,
    Stack,
    Verdict,
)

IDS = tuple(int(i) for i in np.random.default_rng(5).integers(20, 28, 9))
KIND = {
    Family.ENCODER: MaskKind.BIDIRECTIONAL,
    Family.DECODER: MaskKind.CAUSAL,
    Family.PREFIX: MaskKind.PREFIX,
    Family.ENCODER_DECODER: MaskKind.DECODER_SELF,
}


def inputs(family: Family) -> Inputs:
    prefix = 3 if family is Family.PREFIX else 0
    spec = MaskSpec(KIND[family], len(IDS), prefix=prefix)
    if family is not Family.ENCODER_DECODER:
        return Inputs((IDS,), spec)
    source, cross = MaskSpec(MaskKind.ENCODER_SELF, 5), MaskSpec(MaskKind.CROSS, 9, source=5)
    return Inputs((IDS,), spec, (IDS[:5],), source, cross)


def subject(engine: OrtEngine, name: str, path: Path) -> OrtSubject:
    given = inputs(engine.model(str(path)).config.family)
    run = RunRequest(1, str(path), given, HeadRef(Stack.DECODER), backend="onnx")
    found = subject_of(engine, run)
    assert isinstance(found, OrtSubject)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_sound_export_fails_no_check(onnx_engine: OrtEngine, paths, name: str) -> None:
    model = subject(onnx_engine, name, paths[name])
    report = check(model, inputs(model.config.family))
    assert report.engine == "ONNX Runtime"
    assert report.passed, report.checks
    told = {one.name: one.verdict for one in report.checks}
    assert sum(verdict is Verdict.PASS for verdict in told.values()) >= 4
    assert told["weights"] is Verdict.REFUSED, "they are not those that the graph used"


class VisiblePads(OrtSubject):
    def given(self, inputs: Inputs) -> Arrays:
        rows = inputs.mask.rows
        bare = replace(inputs.mask, left_pad=(0,) * rows, right_pad=(0,) * rows)
        return replace(arrays_of(inputs), mask=dense(bare))


def test_visible_pads_are_caught_and_located(onnx_engine: OrtEngine, paths) -> None:
    name = next(n for n in NAMES if onnx_engine.model(n).config.family is Family.DECODER)
    report = check(VisiblePads(onnx_engine.model(name), name), inputs(Family.DECODER))
    failed = {one.name: one for one in report.checks if one.verdict is Verdict.FAIL}
    assert "padding" in failed
    place = failed["padding"].place
    assert place is not None
    assert (place.stack, place.layer) == (Stack.DECODER, 0)


def test_a_graph_that_ignores_its_mask_is_caught(exported, tmp_path: Path) -> None:
    path = spoiled(exported["decoder"], Part.DECODER, tmp_path, blind_to_mask)
    report = check(subject(OrtEngine({}), "decoder", path), inputs(Family.DECODER))
    failed = {one.name: one for one in report.checks if one.verdict is Verdict.FAIL}
    assert {"boundary", "padding", "documents"} <= set(failed)
    assert failed["boundary"].sentence.endswith("the fault may be in the layer before.")


@pytest.mark.parametrize("name", ["decoder", "prefix"])
def test_8_bits_leak_nothing_from_one_token_to_another(models, tmp_path: Path, name: str) -> None:
    """Rounding has a scale of its own for each token: what is closed moves by exactly nothing."""
    export(models[name], tmp_path / "a.onnx", dtype="int8")
    model = subject(OrtEngine({}), name, tmp_path / "a.onnx")
    report = check(model, inputs(model.config.family), names=("boundary", "padding"))
    assert report.passed, report.checks
    assert report.checks[0].difference == 0.0


def test_an_exported_file_is_checked_without_torch() -> None:
    code = (
        "import sys, core.run.checks.run, core.run.checks.engines, core.export.ort_subject;"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
