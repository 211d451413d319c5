from __future__ import annotations

import json

import numpy as np
import pytest

from core.types import Objective

pytestmark = pytest.mark.usefixtures("models")

TEXT = "The cat sat on the mat. It was very happy."
COMPUTED = [one.value for one in Objective if one is not Objective.REPLACED]


def plain(outcome):
    assert outcome.code == 0, outcome
    return json.loads(outcome.out)


@pytest.mark.parametrize("asked", COMPUTED)
@pytest.mark.parametrize("model", ["encoder", "decoder", "prefix", "encdec", "unified"])
def test_every_model_under_every_objective(maskscope, model, asked):
    words = ("objectives", model, "--text", TEXT, "--objective", asked, "--seed", "4")
    said = plain(maskscope(*words, "--json"))
    computed = (model == "encdec") == (asked in ("span", "denoise"))
    mask = np.array(said["loss_mask"], bool)
    assert said["denominator"] == mask.sum() > 0
    assert [i is not None for i in said["target_ids"]] == mask.tolist()
    assert [x is not None for x in said["loss"]] == (mask if computed else mask & False).tolist()
    if computed:
        taken = [x for x in said["loss"] if x is not None]
        assert said["mean"] == pytest.approx(np.mean(taken), abs=1e-5)
    else:
        assert said["mean"] is None
        assert said["notes"]
    printed = maskscope(*words).out
    assert ("mean loss " in printed) == computed
    rows = printed.split("position  ")[1].splitlines()[1:]
    assert len(rows) == len(said["inputs"])


def test_the_printed_mean_is_the_sum_over_the_count(maskscope):
    out = maskscope("objectives", "decoder", "--text", TEXT, "--objective", "clm").out
    line = next(line for line in out.splitlines() if line.startswith("mean loss"))
    total, count, mean = float(line.split()[2]), int(line.split()[5]), float(line.split()[8])
    assert mean == pytest.approx(total / count, abs=2e-3)
    assert f"predicted at {count}" in out


@pytest.mark.parametrize("asked", COMPUTED)
def test_masked_and_causal_are_compared_where_one_of_them_is_shown(maskscope, asked):
    out = maskscope("objectives", "encoder", "--text", "The cat sat.", "--objective", asked).out
    line = "Of 6 tokens, masking selects 0.60 on average; the next token is predicted at 5, 8.33"
    assert (line in out) == (asked in ("mlm", "clm"))


def test_a_shift_moves_the_targets(maskscope):
    words = ("objectives", "decoder", "--text", "The cat sat.", "--objective", "clm", "--json")
    read = {
        shift: plain(maskscope(*words, "--shift", shift)) for shift in ("right", "none", "double")
    }
    assert read["right"]["targets"] == ["The", "cat", "sat", ".", "</s>", None]
    assert read["none"]["targets"] == [None, "The", "cat", "sat", ".", "</s>"]
    assert read["double"]["targets"] == ["cat", "sat", ".", "</s>", None, None]


def test_a_seed_draws_the_same_again(maskscope):
    words = ("objectives", "encoder", "--text", TEXT, "--objective", "mlm", "--json", "--seed")
    one, two, other = (plain(maskscope(*words, seed)) for seed in ("3", "3", "9"))
    assert one["input_ids"] == two["input_ids"]
    assert one["target_ids"] != other["target_ids"]


def test_sentences_are_permuted_as_wholes(maskscope):
    words = ("objectives", "encdec", "--text", TEXT, "--objective", "denoise")
    orders = {
        " ".join(
            plain(maskscope(*words, "--noise", "permutation", "--json", "--seed", n))["source"]
        )
        for n in "0123456"
    }
    kept = "<s> The cat sat on the mat . It was very happy . </s>"
    moved = "<s> It was very happy . The cat sat on the mat . </s>"
    assert orders == {kept, moved}


def test_an_export_says_the_same(maskscope):
    assert maskscope("export", "decoder", "d.onnx").code == 0
    words = ("--text", TEXT, "--objective", "clm", "--json")
    one = plain(maskscope("objectives", "decoder", *words))
    other = plain(maskscope("objectives", "d.onnx", *words))
    assert other["mean"] == pytest.approx(one["mean"], abs=1e-4)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--objective", "rtd"), "No generator is here"),
        (("--objective", "mlm", "--shift", "none"), "shift is none, but must be right"),
        (("--objective", "clm", "--prefix", "2"), "only the objective prefix has one"),
        (("--objective", "clm", "--noise", "rotation"), "only denoise"),
        (("--objective", "prefix", "--prefix", "99"), "between 1 and 2"),
        (("--objective", "luck"), "luck"),
        (("--objective", "clm", "--text", "A dog"), "--text: it is given twice"),
        (("--objective", "clm", "--json", "no/x.json"), "no folder"),
        (("--objective", "clm", "--device", "abacus"), "no device 'abacus'"),
    ],
)
def test_bad_input_gets_a_sentence(refused, words, told):
    assert told in refused("objectives", "decoder", "--text", "The cat", *words)


# -- embeddings

PAIR = ("--text", "The cat sat on the mat.", "--text", "A dog ran.")


@pytest.mark.parametrize("model", ["encoder", "decoder", "prefix", "encdec", "unified"])
def test_cosines_of_every_model(maskscope, model):
    said = plain(maskscope("embeddings", model, *PAIR, "--json"))
    causal = model not in ("encoder", "encdec")
    assert (said["mask_kind"] == "causal") == causal
    for values in said["similarity"].values():
        matrix = np.array(values)
        assert matrix.shape == (2, 2)
        assert np.allclose(matrix, matrix.T)
        assert np.allclose(np.diag(matrix), 1.0, atol=1e-5)
    assert [len(row) for row in said["known"]] == (
        [len(tokens) for tokens in said["tokens"]] if causal else []
    )
    out = maskscope("embeddings", model, *PAIR).out
    assert "mean of all tokens" in out
    assert ("state that reads both ways" in out) == causal


def test_unified_reads_under_either_mask(maskscope):
    one, other = (
        plain(maskscope("embeddings", "unified", *PAIR, "--mask", mask, "--json"))
        for mask in ("causal", "bidirectional")
    )
    assert one["similarity"]["first"][0][1] == pytest.approx(1.0, abs=1e-5)
    assert other["similarity"]["first"][0][1] < 0.9999


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("encoder", "--text", "The cat"), "two or more can be compared"),
        (("encdec", *PAIR, "--mask", "causal"), "must be bidirectional"),
        (("nobody", *PAIR), "nobody"),
        (("decoder",), "--text is missing: say what decoder reads"),
        (("decoder", *PAIR, "--mask", "causal", "--mask", "causal"), "--mask: it is given twice"),
    ],
)
def test_what_cannot_be_embedded_is_told(refused, words, told):
    assert told in refused("embeddings", *words)


def test_an_export_has_no_states_and_says_so(maskscope, refused):
    assert maskscope("export", "decoder", "d.onnx").code == 0
    assert "hands out no hidden states" in refused("embeddings", "d.onnx", *PAIR)


def test_a_long_sentence_is_named_by_its_beginning(maskscope):
    long = "The cat\nsat " + "on the mat and " * 12
    out = maskscope("embeddings", "decoder", "--text", long, "--text", "A cat").out
    assert "1: The cat sat on the mat and on the mat a…" in out
    assert max(map(len, out.splitlines()[3:])) < 100
    assert "2: A cat " in out


def test_an_encoder_decoder_embeds_under_an_encoder_self_mask(maskscope):
    out = maskscope("embeddings", "encdec", *PAIR).out
    assert out.startswith("encdec under an encoder-self mask (")
