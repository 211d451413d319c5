from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.pairs import PADS, PAIRS, pinned_sides, sides
from core.mask.dense import dense
from core.mask.padding import real_tokens
from core.text.special import PAD
from core.types import HeadRef, Inputs, MaskKind, MaskSpec, RunRequest, Side, Stack

C, B, P = MaskKind.CAUSAL, MaskKind.BIDIRECTIONAL, MaskKind.PREFIX
IDS = (1, 30, 31, 32, 33, 34)
NAMES = [pair.name for pair in PAIRS]


def run(kind: MaskKind = C, model: str = "decoder", **knobs) -> RunRequest:
    """Six tokens under a mask, the pads of which are added."""
    backend = knobs.pop("backend", "torch")
    left, right = knobs.get("left_pad", (0,))[0], knobs.get("right_pad", (0,))[0]
    past = knobs.get("past", 0)
    spec = MaskSpec(kind, left + len(IDS) + right - past, **knobs)
    inputs = Inputs(((PAD,) * left + IDS + (PAD,) * right,), spec)
    return RunRequest(0, model, inputs, HeadRef(Stack.DECODER), backend=backend)


def two_texts(past: int = 0) -> RunRequest:
    body = MaskSpec(MaskKind.DECODER_SELF, 4 - past, past=past)
    cross = MaskSpec(MaskKind.CROSS, 4 - past, past=past, source=6, right_pad=(1,))
    source = MaskSpec(MaskKind.ENCODER_SELF, 6, right_pad=(1,))
    inputs = Inputs((IDS[:4],), body, ((*IDS[:5], PAD),), source, cross)
    return RunRequest(0, "encdec", inputs, HeadRef(Stack.DECODER))


def made(name: str, asked: RunRequest) -> tuple[Side, Side]:
    found = sides(name, asked)
    assert not isinstance(found, str), found
    return found


def refused(name: str, asked: RunRequest) -> str:
    found = sides(name, asked)
    assert isinstance(found, str)
    assert found.endswith(".")
    return found


def tokens(inputs: Inputs, row: int = 0) -> list[int]:
    return np.array(inputs.rows[row])[real_tokens(inputs.mask)[row]].tolist()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "asked",
    [run(), run(P, prefix=3), run(left_pad=(2,)), run(right_pad=(1,), window=3), run(past=2)],
)
def test_both_sides_read_the_tokens_of_the_view(name: str, asked: RunRequest) -> None:
    for side in made(name, asked):
        assert tokens(side.run.inputs) == list(IDS)
        assert side.run.inputs.mask.window == asked.inputs.mask.window


@pytest.mark.parametrize(
    ("name", "kinds", "prefixes"),
    [
        ("causal-prefix", (C, P), (0, 3)),
        ("causal-bidirectional", (C, B), (0, 0)),
        ("prefix-bidirectional", (P, B), (3, 0)),
    ],
)
def test_masks_are_put_on_unified(name, kinds, prefixes) -> None:
    for asked, prefix in ((run(), 3), (run(P, prefix=4), 4), (run(B, model="encoder"), 3)):
        found = made(name, asked)
        masks = [side.run.inputs.mask for side in found]
        assert tuple(mask.kind for mask in masks) == kinds
        assert [mask.prefix for mask in masks] == [prefix if p else 0 for p in prefixes]
        assert {side.run.model for side in found} == {"unified"}
    assert "two texts" in refused(name, two_texts())


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("causal-bidirectional", run(window=1)),
        ("prefix-bidirectional", run(P, prefix=len(IDS))),
    ],
)
def test_masks_that_open_the_same_cells_show_nothing(name: str, asked: RunRequest) -> None:
    assert "6 tokens cannot tell" in refused(name, asked)


@pytest.mark.parametrize(
    ("pads", "expected"), [({}, PADS), ({"left_pad": (2,), "right_pad": (4,)}, 6)]
)
def test_pads_move_from_left_to_right(pads, expected) -> None:
    masks = [side.run.inputs.mask for side in made("padding", run(**pads))]
    assert [(m.left_pad, m.right_pad) for m in masks] == [((expected,), (0,)), ((0,), (expected,))]


