"""Parity passes for what was exported, and fails for graphs that were broken on purpose."""

from __future__ import annotations

import itertools
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from broken_graphs import blind_to_mask, frozen_causal, negated, not_a_number, off_by_one, spoiled
from export_cases import NAMES, random_model
from onnx import TensorProto, numpy_helper

from core.export.files import find
from core.export.names import Part, parts_of
from core.export.onnx_export import export
from core.export.parity import verify
from core.export.parity_cases import cases
from core.run.cancel import Cancelled, CancelToken
from core.types import BOUNDS, LOSSY_BOUNDS, Family, MaskKind, MaskSpec, ParityReport

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", NAMES)
def test_every_family_passes(exported, models, paths, name) -> None:
    report = verify(models[name], paths[name])
    assert report.passed, report.sentence()
    assert len(report.cases) >= 20
    assert report.greedy_equal
    for kind, found in report.max_abs.items():
        assert found is None or 0 < found <= BOUNDS[kind]
    compared = {"logits", "attention"} if name == "encoder" else set(BOUNDS)
    assert {kind for kind, found in report.max_abs.items() if found is not None} == compared
    assert all(f" {kind} " in report.sentence() for kind in compared)
    assert report.providers[-1] == "CPUExecutionProvider"
    assert report.sentence().startswith("parity PASS in ")
    plain = json.loads(exported[name].parity.read_text())
    assert list(plain) == [
        "verdict", "max_abs", "greedy_equal", "cases", "providers", "versions",
    ]  # fmt: skip
    assert plain["verdict"] == "PASS"
    assert plain["max_abs"] == report.max_abs
    assert set(plain["versions"]) == {"maskscope", "torch", "onnx", "onnxruntime"}


@pytest.mark.parametrize("name", NAMES)
def test_the_cases_are_many_and_various(models, name) -> None:
    config = models[name].config
    found = list(cases(config))
    assert len(found) >= 20
    assert len({case.given.ids.shape for case in found}) > 8
    assert max(case.given.ids.shape[1] for case in found) > 100
    masks = [case.given.mask for case in found]
    assert any((~mask.any(axis=-1)).any() for mask in masks), "no row that may read nothing"
    assert any(np.triu(mask[0, 0], 1).any() for mask in masks), "nothing but causal masks"
    assert any(mask.shape[1] == config.heads for mask in masks)
    if config.family is not Family.ENCODER:
        assert max(len(case.stops) for case in found) == 3
    for case in found:
        given, length = case.given, case.given.ids.shape[1]
        assert case.stops[-1] == length
        assert given.mask.shape[2:] == (length, length)
        assert given.positions.max() < config.positions
        past = 0
        for stop in case.stops:
            assert not given.mask[:, :, past:stop, stop:].any(), "reads what is not there yet"
            past = stop
        if name == "encdec":
            assert given.source is not None
            assert given.cross_mask is not None


def test_a_seed_gives_the_same_cases_again(models) -> None:
    config = models["decoder"].config
    for one, same, other in zip(*(cases(config, seed=s) for s in (1, 1, 2)), strict=True):
        assert np.array_equal(one.given.ids, same.given.ids)
        assert one.stops == same.stops
        small = one.given.ids.size < 4
        assert small or not np.array_equal(one.given.ids, other.given.ids)


def failed(model, path: Path) -> ParityReport:
    report = verify(model, path)
    assert report.verdict == "FAIL"
    bad = next(case for case in report.cases if not case.passed)
    assert f"the first that fails is '{bad.name}' ({bad.batch} x {bad.length} tok" in (
        report.sentence()
    )
    written = json.loads(path.with_suffix(".parity.json").read_text())
    assert written["verdict"] == "FAIL"
    return report


