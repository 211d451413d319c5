from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.checkpoints import bundled
from core.checkpoints.cards import raw_card
from core.model.config import ModelConfig
from core.model.transformer import Transformer, initialise
from core.run.objectives import inputs_of
from core.text.objectives import Example, causal, corrupt_spans, prefix_lm, span_corruption
from core.text.special import BOS, EOS, FIRST_PIECE, FIRST_SENTINEL, MASK, sentinel
from core.text.tokenizer import VOCABULARY
from core.train.__main__ import main
from core.train.baselines import Neighbours
from core.train.corpus import TokenisedCorpus, grammar_documents
from core.train.evaluate import (
    Judge,
    all_masked,
    check_name,
    excerpt,
    figure,
    held_out,
    hits,
    judged,
    nats,
    restored,
)
from core.train.recipes import KINDS, RECIPES, Objective, Recipe
from core.types import Family, MaskKind

objectives = pytest.mark.parametrize("objective", Objective)
FAMILIES = {
    Objective.MASKED: Family.ENCODER,
    Objective.CAUSAL: Family.DECODER,
    Objective.PREFIX: Family.PREFIX,
    Objective.SPANS: Family.ENCODER_DECODER,
}


def corpus(documents: int = 30, seed: int = 0) -> TokenisedCorpus:
    """Every third document a real one; forty words."""
    rng = np.random.default_rng(seed)
    rows = [
        [BOS, *rng.integers(30, 70, rng.integers(4, 30)).tolist(), EOS] for _ in range(documents)
    ]
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    tokens = np.array([i for row in rows for i in row], np.int16)
    return TokenisedCorpus(tokens, offsets, np.arange(documents) % 3 == 0)


def untrained(family: Family, kind: MaskKind = MaskKind.CAUSAL) -> Transformer:
    two = family is Family.ENCODER_DECODER
    config = ModelConfig(
        family,
        (kind,),
        vocabulary=VOCABULARY,
        width=8,
        layers=1,
        encoder_layers=1 if two else 0,
        heads=2,
        kv_heads=2,
        ffn=8,
        positions=64,
    )
    model = Transformer(config)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.3, generator=generator)
    return model.eval()


# -- spans


def test_cut_out_words_go_back_to_their_places() -> None:
    words = ["Thank", "you", "for", "inviting", "me", "to", "your", "party", "last", "week", "."]
    ids = np.array([BOS, *range(FIRST_PIECE, FIRST_PIECE + len(words)), EOS])
    sentinels = [sentinel(n) for n in range(3)]
    source, target = corrupt_spans(ids, [(3, 5), (9, 10)], sentinels, end=EOS)
    example = Example(np.concatenate(([BOS], target[:-1])), target, source)
    document, at = restored(example)
    assert document.tolist() == ids.tolist()
    assert [words[i - 1] for i in at] == ["for", "inviting", "last"]


