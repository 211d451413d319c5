"""Files that are not what they should be: one clear sentence each."""

from __future__ import annotations

import shutil
from pathlib import Path

import onnx
import pytest

from core.export.files import Files, find, read_tokenizer
from core.export.names import Part
from core.export.ort_engine import OrtEngine


@pytest.fixture
def copied(exported, tmp_path: Path) -> Path:
    """All exported files, to be spoiled."""
    for path in exported["decoder"].folder.iterdir():
        shutil.copyfile(path, tmp_path / path.name)
    return tmp_path


def refused(path: Path) -> str:
    """The sentence that a file is refused with."""
    with pytest.raises(ValueError, match=path.name.split(".")[0]) as error:
        OrtEngine().model(str(path))
    sentence = str(error.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def edited(path: Path, **metadata: str | None) -> Path:
    """The file with other metadata; None takes an entry away."""
    model = onnx.load(path)
    kept = {p.key: p.value for p in model.metadata_props}
    kept |= {f"maskscope.{key}": value for key, value in metadata.items()}
    del model.metadata_props[:]
    onnx.helper.set_model_props(model, {k: v for k, v in kept.items() if v is not None})
    onnx.save(model, path)
    return path


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert refused(tmp_path / "a.onnx").startswith("There is no file ")


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.onnx").mkdir()
    assert "is a folder" in refused(tmp_path / "a.onnx")


@pytest.mark.parametrize("content", [b"", b"no protobuf at all", b"\x00" * 50, b"PK\x03\x04zip"])
def test_a_file_that_is_not_onnx(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.onnx").write_bytes(content)
    assert refused(tmp_path / "a.onnx").endswith("is no ONNX file.")


def test_half_a_file(copied: Path) -> None:
    path = copied / "decoder.onnx"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert refused(path).endswith("is no ONNX file.")


def test_a_file_of_someone_else(copied: Path) -> None:
    path = edited(copied / "decoder.onnx", format=None)
    assert "was not exported by maskscope" in refused(path)


def test_a_newer_format(copied: Path) -> None:
    path = edited(copied / "decoder.onnx", format="2", part="unheard of")
    assert "has format 2, but this program reads formats up to 1" in refused(path)


@pytest.mark.parametrize(
    "changes",
    [{"part": "tail"}, {"config": "{}"}, {"config": "no json"}, {"dtype": None}, {"mask": "[]"}],
)
def test_a_damaged_header(copied: Path, changes: dict[str, str | None]) -> None:
    assert "has a damaged header" in refused(edited(copied / "decoder.onnx", **changes))


def test_an_operator_that_the_runtime_does_not_know(copied: Path) -> None:
    path = copied / "decoder.onnx"
    model = onnx.load(path)
    next(node for node in model.graph.node if node.op_type == "Gelu").op_type = "Mystery"
    onnx.save(model, path)
    assert "uses the operator Mystery, which ONNX Runtime" in refused(path)


def test_an_operator_of_an_unknown_domain(copied: Path) -> None:
    path = copied / "decoder.onnx"
    model = onnx.load(path)
    node = next(node for node in model.graph.node if node.op_type == "Gelu")
    node.op_type, node.domain = "Mystery", "elsewhere"
    model.opset_import.append(onnx.helper.make_opsetid("elsewhere", 1))
    onnx.save(model, path)
    assert "Mystery" in refused(path)


def test_a_graph_that_the_runtime_cannot_read(copied: Path) -> None:
    path = copied / "decoder.onnx"
    model = onnx.load(path)
    model.ir_version = 99
    onnx.save(model, path)
    assert "cannot be run by ONNX Runtime" in refused(path)


def test_the_halves_are_found_by_any_of_their_names(copied: Path) -> None:
    for name in ("encdec.onnx", "encdec.encoder.onnx", "encdec.decoder.onnx"):
        files, header = find(copied / name)
        assert files == Files(copied, "encdec")
        assert header.part is Part.TARGET


def test_a_half_without_the_other(copied: Path) -> None:
    (copied / "encdec.encoder.onnx").unlink()
    assert "There is no file" in refused(copied / "encdec.onnx")


def test_a_half_by_another_name(copied: Path) -> None:
    (copied / "encdec.decoder.onnx").rename(copied / "renamed.onnx")
    assert "one half of an encoder-decoder" in refused(copied / "renamed.onnx")


def test_a_half_that_is_none(copied: Path) -> None:
    shutil.copyfile(copied / "decoder.onnx", copied / "encdec.encoder.onnx")
    assert "is not the other half" in refused(copied / "encdec.onnx")


def test_a_half_of_another_model(copied: Path) -> None:
    edited(copied / "encdec.encoder.onnx", model="stranger")
    assert "is not the other half" in refused(copied / "encdec.onnx")


def test_the_tokenizer_must_be_the_one_of_the_model(copied: Path) -> None:
    files, header = find(copied / "decoder.onnx")
    files.tokenizer.write_text("{}")
    with pytest.raises(ValueError, match="is not the tokenizer that the model was exported with"):
        read_tokenizer(files, header)
    files.tokenizer.unlink()
    with pytest.raises(ValueError, match=r"There is no .*decoder\.tokenizer\.json beside"):
        read_tokenizer(files, header)
