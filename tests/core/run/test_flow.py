"""Flow of whole models on torch: gradients by finite differences, zeros where nothing can reach."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from run_cases import LAYERS, MODELS, V, config, inputs, logits_of, randomise, request

from core.checkpoints import bundled
from core.mask.intervals import RowIntervals
from core.mask.reach import below, read_across
from core.model.cache import Cache
from core.model.transformer import Transformer
from core.run.cancel import Cancelled, CancelToken
from core.run.capture import Capture
from core.run.engine import Engine
from core.run.flow import flow, one_row
from core.run.gradient import evidence
from core.run.step import Tensors, to_device
from core.types import (
    FlowJob,
    FlowMethod,
    FlowResult,
    HeadRequest,
    Inputs,
    MaskKind,
    Stack,
)

models = pytest.mark.parametrize("name", MODELS)
E, D = Stack.ENCODER, Stack.DECODER
quick = settings(deadline=None, max_examples=25)
CPU = torch.device("cpu")


def asked(name: str, given: Inputs, position: int, **changes) -> FlowJob:
    row = changes.pop("row", 0)
    return FlowJob(4, request(name, given, row=row), position, **changes)


def tiny(name: str) -> Transformer:
    return randomise(Transformer(config(name)), seed=3)


def doubled(tensors: Tensors, seed: int, density: float) -> Tensors:
    """The same ids under random masks that no spec describes."""
    generator = torch.Generator().manual_seed(seed)

    def other(mask: torch.Tensor | None) -> torch.Tensor | None:
        return None if mask is None else torch.rand(mask.shape, generator=generator) < density

    return replace(
        tensors,
        mask=other(tensors.mask),
        source_mask=other(tensors.source_mask),
        cross_mask=other(tensors.cross_mask),
    )


def cones(tensors: Tensors, position: int, depth: int) -> dict[Stack, np.ndarray]:
    def intervals(mask: torch.Tensor | None, layers: int) -> list[RowIntervals]:
        assert mask is not None
        return [RowIntervals.from_dense(mask[0, 0].numpy())] * layers

    size = tensors.ids.shape[1]
    own = below(intervals(tensors.mask, depth), np.arange(size) == position)
    if tensors.cross_mask is None:
        return {D: own}
    source = tensors.cross_mask.shape[-1]
    memory = read_across(intervals(tensors.cross_mask, depth), own, source)
    return {D: own, E: below(intervals(tensors.source_mask, LAYERS), memory)}


def logit_with_scaled_state(
    model: Transformer, given: Tensors, node: tuple[Stack, int, int], scale: float, want
) -> float:
    """The logit where the state of one node is multiplied by ``scale``."""

    def climbed(stack, name, ids, positions, mask, depth, cache):
        x = stack.embedding(ids, positions)
        for level in range(depth + 1):
            if node[:2] == (name, level):
                x = x.clone()
                x[0, node[2]] *= scale
            if level < depth:
                memory = cache.cross[level] if cache.cross else None
                x = stack.blocks[level](x, mask, None, given.cross_mask, memory, None)
        return stack.norm(x)

    position, depth, token = want
    cache = Cache()
    with torch.no_grad():
        if given.source_ids is not None:
            source = given.source_ids, given.source_positions, given.source_mask
            memory = climbed(model.encoder, E, *source, LAYERS, cache)
            cache = Cache(cross=model.body.project_memory(memory))
        body = given.ids, given.positions, given.mask
        hidden = climbed(model.body, D, *body, depth, cache)
        return float(model.head(hidden[0, position])[token])


@pytest.mark.parametrize("depth", [1, LAYERS])
@pytest.mark.parametrize("density", [0.3, 0.8])
@pytest.mark.parametrize("name", ["encoder", "decoder", "encdec"])
def test_a_gradient_is_what_scaling_a_state_does_to_the_logit(name, density, depth) -> None:
    """Gradient times state is the derivative by a factor on the state: central differences."""
    model = tiny(name).double()
    given = doubled(to_device(inputs(name, 4, source=3), CPU), 5, density)
    position, token, step = 2, 7, 1e-5
    found = evidence(
        model,
        given,
        Capture(only=None if name == "encdec" else D),
        top=D,
        position=position,
        depth=depth,
        token=token,
    )
    assert {stack: g.shape for stack, g in found.gradients.items()} == (
        {D: (depth + 1, 4)} | ({E: (LAYERS + 1, 3)} if name == "encdec" else {})
    )
    largest = 0.0
    for stack, gradients in found.gradients.items():
        for level, column in np.ndindex(gradients.shape):
            node, want = (stack, level, column), (position, depth, token)
            above, under = (
                logit_with_scaled_state(model, given, node, 1 + by, want) for by in (step, -step)
            )
            expected = (above - under) / (2 * step)
            assert gradients[level, column] == pytest.approx(expected, rel=1e-4, abs=1e-6)
            largest = max(largest, abs(expected))
    assert largest > 0.01


@quick
@given(
    st.sampled_from(["decoder", "encdec"]),
    st.integers(0, 999),
    st.sampled_from([0.1, 0.4, 0.9]),
    st.integers(0, 5),
    st.integers(1, LAYERS),
)
def test_no_gradient_leaves_the_cone_of_any_mask(name, seed, density, position, depth) -> None:
    """Exactly 0, also under masks that no spec describes and beside rows that read nothing."""
    given = doubled(to_device(inputs(name, 6, source=5), CPU), seed, density)
    found = evidence(tiny(name), given, Capture(), top=D, position=position, depth=depth)
    for stack, cone in cones(given, position, depth).items():
        assert np.isfinite(found.gradients[stack]).all()
        assert (found.gradients[stack][~cone] == 0).all()
    assert found.gradients[D][depth, position] != 0


def assert_zero_outside(result: FlowResult) -> None:
    cone_of = {stack.stack: stack.reach for stack in result.stacks}
    for stack in result.stacks:
        for method, shares in stack.shares.items():
            assert shares.dtype == np.float32
            assert shares.shape == stack.reach.shape
            assert np.isfinite(shares).all()
            assert (shares[~stack.reach] == 0).all(), method
            assert method is FlowMethod.GRADIENT or (shares >= 0).all()
    for n in range(len(result.edges)):
        for node in (result.edges.upper(n), result.edges.lower(n)):
            assert cone_of[node.stack][node.level, node.column]


KNOBS = [
    {},
    {"left_pad": (0, 3)},
    {"right_pad": (0, 2)},
    {"left_pad": (1, 2), "right_pad": (0, 1), "window": 3},
    {"window": 2},
]


@models
@pytest.mark.parametrize("knobs", KNOBS)
def test_nothing_outside_the_cone_has_any_share(engine: Engine, name: str, knobs) -> None:
    given = inputs(name, 8, source=6, rows=2, **knobs)
    for row in (0, 1):
        for position in (0, 3, 7):
            result = flow(engine, asked(name, given, position, row=row))
            assert_zero_outside(result)
            assert result.stacks[-1].reach[-1].tolist() == [n == position for n in range(8)]


@st.composite
def any_job(draw: st.DrawFn) -> FlowJob:
    """Any family, length, past, window, pads, prefix and documents that its model can run."""
    name = draw(st.sampled_from(list(MODELS)))
    kind = draw(st.sampled_from(MODELS[name][1]))
    past = draw(st.integers(0, 5)) if kind.is_causal and kind is not MaskKind.PREFIX else 0
    length, rows = draw(st.integers(1, 8)), draw(st.integers(1, 2))
    filled = past + length
    left = tuple(draw(st.integers(0, filled - 1)) for _ in range(rows))
    right = tuple(draw(st.integers(0, filled - 1 - n)) for n in left)
    tokens = [filled - a - b for a, b in zip(left, right, strict=True)]
    knobs = {"kind": kind, "past": past, "window": draw(st.none() | st.integers(1, 9))}
    if name != "encdec":
        knobs |= {"left_pad": left, "right_pad": right}
        cut = draw(st.integers(0, max(tokens) - 1))
        knobs |= {"documents": (cut, max(tokens) - cut)} if cut else {}
    if kind is MaskKind.PREFIX:
        knobs["prefix"] = draw(st.integers(0, min(tokens)))
    given = inputs(name, length, source=draw(st.integers(1, 6)), rows=rows, **knobs)
    return asked(
        name,
        given,
        draw(st.integers(0, filled - 1)),
        row=draw(st.integers(0, rows - 1)),
        layer=draw(st.none() | st.integers(1, LAYERS)),
    )


def test_no_family_and_no_knob_lets_anything_through(folder) -> None:
    engine = Engine(folder)

    @settings(deadline=None, max_examples=60)
    @given(any_job())
    def holds(job: FlowJob) -> None:
        result = flow(engine, job)
        assert_zero_outside(result)
        top = result.stacks[-1].shares[FlowMethod.ROLLOUT]
        assert top.sum(axis=1).max() == pytest.approx(1.0, abs=1e-5)

    holds()


@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        ("decoder", {"documents": (3, 4, 1)}),
        ("unified", {"kind": MaskKind.PREFIX, "prefix": 4, "documents": (6, 2)}),
        ("prefix", {"prefix": 3, "window": 3}),
        ("encoder", {"documents": (5, 3)}),
        ("decoder", {"kind": MaskKind.BIDIRECTIONAL, "window": 2}),
    ],
)
def test_documents_prefix_and_window_are_walls(engine: Engine, name: str, knobs) -> None:
    given = inputs(name, 8, **knobs)
    for position in range(8):
        assert_zero_outside(flow(engine, asked(name, given, position)))


@models
@pytest.mark.parametrize("layer", [None, 1])
def test_the_mass_of_an_output_is_one_at_every_level(engine: Engine, name: str, layer) -> None:
    result = flow(engine, asked(name, inputs(name, 7, source=5), 4, layer=layer))
    assert result.layer == (layer or LAYERS)
    for method in (FlowMethod.ROLLOUT, FlowMethod.VALUE_NORM):
        top = result.stacks[-1].shares[method]
        assert len(top) == result.layer + 1
        if name != "encdec":
            assert np.allclose(top.sum(axis=1), 1.0, atol=1e-5)
            continue
        below_it = result.stacks[0].shares[method].sum(axis=1)
        assert np.allclose(below_it + top[0].sum(), 1.0, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "encdec"])
def test_shares_are_made_of_the_patterns_of_a_run(engine: Engine, name: str) -> None:
    """Level by level from the heads that the same engine serves."""
    given = inputs(name, 6, source=5)
    result = flow(engine, asked(name, given, 3))
    run = engine.run(request(name, given))
    (stack,) = result.stacks
    assert stack.stack is run.maps[0].stack
    rolled = np.eye(6)[3]
    for layer in reversed(range(LAYERS)):
        heads = []
        for head in range(run.maps[0].thumbs.shape[1]):
            at = replace(run.head.head, layer=layer, head=head)
            answer = engine.head(HeadRequest(run.generation, at))
            assert answer is not None
            heads.append(answer.pattern.astype(float))
        rolled = rolled @ (0.5 * np.mean(heads, axis=0) + 0.5 * np.eye(6))
        assert np.allclose(stack.shares[FlowMethod.ROLLOUT][layer], rolled, atol=1e-5)


@models
def test_the_token_is_the_likeliest_unless_it_is_named(engine: Engine, folder, name: str) -> None:
    given = inputs(name, 6, rows=2)
    logits = logits_of(bundled.load(name, folder), given)[1]
    result = flow(engine, asked(name, given, 4, row=1))
    assert result.token == int(logits[4].argmax())
    assert result.generation == 4
    named = flow(engine, asked(name, given, 4, row=1, token=5))
    assert named.token == 5
    top = FlowMethod.GRADIENT
    assert not np.allclose(named.stacks[-1].shares[top], result.stacks[-1].shares[top])
    even = FlowMethod.ROLLOUT
    assert np.array_equal(named.stacks[-1].shares[even], result.stacks[-1].shares[even])


@models
def test_a_batch_row_flows_as_it_does_alone(engine: Engine, name: str) -> None:
    given = inputs(name, 6, rows=3)
    together = flow(engine, asked(name, given, 5, row=2))
    alone = flow(engine, asked(name, one_row(given, 2), 5))
    for one, other in zip(together.stacks, alone.stacks, strict=True):
        for method, shares in one.shares.items():
            assert np.allclose(shares, other.shares[method], atol=1e-5)


def test_cached_columns_are_part_of_the_row(engine: Engine) -> None:
    whole = flow(engine, asked("decoder", inputs("decoder", 7), 6))
    chunk = flow(engine, asked("decoder", inputs("decoder", 3, past=4), 6))
    for method, shares in whole.stacks[0].shares.items():
        assert np.array_equal(chunk.stacks[0].shares[method], shares)


def test_a_run_and_a_flow_do_not_disturb_each_other(engine: Engine) -> None:
    """A model that a run has loaded can be differentiated, and keeps its gradients as they were."""
    job = asked("decoder", inputs("decoder", 5), 4)
    before = engine.run(job.run)
    first = flow(engine, job)
    model = engine.model("decoder", CPU, torch.float32)
    assert all(parameter.grad is None for parameter in model.parameters())
    after = engine.run(job.run)
    assert np.array_equal(before.top_probs, after.top_probs)
    second = flow(engine, job)
    gradient = FlowMethod.GRADIENT
    assert np.array_equal(first.stacks[0].shares[gradient], second.stacks[0].shares[gradient])
    assert engine.head(HeadRequest(job.run.generation, job.run.head)) is not None


def test_a_position_that_reads_nothing_is_made_of_itself(engine: Engine) -> None:
    result = flow(engine, asked("decoder", inputs("decoder", 5, left_pad=(2,)), 1))
    assert result.notes == ("Column 1 is a pad: what comes out there is never scored.",)
    for shares in result.stacks[0].shares.values():
        assert np.argwhere(shares).tolist() == [[level, 1] for level in range(LAYERS + 1)]


def test_progress_goes_up_to_all_and_a_cancel_stops(engine: Engine) -> None:
    shares: list[float] = []

    def progress(sentence: str, share: float) -> None:
        shares.append(share)

    job = asked("decoder", inputs("decoder", 5), 4)
    flow(engine, job, progress=progress)
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        flow(engine, job, token)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"position": 6}, "position is 6, but must be between 0 and 5"),
        ({"position": -1}, "position is -1"),
        ({"layer": 0}, "layer is 0, but must be between 1 and 2"),
        ({"layer": 3}, "layer is 3"),
        ({"token": V}, f"token is {V}, but must be between 0 and {V - 1}"),
    ],
)
def test_what_the_model_has_not_is_named(engine: Engine, changes, told) -> None:
    job = replace(asked("decoder", inputs("decoder", 6), 5), **changes)
    with pytest.raises(ValueError, match=told):
        flow(engine, job)
