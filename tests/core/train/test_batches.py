from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.mask.dense import dense
from core.model.config import ModelConfig
from core.model.transformer import Transformer
from core.text.objectives import IGNORE, Example, Ids, span_corruption
from core.text.special import BOS, EOS, FIRST_PIECE, PAD
from core.text.tokenizer import VOCABULARY
from core.train import batches
from core.train.batches import Batch, Side, packed, packed_mask, shuffled
from core.train.evaluate import nats
from core.train.recipes import KINDS, Objective, example
from core.train.trainer import batch_loss
from core.types import Family, MaskKind, MaskSpec

WIDTH, POSITIONS = 28, 60
unhurried = settings(deadline=None, max_examples=20)
objectives = pytest.mark.parametrize("objective", Objective)
seeds = st.integers(0, 10_000)


def documents(rng: np.random.Generator, longest: int = 14) -> Iterator[Ids]:
    while True:
        text = rng.integers(FIRST_PIECE, VOCABULARY, rng.integers(2, longest))
        yield np.concatenate(([BOS], text, [EOS]))


class Recorder:
    """An objective that remembers every example it made."""

    def __init__(self, make: Callable[[Ids], Example]) -> None:
        self.made: list[Example] = []
        self._make = make

    def __call__(self, document: Ids) -> Example:
        self.made.append(self._make(document))
        return self.made[-1]


def batch_of(
    objective: Objective, seed: int, *, rows: int = 3, longest: int = 14
) -> tuple[Batch, list[Example]]:
    rng = np.random.default_rng(seed)
    recorder = Recorder(partial(example, objective, rng=rng))
    batch = packed(
        documents(rng, longest),
        recorder,
        rows=rows,
        width=WIDTH,
        positions=POSITIONS,
        rng=rng,
    )
    return batch, recorder.made


def lengths(side: Side, row: int) -> list[int]:
    """Slots of each document of a row, in order; pads left out."""
    numbers = side.documents[row].tolist()
    runs = [(number, len(list(slots))) for number, slots in itertools.groupby(numbers)]
    assert [number for number, _ in runs if number] == list(range(1, max(numbers) + 1))
    assert all(number for number, _ in runs[:-1])
    return [size for number, size in runs if number]


@objectives
@unhurried
@given(seed=seeds)
def test_rows_are_documents_one_after_the_other_with_their_own_labels(
    objective: Objective, seed: int
) -> None:
    """Labels, prefix and positions of a slot are those of its document alone."""
    batch, made = batch_of(objective, seed)
    left = iter(made)
    for row in range(3):
        start, source_start = 0, 0
        offset = int(batch.body.positions[row, 0])
        assert 0 <= offset <= POSITIONS - WIDTH
        source_lengths = lengths(batch.source, row) if batch.source else None
        for number, size in enumerate(lengths(batch.body, row)):
            slots = slice(start, start + size)
            ids = batch.body.ids[row, slots].tolist()
            sample = next(s for s in left if s.inputs[:size].tolist() == ids)
            assert batch.body.labels[row, slots].tolist() == sample.labels[:size].tolist()
            assert batch.body.positions[row, slots].tolist() == list(range(offset, offset + size))
            prefix = [int(at < sample.prefix) for at in range(size)]
            assert batch.body.prefix[row, slots].tolist() == prefix
            start += size
            assert size == len(sample.inputs) or start == batch.body.ids.shape[1]
            if batch.source and source_lengths:
                width = source_lengths[number]
                slots = slice(source_start, source_start + width)
                assert batch.source.ids[row, slots].tolist() == sample.source[:width].tolist()
                places = list(range(offset, offset + width))
                assert batch.source.positions[row, slots].tolist() == places
                source_start += width


