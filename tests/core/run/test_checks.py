"""Sound models pass every check; planted faults are caught and located."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from run_cases import MODELS

from core.checkpoints import bundled
from core.mask.dense import dense
from core.mask.padding import real_tokens
from core.run.arrays import Arrays, arrays_of
from core.run.cancel import Cancelled, CancelToken
from core.run.checks.run import CHECKS, check
from core.run.checks.subject import Reading, Text
from core.run.checks.torch_subject import TorchSubject
from core.types import (
    Check,
    CheckReport,
    Family,
    Inputs,
    MaskKind,
    MaskSpec,
    Place,
    Stack,
    Verdict,
)

IDS = tuple(int(i) for i in np.random.default_rng(3).integers(20, 30, 12))
SOURCE = IDS[:7]
KINDS = {
    "encoder": MaskKind.BIDIRECTIONAL,
    "decoder": MaskKind.CAUSAL,
    "prefix": MaskKind.PREFIX,
    "encdec": MaskKind.DECODER_SELF,
    "unified": MaskKind.PREFIX,
}


def inputs(name: str, ids: tuple[int, ...] = IDS, **knobs: object) -> Inputs:
    kind = KINDS[name]
    if kind is MaskKind.PREFIX:
        knobs = {"prefix": 4} | knobs
    spec = MaskSpec(kind, len(ids), **knobs)  # type: ignore[arg-type]
    if name != "encdec":
        return Inputs((ids,), spec)
    source = MaskSpec(MaskKind.ENCODER_SELF, len(SOURCE))
    cross = MaskSpec(MaskKind.CROSS, len(ids), source=len(SOURCE))
    return Inputs((ids,), spec, (SOURCE,), source, cross)


def subject(folder: Path, name: str, kind: type[TorchSubject] = TorchSubject) -> TorchSubject:
    return kind(bundled.load(name, folder), name)


def found(report: CheckReport, name: str) -> Check:
    return next(one for one in report.checks if one.name == name)


def verdicts(report: CheckReport) -> dict[Verdict, set[str]]:
    return {v: {c.name for c in report.checks if c.verdict is v} for v in Verdict}


REFUSED = {
    "encoder": {"boundary", "prefix", "cache"},
    "decoder": {"prefix"},
    "prefix": set(),
    "encdec": {"prefix", "documents"},
    "unified": set(),
}


@pytest.mark.parametrize("name", list(MODELS))
def test_a_sound_model_fails_no_check_and_what_cannot_be_shown_is_said(
    folder: Path, name: str
) -> None:
    report = check(subject(folder, name), inputs(name))
    assert [one.name for one in report.checks] == list(CHECKS)
    told = verdicts(report)
    assert told[Verdict.FAIL] == set(), report.checks
    assert told[Verdict.REFUSED] == REFUSED[name]
    assert report.passed
    for one in report.checks:
        if one.verdict is Verdict.PASS:
            assert one.difference is not None
            assert one.tolerance is not None
            assert one.difference <= one.tolerance
            assert one.place is None
        assert one.sentence.endswith(".")


@pytest.mark.parametrize(
    "knobs",
    [
        {"window": 3},
        {"documents": (5, 7)},
        {"left_pad": (3,), "right_pad": (0,)},
        {"left_pad": (1,), "right_pad": (2,), "window": 2},
    ],
)
def test_every_knob_of_the_view_is_checked_too(folder: Path, knobs: dict[str, object]) -> None:
    report = check(subject(folder, "decoder"), inputs("decoder", **knobs))
    assert report.passed, report.checks
    pads = sum(sum(knobs.get(side, (0,))) for side in ("left_pad", "right_pad"))  # type: ignore[arg-type, misc]
    assert f"{len(IDS) - pads} tokens" in report.mask


def test_a_report_in_which_nothing_could_be_shown_is_not_passed(folder: Path) -> None:
    report = check(subject(folder, "decoder"), inputs("decoder"), names=("prefix",))
    assert verdicts(report)[Verdict.REFUSED] == {"prefix"}
    assert not report.passed


@pytest.mark.parametrize("name", list(MODELS))
def test_a_text_beyond_the_positions_is_refused(folder: Path, name: str) -> None:
    model = subject(folder, name)
    model.config = replace(model.config, positions=len(IDS) - 1)
    with pytest.raises(ValueError, match=f"has {len(IDS)} tokens, but the model has"):
        check(model, inputs(name))


def test_a_window_that_closes_nothing_through_all_layers_is_said(folder: Path) -> None:
    model = subject(folder, "decoder")
    layers = model.config.layers
    wide = (len(IDS) - 2) // layers + 2
    told = found(check(model, inputs("decoder", window=wide)), "boundary").sentence
    assert f"window of {wide} is not shown" in told
    shown = next(w for w in range(wide, 0, -1) if layers * (w - 1) + 2 <= len(IDS))
    assert f"{layers * (wide - 1) + 2} or more show it" in told
    told = found(check(model, inputs("decoder", window=shown)), "boundary").sentence
    assert "not shown" not in told


def test_a_prefix_in_two_documents_is_asked_where_it_may_read(folder: Path) -> None:
    """Position 0 is in another document than the last token of the prefix."""
    model = subject(folder, "prefix")
    asked = inputs("prefix", documents=(4, len(IDS) - 4), prefix=6)
    told = found(check(model, asked, names=("prefix",)), "prefix")
    assert told.verdict is Verdict.PASS
    assert "Token 5, the last of the prefix, moves position 4;" in told.sentence
    alone = inputs("prefix", documents=(5, len(IDS) - 5), prefix=6)
    told = found(check(model, alone, names=("prefix",)), "prefix")
    assert told.verdict is Verdict.REFUSED


def test_pads_and_cache_of_the_view_are_taken_away() -> None:
    spec = MaskSpec(MaskKind.CAUSAL, 3, past=3, left_pad=(1,), right_pad=(2,))
    text = Text.of(Inputs(((0, 21, 22, 23, 0, 0),), spec), 0)
    assert text.ids == (21, 22, 23)
    assert text.spec == MaskSpec(MaskKind.CAUSAL, 3)


# -- planted faults


class RowLocalTriangle(TorchSubject):
    """A cached chunk compares the row number, not the position, with the key."""

    def chunk(self, given, past, stop):  # type: ignore[no-untyped-def]
        positions, mask = super().chunk(given, past, stop)
        if past:
            rows, keys = mask.shape[-2:]
            mask = np.broadcast_to(np.tri(rows, keys, dtype=bool), mask.shape).copy()
        return positions, mask


class RestartedPositions(TorchSubject):
    """Position ids start at 0 in every chunk."""

    def chunk(self, given, past, stop):  # type: ignore[no-untyped-def]
        positions, mask = super().chunk(given, past, stop)
        return positions - (positions[:, :1] if past else 0), mask


class VisiblePads(TorchSubject):
    """The padding mask was forgotten."""

    def given(self, inputs: Inputs) -> Arrays:
        rows = inputs.mask.rows
        bare = replace(inputs.mask, left_pad=(0,) * rows, right_pad=(0,) * rows)
        return replace(arrays_of(inputs), mask=dense(bare))


class CrossFromTarget(TorchSubject):
    """Cross-attention is masked by the padding of the target."""

    def given(self, inputs: Inputs) -> Arrays:
        given = arrays_of(inputs)
        assert given.cross_mask is not None
        real = real_tokens(inputs.mask)
        keys = given.cross_mask.shape[-1]
        wide = np.pad(real, ((0, 0), (0, max(0, keys - real.shape[1]))), constant_values=True)
        cross = np.broadcast_to(wide[:, None, None, :keys], given.cross_mask.shape)
        return replace(given, cross_mask=cross.copy())


class WiderWindow(TorchSubject):
    """The window counts the keys before the query, not the query itself."""

    def given(self, inputs: Inputs) -> Arrays:
        width = inputs.mask.window
        assert width is not None
        return replace(arrays_of(inputs), mask=dense(replace(inputs.mask, window=width + 1)))


class HeadsBeforeBatch(TorchSubject):
    """The mask is repeated for each head along the wrong axis: ``[H * B]`` read as ``[B * H]``."""

    def given(self, inputs: Inputs) -> Arrays:
        given, heads = arrays_of(inputs), self.config.heads
        batch, _, rows, keys = given.mask.shape
        tiled = np.tile(given.mask[:, 0], (heads, 1, 1)).reshape(batch, heads, rows, keys)
        return replace(given, mask=tiled)


class SeesTheFuture(TorchSubject):
    """The triangle begins one key too late."""

    def given(self, inputs: Inputs) -> Arrays:
        given = arrays_of(inputs)
        size = given.mask.shape[-1]
        return replace(given, mask=given.mask | np.eye(size, k=1, dtype=bool))


class OneWayPrefix(TorchSubject):
    """The prefix is read causally."""

    def given(self, inputs: Inputs) -> Arrays:
        causal = replace(inputs.mask, kind=MaskKind.CAUSAL, prefix=0)
        return replace(arrays_of(inputs), mask=dense(causal))


class LongerPrefix(TorchSubject):
    """The prefix is one token too long."""

    def given(self, inputs: Inputs) -> Arrays:
        longer = replace(inputs.mask, prefix=inputs.mask.prefix + 1)
        return replace(arrays_of(inputs), mask=dense(longer))


class LeakyDocuments(TorchSubject):
    """Positions restart, but the mask knows of no documents."""

    def given(self, inputs: Inputs) -> Arrays:
        return replace(arrays_of(inputs), mask=dense(replace(inputs.mask, documents=())))


class ZeroedAfterSoftmax(TorchSubject):
    """Weights are zeroed after the softmax and not made to add up to 1 again."""

    def _read(self, given, stops, patterns):  # type: ignore[no-untyped-def]
        reading = super()._read(given, stops, patterns)
        return Reading(reading.logits, {k: p * 0.75 for k, p in reading.patterns.items()})


class Restless(TorchSubject):
    """Something is drawn anew in every run."""

    def _read(self, given, stops, patterns):  # type: ignore[no-untyped-def]
        reading = super()._read(given, stops, patterns)
        noise = np.random.default_rng().normal(0, 1e-6, reading.logits.shape)
        return Reading(reading.logits + noise.astype(np.float32), reading.patterns)


D, X = Stack.DECODER, Stack.CROSS
FAULTS = [
    # fault, model, knobs, the checks that must fail, and where the first of them must be
    (RowLocalTriangle, "decoder", {}, {"cache"}, (D, 0, 1)),
    (RestartedPositions, "decoder", {}, {"cache"}, (D, 0, 1)),
    (RestartedPositions, "encdec", {}, {"cache"}, (D, 0, 1)),
    (VisiblePads, "decoder", {}, {"padding", "weights", "batch order"}, (D, 0, 0)),
    (VisiblePads, "encoder", {}, {"padding", "weights", "batch order"}, (Stack.ENCODER, 0, 0)),
    (CrossFromTarget, "encdec", {}, {"padding", "weights"}, (X, 0, 0)),
    (WiderWindow, "decoder", {"window": 3}, {"weights", "boundary"}, (D, 0, 3)),
    (HeadsBeforeBatch, "decoder", {}, {"weights", "batch order"}, (D, 0, None)),
    (SeesTheFuture, "decoder", {}, {"weights", "boundary"}, (D, 0, 0)),
    (OneWayPrefix, "prefix", {}, {"prefix"}, (None, None, 0)),
    (LongerPrefix, "prefix", {}, {"weights", "boundary", "prefix"}, (D, 0, 0)),
    (LeakyDocuments, "decoder", {"documents": (5, 7)}, {"weights", "documents"}, (D, 0, 5)),
    (LeakyDocuments, "unified", {"documents": (5, 7)}, {"weights", "documents"}, (D, 0, 5)),
    (ZeroedAfterSoftmax, "decoder", {}, {"weights"}, (D, 0, 0)),
    (Restless, "decoder", {}, {"determinism"}, None),
]


@pytest.mark.parametrize(
    ("fault", "name", "knobs", "caught", "where"),
    FAULTS,
    ids=[f"{fault.__name__}-{name}" for fault, name, *_ in FAULTS],
)
def test_a_planted_fault_is_caught_and_located(folder, fault, name, knobs, caught, where) -> None:  # type: ignore[no-untyped-def]
    report = check(subject(folder, name, fault), inputs(name, **knobs))
    assert not report.passed
    assert caught <= verdicts(report)[Verdict.FAIL], report.checks
    first = next(one for one in report.checks if one.name in caught)
    if where is None:
        return
    stack, layer, position = where
    place = first.place
    assert place is not None
    assert (place.stack, place.layer) == (stack, layer), first
    assert position in (None, place.position), first
    assert place.sentence() in first.sentence or stack is None


def test_a_fault_of_one_kind_does_not_fail_checks_of_another(folder: Path) -> None:
    report = check(subject(folder, "decoder", RowLocalTriangle), inputs("decoder"))
    assert verdicts(report)[Verdict.FAIL] == {"cache"}
    report = check(subject(folder, "decoder", LeakyDocuments), inputs("decoder"))
    assert verdicts(report)[Verdict.FAIL] == {"documents"}


def test_the_error_without_position_ids_is_told(folder: Path) -> None:
    one = found(check(subject(folder, "decoder"), inputs("decoder"), names=("padding",)), "padding")
    assert one.verdict is Verdict.PASS
    moved = float(one.sentence.rsplit(" ", 1)[1].rstrip("."))
    assert moved > 100 * (one.tolerance or 0)


# -- sizes that cannot tell right from wrong


@pytest.mark.parametrize(
    ("name", "check_name", "ids", "knobs", "said"),
    [
        ("prefix", "prefix", IDS, {"prefix": 0}, "prefix 0 cannot show"),
        ("prefix", "prefix", IDS, {"prefix": 1}, "prefix 1 cannot show"),
        ("prefix", "prefix", IDS, {"prefix": 12}, "is the whole text"),
        ("decoder", "boundary", IDS[:2], {}, "2 tokens cannot show anything"),
        ("decoder", "documents", IDS[:3], {}, "3 tokens cannot be two documents"),
        ("encoder", "cache", IDS, {}, "nothing can be cached"),
        ("encoder", "boundary", IDS, {}, "no boundary"),
    ],
)
def test_what_cannot_be_shown_is_refused(folder, name, check_name, ids, knobs, said) -> None:  # type: ignore[no-untyped-def]
    report = check(subject(folder, name), inputs(name, ids, **knobs), names=(check_name,))
    (one,) = report.checks
    assert one.verdict is Verdict.REFUSED
    assert said in one.sentence
    assert one.difference is None


def test_an_encoder_with_a_window_has_a_boundary(folder: Path) -> None:
    model = subject(folder, "encoder")
    layers = model.config.layers
    report = check(model, inputs("encoder", window=2), names=("boundary",))
    assert report.checks[0].verdict is Verdict.PASS
    assert len(IDS) > 1 + layers


def test_a_check_that_there_is_not_is_named(folder: Path) -> None:
    with pytest.raises(ValueError, match="no check 'colour', only weights, boundary"):
        check(subject(folder, "decoder"), inputs("decoder"), names=("colour",))


def test_progress_is_told_and_a_cancel_stops(folder: Path) -> None:
    told: list[float] = []

    def progress(sentence: str, share: float) -> None:
        told.append(share)

    check(subject(folder, "decoder"), inputs("decoder"), progress=progress)
    assert told == sorted(told)
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        check(subject(folder, "decoder"), inputs("decoder"), cancel=token)


def test_places_count_layers_and_heads_from_one() -> None:
    assert Place(3, Stack.CROSS, 0, 1).sentence() == "cross layer 1, head 2, position 3"
    assert Place(3).sentence() == "the output at position 3"


def test_the_family_that_reads_two_texts_is_checked_on_both(folder: Path) -> None:
    assert MODELS["encdec"][0] is Family.ENCODER_DECODER
    report = check(subject(folder, "encdec"), inputs("encdec"), names=("padding", "batch order"))
    assert report.passed
