"""Cost: every published number, the real models counted, and laws that hold at any size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from core.checkpoints import cards
from core.model.config import ModelConfig
from core.model.transformer import Transformer
from core.run.capture import Capture
from core.run.cost import around, axes, cost, sizes_of, sweep, value
from core.run.step import begin, chunk, to_device
from core.types import Family, Inputs, MaskKind, MaskSpec
from core.types.cost import ModelSizes, Quantity, Workload, figure

PLAIN = ModelSizes(1, 1024, 16, attention_bias=False, output_bias=False)
BIG = replace(PLAIN, layers=24)
Q = Quantity


def total(model: ModelSizes, quantity: Quantity, **load: int) -> int:
    return cost(model, Workload(**{"length": 2048, "bytes": 2, **load})).tallies[quantity].total


def parts(model: ModelSizes, quantity: Quantity, **load: int) -> dict[str, float]:
    found = cost(model, Workload(**{"length": 2048, **load}))
    return {term.name: term.value for term in found.tallies[quantity].terms}


def fact(model: ModelSizes, name: str, **load: int) -> float:
    found = cost(model, Workload(**{"length": 2048, **load}))
    return next(term.value for term in found.facts if name in term.name)


# -- published numbers


def test_flops_of_a_block_are_those_of_the_table():
    b, t, d = 3, 700, 1024
    found = parts(PLAIN, Q.FLOPS, length=t, batch=b)
    assert found["projections"] == 8 * b * t * d**2
    assert found["scores and values"] == 4 * b * t**2 * d
    assert found["FFN"] == 16 * b * t * d**2
    assert total(PLAIN, Q.FLOPS, length=t, batch=b) == 24 * b * t * d**2 + 4 * b * t**2 * d


def test_quadratic_and_linear_parts_meet_at_six_widths():
    assert fact(PLAIN, "as much as the rest") == 6 * 1024
    found = parts(PLAIN, Q.FLOPS, length=6 * 1024)
    assert found["scores and values"] == found["projections"] + found["FFN"]


def test_one_score_tensor():
    model = ModelSizes(24, 512, 8)
    assert total(model, Q.SCORE_BYTES, length=1024, batch=2) == 32 * 2**20 == 16_777_216 * 2
    assert total(model, Q.SCORE_BYTES, length=2048, batch=2) == 128 * 2**20


def test_kv_cache():
    assert total(BIG, Q.KV_CACHE_BYTES) == 201_326_592 == 192 * 2**20
    assert total(BIG, Q.KV_CACHE_BYTES, batch=4) == 768 * 2**20
    assert total(replace(BIG, kv_heads=4), Q.KV_CACHE_BYTES) == 48 * 2**20


def test_cross_cache_has_the_attention_width_and_never_grows():
    two = replace(BIG, encoder_layers=12)
    for length in (1, 2048):
        assert total(two, Q.CROSS_CACHE_BYTES, length=length, source=1024) == 96 * 2**20
    assert total(two, Q.CROSS_CACHE_BYTES, source=1024, batch=32) == 3 * 2**30
    apart = replace(two, width=512, heads=16, head_width=64)
    assert total(apart, Q.CROSS_CACHE_BYTES, source=1024) == 96 * 2**20


def test_the_reference_decoder():
    model = ModelSizes(4, 128, 4, vocabulary=1000, positions=512)
    plain = replace(model, attention_bias=False, output_bias=False)
    assert total(plain, Q.PARAMETERS) == 984_832


def test_block_parameters():
    d = 768
    plain = ModelSizes(1, d, 12, attention_bias=False)
    found = parts(plain, Q.PARAMETERS)
    assert found["attention"] == 4 * d**2
    assert found["FFN"] - 5 * d == 8 * d**2
    gated = parts(replace(plain, gated=True, ffn=8 * d // 3), Q.PARAMETERS)
    assert gated["FFN"] - (2 * 8 * d // 3 + d) == 8 * d**2
    two = parts(replace(plain, encoder_layers=1), Q.PARAMETERS)
    assert two["cross-attention"] == 4 * d**2


@given(st.integers(1, 300), st.integers(0, 300))
def test_tokens_read_while_generating_counted_one_by_one(prompt: int, generate: int):
    read = sum(prompt + step for step in range(1, generate + 1))
    assert fact(BIG, "tokens read", prompt=prompt, generate=generate) == read


def test_a_matrix_product_by_hand():
    n, m, k = 3, 4, 5
    products = n * m * k
    additions = sum(m - 1 for _ in range(n) for _ in range(k))
    assert products + additions == n * k * (2 * m - 1)
    head = parts(ModelSizes(1, m, 1, vocabulary=k), Q.FLOPS, length=n)["head"]
    assert head == 2 * n * m * k == products + additions + n * k


# -- the real models


@st.composite
def configs(draw: st.DrawFn) -> ModelConfig:
    family = draw(st.sampled_from(list(Family)))
    heads = draw(st.sampled_from((1, 2, 4)))
    two = family is Family.ENCODER_DECODER
    return ModelConfig(
        family,
        (MaskKind.CAUSAL,),
        vocabulary=draw(st.integers(3, 40)),
        width=heads * draw(st.integers(1, 6)),
        layers=draw(st.integers(1, 3)),
        encoder_layers=draw(st.integers(1, 3)) if two else 0,
        heads=heads,
        kv_heads=draw(st.sampled_from([n for n in (1, 2, 4) if heads % n == 0 and n <= heads])),
        ffn=draw(st.integers(1, 20)),
        positions=draw(st.integers(20, 40)),
    )


@pytest.mark.parametrize("name", cards.names())
def test_parameters_of_every_bundled_model(name: str):
    config = ModelConfig.from_json(cards.raw_card(name)["config"])
    with torch.device("meta"):
        real = sum(p.numel() for p in Transformer(config).parameters())
    assert total(sizes_of(config), Q.PARAMETERS) == real == cards.card(name).parameters


@settings(deadline=None, max_examples=60)
@given(configs())
def test_parameters_of_any_model(config: ModelConfig):
    with torch.device("meta"):
        real = sum(p.numel() for p in Transformer(config).parameters())
    assert total(sizes_of(config), Q.PARAMETERS) == real


def inputs(config: ModelConfig, length: int, past: int, batch: int, source: int) -> Inputs:
    pads = {"left_pad": (0,) * batch, "right_pad": (0,) * batch}
    two = config.family is Family.ENCODER_DECODER
    kind = MaskKind.DECODER_SELF if two else MaskKind.CAUSAL
    spec = MaskSpec(kind, length, past=past, **pads)
    rows = ((1,) * spec.filled,) * batch
    if not two:
        return Inputs(rows, spec)
    read = MaskSpec(MaskKind.ENCODER_SELF, source, **pads)
    cross = MaskSpec(MaskKind.CROSS, length, past=past, source=source, **pads)
    return Inputs(rows, spec, ((1,) * source,) * batch, read, cross)


@settings(deadline=None, max_examples=40)
@given(configs(), st.integers(1, 7), st.integers(0, 5), st.integers(1, 3), st.integers(1, 8))
def test_flops_are_those_that_torch_counts(config, length, past, batch, source):
    """Torch counts every matrix product of the traced path, where none is fused."""
    past = 0 if config.family is Family.ENCODER else past
    model = Transformer(config).eval()
    tensors = to_device(inputs(config, length, past, batch, source), torch.device("cpu"))
    watcher = Capture()
    with torch.inference_mode(), FlopCounterMode(display=False) as reading:
        cache = begin(model, tensors, watcher)
        first = reading.get_total_flops()
        if past:
            chunk(model, tensors, cache, past, watcher)
            first = reading.get_total_flops()
        else:
            first = 0
        chunk(model, tensors, cache, past + length, watcher)
    load = {"length": length, "past": past, "batch": batch, "source": source}
    assert total(sizes_of(config), Q.FLOPS, **load) == reading.get_total_flops() - first


@settings(deadline=None, max_examples=25)
@given(configs(), st.integers(1, 6), st.integers(0, 5), st.integers(1, 2), st.integers(1, 6))
def test_a_generation_is_the_sum_of_its_passes(config, prompt, generate, batch, source):
    if config.family is Family.ENCODER:
        return
    model = Transformer(config).eval()
    whole = inputs(config, prompt + generate, 0, batch, source)
    tensors, watcher = to_device(whole, torch.device("cpu")), Capture()
    with torch.inference_mode(), FlopCounterMode(display=False) as reading:
        cache = begin(model, tensors, watcher)
        for stop in range(prompt, prompt + generate + 1):
            chunk(model, tensors, cache, stop, watcher)
    load = {"prompt": prompt, "generate": generate, "batch": batch, "source": source}
    assert total(sizes_of(config), Q.GENERATION_FLOPS, **load) == reading.get_total_flops()
    held = {"length": prompt + generate, "batch": batch, "source": source, "bytes": 4}
    caches = [total(sizes_of(config), q, **held) for q in (Q.KV_CACHE_BYTES, Q.CROSS_CACHE_BYTES)]
    assert sum(caches) == cache.bytes
    assert caches[1] == cache.cross_bytes


def test_a_decode_step_reads_all_but_the_encoder_and_what_made_the_cross_cache():
    config = ModelConfig(
        Family.ENCODER_DECODER, (MaskKind.DECODER_SELF,), layers=2, encoder_layers=3
    )
    with torch.device("meta"):
        model = Transformer(config)
    read = sum(
        p.numel()
        for name, p in model.named_parameters()
        if not name.startswith("encoder.") and ".cross.kv." not in name
    )
    assert cost(sizes_of(config), Workload(5)).letters["R"] == read


# -- laws


@given(st.integers(1, 10**4), st.integers(1, 64), st.integers(0, 100))
def test_doubling(length: int, batch: int, past: int):
    model = replace(BIG, vocabulary=1000)
    once, long = (parts(model, Q.FLOPS, length=n, batch=batch) for n in (length, 2 * length))
    for name in once:
        assert long[name] == once[name] * (4 if name.startswith("scores") else 2)
    assert total(model, Q.SCORE_BYTES, length=2 * length) == 4 * total(
        model, Q.SCORE_BYTES, length=length
    )
    for quantity in (Q.FLOPS, Q.SCORE_BYTES, Q.KV_CACHE_BYTES):
        load = {"length": length, "past": past}
        wide = total(model, quantity, batch=2 * batch, **load)
        assert wide == 2 * total(model, quantity, batch=batch, **load)


def test_a_decode_step_does_far_less_with_each_byte_than_a_prefill():
    load = {"prompt": 1024, "bytes": 2}
    prefill, step = (fact(BIG, f"intensity of {of}", **load) for of in ("the prefill", "a decode"))
    assert step < 2 < 100 < prefill


@settings(max_examples=30, deadline=None)
@given(configs(), st.integers(1, 40), st.integers(0, 9), st.integers(1, 9))
def test_formulas_with_numbers_in_come_to_their_values(config, length, past, source):
    model = sizes_of(config)
    load = Workload(length, past=0 if model.encoder else past, source=source, generate=7)
    found = cost(model, load)
    terms = [term for tally in found.tallies.values() for term in tally.terms]
    for term in (*terms, *found.facts):
        plain = term.substituted.replace(",", "").replace("·", "*").replace("²", "**2")
        assert float(eval(plain)) == pytest.approx(term.value), term
        assert not set("BTSPGDAKFMVNHLEW") & set(term.substituted)


@settings(max_examples=20, deadline=None)
@given(configs(), st.sampled_from(list(Quantity)), st.data())
def test_a_sweep_is_the_cost_at_each_size(config, quantity, data):
    model, load = sizes_of(config), Workload(24, batch=2, source=9, prompt=11, generate=5)
    found = cost(model, load)
    axis = data.draw(st.sampled_from(axes(quantity, model)))
    fields = {"T": "length", "B": "batch", "S": "source", "P": "prompt", "G": "generate"}
    shapes = {"L": "layers", "F": "ffn", "V": "vocabulary"}
    drawn = sweep(found, quantity, axis)
    assert (drawn.quantity, drawn.axis) == (quantity, axis)
    assert found.letters[axis] in drawn.values.tolist()
    for n in (0, len(drawn.values) // 2, len(drawn.values) - 1):
        size = int(drawn.values[n])
        if axis in fields:
            there = cost(model, replace(load, **{fields[axis]: size}))
        else:
            there = cost(replace(model, **{shapes[axis]: size}), load)
        assert drawn.total[n] == pytest.approx(there.tallies[quantity].total)
        united = {"projections", "scores and values", "FFN", "head"}
        assert quantity is not Q.FLOPS or set(drawn.parts) == united
        assert quantity is not Q.GENERATION_FLOPS or set(drawn.parts) <= {"prefill", "decode"}


def test_an_encoder_caches_nothing():
    found = cost(ModelSizes(2, 8, 2, encoder=True), Workload(9))
    for quantity in (Q.KV_CACHE_BYTES, Q.CROSS_CACHE_BYTES, Q.GENERATION_FLOPS):
        assert found.tallies[quantity].terms == ()
        assert found.tallies[quantity].total == 0


def test_around_is_even_on_a_log_axis():
    values = around(1000)
    steps = np.diff(np.log(values))
    assert values[0] < 20
    assert values[-1] == 64_000
    assert steps.max() < 0.2


def test_letters_may_be_arrays():
    assert value("2·T² - T", {"T": np.array([1.0, 3.0])}).tolist() == [1.0, 15.0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"width": 10, "heads": 4}, "width is 10, but must be a multiple of the 4 heads"),
        ({"kv_heads": 3}, "kv-heads is 3, but must divide the 16 heads."),
        ({"layers": 0}, "layers is 0, but must be a whole number from 1"),
        ({"encoder": True, "encoder_layers": 2}, "encoder-layers is 2, but must be 0"),
    ],
)
def test_sizes_that_cannot_be_get_a_sentence(changes, said):
    with pytest.raises(ValueError, match=f"^{said}"):
        replace(PLAIN, **changes)


def test_a_workload_that_cannot_be_gets_a_sentence():
    with pytest.raises(ValueError, match=r"^batch is 0, but must be a whole number from 1 to 1,0"):
        Workload(8, batch=0)


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (201_326_592, "bytes", "192 MiB"),
        (1000, "bytes", "1,000 B"),
        (1536, "bytes", "1.5 KiB"),
        (3_221_225_472, "bytes", "3 GiB"),
        (1_234_567_890, "FLOP", "1.23 GFLOP"),
        (999, "FLOP", "999 FLOP"),
        (984_832, "parameters", "984,832 parameters"),
        (0.5, "FLOP/byte", "0.5 FLOP/byte"),
    ],
)
def test_figures_are_readable(number, unit, text):
    assert figure(number, unit) == text
