from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from export_cases import NAMES, SIZES, V, random_model

from core.export import onnx_export
from core.export.files import Files, digest, find, read_header, read_tokenizer
from core.export.names import Part, parts_of
from core.export.onnx_export import ExportError, export
from core.export.ort_engine import OrtEngine
from core.mask.dense import dense
from core.mask.padding import position_ids
from core.mask.reference import reference_mask, reference_positions
from core.model.transformer import Transformer
from core.paths import TOKENIZER
from core.run.cancel import Cancelled, CancelToken
from core.types import MaskKind, MaskSpec

ENCODER_INPUTS = ["input_ids", "position_ids", "attention_mask", "logits_positions"]
PAST = ["past.0.key", "past.0.value", "past.1.key", "past.1.value"]
CROSS = [name.replace("past", "cross") for name in PAST]
PRESENT = [name.replace("past", "present") for name in PAST]
DECODER_INPUTS = [*ENCODER_INPUTS, "write_indices", *PAST]
QUERIES, KEYS = ["query.0", "query.1"], ["key.0", "key.1"]
NAMES_OF = {
    ("encoder", Part.ENCODER): (ENCODER_INPUTS, ["logits", *QUERIES, *KEYS]),
    ("decoder", Part.DECODER): (DECODER_INPUTS, ["logits", *PRESENT, *QUERIES]),
    ("encdec", Part.MEMORY): (ENCODER_INPUTS[:3], [*CROSS, "query.0", "key.0"]),
    ("encdec", Part.TARGET): (
        [*DECODER_INPUTS, "memory_mask", *CROSS],
        ["logits", *PRESENT, *QUERIES, "cross_query.0", "cross_query.1"],
    ),
}


def load(files: Files, part: Part) -> onnx.ModelProto:
    return onnx.load(files.graph(part))


@pytest.mark.parametrize(("name", "part"), NAMES_OF)
def test_inputs_and_outputs_have_the_documented_names(exported, name, part) -> None:
    graph = load(exported[name], part).graph
    inputs, outputs = NAMES_OF[name, part]
    assert [value.name for value in graph.input] == inputs
    assert [value.name for value in graph.output] == outputs


