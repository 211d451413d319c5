"""What the window holds becomes figures: a report with its text, a flow with its edges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.figure_views import Shown, available, drawn
from app.figures import flow_of, made
from app.scene import Scene, request, scene
from app.state import initial
from core import paths
from core.figure.style import Style
from core.text.tokenizer import Tokenizer
from core.types import (
    Check,
    CheckJob,
    CheckReport,
    Family,
    FlowEdges,
    FlowMethod,
    FlowResult,
    FlowStack,
    GenerateRequest,
    HeadRef,
    RunRequest,
    Sampling,
    Stack,
    StepEvent,
    Verdict,
)
from core.types.figure import Curve, Figure, Polygon

WIDE = Style(width=600.0)


@pytest.fixture(scope="module")
def words() -> Tokenizer:
    return Tokenizer.load(paths.TOKENIZER)


@pytest.fixture
def read(words: Tokenizer) -> Scene:
    return scene(initial(Family.DECODER).with_row(text="The cat sat.", left_pad=1), words)


def test_a_report_is_drawn_with_the_text_that_was_checked(words: Tokenizer, read: Scene) -> None:
    run = RunRequest(0, "decoder", read.inputs, HeadRef(Stack.DECODER))
    check = Check("weights", Verdict.PASS, "Good.", 0.0, 0.0)
    report = CheckReport("decoder", "torch", "causal mask, 5 tokens", (check,))
    later = scene(initial(Family.DECODER).with_row(text="Something else."), words)
    asked = RunRequest(0, "decoder", later.inputs, HeadRef(Stack.DECODER))
    shown = Shown(words, later, asked, answers={"checks": report})
    assert "report" not in dict(available(shown))
    shown = replace(shown, jobs={"checks": CheckJob(0, run)})
    assert "report" in dict(available(shown))
    figure = drawn("report", shown, WIDE)
    assert "“The cat sat.”" in figure.texts()
    assert figure.parameters["text"] == "The cat sat."


def test_every_figure_says_what_made_it(words: Tokenizer) -> None:
    state = initial(Family.DECODER).with_row(text="The cat sat.", left_pad=1)
    state = replace(state, window=3, past=2, backend="onnx")
    read = scene(state, words)
    run = request(state, read)
    ids, shares = np.zeros(0, np.int32), np.zeros(0, np.float32)
    event = StepEvent(1, 0, 40, 1.0, ids, shares, np.ones(6, np.bool_), 7, 0, 0, 0.1, False)
    told = GenerateRequest(run, Sampling(0.8, top_k=5, seed=3))
    shown = Shown(words, read, run, generated=(read, told, (event,)))
    later = replace(shown, run=replace(run, model="other", backend="torch"))
    for name, seen in (("mask", shown), ("steps", shown), ("steps", later)):
        parameters = drawn(name, seen, WIDE).parameters
        expected = {"view": name, "model": "decoder", "engine": "ONNX Runtime"}
        expected |= {"text": "The cat sat."}
        expected |= {"mask": "causal", "window": "3", "left pad": "1", "past": "2"}
        assert parameters.items() >= expected.items()
    assert parameters["sampling"] == "temperature 0.8, top-k 5, seed 3"


def test_two_runs_say_what_they_share_and_what_each_has_alone(words: Tokenizer) -> None:
    state = initial(Family.DECODER).with_row(text="The cat sat.")
    one, other = (replace(state, window=window) for window in (None, 2))
    runs = [request(each, scene(each, words)) for each in (one, other)]
    figure = made(Figure(9.0, 9.0, ()), "difference", [runs[0], replace(runs[1], model="x")], words)
    told = figure.parameters
    assert (told["text"], told["mask"], told["engine"]) == ("The cat sat.", "causal", "torch")
    assert (told["A model"], told["B model"], told["B window"]) == ("decoder", "x", "2")
    assert not {"model", "window", "A window", "A mask"} & set(told)


def test_two_stacks_have_a_mask_each(words: Tokenizer) -> None:
    state = initial(Family.ENCODER_DECODER).with_row(text="Tom ran.", target="He", left_pad=2)
    told = made(Figure(9.0, 9.0, ()), "heads", [request(state, scene(state, words))], words)
    expected = {"text": "Tom ran.", "target": "He", "encoder left pad": "2"}
    expected |= {"encoder mask": "encoder-self", "decoder mask": "decoder-self"}
    assert told.parameters.items() >= expected.items()
    assert "decoder left pad" not in told.parameters


def flow_drawn(
    words: Tokenizer,
    read: Scene,
    shares: tuple[float, ...],
    unknown: FlowMethod = FlowMethod.VALUE_NORM,
) -> Figure:
    """One layer to the last column: a residual edge, and two heads that read it and the second."""
    count = len(read.inputs.rows[0])
    reach = np.zeros((2, count), np.bool_)
    reach[0, 1:] = reach[1, -1] = True
    own = np.full((2, count), 0.2, np.float32)
    last = count - 1
    edges = FlowEdges(
        stack=np.full(3, tuple(Stack).index(Stack.DECODER), np.int8),
        layer=np.zeros(3, np.int16),
        query=np.full(3, last, np.int32),
        key=np.array([last, last, 1], np.int32),
        head=np.array([-1, 0, 1], np.int16),
        rollout=np.array(shares, np.float32),
        value_norm=np.full(3, np.nan, np.float32),
    )
    stack = FlowStack(Stack.DECODER, reach, {FlowMethod.ROLLOUT: own})
    about = {
        "Values are not known.": FlowMethod.VALUE_NORM,
        "There is no gradient.": FlowMethod.GRADIENT,
    }
    result = FlowResult(1, last, 1, 30, (stack,), edges, tuple(about), about=about)
    method = unknown if np.isnan(shares[0]) else FlowMethod.ROLLOUT
    return flow_of(read, result, method, words, WIDE)


def test_what_passes_between_two_nodes_is_one_edge(words: Tokenizer, read: Scene) -> None:
    figure = flow_drawn(words, read, (0.5, 0.25, 0.15))
    thin, thick = (mark for mark in figure.marks if isinstance(mark, Curve))
    assert thick.width == pytest.approx(5 * thin.width)
    filled = sum(isinstance(mark, Polygon) for mark in figure.marks)
    assert filled == (len(read.inputs.rows[0]) - 1) + 1 + 1  # The last is the key's.
    said = "What made column 5 “.” through 1 layer, by rollout."
    assert figure.parameters["finding"] == said
    assert said in figure.texts()


def test_a_flow_that_is_not_known_says_why_and_has_no_edges(words: Tokenizer, read: Scene) -> None:
    figure = flow_drawn(words, read, (np.nan, np.nan, np.nan))
    assert figure.parameters["finding"].endswith("by value-norm. Values are not known.")
    assert not any(isinstance(mark, Curve) for mark in figure.marks)
    assert "share" not in figure.texts()
    figure = flow_drawn(words, read, (np.nan, np.nan, np.nan), FlowMethod.GRADIENT)
    said = "by gradient; edges by rollout. There is no gradient."
    assert figure.parameters["finding"].endswith(said)
