from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core import paths
from core.export.store import kept
from core.types import MaskKind, MaskSpec

ROOT = Path(__file__).resolve().parents[3]
TEXT = ("--text", "The cat sat")
PAIR = ("export", "encdec", "a.onnx", "--fixed-mask", "decoder-self", "--length", "3")
PAIR += ("--source", "5")
TWO_TEXTS = ("--text", "Tom <extra_id_0>.", "--target", "<extra_id_0>")


@pytest.fixture(scope="module")
def exported(model_folder, tmp_path_factory) -> Path:
    """What the command writes for three of the models."""
    from app.__main__ import main

    folder, before = tmp_path_factory.mktemp("exported"), paths.MODELS
    paths.MODELS = model_folder
    try:
        for model in ("encoder", "decoder", "encdec"):
            assert main(["export", model, str(folder / f"{model}.onnx")]) == 0
    finally:
        paths.MODELS = before
    return folder


@pytest.fixture
def here(exported: Path, tmp_path: Path) -> Path:
    """The files in the folder that commands run in, and no bundled model."""
    for path in exported.iterdir():
        shutil.copyfile(path, tmp_path / path.name)
    return tmp_path


def test_the_files_and_their_report(exported):
    endings = ("onnx", "parity.json", "tokenizer.json")
    names = {f"{model}.{end}" for model in ("encoder", "decoder") for end in endings}
    names |= {f"encdec.{end}" for end in ("encoder.onnx", "decoder.onnx", *endings[1:])}
    assert {path.name for path in exported.iterdir()} == names
    for report in exported.glob("*.parity.json"):
        assert json.loads(report.read_text())["verdict"] == "PASS"


@pytest.mark.usefixtures("models")
def test_verify_says_the_verdict_again(maskscope, here):
    (here / "encdec.parity.json").unlink()
    for file in ("encdec.onnx", "encdec.decoder.onnx"):
        outcome = maskscope("export", "--verify", file, "--model", "encdec")
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out.startswith("parity PASS in 20 cases: logits ")
        assert outcome.out.endswith("greedy tokens equal (CPU)\n")
    assert json.loads((here / "encdec.parity.json").read_text())["verdict"] == "PASS"


@pytest.mark.usefixtures("models")
def test_a_failed_parity_names_the_case_and_keeps_the_report(maskscope, here):
    import onnx

    model = onnx.load(here / "decoder.onnx")
    for node in model.graph.node:
        node.input[:] = ["closed" if name == "attention_mask" else name for name in node.input]
    model.graph.node.insert(0, onnx.helper.make_node("Not", ["attention_mask"], ["closed"]))
    onnx.save(model, here / "decoder.onnx")
    outcome = maskscope("export", "--verify", "decoder.onnx", "--model", "decoder")
    assert (outcome.code, outcome.out) == (1, "")
    assert "parity FAIL" in outcome.err
    assert "the first that fails is 'length'" in outcome.err
    assert json.loads((here / "decoder.parity.json").read_text())["verdict"] == "FAIL"


def test_the_file_alone_says_what_the_model_says(maskscope, here, model_folder, monkeypatch):
    def said(model: str, *words: str) -> tuple[str, str]:
        outcome = maskscope("generate", model, *words)
        assert outcome.code == 0, outcome
        return outcome.out, outcome.err

    few = ("--max-new-tokens", "8")
    given = {
        "decoder": (*TEXT, *few),
        "encdec": (*TWO_TEXTS, *few),
        "encoder": ("--text", "The [MASK] sat"),
    }
    found = {model: said(f"{model}.onnx", *words) for model, words in given.items()}
    monkeypatch.setattr(paths, "MODELS", model_folder)
    assert found == {model: said(model, *words) for model, words in given.items()}


def test_a_pass_through_a_file(maskscope, here):
    words = ("--text", "The cat sat", "--past", "2")
    plain = json.loads(maskscope("run", "decoder.onnx", *words, "--json").out)
    assert plain["model"] == "decoder.onnx"
    assert plain["device"] == "cpu"
    assert plain["cache_difference"] < 1e-4
    assert "decoder.onnx under a causal mask" in maskscope("run", "decoder.onnx", *TEXT).out
    assert maskscope("run", "encdec.onnx", *TWO_TEXTS, "--npz", "a.npz").code == 0
    assert (here / "a.npz").is_file()


