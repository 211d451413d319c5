"""What the instruments of training publish becomes figures that say what made them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.figure_views import VIEWS, Shown, available
from app.scene import request, scene
from app.sizes import sizes_of_model
from app.state import initial
from app.training_figures import CostShown
from core import paths
from core.figure.style import Style
from core.mask.intervals import row_intervals
from core.run.cost import cost, sweep
from core.run.embeddings import batch
from core.run.stages import HeadParts, made_of, softmax
from core.text.tokenizer import Tokenizer
from core.types import (
    EmbeddingsJob,
    EmbeddingsView,
    Family,
    HeadRef,
    MaskKind,
    Measured,
    MeasuredPoint,
    Noise,
    Objective,
    ObjectiveJob,
    ObjectiveView,
    Pooling,
    Quantity,
    RunRequest,
    Shift,
    Stack,
    Workload,
)

WIDE = Style(width=600.0)


@pytest.fixture(scope="module")
def words() -> Tokenizer:
    return Tokenizer.load(paths.TOKENIZER)


@pytest.fixture
def shown(words: Tokenizer) -> Shown:
    state = initial(Family.DECODER).with_row(text="The cat sat.", left_pad=1)
    read = scene(state, words)
    return Shown(words, read, request(state, read), query=3)


def run_of(shown: Shown) -> RunRequest:
    return RunRequest(0, "decoder", shown.scene.inputs, HeadRef(Stack.DECODER))


def test_nothing_is_offered_without_an_answer(shown: Shown) -> None:
    names = [name for name, _ in available(shown)]
    assert names == ["mask"]
    no_job = replace(shown, answers={"objectives": objective_view(), "embeddings": similar()})
    assert available(no_job) == available(shown)


def test_stages_are_drawn_with_the_query_of_their_own_stack(shown: Shown) -> None:
    mask = row_intervals(shown.scene.masks[Stack.DECODER], 0).dense()
    scaled = np.random.default_rng(0).normal(size=mask.shape).astype(np.float32)
    weights = softmax(np.where(mask, scaled, np.float32(-np.inf)))
    parts = HeadParts(scaled, mask, weights, None, 32, ("It hands out no values.",))
    made = made_of(parts, HeadRef(Stack.DECODER, 1, 2))
    with_answer = replace(shown, answers={"stages": made})
    assert "stages" in dict(available(with_answer))
    told = VIEWS["stages"].draw(with_answer, WIDE).parameters
    assert told["head"] == "decoder layer 2, head 3"
    assert told["query"] == "3"
    assert told["left pad"] == "1"
    assert told["notes"] == "It hands out no values."
    cross = replace(with_answer.run, head=HeadRef(Stack.CROSS))
    other = VIEWS["stages"].draw(replace(with_answer, run=cross), WIDE)
    assert "query" not in other.parameters


def objective_view() -> ObjectiveView:
    none = np.zeros(0, np.int32)
    targets = np.array([30, -100, 31], np.int32)
    loss = np.array([1.5, np.nan, 0.25], np.float32)
    return ObjectiveView(
        1,
        Objective.DENOISING,
        MaskKind.DECODER_SELF,
        inputs=np.array([1, 30, 31], np.int32),
        source=np.array([1, 3, 2], np.int32),
        targets=targets,
        loss=loss,
        top_ids=np.array([30, 31, 32], np.int32),
        top_probs=np.ones(3, np.float32),
        tokens=3,
        selectable=len(none),
        notes=("Trained otherwise.",),
    )


def test_an_objective_says_its_seed_its_shift_and_its_noise(shown: Shown, words: Tokenizer) -> None:
    view = objective_view()
    job = ObjectiveJob(
        0,
        run_of(shown),
        (1, 30, 31),
        Objective.DENOISING,
        seed=7,
        shift=Shift.NONE,
        noise=Noise.ROTATION,
    )
    given = replace(shown, answers={"objectives": view}, jobs={"objectives": job})
    figure = VIEWS["objectives"].draw(given, WIDE)
    told = figure.parameters
    assert (told["seed"], told["shift"], told["noise"]) == ("7", "none", "rotation")
    assert told["finding"] == view.sentence
    said = figure.texts()
    assert {"1.50", "0.25", "Trained otherwise."} <= set(said)
    assert {"<s>", "[MASK]", "</s>", words.label(30), words.label(31)} <= set(said)


def similar() -> EmbeddingsView:
    cosines = np.array([[1.0, 0.3], [0.3, 1.0]], np.float32)
    known = np.zeros((2, 0), np.float32)
    return EmbeddingsView(1, MaskKind.CAUSAL, dict.fromkeys(Pooling, cosines), known)


def test_embeddings_are_drawn_with_the_sentences_that_were_asked(
    shown: Shown, words: Tokenizer
) -> None:
    sentences = [(1, *words.encode(text)) for text in ("A cat sat.", "A big dog ran.")]
    inputs = batch(sentences, MaskKind.CAUSAL, Family.DECODER)
    run = replace(run_of(shown), inputs=inputs)
    given = replace(
        shown, answers={"embeddings": similar()}, jobs={"embeddings": EmbeddingsJob(0, run)}
    )
    said = VIEWS["embeddings"].draw(given, WIDE).texts()
    assert {"A cat sat.", "A big dog ran."} <= set(said)
    assert said.count("0.30") == 6 + 1  # The lowest stands at the bar too.


def test_a_cost_is_what_the_plot_shows(shown: Shown) -> None:
    found = cost(sizes_of_model("decoder"), Workload(12, generate=64))
    curves = sweep(found, Quantity.KV_CACHE_BYTES, "T")
    drawn = replace(shown, answers={"cost": CostShown(found, curves)})
    figure = VIEWS["cost"].draw(drawn, WIDE)
    assert figure.parameters["marked"] == "12"
    assert "T = 12" in figure.parameters["sizes"]
    assert {"tokens of the pass, T", "KV cache"} <= set(figure.texts())


@pytest.mark.parametrize("rates", [False, True])
def test_what_was_measured_is_drawn_instead(shown: Shown, rates: bool) -> None:
    found = cost(sizes_of_model("decoder"), Workload(12))
    points = tuple(MeasuredPoint(n, 1e-3 * n, 2e-3, 10**6 * n, 10**6) for n in (16, 64, 256))
    measured = Measured("decoder", "torch", "cpu", "float32", 1, 1, 3, points, ("A note.",))
    made = CostShown(found, sweep(found, Quantity.FLOPS, "T"), measured, rates)
    figure = VIEWS["cost"].draw(replace(shown, answers={"cost": made}), WIDE)
    said = set(figure.texts())
    assert {"prefill", "decode step", "tokens of the pass, T"} <= said
    assert ("prefill at its best rate" in said) is not rates
    assert figure.parameters["measured"] == measured.sentence()
    assert figure.parameters["notes"] == "A note."
    assert figure.parameters["unit"] == ("FLOP/s" if rates else "seconds")
