from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from run_cases import (
    GENERATORS,
    POSITIONS,
    V,
    config,
    inputs,
    logits_of,
    randomise,
    request,
)

from core.checkpoints import bundled
from core.mask.reference import reference_mask
from core.model.transformer import Transformer
from core.run.cancel import Cancelled, CancelToken
from core.run.engine import Engine
from core.run.prompt import appended, prompt
from core.text.special import EOS
from core.types import (
    GenerateRequest,
    HeadRef,
    HeadRequest,
    Inputs,
    MaskKind,
    Sampling,
    Stack,
    StepEvent,
)

generators = pytest.mark.parametrize("name", GENERATORS)
WARM = Sampling(1.3, top_k=20, top_p=0.95, seed=4)


def prompt_of(name: str, length: int = 6, **knobs) -> Inputs:
    prefix = {"prefix": 3} if name in ("prefix", "unified") else {}
    return inputs(name, length, **(prefix | knobs))


def events(
    engine: Engine, name: str, given: Inputs, sampling: Sampling, count: int = 5, **changes
) -> list[StepEvent]:
    asked = GenerateRequest(request(name, given, **changes), sampling, count)
    return list(engine.generate(asked))


def tokens(*args, **changes) -> list[int]:
    return [event.token for event in events(*args, **changes)]


def naive(model: Transformer, given: Inputs, count: int) -> list[int]:
    """Greedy and without a cache: the whole text again for every token, its first row alone."""
    found: list[int] = []
    row, spec, cross = list(given.rows[0]), given.mask, given.cross_mask
    for _ in range(count):
        longer = replace(spec, length=len(row))
        wider = cross and replace(cross, length=len(row))
        logits = logits_of(model, replace(given, rows=(tuple(row),), mask=longer, cross_mask=wider))
        row.append(int(logits[0, -1].argmax()))
        found.append(row[-1])
    return found


@generators
def test_cached_generation_is_the_naive_loop(engine: Engine, folder: Path, name: str) -> None:
    given = prompt_of(name)
    expected = naive(bundled.load(name, folder), given, 8)
    assert len(set(expected)) > 2
    assert tokens(engine, name, given, Sampling(), 8) == expected


@generators
def test_a_row_of_a_batch_generates_what_it_generates_alone(engine: Engine, name: str) -> None:
    """The row has two left pads and a right pad, which is dropped."""
    batch = prompt_of(name, 8, rows=2, left_pad=(0, 2), right_pad=(0, 1))
    alone = prompt_of(name, 5)
    alone = replace(alone, rows=(batch.rows[1][2:7],))
    if name == "encdec":
        alone = replace(alone, source=(batch.source[1],))
    for sampling in (Sampling(), WARM):
        found = tokens(engine, name, batch, sampling, 8, row=1)
        assert found == tokens(engine, name, alone, sampling, 8)
        assert found != tokens(engine, name, batch, sampling, 8, row=0)


@generators
@pytest.mark.parametrize("sampling", [Sampling(), WARM], ids=["greedy", "sampled"])
def test_step_by_step_is_the_text_made_at_once(
    engine: Engine, name: str, sampling: Sampling
) -> None:
    given, found = prompt_of(name), []
    for _ in range(6):
        found += tokens(engine, name, given, sampling, 1)
        given = appended(given, found[-1])
    assert found == tokens(engine, name, prompt_of(name), sampling, 6)


def test_a_past_of_the_prompt_changes_nothing(engine: Engine) -> None:
    cached = inputs("decoder", 2, past=4)
    plain = Inputs(cached.rows, replace(cached.mask, past=0, length=6))
    assert tokens(engine, "decoder", cached, WARM) == tokens(engine, "decoder", plain, WARM)


def test_a_seed_gives_the_same_text_again_and_another_seed_another(engine: Engine) -> None:
    given = prompt_of("decoder")
    first = tokens(engine, "decoder", given, WARM, 12)
    assert tokens(engine, "decoder", given, WARM, 12) == first
    assert tokens(engine, "decoder", given, replace(WARM, seed=5), 12) != first


@generators
def test_an_event_says_what_the_whole_run_would_say(engine: Engine, name: str) -> None:
    given = prompt_of(name)
    head = HeadRef(Stack.DECODER, 1, 1)
    told = events(engine, name, given, Sampling(), 4, generation=9, head=head, top=3)
    assert [event.step for event in told] == [0, 1, 2, 3]
    for event in told:
        filled = given.mask.length
        whole = engine.run(request(name, given, head=head, top=3))
        assert event.generation == 9
        assert event.token == event.candidate_ids[0] == whole.top_ids[-1, 0]
        assert event.probability == 1.0
        assert event.candidate_ids.dtype == np.int32
        assert event.candidate_ids.tolist() == whole.top_ids[-1].tolist()
        np.testing.assert_allclose(event.candidate_probs, whole.top_probs[-1], atol=1e-5)
        assert event.mask_row.dtype == np.bool_
        assert event.mask_row.tolist() == reference_mask(given.mask)[0, -1].tolist()
        assert event.cache_length == filled
        assert (event.cache_bytes, event.cross_bytes) == (whole.cache_bytes, whole.cross_bytes)
        assert event.seconds > 0
        assert not event.stopped
        assert event.head is not None
        assert (event.head.generation, event.head.head) == (9, head)
        np.testing.assert_allclose(event.head.pattern, whole.head.pattern, atol=1e-5)
        assert [m.stack for m in event.maps] == [m.stack for m in whole.maps]
        for mine, theirs in zip(event.maps, whole.maps, strict=True):
            assert (mine.rows, mine.keys, mine.block) == (theirs.rows, theirs.keys, theirs.block)
            np.testing.assert_allclose(mine.scale, theirs.scale, atol=1e-5)
            assert abs(mine.thumbs.astype(int) - theirs.thumbs).max() <= 1
        given = appended(given, event.token)