@pytest.mark.parametrize(
    ("name", "part"),
    [("encoder", Part.ENCODER), ("decoder", Part.DECODER), ("encdec", Part.MEMORY),
     ("encdec", Part.TARGET)],
)  # fmt: skip
@pytest.mark.parametrize("spoil", [negated, off_by_one, frozen_causal, blind_to_mask])
def test_a_broken_graph_fails(exported, models, tmp_path, name, part, spoil) -> None:
    report = failed(models[name], spoiled(exported[name], part, tmp_path, spoil))
    assert sum(not case.passed for case in report.cases) >= 2


def test_what_is_not_a_number_fails(exported, models, tmp_path) -> None:
    path = spoiled(exported["decoder"], Part.DECODER, tmp_path, not_a_number)
    report = failed(models["decoder"], path)
    logits = report.max_abs["logits"]
    assert logits is not None
    assert math.isnan(logits)
    assert "logits not a number" in report.sentence()
    assert json.loads(find(path)[0].parity.read_text())["max_abs"]["logits"] is None


def test_a_file_of_another_model_is_refused(models, paths) -> None:
    with pytest.raises(ValueError, match="was exported from another model: encoder"):
        verify(models["decoder"], paths["encoder"])


def test_other_weights_fail(models, exported, tmp_path) -> None:
    for path in exported["decoder"].folder.glob("decoder.*"):
        shutil.copyfile(path, tmp_path / path.name)
    failed(random_model("decoder", seed=1), tmp_path / "decoder.onnx")


def test_a_cancel_stops_between_two_cases(models, paths, exported) -> None:
    exported["decoder"].parity.unlink(missing_ok=True)
    token, told = CancelToken(), []

    def progress(sentence: str, share: float) -> None:
        told.append(sentence)
        token.cancel()

    with pytest.raises(Cancelled):
        verify(models["decoder"], paths["decoder"], progress=progress, cancel=token)
    assert told == ["comparing with torch: length"]
    assert not exported["decoder"].parity.exists()


@pytest.mark.parametrize("dtype", LOSSY_BOUNDS)
def test_what_is_lossy_passes_under_bounds_of_its_own(models, tmp_path, dtype) -> None:
    out = tmp_path / "lossy.onnx"
    files = export(models["decoder"], out, dtype=dtype)
    report = verify(models["decoder"], out)
    assert report.passed, report.sentence()
    for kind, bound in LOSSY_BOUNDS[dtype].items():
        found = report.max_abs[kind]
        assert found is not None
        assert BOUNDS[kind] < found <= bound
    told = f"; {dtype} is lossy, and these are its errors"
    assert report.sentence().endswith(told)
    place = tmp_path / "spoiled"
    place.mkdir()
    failed(models["decoder"], spoiled(files, Part.DECODER, place, negated))


def test_weights_of_8_bits_are_bytes_and_the_header_stays(models, tmp_path) -> None:
    files = export(models["prefix"], tmp_path / "a.onnx", dtype="int8")
    model = onnx.load(files.graph(Part.DECODER))
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    products = [node for node in model.graph.node if node.op_type.startswith("MatMul")]
    config = models["prefix"].config
    assert len(products) == 4 * config.layers + 1, "the output matrix is one of them"
    assert {node.op_type for node in products} == {"MatMulNBits"}
    assert {weights[node.input[1]].data_type for node in products} == {onnx.TensorProto.UINT8}
    assert {p.key.split(".")[0] for p in model.metadata_props} == {"maskscope"}
    assert model.producer_name == "maskscope"


def test_a_weight_of_8_bits_is_within_half_a_step(models, tmp_path) -> None:
    """Read block by block, as ONNX Runtime documents MatMulNBits: ``(byte - 128) * scale``."""
    files = export(models["prefix"], tmp_path / "a.onnx", dtype="int8")
    graph = onnx.load(files.graph(Part.DECODER)).graph
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    head = [node for node in graph.node if node.op_type == "MatMulNBits"][-1]
    table = models["prefix"].body.embedding.tokens.weight.detach().numpy()  # Tied.
    stored, scales = held[head.input[1]].astype(np.int64), held[head.input[2]]
    scales = scales.reshape(len(table), -1)
    for row, column in itertools.product(range(0, len(table), 97), range(table.shape[1])):
        block, place = divmod(column, stored.shape[2])
        scale = float(scales[row, block])
        found = (stored[row, block, place] - 128) * scale
        assert abs(found - table[row, column]) <= abs(scale) * (0.5 + 1e-5)


