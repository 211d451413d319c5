from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from run_cases import (
    HEADS,
    LAYERS,
    MODELS,
    POSITIONS,
    V,
    inputs,
    logits_of,
    request,
)

from core.checkpoints import bundled
from core.model.attention import Attention
from core.model.layers import Mlp
from core.run.cancel import Cancelled, CancelToken
from core.run.engine import Engine, EngineError
from core.run.validate import MOST_COLUMNS
from core.types import (
    Family,
    HeadRef,
    HeadRequest,
    Inputs,
    MaskKind,
    MaskSpec,
    RunResult,
    Stack,
)

models = pytest.mark.parametrize("name", MODELS)
STACKS = {
    Family.ENCODER: [Stack.ENCODER],
    Family.DECODER: [Stack.DECODER],
    Family.PREFIX: [Stack.DECODER],
    Family.ENCODER_DECODER: [Stack.ENCODER, Stack.DECODER, Stack.CROSS],
}


def stacks_of(name: str) -> list[Stack]:
    return STACKS[MODELS[name][0]]


# -- what comes back


@models
def test_a_result_has_the_promised_shapes_and_types(engine: Engine, name: str) -> None:
    given = inputs(name, 6, rows=2)
    result = engine.run(request(name, given, generation=7, row=1, top=4))
    assert (result.generation, result.model, result.device) == (7, name, "cpu")
    assert result.dtype == "float32"
    assert result.seconds > 0
    assert result.cache_difference is None
    assert [m.stack for m in result.maps] == stacks_of(name)
    for wall in result.maps:
        rows = 5 if wall.stack is Stack.ENCODER and name == "encdec" else 6
        keys = 5 if name == "encdec" and wall.stack is not Stack.DECODER else 6
        assert (wall.rows, wall.keys, wall.block) == (rows, keys, 1)
        assert wall.thumbs.dtype == np.uint8
        assert wall.thumbs.shape == (LAYERS, HEADS, rows, keys)
        assert wall.scale.dtype == np.float32
        assert wall.scale.shape == (LAYERS, HEADS)
    assert result.head.generation == 7
    assert result.head.head == request(name).head
    assert result.head.pattern.dtype == np.float32
    assert result.head.pattern.shape == (6, 6)
    assert result.top_ids.dtype == np.int32
    assert result.top_probs.dtype == np.float32
    assert result.top_ids.shape == result.top_probs.shape == (6, 4)


@models
def test_the_likeliest_tokens_are_those_of_the_model(engine: Engine, folder, name: str) -> None:
    given = inputs(name, 6, rows=2)
    result = engine.run(request(name, given, row=1, top=V + 5))
    logits = logits_of(bundled.load(name, folder), given)[1].double()
    odds = (logits.exp() / logits.exp().sum(-1, keepdim=True)).numpy()
    assert result.top_ids.shape == (6, V)
    for at in range(6):
        order = sorted(range(V), key=lambda i: -odds[at, i])
        assert result.top_ids[at].tolist() == order
        assert result.top_probs[at] == pytest.approx(odds[at, order], abs=1e-5)


@models
def test_the_surprise_is_what_the_model_gives_the_token_that_follows(
    engine: Engine, folder, name: str
) -> None:
    knobs = {} if name == "encdec" else {"documents": (2, 2), "left_pad": (1, 0)}
    knobs |= {"right_pad": (1, 2)} if knobs else {}
    given = inputs(name, 6, rows=2, **knobs)
    result = engine.run(request(name, given))
    odds = logits_of(bundled.load(name, folder), given)[0].double().softmax(-1).numpy()
    body = given.rows[0]
    spoken = {1, 3} if knobs else set(range(5))
    for at in range(6):
        if name == "encoder" or at not in spoken:
            assert math.isnan(result.surprise[at])
        elif name != "unified" or given.mask.kind.is_causal:
            nats = -math.log(odds[at, body[at + 1]])
            assert result.surprise[at] == pytest.approx(nats, abs=1e-4)


def test_the_surprise_of_a_chunk_is_that_of_the_whole_row(engine: Engine) -> None:
    whole = engine.run(request("decoder", inputs("decoder", 6)))
    chunk = engine.run(request("decoder", inputs("decoder", 4, past=2)))
    assert np.allclose(chunk.surprise[:-1], whole.surprise[2:-1], atol=1e-4)
    assert math.isnan(chunk.surprise[-1])


