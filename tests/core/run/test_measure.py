"""Measuring: what is timed is what the engine runs; the times themselves are nobody's promise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import run_cases
import torch

from core.model.cache import Cache
from core.run.cancel import Cancelled, CancelToken
from core.run.engine import Engine
from core.run.measure import _inputs, measure, pacer_of
from core.types import Family, Measured, MeasureJob


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return Engine(run_cases.bundle(tmp_path))


def job(name: str, *lengths: int, rows: int = 2, repeats: int = 2) -> MeasureJob:
    given = run_cases.inputs(name, rows=rows)
    return MeasureJob(7, run_cases.request(name, given), lengths, repeats)


@pytest.mark.parametrize("name", run_cases.MODELS)
def test_every_length_that_fits_is_a_point(engine: Engine, name: str) -> None:
    told: list[tuple[str, float]] = []
    found = measure(
        engine, job(name, 1, 9, 40, run_cases.POSITIONS + 1), None, lambda *said: told.append(said)
    )
    assert isinstance(found, Measured)
    assert [point.length for point in found.points] == [1, 9, 40]
    for point in found.points:
        assert point.prefill > 0
        assert (point.decode is None) == (name == "encoder")
        assert point.decode is None or point.decode > 0
        assert point.prefill_flops >= point.decode_flops
    assert (found.engine, found.device, found.dtype) == ("torch", "cpu", "float32")
    assert (found.batch, found.repeats) == (2, 2)
    assert found.threads >= 1
    assert "best of 2" in found.sentence()
    assert "2 rows" in found.sentence()
    assert f"{run_cases.POSITIONS} tokens" in found.notes[0]
    assert [share for _, share in told] == sorted(share for _, share in told)
    assert told[1][0] == "timing 9 tokens"


def test_unified_under_a_bidirectional_mask_takes_no_step(engine: Engine) -> None:
    given = run_cases.inputs("unified", kind=run_cases.B)
    found = measure(engine, MeasureJob(1, run_cases.request("unified", given), (4,)))
    assert found.points[0].decode is None
    assert any("cannot generate" in note for note in found.notes)


@pytest.mark.parametrize("name", ["decoder", "encdec"])
def test_what_is_timed_is_the_model_on_the_whole_text(engine: Engine, name: str) -> None:
    asked = job(name, 12)
    pacer = pacer_of(engine, asked)
    model = engine.model(name, torch.device("cpu"), torch.float32)
    given = _inputs(model.config, asked, 12)
    assert (given.mask.rows, given.mask.length) == (2, 12)
    assert (given.source_mask is not None) == (model.config.family is Family.ENCODER_DECODER)
    pacer.prepare(given)
    whole, shorter = pacer.prefill(12), pacer.prefill(11)
    assert isinstance(whole, Cache)
    assert isinstance(shorter, Cache)
    pacer.step(shorter)
    assert (whole.length, shorter.length) == (12, 11)
    for mine, first in zip(whole.own[1], shorter.own[1], strict=True):
        np.testing.assert_allclose(mine[:, :, :11], first, atol=1e-5)


def test_a_stop_is_heard(engine: Engine) -> None:
    token = CancelToken()

    def stop(sentence: str, share: float) -> None:
        if share > 0:
            token.cancel()

    with pytest.raises(Cancelled):
        measure(engine, job("decoder", 4, 8, 16), token, stop)


@pytest.mark.parametrize(
    ("lengths", "repeats", "said"),
    [
        ((run_cases.POSITIONS + 1,), 1, "one must be between 1 and 300, the positions"),
        ((), 1, "lengths are none, but"),
        ((3,), 0, "repeats is 0, but must be 1 or more"),
    ],
)
def test_nothing_to_measure_gets_a_sentence(engine, lengths, repeats, said) -> None:
    with pytest.raises(ValueError, match=said):
        measure(engine, job("decoder", *lengths, repeats=repeats))
