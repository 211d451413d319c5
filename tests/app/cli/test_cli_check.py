from __future__ import annotations

import json

import pytest

from core.run.checks import engines
from core.run.checks.run import CHECKS
from core.run.checks.torch_subject import TorchSubject
from tests.app.cli.leaky import SeesTheFuture

pytestmark = pytest.mark.usefixtures("models")

TEXT = ("--text", "The cat sat on the mat and saw a dog.")


@pytest.fixture
def leaky(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every model reads one key too far."""
    right = engines.subject_of

    def subject_of(engine, run, cancel=None):
        found = right(engine, run, cancel)
        assert isinstance(found, TorchSubject)
        return SeesTheFuture(found.model, found.name)

    monkeypatch.setattr(engines, "subject_of", subject_of)


def test_a_sound_model_passes_with_a_line_a_check(maskscope):
    outcome = maskscope("check", "decoder", *TEXT)
    assert outcome.code == 0, outcome
    lines = outcome.out.splitlines()
    assert lines[0].startswith("decoder on torch, causal mask, ")
    assert "0 failed" in lines[0]
    assert {line.split()[0] for line in lines[3:]} >= {"weights", "boundary", "padding", "cache"}


def test_without_a_text_a_sample_is_read(maskscope):
    outcome = maskscope("check", "encdec", "--only", "determinism")
    assert outcome.code == 0, outcome
    assert "decoder-self mask" in outcome.out


def test_a_text_too_short_to_check_is_said_to_be(maskscope):
    outcome = maskscope("check", "decoder", "--text", "", "--only", "weights")
    first, _, header, line = outcome.out.splitlines()
    assert first.endswith("causal mask, 1 token: 0 checks passed, 0 failed, 1 cannot be shown here")
    assert header.index("what was found") == line.index("1 token cannot show anything")


def test_all_offsets_are_told_in_a_sentence(maskscope):
    outcome = maskscope("check", "decoder", "--text", "The cat sat", "--only", "cache", "--json")
    (cache,) = json.loads(outcome.out)["checks"]
    assert cache["sentence"].startswith("All ")


@pytest.mark.usefixtures("leaky")
def test_a_leak_fails_with_its_place_and_the_exit_code_says_so(maskscope):
    outcome = maskscope("check", "decoder", *TEXT, "--json")
    assert outcome.code == 1
    said = json.loads(outcome.out)
    assert said["passed"] is False
    weights = next(one for one in said["checks"] if one["name"] == "weights")
    assert weights["verdict"] == "FAIL"
    assert weights["place"] == {"stack": "decoder", "layer": 1, "head": 1, "position": 0}


def test_the_mask_of_the_options_is_the_one_that_is_checked(maskscope):
    outcome = maskscope("check", "unified", *TEXT, "--mask", "causal", "--window", "2")
    assert outcome.code == 0, outcome
    assert "causal mask" in outcome.out
    assert "window 2" in outcome.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--only", "colour"), "There is no check 'colour', only weights, boundary"),
        (("--json", "missing/report.json"), "there is no folder"),
        (("--prefix", "3"), "prefix is 3"),
        (("--past", "2"), "--past is given, but checks vary pads and cache themselves"),
        (("--left-pad", "1"), "--left-pad is given"),
        (("--right-pad", "0,1"), "--right-pad is given"),
    ],
)
def test_bad_input_gets_a_sentence(refused, words, said):
    assert said in refused("check", "decoder", *TEXT, *words)


def test_help_names_the_checks_and_no_option_that_is_refused(maskscope, capsys):
    with pytest.raises(SystemExit):
        maskscope("check", "--help")
    told = capsys.readouterr().out
    options = told.split("options:")[1]
    assert all(name in " ".join(options.split()) for name in CHECKS)
    assert not any(name in options for name in ("--past", "--left-pad", "--right-pad"))
