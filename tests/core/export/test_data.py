"""What is written as data is what the engines say, and plain readers get it back as it was."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from export_cases import NAMES, inputs, request
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open

from core.export import data_files
from core.export.data import gather, write_data
from core.export.ort_engine import OrtEngine
from core.mask.reference import reference_mask
from core.run.cancel import Cancelled, CancelToken
from core.run.checks.engines import subject_of
from core.run.checks.run import check
from core.run.engine import Engine
from core.run.flow import flow
from core.types import (
    Data,
    DataArray,
    DataJob,
    FlowJob,
    HeadRef,
    HeadRequest,
    Side,
)

Arrays = dict[str, np.ndarray]


def from_npz(path: Path) -> tuple[Arrays, dict[str, Any], str]:
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    return arrays, json.loads(str(arrays.pop("parameters"))), str(arrays.pop("README"))


def from_safetensors(path: Path) -> tuple[Arrays, dict[str, Any], str]:
    with safe_open(path, "numpy") as file:
        told = file.metadata()
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    readme, parameters = told.pop("README"), json.loads(told.pop("parameters"))
    return arrays | {k: np.array(json.loads(v), str) for k, v in told.items()}, parameters, readme


def from_json(path: Path) -> tuple[Arrays, dict[str, Any], str]:
    plain = json.loads(path.read_text(encoding="utf-8"))
    arrays = {name: np.array(lists) for name, lists in plain["arrays"].items()}
    return arrays, plain["parameters"], plain["readme"]


def from_csv(path: Path) -> tuple[Arrays, dict[str, Any], str]:
    arrays = {}
    for file in path.glob("*.csv"):
        with file.open(encoding="utf-8", newline="") as lines:
            header, *rows = csv.reader(lines)
        indices = sum(not name.isdigit() and name != "value" for name in header)
        sizes = [1 + max(int(row[n]) for row in rows) for n in range(indices)] if rows else [0]
        values = np.array([row[indices:] for row in rows])
        tail = () if header[-1] == "value" else (len(header) - indices,)
        arrays[file.stem] = values.reshape(*sizes, *tail)
    parameters = json.loads((path / "parameters.json").read_text(encoding="utf-8"))
    return arrays, parameters, (path / "README.txt").read_text(encoding="utf-8")


READERS: dict[str, Callable[[Path], tuple[Arrays, dict[str, Any], str]]] = {
    ".npz": from_npz,
    ".safetensors": from_safetensors,
    ".csv": from_csv,
    ".json": from_json,
}


def assert_same(data: Data, path: Path, suffix: str) -> None:
    arrays, parameters, readme = READERS[suffix](path)
    assert set(arrays) == set(data.arrays)
    assert parameters == json.loads(json.dumps(data.parameters))
    assert readme.startswith(data.readme())
    for name, array in data.arrays.items():
        found, wanted = arrays[name], array.values
        if suffix in (".npz", ".safetensors"):
            assert found.dtype.kind == wanted.dtype.kind
            assert found.itemsize == wanted.itemsize or wanted.dtype.kind == "U"
        elif wanted.dtype == bool and suffix == ".csv":
            found = found == "1"
        np.testing.assert_array_equal(found.astype(wanted.dtype), wanted, err_msg=name)


def job(name: str, out: str = "", **knobs: Any) -> DataJob:
    given = inputs(name, **knobs)
    run = request(name, given, row=given.mask.rows - 1)
    texts = tuple(f"t{n}" for n in given.rows[run.row])
    source = tuple(f"s{n}" for n in given.source[run.row]) if given.source else ()
    return DataJob(1, run, out, texts, source, {"versions": {"maskscope": "1"}})


def with_all(engine: Engine | OrtEngine, asked: DataJob) -> DataJob:
    """The job with everything that can stand beside."""
    run = asked.run
    found = flow(engine, FlowJob(1, run, run.inputs.mask.filled - 1))
    subject = subject_of(engine, run)
    report = check(subject, run.inputs, run.row, names=("determinism", "boundary"))
    return replace(asked, flow=found, report=report)


@pytest.fixture(params=["torch", "onnx"])
def either(request: pytest.FixtureRequest, engine: Engine, onnx_engine: OrtEngine) -> Any:
    return engine if request.param == "torch" else onnx_engine


CASES = [
    (name, knobs)
    for name in NAMES
    for knobs in ({}, {"length": 4, "past": 3, "rows": 2, "left_pad": (2, 1)}, {"window": 2})
    if name != "encoder" or "past" not in knobs
]


@pytest.mark.parametrize(("name", "knobs"), CASES)
def test_the_arrays_are_those_of_the_engine(either: Any, name: str, knobs: dict) -> None:
    asked = job(name, **knobs)
    run, past = asked.run, asked.run.inputs.mask.past
    found = gather(either, asked).arrays
    reading = either.reading(Side("A", run))
    np.testing.assert_array_equal(found["logits"].values, reading.logits[past:])
    result = either.run(run)
    best = found["logits"].values.argmax(axis=-1)
    np.testing.assert_array_equal(best, result.top_ids[:, 0])
    for maps in result.maps:
        weights = found[f"{maps.stack.value}_attention"].values
        assert weights.shape == (*maps.thumbs.shape[:2], maps.rows, maps.keys)
        for layer, head in np.ndindex(weights.shape[:2]):
            shown = either.head(HeadRequest(1, HeadRef(maps.stack, layer, head)))
            np.testing.assert_allclose(weights[layer, head], shown.pattern, atol=2e-6)


@pytest.mark.parametrize(("name", "knobs"), CASES)
def test_attention_is_the_softmax_of_the_scores_where_the_mask_is_open(
    either: Any, name: str, knobs: dict
) -> None:
    asked = job(name, **knobs)
    assert_consistent(gather(either, asked).arrays, asked)


def assert_consistent(found: dict[str, DataArray], asked: DataJob) -> None:
    """Masks are those of the reference; plain loops over the scores give the weights."""
    given = asked.run.inputs
    own = "encoder" if asked.run.model == "encoder" else "decoder"
    specs = {own: given.mask}
    if given.source_mask is not None and given.cross_mask is not None:
        specs |= {"encoder": given.source_mask, "cross": given.cross_mask}
    assert {key.split("_")[0] for key in found if key.endswith("_attention")} == set(specs)
    for stack, spec in specs.items():
        mask = found[f"{stack}_mask"].values
        np.testing.assert_array_equal(mask, reference_mask(spec)[asked.run.row])
        weights = found[f"{stack}_attention"].values
        for place in np.ndindex(weights.shape[:3]):
            scores, open_ = found[f"{stack}_scores"].values[place], mask[place[2]]
            powers = np.exp(scores.astype(np.float64) - scores.max()) * open_
            wanted = powers / powers.sum() if open_.any() else np.zeros_like(powers)
            np.testing.assert_allclose(weights[place], wanted, atol=1e-5)


@st.composite
def jobs(draw: st.DrawFn) -> DataJob:
    """Any family under any knobs; queries that may read nothing too."""
    name = draw(st.sampled_from(NAMES))
    length, rows = draw(st.integers(1, 5)), draw(st.integers(1, 2))
    past = 0 if name == "encoder" else draw(st.integers(0, 3))
    pads = st.lists(st.integers(0, length + past - 1), min_size=rows, max_size=rows).map(tuple)
    left = draw(pads)
    knobs = {"length": length, "past": past, "rows": rows, "left_pad": left}
    knobs["window"] = draw(st.none() | st.integers(1, 4))
    if name == "prefix" and not past:
        knobs["prefix"] = draw(st.integers(0, length - max(left)))
    return job(name, **knobs)


@given(jobs())
@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_arrays_of_any_run_agree(engine: Engine, asked: DataJob) -> None:
    assert_consistent(gather(engine, asked).arrays, asked)


@pytest.mark.parametrize("name", NAMES)
def test_both_engines_give_the_same_scores(
    engine: Engine, onnx_engine: OrtEngine, name: str
) -> None:
    torch, onnx = (gather(one, job(name, rows=2)).arrays for one in (engine, onnx_engine))
    assert list(torch) == list(onnx)
    for array in (key for key in torch if key.endswith("_scores")):
        scale = np.abs(torch[array].values).max()
        np.testing.assert_allclose(
            onnx[array].values / scale, torch[array].values / scale, atol=1e-5
        )


@pytest.mark.parametrize("suffix", data_files.SUFFIXES)
@pytest.mark.parametrize("name", NAMES)
def test_plain_readers_get_it_back(either: Any, tmp_path: Path, name: str, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    asked = with_all(either, job(name, str(path), rows=2))
    written = write_data(either, asked)
    wanted = gather(either, asked)
    assert written.names == tuple(wanted.arrays)
    assert_same(wanted, path, suffix)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    readme = READERS[suffix](path)[2]
    for array in wanted.arrays:
        assert f"\n{array}: " in readme


def test_what_made_it_stands_inside(either: Any) -> None:
    asked = with_all(either, job("decoder", past=2))
    found = gather(either, asked)
    told, is_torch = found.parameters, isinstance(either, Engine)
    assert told["engine"].startswith("torch" if is_torch else "ONNX Runtime")
    assert (told["model"], told["row"], told["past"]) == ("decoder", 0, 2)
    assert told["masks"]["decoder"]["kind"] == "causal"
    assert told["versions"] == {"maskscope": "1"}
    assert told["flow"]["position"] == 7
    assert "query r is column 2 + r" in found.readme()
    assert found.arrays["ids"].values.tolist() == list(asked.run.inputs.rows[0])
    assert found.arrays["check_name"].values.tolist() == ["boundary", "determinism"]
    assert ("flow_decoder_gradient" in found.arrays) is is_torch
    assert ("ONNX Runtime computes no gradient" in found.readme()) is not is_torch


def test_an_exported_encoder_says_what_it_cannot_give(onnx_engine: OrtEngine) -> None:
    found = gather(onnx_engine, with_all(onnx_engine, job("encoder")))
    assert "flow_encoder_value_norm" not in found.arrays
    assert "hands out no values" in found.readme()


TEXTS = st.lists(st.text(max_size=5), max_size=4)
NUMBERS = st.sampled_from([np.float32, np.float64, np.int8, np.int64, np.bool_])


@given(st.data(), TEXTS, st.sampled_from(data_files.SUFFIXES))
@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_array_comes_back(
    tmp_path_factory: pytest.TempPathFactory, source: st.DataObject, texts: list[str], suffix: str
) -> None:
    dtype = np.dtype(source.draw(NUMBERS))
    shape = source.draw(hnp.array_shapes(max_dims=4, max_side=3))
    own = {"allow_infinity": False} if dtype.kind == "f" else None
    numbers = source.draw(hnp.arrays(dtype, shape, elements=own and hnp.from_dtype(dtype, **own)))
    axes = tuple(f"axis {'abcd'[n]}" for n in range(len(shape)))
    clean = [one.replace("\0", "").replace("\r", "").replace("\n", "") for one in texts]
    told = np.array([one.encode("utf-8", "replace").decode() for one in clean], np.str_)
    arrays = {"n": DataArray(numbers, axes, "numbers"), "t": DataArray(told, ("text",), "texts")}
    data = Data(arrays, {"model": "m", "past": 0, "text": "".join(texts)})
    path = tmp_path_factory.mktemp("any") / f"a{suffix}"
    if suffix == ".json" and not told.size:
        arrays.pop("t")
    data_files.write(data, path)
    if any("\ud800" <= letter <= "\udfff" for letter in "".join(texts)):
        assert READERS[suffix](path)[1]["text"].count("?") > 0
        return
    assert_same(data, path, suffix)


def small() -> Data:
    return Data({"a": DataArray(np.ones(2), ("x",), "ones")}, {"model": "m", "past": 0})


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("a.txt", "a.txt must end in .npz, .safetensors, .csv or .json"),
        ("a", "a must end in .npz"),
        ("no/a.npz", "there is no folder"),
        ("there.npz", "there.npz is a folder; name a file to write."),
        ("there.csv", "there.csv is there already, but CSV is written as a new folder"),
    ],
)
def test_what_cannot_be_written_gets_a_sentence(tmp_path: Path, name: str, told: str) -> None:
    for folder in ("there.npz", "there.csv"):
        (tmp_path / folder).mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match=r"write|written|must end") as refused:
        data_files.write(small(), tmp_path / name)
    assert told in str(refused.value)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("suffix", data_files.SUFFIXES)
def test_a_full_disk_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    path = tmp_path / f"a{suffix}"
    if suffix != ".csv":
        path.write_bytes(b"kept")

    def full(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("core.atomic.os.replace", full)
    with pytest.raises(ValueError, match=r"cannot be written: No space left on device\."):
        data_files.write(small(), path)
    assert [one.read_bytes() for one in tmp_path.iterdir()] == [b"kept"] * (suffix != ".csv")


def test_a_stop_writes_nothing(engine: Engine, tmp_path: Path) -> None:
    token = CancelToken()

    def stop(sentence: str, share: float) -> None:
        if share > 0:
            token.cancel()

    with pytest.raises(Cancelled):
        write_data(engine, job("decoder", str(tmp_path / "a.npz")), token, stop)
    assert list(tmp_path.iterdir()) == []


class Tripping(CancelToken):
    """Stops at one of the questions; counts them."""

    def __init__(self, at: int | None) -> None:
        super().__init__()
        self.at, self.asked = at, 0

    def check(self) -> None:
        if self.asked == self.at:
            self.cancel()
        self.asked += 1
        super().check()


@pytest.mark.parametrize("suffix", data_files.SUFFIXES)
def test_a_stop_at_any_moment_of_writing_leaves_what_was_there(tmp_path: Path, suffix: str) -> None:
    cells = DataArray(np.ones((2, 3, 4), np.float32), ("a", "b", "c"), "ones")
    data = replace(small(), arrays=small().arrays | {"cells": cells})
    path = tmp_path / f"a{suffix}"
    if suffix != ".csv":
        path.write_bytes(b"kept")
    questions = Tripping(None)
    (tmp_path / "free").mkdir()
    data_files.write(data, tmp_path / "free" / path.name, questions)
    before = {one: one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()}
    for at in range(questions.asked):
        with pytest.raises(Cancelled):
            data_files.write(data, path, Tripping(at))
        assert {one: one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()} == before
    assert questions.asked == {".csv": 7, ".json": 4}.get(suffix, 1)
