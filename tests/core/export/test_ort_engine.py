from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from export_cases import GENERATORS, NAMES, POSITIONS, V, inputs, request

from core.export import session
from core.export.ort_engine import OrtEngine
from core.run.cancel import Cancelled, CancelToken
from core.run.contract import EngineError
from core.run.engine import Engine
from core.run.prompt import appended
from core.types import (
    GenerateRequest,
    HeadRef,
    HeadRequest,
    Inputs,
    MaskKind,
    MaskSpec,
    Sampling,
    Stack,
    StepEvent,
)

ROOT = Path(__file__).resolve().parents[3]
WARM = Sampling(1.3, top_k=20, top_p=0.95, seed=4)
every = pytest.mark.parametrize("name", NAMES)
generators = pytest.mark.parametrize("name", GENERATORS)


def assert_same_run(engine: Engine, onnx_engine: OrtEngine, asked) -> None:
    """Everything that torch says, within rounding."""
    wanted, got = engine.run(asked), onnx_engine.run(asked)
    told = ("generation", "model", "dtype", "cache_bytes", "cross_bytes", "note")
    for name in told:
        assert getattr(got, name) == getattr(wanted, name), name
    assert got.device == "cpu"
    assert np.allclose(got.surprise, wanted.surprise, atol=1e-3, equal_nan=True)
    assert np.abs(got.top_probs - wanted.top_probs).max() < 1e-4
    apart = got.top_ids != wanted.top_ids  # Only where torch itself hardly parts them.
    assert np.abs(got.top_probs - wanted.top_probs)[apart].max(initial=0) < 1e-5
    assert (got.cache_difference is None) == (wanted.cache_difference is None)
    assert (got.cache_difference or 0) < 1e-3
    assert [m.stack for m in got.maps] == [m.stack for m in wanted.maps]
    for maps, expected in zip(got.maps, wanted.maps, strict=True):
        assert (maps.rows, maps.keys, maps.block) == (expected.rows, expected.keys, expected.block)
        assert np.abs(maps.scale - expected.scale).max() < 1e-4
        assert np.abs(maps.thumbs.astype(int) - expected.thumbs).max() <= 2
        for layer, head in np.ndindex(maps.thumbs.shape[:2]):
            which = HeadRequest(1, HeadRef(maps.stack, layer, head))
            one, other = onnx_engine.head(which), engine.head(which)
            assert one is not None
            assert other is not None
            assert one.head == other.head
            assert np.abs(one.pattern - other.pattern).max() < 1e-4


@every
@pytest.mark.parametrize("length", [1, 2, 31, 32, 33, 100])
def test_a_run_is_that_of_torch_at_any_length(engine, onnx_engine, name, length) -> None:
    """None of these lengths was traced; 33 and 100 outgrow the first buffers."""
    assert_same_run(engine, onnx_engine, request(name, inputs(name, length)))


@every
@pytest.mark.parametrize("row", [0, 1])
def test_a_run_of_a_padded_batch_is_that_of_torch(engine, onnx_engine, name, row) -> None:
    """Row 1 begins with queries that may read nothing."""
    given = inputs(name, 9, rows=2, left_pad=(0, 3), right_pad=(1, 0), window=4)
    assert_same_run(engine, onnx_engine, request(name, given, row=row))


@generators
def test_a_run_with_a_past_is_that_of_torch(engine, onnx_engine, name) -> None:
    prefix = {"prefix": 3} if name == "prefix" else {}
    given = inputs(name, 30, past=12, rows=2, left_pad=(0, 2), **prefix)
    assert_same_run(engine, onnx_engine, request(name, given, row=1))


@pytest.mark.parametrize("kind", [MaskKind.BIDIRECTIONAL, MaskKind.CAUSAL, MaskKind.PREFIX])
def test_one_file_runs_under_every_mask(engine, onnx_engine, kind) -> None:
    head = HeadRef(Stack.DECODER if kind.is_causal else Stack.ENCODER)
    prefix = {"prefix": 4} if kind is MaskKind.PREFIX else {}
    for name in ("encoder", "decoder", "prefix"):
        given = inputs(name, 8, kind=kind, documents=(5, 3), **prefix)
        assert_same_run(engine, onnx_engine, request(name, given, head=head))


@every
def test_a_row_that_may_read_nothing_has_no_weights_and_no_nan(onnx_engine, name) -> None:
    kind = MaskKind.CAUSAL if name != "encdec" else MaskKind.DECODER_SELF
    result = onnx_engine.run(request(name, inputs(name, 6, kind=kind, left_pad=(2,))))
    assert np.isfinite(result.top_probs).all()
    assert not result.head.pattern[:2].any()
    assert np.allclose(result.head.pattern[2:].sum(axis=1), 1)


