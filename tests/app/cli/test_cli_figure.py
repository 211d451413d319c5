from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from PySide6.QtGui import QImage

from app.cli.figure_views import VIEWS

pytestmark = pytest.mark.usefixtures("models", "qapp")

TEXT = "The cat sat on the mat."
READ = ("--text", TEXT)
OF_A_VIEW = {
    "steps": (*READ, "--max-new-tokens", "3"),
    "difference": (*READ, "--pair", "softmax"),
    "objectives": (*READ, "--objective", "clm"),
    "embeddings": (*READ, "--text", "A dog ran."),
    "cost": (),
}
SVG, DC = "{http://www.w3.org/2000/svg}", "{http://purl.org/dc/elements/1.1/}"


def texts(path) -> list[str]:
    return [element.text for element in ET.parse(path).iter(f"{SVG}text")]


def parameters(path) -> dict[str, str]:
    return json.loads(next(ET.parse(path).iter(f"{DC}description")).text)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_every_view_in_every_kind_of_file(maskscope, tmp_path, view, suffix):
    name = f"a.{suffix}"
    outcome = maskscope("figure", "decoder", "--view", view, *OF_A_VIEW.get(view, READ), name)
    assert (outcome.code, outcome.out, outcome.err) == (0, f"Wrote {name}.\n", "")
    start = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}[suffix]
    content = (tmp_path / name).read_bytes()
    assert content.startswith(start)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [name]
    if suffix == "svg":
        assert b"<image" not in content
        assert len(texts(tmp_path / name)) > 2
        assert parameters(tmp_path / name)["view"] == view
    elif suffix == "pdf":
        assert b"/Subtype /Image" not in content
        assert b"/FontFile" in content


def test_the_figure_shows_the_tokens_and_says_what_made_it(maskscope, tmp_path):
    words = ("figure", "prefix", "--text", "The <b> & cat", "--prefix", "2", "--layer", "2")
    assert maskscope(*words, "--head", "1", "--title", "Mine", "a.svg").code == 0
    said = texts(tmp_path / "a.svg")
    assert said[0] == "Mine"
    assert said.count("cat") == 2
    told = parameters(tmp_path / "a.svg")
    assert told["model"] == "prefix"
    assert told["text"] == "The <b> & cat"
    assert told["prefix"] == "2"
    assert told["head"] == "decoder layer 2, head 1"


@pytest.mark.parametrize("view", ["mask", "attention", "heads", "flow", "steps", "stages"])
def test_every_view_of_a_run_says_what_made_it(maskscope, tmp_path, view):
    words = ("--text", TEXT, "--left-pad", "2", "--past", "3", "--window", "4")
    assert maskscope("figure", "decoder", *words, "--view", view, "a.svg").code == 0
    told = parameters(tmp_path / "a.svg")
    expected = {"view": view, "model": "decoder", "engine": "torch", "text": TEXT}
    expected |= {"mask": "causal", "left pad": "2", "past": "3", "window": "4"}
    assert told.items() >= expected.items()
    assert (told.get("sampling") == "greedy") == (view == "steps")


def test_an_encoder_decoder_has_three_stacks(maskscope, tmp_path):
    words = ("figure", "encdec", "--text", "Tom lost his <extra_id_0>.", "--target", "<extra_id_0>")
    assert maskscope(*words, "--view", "heads", "a.svg").code == 0
    assert {"Encoder", "Decoder", "Cross"} <= set(texts(tmp_path / "a.svg"))
    assert maskscope(*words, "--stack", "cross", "b.svg").code == 0
    assert parameters(tmp_path / "b.svg")["mask"] == "cross"
    assert {"<extra_id_0>", "Tom"} <= set(texts(tmp_path / "b.svg"))


def test_steps_are_those_that_are_generated(maskscope, tmp_path):
    words = ("--text", TEXT, "--max-new-tokens", "3")
    said = json.loads(maskscope("generate", "decoder", *words, "--json").out)
    assert maskscope("figure", "decoder", *words, "--view", "steps", "a.svg").code == 0
    drawn = " ".join(texts(tmp_path / "a.svg"))
    for number, step in enumerate(said["steps"], start=1):
        assert f"{number}  {step['token'][:4]}" in drawn
    labels = [e for e in ET.parse(tmp_path / "a.svg").iter(f"{SVG}text") if e.get("transform")]
    bold = [e.text for e in labels if e.get("font-weight") == "bold"]
    assert bold[-2:] == [step["token"] for step in said["steps"][:2]]
    assert parameters(tmp_path / "a.svg")["prompt"] == "8"


