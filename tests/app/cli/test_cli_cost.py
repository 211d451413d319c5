"""``maskscope cost``: the published numbers, the keys of the JSON, and sentences for bad input."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from app import workspaces
from app.state import RowState, initial
from app.workspaces import Workspace
from core.types import Family

SHAPE = ("--layers", "24", "--width", "1024", "--heads", "16")
LOAD = ("--length", "2048", "--batch", "1", "--bytes", "2")
QUANTITIES = ("parameters", "flops", "score_bytes", "kv_cache_bytes", "cross_cache_bytes")


def said(maskscope, *words):
    outcome = maskscope("cost", *words, "--json")
    assert outcome.code == 0, outcome
    return json.loads(outcome.out)


def test_json_has_parts_that_add_up_and_a_total(maskscope):
    found = said(maskscope, *SHAPE, *LOAD, "--encoder-layers", "12", "--source", "1024")
    for quantity in QUANTITIES:
        values = dict(found[quantity])
        total = values.pop("total")
        assert values
        assert sum(values.values()) == total > 0
    assert found["kv_cache_bytes"]["total"] == 201_326_592
    assert found["cross_cache_bytes"]["total"] == 96 * 2**20


def test_a_block_costs_what_the_table_says(maskscope):
    found = said(maskscope, *SHAPE, *LOAD)
    d, t = 1024, 2048
    assert found["flops"]["total"] == 24 * (24 * t * d**2 + 4 * t**2 * d)
    assert found["score_bytes"]["total"] == 16 * t * t * 2
    assert found["facts"]["tokens_where_scores_cost_as_much_as_the_rest_of_a_block"] == 6 * d


def test_a_generation(maskscope):
    found = said(maskscope, *SHAPE, "--prompt", "100", "--generate", "10")
    assert found["facts"]["tokens_read_while_generating"] == 10 * 100 + 10 * 11 // 2
    names = {name.split("_")[0] for name in found["generation_flops"]}
    assert names == {"prefill", "decode", "total"}


def test_the_text_has_formulas_letters_and_units(maskscope):
    outcome = maskscope("cost", "decoder", "--length", "64")
    assert outcome.code == 0, outcome
    assert "= 4·L·B·T²·A" in outcome.out
    assert "= 4·4·1·64²·128" in outcome.out
    assert "= 1,123,072" in outcome.out
    assert "T = 64 tokens of the pass" in outcome.out
    assert "MFLOP" in outcome.out
    assert "KiB" in outcome.out


def test_an_encoder_says_that_it_caches_nothing(maskscope):
    outcome = maskscope("cost", "encoder")
    assert "An encoder caches nothing" in outcome.out
    assert "KV cache" not in outcome.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("decoder", "--length", "384"), []),
        (("decoder",), ["generation comes to 640"]),
        (("decoder", "--length", "600"), ["pass comes to 600", "generation comes to 728"]),
        (("decoder", "--past", "1", "--prompt", "1"), ["pass comes to 513"]),
        (("encoder", "--length", "512"), []),
        (("encoder", "--length", "513"), ["pass comes to 513"]),
        (("encdec", "--length", "9", "--source", "513"), ["source comes to 513"]),
        ((*SHAPE, "--length", "9999"), []),
    ],
)
def test_lengths_beyond_the_positions_are_noted(maskscope, words, told):
    notes = said(maskscope, *words)["notes"]
    assert [sentence[4 : sentence.index(" token")] for sentence in notes] == told
    printed = maskscope("cost", *words).out
    assert [line[6:] for line in printed.splitlines() if line.startswith("note: ")] == notes


def test_a_workspace_has_model_and_lengths(maskscope, tmp_path):
    state = replace(
        initial(Family.ENCODER_DECODER),
        rows=(RowState("The cat sat.", "<extra_id_0>"), RowState("The", "<extra_id_0> cat")),
        past=1,
        max_new_tokens=7,
    )
    workspaces.save(Workspace(state), tmp_path / "a.maskscope")
    lengths = ("--length", "2", "--past", "1", "--batch", "2", "--source", "6", "--prompt", "3")
    same = said(maskscope, "encdec", *lengths, "--generate", "7")
    assert said(maskscope, "a.maskscope") == same
    assert said(maskscope, "a.maskscope", "--batch", "1")["letters"]["B"] == 1


def test_json_goes_to_a_file(maskscope, tmp_path):
    outcome = maskscope("cost", "encdec", "--json", "cost.json")
    assert (outcome.code, outcome.out) == (0, "Wrote cost.json.\n")
    plain = json.loads((tmp_path / "cost.json").read_text(encoding="utf-8"))
    assert plain["parameters"]["total"] == 1_784_320


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--layers", "2", "--width", "10", "--heads", "4"), "must be a multiple of the 4 heads"),
        (("--layers", "2"), "--width and --heads must be given; or name a model"),
        ((), "--layers, --width and --heads must be given"),
        (("decoder", "--width", "128"), "--width is given, but decoder has sizes of its own"),
        (("decoder", "--vocab", "9"), "--vocab is given"),
        (("decoder", "--gated"), "--gated is given, but decoder has sizes of its own"),
        (("nobody",), "There is no model 'nobody'"),
        ((*SHAPE, "--kv-heads", "5"), "kv-heads is 5, but must divide the 16 heads"),
        ((*SHAPE, "--length", "0"), "'0' is not a whole number of 1 or more"),
        ((*SHAPE, "--batch", "9" * 20), "batch is 99999999999999999999, but must be a whole"),
        ((*SHAPE, "--encoder", "--encoder-layers", "2"), "must be 0 for an encoder alone"),
        (("decoder", "--source", "5"), "--source is given, but only an encoder-decoder"),
        (("encoder", "--past", "7"), "--past is given, but an encoder caches"),
        (("encoder", "--generate", "7"), "--generate is given, but an encoder caches"),
        (("none.maskscope",), "none.maskscope cannot be read"),
    ],
)
def test_bad_input_gets_a_sentence(refused, words, told):
    assert told in refused("cost", *words)
