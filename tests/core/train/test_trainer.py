from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from core.model.config import ModelConfig
from core.model.transformer import Transformer, initialise, start_from
from core.text.special import BOS, EOS, FIRST_PIECE, FIRST_SENTINEL, MASK
from core.text.tokenizer import VOCABULARY
from core.train.batches import packed
from core.train.corpus import TokenisedCorpus
from core.train.recipes import KINDS, Objective, Recipe, example
from core.train.trainer import Budget, batch_loss, rate, train
from core.types import Family

FAMILIES = {
    Objective.MASKED: Family.ENCODER,
    Objective.CAUSAL: Family.DECODER,
    Objective.PREFIX: Family.PREFIX,
    Objective.SPANS: Family.ENCODER_DECODER,
}
PER_STEP = 4 * 32


def recipe_of(*objectives: Objective, **changes) -> Recipe:
    family = FAMILIES[objectives[0]]
    config = ModelConfig(
        family,
        tuple(KINDS[objective] for objective in objectives),
        vocabulary=VOCABULARY,
        width=16,
        layers=1,
        encoder_layers=1 if family is Family.ENCODER_DECODER else 0,
        heads=2,
        kv_heads=2,
        ffn=16,
        positions=40,
    )
    plain = Recipe(
        "tiny",
        "Tiny",
        config,
        objectives,
        peak_rate=0.02,
        warmup_steps=5,
        row_tokens=32,
        batch_rows=4,
    )
    return replace(plain, **changes)


def corpus() -> TokenisedCorpus:
    """Twelve real documents and twelve stories of twenty words, ten tokens each."""
    rng = np.random.default_rng(0)
    rows = [[BOS, *rng.integers(30, 50, 10).tolist(), EOS] for _ in range(24)]
    offsets = np.arange(25, dtype=np.int64) * 12
    tokens = np.array([i for row in rows for i in row], np.int16)
    return TokenisedCorpus(tokens, offsets, np.arange(24) < 12)


def ignore(model: Transformer, seen: int) -> None:
    pass


def budget(steps: int, **changes) -> Budget:
    return replace(Budget(steps * PER_STEP, precision="float32"), **changes)


def weights(model: Transformer) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


@pytest.mark.parametrize("objective", Objective)
def test_thirty_steps_lower_the_loss(objective: Objective) -> None:
    recipe, rng = recipe_of(objective), np.random.default_rng(1)
    text = corpus()
    documents = iter([text.document(i).astype(np.int64) for i in range(24)])
    make = partial(example, objective, rng=rng)
    batch = packed(documents, make, rows=2, width=32, positions=40, rng=rng)
    before = Transformer(recipe.config)
    initialise(before, recipe.seed)
    after = train(recipe, text, budget(30), ignore)
    assert not after.training
    with torch.inference_mode():
        losses = [batch_loss(model, batch, KINDS[objective]).item() for model in (before, after)]
    assert losses[0] == pytest.approx(np.log(VOCABULARY), abs=0.1)
    assert losses[1] < losses[0] - 2


def test_half_precision_trains_as_well() -> None:
    recipe = recipe_of(Objective.CAUSAL)
    one, other = (
        train(recipe, corpus(), budget(5, precision=precision), ignore)
        for precision in ("float32", "bfloat16")
    )
    apart = (weights(one) - weights(other)).abs()
    assert 0 < apart.mean() < 0.005
    assert {p.dtype for p in other.parameters()} == {torch.float32}


def test_the_same_recipe_gives_the_same_weights() -> None:
    recipe = recipe_of(Objective.MASKED, Objective.CAUSAL)
    once, again, other = (
        weights(train(replace(recipe, seed=seed), corpus(), budget(4), ignore))
        for seed in (1, 1, 2)
    )
    assert torch.equal(once, again)
    assert not torch.equal(once, other)


class Stopped(Exception):
    pass