@pytest.mark.parametrize(
    "words",
    [
        ("--window", "1"),
        ("--position", "2", "--method", "value-norm"),
        ("--position", "5", "--method", "gradient", "--left-pad", "2"),
    ],
)
def test_flow_is_that_of_the_position_and_the_method(maskscope, tmp_path, words):
    method = words[3] if "--method" in words else "rollout"
    read = ("decoder", "--text", TEXT, *words)
    said = json.loads(maskscope("flow", *read, "--json").out)
    assert maskscope("figure", *read, "--view", "flow", "a.svg").code == 0
    told, drawn = parameters(tmp_path / "a.svg"), texts(tmp_path / "a.svg")
    assert (told["output"], told["shares"]) == (f"column {said['position']}", method)
    assert told["layers"] == str(said["layer"])
    assert " ".join(drawn).startswith(f"What made column {said['position']} ")
    assert f"by {method}" in told["finding"]
    (stack,) = said["stacks"]
    sign = "+" if min(stack[method][0]) < 0 else ""
    shares = [
        f"{share:{sign}.3f}".replace("-", "−") if share else "0" for share in stack[method][0]
    ]
    assert [text for text in drawn if text in shares][: len(shares)] == shares
    fills = [path.get("fill") for path in ET.parse(tmp_path / "a.svg").iter(f"{SVG}path")]
    assert fills.count("#1e2330") == np.sum(stack["reach"]) + 1  # The last is the key's.


def test_flow_through_an_encoder_decoder_says_where_its_tokens_stand(maskscope, tmp_path):
    words = ("--text", "Tom <extra_id_0>.", "--target", "<extra_id_0> ran", "--view", "flow")
    assert maskscope("figure", "encdec", *words, "a.svg").code == 0
    drawn = texts(tmp_path / "a.svg")
    assert (drawn.count("Tom"), drawn.count("ran")) == (1, 2)  # A source makes no output.
    assert "decoder layers, by rollout" in parameters(tmp_path / "a.svg")["finding"]


def test_flow_looks_through_as_many_layers_as_it_is_told(maskscope, tmp_path):
    words = ("figure", "decoder", "--text", TEXT, "--view", "flow")
    for name, layer in (("all", ()), ("two", ("--layer", "2")), ("one", ("--layer", "1"))):
        assert maskscope(*words, *layer, f"{name}.svg").code == 0
    whole, two, one = ((tmp_path / f"{name}.svg").read_bytes() for name in ("all", "two", "one"))
    assert whole == two != one
    assert "L2" in texts(tmp_path / "two.svg")
    assert "L2" not in texts(tmp_path / "one.svg")


def test_a_report_is_what_the_checks_say(maskscope, tmp_path):
    words = ("--text", TEXT, "--window", "3")
    said = json.loads(maskscope("check", "decoder", *words, "--json").out)
    assert maskscope("figure", "decoder", *words, "--view", "report", "a.svg").code == 0
    told = parameters(tmp_path / "a.svg")
    assert (told["model"], told["mask"]) == ("decoder", said["mask"])
    assert (told["engine"], told["text"]) == ("torch", TEXT)
    drawn = texts(tmp_path / "a.svg")
    assert {check["name"] for check in said["checks"]} <= set(drawn)
    assert f"“{TEXT}”" in drawn
    assert drawn[0].startswith(f"decoder on torch, {said['mask']}")
    words = ("--text", "Tom <extra_id_0>.", "--target", "<extra_id_0> ran", "--view", "report")
    assert maskscope("figure", "encdec", *words, "b.svg").code == 0
    assert parameters(tmp_path / "b.svg")["text"] == "Tom <extra_id_0>. → <extra_id_0> ran"


def test_a_difference_is_that_of_the_pair_and_the_head(maskscope, tmp_path):
    words = ("figure", "decoder", "--text", TEXT, "--view", "difference", "--width", "7in")
    assert maskscope(*words, "--pair", "causal-prefix", "--layer", "2", "a.svg").code == 0
    told = parameters(tmp_path / "a.svg")
    assert (told["A"], told["B"]) == ("causal", "prefix 4")
    assert (told["model"], told["text"], told["engine"]) == ("unified", TEXT, "torch")
    assert (told["A mask"], told["B mask"], told["B prefix"]) == ("causal", "prefix", "4")
    assert told["head"] == "decoder layer 2, head 1"
    assert "part first in decoder layer 1" in told["finding"]
    drawn = texts(tmp_path / "a.svg")
    assert {"causal", "prefix 4", "causal − prefix 4", "in the future"} <= set(drawn)