@objectives
@unhurried
@given(seed=seeds)
def test_pads_are_pads_in_every_column(objective: Objective, seed: int) -> None:
    batch, _ = batch_of(objective, seed)
    for side in (batch.body, batch.source):
        if side is not None:
            pad = side.documents == 0
            assert (side.ids[pad] == PAD).all()
            assert (side.labels[pad] == IGNORE).all()
            assert not side.prefix[pad].any()
            assert side.positions.max() < POSITIONS
    if objective is not Objective.SPANS:
        assert not (batch.body.documents == 0).any()
        assert batch.source is None


@unhurried
@given(seed=seeds)
def test_an_encoder_decoder_row_holds_whole_pairs(seed: int) -> None:
    batch, _ = batch_of(Objective.SPANS, seed)
    assert batch.source is not None
    assert batch.body.ids.shape == (3, WIDTH // 2)
    assert batch.source.ids.shape == (3, WIDTH)
    for row in range(3):
        assert len(lengths(batch.body, row)) == len(lengths(batch.source, row))


# -- masks


@pytest.mark.parametrize("objective", [Objective.MASKED, Objective.CAUSAL])
@unhurried
@given(seed=seeds)
def test_a_packed_mask_is_the_mask_of_its_documents(objective: Objective, seed: int) -> None:
    batch, _ = batch_of(objective, seed)
    mask = packed_mask(batch.body, batch.body, KINDS[objective])
    assert mask.shape == (3, 1, WIDTH, WIDTH)
    for row in range(3):
        spec = MaskSpec(KINDS[objective], WIDTH, documents=tuple(lengths(batch.body, row)))
        assert np.array_equal(mask[row].numpy(), dense(spec)[0])


@unhurried
@given(seed=seeds)
def test_a_packed_prefix_mask_is_a_prefix_mask_in_each_document(seed: int) -> None:
    batch, _ = batch_of(Objective.PREFIX, seed)
    mask = packed_mask(batch.body, batch.body, MaskKind.PREFIX)
    for row in range(3):
        expected, start = np.zeros((WIDTH, WIDTH), bool), 0
        for size in lengths(batch.body, row):
            slots = slice(start, start + size)
            prefix = int(batch.body.prefix[row, slots].sum())
            expected[slots, slots] = dense(MaskSpec(MaskKind.PREFIX, size, prefix=prefix))[0, 0]
            start += size
        assert np.array_equal(mask[row, 0].numpy(), expected)


@unhurried
@given(seed=seeds)
def test_a_target_reads_its_own_source_and_never_a_pad(seed: int) -> None:
    batch, _ = batch_of(Objective.SPANS, seed)
    body, source = batch.body, batch.source
    assert source is not None
    cross = packed_mask(body, source, MaskKind.CROSS)[:, 0]
    own = packed_mask(body, body, MaskKind.DECODER_SELF)[:, 0]
    encoder = packed_mask(source, source, MaskKind.BIDIRECTIONAL)[:, 0]
    for row, t in np.ndindex(*body.ids.shape):
        number = int(body.documents[row, t])
        if number:
            assert cross[row, t].tolist() == (source.documents[row] == number).tolist()
            assert cross[row, t].any()
            readable = own[row, t]
            assert (body.documents[row, readable] == number).all()
            assert readable[t]
            assert not readable[t + 1 :].any()
    for row, s in np.ndindex(*source.ids.shape):
        assert (source.documents[row, encoder[row, s]] == source.documents[row, s]).all()


# -- the loss of a batch


@pytest.mark.parametrize(
    ("objective", "family"),
    [
        (Objective.MASKED, Family.ENCODER),
        (Objective.CAUSAL, Family.DECODER),
        (Objective.PREFIX, Family.PREFIX),
        (Objective.SPANS, Family.ENCODER_DECODER),
    ],
)
def test_the_loss_of_a_packed_batch_is_that_of_its_documents_alone(
    monkeypatch: pytest.MonkeyPatch, objective: Objective, family: Family
) -> None:
    """Every text has 7 tokens, so that none is cut; positions begin at 0."""
    monkeypatch.setattr(batches, "OFFSET_SHARE", 0.0)
    width = 40 if objective is Objective.SPANS else 27
    rng = np.random.default_rng(3)
    texts = rng.integers(FIRST_PIECE, VOCABULARY, (400, 7))
    rows = iter([np.concatenate(([BOS], text, [EOS])) for text in texts])
    recorder = Recorder(partial(example, objective, rng=rng))
    batch = packed(rows, recorder, rows=4, width=width, positions=POSITIONS, rng=rng)
    model = model_of(family)
    values, left = [], iter(recorder.made)
    for row in range(4):
        start = 0
        for size in lengths(batch.body, row):
            ids = batch.body.ids[row, start : start + size].tolist()
            sample = next(s for s in left if s.inputs.tolist() == ids)
            start += size
            if sample.denominator:
                values.append(all_nats(model, sample, objective))
    with torch.inference_mode():
        loss = batch_loss(model, batch, KINDS[objective])
    assert loss.item() == pytest.approx(np.concatenate(values).mean(), abs=1e-4)


def all_nats(model: Transformer, sample: Example, objective: Objective) -> np.ndarray:
    """Nats of all labels, sentinels too: a sentinel is a label as any other in training."""
    if objective is not Objective.SPANS:
        return nats(model, sample, objective)
    return nats(model, sample, Objective.CAUSAL)


def model_of(family: Family) -> Transformer:
    two = family is Family.ENCODER_DECODER
    config = ModelConfig(
        family,
        (MaskKind.CAUSAL,),
        vocabulary=VOCABULARY,
        width=8,
        layers=2,
        encoder_layers=2 if two else 0,
        heads=2,
        kv_heads=2,
        ffn=8,
        positions=POSITIONS,
    )
    model = Transformer(config).requires_grad_(False)
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        parameter.normal_(0.0, 0.3, generator=generator)
    return model.eval()


def test_gradients_are_finite_where_pads_have_no_source_to_read() -> None:
    """The source row is full, the target row is not: its pads read nothing in cross-attention."""
    text = np.concatenate(([BOS], np.arange(30, 60), [EOS]))
    rng = np.random.default_rng(0)
    make = partial(span_corruption, rng=rng)
    batch = packed(itertools.repeat(text), make, rows=2, width=WIDTH, positions=60, rng=rng)
    assert batch.source is not None
    assert not (batch.source.documents == 0).any()
    assert (batch.body.documents == 0).any()
    assert not packed_mask(batch.body, batch.source, MaskKind.CROSS)[0, 0, -1].any()
    model = model_of(Family.ENCODER_DECODER).requires_grad_(True)
    with torch.autocast("cpu", torch.bfloat16):
        loss = batch_loss(model, batch, MaskKind.DECODER_SELF)
    loss.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


# -- chance


def test_some_rows_begin_at_a_random_position_and_reach_the_last_one() -> None:
    batch, _ = batch_of(Objective.CAUSAL, 0, rows=600, longest=40)
    offsets = batch.body.positions[:, 0]
    assert (offsets > 0).float().mean().item() == pytest.approx(batches.OFFSET_SHARE, abs=0.06)
    assert offsets.max() == POSITIONS - WIDTH
    assert batch.body.positions.max() == POSITIONS - 1


def test_documents_come_by_share_and_each_once_before_any_comes_again() -> None:
    pools = [[np.array([10 * pool + i]) for i in range(5)] for pool in (1, 2)]
    drawn = [
        int(document[0])
        for document in itertools.islice(
            shuffled(pools, [0.2, 0.8], np.random.default_rng(0)), 1000
        )
    ]
    for pool, share in ((1, 0.2), (2, 0.8)):
        mine = [i for i in drawn if i // 10 == pool]
        assert len(mine) / 1000 == pytest.approx(share, abs=0.05)
        rounds = [mine[i : i + 5] for i in range(0, len(mine) - 4, 5)]
        assert all(sorted(each) == [10 * pool + i for i in range(5)] for each in rounds)
        assert len({tuple(each) for each in rounds}) > 1