def test_pads_of_two_texts_are_those_of_the_source() -> None:
    for one, left, right in zip(made("padding", two_texts()), (1, 0), (0, 1), strict=True):
        given = one.run.inputs
        assert (given.source_mask.left_pad, given.source_mask.right_pad) == ((left,), (right,))
        assert given.cross_mask.left_pad == (left,)
        assert given.rows == (IDS[:4],)


def test_position_ids_are_left_out_of_one_side() -> None:
    with_ids, without = made("positions", run())
    assert (with_ids.positions, without.positions) == (True, False)
    assert with_ids.run == without.run
    assert with_ids.run.inputs.mask.left_pad == (PADS,)


def test_masking_late_is_on_one_side() -> None:
    before, after = made("softmax", run())
    assert (before.mask_after_softmax, after.mask_after_softmax) == (False, True)
    assert before.run == after.run


@pytest.mark.parametrize("name", ["positions", "softmax"])
def test_faults_need_torch(name: str) -> None:
    assert "choose torch" in refused(name, run(backend="onnx"))


def test_what_a_cache_lacks_is_named() -> None:
    assert "follows the prefix" in refused("cache", run(P, prefix=6))
    one = replace(run(), inputs=Inputs((IDS[:1],), MaskSpec(C, 1)))
    assert refused("cache", one).startswith("The text is a single token")
    body = MaskSpec(MaskKind.DECODER_SELF, 1)
    cross = MaskSpec(MaskKind.CROSS, 1, source=6)
    source = MaskSpec(MaskKind.ENCODER_SELF, 6)
    both = replace(two_texts(), inputs=Inputs((IDS[:1],), body, (IDS,), source, cross))
    assert refused("cache", both).startswith("The target is a single token")


def test_a_first_part_is_cached() -> None:
    for asked, past in (
        (run(past=2), 2),
        (run(), 3),
        (run(P, prefix=5), 5),
        (two_texts(), 2),
        (two_texts(1), 1),
    ):
        cached, uncached = (side.run.inputs for side in made("cache", asked))
        assert (cached.mask.past, uncached.mask.past) == (past, 0)
        assert cached.mask.filled == uncached.mask.filled
        if cached.cross_mask is not None:
            assert (cached.cross_mask.past, cached.cross_mask.length) == (past, 4 - past)
    assert "nothing can be cached" in refused("cache", run(B))
    assert "Nothing follows the prefix" in refused("cache", run(P, prefix=6))


def test_backends_need_a_bundled_model() -> None:
    torch, onnx = made("backends", run(backend="onnx"))
    assert (torch.run.backend, onnx.run.backend) == ("torch", "onnx")
    assert "choose a bundled model" in refused("backends", run(model="a.ONNX", backend="onnx"))


def test_a_kept_view_is_a() -> None:
    kept = run(window=2)
    assert "Press Pin" in pinned_sides(None, run())
    a, b = pinned_sides(kept, run())
    assert (a.run, b.run) == (kept, run())


def test_an_unknown_pair_is_named() -> None:
    with pytest.raises(ValueError, match="There is no pair 'luck', only causal-prefix"):
        sides("luck", run())


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(NAMES),
    st.sampled_from([C, B, P]),
    st.integers(1, 6),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=3),
    st.data(),
)
def test_the_shown_row_of_any_batch_is_compared(name, kind, length, pads, data) -> None:
    """Rows are equally wide; each has its own tokens."""
    width = length + max(map(sum, pads))
    left = tuple(one for one, _ in pads)
    right = tuple(width - length - one for one in left)
    rows = tuple(
        (PAD,) * a + tuple(range(30 + 10 * n, 30 + 10 * n + length)) + (PAD,) * b
        for n, (a, b) in enumerate(zip(left, right, strict=True))
    )
    knobs = {"prefix": data.draw(st.integers(0, length))} if kind is P else {}
    inputs = Inputs(rows, MaskSpec(kind, width, left_pad=left, right_pad=right, **knobs))
    row = data.draw(st.integers(0, len(rows) - 1))
    asked = replace(run(), inputs=inputs, row=row)
    found = sides(name, asked)
    if isinstance(found, str):
        assert name == "cache" or "open the same cells" in found
        return
    if "-" in name:
        masks = [dense(side.run.inputs.mask) for side in found]
        assert (masks[0] != masks[1]).any()
    for side in found:
        assert tokens(side.run.inputs, side.run.row) == tokens(inputs, row)
