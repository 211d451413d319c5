"""Logits and losses of exported models: what torch says."""

from __future__ import annotations

import numpy as np
import pytest
from export_cases import NAMES, inputs, request

from core.run.objectives import objective
from core.text.special import BOS, EOS
from core.types import MaskKind, Objective, ObjectiveJob

every = pytest.mark.parametrize("name", NAMES)
IDS = (BOS, 25, 31, 22, 38, 29, 33, 27, EOS)


@every
@pytest.mark.parametrize("row", [0, 1])
def test_logits_are_those_of_torch(engine, onnx_engine, name, row) -> None:
    past = {} if name == "encoder" else {"past": 3}
    given = inputs(name, 6, rows=2, left_pad=(0, 2), right_pad=(1, 0), window=4, **past)
    asked = request(name, given, row=row)
    found = onnx_engine.logits(asked)
    assert found.dtype == np.float32
    assert found.shape == (given.mask.filled, 40)
    np.testing.assert_allclose(found, engine.logits(asked), atol=5e-5)


@pytest.mark.parametrize("name", ["decoder", "prefix"])
def test_a_mask_that_a_cache_cannot_have_is_run_at_once(engine, onnx_engine, name) -> None:
    asked = request(name, inputs(name, 7, kind=MaskKind.BIDIRECTIONAL))
    np.testing.assert_allclose(onnx_engine.logits(asked), engine.logits(asked), atol=5e-5)


@every
@pytest.mark.parametrize("asked", [one for one in Objective if one is not Objective.REPLACED])
def test_losses_are_those_of_torch(engine, onnx_engine, name, asked) -> None:
    job = ObjectiveJob(1, request(name), IDS, asked, seed=3)
    one, other = objective(engine, job), objective(onnx_engine, job)
    assert one.notes == other.notes
    assert one.top_ids.tolist() == other.top_ids.tolist()
    np.testing.assert_allclose(other.loss, one.loss, atol=1e-4)
    np.testing.assert_allclose(other.top_probs, one.top_probs, atol=1e-4)


def test_what_cannot_be_run_is_refused(onnx_engine) -> None:
    with pytest.raises(ValueError, match="shorten it by"):
        onnx_engine.logits(request("decoder", inputs("decoder", 160)))
