from __future__ import annotations

import json

import numpy as np
import pytest

from core.mask.reference import reference_mask
from core.types import MaskKind, MaskSpec

pytestmark = pytest.mark.usefixtures("models")

TEXT = "The cat sat on the mat."


def plain(outcome):
    assert outcome.code == 0, outcome
    return json.loads(outcome.out)


def test_table_has_a_line_for_each_token(maskscope):
    outcome = maskscope("run", "decoder", "--text", "The cat sat")
    lines = outcome.out.splitlines()
    assert "decoder under a causal mask (4 x 4, 10 pairs) on" in lines[0]
    assert [line.split()[:3] for line in lines[-3:]] == [
        ["1", "The", "2"],
        ["2", "cat", "3"],
        ["3", "sat", "4"],
    ]


def test_json_holds_tokens_masks_and_candidates(maskscope):
    said = plain(maskscope("run", "decoder", "--text", "The cat sat", "--json"))
    assert said["tokens"] == ["<s>", "The", "cat", "sat"]
    assert said["position_ids"] == [0, 1, 2, 3]
    expected = reference_mask(MaskSpec(MaskKind.CAUSAL, 4))[0]
    np.testing.assert_array_equal(np.array(said["mask"], bool), expected)
    assert len(said["candidates"]) == 4
    for found in said["candidates"]:
        shares = [one["probability"] for one in found]
        assert shares == sorted(shares, reverse=True)
        assert 0 < sum(shares) <= 1


def test_what_is_said_stands_beside_the_data(maskscope):
    outcome = maskscope("run", "decoder", "--text", "The cat", "--json", "--npz", "a.npz")
    assert outcome.err == "Wrote a.npz.\n"
    assert json.loads(outcome.out)["model"] == "decoder"


def test_npz_holds_the_attention_of_every_head(maskscope, tmp_path):
    words = ("run", "encdec", "--text", "Tom lost his <extra_id_0>.", "--target", "<extra_id_0>")
    outcome = maskscope(*words, "--npz", "a.npz", "--json", "a.json")
    assert (outcome.code, outcome.out) == (0, "Wrote a.npz.\nWrote a.json.\n")
    arrays = np.load(tmp_path / "a.npz")
    queries, source = len(arrays["ids"]), len(arrays["source_ids"])
    assert arrays["encoder_pattern"].shape == (1, 2, source, source)
    assert arrays["decoder_pattern"].shape == (2, 2, queries, queries)
    assert arrays["cross_pattern"].shape == (2, 2, queries, source)
    assert arrays["cross_mask"].shape == (queries, source)
    np.testing.assert_allclose(arrays["decoder_pattern"].sum(axis=-1), 1, atol=1e-5)
    closed = ~arrays["mask"]
    assert not arrays["decoder_pattern"][..., closed].any()
    assert json.loads((tmp_path / "a.json").read_text())["source_tokens"][0] == "<s>"


def test_a_cache_changes_nothing_that_is_said(maskscope):
    whole = plain(maskscope("run", "decoder", "--text", TEXT, "--json"))
    cached = plain(maskscope("run", "decoder", "--text", TEXT, "--past", "3", "--json"))
    assert cached["cache_difference"] < 1e-5
    assert np.array(cached["mask"]).shape == (len(whole["ids"]) - 3, len(whole["ids"]))
    for one, other in zip(cached["candidates"], whole["candidates"][3:], strict=True):
        assert one[0]["probability"] == pytest.approx(other[0]["probability"], abs=1e-5)
    assert "cache: 3 keys" in maskscope("run", "decoder", "--text", TEXT, "--past", "3").out


def test_batch_rows_are_padded_and_one_is_shown(maskscope):
    words = ("run", "decoder", "--text", TEXT, "--text", "The cat")
    alone = plain(maskscope("run", "decoder", "--text", "The cat", "--json"))
    second = plain(maskscope(*words, "--row", "1", "--json"))
    pads = second["tokens"].count("<pad>")
    assert pads == len(second["ids"]) - 3
    assert second["position_ids"] == [0] * pads + [0, 1, 2]
    for one, other in zip(second["candidates"][pads:], alone["candidates"], strict=True):
        assert one[0]["probability"] == pytest.approx(other[0]["probability"], abs=1e-5)