def test_another_head_is_served_for_the_last_run_only(onnx_engine) -> None:
    onnx_engine.run(request("decoder", generation=7))
    assert onnx_engine.head(HeadRequest(6, HeadRef(Stack.DECODER))) is None
    found = onnx_engine.head(HeadRequest(7, HeadRef(Stack.DECODER, 1, 3)))
    assert found is not None
    assert found.head == HeadRef(Stack.DECODER, 1, 3)
    assert OrtEngine().head(HeadRequest(7, HeadRef(Stack.DECODER))) is None


def prompt_of(name: str, length: int = 6, **knobs) -> Inputs:
    prefix = {"prefix": 3} if name == "prefix" else {}
    return inputs(name, length, **(prefix | knobs))


def events(runs, name: str, given: Inputs, sampling: Sampling, count: int) -> list[StepEvent]:
    return list(runs.generate(GenerateRequest(request(name, given), sampling, count)))


@generators
def test_a_drawn_text_is_that_of_torch(engine, onnx_engine, name) -> None:
    asked = GenerateRequest(request(name, prompt_of(name)), WARM, 40)
    wanted, got = list(engine.generate(asked)), list(onnx_engine.generate(asked))
    assert [e.token for e in got] == [e.token for e in wanted]
    assert [e.token for e in got] != [
        e.token for e in engine.generate(replace(asked, sampling=Sampling()))
    ]


@generators
def test_greedy_text_is_that_of_torch(engine, onnx_engine, name) -> None:
    """Sixty tokens: the buffers grow on the way."""
    given = prompt_of(name, 9, rows=2, left_pad=(0, 2), right_pad=(0, 1))
    for row in (0, 1):
        asked = GenerateRequest(request(name, given, row=row), max_new_tokens=60)
        wanted, got = list(engine.generate(asked)), list(onnx_engine.generate(asked))
        assert [e.token for e in got] == [e.token for e in wanted]
        assert len({e.token for e in got}) > 2
        for one, other in zip(got, wanted, strict=True):
            told = ("generation", "step", "cache_length", "cache_bytes", "cross_bytes", "stopped")
            assert all(getattr(one, t) == getattr(other, t) for t in told)
            assert np.array_equal(one.mask_row, other.mask_row)
            assert np.abs(one.candidate_probs - other.candidate_probs).max() < 1e-4
            assert one.head is not None
            assert other.head is not None
            assert one.head.pattern.shape == other.head.pattern.shape
            assert np.abs(one.head.pattern - other.head.pattern).max() < 1e-4
            shapes = [[m.thumbs.shape for m in e.maps] for e in (one, other)]
            assert shapes[0] == shapes[1]


@generators
@pytest.mark.parametrize("sampling", [Sampling(), WARM], ids=["greedy", "sampled"])
def test_step_by_step_is_the_text_made_at_once(onnx_engine, name, sampling) -> None:
    given, found = prompt_of(name), []
    for _ in range(6):
        found.append(events(onnx_engine, name, given, sampling, 1)[0].token)
        given = appended(given, found[-1])
    again = events(onnx_engine, name, prompt_of(name), sampling, 6)
    assert found == [event.token for event in again]


def test_another_seed_gives_another_text(onnx_engine) -> None:
    given = prompt_of("decoder")
    texts = [
        [e.token for e in events(onnx_engine, "decoder", given, replace(WARM, seed=s), 12)]
        for s in (4, 4, 5)
    ]
    assert texts[0] == texts[1] != texts[2]


def test_generation_ends_where_the_positions_end(engine, onnx_engine) -> None:
    given = prompt_of("decoder", POSITIONS - 3)
    assert len(events(onnx_engine, "decoder", given, Sampling(), 50)) == len(
        events(engine, "decoder", given, Sampling(), 50)
    )
    with pytest.raises(ValueError, match=f"fills the {POSITIONS} positions .* no room"):
        events(onnx_engine, "decoder", prompt_of("decoder", POSITIONS), Sampling(), 1)


def test_a_cancelled_run_does_not_start(onnx_engine) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        onnx_engine.run(request("decoder"), token)


class Stopped:
    """A session in which a cancel comes while ONNX Runtime is at work."""

    def __init__(self, real, token: CancelToken) -> None:
        self._real, self._token = real, token

    def run_with_iobinding(self, binding, options) -> None:
        assert not options.terminate
        self._token.cancel()
        assert options.terminate
        self._real.run_with_iobinding(binding, options)

    def __getattr__(self, name: str):
        return getattr(self._real, name)