def test_stages_are_those_of_the_head_and_the_query(maskscope, tmp_path):
    words = ("--text", TEXT, "--layer", "2", "--head", "2")
    view = ("--view", "stages", "--preset", "two-column")
    for query in ((), ("--query", "3")):
        said = json.loads(maskscope("stages", "decoder", *words, *query, "--json").out)
        assert maskscope("figure", "decoder", *words, *view, *query, "a.svg").code == 0
        told = parameters(tmp_path / "a.svg")
        assert (told["query"], told["head"]) == (str(said["query"]), "decoder layer 2, head 2")
        drawn = " ".join(texts(tmp_path / "a.svg"))
        for step in ("keys", "scores", "scaled", "masked", "softmax", "output"):
            assert said["equation"][step] == told[f"query {step}"]
            assert said["equation"][step] in drawn


def test_objectives_are_those_of_the_objective_and_the_seed(maskscope, tmp_path):
    for model, words in (
        ("decoder", ("--objective", "clm")),
        ("encoder", ("--objective", "mlm", "--seed", "4")),
        ("encdec", ("--objective", "denoise", "--noise", "deletion")),
        ("prefix", ("--objective", "prefix", "--prefix", "3", "--shift", "none")),
    ):
        said = json.loads(maskscope("objectives", model, "--text", TEXT, *words, "--json").out)
        view = ("--text", TEXT, "--view", "objectives", *words)
        assert maskscope("figure", model, *view, "a.svg").code == 0
        drawn, told = texts(tmp_path / "a.svg"), parameters(tmp_path / "a.svg")
        losses = [f"{loss:.2f}" for loss in said["loss"] if loss is not None]
        assert [text for text in drawn if text in losses][: len(losses)] == losses
        assert told["positions with loss"] == str(said["denominator"])
        assert told["mask"] == said["mask_kind"]
        for token in (*said["inputs"], *filter(None, said["targets"]), *said["source"]):
            assert token in drawn


def test_embeddings_are_those_of_the_texts_and_the_mask(maskscope, tmp_path):
    words = ("--text", TEXT, "--text", "A dog <b> ran & ran.")
    for mask in ((), ("--mask", "bidirectional")):
        said = json.loads(maskscope("embeddings", "unified", *words, *mask, "--json").out)
        view = (*words, *mask, "--view", "embeddings")
        assert maskscope("figure", "unified", *view, "a.svg").code == 0
        drawn, told = texts(tmp_path / "a.svg"), parameters(tmp_path / "a.svg")
        assert told["mask"] == said["mask_kind"]
        for values in said["similarity"].values():
            assert f"{values[0][1]:.2f}".replace("-", "−") in drawn
        assert set(said["sentences"]) <= set(drawn)


def test_a_cost_is_that_of_the_model_and_the_sizes(maskscope, tmp_path):
    words = ("--length", "256", "--batch", "2", "--generate", "64")
    said = json.loads(maskscope("cost", "decoder", *words, "--json").out)
    view = ("--view", "cost", *words, "--quantity", "generation_flops", "--against", "P")
    assert maskscope("figure", "decoder", *view, "a.svg").code == 0
    drawn, told = texts(tmp_path / "a.svg"), parameters(tmp_path / "a.svg")
    assert {"prefill", "decode", "total", "prompt tokens, P", "256"} <= set(drawn)
    assert told["marked"] == "256"
    formulas = [one for one in said["formulas"] if one["quantity"] == "generation_flops"]
    assert formulas
    for one in formulas:
        assert told[one["name"]] == f"{one['formula']} = {one['substituted']}"


def test_a_cost_says_which_sizes_do_not_grow(maskscope, tmp_path):
    view = ("figure", "encdec", "--view", "cost", "--against", "T")
    for words, source in (((), "512"), (("--source", "64"), "64"), (("--length", "32"), "32")):
        assert maskscope(*view, *words, "a.svg").code == 0
        said = f"fixed: batch rows B = 1, source tokens S = {source}"
        assert said in texts(tmp_path / "a.svg")
        assert f"S = {source}," in parameters(tmp_path / "a.svg")["sizes"]
    assert maskscope(*view[:-1], "S", "--batch", "3", "a.svg").code == 0
    assert "fixed: batch rows B = 3, tokens of the pass T = 512" in texts(tmp_path / "a.svg")
    view = ("--view", "cost", "--quantity", "parameters", "a.svg")
    assert maskscope("figure", "decoder", *view).code == 0
    assert not any(text.startswith("fixed") for text in texts(tmp_path / "a.svg"))


