"""Two runs side by side: facts of the families, and a second arithmetic in plain loops."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log, sqrt
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from run_cases import HEADS, LAYERS, MODELS, POSITIONS, V, config, ids, inputs, randomise, request

from core.checkpoints import bundled
from core.mask.intervals import row_intervals
from core.model.transformer import Transformer
from core.run.cancel import Cancelled, CancelToken
from core.run.capture import Capture
from core.run.compare import compare
from core.run.engine import Engine
from core.run.side_torch import climb_in_chunks
from core.run.step import begin, chunk, to_device
from core.types import (
    CompareJob,
    Comparison,
    HeadRef,
    HeadRequest,
    Inputs,
    MaskKind,
    MaskSpec,
    Place,
    Reason,
    Side,
    Stack,
)

models = pytest.mark.parametrize("name", MODELS)
E, D, X = Stack.ENCODER, Stack.DECODER, Stack.CROSS
HEAD = HeadRef(D)


def side(name: str, given: Inputs, title: str = "A", **changes) -> Side:
    faults = {
        key: changes.pop(key) for key in ("positions", "mask_after_softmax") if key in changes
    }
    return Side(title, request(name, given, **changes), **faults)


def compared(engine: Engine, a: Side, b: Side, head: HeadRef = HEAD) -> Comparison:
    return compare(lambda run: engine, CompareJob(3, a, replace(b, title="B"), head))


def padded(tokens: tuple[int, ...], left: int, right: int, kind: MaskKind = MaskKind.CAUSAL):
    spec = MaskSpec(kind, left + len(tokens) + right, left_pad=(left,), right_pad=(right,))
    return Inputs(((0,) * left + tokens + (0,) * right,), spec)


def under(kind: MaskKind, length: int = 6, **knobs) -> Inputs:
    return Inputs((ids(length, 5),), MaskSpec(kind, length, **knobs))


@pytest.fixture(scope="module")
def shallow(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """``unified`` with a single layer."""
    folder = tmp_path_factory.mktemp("shallow")
    model = randomise(Transformer(replace(config("unified"), layers=1)), seed=4)
    bundled.save(model, {"title": "one layer", "figures": {}}, folder / "unified")
    return Engine(folder)


# -- equal sides


@st.composite
def any_side(draw: st.DrawFn) -> Side:
    """Any family, length, past, window, pads, rows and prefix that its model can run."""
    name = draw(st.sampled_from(list(MODELS)))
    kind = draw(st.sampled_from(MODELS[name][1]))
    past = draw(st.integers(0, 4)) if kind.is_causal and kind is not MaskKind.PREFIX else 0
    length, rows = draw(st.integers(1, 7)), draw(st.integers(1, 2))
    filled = past + length
    left = tuple(draw(st.integers(0, filled - 1)) for _ in range(rows))
    right = tuple(draw(st.integers(0, filled - 1 - n)) for n in left)
    knobs = {"kind": kind, "past": past, "window": draw(st.none() | st.integers(1, 9))}
    if name != "encdec":
        knobs |= {"left_pad": left, "right_pad": right}
    if kind is MaskKind.PREFIX:
        real = [filled - a - b for a, b in zip(left, right, strict=True)]
        knobs["prefix"] = draw(st.integers(0, min(real)))
    given = inputs(name, length, source=draw(st.integers(1, 5)), rows=rows, **knobs)
    return side(
        name,
        given,
        row=draw(st.integers(0, rows - 1)),
        positions=draw(st.booleans()),
        mask_after_softmax=draw(st.booleans()),
    )


def test_equal_sides_are_equal_everywhere(folder: Path) -> None:
    engine = Engine(folder)

    @settings(deadline=None, max_examples=50)
    @given(any_side(), st.sampled_from(list(Stack)), st.integers(0, 3), st.integers(0, 3))
    def holds(one: Side, stack: Stack, layer: int, head: int) -> None:
        found = compared(engine, one, one, HeadRef(stack, layer, head))
        spec = one.run.inputs.mask
        assert found.first is None
        assert "part nowhere" in found.sentence
        assert not found.difference.any()
        assert not found.total_variation.any()
        assert not found.divergence.any()
        assert np.array_equal(found.moved[0], found.moved[1])
        for apart in found.attention.values():
            assert not apart.any()
        for levels in found.levels.values():
            assert (levels.cosine == 1).all()
            assert not levels.relative.any()
        assert found.positions.shape == (2, spec.real_tokens(one.run.row))
        assert found.notes == () or "trained under" in found.notes[0]

    holds()


# -- against plain arithmetic


def states_of(model: Transformer, given: Inputs) -> tuple[dict[Stack, np.ndarray], np.ndarray]:
    """States by hooks on the modules of an uncached run, float64; and its logits."""
    seen: dict[Stack, list[np.ndarray]] = {}

    def keep(stack: Stack):
        return lambda module, args, out: seen.setdefault(stack, []).append(out[0].double().numpy())

    stacks = {D: model.body} | ({E: model.encoder} if hasattr(model, "encoder") else {})
    handles = [
        part.register_forward_hook(keep(name))
        for name, stack in stacks.items()
        for part in (stack.embedding, *stack.blocks)
    ]
    tensors = to_device(given, torch.device("cpu"))
    with torch.no_grad():
        logits = chunk(model, tensors, begin(model, tensors), tensors.ids.shape[1])[0]
    for handle in handles:
        handle.remove()
    return {name: np.stack(levels) for name, levels in seen.items()}, logits.double().numpy()


def softmax(row: np.ndarray) -> list[float]:
    powers = [exp(x - max(row)) for x in row]
    return [p / sum(powers) for p in powers]


@models
def test_states_and_outputs_are_compared_as_plain_loops_do(folder: Path, name: str) -> None:
    """A window on one side, none on the other: every number once more, position by position."""
    engine, model = Engine(folder), bundled.load(name, folder)
    sides = [inputs(name, 6, window=window) for window in (None, 2)]
    found = compared(engine, side(name, sides[0]), side(name, sides[1]))
    (states_a, logits_a), (states_b, logits_b) = (states_of(model, one) for one in sides)
    top = E if name == "encoder" else D
    for stack, levels in found.levels.items():
        own = D if stack is top else stack
        assert levels.cosine.shape == (LAYERS + 1, states_a[own].shape[1])
        for level, n in np.ndindex(levels.cosine.shape):
            a, b = states_a[own][level, n], states_b[own][level, n]
            dot = sum(x * y for x, y in zip(a, b, strict=True))
            long_a, long_b = (sqrt(sum(x * x for x in one)) for one in (a, b))
            apart = sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)))
            assert levels.cosine[level, n] == pytest.approx(dot / long_a / long_b, abs=1e-5)
            assert levels.relative[level, n] == pytest.approx(apart / long_a, abs=1e-5)
    for n in range(6):
        p, q = softmax(logits_a[n]), softmax(logits_b[n])
        pairs = list(zip(p, q, strict=True))
        assert found.total_variation[n] == pytest.approx(
            sum(abs(x - y) for x, y in pairs) / 2, abs=1e-5
        )
        nats = sum(x * log(x / y) for x, y in pairs if x > 0)
        assert found.divergence[n] == pytest.approx(nats, abs=1e-4, rel=1e-4)
        gaps = sorted((abs(x - y) for x, y in pairs), reverse=True)
        for k, token in enumerate(found.moved_ids[n]):
            assert found.moved[:, n, k] == pytest.approx([p[token], q[token]], abs=1e-5)
            assert abs(p[token] - q[token]) == pytest.approx(gaps[k], abs=1e-5)
    assert found.total_variation.max() > 0.01


@models
def test_weights_are_those_that_the_engine_serves(engine: Engine, name: str) -> None:
    """The pattern of the shown head, and the largest difference of every other."""
    sides = [side(name, inputs(name, 6, window=window)) for window in (None, 3)]
    served = []
    for number, one in enumerate(sides):
        run = engine.run(replace(one.run, generation=number))
        served.append(
            {
                HeadRef(maps.stack, layer, head): engine.head(
                    HeadRequest(number, HeadRef(maps.stack, layer, head))
                ).pattern
                for maps in run.maps
                for layer, head in np.ndindex(maps.thumbs.shape[:2])
            }
        )
    for head in served[0]:
        found = compared(engine, *sides, head)
        assert found.head == head
        for got, wanted in zip(found.patterns, served, strict=True):
            assert np.abs(got - wanted[head]).max() < 1e-5
        largest = np.abs(served[0][head] - served[1][head]).max()
        told = found.attention[head.stack]
        assert told.shape == (LAYERS, HEADS)
        assert told[head.layer, head.head] == pytest.approx(largest, abs=1e-5)


# -- facts of the families


def test_one_layer_of_causal_and_prefix_agree_at_the_last_position(shallow: Engine) -> None:
    causal, prefix = under(MaskKind.CAUSAL), under(MaskKind.PREFIX, prefix=3)
    found = compared(shallow, side("unified", causal), side("unified", prefix))
    assert found.total_variation[5] < 1e-6
    assert found.total_variation[1] > 1e-3
    assert found.levels[D].relative[0].max() == 0
    assert found.levels[D].relative[1, 5] < 1e-6
    assert found.first is not None
    assert (found.first.stack, found.first.layer, found.first.position) == (D, 0, 0)


def test_depth_brings_the_prefix_to_the_last_position(engine: Engine) -> None:
    causal, prefix = under(MaskKind.CAUSAL), under(MaskKind.PREFIX, prefix=3)
    found = compared(engine, side("unified", causal), side("unified", prefix))
    assert found.total_variation[5] > 1e-4
    assert found.levels[D].relative[1, 3:].max() < 1e-6
    assert found.levels[D].relative[2, 5] > 1e-4


def test_bidirectional_and_causal_part_at_position_0(shallow: Engine) -> None:
    two_way, causal = under(MaskKind.BIDIRECTIONAL), under(MaskKind.CAUSAL)
    found = compared(shallow, side("unified", two_way), side("unified", causal))
    assert found.total_variation[0] > 1e-3
    assert found.first is not None
    assert found.first.position == 0
    assert found.first.stack is E  # The only stack is called as in A, which reads both ways.
    assert set(found.attention) == set(found.levels) == {E}
    future = row_intervals(causal.mask).dense()
    assert np.array_equal(found.reasons[1] == Reason.FUTURE, ~future)
    assert not found.reasons[0].any()


@settings(deadline=None, max_examples=15)
@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 3))
def test_left_and_right_padding_agree_with_position_ids_alone(shallow, length, pads, more) -> None:
    tokens = ids(length, more)
    left, right = (side("unified", padded(tokens, *at)) for at in ((pads, more), (0, pads + more)))
    found = compared(shallow, left, right)
    assert found.tokens.tolist() == [list(tokens)] * 2
    assert found.positions.tolist() == [list(range(length))] * 2
    assert found.first is None
    assert found.total_variation.max() < 1e-5
    wrong = compared(shallow, replace(left, positions=False), right)
    assert wrong.levels[D].relative[0].min() > 1e-3
    assert wrong.total_variation.max() > 1e-4
    assert compared(shallow, replace(right, positions=False), right).first is None


@pytest.mark.parametrize("name", ["decoder", "prefix", "encdec", "unified"])
@pytest.mark.parametrize("past", [1, 4])
def test_cached_is_uncached(engine: Engine, name: str, past: int) -> None:
    kind = {"kind": MaskKind.CAUSAL} if name != "encdec" else {}
    sides = [inputs(name, 7 - n, past=n, **kind) for n in (past, 0)]
    found = compared(engine, *(side(name, one) for one in sides))
    assert found.first is None
    assert found.positions.shape == (2, 7)
    assert max(float(levels.relative.max()) for levels in found.levels.values()) < 1e-4


def test_what_is_cached_has_not_seen_the_rest(folder: Path) -> None:
    """Under a mask that reads ahead, a cache is wrong: the chunks are really run one by one."""
    model = bundled.load("decoder", folder)
    tensors = to_device(under(MaskKind.BIDIRECTIONAL), torch.device("cpu"))
    with torch.no_grad():
        states = [
            climb_in_chunks(model, tensors, Capture(), stops)[1][D] for stops in ((), (3,), (2, 4))
        ]
    assert all(one.shape == states[0].shape for one in states)
    assert torch.equal(states[0][0], states[1][0])
    assert not torch.allclose(states[0][1, :3], states[1][1, :3], atol=1e-3)
    assert torch.allclose(states[0][1, 3:], states[1][1, 3:], atol=1e-5)
    assert not torch.allclose(states[1][2, 3:], states[2][2, 3:], atol=1e-3)


def test_masking_late_changes_every_row_that_had_something_closed(engine: Engine) -> None:
    given = under(MaskKind.CAUSAL)
    before, after = side("decoder", given), side("decoder", given, mask_after_softmax=True)
    found = compared(engine, before, after)
    sums = found.patterns.sum(axis=2)
    assert sums[0] == pytest.approx([1] * 6, abs=1e-5)
    assert (sums[1, :5] < 1 - 1e-4).all()
    assert sums[1, 5] == pytest.approx(1, abs=1e-5)
    kept = found.patterns[1] / sums[1][:, None]
    assert np.abs(kept - found.patterns[0]).max() < 1e-5
    assert compared(engine, before, before).first is None  # The model is as it was.


def test_a_row_that_reads_nothing_is_zero_under_both(engine: Engine) -> None:
    given = Inputs((ids(5),), MaskSpec(MaskKind.BIDIRECTIONAL, 5, left_pad=(4,), window=1))
    found = compared(
        engine, side("encoder", given), side("encoder", given, mask_after_softmax=True)
    )
    assert np.isfinite(found.patterns).all()


# -- the first place


@pytest.mark.parametrize("query", [3, 5, 7])
def test_the_first_place_is_where_a_cell_was_closed(engine: Engine, query: int) -> None:
    """A window that reaches all but the first key of one query closes that cell first."""
    whole, cut = inputs("decoder", 8), inputs("decoder", 8, window=query)
    found = compared(engine, side("decoder", whole), side("decoder", cut))
    assert found.first is not None
    assert (found.first.stack, found.first.layer, found.first.position) == (D, 0, query)
    assert f"layer 1, head {found.first.head + 1}, position {query}" in found.sentence


def test_a_place_counts_the_tokens_of_a(engine: Engine) -> None:
    tokens = ids(6, 3)
    a, b = padded(tokens, 2, 0), padded(tokens, 2, 0)
    b = replace(b, mask=replace(b.mask, window=4))
    found = compared(engine, side("decoder", a), side("decoder", b))
    assert found.first is not None
    assert found.first.position == 4


def test_an_encoder_that_parts_is_told_before_its_decoder(engine: Engine) -> None:
    given = inputs("encdec", 4, source=5)
    other = replace(given, source_mask=replace(given.source_mask, window=2))
    found = compared(engine, side("encdec", given), side("encdec", other), HeadRef(X, 1, 1))
    assert found.first == Place(0, E, 0, found.first.head)
    assert set(found.attention) == {E, D, X}
    assert set(found.levels) == {E, D}
    assert (found.reads_source, found.from_source) == (True, False)
    assert found.patterns.shape == (2, 4, 5)
    assert not found.levels[D].relative[0].any()


# -- what is not shared


def test_texts_share_what_is_equal_or_exchanged(engine: Engine) -> None:
    one, other = (5, 6, 7, 8, 9), (5, 6, 20, 8, 9, 10, 11)
    found = compared(
        engine, side("decoder", padded(one, 1, 0)), side("decoder", padded(other, 0, 2))
    )
    assert found.tokens.tolist() == [[5, 6, 7, 8, 9], [5, 6, 20, 8, 9]]
    assert found.positions.tolist() == [[0, 1, 2, 3, 4]] * 2
    assert found.notes == (
        "Not compared: 2 tokens of B's text that A has not.",
        "The text of A and B differs in 1 token, compared in their places.",
    )
    assert found.total_variation[:2].max() < 1e-6
    assert found.total_variation[2] > 0


def test_a_word_that_was_put_in_shifts_what_follows(engine: Engine) -> None:
    one, other = (5, 6, 8, 9), (5, 6, 20, 21, 8, 9)
    found = compared(
        engine, side("decoder", padded(one, 0, 0)), side("decoder", padded(other, 0, 0))
    )
    assert found.positions.tolist() == [[0, 1, 2, 3], [0, 1, 4, 5]]
    assert found.patterns.shape == (2, 4, 4)
    assert found.total_variation[1] < 1e-6 < found.total_variation[2]


def test_decoder_and_encoder_decoder_share_the_stack_that_makes_the_output(engine: Engine) -> None:
    two, one = inputs("encdec", 5), inputs("decoder", 5)
    for a, b, alone in (
        (("encdec", two), ("decoder", one), "A"),
        (("decoder", one), ("encdec", two), "B"),
    ):
        found = compared(engine, side(*a), side(*b), HeadRef(X))
        assert set(found.attention) == set(found.levels) == {D}
        assert found.head == HeadRef(D)
        assert found.source_tokens.shape == (2, 0)
        (note,) = found.notes
        assert note.startswith(f"{alone} alone has a source")


def test_sources_without_a_common_token_are_not_compared(engine: Engine) -> None:
    given = inputs("encdec", 4, source=3)
    one = replace(given, source=((5, 6, 7),))
    longer = {"source_mask": replace(given.source_mask, length=4)}
    longer |= {"cross_mask": replace(given.cross_mask, source=4)}
    other = Inputs(**(vars(given) | longer | {"source": ((8, 9, 10, 11),)}))
    found = compared(engine, side("encdec", one), side("encdec", other), HeadRef(X))
    assert set(found.attention) == set(found.levels) == {D}
    assert found.notes == (
        "Not compared: 3 tokens of A's source that B has not, and 4 tokens of B's source that A has"
        " not.",
    )


def test_models_of_other_sizes_are_compared_as_far_as_they_go(tmp_path: Path) -> None:
    for name, sizes in (
        ("decoder", {}),
        ("prefix", {"width": 16, "layers": 3, "heads": 4, "kv_heads": 4}),
    ):
        model = randomise(Transformer(replace(config(name), **sizes)))
        bundled.save(model, {"title": name, "figures": {}}, tmp_path / name)
    given, engine = under(MaskKind.CAUSAL), Engine(tmp_path)
    found = compared(engine, side("decoder", given), side("prefix", given))
    assert found.attention[D].shape == (LAYERS, HEADS)
    assert found.levels == {}
    assert len([note for note in found.notes if "layers and heads" in note or "wide" in note]) == 2


def test_out_of_training_is_said(engine: Engine) -> None:
    given = under(MaskKind.BIDIRECTIONAL)
    found = compared(engine, side("decoder", under(MaskKind.CAUSAL)), side("decoder", given))
    assert found.notes[0].startswith("B: decoder was trained under a causal mask only")


# -- what cannot be


def test_nothing_in_common_is_refused(engine: Engine) -> None:
    one, other = padded((5, 6), 0, 0), padded((7, 8, 9), 0, 0)
    with pytest.raises(ValueError, match="no token in common"):
        compared(engine, side("decoder", one), side("decoder", other))


def test_pads_that_take_positions_must_have_room(engine: Engine) -> None:
    given = padded(ids(4), POSITIONS - 3, 0)
    assert compared(engine, side("decoder", given), side("decoder", given)).first is None
    with pytest.raises(ValueError, match=f"301 columns, but the model has {POSITIONS} positions"):
        compared(engine, side("decoder", given, positions=False), side("decoder", given))


def test_vocabularies_must_be_one(tmp_path: Path) -> None:
    for name, size in (("decoder", V), ("prefix", V + 1)):
        model = randomise(Transformer(replace(config(name), vocabulary=size)))
        bundled.save(model, {"title": name, "figures": {}}, tmp_path / name)
    given = under(MaskKind.CAUSAL)
    with pytest.raises(ValueError, match="A has 30 entries in its vocabulary and B 31"):
        compared(Engine(tmp_path), side("decoder", given), side("prefix", given))


def test_a_cancel_stops_and_progress_names_the_sides(engine: Engine) -> None:
    one, told = side("decoder", inputs("decoder")), []
    job = CompareJob(1, one, replace(one, title="B"), HEAD)
    compare(lambda run: engine, job, progress=lambda *said: told.append(said))
    assert told == [("reading A", 0.0), ("reading B", 0.5)]
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        compare(lambda run: engine, job, token)
    with pytest.raises(Cancelled):
        engine.reading(one, token)


def test_the_last_run_still_serves_its_heads(engine: Engine) -> None:
    run = request("decoder")
    engine.run(run)
    compared(engine, side("encoder", inputs("encoder")), side("encoder", inputs("encoder")))
    assert engine.head(HeadRequest(run.generation, HEAD)) is not None