def test_a_cancel_ends_a_run_that_is_on_its_way(onnx_engine) -> None:
    token, model = CancelToken(), onnx_engine.model("decoder", "cpu")
    real, model._session = model._session, Stopped(model._session, token)
    with pytest.raises(Cancelled):
        onnx_engine.run(request("decoder"), token)
    model._session = real
    assert onnx_engine.run(request("decoder")).generation == 1


def test_a_cancel_ends_a_text_between_two_tokens(onnx_engine) -> None:
    token = CancelToken()
    steps = onnx_engine.generate(GenerateRequest(request("decoder"), max_new_tokens=9), token)
    next(steps)
    token.cancel()
    with pytest.raises(Cancelled):
        next(steps)


def test_what_the_runtime_cannot_do_is_an_engine_error(onnx_engine) -> None:
    class Failing(Stopped):
        def run_with_iobinding(self, binding, options=None) -> None:
            raise RuntimeError("[ONNXRuntimeError] : 6 : EXCEPTION : Out of room.\nand more")

    model = onnx_engine.model("decoder", "cpu")
    model._session = Failing(model._session, CancelToken())
    with pytest.raises(EngineError, match=r"could not run the model: Out of room\.$"):
        onnx_engine.run(request("decoder"))


FILE_ONLY = """
import sys
from core.export.ort_engine import OrtEngine
from core.types import *
spec = MaskSpec(MaskKind.CAUSAL, 4)
run = RunRequest(1, {path!r}, Inputs(((5, 6, 7, 8),), spec), HeadRef(Stack.DECODER))
engine = OrtEngine()
assert len(engine.run(run).top_ids) == 4
print(*(event.token for event in engine.generate(GenerateRequest(run, max_new_tokens=5))))
assert not {{"torch", "transformers", "onnxscript"}} & set(sys.modules), "torch is imported"
"""


def test_a_file_alone_is_run_without_torch_and_without_a_word(paths, onnx_engine) -> None:
    """Also where the runtime was built for a CUDA that is not there: it says nothing of that."""
    code = FILE_ONLY.format(path=str(paths["decoder"]))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    given = Inputs(((5, 6, 7, 8),), MaskSpec(MaskKind.CAUSAL, 4))
    expected = events(onnx_engine, "decoder", given, Sampling(), 5)
    assert [int(word) for word in done.stdout.split()] == [event.token for event in expected]


def test_providers_are_those_of_the_session(onnx_engine, monkeypatch) -> None:
    asked = []
    real = session.onnxruntime.InferenceSession

    def spy(path, options, providers):
        asked.append(providers)
        return real(path, options, providers=["CPUExecutionProvider"])

    monkeypatch.setattr(session.onnxruntime, "InferenceSession", spy)
    named = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(session.onnxruntime, "get_available_providers", lambda: named)
    model = onnx_engine.model("decoder", "auto")
    assert asked == [named]
    assert (model.providers, model.device) == (("CPUExecutionProvider",), "cpu")
    with pytest.raises(ValueError, match="There is no device 'cuda' for ONNX Runtime here"):
        onnx_engine.model("decoder", "cuda")


def with_ids(name: str, *changed: int) -> Inputs:
    given = inputs(name)
    return replace(given, rows=((*changed, *given.rows[0][len(changed) :]),))


@pytest.mark.parametrize(
    ("name", "given", "changes", "told"),
    [
        ("decoder", with_ids("decoder", V), {}, f"holds token id {V}, but the model knows"),
        ("decoder", with_ids("decoder", -1), {}, "holds token id -1"),
        ("decoder", inputs("decoder", POSITIONS + 2), {}, "152 tokens, but the model has 150 pos"),
        ("encoder", inputs("encoder", 3, kind=MaskKind.CAUSAL, past=2), {}, "without a cache"),
        ("decoder", inputs("encdec"), {}, "takes no source tokens"),
        ("encdec", inputs("decoder"), {}, "needs source tokens"),
        ("decoder", inputs("decoder"), {"row": 1}, "row is 1"),
        ("decoder", inputs("decoder"), {"device": "mps"}, "device is 'mps', but ONNX Runtime"),
        ("decoder", inputs("decoder"), {"dtype": "float16"}, "was exported in float32"),
    ],
)
def test_inputs_that_cannot_be_run_are_refused_and_the_last_run_is_kept(
    onnx_engine, name, given, changes, told
) -> None:
    onnx_engine.run(request("decoder", generation=3))
    with pytest.raises(ValueError, match=told):
        onnx_engine.run(request(name, given, **changes))
    assert onnx_engine.head(HeadRequest(3, HeadRef(Stack.DECODER))) is not None


def test_an_encoder_cannot_generate(onnx_engine) -> None:
    with pytest.raises(ValueError, match="An encoder cannot generate"):
        events(onnx_engine, "encoder", inputs("encoder"), Sampling(), 1)
