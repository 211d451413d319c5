"""Flow of exported models: what torch says, without its gradient."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from export_cases import NAMES, inputs, request

from core.export.ort_flow import NO_GRADIENT, NO_VALUES, evidence
from core.mask.intervals import RowIntervals
from core.mask.reach import below, read_across
from core.run.arrays import arrays_of
from core.run.flow import flow
from core.run.rollout import by_value_norm, even, walk
from core.types import FlowJob, FlowMethod, FlowResult, MaskKind, Stack

ROOT = Path(__file__).resolve().parents[3]
ROLLOUT, NORM, GRADIENT = FlowMethod
every = pytest.mark.parametrize("name", NAMES)


def assert_same_flow(
    wanted: FlowResult, got: FlowResult, known: dict[Stack, set[FlowMethod]]
) -> None:
    assert (got.generation, got.position, got.layer) == (
        wanted.generation,
        wanted.position,
        wanted.layer,
    )
    assert got.token == wanted.token
    assert [one.stack for one in got.stacks] == [one.stack for one in wanted.stacks]
    for one, other in zip(got.stacks, wanted.stacks, strict=True):
        assert np.array_equal(one.reach, other.reach)
        assert one.shares.keys() == known[one.stack]
        for method, shares in one.shares.items():
            assert np.abs(shares - other.shares[method]).max() < 1e-4
            assert (shares[~one.reach] == 0).all()
    mine, theirs = (
        {
            (e.upper(n), e.lower(n), e.head_ref(n) is None): float(e.rollout[n])
            for n in range(len(e))
        }
        for e in (got.edges, wanted.edges)
    )
    for edge in mine.keys() & theirs.keys():
        assert mine[edge] == pytest.approx(theirs[edge], abs=1e-4)
    borderline = [mine.get(e, theirs.get(e, 0.0)) for e in mine.keys() ^ theirs.keys()]
    assert max(borderline, default=0.0) < 0.0022


def known(name: str, top: Stack) -> dict[Stack, set[FlowMethod]]:
    if name == "encoder":
        return {top: {ROLLOUT}}
    return {top: {ROLLOUT, NORM}, Stack.ENCODER: {ROLLOUT}}


@every
@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("position", [0, 5, 8])
def test_a_flow_is_that_of_torch(engine, onnx_engine, name, row, position) -> None:
    given = inputs(name, 9, rows=2, left_pad=(0, 3), right_pad=(1, 0), window=4)
    job = FlowJob(3, request(name, given, row=row), position)
    top = Stack.ENCODER if name == "encoder" else Stack.DECODER
    assert_same_flow(flow(engine, job), flow(onnx_engine, job), known(name, top))


@pytest.mark.parametrize("name", ["decoder", "encdec"])
def test_one_layer_of_cached_columns_is_that_of_torch(engine, onnx_engine, name) -> None:
    job = FlowJob(1, request(name, inputs(name, 3, past=40)), 41, layer=1, token=7)
    assert_same_flow(flow(engine, job), flow(onnx_engine, job), known(name, Stack.DECODER))


def test_a_stack_is_named_by_its_mask(engine, onnx_engine) -> None:
    given = inputs("decoder", 5, kind=MaskKind.BIDIRECTIONAL)
    job = FlowJob(1, request("decoder", given), 2)
    same = known("decoder", Stack.ENCODER)[Stack.ENCODER] | {NORM}
    assert_same_flow(flow(engine, job), flow(onnx_engine, job), {Stack.ENCODER: same})


@every
def test_what_an_export_cannot_tell_is_said(onnx_engine, name) -> None:
    result = flow(onnx_engine, FlowJob(1, request(name), 3))
    hidden = name in ("encoder", "encdec")
    assert result.notes == ((NO_GRADIENT, NO_VALUES) if hidden else (NO_GRADIENT,))
    if name == "encoder":
        assert np.isnan(result.edges.value_norm).all()


def test_what_the_model_has_not_is_named(onnx_engine) -> None:
    job = FlowJob(1, request("decoder"), 6)
    with pytest.raises(ValueError, match="position is 6, but must be between 0 and 5"):
        flow(onnx_engine, job)
    with pytest.raises(ValueError, match="layer is 9"):
        flow(onnx_engine, replace(job, position=1, layer=9))


@pytest.mark.parametrize("name", ["decoder", "encoder", "encdec"])
@pytest.mark.parametrize("seed", range(4))
def test_nothing_leaves_the_cone_of_any_mask(onnx_engine, name, seed) -> None:
    """Masks that no spec describes, with rows that may read nothing."""
    rng = np.random.default_rng(seed)
    given = arrays_of(inputs(name, 7))
    given = replace(given, mask=rng.random(given.mask.shape) < 0.3)
    if given.source is not None:
        source = replace(given.source, mask=rng.random(given.source.mask.shape) < 0.5)
        cross = rng.random(given.cross_mask.shape) < 0.2
        given = replace(given, source=source, cross_mask=cross)
    found = evidence(onnx_engine.model(name), given, top=Stack.DECODER, position=4)
    layers = [RowIntervals.from_dense(given.mask[0, 0])] * found.depth[Stack.DECODER]
    cone = {Stack.DECODER: below(layers, np.arange(7) == 4)}
    sizes = {Stack.DECODER: 7}
    if given.source is not None:
        crossing = [RowIntervals.from_dense(given.cross_mask[0, 0])] * len(layers)
        memory = read_across(crossing, cone[Stack.DECODER], 5)
        own = [RowIntervals.from_dense(given.source.mask[0, 0])] * found.depth[Stack.ENCODER]
        cone[Stack.ENCODER], sizes[Stack.ENCODER] = below(own, memory), 5
    plain = {key: even(pattern) for key, pattern in found.patterns.items()}
    normed = {key: by_value_norm(found.patterns[key], norm) for key, norm in found.norms.items()}
    for weights in (plain, normed):
        for stack, mass in walk(weights, found.depth, sizes, 4).mass.items():
            assert (mass[~cone[stack]] == 0).all()
            assert np.isfinite(mass).all()


def test_torch_is_not_imported() -> None:
    code = (
        "import sys, core.run.flow, core.export.ort_engine\n"
        "assert not {'torch', 'transformers'} & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
