from __future__ import annotations

import json

import numpy as np
import pytest

from core.export import backend_runs

NAN = "queries 0 to 1 may read nothing: NaN is returned, the softmax of minus infinity alone"
INVERTED = "MultiheadAttention, mask not inverted"


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend_runs, "COMPILE_SECONDS", 0.0)


def test_a_table_of_a_mask(maskscope):
    outcome = maskscope("backends", "--mask", "causal", "--length", "4", "--left-pad", "2")
    assert (outcome.code, outcome.err) == (0, "")
    first, _, header, *lines, _, last = outcome.out.splitlines()
    assert first == "causal mask (4 x 4, 3 pairs)"
    assert header.split("  ")[0] == "backend"
    assert len(lines) == 10
    (multihead,) = (line for line in lines if line.startswith("MultiheadAttention  "))
    assert multihead.split("  ", 1)[1].split(maxsplit=2) == ["NaN", "2", NAN]
    assert last == "4 of 10 backends agree with plain loops in float64."


def test_a_backend_that_is_not_for_a_mask_has_no_numbers(maskscope):
    outcome = maskscope("backends", "--mask", "cross", "--length", "2", "--source", "3")
    (line,) = (line for line in outcome.out.splitlines() if line.startswith("SDPA, is_causal"))
    assert line.split("  ")[-1].strip().startswith("is not for this mask: ")
    assert not any(letter.isdigit() for letter in line)


@pytest.mark.usefixtures("models")
def test_the_mask_under_which_a_model_reads(maskscope, tmp_path):
    words = ("decoder", "--text", "A cat sat", "--text", "A", "--row", "1")
    assert maskscope("backends", *words, "--json", "a.json").out == "Wrote a.json.\n"
    plain = json.loads((tmp_path / "a.json").read_text())
    length = len(plain["mask"])
    assert (plain["mask_kind"], plain["past"]) == ("causal", 0)
    pads = [row for row, cells in enumerate(plain["mask"]) if not any(cells)]
    assert pads == list(range(length - 2)), "the shorter row is padded on the left"
    found = {one["name"]: one for one in plain["backends"]}
    assert found["SDPA, bool mask"]["finding"] == "agrees"
    assert 0 < found["SDPA, bool mask"]["largest"] < plain["tolerance"]
    assert found["MultiheadAttention"]["largest"] is None
    assert [value is None for value in found["MultiheadAttention"]["difference"]] == [
        row in pads for row in range(length)
    ]


@pytest.mark.usefixtures("models")
def test_the_mask_under_which_a_model_reads_can_be_chosen(maskscope):
    words = ("prefix", "--text", "A cat", "--mask", "causal", "--json")
    plain = json.loads(maskscope("backends", *words).out)
    assert (plain["mask_kind"], plain["mask"]) == ("causal", np.tri(3, dtype=int).tolist())


def test_json_of_a_chunk_after_a_cache(maskscope):
    words = ("--mask", "causal", "--length", "2", "--past", "2", "--seed", "3")
    plain = json.loads(maskscope("backends", *words, "--json").out)
    assert plain["mask"] == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert (plain["past"], plain["seed"]) == (2, 3)
    found = {one["name"]: one["finding"] for one in plain["backends"] if one["available"]}
    apart = {name for name, finding in found.items() if not finding.startswith("agrees")}
    assert apart == {"SDPA, is_causal", INVERTED}
    assert found["SDPA, is_causal"].startswith("queries 2 to 3 differ: the triangle is aligned")


NEEDS = "needs --mask and --length, or MODEL and --text, or a workspace; not both"


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), NEEDS),
        (("decoder", "--text", "A", "--mask", "cross"), "mask is cross, but must be"),
        (("--mask", "causal"), NEEDS),
        (("decoder",), NEEDS),
        (("decoder", "--text", "A", "--length", "3"), NEEDS),
        (("--mask", "causal", "--length", "3", "--text", "A"), NEEDS),
        (("nobody", "--text", "A"), "There is no model 'nobody'"),
        (("--mask", "causal", "--length", "3", "--row", "1"), "row is 1, but must be between"),
        (("--mask", "causal", "--length", "3", "--prefix", "1"), "prefix is 1"),
        (("--mask", "causal", "--length", "2000"), "has 4,000,000 cells (2000 x 2000)"),
        (("--mask", "causal", "--length", "2", "--json", "no/a.json"), "there is no folder no"),
    ],
)
def test_bad_input_gets_a_sentence(refused, words, told):
    assert told in refused("backends", *words)
