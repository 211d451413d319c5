from __future__ import annotations

import numpy as np
import pytest

from core.checkpoints.cards import ORDER
from core.model.transformer import Transformer
from core.text.objectives import IGNORE
from core.text.special import BOS, EOS, FIRST_PIECE, MASK
from core.text.tokenizer import VOCABULARY
from core.train.recipes import KINDS, MASK_RATE, RECIPES, Objective, example
from core.types import Family, MaskKind

TEXT = np.concatenate(([BOS], np.arange(FIRST_PIECE, 2000), [EOS]))


def test_there_is_a_recipe_for_each_bundled_model() -> None:
    assert sorted(RECIPES) == sorted(ORDER)
    assert all(name == recipe.name for name, recipe in RECIPES.items())


@pytest.mark.parametrize("name", RECIPES)
def test_a_model_is_trained_under_the_masks_that_its_config_names(name: str) -> None:
    recipe = RECIPES[name]
    assert {KINDS[objective] for objective in recipe.objectives} == set(recipe.config.kinds)
    assert recipe.row_tokens <= recipe.config.positions
    assert recipe.config.vocabulary == VOCABULARY


@pytest.mark.parametrize("name", RECIPES)
def test_a_model_of_two_bytes_a_weight_stays_below_five_megabytes(name: str) -> None:
    model = Transformer(RECIPES[name].config)
    assert 2 * sum(p.numel() for p in model.parameters()) < 5e6


def test_every_model_can_be_trained_after_those_it_starts_from() -> None:
    trained: set[str | None] = {None}
    while ready := {
        name
        for name, recipe in RECIPES.items()
        if {recipe.start, recipe.start_encoder} <= trained and name not in trained
    }:
        trained |= ready
    assert trained == {None, *RECIPES}


def test_an_objective_reads_a_document_in_its_own_way() -> None:
    rng = np.random.default_rng(0)
    made = {objective: example(objective, TEXT, rng) for objective in Objective}
    masked, causal = made[Objective.MASKED], made[Objective.CAUSAL]
    prefix, spans = made[Objective.PREFIX], made[Objective.SPANS]
    share = masked.denominator / (len(TEXT) - 2)
    assert share == pytest.approx(MASK_RATE, abs=0.04)
    assert (masked.inputs[masked.loss_mask] == MASK).mean() == pytest.approx(0.8, abs=0.05)
    assert causal.labels.tolist() == [*TEXT[1:].tolist(), IGNORE]
    assert prefix.denominator == len(TEXT) - prefix.prefix
    assert len(spans.source) < len(TEXT)
    for objective, one in made.items():
        assert (len(one.source) > 0) == (objective is Objective.SPANS)
        assert (one.prefix > 0) == (objective is Objective.PREFIX)


def test_the_masks_of_the_objectives() -> None:
    assert KINDS == {
        Objective.MASKED: MaskKind.BIDIRECTIONAL,
        Objective.CAUSAL: MaskKind.CAUSAL,
        Objective.PREFIX: MaskKind.PREFIX,
        Objective.SPANS: MaskKind.DECODER_SELF,
    }
    families = {name: recipe.config.family for name, recipe in RECIPES.items()}
    assert families["encdec"] is Family.ENCODER_DECODER
    assert families["encoder"] is Family.ENCODER
