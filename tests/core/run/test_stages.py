"""The steps of one head: the known example, plain float64 numpy, and the engine's own pattern."""

from __future__ import annotations

import numpy as np
import pytest
import run_cases
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.mask.intervals import row_intervals
from core.run.engine import Engine
from core.run.stages import EXAMPLE_KEYS, EXAMPLE_MASK, HeadParts, example, made_of, stages
from core.run.step import to_device
from core.types import HeadRef, HeadRequest, Stack, Stages, StagesJob

HEADS = {
    "encoder": (Stack.ENCODER,),
    "decoder": (Stack.DECODER,),
    "prefix": (Stack.DECODER,),
    "encdec": tuple(Stack),
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return Engine(run_cases.bundle(tmp_path_factory.mktemp("models")))


def plain(found: Stages) -> None:
    """Every step again, cell by cell, in float64."""
    rows, keys = found.mask.shape
    for row in range(rows):
        scaled = found.scores[row].astype(np.float64) / found.width**0.5
        np.testing.assert_allclose(found.scaled[row], scaled, rtol=1e-5, atol=1e-6)
        powers = [float(np.exp(scaled[k])) if found.mask[row, k] else 0.0 for k in range(keys)]
        weights = [power / sum(powers) if sum(powers) else 0.0 for power in powers]
        np.testing.assert_allclose(found.weights[row], weights, atol=2e-5)
        assert found.values is not None
        assert found.output is not None
        output = sum(w * v.astype(np.float64) for w, v in zip(weights, found.values, strict=True))
        np.testing.assert_allclose(found.output[row], output, rtol=1e-4, atol=1e-4)
        every = np.exp(scaled) / np.exp(scaled).sum()
        late = np.where(found.mask[row], every, 0)
        np.testing.assert_allclose(found.late_weights[row], late, atol=2e-5)
        shown = found.masked[row]
        assert np.isneginf(shown[~found.mask[row]]).all()
        assert np.array_equal(shown[found.mask[row]], found.scaled[row][found.mask[row]])


def test_the_example_is_the_known_one() -> None:
    found = example()
    np.testing.assert_allclose(found.scaled, [[np.log(2), 0, 0]], rtol=1e-6)
    np.testing.assert_allclose(found.weights, [[2 / 3, 1 / 3, 0]], rtol=1e-6)
    np.testing.assert_allclose(found.output, [[4 / 3, 2 / 3]], rtol=1e-6)
    np.testing.assert_allclose(found.late_weights, [[1 / 2, 1 / 4, 0]], rtol=1e-6)
    np.testing.assert_allclose(found.late_output, [[1, 1 / 2]], rtol=1e-6)
    assert np.array_equal(row_intervals(EXAMPLE_MASK, 0).dense(), found.mask)
    lines = dict(found.equation(0, EXAMPLE_KEYS))
    assert lines["softmax"] == "softmax(0.693, 0, −∞) = [0.667, 0.333, 0]"
    assert lines["output"] == "0.667 v(first) + 0.333 v(second) = [1.333, 0.667]"
    assert lines["too late"].endswith("output [1, 0.5], adds up to 0.75 and not to 1")


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(sorted(HEADS)),
    st.integers(1, 9),
    st.integers(0, 4),
    st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from((None, 1, 3)),
    st.data(),
)
def test_every_step_against_plain_numpy_and_the_engine(
    engine, name, length, past, left, right, window, data
):
    past = 0 if name == "encoder" else past
    knobs = {"past": past, "window": window}
    if left + right < min(5, length + past):
        knobs |= {"left_pad": (0, left), "right_pad": (0, right)}
    if name == "prefix":
        knobs["prefix"] = 1
    given_ = run_cases.inputs(name, length, rows=2, **knobs)
    stack = data.draw(st.sampled_from(HEADS[name]))
    head = HeadRef(stack, data.draw(st.integers(0, 1)), data.draw(st.integers(0, 1)))
    run = run_cases.request(name, given_, row=1)
    found = stages(engine, StagesJob(5, run, head))
    assert (found.generation, found.head, found.width) == (5, head, 4)
    plain(found)
    engine.run(run)
    pattern = engine.head(HeadRequest(run.generation, head))
    assert pattern is not None
    np.testing.assert_allclose(found.weights, pattern.pattern, atol=1e-5)
    masks = {Stack.CROSS: given_.cross_mask}
    if name == "encdec":
        masks[Stack.ENCODER] = given_.source_mask
    spec = masks.get(stack) or given_.mask
    assert np.array_equal(found.mask, row_intervals(spec, 1).dense())


def test_the_output_is_what_the_layer_hands_on(engine: Engine) -> None:
    """The heads side by side, through the output matrix, are the first attention's output."""
    run = run_cases.request("decoder")
    model = engine.model("decoder", torch.device("cpu"), torch.float32)
    attention = model.body.blocks[0].attention
    heard: list[torch.Tensor] = []
    handle = attention.register_forward_hook(lambda module, given, out: heard.append(out[0]))
    outputs = [
        stages(engine, StagesJob(1, run, HeadRef(Stack.DECODER, 0, head))).output
        for head in range(run_cases.HEADS)
    ]
    handle.remove()
    mixed = torch.from_numpy(np.concatenate(outputs, axis=1))
    with torch.inference_mode():
        np.testing.assert_allclose(attention.out(mixed), heard[0][0], atol=1e-5)
    assert to_device(run.inputs, torch.device("cpu")).ids.shape[1] == len(mixed)


def test_a_row_that_may_read_nothing_is_zero_and_says_so() -> None:
    rng = np.random.default_rng(0)
    mask = np.array([[True, False], [False, False]])
    scaled = rng.normal(size=(2, 2)).astype(np.float32)
    weights = np.array([[1, 0], [0, 0]], np.float32)
    values = rng.normal(size=(2, 3)).astype(np.float32)
    found = made_of(HeadParts(scaled, mask, weights, values, 3), HeadRef(Stack.DECODER))
    plain(found)
    assert found.output is not None
    assert not found.output[1].any()
    assert not found.late_weights[1].any()
    lines = dict(found.equation(1, "ab"))
    assert "no key may be read" in lines["softmax"]


def test_a_long_row_is_cut_to_its_heaviest_keys() -> None:
    scaled = np.arange(40, dtype=np.float32)[None] / 10
    mask = np.ones((1, 40), bool)
    weights = np.exp(scaled) / np.exp(scaled).sum()
    parts = HeadParts(scaled, mask, weights, None, 4)
    lines = dict(made_of(parts, HeadRef(Stack.ENCODER)).equation(0, [f"t{i}" for i in range(40)]))
    assert lines["keys"] == ", ".join(f"t{i}" for i in range(30, 40)) + ", …"
    assert "output" not in lines
    assert "too late" not in lines


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("decoder", HeadRef(Stack.ENCODER)),
        ("decoder", HeadRef(Stack.DECODER, 9)),
        ("decoder", HeadRef(Stack.DECODER, 0, 2)),
        ("encdec", HeadRef(Stack.CROSS, 0, 5)),
    ],
)
def test_a_head_that_is_not_there_gets_a_sentence(engine, name, head) -> None:
    with pytest.raises(ValueError, match=f"There is no head {head.head + 1} in {head.stack.value}"):
        stages(engine, StagesJob(1, run_cases.request(name), head))
