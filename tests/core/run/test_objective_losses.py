"""Loss under each objective: torch's cross entropy as the oracle, facts as numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from run_cases import MODELS, V, logits_of, request
from torch.nn import functional

from core.checkpoints import bundled
from core.paths import TOKENIZER
from core.run.cancel import Cancelled, CancelToken
from core.run.engine import Engine
from core.run.objectives import KINDS, SHIFTS, corrupted, inputs_of, objective
from core.run.surprise import cross_entropy
from core.text.objectives import IGNORE, masked_mean
from core.text.special import BOS, EOS, FIRST_PIECE, MASK, sentinel
from core.text.tokenizer import Tokenizer
from core.types import Family, MaskKind, Noise, Objective, ObjectiveJob, Shift

COMPUTED = [one for one in Objective if one is not Objective.REPLACED]
SHIFTED = [one for one in COMPUTED if one.is_shifted]
models = pytest.mark.parametrize("name", MODELS)
PAIRS = [(one, shift) for one in SHIFTED for shift in Shift] + [(Objective.MASKED, Shift.RIGHT)]
STORY = (
    "One day, Tom put his blue kite behind the door. When Tom came home, he looked behind the door."
)


def sentence(length: int, seed: int = 0) -> tuple[int, ...]:
    body = np.random.default_rng(seed).integers(FIRST_PIECE, V, length - 2).tolist()
    return (BOS, *body, EOS)


def job(name: str, asked: Objective, ids: tuple[int, ...] | None = None, **changes) -> ObjectiveJob:
    return ObjectiveJob(3, request(name), ids or sentence(12), asked, **changes)


def nats(engine: Engine, asked: ObjectiveJob) -> np.ndarray:
    """Torch's own cross entropy at every position, NaN where none is taken."""
    example = corrupted(asked, V)
    model = engine.model(asked.run.model, torch.device("cpu"), torch.float32)
    logits = logits_of(model, inputs_of(example, KINDS[asked.objective]))[0]
    labels = torch.from_numpy(example.labels)
    found = functional.cross_entropy(logits, labels, reduction="none", ignore_index=IGNORE)
    return torch.where(labels == IGNORE, torch.nan, found).numpy()


@models
@pytest.mark.parametrize(("asked", "shift"), PAIRS)
def test_the_loss_is_that_of_torch(engine, name, asked, shift) -> None:
    ask = job(name, asked, shift=shift, seed=5)
    seen = objective(engine, ask)
    two = MODELS[name][0] is Family.ENCODER_DECODER
    assert seen.is_computed == (two == asked.has_source)
    assert seen.kind is KINDS[asked]
    assert len(seen.source) == 0 or asked.has_source
    if not seen.is_computed:
        assert np.isnan(seen.loss).all()
        assert seen.mean is None
        assert "choose" in seen.notes[0]
        assert "no loss was computed" in seen.sentence
        return
    np.testing.assert_allclose(seen.loss, nats(engine, ask), rtol=1e-4, atol=1e-5)
    example = corrupted(ask, V)
    assert (np.isfinite(seen.loss) == example.loss_mask).all()
    assert seen.denominator == example.denominator
    assert seen.mean == pytest.approx(masked_mean(seen.loss, example.labels))
    assert f"/ {seen.denominator} positions = {seen.mean:.3f} nats" in seen.sentence


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 8), st.integers(0, 2**31), st.floats(0.1, 300.0))
def test_cross_entropy_is_that_of_torch_however_large_the_logits(rows, seed, scale) -> None:
    rng = np.random.default_rng(seed)
    logits = (rng.normal(size=(rows, V)) * scale).astype(np.float32)
    labels = rng.integers(0, V, rows)
    labels[rng.random(rows) < 0.3] = IGNORE
    wanted = functional.cross_entropy(
        torch.from_numpy(logits), torch.from_numpy(labels), reduction="none", ignore_index=IGNORE
    ).numpy()
    found = cross_entropy(logits, labels)
    assert (np.isnan(found) == (labels == IGNORE)).all()
    np.testing.assert_allclose(np.nan_to_num(found), wanted, rtol=1e-4, atol=1e-4)


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(COMPUTED), st.integers(6, 60), st.integers(0, 2**31))
def test_a_seed_says_it_all(asked, length, seed) -> None:
    ask = job("encoder", asked, sentence(length, seed), seed=seed)
    one, two = corrupted(ask, V), corrupted(ask, V)
    assert one.inputs.tolist() == two.inputs.tolist()
    assert one.source.tolist() == two.source.tolist()
    assert one.labels.tolist() == two.labels.tolist()


