from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from app.__main__ import main
from core.mask.reference import reference_mask, reference_positions
from core.types import MaskKind, MaskSpec

PREFIX = ("mask", "--mask", "prefix", "--length", "6", "--prefix", "3")


def test_prefix_mask_of_the_facts_page(maskscope):
    outcome = maskscope(*PREFIX)
    assert outcome.out.split() == ["111000"] * 3 + ["111100", "111110", "111111"]
    assert (outcome.code, outcome.err) == (0, "")


@pytest.mark.parametrize(
    ("options", "spec"),
    [
        (("--mask", "bidirectional"), MaskSpec(MaskKind.BIDIRECTIONAL, 6)),
        (("--mask", "encoder-self"), MaskSpec(MaskKind.ENCODER_SELF, 6)),
        (("--mask", "causal", "--window", "2"), MaskSpec(MaskKind.CAUSAL, 6, window=2)),
        (("--mask", "decoder-self", "--past", "4"), MaskSpec(MaskKind.DECODER_SELF, 6, past=4)),
        (("--mask", "cross", "--source", "3"), MaskSpec(MaskKind.CROSS, 6, source=3)),
        (
            ("--mask", "causal", "--documents", "3,2,1"),
            MaskSpec(MaskKind.CAUSAL, 6, documents=(3, 2, 1)),
        ),
        (("--mask", "causal", "--capacity", "9"), MaskSpec(MaskKind.CAUSAL, 6, capacity=9)),
        (
            ("--mask", "prefix", "--prefix", "2", "--left-pad", "0,3", "--right-pad", "1"),
            MaskSpec(MaskKind.PREFIX, 6, prefix=2, left_pad=(0, 3), right_pad=(1, 1)),
        ),
    ],
)
def test_every_format_says_what_the_loops_say(maskscope, tmp_path, options, spec):
    expected = reference_mask(spec)
    command = ("mask", "--length", "6", *options)

    blocks = maskscope(*command).out.split("\n\n")
    rows = [[list(map(int, line)) for line in block.split()] for block in blocks]
    np.testing.assert_array_equal(np.array(rows, bool), expected)

    assert maskscope(*command, "--format", "npy", "--out", "m.npy").out == "Wrote m.npy.\n"
    array = np.load(tmp_path / "m.npy")
    assert array.dtype == bool
    np.testing.assert_array_equal(array, expected.squeeze(0) if spec.rows == 1 else expected)

    plain = json.loads(maskscope(*command, "--format", "json").out)
    np.testing.assert_array_equal(np.array(plain["rows"], bool), array)
    counts = [int(mask.sum()) for mask in expected]
    assert plain["allowed_pairs"] == (counts[0] if spec.rows == 1 else counts)
    positions = reference_positions(spec).tolist()
    assert plain["position_ids"] == (positions[0] if spec.rows == 1 else positions)


def test_the_rule_has_a_second_name(maskscope):
    words = [word.replace("--mask", "--family") for word in PREFIX]
    assert maskscope(*words).out == maskscope(*PREFIX).out


SIZES = ("length", "source", "capacity", "prefix", "past", "window", "left-pad", "right-pad")


@pytest.mark.parametrize("name", [*SIZES, "documents"])
def test_sizes_have_a_largest_value(refused, name):
    sentence = refused("mask", "--mask", "causal", f"--{name}", "65537")
    assert f"--{name}: '65537' is not a" in sentence
    assert "to 65,536" in sentence


def test_an_option_of_one_value_is_taken_once(refused):
    sentence = refused(*PREFIX, "--prefix", "2")
    assert sentence.startswith("maskscope: --prefix: it is given twice, but only one can be;")


def test_json_names_empty_rows_and_counts_reasons(maskscope):
    outcome = maskscope(
        "mask", "--mask", "causal", "--length", "4", "--left-pad", "2", "--format", "json"
    )
    plain = json.loads(outcome.out)
    assert plain["spec"]["left_pad"] == [2]
    assert plain["empty_rows"] == [0, 1]
    assert plain["reasons"]["padding"] == 8
    assert sum(plain["reasons"].values()) == 16


def test_npy_goes_to_the_standard_output(capsysbinary):
    assert main([*PREFIX, "--format", "npy"]) == 0
    assert np.load(io.BytesIO(capsysbinary.readouterr().out)).sum() == 24


def test_out_replaces_the_file_and_leaves_nothing_else(maskscope, tmp_path):
    (tmp_path / "mask.txt").write_text("old")
    assert maskscope(*PREFIX, "--out", "mask.txt").code == 0
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["mask.txt"]
    assert (tmp_path / "mask.txt").read_text().startswith("111000\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--mask", "prefix", "--length", "6", "--prefix", "7"), "prefix is 7"),
        (("--mask", "causal", "--length", "6", "--prefix", "3"), "prefix is 3"),
        (("--mask", "causal", "--length", "0"), "'0' is not a whole number from 1 to 65,536"),
        (("--mask", "causal", "--length", "six"), "'six' is not a whole number"),
        (("--mask", "causal", "--length", "6", "--past", "-1"), "'-1' is not a whole number"),
        (("--mask", "causal", "--length", "6", "--window", "0"), "--window: '0'"),
        (("--mask", "causal", "--length", "6", "--left-pad", "6"), "left-pad is 6"),
        (("--mask", "causal", "--length", "6", "--left-pad", "0,1,x"), "'0,1,x' is not a list"),
        (
            ("--mask", "causal", "--length", "6", "--left-pad", "1,1", "--right-pad", "1,1,1"),
            "right-pad is 1,1,1, but must be one number for each of the 2 rows",
        ),
        (("--mask", "causal", "--length", "6", "--documents", "3,2"), "they add up to 5"),
        (("--mask", "cross", "--length", "6"), "source is not given, but must be at least 1"),
        (("--mask", "causal", "--length", "6", "--source", "3"), "source is 3"),
        (("--mask", "causal", "--length", "6", "--capacity", "5"), "capacity is 5"),
        (("--mask", "gpt", "--length", "6"), "'gpt'"),
        (
            (
                "--mask",
                "causal",
            ),
            "--length",
        ),
        (("--mask", "causal", "--length", "6", "--format", "xml"), "'xml'"),
        (("--mask", "causal", "--length", "6", "--out", "no/such/folder"), "no folder"),
        (("--mask", "causal", "--length", "6", "--out", "."), "is a folder"),
        (("--mask", "causal", "--length", "65536"), "4,294,967,296 cells"),
        (("--mask", "causal", "--length", "65537"), "from 1 to 65,536"),
        (("--mask", "prefix", "--length", "6"), "prefix is not given, but a prefix mask needs it"),
        (("--mask", "causal", "--length", "6", "--smoke"), "--smoke"),
        (("--mas", "causal", "--length", "6"), "--mas"),
    ],
)
def test_bad_input_gets_a_sentence(refused, words, told):
    assert told in refused("mask", *words)


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path):
    import subprocess

    command = f"{sys.executable} -m app mask --mask causal --length 2000 | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout == "1" + "0" * 1999 + "\n"
    assert done.stderr == ""