@pytest.mark.parametrize("name", ["prefix", "encdec"])
def test_embeddings_of_8_bits_are_within_half_a_step(models, tmp_path, name: str) -> None:
    """The rows that a graph looks up, against the rows of the model."""
    files = export(models[name], tmp_path / "a.onnx", dtype="int8")
    stacks = {Part.TARGET: "body", Part.MEMORY: "encoder", Part.DECODER: "body"}
    for part in parts_of(models[name].config):
        graph = onnx.load(files.graph(part)).graph
        held = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        embedding = getattr(models[name], stacks[part]).embedding
        tables = [
            table.weight.detach().numpy() for table in (embedding.tokens, embedding.positions)
        ]
        stored = [name.removesuffix(".bytes") for name in held if name.endswith(".bytes")]
        assert len(stored) == len(tables)
        for row in stored:
            scales = held[f"{row}.scales"]
            found = ((held[f"{row}.bytes"].astype(np.float32) - 128) * scales).reshape(
                len(scales), -1
            )
            (table,) = (one for one in tables if one.shape == found.shape)
            steps = np.abs(found - table).reshape(*scales.shape[:2], -1) / scales
            assert steps.max() <= 0.5 + 1e-4
        floats = [t for t in graph.initializer if t.data_type == TensorProto.FLOAT]
        assert not [t.name for t in floats if len(t.dims) == 2 and min(t.dims) > 2]


def test_writing_8_bits_leaves_the_logging_of_the_process_alone() -> None:
    code = (
        "import logging\n"
        "from core.export import quantise\n"
        "quantise._quantizer()\n"
        "assert not logging.getLogger().handlers and logging.getLogger().level == logging.WARNING\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stderr


def test_a_fixed_mask_is_compared_on_random_ids(models, tmp_path) -> None:
    out = tmp_path / "fixed.onnx"
    export(models["encoder"], out, fixed_mask=MaskSpec(MaskKind.BIDIRECTIONAL, 7, right_pad=(2,)))
    report = verify(models["encoder"], out)
    assert report.passed, report.sentence()
    assert len(report.cases) >= 20
    assert [kind for kind, found in report.max_abs.items() if found is not None] == ["logits"]
    model = onnx.load(out)
    masks = [w for w in model.graph.initializer if w.data_type == onnx.TensorProto.BOOL]
    (mask,) = masks
    mask.CopyFrom(numpy_helper.from_array(~numpy_helper.to_array(mask), mask.name))
    onnx.save(model, out)
    failed(models["encoder"], out)


def test_each_fixed_mask_of_an_encoder_decoder_is_compared(models, tmp_path) -> None:
    """Three masks of three sizes; with any of them inverted the parity fails."""
    out = tmp_path / "fixed.onnx"
    source = MaskSpec(MaskKind.ENCODER_SELF, 7, right_pad=(2,))
    own = MaskSpec(MaskKind.DECODER_SELF, 5, left_pad=(1,))
    export(models["encdec"], out, fixed_mask=own, source_mask=source)
    report = verify(models["encdec"], out)
    assert report.passed, report.sentence()
    assert len(report.cases) >= 20
    assert [kind for kind, found in report.max_abs.items() if found is not None] == ["logits"]
    model = onnx.load(out)
    masks = [w for w in model.graph.initializer if w.data_type == onnx.TensorProto.BOOL]
    assert sorted(tuple(mask.dims[2:]) for mask in masks) == [(5, 5), (5, 7), (7, 7)]
    for mask in masks:
        right = numpy_helper.to_array(mask)
        mask.CopyFrom(numpy_helper.from_array(~right, mask.name))
        onnx.save(model, out)
        failed(models["encdec"], out)
        mask.CopyFrom(numpy_helper.from_array(right, mask.name))