def test_axes_that_vary_have_names(exported) -> None:
    graph = load(exported["decoder"], Part.DECODER).graph
    found = {
        value.name: [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
        for value in (*graph.input, *graph.output)
    }
    assert found["input_ids"] == ["batch", "seq"]
    assert found["attention_mask"] == ["batch", "mask_heads", "seq", "capacity"]
    assert found["past.0.key"] == ["batch", 2, "capacity", 4]
    assert found["present.1.value"] == ["batch", 2, "capacity", 4]
    assert found["query.0"] == ["batch", 4, "seq", 4]
    assert found["logits"] == ["batch", "rows", V]


@pytest.mark.parametrize("name", NAMES)
def test_attention_is_one_node_and_knows_no_family(exported, models, name) -> None:
    config = models[name].config
    for part in parts_of(config):
        model = load(exported[name], part)
        assert [(o.domain, o.version) for o in model.opset_import if not o.domain] == [("", 24)]
        layers = config.encoder_layers if part is Part.MEMORY else config.layers
        count = Counter(node.op_type for node in model.graph.node)
        assert count["Attention"] == layers * (2 if part is Part.TARGET else 1)
        assert count["Softmax"] == 0
        for node in model.graph.node:
            assert node.op_type != "Attention" or not node.attribute, "the mask says it all"


@pytest.mark.parametrize("name", NAMES)
def test_a_file_tells_nothing_of_where_it_was_made(exported, models, name) -> None:
    for part in parts_of(models[name].config):
        model = load(exported[name], part)
        assert all(not node.metadata_props and not node.doc_string for node in model.graph.node)
        del model.graph.initializer[:]
        content = model.SerializeToString()
        for word in (b".py", b"site-packages", b"Traceback", b"/core/"):
            assert word not in content


@pytest.mark.parametrize("name", NAMES)
def test_a_file_says_what_it_is(exported, models, name) -> None:
    files, config = exported[name], models[name].config
    for part in parts_of(config):
        header = read_header(files.graph(part))
        assert (header.model, header.part, header.config) == (name, part, config)
        assert (header.dtype, header.mask) == ("float32", None)
        assert header.tokenizer_sha256 == digest(TOKENIZER)
        plain = {p.key: p.value for p in load(files, part).metadata_props}
        assert plain["maskscope.format"] == "1"
        assert plain["maskscope.family"] == SIZES[name][0].value
        assert plain["maskscope.kinds"] == SIZES[name][1].value
    assert read_tokenizer(files, header).encode("cat")


def test_the_live_model_stays_as_it_is(tmp_path) -> None:
    """Some parts in training mode, some parameters frozen; the exporter gets a copy."""
    model = random_model("decoder")
    model.body.blocks[0].train()
    model.bias.requires_grad_(False)

    def state() -> list[object]:
        return [
            *((module.training,) for module in model.modules()),
            *((p.data_ptr(), p.requires_grad, p.dtype) for p in model.parameters()),
        ]

    before, weights = state(), [p.detach().clone() for p in model.parameters()]
    export(model, tmp_path / "a.onnx", dtype="float16")
    assert state() == before
    assert all(map(torch.equal, weights, model.parameters()))


class Broken(Exception):
    pass


def fails(*_: object, **__: object) -> None:
    raise Broken


@pytest.mark.parametrize("name", ["decoder", "encdec"])
@pytest.mark.parametrize("where", ["torch.onnx.export", "_save", "_verify", "_place"])
def test_older_files_survive_a_failed_export(tmp_path, monkeypatch, models, name, where) -> None:
    if "." in where:
        monkeypatch.setattr(where, fails)
    else:
        monkeypatch.setattr(onnx_export, "_traced", lambda *_: None)
        monkeypatch.setattr(onnx_export, "_save", lambda _, path, __: path.write_text("new"))
        monkeypatch.setattr(onnx_export, "_verify", lambda *_: None)
        monkeypatch.setattr(onnx_export, where, fails)
    old = {tmp_path / f"a{end}" for end in (".onnx", ".encoder.onnx", ".decoder.onnx")}
    old |= {tmp_path / "a.tokenizer.json", tmp_path / "a.parity.json"}
    for path in old:
        path.write_text("old")
    with pytest.raises(Broken):
        export(models[name], tmp_path / "a.onnx")
    assert set(tmp_path.iterdir()) == old
    assert {path.read_text() for path in old} == {"old"}


def test_a_cancel_leaves_nothing(tmp_path, models) -> None:
    token, told = CancelToken(), []

    def progress(sentence: str, share: float) -> None:
        told.append((sentence, share))
        token.cancel()

    with pytest.raises(Cancelled):
        export(models["decoder"], tmp_path / "a.onnx", progress=progress, cancel=token)
    assert told == [("exporting a.onnx", 0.0)]
    assert not list(tmp_path.iterdir())


def test_a_new_export_replaces_the_old_one_and_its_report(tmp_path, models, exported) -> None:
    old = exported["encoder"].graph(Part.ENCODER)
    out, report, shares = tmp_path / "a.onnx", tmp_path / "a.parity.json", []
    shutil.copyfile(old, out)
    report.write_text("of the old file")
    export(models["decoder"], out, progress=lambda _, share: shares.append(share))
    assert read_header(out).part is Part.DECODER
    assert not report.exists()
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)