def test_another_seed_draws_again() -> None:
    drawn = {
        tuple(corrupted(job("encoder", Objective.MASKED, sentence(60), seed=n), V).labels)
        for n in range(8)
    }
    assert len(drawn) == 8


# -- facts


def test_512_tokens_teach_511_times_or_76_8_times() -> None:
    ids = tuple(np.random.default_rng(0).integers(FIRST_PIECE, V, 512).tolist())
    assert corrupted(job("decoder", Objective.CAUSAL, ids), V).denominator == 511
    counts = [
        corrupted(job("encoder", Objective.MASKED, ids, seed=n), V).denominator for n in range(600)
    ]
    assert np.mean(counts) == pytest.approx(76.8, abs=1.0)
    assert 511 / np.mean(counts) == pytest.approx(6.65, abs=0.1)
    prefix = corrupted(job("prefix", Objective.PREFIX, ids, prefix=100), V)
    assert prefix.denominator == 412


def test_the_counts_are_told(engine) -> None:
    ids = tuple(np.random.default_rng(0).integers(FIRST_PIECE, V, 256).tolist())
    seen = objective(engine, job("decoder", Objective.CAUSAL, ids))
    assert seen.counts == (
        "Of 256 tokens, masking selects 38.40 on average; the next token is predicted at 255,"
        " 6.64 times as many."
    )
    whole = replace(seen, tokens=512, selectable=512)
    assert "76.80 on average" in whole.counts
    assert "at 511, 6.65 times as many" in whole.counts


def test_a_gap_is_no_next_token_and_other_objectives_count_nothing(engine) -> None:
    ids = (BOS, 25, MASK, 26, MASK, 27, EOS)
    seen = objective(engine, job("decoder", Objective.CAUSAL, ids))
    assert seen.denominator == seen.next_tokens == 4
    assert "predicted at 4," in seen.counts
    assert objective(engine, job("prefix", Objective.PREFIX, ids, prefix=2)).counts == ""


def test_no_selected_position_is_said_and_not_nan(engine) -> None:
    seen = objective(engine, job("encoder", Objective.MASKED, (BOS, 25, EOS), seed=1))
    assert seen.denominator == 0
    assert seen.is_computed
    assert seen.mean is None
    assert "undefined" in seen.sentence
    assert seen.counts.endswith("times as many.")
    empty = objective(engine, job("encoder", Objective.MASKED, (BOS, EOS)))
    assert empty.counts.endswith("predicted at 1.")


@pytest.mark.parametrize("asked", SHIFTED)
def test_a_bug_keeps_the_targets_and_moves_them(asked) -> None:
    by = {shift: corrupted(job("decoder", asked, seed=2, shift=shift), V).labels for shift in Shift}
    right = by[Shift.RIGHT]
    assert by[Shift.NONE].tolist() == [IGNORE, *right[:-1]]
    assert by[Shift.DOUBLE].tolist() == [*right[1:], IGNORE]


def test_without_a_shift_a_position_names_what_it_reads() -> None:
    example = corrupted(job("decoder", Objective.CAUSAL, shift=Shift.NONE), V)
    assert (example.labels[1:] == example.inputs[1:]).all()


@pytest.mark.parametrize("kind", ["mlm", "clm", "span", "prefix", "denoise"])
def test_a_gap_carries_no_loss(kind) -> None:
    ids = (BOS, 25, MASK, sentinel(3), 26, 27, 28, EOS)
    for seed in range(20):
        example = corrupted(job("encoder", Objective(kind), ids, seed=seed), V)
        assert MASK not in example.labels
        assert sentinel(3) not in example.inputs


# -- trained models


def told(engine: Engine, name: str, asked: Objective, **changes) -> float:
    words = Tokenizer.load(TOKENIZER)
    ids = (BOS, *words.encode(STORY), EOS)
    run = request(name)
    mean = objective(engine, ObjectiveJob(1, run, ids, asked, **changes)).mean
    assert mean is not None
    return mean


@pytest.fixture(scope="module")
def trained() -> Engine:
    return Engine()


def test_a_model_that_names_what_it_reads_shows_the_bug(trained) -> None:
    """The encoder is what the shift bug trains: it copies, and knows nothing of what comes."""
    none, right, double = (
        told(trained, "encoder", Objective.CAUSAL, shift=shift)
        for shift in (Shift.NONE, Shift.RIGHT, Shift.DOUBLE)
    )
    assert none < 1.0 < right < double


