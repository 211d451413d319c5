"""The five bundled models keep what their cards promise.

`held_out.npz` holds the token ids of 24 held-out documents, half of them from public-domain
books; `python -m core.train held-out` wrote it, and `--evaluate` the figures in the cards.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from core.checkpoints import bundled
from core.checkpoints.cards import card, folder_of, names, raw_card
from core.train.corpus import TokenisedCorpus
from core.train.evaluate import check_name, figure
from core.train.recipes import RECIPES
from core.types import ModelCard

HELD = TokenisedCorpus.load(Path(__file__).parent / "held_out.npz")
FIVE = ("encoder", "decoder", "prefix", "encdec", "unified")
bundled_models = pytest.mark.parametrize("name", names())


def test_there_are_five_models_in_the_order_in_which_they_are_shown() -> None:
    assert names() == FIVE


@bundled_models
def test_a_figure_of_the_card_comes_out_again(name: str) -> None:
    model, figures = bundled.load(name), card(name).figures
    for objective in RECIPES[name].objectives:
        again = figure(model, objective, HELD)
        assert figures[check_name(objective)] == pytest.approx(again, abs=1e-3)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("decoder", "causal_perplexity_ratio"),
        ("unified", "causal_perplexity_ratio"),
        ("prefix", "prefix_perplexity_ratio"),
    ],
)
def test_a_model_is_less_surprised_than_a_trigram_model(name: str, key: str) -> None:
    assert 0 < card(name).figures[key] <= 0.8


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("encoder", "masked_top1_ratio"),
        ("unified", "masked_top1_ratio"),
        ("encdec", "spans_top1_ratio"),
    ],
)
def test_a_model_fills_gaps_better_than_counting_does(name: str, key: str) -> None:
    assert card(name).figures[key] >= 1.3


@bundled_models
def test_a_model_is_small_and_says_how_it_was_made(name: str) -> None:
    weights = folder_of(name) / bundled.WEIGHTS
    assert weights.stat().st_size <= 5_000_000
    plain = raw_card(name)
    assert plain["command"].startswith(f"python -m core.train {name} --corpus CORPUS")
    assert " /" not in plain["command"]
    assert plain["tokens_seen"] > 0
    assert plain["licence"] == "Apache-2.0"
    assert plain["objectives"] == [o.value for o in RECIPES[name].objectives]


@bundled_models
def test_a_card_describes_the_model_beside_it(name: str) -> None:
    model, config = bundled.load(name), RECIPES[name].config
    assert model.config == config
    assert card(name) == ModelCard(
        name=name,
        title=RECIPES[name].title,
        family=config.family,
        parameters=sum(p.numel() for p in model.parameters()),
        layers=config.layers,
        encoder_layers=config.encoder_layers,
        heads=config.heads,
        width=config.width,
        vocabulary=config.vocabulary,
        positions=config.positions,
        kinds=config.kinds,
        figures=raw_card(name)["figures"],
    )


def test_the_held_out_documents_are_half_stories_and_half_real() -> None:
    assert (len(HELD), int(HELD.real.sum())) == (24, 12)