def test_an_invalid_graph_is_not_moved_into_place(tmp_path, models, monkeypatch) -> None:
    wrong = onnx.helper.make_node("NoSuchOperator", ["x"], ["y"])

    def spoil(_: object, path: Path, __: object) -> None:
        graph = onnx.helper.make_graph([wrong], "g", [], [])
        onnx.save(onnx.helper.make_model(graph), path)

    monkeypatch.setattr(onnx_export, "_traced", lambda *_: None)
    monkeypatch.setattr(onnx_export, "_save", spoil)
    with pytest.raises(ExportError, match=r"a\.onnx was made, but is not valid ONNX"):
        export(models["decoder"], tmp_path / "a.onnx")
    assert not list(tmp_path.iterdir())


def test_a_graph_with_other_names_or_shapes_is_refused(exported, models) -> None:
    path = exported["decoder"].graph(Part.DECODER)
    other = onnx_export.signature(models["encoder"].config, Part.ENCODER)
    with pytest.raises(ExportError, match=r"decoder\.onnx has .*write_indices"):
        onnx_export._verify(path, other)
    wider = onnx_export.signature(models["encdec"].config, Part.DECODER)
    with pytest.raises(ExportError, match=r"past\.0\.key .* has shape"):
        onnx_export._verify(path, wider)


def test_large_weights_go_to_a_file_of_their_own(tmp_path, models, monkeypatch) -> None:
    from export_cases import request

    monkeypatch.setattr(onnx_export, "EXTERNAL_OVER", 0)
    files = export(models["prefix"], tmp_path / "big.onnx")
    data = tmp_path / "big.onnx.data"
    assert data.stat().st_size > files.graph(Part.DECODER).stat().st_size / 4
    OrtEngine({"prefix": tmp_path / "big.onnx"}).run(request("prefix"))
    data.rename(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match=r"keeps its weights in big\.onnx\.data, which is not"):
        find(tmp_path / "big.onnx")


@pytest.fixture(scope="module")
def fixed(models, tmp_path_factory) -> tuple[Path, MaskSpec]:
    spec = MaskSpec(MaskKind.CAUSAL, 9, left_pad=(2,), window=3, documents=(4, 3))
    out = tmp_path_factory.mktemp("fixed") / "fixed.onnx"
    export(models["decoder"], out, fixed_mask=spec)
    return out, spec


def test_a_fixed_mask_leaves_the_ids_as_the_only_input(fixed, models) -> None:
    path, spec = fixed
    assert read_header(path).mask == spec
    session = onnxruntime.InferenceSession(path)
    assert [(i.name, i.shape) for i in session.get_inputs()] == [("input_ids", ["batch", 9])]
    rows = np.random.default_rng(0).integers(0, V, (3, 9))
    (found,) = session.run(None, {"input_ids": rows})
    positions, mask = torch.from_numpy(position_ids(spec)), torch.from_numpy(dense(spec))
    with torch.inference_mode():
        expected = models["decoder"](torch.from_numpy(rows), positions, mask)
    assert np.abs(found - expected.numpy()).max() < 5e-5


def test_a_fixed_mask_cannot_be_run_under_another(fixed) -> None:
    with pytest.raises(ValueError, match="has its mask built in"):
        OrtEngine().model(str(fixed[0]))


OWN = MaskSpec(MaskKind.DECODER_SELF, 6, left_pad=(2,), window=3)
SOURCE = MaskSpec(MaskKind.ENCODER_SELF, 8, left_pad=(1,), right_pad=(2,), window=4)


