from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from app.cli import tour
from core.types import Family

pytestmark = pytest.mark.usefixtures("models")


def test_every_family_leaves_its_files(maskscope, tmp_path):
    outcome = maskscope("tour", "out/deep", "--no-screenshots")
    assert (outcome.code, outcome.err) == (0, "")
    folder = tmp_path / "out" / "deep"
    stops = json.loads((folder / "summary.json").read_text())
    assert [stop["family"] for stop in stops] == [family.value for family in Family]
    for stop in stops:
        here = folder / stop["family"]
        assert sorted(stop["files"]) == sorted(path.name for path in here.iterdir())
        for name, mask in stop["masks"].items():
            rows = (here / f"{name}.txt").read_text().split()
            assert len(rows) == mask["queries"]
            assert sum(row.count("1") for row in rows) == mask["allowed_pairs"]
        arrays = np.load(here / "attention.npz")
        assert {f"{stack}_pattern" for stack in stop["attention"]} < set(arrays)
    assert (folder / "encoder-decoder" / "cross_mask.txt").is_file()
    assert (folder / "encoder" / "filled.txt").is_file()
    report = (folder / "summary.md").read_text()
    assert all(f"## {family.value}" in report for family in Family)
    assert "window.png" not in report


@pytest.fixture
def pictures(monkeypatch):
    """Stand in for the child process that takes a picture; the families it fails for."""
    failing: set[str] = set()

    def run(words, **given):
        family = words[words.index("--family") + 1]
        if family in failing:
            return subprocess.CompletedProcess(words, 1, "", "noise\nQt cannot start.\n")
        Path(words[words.index("--screenshot") + 1]).write_bytes(b"PNG")
        return subprocess.CompletedProcess(words, 0, "ready", "")

    monkeypatch.setattr(tour.subprocess, "run", run)
    return failing


def test_pictures_are_shown_in_the_summary(maskscope, tmp_path, pictures):
    assert maskscope("tour", "out").code == 0
    assert (tmp_path / "out" / "prefix" / "window.png").is_file()
    assert "(prefix/window.png)" in (tmp_path / "out" / "summary.md").read_text()


def test_a_picture_that_fails_is_told_and_the_rest_is_kept(maskscope, tmp_path, pictures):
    pictures.add("prefix")
    outcome = maskscope("tour", "out")
    assert outcome.code == 1
    assert outcome.err == "maskscope: no picture of prefix: Qt cannot start.\n"
    stops = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert [stop["trouble"] for stop in stops] == ["", "", "Qt cannot start.", ""]
    assert (tmp_path / "out" / "prefix" / "attention.npz").is_file()
    assert (tmp_path / "out" / "decoder" / "window.png").is_file()


def test_a_file_is_no_folder(refused, tmp_path):
    (tmp_path / "taken").write_text("mine")
    assert "is a file" in refused("tour", "taken")


def test_missing_models_are_named(maskscope, monkeypatch, tmp_path):
    from core import paths

    monkeypatch.setattr(paths, "MODELS", tmp_path / "none")
    outcome = maskscope("tour", "out")
    assert outcome.code == 1
    assert "encoder, decoder, prefix, encdec" in outcome.err
    assert not (tmp_path / "out").exists()
