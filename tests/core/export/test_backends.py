"""One mask, many implementations: against the loops of `core.mask.reference`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.export import backend_causes, backend_runs
from core.export.backend_causes import TOLERANCE, Case, differences, queries, sentence
from core.export.backends import _BACKENDS, backends
from core.mask.reference import reference_attention, reference_mask
from core.run.cancel import Cancelled, CancelToken
from core.types import BackendRow, BackendsJob, BackendTable, MaskKind, MaskSpec

NAN = "may read nothing: NaN is returned, the softmax of minus infinity alone"
MEAN = "may read nothing: the mean of all values is returned, those of closed keys included"
TOP_LEFT = "the triangle is aligned to the top left, whatever is cached"
TRIANGLE = "a triangle is all that is read, without padding, window or documents"
INVERTED = "True means blocked here, so what the mask closes is read"
NO_CAUSAL = "is not for this mask: it makes a causal triangle and nothing else"
CAUSAL, CROSS = MaskKind.CAUSAL, MaskKind.CROSS


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """FlexAttention without its compiler, which takes ten seconds."""
    monkeypatch.setattr(backend_runs, "COMPILE_SECONDS", 0.0)


def table(spec: MaskSpec, **changes) -> dict[str, BackendRow]:
    found = backends(replace(BackendsJob(1, spec), **changes))
    return {row.name: row for row in found.rows}


def said(spec: MaskSpec, **changes) -> dict[str, str]:
    return {name: row.sentence for name, row in table(spec, **changes).items()}


def random_case(mask: np.ndarray, seed: int = 0, *, causal: bool = False) -> Case:
    rng = np.random.default_rng(seed)
    rows, keys = mask.shape
    made = (rng.standard_normal((2, n, 4), np.float32) for n in (rows, keys, keys))
    return Case(*made, mask, 0, causal)


AGREE = {
    "SDPA, bool mask": "agrees",
    "SDPA, additive mask": "agrees",
    "FlexAttention, eager": "agrees; compiling is turned off",
    "ONNX Runtime, opset 24": "agrees",
}


def test_empty_rows_have_four_answers() -> None:
    assert said(MaskSpec(CAUSAL, 6, left_pad=(2,))) == AGREE | {
        "softmax, closed = minus infinity": f"queries 0 to 1 {NAN}",
        "softmax, closed = lowest float": f"queries 0 to 1 {MEAN}",
        "SDPA, is_causal": f"queries 0 to 5 differ: {TRIANGLE}",
        "MultiheadAttention": f"queries 0 to 1 {NAN}",
        "MultiheadAttention, mask not inverted": f"queries 0 to 5 differ: {INVERTED}",
        "ONNX Runtime, opset 18": f"queries 0 to 1 {MEAN}",
    }


def test_is_causal_forgets_what_is_cached() -> None:
    found = table(MaskSpec(CAUSAL, 2, past=3))
    assert found["SDPA, is_causal"].sentence == f"queries 3 to 4 differ: {TOP_LEFT}"
    assert found["SDPA, is_causal"].differs(TOLERANCE).tolist() == [True, True]
    inverted = found["MultiheadAttention, mask not inverted"]
    assert inverted.sentence == f"queries 3 to 4 differ: {INVERTED}"
    assert np.isnan(inverted.difference).tolist() == [False, True]
    assert np.isnan(inverted.largest)


def test_a_triangle_is_what_all_but_the_inverted_agree_on() -> None:
    found = said(MaskSpec(CAUSAL, 5))
    assert found.pop("MultiheadAttention, mask not inverted").startswith("queries 0 to 4 differ")
    assert {text.split(";")[0] for text in found.values()} == {"agrees"}


@pytest.mark.parametrize(
    "spec", [MaskSpec(MaskKind.PREFIX, 4, prefix=2), MaskSpec(CROSS, 3, source=5)]
)
def test_is_causal_is_not_for_every_mask(spec: MaskSpec) -> None:
    row = table(spec)["SDPA, is_causal"]
    assert (row.available, row.difference.shape, row.sentence) == (False, (0,), NO_CAUSAL)
    assert np.isnan(row.largest)


def test_cells_that_no_spec_describes() -> None:
    closed = np.zeros((3, 5), bool)
    found = said(MaskSpec(CROSS, 3, source=5), cells=closed)
    assert found["ONNX Runtime, opset 18"] == f"queries 0 to 2 {MEAN}"
    assert found["MultiheadAttention"] == f"queries 0 to 2 {NAN}"
    top_left = np.tri(3, 5, dtype=bool)
    found = said(MaskSpec(CROSS, 3, source=5), cells=top_left)
    assert found["SDPA, is_causal"] == "agrees"


@pytest.mark.parametrize("opset", [18, 24])
def test_a_mask_of_closed_cells_in_numbers(opset: int) -> None:
    case = random_case(np.zeros((4, 6), bool))
    mean = case.value.mean(axis=1, keepdims=True).repeat(4, axis=1)
    expected = mean if opset == 18 else np.zeros_like(mean)
    np.testing.assert_allclose(backend_runs.onnx(opset)(case), expected, atol=1e-6)


@st.composite
def masks(draw) -> np.ndarray:
    rows, keys = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    return rng.random((rows, keys)) < draw(st.sampled_from([0.0, 0.3, 0.7, 1.0]))


@settings(deadline=None, max_examples=40)
@given(masks(), st.integers(0, 1000))
def test_the_reference_is_that_of_the_house(mask: np.ndarray, seed: int) -> None:
    case = random_case(mask, seed)
    expected = [
        reference_attention(q.astype(float) @ k.T.astype(float) / 2.0, v.astype(float), mask)
        for q, k, v in zip(case.query, case.key, case.value, strict=True)
    ]
    np.testing.assert_allclose(case.under(mask), expected, atol=1e-12)


@settings(deadline=None, max_examples=40)
@given(masks(), st.integers(0, 1000))
def test_backends_agree_wherever_a_query_may_read_a_key(mask: np.ndarray, seed: int) -> None:
    case = random_case(mask, seed)
    some = mask.any(axis=1)
    wanted = case.under(mask)
    for name, run in _BACKENDS.items():
        if name not in (
            "SDPA, is_causal",
            "MultiheadAttention, mask not inverted",
            "FlexAttention",
        ):
            with np.errstate(invalid="ignore"):
                assert (differences(run(case), wanted)[some] <= TOLERANCE).all(), name
    for name in ("SDPA, bool mask", "SDPA, additive mask", "ONNX Runtime, opset 24"):
        assert (differences(_BACKENDS[name](case), wanted) <= TOLERANCE).all(), name


specs = st.builds(
    MaskSpec,
    st.sampled_from([CAUSAL, MaskKind.BIDIRECTIONAL, MaskKind.DECODER_SELF]),
    st.integers(3, 9),
    past=st.integers(0, 5),
    left_pad=st.tuples(st.integers(0, 1)),
    right_pad=st.tuples(st.integers(0, 1)),
    window=st.sampled_from([None, 1, 4]),
)


@settings(deadline=None, max_examples=25)
@given(specs, st.integers(0, 1000))
def test_every_difference_of_a_spec_has_a_known_cause(spec: MaskSpec, seed: int) -> None:
    found = backends(BackendsJob(7, spec, seed=seed))
    np.testing.assert_array_equal(found.mask, reference_mask(spec)[0])
    assert (found.generation, found.past, len(found.rows)) == (7, spec.past, 10)
    for row in found.rows:
        assert "not known" not in row.sentence, row
        assert "cannot run" not in row.sentence, row
        assert not np.isinf(row.difference).any()
        differs = row.available and bool(row.differs(found.tolerance).any())
        assert differs != row.sentence.startswith("agrees") or not row.available


MASK = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0]], bool)


def told(output: np.ndarray, case: Case) -> str:
    apart = ~(differences(output, case.under(case.mask)) <= TOLERANCE)
    return sentence(case, output.astype(np.float32), apart)


def test_sentences() -> None:
    case = random_case(MASK)
    right = case.under(MASK)
    assert told(right, case) == "agrees"
    spoilt = right.copy()
    spoilt[1, 1] += 0.1
    assert told(spoilt, case) == "query 1 differs for a reason that is not known"
    spoilt[0, 0, 0] = np.inf
    assert told(spoilt, case) == "queries 0 to 1 differ for a reason that is not known"
    assert told(case.under(np.ones((3, 3), bool)), case) == (
        "queries 0 to 2 differ: every key is read, closed or not"
    )
    mixed = right.copy()
    mixed[:, 2] = np.nan
    mixed[:, 0] += 1
    assert told(mixed, case) == f"query 2 {NAN}; query 0 differs for a reason that is not known"


def test_queries_are_told_by_their_positions() -> None:
    def words(*rows: int, past: int = 0) -> str:
        return queries(np.isin(np.arange(12), rows), past)

    assert words(3) == "query 3"
    assert words(3, past=4) == "query 7"
    assert words(0, 1, 2) == "queries 0 to 2"
    assert words(0, 2) == "queries 0 and 2"
    assert words(0, 2, 3, 7) == "queries 0, 2 to 3 and 7"
    assert words(1, 3, 5, 7, 9) == "5 queries from 1 on"


def test_a_backend_that_fails_is_a_line_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Case) -> np.ndarray:
        raise RuntimeError("no such kernel.\nmore of it")

    monkeypatch.setitem(_BACKENDS, "SDPA, bool mask", fails)
    row = table(MaskSpec(CAUSAL, 2))["SDPA, bool mask"]
    assert (row.available, row.sentence) == (False, "cannot run it: RuntimeError: no such kernel")


def test_a_table_in_a_sentence() -> None:
    def row(name: str, available: bool, *difference: float) -> BackendRow:
        return BackendRow(name, available, np.array(difference, np.float32), "")

    rows = row("a", True, 0, 1e-7), row("b", True, 0, np.nan), row("c", False)
    found = BackendTable(1, MASK, rows, 1e-5, "plain loops")
    assert found.sentence() == "1 of 2 backends agree with plain loops."
    assert replace(found, rows=rows[:1]).sentence() == "1 of 1 backends agree with plain loops."


def test_progress_and_cancel() -> None:
    heard: list[tuple[str, float]] = []
    backends(BackendsJob(1, MaskSpec(CAUSAL, 2)), progress=lambda *now: heard.append(now))
    shares = [share for _, share in heard]
    assert shares == sorted(shares)
    assert (heard[0], heard[-1]) == (
        ("running softmax, closed = minus infinity", 0.0),
        ("done", 1.0),
    )
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        backends(BackendsJob(1, MaskSpec(CAUSAL, 2)), cancel=token)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"row": 1}, "row is 1, but must be between 0 and 0"),
        ({"cells": np.ones((2, 3), bool)}, "the shape of cells is 2 x 3, but must be 2 x 2"),
        ({"cells": np.ones((2, 2))}, "the dtype of cells is float64, but must be bool"),
        ({"spec": MaskSpec(CAUSAL, 1025)}, r"has 1,050,625 cells \(1025 x 1025\), but at most"),
    ],
)
def test_bad_input_gets_a_sentence(change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        backends(replace(BackendsJob(1, MaskSpec(CAUSAL, 2)), **change))


def test_a_batch_row_is_run_alone() -> None:
    spec = MaskSpec(CAUSAL, 4, left_pad=(0, 2), right_pad=(0, 0))
    assert said(spec, row=1)["MultiheadAttention"] == f"queries 0 to 1 {NAN}"
    assert said(spec, row=0)["MultiheadAttention"] == "agrees"


@pytest.mark.filterwarnings("ignore")
def test_a_compiled_kernel_or_the_reason_why_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend_runs, "COMPILE_SECONDS", 90.0)
    spec = MaskSpec(CAUSAL, 5, left_pad=(1,))
    name, row = next((n, r) for n, r in table(spec).items() if n.startswith("FlexAttention"))
    assert row.difference.max() <= TOLERANCE
    if name == "FlexAttention, compiled":
        assert row.sentence == "agrees"
    else:
        assert row.sentence.startswith(("agrees; does not compile here: ", "agrees; did not"))


def test_what_does_not_compile_runs_without_its_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> object:
        raise RuntimeError("no C++ compiler.")

    monkeypatch.setattr(backend_runs, "COMPILE_SECONDS", 90.0)
    monkeypatch.setattr(backend_runs, "_compiled", broken)
    found = said(MaskSpec(CAUSAL, 3))["FlexAttention, eager"]
    assert found == "agrees; does not compile here: RuntimeError: no C++ compiler"
    wide = said(MaskSpec(CROSS, 1, source=2000))["FlexAttention, eager"]
    assert wide == "agrees; is not compiled for more than 1,024 keys"


def test_causes_are_looked_for_where_rows_differ_alone() -> None:
    """The cause that explains most queries is told first, however the others are ordered."""
    case = random_case(np.array([[1, 0], [1, 1], [0, 1]], bool))
    top_left = case.under(np.tri(3, 2, dtype=bool))
    assert told(top_left, case) == f"query 2 differs: {backend_causes._TOP_LEFT}"