@settings(deadline=None, max_examples=50)
@given(st.integers(2, 120), st.integers(0, 10_000))
def test_every_span_goes_back_to_its_place(length: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ids = np.array([BOS, *rng.integers(FIRST_PIECE, VOCABULARY, length), EOS])
    example = span_corruption(ids, rng)
    document, at = restored(example)
    assert document.tolist() == ids.tolist()
    labels = example.labels[judged(example, Objective.SPANS)]
    assert document[at].tolist() == labels.tolist()
    assert (labels >= FIRST_PIECE).all()
    assert len(labels) == max(1, round(0.15 * length))
    hidden = np.delete(document, at)
    kept = (example.source < FIRST_SENTINEL) | (example.source >= FIRST_PIECE)
    assert hidden.tolist() == example.source[kept].tolist()


# -- scores


@objectives
def test_scores_are_those_of_the_model_at_the_judged_labels(objective: Objective) -> None:
    """Once more token by token: the model, one softmax, one label."""
    model = untrained(FAMILIES[objective])
    example = next(iter(held_out(objective, corpus(), True)))
    if objective is Objective.SPANS:
        source = torch.from_numpy(example.source)[None]
        width = source.shape[1]
        places = torch.arange(width)[None]
        cache = model.encode(source, places, torch.ones(width, width, dtype=torch.bool))
        cross = torch.ones(len(example.inputs), width, dtype=torch.bool)
    else:
        cache = cross = None
    length = len(example.inputs)
    mask = torch.ones(length, length, dtype=torch.bool)
    if objective is not Objective.MASKED:
        mask = mask.tril()
        mask[: example.prefix, : example.prefix] = True
    ids = torch.from_numpy(example.inputs)[None]
    with torch.inference_mode():
        odds = model(ids, torch.arange(length)[None], mask, cache, cross)[0].softmax(-1)
    surprise, right = [], []
    for at, label in enumerate(example.labels.tolist()):
        is_sentinel = FIRST_SENTINEL <= label < FIRST_PIECE
        end = label == EOS and objective is Objective.SPANS
        if label >= 0 and not is_sentinel and not end:
            surprise.append(-np.log(odds[at, label].item()))
            right.append(float(odds[at].argmax() == label))
    assert nats(model, example, objective) == pytest.approx(surprise, abs=1e-4)
    assert hits(model, example, objective).tolist() == right


def test_inputs_of_an_example_are_its_rows_under_the_mask() -> None:
    ids = np.array([BOS, 40, 41, 42, EOS])
    prefix = inputs_of(prefix_lm(ids, 2), MaskKind.PREFIX)
    assert (prefix.mask.kind, prefix.mask.prefix) == (MaskKind.PREFIX, 2)
    assert prefix.rows == ((BOS, 40, 41, 42, EOS),)
    assert inputs_of(causal(ids), MaskKind.CAUSAL).source == ()
    pair = inputs_of(span_corruption(ids, np.random.default_rng(0)), MaskKind.DECODER_SELF)
    assert pair.cross_mask is not None
    assert pair.cross_mask.source == len(pair.source[0])


@objectives
def test_held_out_examples_are_always_the_same(objective: Objective) -> None:
    def rows() -> list[list[int]]:
        examples = held_out(objective, corpus(), real=False)
        return [[*e.inputs.tolist(), *e.source.tolist(), e.prefix] for e in examples]

    assert rows() == rows()
    assert len(rows()) > 10


def test_the_judge_masks_fifteen_percent_and_only_text() -> None:
    ids = np.array([BOS, *range(30, 2030), EOS])
    example = all_masked(ids, np.random.default_rng(0))
    chosen = example.loss_mask
    assert chosen.mean() == pytest.approx(0.15, abs=0.03)
    assert (example.inputs[chosen] == MASK).all()
    assert (example.labels[chosen] == ids[chosen]).all()
    assert (example.inputs[~chosen] == ids[~chosen]).all()
    assert not chosen[[0, -1]].any()


def test_a_prefix_is_the_first_third_of_a_held_out_document() -> None:
    held = corpus()
    prefixes = [e.prefix for e in held_out(Objective.PREFIX, held, real=True)]
    assert prefixes == [int(n) // 3 for n in held.only(real=True).lengths()]


# -- figures


def recipe_of(*objectives: Objective) -> Recipe:
    model = untrained(FAMILIES[objectives[0]])
    return Recipe("tiny", "Tiny", model.config, objectives)


@objectives
def test_figures_of_an_untrained_model_are_finite_and_poor(objective: Objective) -> None:
    judge, recipe = Judge(corpus(60), corpus(30, seed=1)), recipe_of(objective)
    figures = judge.figures(untrained(FAMILIES[objective]), recipe)
    name = objective.name.lower()
    unit, rival = "top1", "trigram"
    if objective in (Objective.CAUSAL, Objective.PREFIX):
        unit = "nats"
    if objective is Objective.MASKED:
        rival = "neighbours"
    expected = {check_name(objective)}
    for part in ("grammar", "real", "mixed"):
        expected |= {f"{name}_{part}_{unit}", f"{name}_{part}_{rival}_{unit}"}
    ratio = f"{name}_perplexity_ratio" if unit == "nats" else f"{name}_top1_ratio"
    assert figures.keys() == expected | {ratio}
    assert np.isfinite(list(figures.values())).all()
    assert figures[check_name(objective)] > 3
    assert figures[ratio] > 1 if unit == "nats" else figures[ratio] < 1
    assert all(value == round(value, 4) for value in figures.values())


def test_mixed_figures_weigh_every_token_and_the_ratio_is_of_perplexities() -> None:
    held = corpus(30, seed=1)
    model, recipe = untrained(Family.DECODER), recipe_of(Objective.CAUSAL)
    figures = Judge(corpus(60), held).figures(model, recipe)
    sizes = {real: (held.only(real=real).lengths() - 1).sum() for real in (False, True)}
    for owner in ("", "trigram_"):
        parts = {real: f"causal_{'real' if real else 'grammar'}_{owner}nats" for real in sizes}
        total = sum(figures[parts[real]] * size for real, size in sizes.items())
        mixed = figures[f"causal_mixed_{owner}nats"]
        assert mixed == pytest.approx(total / sum(sizes.values()), abs=2e-4)
    apart = figures["causal_mixed_nats"] - figures["causal_mixed_trigram_nats"]
    assert figures["causal_perplexity_ratio"] == pytest.approx(np.exp(apart), rel=1e-3)


def test_two_judges_agree() -> None:
    recipe = recipe_of(Objective.MASKED, Objective.CAUSAL)
    model = untrained(Family.ENCODER)
    first, second = (Judge(corpus(60), corpus(30, seed=1)).figures(model, recipe) for _ in range(2))
    assert first == second


def test_the_counting_model_reads_the_row_that_the_encoder_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A neighbour behind [MASK] is unknown, not looked up in the document."""
    asked: list[tuple[int | None, int | None]] = []
    predict = Neighbours.predict

    def recorded(self: Neighbours, left: int | None, right: int | None) -> int:
        asked.append((left, right))
        return predict(self, left, right)

    monkeypatch.setattr(Neighbours, "predict", recorded)
    held, model = corpus(60, seed=1), untrained(Family.ENCODER)
    Judge(corpus(60), held).figures(model, recipe_of(Objective.MASKED))
    expected = []
    for real in (False, True):
        for example in held_out(Objective.MASKED, held, real):
            row = [None if i == MASK else i for i in example.inputs.tolist()]
            at = np.flatnonzero(example.loss_mask)
            expected += [(row[i - 1], row[i + 1]) for i in at]
    assert asked == expected
    assert any(left is None for left, _ in asked)
    assert any(right is None for _, right in asked)


def fixed_texts(rng: np.random.Generator, documents: int = 30) -> TokenisedCorpus:
    """Ten words by chance, then always the same twenty: what a trigram model knows by heart."""
    tail = np.arange(100, 120)
    rows = [[BOS, *rng.integers(30, 90, 9), *tail, EOS] for _ in range(documents)]
    offsets = np.arange(documents + 1, dtype=np.int64) * 31
    return TokenisedCorpus(np.array(rows, np.int16).ravel(), offsets, np.arange(documents) % 2 == 0)


def test_the_counting_model_is_judged_where_the_model_is() -> None:
    """After the prefix, a third of the document, nearly all is known by heart; before, nothing."""
    rng = np.random.default_rng(0)
    judge = Judge(fixed_texts(rng), fixed_texts(rng))
    prefix, whole = (
        judge.figures(untrained(Family.PREFIX), recipe_of(objective))
        for objective in (Objective.PREFIX, Objective.CAUSAL)
    )
    assert prefix["prefix_mixed_trigram_nats"] < 0.5
    assert whole["causal_mixed_trigram_nats"] > 1.2
    spans = judge.figures(untrained(Family.ENCODER_DECODER), recipe_of(Objective.SPANS))
    assert spans["spans_mixed_trigram_top1"] == pytest.approx(20 / 29, abs=0.15)


@objectives
def test_a_figure_is_the_mean_over_all_judged_tokens(objective: Objective) -> None:
    held, model = corpus(9), untrained(FAMILIES[objective])
    values = []
    for real in (False, True):
        for example in held_out(objective, held, real):
            values += nats(model, example, objective).tolist()
    assert figure(model, objective, held) == pytest.approx(np.mean(values))


def test_an_excerpt_has_as_many_documents_of_each_part() -> None:
    held = corpus(100)
    few = excerpt(held)
    assert (few.real.sum(), (~few.real).sum()) == (12, 12)
    all_rows = [held.document(i).tolist() for i in range(100)]
    rows = [few.document(i).tolist() for i in range(24)]
    assert all(row in all_rows for row in rows)
    assert len({tuple(row) for row in rows}) == 24
    assert few.offsets[-1] == len(few.tokens)
    assert excerpt(few).tokens.tolist() == few.tokens.tolist()


# -- the command


@pytest.fixture
def threads_as_before() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one text of some thirty documents."""
    folder = tmp_path_factory.mktemp("texts")
    stories = [document.text for document in grammar_documents(60, seed=99)]
    (folder / "stories.txt").write_text("\n".join(stories), encoding="utf-8")
    return folder


@pytest.mark.usefixtures("threads_as_before")
def test_a_saved_model_is_judged_again_and_its_check_figure_comes_out_again(
    texts: Path, tmp_path: Path
) -> None:
    """The card of an older run names folders of its machine: the new one does not."""
    name, common = "decoder", ["--corpus", str(texts), "--stories", "30", "--out", str(tmp_path)]
    model = Transformer(RECIPES[name].config)
    initialise(model, 0)
    old = "python -m core.train decoder --corpus CORPUS --tokens 14e6 --out /a/b --resume /c"
    bundled.save(model, {"tokens_seen": 77, "command": old}, tmp_path / name)
    before = (tmp_path / name / bundled.WEIGHTS).read_bytes()
    assert main([name, *common, "--evaluate"]) == 0
    assert main(["held-out", *common]) == 0
    card = raw_card(name, tmp_path)
    assert (tmp_path / name / bundled.WEIGHTS).read_bytes() == before
    assert card["tokens_seen"] == 77
    assert card["command"] == (
        "python -m core.train decoder --corpus CORPUS --stories 20000 --tokens 14000000"
        " --real-share 0.35 --precision bfloat16"
    )
    assert str(tmp_path) not in json.dumps(card)
    held = TokenisedCorpus.load(tmp_path / "held_out.npz")
    again = figure(bundled.load(name, tmp_path), Objective.CAUSAL, held)
    assert card["figures"]["check_causal_nats"] == pytest.approx(again, abs=1e-4)
    assert card["figures"]["causal_perplexity_ratio"] > 1
    assert KINDS[Objective.CAUSAL].value in card["config"]["kinds"]


@pytest.mark.usefixtures("threads_as_before")
def test_what_is_judged_is_what_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights are stored in half precision, and a recipe starts with the model that it names."""
    started: list[list[Transformer]] = []

    def quick(recipe, corpus, budget, checkpoint, resume, begin) -> None:
        started.append(begin)
        assert (budget.tokens, budget.precision) == (5000, "bfloat16")
        model = Transformer(recipe.config)
        initialise(model, 0)
        with torch.no_grad():
            model.bias[40] = 257.1  # 257 in half precision
        checkpoint(model.eval(), 123)

    monkeypatch.setattr("core.train.__main__.train", quick)
    texts = corpus(60), corpus(30, seed=1)
    monkeypatch.setattr("core.train.__main__.prepare", lambda *_, **__: texts)
    for name in ("decoder", "prefix"):
        common = ["--corpus", "none", "--out", str(tmp_path), "--tokens", "5e3"]
        assert main([name, *common]) == 0
        card, stored = raw_card(name, tmp_path), bundled.load(name, tmp_path)
        for objective in RECIPES[name].objectives:
            again = figure(stored, objective, excerpt(texts[1]))
            assert card["figures"][check_name(objective)] == pytest.approx(again, abs=6e-5)
        assert card["tokens_seen"] == 123
        assert "--tokens 5000 " in card["command"]
    assert started[0] == []
    assert [model.config for model in started[1]] == [RECIPES["decoder"].config]
    assert raw_card("prefix", tmp_path)["start"] == ["decoder"]
