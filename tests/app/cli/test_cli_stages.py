"""``maskscope stages``: the known example, a real head, and sentences for bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest

TEXT = ("--text", "One day Tom lost his ball.")


def test_the_example_is_written_out_with_the_reason(maskscope):
    outcome = maskscope("stages", "--example")
    assert outcome.code == 0, outcome
    told = outcome.out
    assert "[2/3, 1/3, 0]" in told
    assert "[1/2, 1/4, 0]" in told
    assert "softmax(0.693, 0, −∞) = [0.667, 0.333, 0]" in told
    assert "[0.5, 0.25, 0], output [1, 0.5], adds up to 0.75" in told


def test_the_example_as_json(maskscope):
    plain = json.loads(maskscope("stages", "--example", "--json").out)
    np.testing.assert_allclose(plain["weights"], [[2 / 3, 1 / 3, 0]], atol=1e-6)
    np.testing.assert_allclose(plain["output"], [[4 / 3, 2 / 3]], atol=1e-6)
    np.testing.assert_allclose(plain["masked_too_late"]["weights"], [[0.5, 0.25, 0]], atol=1e-6)
    assert plain["masked"][0][2] is None
    assert plain["mask"] == [[1, 1, 0]]
    place = ("model", "mask_kind", "stack", "layer", "head")
    assert [plain[name] for name in place] == [None] * 5


def test_a_head_of_a_model_has_the_weights_of_a_run(maskscope, models, tmp_path):
    outcome = maskscope("stages", "decoder", *TEXT, "--layer", "2", "--head", "2", "--json")
    assert outcome.code == 0, outcome
    plain = json.loads(outcome.out)
    assert maskscope("run", "decoder", *TEXT, "--npz", "run.npz").code == 0
    pattern = np.load(tmp_path / "run.npz")["decoder_pattern"][1, 1]
    np.testing.assert_allclose(plain["weights"], pattern, atol=1e-5)
    assert (plain["layer"], plain["head"], plain["query"]) == (2, 2, len(pattern) - 1)
    assert len(plain["keys"]) == len(pattern)
    assert [plain[name] for name in ("model", "mask_kind", "stack")] == [
        "decoder",
        "causal",
        "decoder",
    ]


def test_a_query_in_the_middle_names_what_it_may_not_read(maskscope, models):
    outcome = maskscope("stages", "decoder", *TEXT, "--query", "2")
    assert outcome.code == 0, outcome
    assert "decoder layer 1, head 1: query 2 " in outcome.out
    assert "−∞" in outcome.out
    assert "masked after it" in outcome.out


def test_a_query_after_a_cache_is_the_column_that_was_asked_for(maskscope, models):
    words = ("stages", "decoder", *TEXT, "--past", "2", "--query", "3")
    plain = json.loads(maskscope(*words, "--json").out)
    assert (plain["past"], plain["query"]) == (2, 3)
    assert "decoder layer 1, head 1: query 3 'Tom'" in maskscope(*words).out
    row = plain["weights"][plain["query"] - plain["past"]]
    assert row[3] > 0
    assert not any(row[4:])


def test_cross_attention_has_stages_too(maskscope, models):
    words = ("--text", "Tom lost his <extra_id_0>.", "--stack", "cross")
    outcome = maskscope("stages", "encdec", *words)
    assert outcome.code == 0, outcome
    assert "cross layer 1, head 1: query 0 '<s>'" in outcome.out


def test_an_encoder_shows_the_gap(maskscope, models):
    outcome = maskscope("stages", "encoder", "--text", "Tom lost his [MASK].")
    assert "'[MASK]'" in outcome.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "MODEL and --text must be given, or --example alone"),
        (("decoder",), "--text is missing"),
        (("decoder", "--example"), "decoder is given, but the example takes no model"),
        (("--example", *TEXT), "--text is given, but the example takes no model; leave it out."),
        (("--example", "--layer", "1"), "--layer is given, but the example takes no model"),
        (("decoder", *TEXT, "--query", "99"), "query is 99, but must be between 0 and "),
        (("decoder", *TEXT, "--past", "2", "--query", "1"), "query is 1, but must be between 2 an"),
        (("decoder", *TEXT, "--stack", "cross"), "stack is cross, but must be decoder for"),
        (("decoder", *TEXT, "--layer", "9"), "layer is 9, but must be between 1 and 2."),
        (("decoder", *TEXT, "--head", "0"), "'0' is not a whole number of 1 or more"),
    ],
)
def test_bad_input_gets_a_sentence(refused, models, words, told):
    assert told in refused("stages", *words)