def test_a_stopped_run_goes_on_at_the_next_step(tmp_path: Path) -> None:
    recipe, file = recipe_of(Objective.CAUSAL), tmp_path / "states" / "tiny.pt"
    often = budget(12, checkpoint_minutes=-1.0)
    seen: list[int] = []

    def stop_at(step: int, model: Transformer, tokens: int) -> None:
        seen.append(tokens // PER_STEP)
        if seen[-1] == step:
            raise Stopped

    with pytest.raises(Stopped):
        train(recipe, corpus(), often, partial(stop_at, 5), file)
    assert seen == [1, 2, 3, 4, 5]
    stored = torch.load(file, weights_only=True)
    assert stored["step"] == 5
    seen.clear()
    train(recipe, corpus(), often, partial(stop_at, 99), file)
    assert seen == [6, 7, 8, 9, 10, 11, 12]
    done = torch.load(file, weights_only=True)
    assert done["step"] == 12
    assert {int(state["step"]) for state in done["optimiser"]["state"].values()} == {12}


def test_a_run_that_is_done_is_read_and_not_run_again(tmp_path: Path) -> None:
    recipe, file = recipe_of(Objective.CAUSAL), tmp_path / "tiny.pt"
    done = train(recipe, corpus(), budget(3), ignore, file)

    def never(model: Transformer, tokens: int) -> None:
        raise AssertionError

    again = train(recipe, corpus(), budget(3), never, file)
    assert torch.equal(weights(done), weights(again))
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.pt"]


def test_the_last_step_is_always_stored() -> None:
    seen: list[int] = []
    train(recipe_of(Objective.CAUSAL), corpus(), budget(3), lambda model, n: seen.append(n))
    assert seen == [3 * PER_STEP]


def test_the_rate_rises_to_its_peak_and_falls_to_a_twentieth() -> None:
    recipe = recipe_of(Objective.CAUSAL, peak_rate=1.0, warmup_steps=10)
    rates = [rate(step, 110, recipe) for step in range(111)]
    assert rates[:10] == pytest.approx([(step + 1) / 10 for step in range(10)])
    assert rates[10] == pytest.approx(1.0)
    assert rates[60] == pytest.approx(0.05 + 0.95 / 2)
    assert rates[110] == pytest.approx(0.05)
    assert all(one > other for one, other in pairwise(rates[10:]))
    assert rate(500, 110, recipe) == pytest.approx(0.05)


def fresh(objective: Objective, seed: int) -> Transformer:
    model = Transformer(recipe_of(objective).config)
    initialise(model, seed)
    return model


def qkv(model: Transformer, stack: str = "body") -> torch.Tensor:
    return model.get_parameter(f"{stack}.blocks.0.attention.qkv.weight")


def test_a_model_begins_with_the_weights_that_another_has_too() -> None:
    source, model = fresh(Objective.CAUSAL, 1), fresh(Objective.MASKED, 2)
    start_from(model, source)
    ours, theirs = dict(model.named_parameters()), dict(source.named_parameters())
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    own = ours.keys() - theirs.keys()
    assert own == {name for name in ours if name.startswith("transform.")}
    before = dict(fresh(Objective.MASKED, 2).named_parameters())
    assert all(torch.equal(ours[name], before[name]) for name in own)
    assert qkv(model) is not qkv(source)


def test_an_encoder_decoder_begins_with_a_decoder_and_an_encoder() -> None:
    decoder, encoder = fresh(Objective.CAUSAL, 1), fresh(Objective.MASKED, 2)
    pair, before = fresh(Objective.SPANS, 3), fresh(Objective.SPANS, 3)
    start_from(pair, decoder, encoder)
    ours, theirs = pair.tokens.weight, encoder.tokens.weight
    text = slice(FIRST_PIECE, None)
    assert torch.equal(ours[:FIRST_SENTINEL], theirs[:FIRST_SENTINEL])
    assert torch.equal(ours[text], theirs[text])
    apart = (ours[FIRST_SENTINEL:FIRST_PIECE] - theirs[MASK]).std(dim=1)
    assert ((apart > 0.2 * theirs.std()) & (apart < theirs.std())).all()
    assert torch.equal(qkv(pair), qkv(decoder))
    assert torch.equal(qkv(pair, "encoder"), qkv(encoder))
    for name, weight in before.named_parameters():
        if "cross" in name:
            assert torch.equal(pair.get_parameter(name), weight)


def test_weights_of_another_size_are_left_alone() -> None:
    model, before = fresh(Objective.CAUSAL, 1), fresh(Objective.CAUSAL, 1)
    config = replace(model.config, width=8)
    start_from(model, Transformer(config))
    assert torch.equal(qkv(model), qkv(before))


def test_training_begins_where_the_other_model_stands() -> None:
    source = fresh(Objective.CAUSAL, 1)
    recipe = recipe_of(Objective.MASKED, peak_rate=1e-4)
    trained = train(recipe, corpus(), budget(1), ignore, begin=[source])
    apart = (trained.tokens.weight - source.tokens.weight).abs().max()
    assert 0 < apart < 1e-3
