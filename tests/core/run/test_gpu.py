"""The GPU says what the CPU says; skipped without one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from run_cases import GENERATORS, MODELS, inputs, request

from core.checkpoints import bundled
from core.run.checks.run import check
from core.run.checks.torch_subject import TorchSubject
from core.run.compare import compare
from core.run.engine import Engine
from core.run.flow import flow
from core.types import CompareJob, FlowJob, GenerateRequest, Inputs, Sampling, Side

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]


def case(name: str) -> Inputs:
    knobs = {"prefix": 3} if name in ("prefix", "unified") else {}
    past = {"past": 4} if name in GENERATORS else {}
    return inputs(name, 6, rows=2, left_pad=(0, 1), right_pad=(2, 0), **knobs, **past)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("dtype", "bound"), [("float32", 1e-4), ("bfloat16", 0.05)])
def test_a_run_on_the_gpu_is_the_run_on_the_cpu(
    engine: Engine, name: str, dtype: str, bound: float
) -> None:
    on_cpu = request(name, case(name), row=1, top=30)
    one, other = engine.run(on_cpu), engine.run(replace(on_cpu, device="cuda", dtype=dtype))
    assert other.device.startswith("cuda")
    np.testing.assert_allclose(other.head.pattern, one.head.pattern, atol=bound)
    mine, theirs = (np.zeros(one.top_probs.shape) for _ in range(2))
    np.put_along_axis(mine, one.top_ids, one.top_probs, axis=1)
    np.put_along_axis(theirs, other.top_ids, other.top_probs, axis=1)
    np.testing.assert_allclose(theirs, mine, atol=bound)
    if one.cache_difference is not None:
        assert other.cache_difference is not None
        assert other.cache_difference < 10 * bound


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(0.8, top_k=10, seed=2)])
def test_a_text_generated_on_the_gpu_is_the_one_of_the_cpu(
    engine: Engine, name: str, sampling: Sampling
) -> None:
    run = request(name, case(name), row=1)
    texts = [
        [e.token for e in engine.generate(GenerateRequest(replace(run, device=d), sampling, 12))]
        for d in ("cpu", "cuda")
    ]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("name", MODELS)
def test_a_flow_on_the_gpu_is_the_flow_on_the_cpu(engine: Engine, name: str) -> None:
    """Also where the run that is shown is one of half precision."""
    job = FlowJob(1, request(name, case(name), row=1), 5)
    there = replace(job.run, device="cuda", dtype="float16")
    one, other = flow(engine, job), flow(engine, replace(job, run=there))
    for mine, theirs in zip(one.stacks, other.stacks, strict=True):
        for method, shares in mine.shares.items():
            np.testing.assert_allclose(theirs.shares[method], shares, atol=1e-3, rtol=1e-2)
            assert (theirs.shares[method][~theirs.reach] == 0).all()


@pytest.mark.parametrize("name", MODELS)
def test_the_checks_pass_on_the_gpu(folder, name):
    model = bundled.load(name, folder).to("cuda")
    report = check(TorchSubject(model, name), case(name))
    assert report.passed, report.checks


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("fault", [{}, {"positions": False}, {"mask_after_softmax": True}], ids=str)
def test_cpu_and_gpu_side_by_side_part_nowhere(engine: Engine, name: str, fault) -> None:
    run = request(name, case(name), row=1)
    sides = (Side(d, replace(run, device=d), **fault) for d in ("cpu", "cuda"))
    found = compare(lambda run: engine, CompareJob(1, *sides, run.head))
    assert found.first is None
    assert all(levels.relative.max() < 1e-3 for levels in found.levels.values())
