"""``maskscope data`` writes what the other commands say, and README's ten lines draw it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app import workspaces
from app.state import initial
from app.workspaces import Workspace
from core.types import Family

pytestmark = pytest.mark.usefixtures("models")

TEXT = "The cat sat on the mat."
README = Path(__file__).resolve().parents[3] / "README.md"


@pytest.mark.parametrize("name", ["a.npz", "a.safetensors", "a.json", "a.csv"])
def test_every_kind_is_written_and_told(maskscope, tmp_path, name):
    outcome = maskscope("data", "decoder", "--text", TEXT, name)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == f"Wrote 7 arrays to {name}.\n"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(("a", "."))] == [name]


def test_it_is_what_a_run_says(maskscope, tmp_path):
    words = (
        "prefix",
        "--text",
        TEXT,
        "--text",
        "The cat",
        "--row",
        "1",
        "--left-pad",
        "1,0",
        "--prefix",
        "2",
    )
    assert maskscope("data", *words, "--past", "8", "a.npz").code == 0
    assert maskscope("run", *words, "--past", "8", "--npz", "b.npz", "--json", "b.json").code == 0
    found, run = np.load(tmp_path / "a.npz"), np.load(tmp_path / "b.npz")
    said = json.loads((tmp_path / "b.json").read_text())
    np.testing.assert_allclose(found["decoder_attention"], run["decoder_pattern"], atol=1e-6)
    np.testing.assert_array_equal(found["decoder_mask"], run["mask"])
    np.testing.assert_array_equal(found["position_ids"], run["position_ids"])
    assert found["ids"].tolist() == said["ids"]
    assert found["tokens"].tolist() == said["tokens"]
    np.testing.assert_array_equal(found["logits"].argmax(axis=-1), run["top_ids"][:, 0])
    told = json.loads(str(found["parameters"]))
    assert [row["text"] for row in told["texts"]] == [TEXT, "The cat"]
    assert (told["model"], told["row"], told["past"]) == ("prefix", 1, 8)
    assert told["masks"]["decoder"]["kind"] == "prefix"
    assert {"maskscope", "python", "numpy", "torch"} == set(told["versions"])


def test_flow_and_checks_stand_beside(maskscope, tmp_path):
    words = ("decoder", "--text", TEXT)
    assert maskscope("data", *words, "--with", "flow,checks", "--position", "3", "a.npz").code == 0
    flow = json.loads(maskscope("flow", *words, "--position", "3", "--json").out)
    checks = json.loads(maskscope("check", *words, "--json").out)
    found = np.load(tmp_path / "a.npz")
    shares = flow["stacks"][0]["rollout"]
    np.testing.assert_allclose(found["flow_decoder_rollout"], shares, atol=1e-6)
    assert found["check_verdict"].tolist() == [check["verdict"] for check in checks["checks"]]


def test_a_workspace_on_onnx(maskscope, tmp_path):
    state = replace(initial(Family.ENCODER), backend="onnx")
    workspaces.save(Workspace(state), tmp_path / "a.maskscope")
    assert maskscope("data", "a.maskscope", "--with", "flow", "a.json").code == 0
    plain = json.loads((tmp_path / "a.json").read_text())
    assert plain["parameters"]["engine"].startswith("ONNX Runtime")
    assert "torch" not in plain["parameters"]["versions"]
    assert "flow_encoder_value_norm" not in plain["arrays"]
    assert "hands out no values" in plain["readme"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("a.txt",), "a.txt must end in .npz, .safetensors, .csv or .json"),
        (("no/a.npz",), "there is no folder no; make it."),
        (("there.npz",), "there.npz is a folder; name a file to write."),
        (("there.csv",), "there.csv is there already"),
        (("--with", "luck", "a.npz"), "'luck' is not flow or checks, or both"),
        (("--position", "1", "a.npz"), "--position is of the flow"),
        (("--with", "flow", "--position", "9", "a.npz"), "position is 9, but must be between"),
    ],
)
def test_bad_input_gets_a_sentence(refused, tmp_path, words, told):
    for folder in ("there.npz", "there.csv"):
        (tmp_path / folder).mkdir()
    assert told in refused("data", "decoder", "--text", TEXT, *words)


def test_the_lines_in_readme_draw_the_attention(maskscope, tmp_path, capsys):
    text = README.read_text(encoding="utf-8")
    (command,) = re.findall(r"^maskscope (data .*story\.npz)$", text, re.MULTILINE)
    words = [plain or quoted for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', command)]
    assert maskscope(*words).code == 0
    (code,) = re.findall(r"```python\n(.*?story\.npz.*?)```", text, re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    assert "decoder_attention: float32" in capsys.readouterr().out
    head, pixels = (tmp_path / "head.ppm").read_bytes().split(b"255\n", 1)
    wide, high = map(int, head.split()[1:])
    picture = np.frombuffer(pixels, np.uint8).reshape(high, wide, 3)
    found = np.load(tmp_path / "story.npz")
    weights, mask = found["decoder_attention"][1, 1], found["decoder_mask"]
    assert picture.shape == (24 * len(mask), 24 * len(mask), 3)
    cells = picture[12::24, 12::24].astype(int)
    assert not mask.all()
    assert (cells[~mask] == 216).all()
    np.testing.assert_array_equal(
        picture.reshape(*[n for m in mask.shape for n in (m, 24)], 3).std(axis=(1, 3)), 0
    )
    row, key = np.unravel_index(weights.argmax(), weights.shape)
    assert cells[row, key].tolist() == [42, 47, 134]
    order = np.argsort(weights[mask])
    assert (np.diff(cells[mask][order], axis=0) <= 0).all()
