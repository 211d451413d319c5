from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.usefixtures("models")

GAP = "Mia put the [MASK] in the box."


@pytest.mark.parametrize("model", ["decoder", "prefix", "unified"])
def test_a_text_goes_on(maskscope, model):
    outcome = maskscope("generate", model, "--text", "The cat", "--max-new-tokens", "5")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("The cat")
    assert len(outcome.out) > len("The cat\n")


def test_json_has_a_step_for_each_token(maskscope):
    words = ("generate", "decoder", "--text", "The cat", "--max-new-tokens", "4", "--json")
    said = json.loads(maskscope(*words).out)
    assert said["prompt"] == "The cat"
    assert said["text"].startswith("The cat")
    lengths = [step["cache_length"] for step in said["steps"]]
    assert lengths == list(range(lengths[0], lengths[0] + 4))
    assert said["steps"][0]["candidates"][0]["id"] == said["steps"][0]["id"]


def test_a_chance_is_named_apart_from_what_the_model_says(maskscope):
    words = ("generate", "decoder", "--text", "The cat", "--max-new-tokens", "1", "--json")
    (greedy,) = json.loads(maskscope(*words).out)["steps"]
    (drawn,) = json.loads(maskscope(*words, "--temperature", "1").out)["steps"]
    assert "probability" not in greedy
    assert greedy["drawn_with"] == 1
    assert greedy["candidates"] == drawn["candidates"]
    assert greedy["candidates"][0]["probability"] < 1
    assert 0 < drawn["drawn_with"] < 1


def test_a_seed_says_the_same_again(maskscope):
    words = ("generate", "decoder", "--text", "The", "--temperature", "1.5", "--top-k", "50")
    texts = [maskscope(*words, "--seed", seed).out for seed in ("3", "3", "4")]
    assert texts[0] == texts[1] != texts[2]


def test_an_encoder_decoder_continues_its_target(maskscope):
    words = ("generate", "encdec", "--text", "Tom <extra_id_0>.", "--target", "<extra_id_0>")
    said = json.loads(maskscope(*words, "--max-new-tokens", "3", "--json").out)
    assert said["prompt"] == "<extra_id_0>"
    assert said["text"].startswith("<extra_id_0>")


@pytest.mark.parametrize("words", [("encoder",), ("unified", "--mask", "bidirectional")])
def test_where_nothing_follows_the_gaps_are_filled(maskscope, words):
    outcome = maskscope("generate", *words, "--text", GAP)
    assert outcome.code == 0
    assert "cannot generate" in outcome.err
    assert "[MASK] at 4:" in outcome.out
    filled, gap = outcome.out.splitlines()
    likeliest = gap.split()[3]
    assert filled.replace(" ", "") == GAP.replace("[MASK]", likeliest).replace(" ", "")


def test_filled_gaps_as_json(maskscope, tmp_path):
    outcome = maskscope("generate", "encoder", "--text", GAP, "--json", "a.json")
    assert outcome.out == "Wrote a.json.\n"
    said = json.loads((tmp_path / "a.json").read_text())
    (gap,) = said["gaps"]
    assert gap["column"] == 4
    assert len(gap["candidates"]) == 8


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("encoder", "--text", "no gap here"), "Put [MASK] into the text"),
        (("encoder", "--text", GAP, "--row", "7"), "row is 7"),
        (("encoder", "--text", GAP, "--temperature", "0.5"), "--temperature is given, but"),
        (("encoder", "--text", GAP, "--top-k", "2"), "--top-k is given, but every [MASK]"),
        (("encoder", "--text", GAP, "--seed", "0"), "--seed is given, but every [MASK]"),
        (("encoder", "--text", GAP, "--max-new-tokens", "5"), "--max-new-tokens is given, but"),
        (("decoder", "--text", "x", "--temperature", "-1"), "temperature is -1"),
        (("decoder", "--text", "x", "--temperature", "nan"), "'nan' is not a number"),
        (("decoder", "--text", "x", "--top-p", "0"), "top-p is 0"),
        (("decoder", "--text", "x", "--top-k", "-2"), "'-2' is not a whole number"),
        (("decoder", "--text", "x", "--seed", "-1"), "'-1' is not a whole number"),
        (("decoder", "--text", "x", "--max-new-tokens", "0"), "'0' is not a whole number"),
        (("decoder", "--text", "x", "--json", "no/x.json"), "no folder"),
        (("prefix", "--text", "x", "--prefix", "99"), "prefix is 99"),
    ],
)
def test_bad_input_gets_a_sentence(refused, words, told):
    assert told in refused("generate", *words)


def test_a_file_with_its_mask_built_in_is_refused_once(maskscope):
    words = ("--fixed-mask", "bidirectional", "--length", "11", "--no-verify")
    assert maskscope("export", "encoder", "fixed.onnx", *words).code == 0
    outcome = maskscope("generate", "fixed.onnx", "--text", GAP)
    assert (outcome.code, outcome.out) == (2, "")
    (sentence,) = outcome.err.splitlines()
    assert "has its mask built in" in sentence