@pytest.mark.parametrize(
    ("size", "points"),
    [("3.5in", 252.0), ("89mm", 89 / 25.4 * 72), ("400pt", 400.0), ("1200px", 1200 * 72 / 150)],
)
def test_sizes_are_exact(maskscope, tmp_path, size, points):
    words = ("figure", "decoder", "--text", TEXT, "--view", "mask", "--width", size)
    dpi = ("--dpi", "150")
    assert maskscope(*words, *(dpi if "px" in size else ()), "a.svg").code == 0
    assert maskscope(*words, *dpi, "a.png").code == 0
    wide = ET.parse(tmp_path / "a.svg").getroot().get("width")
    assert float(wide.removesuffix("pt")) == pytest.approx(points, abs=1e-3)
    image = QImage(str(tmp_path / "a.png"))
    assert image.width() == round(points * 150 / 72)
    assert round(image.dotsPerMeterX() * 0.0254) == 150


def test_the_look_can_be_chosen(maskscope, tmp_path):
    words = ("figure", "decoder", "--text", TEXT, "--preset", "slide", "--map", "grey")
    plain = ("--no-labels", "--no-colour-bar", "--transparent")
    assert maskscope(*words, *plain, "a.svg").code == 0
    root = ET.parse(tmp_path / "a.svg").getroot()
    assert (root.get("width"), root.get("height")) == ("960pt", "540pt")
    assert not list(root.iter(f"{SVG}rect"))
    assert texts(tmp_path / "a.svg") == ["key", "query", "in the future"]
    cells = [e.get("fill") for e in root.iter(f"{SVG}path") if e.get("class") == "cells"]
    channels = np.array([[int(c[n : n + 2], 16) for n in (1, 3, 5)] for c in cells])
    assert np.ptp(channels, axis=1).max() < 24


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("a.gif",), "a.gif must end in .svg, .pdf or .png"),
        (("a",), "a must end in .svg, .pdf or .png"),
        (("no/a.svg",), "there is no folder no"),
        (("--layer", "3", "a.svg"), "layer is 3, but must be between 1 and 2."),
        (("--head", "9", "a.svg"), "head is 9, but must be between 1 and 2."),
        (("--layer", "0", "a.svg"), "--layer: '0' is not a whole number of 1 or more"),
        (("--dpi", "20", "a.png"), "--dpi: '20' is not a whole number from 72 to 1,200"),
        (("--width", "wide", "a.svg"), "'wide' is not a length such as 3.5in"),
        (("--width", "1mm", "a.svg"), "width is 2.835 pt (1 mm), but must be between 36"),
        (("--height", "13mm", "a.svg"), "this figure needs at least"),
        (("--stack", "cross", "a.svg"), "stack is cross, but decoder has only the decoder."),
        (("--map", "jet", "a.svg"), "jet"),
        (("--view", "flow", "--position", "8", "a.svg"), "position is 8, but must be between 0"),
        (("--view", "difference", "a.svg"), "--view difference needs --pair"),
        (("--pair", "cache", "a.svg"), "--pair needs --view difference"),
        (("--view", "stages", "--query", "8", "a.svg"), "query is 8, but must be between 0 and 7."),
        (("--query", "2", "a.svg"), "--query needs --view stages"),
        (("--seed", "2", "a.svg"), "--seed needs --view objectives"),
        (("--max-new-tokens", "3", "a.svg"), "--max-new-tokens needs --view steps"),
        (("--view", "objectives", "a.svg"), "--view objectives needs --objective"),
        (
            ("--view", "objectives", "--objective", "mlm", "--shift", "none", "a.svg"),
            "shift is none, but must be right",
        ),
        (
            ("--view", "objectives", "--objective", "clm", "--left-pad", "2", "a.svg"),
            "--left-pad is given, but --view objectives has no use for it",
        ),
        (("--view", "mask", "--layer", "1", "a.svg"), "--layer is given, but --view mask has no"),
        (("--view", "heads", "--head", "1", "a.svg"), "--head is given, but --view heads has no"),
        (("--view", "flow", "--head", "1", "a.svg"), "--head is given, but --view flow has no"),
        (("--view", "flow", "--layer", "3", "a.svg"), "layer is 3, but must be between 1 and 2"),
        (("--view", "report", "--stack", "decoder", "a.svg"), "--stack is given, but --view"),
        (("--view", "report", "--past", "1", "a.svg"), "--past is given, but --view report"),
        (
            ("--view", "report", "--map", "grey", "a.svg"),
            "--map is given, but --view report has no",
        ),
        (("--view", "report", "--no-labels", "a.svg"), "--no-labels is given, but --view report"),
        (("--view", "mask", "--no-colour-bar", "a.svg"), "--no-colour-bar is given, but --view"),
        (("--view", "flow", "--map", "even", "a.svg"), "--map is given, but --view flow has no"),
        (("--dpi", "300", "a.svg"), "--dpi is given, but a.svg has no pixels and no size is in px"),
        (("--width", "-3in", "a.svg"), "--width: a value is missing; one that begins with -"),
        (("--view", "embeddings", "a.svg"), "There is 1 sentence"),
        (("--view", "cost", "a.svg"), "--text is given, but --view cost has no use for it"),
    ],
)
def test_what_cannot_be_is_refused_before_the_file_is_touched(refused, tmp_path, words, sentence):
    for name in ("a.svg", "a.png", "a.gif"):
        (tmp_path / name).write_bytes(b"kept")
    assert sentence in refused("figure", "decoder", "--text", TEXT, *words)
    assert {path.read_bytes() for path in tmp_path.glob("a.*")} == {b"kept"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--quantity", "cross_cache_bytes"), "quantity is cross_cache_bytes, but must be one of"),
        (("--against", "G"), "against is G, but must be T or B for flops."),
        (("--against", "W"), "against is W, but must be T or B for flops."),
        (("--against", "TB"), "against is TB, but must be T or B for flops."),
        (("--source", "9"), "--source is given, but only an encoder-decoder reads one"),
        (("--length", "0"), "--length: '0' is not a whole number of 1 or more"),
        (("--no-labels",), "--no-labels is given, but --view cost has no use for it"),
        (("--window", "3"), "--window is given, but --view cost has no use for it"),
    ],
)
def test_a_cost_that_cannot_be_is_refused(refused, words, sentence):
    assert sentence in refused("figure", "decoder", "--view", "cost", *words, "a.svg")


