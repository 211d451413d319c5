from __future__ import annotations

import json

import numpy as np
import pytest

from core.mask.reach import upstream
from core.types import MaskKind, MaskSpec

pytestmark = pytest.mark.usefixtures("models")

TEXT = "The cat sat on the mat."
TWO = ("encdec", "--text", "Tom lost his <extra_id_0>.", "--target", "<extra_id_0> red")
METHODS = ("rollout", "value-norm", "gradient")


def plain(outcome):
    assert outcome.code == 0, outcome
    return json.loads(outcome.out)


def test_a_line_for_each_input_says_reach_and_share(maskscope):
    outcome = maskscope("flow", "decoder", "--text", TEXT, "--position", "3", "--window", "2")
    lines = outcome.out.splitlines()
    assert lines[0].startswith("what made column 3 'sat', through 2 layers, by rollout (")
    rows = [line.split() for line in lines[3:11]]
    assert [row[:3] for row in rows[:5]] == [
        ["0", "<s>", "no"],
        ["1", "The", "yes"],
        ["2", "cat", "yes"],
        ["3", "sat", "yes"],
        ["4", "on", "no"],
    ]
    assert sum(float(row[3]) for row in rows) == pytest.approx(1.0, abs=0.003)
    longest = max(rows, key=lambda row: float(row[3]))
    assert longest[4] == "#" * 24
    assert "decoder layer 2, head" in outcome.out


def test_source_and_target_have_a_table_each(maskscope):
    out = maskscope("flow", *TWO, "--method", "gradient").out
    assert "\nsource:\ncolumn" in out
    assert "\ntarget:\ncolumn" in out
    assert "explained: the logit of " in out
    assert "strongest edges" not in out, "a gradient is of inputs"
    assert "cross layer" in maskscope("flow", *TWO).out


def test_json_agrees_with_the_mask_and_adds_up(maskscope):
    said = plain(maskscope("flow", "decoder", "--text", TEXT, "--layer", "1", "--json"))
    (stack,) = said["stacks"]
    size = len(stack["tokens"])
    assert (said["position"], said["layer"]) == (size - 1, 1)
    expected = upstream(MaskSpec(MaskKind.CAUSAL, size), 0, size - 1, 1)
    assert np.array_equal(np.array(stack["reach"], bool), expected)
    for method in METHODS:
        assert np.array(stack[method]).shape == (2, size)
        assert not np.array(stack[method])[~expected].any()
    assert np.array(stack["rollout"]).sum(axis=1) == pytest.approx([1, 1], abs=1e-4)
    for edge in said["edges"]:
        assert edge["query"] == size - 1
        assert edge["head"] in (None, 1, 2)
        assert edge["head"] or edge["key"] == edge["query"]
    assert "read after layer 1 of 2" in said["notes"][0]
    assert (said["model"], said["mask_kind"]) == ("decoder", "causal")


def test_the_gap_is_explained_where_nothing_else_is_said(maskscope):
    words = ("flow", "encoder", "--text", "She looked in the [MASK].", "--left-pad", "1", "--json")
    said = plain(maskscope(*words))
    assert said["stacks"][0]["tokens"][said["position"]] == "[MASK]"
    last = plain(maskscope("flow", "decoder", "--text", "The cat", "--right-pad", "2", "--json"))
    assert last["stacks"][0]["tokens"][last["position"]] == "cat"


def test_a_named_token_is_explained(maskscope):
    words = ("flow", "decoder", "--text", TEXT, "--token", "cat")
    assert plain(maskscope(*words, "--json"))["token"]["token"] == "cat"
    assert "the logit of 'cat'" in maskscope(*words, "--method", "gradient").out


def test_a_note_of_another_method_is_left_out(maskscope):
    words = ("flow", "decoder", "--text", TEXT, "--layer", "1")
    assert "note: " not in maskscope(*words).out
    assert "read after layer 1 of 2" in maskscope(*words, "--method", "gradient").out


def test_an_export_says_what_it_cannot(maskscope):
    assert maskscope("export", "encoder", "e.onnx").code == 0
    words = ("flow", "e.onnx", "--text", TEXT, "--method", "gradient")
    outcome = maskscope(*words)
    assert "note: ONNX Runtime computes no gradient" in outcome.out
    assert "share" not in outcome.out
    assert "note: " not in maskscope(*words[:4]).out
    values = maskscope(*words[:4], "--method", "value-norm").out
    assert "note: The exported encoder hands out no values" in values
    assert "What the edges of attention carry by value-norm is not known." in values
    assert "gradient" not in values
    said = plain(maskscope(*words, "--json"))
    assert "gradient" not in said["stacks"][0]
    assert {edge["value-norm"] for edge in said["edges"]} == {None}


def test_json_goes_to_a_file(maskscope, tmp_path):
    outcome = maskscope("flow", "decoder", "--text", "The cat", "--json", "a.json")
    assert outcome.out == "Wrote a.json.\n"
    assert json.loads((tmp_path / "a.json").read_text())["position"] == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--position", "3"), "position is 3, but must be between 0 and 2, the columns"),
        (("--layer", "3"), "layer is 3, but must be between 1 and 2"),
        (("--layer", "0"), "'0' is not a whole number of 1 or more"),
        (("--token", "the cat"), "token is 'the cat', but must be one token: it is 2 tokens"),
        (("--token", ""), "it is no token"),
        (("--token", "cat"), "explains: add --method gradient"),
        (("--method", "luck"), "luck"),
        (("--json", "no/x.json"), "no folder"),
        (("--backend", "torch", "--device", "abacus"), "no device 'abacus'"),
    ],
)
def test_bad_input_gets_a_sentence(refused, words, told):
    assert told in refused("flow", "decoder", "--text", "The cat", *words)