def test_the_told_probability_is_the_one_the_token_was_drawn_with(engine: Engine) -> None:
    event = events(engine, "decoder", prompt_of("decoder"), Sampling(1.0, top_k=2), 1, top=V)[0]
    chosen = event.candidate_ids.tolist().index(event.token)
    assert chosen in (0, 1)
    share = event.candidate_probs[chosen] / event.candidate_probs[:2].sum()
    assert event.probability == pytest.approx(share, abs=1e-5)


def test_windows_and_documents_go_on_over_the_generated_tokens(engine: Engine) -> None:
    given = inputs("decoder", 6, window=3, documents=(2, 4))
    last = events(engine, "decoder", given, Sampling(), 3)[-1]
    assert last.mask_row.tolist() == [False] * 5 + [True] * 3
    given = inputs("decoder", 6, documents=(2, 4))
    last = events(engine, "decoder", given, Sampling(), 3)[-1]
    assert last.mask_row.tolist() == [False] * 2 + [True] * 6


def test_heads_of_the_text_so_far_can_be_asked_for(engine: Engine) -> None:
    asked = GenerateRequest(request("decoder", prompt_of("decoder"), generation=5), Sampling(), 3)
    for step, _ in enumerate(engine.generate(asked)):
        answer = engine.head(HeadRequest(5, HeadRef(Stack.DECODER, 1, 1)))
        assert answer is not None
        assert answer.pattern.shape == (6 + step, 6 + step)
    assert engine.head(HeadRequest(4, HeadRef(Stack.DECODER))) is None


# -- where it ends


def test_the_end_token_stops_and_is_told(tmp_path: Path) -> None:
    model = randomise(Transformer(config("decoder")))
    with torch.no_grad():
        model.bias[EOS] = 100.0
    bundled.save(model, {"title": "ends at once", "figures": {}}, tmp_path / "decoder")
    told = events(Engine(tmp_path), "decoder", prompt_of("decoder"), Sampling(), 9)
    assert [(event.token, event.stopped) for event in told] == [(EOS, True)]


@pytest.mark.parametrize("left", [0, 4])
def test_what_is_generated_ends_with_a_text_that_can_be_read(engine: Engine, left: int) -> None:
    given = inputs("decoder", POSITIONS - 2 + left, left_pad=(left,))
    told = events(engine, "decoder", given, Sampling(), 50)
    assert [event.cache_length - left for event in told] == [POSITIONS - 2, POSITIONS - 1]
    full = inputs("decoder", POSITIONS + left, left_pad=(left,))
    with pytest.raises(ValueError, match=f"fills the {POSITIONS} positions .* no room"):
        events(engine, "decoder", full, Sampling(), 1)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_as_many_tokens_as_were_asked_for(engine: Engine, count: int) -> None:
    assert len(tokens(engine, "decoder", prompt_of("decoder"), Sampling(), count)) == count


def test_a_stop_is_heard_between_tokens_and_within_one(engine: Engine) -> None:
    cancel = CancelToken()
    asked = GenerateRequest(request("decoder"), Sampling(), 9)
    running = engine.generate(asked, cancel)
    assert next(running).step == 0
    assert next(running).step == 1
    cancel.cancel()
    with pytest.raises(Cancelled):
        next(running)
    assert list(running) == []


def test_right_pads_are_dropped_and_the_tail_of_the_last_document_with_them() -> None:
    batch = inputs("decoder", 8, rows=2, right_pad=(0, 3), documents=(4, 4))
    alone = prompt(batch, 1)
    assert alone.rows == (batch.rows[1][:5],)
    assert (alone.mask.length, alone.mask.right_pad, alone.mask.documents) == (5, (0,), (4, 1))


# -- what is refused


def refused(engine: Engine, sentence: str, name: str, given: Inputs, **changes) -> None:
    with pytest.raises(ValueError, match=sentence):
        events(engine, name, given, Sampling(), **changes)


def test_an_encoder_cannot_generate_and_says_why(engine: Engine) -> None:
    sentence = r"An encoder cannot generate: every position reads what comes after it.*\[MASK\]"
    refused(engine, sentence, "encoder", inputs("encoder"))


def test_a_bidirectional_mask_cannot_generate(engine: Engine) -> None:
    given = inputs("unified", kind=MaskKind.BIDIRECTIONAL)
    refused(engine, "A bidirectional mask cannot generate", "unified", given)


def test_a_prompt_is_checked_as_a_run_is(engine: Engine) -> None:
    refused(engine, "row is 1, but must be between 0 and 0", "decoder", inputs("decoder"), row=1)
    long = inputs("decoder", POSITIONS + 1)
    refused(engine, "shorten it by 1", "decoder", long)
    odd = Inputs(((1, V),), replace(inputs("decoder").mask, length=2))
    refused(engine, f"token id {V}", "decoder", odd)
    refused(engine, "There is no device", "decoder", inputs("decoder"), device="tpu")