@pytest.mark.parametrize("option", [("--map", "grey"), ("--no-labels",), ("--no-colour-bar",)])
@pytest.mark.parametrize("view", VIEWS)
def test_a_look_changes_the_figure_or_is_refused(maskscope, tmp_path, view, option):
    words = ("figure", "decoder", "--view", view, *OF_A_VIEW.get(view, READ))
    assert maskscope(*words, "a.svg").code == 0
    plain = (tmp_path / "a.svg").read_bytes()
    outcome = maskscope(*words, *option, "a.svg")
    if outcome.code:
        assert f"{option[0]} is given, but --view {view} has no use for it" in outcome.err
    assert (outcome.code == 2) == ((tmp_path / "a.svg").read_bytes() == plain)


@pytest.mark.parametrize("name", ["a.svg", "a.pdf"])
def test_a_resolution_needs_pixels(refused, maskscope, name):
    words = ("figure", "decoder", "--text", TEXT, "--view", "mask", "--dpi", "150")
    sentence = f"--dpi is given, but {name} has no pixels and no size is in px; leave it out."
    assert sentence in refused(*words, name)
    assert sentence in refused(*words, "--width", "3in", name)
    assert maskscope(*words, "--height", "400px", name).code == 0


def test_embeddings_have_two_masks(refused):
    words = ("--text", TEXT, "--text", TEXT, "--mask", "prefix", "--view", "embeddings")
    assert "mask is prefix, but must be causal or" in refused("figure", "unified", *words, "a.svg")


def test_what_does_not_generate_has_no_steps(refused):
    steps = ("--text", "a [MASK]", "--view", "steps", "a.svg")
    assert "An encoder cannot generate" in refused("figure", "encoder", *steps)
    mask = ("--mask", "bidirectional")
    assert "A bidirectional mask cannot generate" in refused("figure", "unified", *mask, *steps)
    stack = ("--stack", "encoder")
    assert "steps are drawn of a decoder" in refused("figure", "encdec", *stack, *steps)


def test_a_file_that_cannot_be_written_keeps_the_old(maskscope, tmp_path, monkeypatch):
    (tmp_path / "a.svg").write_bytes(b"kept")

    def full(*given):
        raise OSError(28, "No space left on device", "a.svg")

    monkeypatch.setattr("core.atomic.os.replace", full)
    outcome = maskscope("figure", "decoder", "--text", TEXT, "--view", "mask", "a.svg")
    assert outcome.code == 2
    assert outcome.err == "maskscope: a.svg cannot be written: No space left on device.\n"
    assert (tmp_path / "a.svg").read_bytes() == b"kept"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["a.svg"]
