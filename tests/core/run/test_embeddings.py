"""Vectors of sentences: plain loops in float64 as the oracle, padding that does not count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from run_cases import MODELS, V, request

from core.run.cancel import Cancelled, CancelToken
from core.run.embeddings import alike, batch, embeddings, pooled, sentence_ids
from core.run.engine import Engine
from core.text.special import BOS, EOS, FIRST_PIECE
from core.types import EmbeddingsJob, Family, MaskKind, MaskSpec, Pooling

B, C = MaskKind.BIDIRECTIONAL, MaskKind.CAUSAL
CASES = [("encoder", B), ("decoder", C), ("decoder", B), ("unified", C), ("unified", B)]
CASES += [("prefix", C), ("encdec", B)]
cases = pytest.mark.parametrize(("name", "kind"), CASES)


def texts(kind: MaskKind, sizes=(5, 9, 2, 7)) -> list[tuple[int, ...]]:
    rng = np.random.default_rng(1)
    return [sentence_ids(rng.integers(FIRST_PIECE, V, n).tolist(), kind) for n in sizes]


def job(name: str, sentences: list[tuple[int, ...]], kind: MaskKind) -> EmbeddingsJob:
    return EmbeddingsJob(2, request(name, batch(sentences, kind, MODELS[name][0])))


def single(engine: Engine, name: str, ids: tuple[int, ...], kind: MaskKind) -> np.ndarray:
    """States ``[T, width]`` of one sentence alone, in float64, straight from the model."""
    model = engine.model(name, torch.device("cpu"), torch.float64)
    size = len(ids)
    mask = torch.ones(1, 1, size, size, dtype=torch.bool)
    stack = model.encoder if name == "encdec" else model.body
    with torch.inference_mode():
        read = torch.tensor([ids]), torch.arange(size)[None], mask.tril() if kind is C else mask
        return stack(*read)[0].numpy()


def plain_cosine(a, b) -> float:
    dot = norm_a = norm_b = 0.0
    for x, y in zip(a, b, strict=True):
        dot, norm_a, norm_b = dot + x * y, norm_a + x * x, norm_b + y * y
    return dot / (norm_a**0.5 * norm_b**0.5)


@cases
def test_padded_rows_give_the_vectors_of_single_rows(engine, name, kind) -> None:
    sentences = texts(kind)
    alone = [single(engine, name, ids, kind) for ids in sentences]
    vectors = {
        Pooling.MEAN: [sum(states) / len(states) for states in alone],
        Pooling.LAST: [states[-1] for states in alone],
        Pooling.FIRST: [states[0] for states in alone],
    }
    seen = embeddings(engine, job(name, sentences, kind))
    assert seen.sentences == 4
    for pooling, wanted in vectors.items():
        for i, one in enumerate(wanted):
            for j, other in enumerate(wanted):
                found = seen.similarity[pooling][i, j]
                assert found == pytest.approx(plain_cosine(one, other), abs=2e-5)


@pytest.mark.parametrize("name", ["decoder", "unified", "prefix"])
def test_what_a_position_knows_is_the_cosine_with_the_state_that_reads_both_ways(
    engine, name
) -> None:
    sentences = texts(C)
    seen = embeddings(engine, job(name, sentences, C))
    for row, ids in enumerate(sentences):
        one, other = single(engine, name, ids, C), single(engine, name, ids, B)
        wanted = [plain_cosine(a, b) for a, b in zip(one, other, strict=True)]
        assert seen.known[row, : len(ids)] == pytest.approx(wanted, abs=2e-5)
        assert np.isnan(seen.known[row, len(ids) :]).all()


def test_the_first_token_of_a_causal_model_knows_no_sentence(engine) -> None:
    causal = embeddings(engine, job("unified", texts(C), C))
    assert causal.similarity[Pooling.FIRST] == pytest.approx(np.ones((4, 4)), abs=1e-6)
    both = embeddings(engine, job("unified", texts(B), B))
    assert both.similarity[Pooling.FIRST].min() < 0.999
    assert both.known.shape == (4, 0)
    assert both.notes == ()
    assert "reads itself alone" in causal.notes[0]


def test_a_begin_that_is_shared_is_shared_in_a_causal_model_alone(engine) -> None:
    """Two sentences that part at their end: a causal model has the same states until there."""
    begin = (BOS, 21, 22, 23, 24)
    sentences = [(*begin, 25), (*begin, 29)]
    for kind, same in ((C, True), (B, False)):
        states = engine.states(job("unified", sentences, kind).run)
        assert np.allclose(states[0, :5], states[1, :5], atol=1e-5) == same


def test_what_is_out_of_training_is_told(engine) -> None:
    assert "out of this model's training" in " ".join(
        embeddings(engine, job("decoder", texts(C), C)).notes
    )
    assert "out of its training" in " ".join(embeddings(engine, job("decoder", texts(B), B)).notes)


@settings(deadline=None, max_examples=40)
@given(st.data(), st.integers(1, 5), st.integers(1, 7), st.integers(1, 4))
def test_no_pad_counts_on_either_side(data, rows, length, width) -> None:
    left = [data.draw(st.integers(0, length - 1)) for _ in range(rows)]
    right = [data.draw(st.integers(0, length - 1 - n)) for n in left]
    spec = MaskSpec(B, length, left_pad=tuple(left), right_pad=tuple(right))
    states = np.random.default_rng(0).normal(size=(rows, length, width)).astype(np.float32)
    for row in range(rows):
        kept = states[row, left[row] : length - right[row]].astype(np.float64)
        wanted = {Pooling.MEAN: kept.mean(0), Pooling.LAST: kept[-1], Pooling.FIRST: kept[0]}
        for pooling, vector in wanted.items():
            assert pooled(states, spec, pooling)[row] == pytest.approx(vector)


def test_a_vector_of_zeros_is_like_nothing() -> None:
    assert alike(np.array([[0.0, 0.0], [3.0, 4.0]])).tolist() == [[0.0, 0.0], [0.0, 1.0]]


def test_an_end_is_read_where_all_is_read() -> None:
    assert sentence_ids([30], B) == (BOS, 30, EOS)
    assert sentence_ids([30], C) == (BOS, 30)


def test_bad_input_gets_a_sentence(engine) -> None:
    with pytest.raises(ValueError, match="two or more can be compared"):
        batch([(BOS,)], B, Family.ENCODER)
    with pytest.raises(ValueError, match="mask is causal, but must be bidirectional"):
        batch(texts(C), C, Family.ENCODER_DECODER)
    with pytest.raises(ValueError, match="shorten it by"):
        embeddings(engine, job("encoder", texts(B, (5, 400)), B))


def test_a_stop_is_heard(engine) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        embeddings(engine, job("encoder", texts(B), B), token)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@cases
def test_the_gpu_says_the_same(engine, name, kind) -> None:
    ask = job(name, texts(kind), kind)
    on_gpu = embeddings(engine, replace(ask, run=replace(ask.run, device="cuda")))
    for pooling, wanted in embeddings(engine, ask).similarity.items():
        assert on_gpu.similarity[pooling] == pytest.approx(wanted, abs=1e-4)