@pytest.mark.parametrize(
    ("mask", "kind", "note"),
    [("bidirectional", "bidirectional", ""), ("causal", "causal", ""), (None, "prefix", "")],
)
def test_one_set_of_weights_runs_under_every_mask(maskscope, mask, kind, note):
    words = ("run", "unified", "--text", TEXT, "--json")
    said = plain(maskscope(*words, *(("--mask", mask) if mask else ())))
    assert (said["mask_kind"], said["note"]) == (kind, note)


def test_a_mask_that_was_not_trained_is_noted(maskscope):
    outcome = maskscope("run", "decoder", "--text", TEXT, "--mask", "bidirectional")
    assert "note: trained under a causal mask only" in outcome.out


def test_the_default_prefix_is_the_windows_cut_to_the_text(maskscope):
    short = plain(maskscope("run", "prefix", "--text", "The", "--json"))
    assert short["mask"] == [[1, 1], [1, 1]]
    long = plain(maskscope("run", "prefix", "--text", TEXT, "--json"))
    assert sum(long["mask"][0]) == 6


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nobody", "--text", "x"), "no model 'nobody'"),
        (("decoder",), "--text"),
        (("decoder", "--text", "x", "--prefix", "1"), "prefix is 1"),
        (("prefix", "--text", "x", "--prefix", "40"), "prefix is 40"),
        (("decoder", "--text", "x", "--target", "y"), "only an encoder-decoder"),
        (("encdec", "--text", "x", "--documents", "1,2"), "packs none"),
        (("encdec", "--text", "x", "--mask", "causal"), "must be decoder-self"),
        (("decoder", "--text", "x", "--mask", "decoder-self"), "must be bidirectional"),
        (("decoder", "--text", "x", "--row", "1"), "row is 1"),
        (("decoder", "--text", "x", "--past", "30"), "past is 30"),
        (("encoder", "--text", "x", "--past", "1"), "nothing can be cached"),
        (("prefix", "--text", TEXT, "--prefix", "4", "--past", "2"), "in one piece"),
        (("decoder", "--text", "x", "--left-pad", "1,2"), "left-pad has 2 values"),
        (("decoder", "--text", "x", "--device", "abacus"), "no device 'abacus'"),
        (("decoder", "--text", "x", "--dtype", "int8"), "dtype is 'int8'"),
        (("decoder", "--text", "word " * 99), "96 positions"),
        (("decoder", "--text", "x", "--npz", "x.txt"), "must end in .npz"),
        (("decoder", "--text", "x", "--json", "no/x.json"), "no folder"),
    ],
)
def test_bad_input_gets_a_sentence(refused, words, told):
    assert told in refused("run", *words)


def test_a_text_that_is_no_text_is_read_all_the_same(maskscope):
    said = plain(maskscope("run", "decoder", "--text", "a \udcff", "--json"))
    assert said["tokens"][-1] == "?"


def test_two_files_are_written_or_none(refused, tmp_path):
    told = refused("run", "decoder", "--text", "x", "--json", "a.json", "--npz", "no/a.npz")
    assert "no folder" in told


def test_models_are_listed(maskscope):
    lines = maskscope("models").out.splitlines()
    assert [line.split()[0] for line in lines[1:6]] == [
        "encoder",
        "decoder",
        "prefix",
        "encdec",
        "unified",
    ]
    unified = plain(maskscope("models", "--json"))[-1]
    assert unified["kinds"] == ["prefix", "causal", "bidirectional"]


def test_no_models_are_told(maskscope, monkeypatch, tmp_path):
    from core import paths

    monkeypatch.setattr(paths, "MODELS", tmp_path / "models")
    outcome = maskscope("models")
    assert (outcome.code, outcome.out) == (1, "")
    assert "all of them" in outcome.err