def test_a_model_that_was_trained_right_loses_under_either_bug(trained) -> None:
    none, right, double = (
        told(trained, "decoder", Objective.CAUSAL, shift=shift)
        for shift in (Shift.NONE, Shift.RIGHT, Shift.DOUBLE)
    )
    assert right < 3.0
    assert min(none, double) > right + 5.0


def test_training_with_the_bug_learns_to_copy_and_twice_shifted_stays_high() -> None:
    """A few steps of training under each shift, from the trained decoder on."""
    words = Tokenizer.load(TOKENIZER)
    ids = (BOS, *words.encode(STORY), EOS)
    other = (
        BOS,
        *words.encode("Mia had a red ball. She gave the ball to her dog in the park."),
        EOS,
    )
    losses = {}
    for shift in Shift:
        model = bundled.load("decoder").train()
        learn = torch.optim.AdamW(model.parameters(), lr=2e-3)
        for _ in range(25):
            learn.zero_grad()
            _loss(model, ids, shift).backward()
            learn.step()
        with torch.no_grad():
            losses[shift] = float(_loss(model.eval(), other, shift))
    assert losses[Shift.NONE] < losses[Shift.RIGHT] < losses[Shift.DOUBLE]


def _loss(model, ids: tuple[int, ...], shift: Shift) -> torch.Tensor:
    example = corrupted(job("decoder", Objective.CAUSAL, ids, shift=shift), 2048)
    size = len(ids)
    mask = torch.ones(1, 1, size, size, dtype=torch.bool).tril()
    logits = model(torch.tensor([ids]), torch.arange(size)[None], mask)[0]
    return functional.cross_entropy(logits, torch.from_numpy(example.labels))


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("encoder", Objective.MASKED),
        ("decoder", Objective.CAUSAL),
        ("prefix", Objective.PREFIX),
        ("encdec", Objective.SPANS),
        ("unified", Objective.CAUSAL),
    ],
)
def test_a_model_is_at_home_under_its_own_objective(trained, name, asked) -> None:
    seen = objective(trained, ObjectiveJob(1, request(name), _story(), asked, seed=4))
    assert seen.notes == ()
    assert seen.mean is not None
    assert seen.mean < 4.0


def _story() -> tuple[int, ...]:
    return (BOS, *Tokenizer.load(TOKENIZER).encode(STORY), EOS)


@pytest.mark.parametrize(
    ("name", "asked", "told"),
    [
        ("decoder", Objective.MASKED, "no head for masked tokens"),
        ("decoder", Objective.MASKED, "out of its training"),
        ("encoder", Objective.CAUSAL, "not the next one"),
        ("encoder", Objective.CAUSAL, "out of its training"),
        ("encoder", Objective.SPANS, "no encoder that could read"),
        ("encdec", Objective.MASKED, "choose span or denoise"),
        ("encdec", Objective.DENOISING, "trained on spans"),
    ],
)
def test_what_a_model_cannot_is_told(engine, name, asked, told) -> None:
    assert told in " ".join(objective(engine, job(name, asked)).notes)


# -- bad input


@pytest.mark.parametrize(
    ("asked", "changes", "told"),
    [
        (Objective.REPLACED, {}, "needs|two models"),
        (Objective.MASKED, {"shift": Shift.NONE}, "shift is none, but must be right"),
        (Objective.CAUSAL, {"noise": Noise.ROTATION}, "only denoise"),
        (Objective.CAUSAL, {"prefix": 3}, "only the objective prefix"),
        (Objective.PREFIX, {"prefix": 12}, "between 1 and 11"),
        (Objective.SPANS, {"ids": (BOS, 25, EOS)}, "The text has 1 of the 2"),
    ],
)
def test_bad_input_gets_a_sentence(engine, asked, changes, told) -> None:
    with pytest.raises(ValueError, match=told):
        objective(engine, job("decoder", asked, **changes))


def test_a_text_that_is_too_long_is_refused(engine) -> None:
    with pytest.raises(ValueError, match="shorten it by 100"):
        objective(engine, job("decoder", Objective.CAUSAL, sentence(400)))


def test_a_stop_is_heard(engine) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        objective(engine, job("decoder", Objective.CAUSAL), token)


def test_the_kept_run_stays_the_one_heads_are_of(engine) -> None:
    result = engine.run(request("decoder"))
    objective(engine, job("decoder", Objective.CAUSAL))
    kept = engine._pattern(result.head.head, 1)
    assert np.array_equal(kept.pattern, result.head.pattern)


def test_every_objective_has_a_mask_and_every_shift_a_number() -> None:
    assert set(KINDS) == set(COMPUTED)
    assert KINDS[Objective.MASKED] is MaskKind.BIDIRECTIONAL
    assert set(SHIFTS) == set(Shift)
