"""What the widgets are told follows from the scene."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app import presenter
from app.scene import scene
from app.state import RowState, initial
from core.paths import TOKENIZER
from core.text.tokenizer import MASK, Tokenizer
from core.types import Family, HeadPattern, HeadRef, RunResult, Stack

TOKENS = Tokenizer.load(TOKENIZER)


def result(rows: int) -> RunResult:
    ids = np.tile(np.array([30, 31], np.int32), (rows, 1))
    probs = np.tile(np.array([0.75, 0.25], np.float32), (rows, 1))
    head = HeadPattern(1, HeadRef(Stack.DECODER), np.zeros((rows, rows), np.float32))
    return RunResult(1, "decoder", "cpu", "float32", 0.01, (), head, ids, probs)


def test_knobs_make_the_round_trip_through_the_form() -> None:
    state = replace(initial(Family.PREFIX).with_row(left_pad=2), prefix=4, window=5)
    assert presenter.with_knobs(state, presenter.knobs(state)) == state


def test_an_encoder_has_neither_prefix_nor_cache_offset() -> None:
    state = initial(Family.ENCODER)
    limits = presenter.limits(state, scene(state, TOKENS))
    assert limits.prefix is None
    assert limits.past is None
    assert limits.window is not None


def test_a_prefix_reaches_to_the_last_real_token_and_past_leaves_one_query() -> None:
    state = initial(Family.PREFIX).with_row(left_pad=3)
    made = scene(state, TOKENS)
    limits = presenter.limits(state, made)
    assert limits.prefix == made.inputs.mask.filled - 3
    assert limits.past == made.inputs.mask.filled - 1


@pytest.mark.parametrize("text", ["", "The cat", "The cat sat on the mat and on the mat again."])
def test_a_new_text_never_leaves_a_knob_out_of_range(text: str) -> None:
    state = replace(initial(Family.PREFIX), prefix=9, past=12, documents=(4, 14))
    fitted = presenter.fitted(state.with_row(text=text), TOKENS)
    spec = scene(fitted, TOKENS).inputs.mask
    assert spec.prefix <= spec.real_tokens(0)
    assert not spec.documents or sum(spec.documents) == spec.real_tokens(0)


def test_the_strip_marks_pads_prefix_cache_and_generated_tokens() -> None:
    row = RowState("The cat sat on the mat.", generated=(40, 41), left_pad=2)
    state = replace(initial(Family.PREFIX), rows=(row,), prefix=3, past=6)
    made = scene(state, TOKENS)
    strip = presenter.strip(TOKENS, made, Stack.DECODER, 0)
    assert strip.labels[:3] == ("<pad>", "<pad>", "<s>")
    assert strip.positions[:4] == (0, 0, 0, 1)
    assert strip.prefix_end == 5
    assert strip.cached == 6
    assert strip.generated_from == len(strip.labels) - 2
    assert strip.selected == 6


def test_without_a_selection_the_last_token_speaks_or_the_first_mask() -> None:
    decoder = scene(initial(Family.DECODER), TOKENS)
    last = decoder.inputs.mask.length - 1
    assert presenter.query_shown(decoder, Stack.DECODER, None) == last
    encoder = scene(initial(Family.ENCODER), TOKENS)
    masked = presenter.query_shown(encoder, Stack.ENCODER, None)
    assert encoder.query_ids[Stack.ENCODER][masked] == MASK
    assert presenter.query_shown(encoder, Stack.ENCODER, 2) == 2


def test_the_source_of_an_encoder_decoder_does_not_speak() -> None:
    made = scene(initial(Family.ENCODER_DECODER), TOKENS)
    last = made.inputs.mask.length - 1
    assert presenter.query_shown(made, Stack.ENCODER, 4) == last
    assert presenter.query_shown(made, Stack.CROSS, 0) == 0


def test_candidates_say_what_they_follow_and_how_likely_they_are() -> None:
    state = initial(Family.DECODER)
    made = scene(state, TOKENS)
    rows = made.inputs.mask.length
    title, note, bars = presenter.candidates(TOKENS, made, Stack.DECODER, result(rows), 1)
    assert (title, note) == ("Next token", "after “Once” at 1")
    assert [(b.token, round(b.probability, 2)) for b in bars] == [(30, 0.75), (31, 0.25)]
    encoder = scene(initial(Family.ENCODER), TOKENS)
    wide = result(encoder.inputs.mask.length)
    assert presenter.candidates(TOKENS, encoder, Stack.ENCODER, wide, None)[0] == "Fill"


def test_the_curves_are_entropies_in_nats_and_pads_have_none() -> None:
    state = initial(Family.DECODER).with_row(left_pad=2)
    made = scene(state, TOKENS)
    spec = made.inputs.mask
    rows = spec.length
    weights = np.zeros((rows, rows), np.float32)
    weights[5, 2:6] = 0.25
    answered = replace(result(rows), surprise=np.full(rows, 1.5, np.float32))
    head = HeadPattern(1, HeadRef(Stack.DECODER), weights)
    curves = presenter.curves(made, answered, head)
    assert np.isnan(curves["attention entropy"][:2]).all()
    assert curves["attention entropy"][5] == pytest.approx(np.log(4))
    assert curves["entropy if read evenly"][5] == pytest.approx(np.log(4))
    assert curves["attention entropy"][6] == 0
    assert np.nanmax(curves["surprise of the next token"]) == 1.5
    assert np.isnan(curves["surprise of the next token"][0])


def test_the_encoder_of_a_pair_has_no_surprise() -> None:
    made = scene(initial(Family.ENCODER_DECODER), TOKENS)
    rows = made.masks[Stack.ENCODER].length
    head = HeadPattern(1, HeadRef(Stack.ENCODER), np.full((rows, rows), 1 / rows, np.float32))
    curves = presenter.curves(made, result(made.inputs.mask.length), head)
    assert set(curves) == {"attention entropy", "entropy if read evenly"}
    assert np.allclose(curves["attention entropy"], np.log(rows), atol=1e-5)
