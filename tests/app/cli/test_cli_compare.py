from __future__ import annotations

import json

import numpy as np
import pytest

from app.pairs import PAIRS

pytestmark = pytest.mark.usefixtures("models")

TEXT = "The cat sat on the mat."


def plain(outcome):
    assert outcome.code == 0, outcome
    return json.loads(outcome.out)


def test_help_lists_the_pairs(maskscope, capsys):
    with pytest.raises(SystemExit):
        maskscope("compare", "--help")
    told = capsys.readouterr().out
    assert all(pair.name in told and pair.title in told for pair in PAIRS)


def test_a_line_for_each_position_level_and_layer(maskscope):
    out = maskscope("compare", "decoder", "--text", TEXT, "--pair", "causal-prefix").out
    lines = out.splitlines()
    assert lines[:2] == [
        "causal: unified on torch, causal mask",
        "prefix 4: unified on torch, prefix mask, prefix 4",
    ]
    assert lines[2].startswith("causal and prefix 4 part first in decoder layer 1, head ")
    rows = [line.split() for line in lines[5:13]]
    assert [row[:2] for row in rows[:3]] == [["0", "<s>"], ["1", "The"], ["2", "cat"]]
    assert float(rows[0][2]) > 0
    table = [line.split() for line in lines if line.startswith("decoder ")]
    assert [row[1:3] for row in table] == [
        ["embedding", "1.0000"],
        ["layer", "1"],
        ["layer", "2"],
        ["layer", "1"],
        ["layer", "2"],
    ]


def test_json_holds_everything(maskscope):
    said = plain(maskscope("compare", "decoder", "--text", TEXT, "--with-window", "2", "--json"))
    size = len(said["tokens"])
    assert (said["a"], said["b"]) == ("A", "B (window 2)")
    assert said["first"]["layer"] == 1
    assert said["first"]["position"] == 2
    assert len(said["total_variation"]) == len(said["kl"]) == len(said["moved"]) == size
    assert said["total_variation"][:2] == [0, 0]
    states = said["hidden_states"]["decoder"]
    assert np.array(states["cosine"]).shape == np.array(states["relative_norm"]).shape == (3, size)
    assert np.array(said["attention"]["decoder"]).shape == (2, 2)
    for n, moved in enumerate(said["moved"]):
        gaps = [abs(one["a"] - one["b"]) for one in moved]
        assert max(np.diff(gaps)) < 3e-6  # As rounded as the probabilities are.
        assert sum(gaps) / 2 <= said["total_variation"][n] + 1e-5


@pytest.mark.parametrize("name", ["padding", "cache"])
def test_what_must_agree_does(maskscope, name):
    said = plain(maskscope("compare", "decoder", "--text", TEXT, "--pair", name, "--json"))
    assert said["first"] is None
    assert "part nowhere" in said["sentence"]
    assert max(said["total_variation"]) < 1e-5


@pytest.mark.parametrize("name", ["positions", "softmax", "prefix-bidirectional"])
def test_what_differs_is_told(maskscope, name):
    words = ("compare", "decoder", "--text", TEXT, "--pair", name, "--json")
    said = plain(maskscope(*words))
    assert said["first"]["stack"] == "decoder"
    cosines = said["hidden_states"]["decoder"]["cosine"]
    assert ("in their embeddings" in said["sentence"]) == (min(cosines[0]) < 1)
    assert (min(cosines[0]) < 1) == (name == "positions")


def test_another_model_runs_under_the_same_mask(maskscope):
    words = ("compare", "decoder", "--text", TEXT, "--left-pad", "2", "--window", "3")
    said = plain(maskscope(*words, "--with-model", "encoder", "--json"))
    assert said["b"] == "B (model encoder)"
    one, other = said["runs"]["a"], said["runs"]["b"]
    assert (one.pop("model"), other.pop("model")) == ("decoder", "encoder")
    assert one == other
    assert (one["mask_kind"], one["left_pad"], one["window"]) == ("causal", 2, 3)
    assert len(said["tokens"]) == 8
    lines = maskscope(*words, "--with-model", "encoder").out.splitlines()
    assert lines[0] == "A: decoder on torch, causal mask, left pad 2, window 3"
    assert lines[1] == "B (model encoder): encoder on torch, causal mask, left pad 2, window 3"


def test_a_prefix_is_kept_beside_another_model(maskscope):
    words = ("compare", "prefix", "--text", TEXT, "--prefix", "3", "--with-model", "unified")
    runs = plain(maskscope(*words, "--json"))["runs"]
    assert [runs[side]["prefix"] for side in "ab"] == [3, 3]


def test_a_model_that_cannot_run_under_the_mask_has_its_own(maskscope):
    words = ("compare", "decoder", "--text", TEXT, "--with-model", "encdec", "--json")
    said = plain(maskscope(*words))
    assert [said["runs"][side]["mask_kind"] for side in "ab"] == ["causal", "decoder-self"]
    assert "part first in the output at position 0" in said["sentence"]
    assert said["notes"][-1] == "Not compared: 7 tokens of A's text that B has not."
    told = "encdec cannot run under a causal mask, so B has a decoder-self mask."
    assert said["notes"][0] == told


def test_an_export_beside_its_model(maskscope):
    assert maskscope("export", "decoder", "d.onnx").code == 0
    said = plain(
        maskscope("compare", "decoder", "--text", TEXT, "--with-model", "d.onnx", "--json")
    )
    assert said["first"] is None
    assert said["hidden_states"] == {}
    assert "hands out no hidden states" in said["notes"][0]


def test_torch_runs_no_file_on_either_side(maskscope, refused):
    assert maskscope("export", "decoder", "d.onnx", "--no-verify").code == 0
    told = "backend is torch, but must be onnx for d.onnx."
    other = ("--with-backend", "torch")
    assert told in refused("compare", "d.onnx", "--text", TEXT, *other)
    assert told in refused("compare", "decoder", "--text", TEXT, "--with-model", "d.onnx", *other)


def test_json_goes_to_a_file(maskscope, tmp_path):
    words = ("--prefix", "2", "--with-mask", "bidirectional", "--json", "a.json")
    outcome = maskscope("compare", "prefix", "--text", TEXT, *words)
    assert outcome.out == "Wrote a.json.\n"
    assert json.loads((tmp_path / "a.json").read_text())["b"] == "B (mask bidirectional)"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "There is nothing to compare with: give --pair"),
        (("--pair", "luck"), "luck"),
        (("--pair", "cache", "--with-window", "2"), "so --with-window cannot be given beside it"),
        (("--mask", "bidirectional", "--pair", "cache"), "nothing can be cached"),
        (("--backend", "onnx", "--pair", "softmax"), "choose torch"),
        (("--with-mask", "decoder-self"), "mask is decoder-self, but must be"),
        (("--with-past", "9"), "past is 9, but must be between 0 and 2"),
        (("--with-model", "nobody"), "nobody"),
        (("--with-window", "2", "--json", "no/x.json"), "no folder"),
    ],
)
def test_bad_input_gets_a_sentence(refused, words, told):
    assert told in refused("compare", "decoder", "--text", "The cat", *words)
