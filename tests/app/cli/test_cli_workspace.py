"""A workspace stands where a model stands: the same as its options in words."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app import workspaces
from app.state import RowState, ViewState, initial
from app.workspaces import Workspace
from core.types import Family, HeadRef, Sampling, Stack
from tests.app.damage import damaged

pytestmark = pytest.mark.usefixtures("models")

NAME = "mine.maskscope"
ROWS = (RowState("The cat sat on the mat.", left_pad=1), RowState("The cat"))
STATE = replace(
    initial(Family.DECODER), rows=ROWS, past=2, window=3, head=HeadRef(Stack.DECODER, 1, 1)
)
WORDS = ("--text", ROWS[0].text, "--text", ROWS[1].text, "--left-pad", "1,0")
READ = ("decoder", "--text", ROWS[0].text, "--text", ROWS[1].text)
UNDER_NO_MASK = {"objectives": READ[:3], "embeddings": READ}
"""Commands that read texts under no mask of the options, and what says the same to them."""
SAME = ("decoder", *WORDS, "--past", "2", "--window", "3")


def saved(folder: Path, state: ViewState = STATE) -> Path:
    path = folder / NAME
    workspaces.save(Workspace(state), path)
    return path


def timeless(out: str) -> dict:
    said = json.loads(out)
    return {name: value for name, value in said.items() if name not in ("seconds", "title")}


@pytest.mark.parametrize(
    "words",
    [
        ("run",),
        ("run", "--row", "1"),
        ("flow",),
        ("compare", "--pair", "padding"),
        ("compare", "--with-window", "2"),
        ("compare", "--with-model", "unified", "--with-mask", "prefix", "--with-past", "0"),
        ("backends",),
        ("objectives", "--objective", "clm"),
        ("embeddings",),
    ],
)
def test_it_says_what_its_options_say(maskscope, tmp_path, words):
    saved(tmp_path)
    command, *rest = words
    kept = maskscope(command, NAME, *rest, "--json")
    said = maskscope(command, *UNDER_NO_MASK.get(command, SAME), *rest, "--json")
    assert kept.code == said.code == 0, kept
    assert timeless(kept.out) == timeless(said.out)


def test_stages_are_those_of_the_head_that_was_left(maskscope, tmp_path):
    saved(tmp_path)
    kept = maskscope("stages", NAME, "--json")
    same = maskscope("stages", *SAME, "--layer", "2", "--head", "2", "--json")
    assert timeless(kept.out) == timeless(same.out)
    first = timeless(maskscope("stages", NAME, "--layer", "1", "--json").out)
    assert (first["layer"], first["head"]) == (1, 2)


def test_checks_leave_its_pads_and_cache_alone(maskscope, tmp_path):
    saved(tmp_path)
    words = ("--only", "determinism", "--json")
    kept = maskscope("check", NAME, *words)
    assert kept.code == 0, kept
    same = maskscope("check", *READ, "--window", "3", *words)
    assert timeless(kept.out) == timeless(same.out)


def test_an_objective_has_its_prefix(maskscope, tmp_path):
    saved(tmp_path, replace(initial(Family.PREFIX), rows=ROWS[:1], prefix=3))
    words = ("--objective", "prefix", "--json")
    kept = maskscope("objectives", NAME, *words)
    same = maskscope("objectives", "prefix", *READ[1:3], "--prefix", "3", *words)
    assert timeless(kept.out) == timeless(same.out)


def test_its_model_is_exported(maskscope, tmp_path):
    saved(tmp_path)
    assert maskscope("export", NAME, "a.onnx", "--no-verify").code == 0
    assert maskscope("export", "--verify", "a.onnx", "--model", NAME).code == 0


def test_generation_samples_as_it_was_left(maskscope, tmp_path):
    sampling = Sampling(1.5, 9, 0.9, 7)
    saved(tmp_path, replace(STATE, past=0, sampling=sampling, max_new_tokens=5))
    drawn = ("--temperature", "1.5", "--top-k", "9", "--top-p", "0.9", "--max-new-tokens", "5")
    same = ("decoder", *WORDS, "--window", "3", *drawn)
    out = maskscope("generate", NAME).out
    assert out == maskscope("generate", *same, "--seed", "7").out
    other = maskscope("generate", NAME, "--seed", "8").out
    assert other == maskscope("generate", *same, "--seed", "8").out != out


def test_tokens_that_were_generated_are_read_too(maskscope, tmp_path):
    state = STATE.with_row(generated=(7, 8))
    saved(tmp_path, state)
    said = json.loads(maskscope("run", NAME, "--json").out)
    assert said["ids"][-2:] == [7, 8]


@pytest.mark.parametrize("family", [Family.DECODER, Family.ENCODER_DECODER])
def test_generation_goes_on_after_the_tokens_that_were_generated(maskscope, tmp_path, family):
    words = ("generate", NAME, "--max-new-tokens", "3", "--json")
    saved(tmp_path, initial(family))
    once = json.loads(maskscope(*words).out)
    state = initial(family).with_row(generated=tuple(step["id"] for step in once["steps"]))
    saved(tmp_path, state)
    twice = json.loads(maskscope(*words).out)
    assert twice["prompt"] == once["text"] != once["prompt"]
    assert twice["text"].startswith(once["text"])
    assert len(twice["text"]) > len(once["text"])


@pytest.mark.usefixtures("qapp")
def test_a_figure_is_of_the_head_that_was_left(maskscope, tmp_path):
    saved(tmp_path)
    for words in ((NAME,), (*SAME, "--layer", "2", "--head", "2")):
        assert maskscope("figure", *words, f"{len(words)}.svg").code == 0
    kept, said = (path.read_bytes() for path in sorted(tmp_path.glob("*.svg")))
    assert kept == said
    assert maskscope("figure", NAME, "--head", "1", "b.svg").code == 0
    assert (tmp_path / "b.svg").read_bytes() != kept


def test_its_own_backend_runs_it(maskscope, tmp_path):
    saved(tmp_path, replace(STATE, backend="onnx"))
    onnx = maskscope("check", NAME, "--only", "determinism")
    assert onnx.out.startswith("decoder on ONNX Runtime"), onnx
    torch = maskscope("check", NAME, "--only", "determinism", "--backend", "torch")
    assert torch.out.startswith("decoder on torch"), torch


def test_a_workspace_of_an_encoder_decoder(maskscope, tmp_path):
    saved(tmp_path, initial(Family.ENCODER_DECODER))
    assert maskscope("run", NAME, "--npz", "a.npz").code == 0
    assert np.load(tmp_path / "a.npz")["cross_mask"].all()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", NAME, "--text", "x"), "so --text cannot be given beside it; leave it out"),
        (("run", NAME, "--mask", "causal"), "so --mask cannot be given beside it"),
        (("flow", NAME, "--past", "1"), "so --past cannot be given beside it"),
        (("run", NAME, "--left-pad", "0,1"), "so --left-pad cannot be given beside it"),
        (("objectives", NAME, "--objective", "clm", "--text", "x"), "so --text cannot be given"),
        (("embeddings", NAME, "--mask", "causal"), "so --mask cannot be given beside it"),
        (("cost", NAME, "--width", "8"), "--width is given, but decoder has sizes of its own"),
        (("export", "other.maskscope", "a.onnx"), "other.maskscope cannot be read"),
        (("compare", NAME), "There is nothing to compare with"),
        (("compare", "two.maskscope", "--with-model", "decoder"), "not decoder"),
        (("compare", "packed.maskscope", "--with-model", "encdec"), "encoder-decoder packs none"),
        (("run", NAME, "--row", "2"), "row is 2, but must be between 0 and 1."),
        (("run", "other.maskscope", "--text", "x"), "other.maskscope cannot be read: No such"),
        (("run", "other.maskscope"), "other.maskscope cannot be read: No such file"),
        (("run", "broken.maskscope"), "broken.maskscope is no workspace: it is not JSON."),
        (("run", "strange.maskscope"), "There is no model 'nobody'"),
        (("run", "wrong.maskscope"), "There is no model 'encoder' for encoder-decoder here."),
        (("run", "decoder"), "--text is missing: say what decoder reads"),
        (("backends", NAME, "--length", "3"), "or a workspace; not both"),
    ],
)
def test_what_cannot_be_gets_a_sentence(refused, tmp_path, words, told):
    saved(tmp_path)
    (tmp_path / "broken.maskscope").write_text("{")
    workspaces.save(Workspace(replace(STATE, model="nobody")), tmp_path / "strange.maskscope")
    workspaces.save(Workspace(initial(Family.ENCODER_DECODER)), tmp_path / "two.maskscope")
    packed = replace(STATE, rows=ROWS[1:], past=0, documents=(1, 2))
    workspaces.save(Workspace(packed), tmp_path / "packed.maskscope")
    wrong = replace(initial(Family.ENCODER_DECODER), model="encoder")
    workspaces.save(Workspace(wrong), tmp_path / "wrong.maskscope")
    assert told in refused(*words)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_damaged_file_runs_or_gets_a_sentence(maskscope, tmp_path, data):
    path = data.draw(damaged(tmp_path))
    told = maskscope("run", str(path))
    if told.code != 0:
        assert told.code == 2, told
        (sentence,) = told.err.splitlines()
        assert sentence.startswith("maskscope: ")
        assert sentence.endswith(".")