WITHOUT_TORCH = """
import sys
from app.__main__ import main
code = main(sys.argv[1:])
assert "torch" not in sys.modules, "torch is imported"
sys.exit(code)
"""


@pytest.mark.parametrize(
    "words",
    [("generate", "decoder.onnx", *TEXT), ("run", "encdec.onnx", *TWO_TEXTS)],
)
def test_a_file_needs_no_torch(here, words):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *words],
        cwd=here,
        env=dict(os.environ, PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_a_bundled_model_on_the_other_backend(maskscope, models):
    """It is exported once, into the cache."""
    told = [
        maskscope("generate", "decoder", *TEXT, "--backend", backend, "--max-new-tokens", "6")
        for backend in ("onnx", "onnx", "torch")
    ]
    assert [outcome.err for outcome in told] == [
        "maskscope: exporting decoder to ONNX, once\n",
        "",
        "",
    ]
    assert len({outcome.out for outcome in told}) == 1
    found = kept("decoder", models)
    assert found.is_made
    found.path.write_bytes(b"half a file")
    assert not found.is_made
    assert kept("prefix", models).path != found.path


@pytest.mark.usefixtures("models")
def test_a_fixed_mask_and_half_precision(maskscope, tmp_path):
    words = ("--fixed-mask", "prefix", "--length", "6", "--prefix", "3", "--fp16")
    outcome = maskscope("export", "prefix", "a.onnx", *words)
    assert outcome.code == 0, outcome
    assert outcome.out.startswith("Wrote a.onnx (float16), with a.tokenizer.json.\nparity PASS")
    again = maskscope("run", "a.onnx", *TEXT)
    assert again.code == 2
    assert "has its mask built in" in again.err
    assert (tmp_path / "a.parity.json").is_file()


@pytest.mark.usefixtures("models")
def test_a_file_has_the_name_that_was_given(maskscope, tmp_path):
    outcome = maskscope("export", "decoder", "U.ONNX", "--no-verify")
    assert outcome.out.startswith("Wrote U.ONNX (float32), with U.tokenizer.json.")
    assert {"U.ONNX", "U.tokenizer.json"} == {path.name for path in tmp_path.iterdir()}
    assert maskscope("run", "U.ONNX", *TEXT).code == 0


@pytest.mark.usefixtures("models")
def test_a_file_runs_in_its_own_precision(maskscope):
    assert maskscope("export", "decoder", "a.onnx", "--fp16", "--no-verify").code == 0
    assert maskscope("run", "a.onnx", *TEXT, "--dtype", "float16").code == 0
    other = maskscope("run", "a.onnx", *TEXT, "--dtype", "float32")
    assert (other.code, other.out) == (2, "")
    assert "dtype is float32, but a.onnx was exported in float16; leave it out." in other.err


@pytest.mark.usefixtures("models")
def test_the_fixed_masks_of_an_encoder_decoder(maskscope, tmp_path):
    from core.export.files import read_header

    outcome = maskscope(*PAIR, "--source-right-pad", "2", "--left-pad", "1", "--window", "3")
    assert outcome.code == 0, outcome
    assert outcome.out.startswith(
        "Wrote a.onnx (float32), with a.tokenizer.json.\nparity PASS in 20"
    )
    assert not list(tmp_path.glob("a.*coder.onnx"))
    header = read_header(tmp_path / "a.onnx")
    assert header.mask == MaskSpec(MaskKind.DECODER_SELF, 3, left_pad=(1,), window=3)
    assert header.source_mask == MaskSpec(MaskKind.ENCODER_SELF, 5, right_pad=(2,), window=3)
    assert header.cross_mask == MaskSpec(MaskKind.CROSS, 3, source=5, right_pad=(2,))
    outcome = maskscope("export", "--verify", "a.onnx", "--model", "encdec")
    assert outcome.out.startswith("parity PASS in 20 cases")


@pytest.mark.usefixtures("models")
def test_weights_of_8_bits_are_said_to_be_lossy(maskscope):
    outcome = maskscope("export", "decoder", "a.onnx", "--int8")
    assert outcome.code == 0, outcome
    assert outcome.out.endswith("int8 is lossy, and these are its errors (CPU)\n")
    assert maskscope("generate", "a.onnx", *TEXT).out.startswith("The cat sat")


@pytest.mark.usefixtures("models")
def test_no_verify_writes_no_report(maskscope, tmp_path):
    assert maskscope("export", "encoder", "a.onnx", "--no-verify").code == 0
    assert sorted(path.name for path in tmp_path.glob("a.*")) == ["a.onnx", "a.tokenizer.json"]


@pytest.mark.usefixtures("models", "here")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("export",), "export needs MODEL and OUT.onnx"),
        (("export", "decoder"), "export needs MODEL and OUT.onnx"),
        (("export", "nobody", "a.onnx"), "There is no model 'nobody'"),
        (("export", "decoder", "a.pt"), "must end in .onnx"),
        (("export", "--verify", "a.pt", "--model", "decoder"), "as every exported file does."),
        (("export", "decoder", "no/a.onnx"), "there is no folder no; make it"),
        (("export", "decoder.onnx", "a.onnx"), "is exported already"),
        (("export", "decoder", "a.onnx", "--model", "decoder"), "--model goes with --verify"),
        (("export", "--verify", "decoder.onnx"), "--verify needs --model"),
        (("export", "decoder", "a.onnx", "--verify", "decoder.onnx"), "--verify writes no model"),
        (("export", "--verify", "no.onnx", "--model", "decoder"), "There is no file no.onnx"),
        (("export", "--verify", "decoder.onnx", "--model", "encoder"), "from another model"),
        (("export", "decoder", "a.onnx", "--window", "2"), "which is not given"),
        (("export", "decoder", "a.onnx", "--fixed-mask", "causal"), "needs --length"),
        (
            ("export", "prefix", "a.onnx", "--fixed-mask", "prefix", "--length", "8"),
            "prefix is not given, but a prefix mask needs it: add --prefix N.",
        ),
        (
            ("export", "encdec", "a.onnx", "--fixed-mask", "causal", "--length", "3"),
            "mask is causal, but must be decoder-self for encdec",
        ),
        (
            ("export", "decoder", "a.onnx", "--fixed-mask", "decoder-self", "--length", "3"),
            "mask is decoder-self, but must be bidirectional or causal or prefix for decoder",
        ),
        (PAIR[:7], "of an encoder-decoder needs --source, its tokens"),
        ((*PAIR, "--documents", "3"), "an encoder-decoder packs none"),
        ((*PAIR, "--source-left-pad", "9"), "left-pad is 9, but must be between 0 and 4"),
        (("export", "encdec", "a.onnx", "--source", "3"), "with a --fixed-mask reads"),
        (("export", "encdec", "a.onnx", "--source-left-pad", "1"), "with a --fixed-mask reads"),
        (
            ("export", "decoder", "a.onnx", "--fixed-mask", "causal", "--length", "99"),
            "99 tokens, but the model has 96 positions",
        ),
        (("export", "decoder", "a.onnx", "--fp16", "--int8"), "not allowed with argument"),
        (("run", "no.onnx", *TEXT), "There is no file no.onnx"),
        (("run", "decoder.parity.json", *TEXT), "There is no model"),
        (("generate", "decoder.onnx", *TEXT, "--backend", "torch"), "must be onnx"),
        (("generate", "decoder.onnx", *TEXT, "--device", "mps"), "runs on auto, cpu or cuda"),
        (("generate", "decoder.onnx", *TEXT, "--dtype", "bfloat16"), "was exported in float32"),
        (("run", "decoder.onnx", "--text", "a " * 200), "but the model has 96 positions"),
    ],
)
def test_bad_input_gets_a_sentence(refused, words, told):
    assert told in refused(*words)


def test_a_file_without_its_tokenizer(refused, here):
    (here / "decoder.tokenizer.json").unlink()
    assert "decoder.tokenizer.json beside the model" in refused("run", "decoder.onnx", *TEXT)