@models
def test_every_head_can_be_asked_for_and_makes_its_thumbnail(engine: Engine, name: str) -> None:
    """A text of 200 tokens, thumbnails of 128 at the most: blocks of two by two."""
    result = engine.run(request(name, inputs(name, 200, source=131), generation=3))
    for wall in result.maps:
        assert wall.block == 2
        assert wall.thumbs.shape[2:] == (math.ceil(wall.rows / 2), math.ceil(wall.keys / 2))
        for layer in range(LAYERS):
            for head in range(HEADS):
                answer = engine.head(HeadRequest(3, HeadRef(wall.stack, layer, head)))
                assert answer is not None
                assert (answer.generation, answer.head) == (3, HeadRef(wall.stack, layer, head))
                _assert_thumbnail(answer.pattern, wall.thumbs[layer, head], wall.scale[layer, head])


def _assert_thumbnail(pattern: np.ndarray, thumb: np.ndarray, scale: float) -> None:
    assert scale == pattern.max() > 0
    for i in range(thumb.shape[0]):
        for j in range(0, thumb.shape[1], 7):
            block = pattern[2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
            assert abs(thumb[i, j] - 255 * math.sqrt(block.max() / scale)) <= 0.51


def test_patterns_are_closed_where_the_mask_is_and_add_up_to_one(engine: Engine) -> None:
    given = inputs("decoder", 8, rows=2, left_pad=(0, 3), window=4)
    result = engine.run(request("decoder", given, row=1, head=HeadRef(Stack.DECODER, 1, 1)))
    pattern = result.head.pattern
    for query in range(8):
        for key in range(8):
            is_open = key >= 3 and query - 4 < key <= query
            assert (pattern[query, key] > 0) == is_open
        assert pattern[query].sum() == pytest.approx(1.0 if query >= 3 else 0.0, abs=1e-5)


def test_a_head_that_the_model_lacks_is_answered_with_the_nearest(engine: Engine) -> None:
    for odd in (HeadRef(Stack.CROSS), HeadRef(Stack.DECODER, 9), HeadRef(Stack.DECODER, 0, -1)):
        result = engine.run(request("decoder", head=odd))
        assert result.head.head == HeadRef(Stack.DECODER, 0, 0)
    assert engine.run(request("encdec", head=HeadRef(Stack.CROSS, 1, 1))).head.head == HeadRef(
        Stack.CROSS, 1, 1
    )


@pytest.mark.parametrize(
    ("name", "kind", "shown"),
    [
        ("decoder", MaskKind.BIDIRECTIONAL, [Stack.ENCODER]),
        ("encoder", MaskKind.CAUSAL, [Stack.DECODER]),
        ("unified", MaskKind.CAUSAL, [Stack.DECODER]),
        ("encdec", MaskKind.BIDIRECTIONAL, [Stack.ENCODER, Stack.DECODER, Stack.CROSS]),
    ],
)
def test_a_single_stack_is_named_by_how_its_mask_reads(
    engine: Engine, name: str, kind: MaskKind, shown: list[Stack]
) -> None:
    given = inputs(name, kind=kind)
    result = engine.run(request(name, given, head=HeadRef(shown[0], 1, 1)))
    assert [wall.stack for wall in result.maps] == shown
    assert result.head.head == HeadRef(shown[0], 1, 1)


# -- cache


@pytest.mark.parametrize(
    ("name", "past", "knobs"),
    [
        ("decoder", 4, {}),
        ("decoder", 6, {"rows": 2, "left_pad": (0, 3)}),
        ("decoder", 4, {"rows": 2, "right_pad": (0, 5)}),
        ("decoder", 3, {"window": 2}),
        ("decoder", 3, {"documents": (2, 6)}),
        ("prefix", 4, {"prefix": 4}),
        ("prefix", 1, {"prefix": 1}),
        ("encdec", 5, {}),
    ],
)
def test_a_cached_run_says_what_the_whole_run_says(
    engine: Engine, name: str, past: int, knobs: dict
) -> None:
    cached = inputs(name, 8 - past, past=past, **knobs)
    row = cached.mask.rows - 1
    result = engine.run(request(name, cached, row=row))
    assert result.cache_difference is not None
    assert result.cache_difference < 1e-5
    spec = replace(cached.mask, past=0, length=8)
    cross = cached.cross_mask and replace(cached.cross_mask, past=0, length=8)
    whole = engine.run(request(name, replace(cached, mask=spec, cross_mask=cross), row=row))
    assert whole.cache_difference is None
    np.testing.assert_allclose(result.head.pattern, whole.head.pattern[past:], atol=1e-6)
    np.testing.assert_allclose(result.top_probs, whole.top_probs[past:], atol=1e-5)
    assert (result.maps[-1].rows, whole.maps[-1].rows) == (8 - past, 8)


def test_the_difference_would_show_a_broken_cache(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys that are cached upside down."""
    project = Attention.project

    def upside_down(self, x):
        query, keys, values = project(self, x)
        return query, keys.flip(2), values

    monkeypatch.setattr(Attention, "project", upside_down)
    result = engine.run(request("decoder", inputs("decoder", 4, past=4)))
    assert result.cache_difference is not None
    assert result.cache_difference > 1e-3


@pytest.mark.parametrize(
    ("name", "own", "cross"), [("decoder", 6, 0), ("encdec", 6, 5), ("encoder", 6, 0)]
)
def test_cache_bytes_are_those_of_one_row(engine: Engine, name: str, own: int, cross: int) -> None:
    """Keys and values of width 8 for each token and layer, in 4 bytes."""
    result = engine.run(request(name, inputs(name, 6, rows=3)))
    slot = 2 * 8 * LAYERS * 4
    assert result.cache_bytes == (own + cross) * slot
    assert result.cross_bytes == cross * slot


# -- one run after another


def test_heads_are_those_of_the_last_run_only(engine: Engine) -> None:
    ask = HeadRequest(1, HeadRef(Stack.DECODER, 1, 1))
    assert engine.head(ask) is None
    engine.run(request("decoder", generation=1))
    first = engine.head(ask)
    assert first is not None
    engine.run(request("decoder", inputs("decoder", 4), generation=2))
    assert engine.head(ask) is None
    second = engine.head(replace(ask, generation=2))
    assert second is not None
    assert (first.pattern.shape, second.pattern.shape) == ((6, 6), (4, 4))


def test_a_model_is_loaded_once(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.run(request("decoder"))
    monkeypatch.setattr(bundled, "load", None)
    assert engine.run(request("decoder", generation=2)).generation == 2


class Impatient(CancelToken):
    """Set when it has been asked ``patience`` times."""

    def __init__(self, patience: int) -> None:
        super().__init__()
        self.left = patience

    def check(self) -> None:
        if self.left == 0:
            self.cancel()
        self.left -= 1
        super().check()


@pytest.fixture
def layers_run(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for every layer that has been run to its end."""
    done: list[int] = []
    forward = Mlp.forward

    def counted(self: Mlp, x: torch.Tensor) -> torch.Tensor:
        done.append(1)
        return forward(self, x)

    monkeypatch.setattr(Mlp, "forward", counted)
    return done


@pytest.mark.parametrize(
    ("name", "past", "layers"), [("decoder", 0, 2), ("decoder", 3, 6), ("encdec", 0, 4)]
)
def test_a_stop_is_heard_before_the_next_layer(
    engine: Engine, layers_run: list[int], name: str, past: int, layers: int
) -> None:
    """With a past there are three passes: the prefill, the chunk, the whole to compare with."""
    asked = request(name, inputs(name, 6, past=past))
    for patience in range(layers):
        layers_run.clear()
        with pytest.raises(Cancelled):
            engine.run(asked, Impatient(patience))
        assert len(layers_run) == patience
    layers_run.clear()
    assert isinstance(engine.run(asked, Impatient(layers)), RunResult)
    assert len(layers_run) == layers


def test_a_run_that_was_stopped_leaves_the_last_answer_alone(engine: Engine) -> None:
    engine.run(request("decoder", generation=1))
    with pytest.raises(Cancelled):
        engine.run(request("decoder", inputs("decoder", 4), generation=2), Impatient(1))
    kept = engine.head(HeadRequest(1, HeadRef(Stack.DECODER)))
    assert kept is not None
    assert kept.pattern.shape == (6, 6)


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA"), MemoryError()])
def test_memory_that_runs_out_is_told(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def full(*_: object) -> torch.Tensor:
        raise error

    engine.run(request("decoder", generation=1))
    monkeypatch.setattr(Mlp, "forward", full)
    with pytest.raises(EngineError, match=r"cpu ran out of memory; shorten the text.*\.") as told:
        engine.run(request("decoder", generation=2))
    assert told.value.__cause__ is error
    monkeypatch.undo()
    assert engine.run(request("decoder", generation=3)).generation == 3


# -- what is refused, in a sentence


def refused(engine: Engine, sentence: str, name: str, given: Inputs | None = None, **changes):
    with pytest.raises(ValueError, match=sentence):
        engine.run(request(name, given, **changes))


def test_an_unknown_model_lists_the_known_ones(engine: Engine) -> None:
    known = "encoder, decoder, prefix, encdec, unified"
    asked = replace(request("decoder"), model="gpt-5")
    with pytest.raises(ValueError, match=f"There is no model 'gpt-5'; choose one of {known}."):
        engine.run(asked)


def test_device_and_dtype_are_checked(engine: Engine) -> None:
    refused(engine, "There is no device 'tpu' here; choose one of .*cpu", "decoder", device="tpu")
    refused(engine, "dtype is 'int8', but must be one of float32", "decoder", dtype="int8")
    refused(engine, "dtype is float16, but cpu runs in float32 only", "decoder", dtype="float16")


@pytest.mark.parametrize("odd", [V, -1, 10**9])
def test_token_ids_out_of_range_are_named(engine: Engine, odd: int) -> None:
    sentence = f"holds token id {odd}, but the model knows ids from 0 to {V - 1}"
    spec = MaskSpec(MaskKind.CAUSAL, 3)
    refused(engine, f"The text {sentence}", "decoder", Inputs(((3, odd, 4),), spec))
    pair = replace(inputs("encdec"), source=((1, 2, odd, 3, 4),))
    refused(engine, f"The source {sentence}", "encdec", pair)


def test_a_source_belongs_to_an_encoder_decoder(engine: Engine) -> None:
    refused(engine, "reads one text and takes no source", "decoder", inputs("encdec"))
    refused(engine, "needs source tokens", "encdec", inputs("decoder"))


def test_a_text_longer_than_the_positions_says_by_how_much(engine: Engine) -> None:
    long = inputs("decoder", POSITIONS + 2)
    sentence = f"has {POSITIONS + 2} tokens, but the model has {POSITIONS} positions: .* by 2"
    refused(engine, sentence, "decoder", long)
    refused(engine, sentence, "encdec", inputs("encdec", 4, source=POSITIONS + 2))
    padded = inputs("decoder", POSITIONS + 2, left_pad=(2,))
    assert engine.run(request("decoder", padded)).top_ids.shape[0] == POSITIONS + 2


def test_more_pads_than_can_be_run_are_refused(engine: Engine) -> None:
    wide = inputs("decoder", MOST_COLUMNS + 3, left_pad=(MOST_COLUMNS,))
    refused(engine, f"have {MOST_COLUMNS + 3} columns .* take 3 pads away", "decoder", wide)


def test_nothing_is_cached_under_a_bidirectional_mask(engine: Engine) -> None:
    given = inputs("encoder", 3, past=3)
    refused(engine, "past is 3, but must be 0: under a bidirectional mask", "encoder", given)


def test_a_prefix_is_prefilled_in_one_piece(engine: Engine) -> None:
    sentence = "past is 3, but must be 0 or at least 4: a prefix is prefilled in one piece"
    refused(engine, sentence, "prefix", inputs("prefix", 5, past=3, prefix=4))
    padded = inputs("prefix", 5, past=3, prefix=2, left_pad=(2,))
    refused(engine, sentence, "prefix", padded)


@pytest.mark.parametrize("row", [-1, 1, 5])
def test_there_is_no_such_row(engine: Engine, row: int) -> None:
    refused(engine, f"row is {row}, but must be between 0 and 0", "decoder", row=row)


# -- what the model never saw


@pytest.mark.parametrize(
    ("name", "knobs", "told"),
    [
        ("decoder", {}, ""),
        ("decoder", {"kind": MaskKind.DECODER_SELF}, ""),
        ("decoder", {"kind": MaskKind.PREFIX, "prefix": 1}, ""),
        ("decoder", {"kind": MaskKind.PREFIX, "prefix": 2}, "a causal mask"),
        ("decoder", {"kind": MaskKind.BIDIRECTIONAL}, "a causal mask"),
        ("encoder", {}, ""),
        ("encoder", {"kind": MaskKind.ENCODER_SELF}, ""),
        ("encoder", {"kind": MaskKind.CAUSAL}, "a bidirectional mask"),
        ("prefix", {"prefix": 3}, ""),
        ("prefix", {"kind": MaskKind.CAUSAL}, ""),
        ("prefix", {"kind": MaskKind.BIDIRECTIONAL}, "a prefix mask"),
        ("unified", {"kind": MaskKind.BIDIRECTIONAL}, ""),
        ("encdec", {}, ""),
        ("encdec", {"kind": MaskKind.CAUSAL}, ""),
        ("encdec", {"kind": MaskKind.BIDIRECTIONAL}, "a decoder-self mask"),
    ],
)
def test_a_mask_that_was_not_trained_is_told(
    engine: Engine, name: str, knobs: dict, told: str
) -> None:
    note = engine.run(request(name, inputs(name, 6, **knobs))).note
    assert (f"trained under {told} only" in note) if told else note == ""