@pytest.fixture(scope="module")
def fixed_pair(models, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("pair") / "pair.onnx"
    export(models["encdec"], out, fixed_mask=OWN, source_mask=SOURCE)
    return out


def test_the_fixed_masks_of_an_encoder_decoder_leave_two_texts(fixed_pair, models) -> None:
    """Against the model itself, which is given the three masks as loops make them."""
    session = onnxruntime.InferenceSession(fixed_pair)
    shapes = {i.name: i.shape for i in session.get_inputs()}
    assert shapes == {"source_ids": ["batch", 8], "input_ids": ["batch", 6]}
    rng = np.random.default_rng(0)
    read, rows = rng.integers(0, V, (3, 8)), rng.integers(0, V, (3, 6))
    (found,) = session.run(None, {"source_ids": read, "input_ids": rows})
    own, source = (torch.from_numpy(reference_mask(spec))[:, None] for spec in (OWN, SOURCE))
    cross = torch.zeros(1, 1, 6, 8, dtype=torch.bool)
    cross[..., 1:6] = True
    with torch.inference_mode():
        positions = (torch.from_numpy(reference_positions(spec)) for spec in (OWN, SOURCE))
        own_positions, source_positions = positions
        model = models["encdec"]
        cache = model.encode(torch.from_numpy(read), source_positions, source)
        wanted = model(torch.from_numpy(rows), own_positions, own, cache, cross)
    assert np.abs(found - wanted.numpy()).max() < 5e-5


def test_the_header_keeps_all_three_masks(fixed_pair) -> None:
    header = read_header(fixed_pair)
    assert (header.part, header.mask, header.source_mask) == (Part.FIXED, OWN, SOURCE)
    cross = MaskSpec(MaskKind.CROSS, 6, source=8, left_pad=(1,), right_pad=(2,))
    assert header.cross_mask == cross
    assert find(fixed_pair)[1] == header
    with pytest.raises(ValueError, match="has its mask built in"):
        OrtEngine().model(str(fixed_pair))


CAUSAL = MaskSpec(MaskKind.CAUSAL, 4)


@pytest.mark.parametrize(
    ("name", "changes", "told"),
    [
        ("decoder", {"dtype": "bfloat16"}, "dtype is 'bfloat16', but must be one of float32"),
        ("decoder", {"opset": 18}, "opset is 18, but must be 24 or 25"),
        ("decoder", {"opset": 26}, "opset is 26"),
        ("encdec", {"fixed_mask": CAUSAL}, "needs source_mask beside it"),
        ("decoder", {"fixed_mask": CAUSAL, "source_mask": CAUSAL}, "an encoder-decoder alone"),
        ("encdec", {"source_mask": CAUSAL}, "source_mask goes with fixed_mask"),
        (
            "encdec",
            {"fixed_mask": CAUSAL, "source_mask": MaskSpec(MaskKind.ENCODER_SELF, 151)},
            "has 151 tokens, but the model has 150 posi",
        ),
        ("decoder", {"fixed_mask": MaskSpec(MaskKind.CAUSAL, 2, past=1)}, "without past"),
        ("decoder", {"fixed_mask": MaskSpec(MaskKind.CROSS, 2, source=3)}, "self-attention"),
        ("decoder", {"fixed_mask": MaskSpec(MaskKind.CAUSAL, 151)}, "but the model has 150 posi"),
    ],
)
def test_what_cannot_be_exported_is_said(tmp_path, models, name, changes, told) -> None:
    with pytest.raises(ValueError, match=told):
        export(models[name], tmp_path / "a.onnx", **changes)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("out", "told"),
    [
        ("a.txt", "must end in .onnx"),
        ("none/a.onnx", "none cannot be written into: No such file"),
        ("file/a.onnx", "file cannot be written into: Not a directory"),
        ("folder.onnx", "folder.onnx is a folder; name a file"),
    ],
)
def test_where_nothing_can_be_written_is_said(
    tmp_path, models: dict[str, Transformer], out, told, monkeypatch
) -> None:
    monkeypatch.setattr(onnx_export, "_traced", lambda *_: None)
    monkeypatch.setattr(onnx_export, "_save", lambda _, path, __: path.write_text("new"))
    monkeypatch.setattr(onnx_export, "_verify", lambda *_: None)
    (tmp_path / "file").touch()
    (tmp_path / "folder.onnx").mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match=told):
        export(models["decoder"], tmp_path / out)
    assert sorted(tmp_path.rglob("*")) == before
