"""The pairs that people ask for: from one run to two sides that differ in one thing. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from core.mask.dense import dense
from core.mask.spec import prefix_end
from core.run.checks.subject import Text
from core.run.prompt import one_row
from core.types import Inputs, MaskKind, RunRequest, Side

PADS = 3
"""Pads of a pair about padding where the row has none of its own."""
UNIFIED = "unified"
"""The model that was trained under three masks: what a mask alone changes shows there."""
PINNED = "pinned"
"""The name of the pair whose A is a view that the user kept."""

Sides = tuple[Side, Side]


@dataclass(frozen=True)
class Pair:
    """A ready pair: ``make`` gives its sides, or a sentence that says why there are none."""

    name: str
    title: str
    tip: str
    make: Callable[[RunRequest], Sides | str]


def _masks(kinds: tuple[MaskKind, MaskKind], run: RunRequest) -> Sides | str:
    """The same tokens under two masks of `UNIFIED`, without pads and cache."""
    text = Text.of(run.inputs, run.row)
    if text.source_spec is not None:
        return (
            "An encoder–decoder has two texts, and this pair reads one under two masks; choose"
            " another family."
        )
    sides = []
    for kind in kinds:
        prefix = 0
        if kind is MaskKind.PREFIX:
            prefix = text.spec.prefix if text.spec.prefix > 1 else max(2, text.length // 2)
            prefix = min(prefix, text.length)
        spec = replace(text.spec, kind=kind, prefix=prefix)
        inputs = replace(text, spec=spec).batch([text.ids])
        title = f"prefix {prefix}" if prefix else kind.value
        sides.append(Side(title, replace(run, model=UNIFIED, inputs=inputs, row=0)))
    one, other = sides
    if np.array_equal(dense(one.run.inputs.mask), dense(other.run.inputs.mask)):
        return (
            f"{text.length} tokens cannot tell {one.title} from {other.title}: both masks open the"
            " same cells. Take a longer text, or another prefix."
        )
    return one, other


def _padded(run: RunRequest, left: int, right: int) -> RunRequest:
    """The shown row with other pads around it (an encoder-decoder: around its source)."""
    text = Text.of(run.inputs, run.row)
    if text.source_spec is None:
        inputs = text.batch([text.ids], [left], [right])
    else:
        inputs = text.batch([text.ids], source_left=[left], source_right=[right])
    return replace(run, inputs=inputs, row=0)


def _pads(inputs: Inputs, row: int) -> int:
    spec = inputs.mask if inputs.source_mask is None else inputs.source_mask
    return spec.left_pad[row] + spec.right_pad[row] or PADS


def _padding(run: RunRequest) -> Sides | str:
    pads = _pads(run.inputs, run.row)
    left, right = _padded(run, pads, 0), _padded(run, 0, pads)
    return Side(f"{pads} left pads", left), Side(f"{pads} right pads", right)


def _positions(run: RunRequest) -> Sides | str:
    if run.backend == "onnx":
        return _only_torch("leave position ids out")
    padded = _padded(run, _pads(run.inputs, run.row), 0)
    return Side("position ids", padded), Side("columns as positions", padded, positions=False)


def _cached(run: RunRequest) -> Sides | str:
    whole = one_row(run.inputs, run.row)
    spec = whole.mask
    if not spec.kind.is_causal:
        return (
            f"Under a {spec.kind.value} mask every state changes with every new token, so nothing"
            " can be cached; choose a family that generates."
        )
    end = prefix_end(spec, 0) if spec.prefix > 1 else 1
    past = run.inputs.mask.past or max(spec.filled // 2, end)
    if past >= spec.filled:
        if spec.prefix > 1:
            return (
                "Nothing follows the prefix, which is cached in one piece; add a token, or shorten"
                " the prefix."
            )
        text = "target" if spec.kind is MaskKind.DECODER_SELF else "text"
        return f"The {text} is a single token, and none follows it that reads a cache; add one."
    cached = replace(
        whole,
        mask=replace(spec, past=past, length=spec.filled - past),
        cross_mask=whole.cross_mask
        and replace(whole.cross_mask, past=past, length=spec.filled - past),
    )
    return (
        Side(f"{past} cached", replace(run, inputs=cached, row=0)),
        Side("uncached", replace(run, inputs=whole, row=0)),
    )


def _softmax(run: RunRequest) -> Sides | str:
    if run.backend == "onnx":
        return _only_torch("mask after the softmax")
    return Side("masked before", run), Side("zeroed after", run, mask_after_softmax=True)


def _backends(run: RunRequest) -> Sides | str:
    if run.model.lower().endswith(".onnx"):
        return f"{run.model} has no model on torch beside it; choose a bundled model."
    plain = replace(run, dtype="float32")
    return (
        Side("torch", replace(plain, backend="torch")),
        Side("ONNX", replace(plain, backend="onnx")),
    )


def _only_torch(what: str) -> str:
    return f"An exported model cannot {what}; choose torch to see what that does."


_C, _P, _B = MaskKind.CAUSAL, MaskKind.PREFIX, MaskKind.BIDIRECTIONAL
_ON = f"The same tokens and the weights of “{UNIFIED}” on both sides: the mask alone differs"

PAIRS = (
    Pair("causal-prefix", f"Causal / prefix · {UNIFIED}", _ON, partial(_masks, (_C, _P))),
    Pair(
        "causal-bidirectional",
        f"Causal / bidirectional · {UNIFIED}",
        _ON,
        partial(_masks, (_C, _B)),
    ),
    Pair(
        "prefix-bidirectional",
        f"Prefix / bidirectional · {UNIFIED}",
        _ON,
        partial(_masks, (_P, _B)),
    ),
    Pair("padding", "Left / right padding", "Pads move, the tokens stay", _padding),
    Pair(
        "positions",
        "With / without position ids",
        "Under left pads, position ids that count real tokens or just columns",
        _positions,
    ),
    Pair("cache", "Cached / uncached", "A first part from the cache, or all at once", _cached),
    Pair(
        "softmax",
        "Before / after softmax",
        "Closed cells are closed before the softmax, or zeroed after it and not renormalised",
        _softmax,
    ),
    Pair("backends", "Torch / ONNX", "The same model on torch and on ONNX Runtime", _backends),
)
"""Every ready pair, in the order in which they are offered."""


def sides(name: str, run: RunRequest) -> Sides | str:
    """The sides of a ready pair for what is on screen; a sentence where it has none.

    Raises
    ------
    ValueError
        for a pair that there is not.
    """
    for pair in PAIRS:
        if pair.name == name:
            return pair.make(run)
    raise ValueError(f"There is no pair {name!r}, only {', '.join(p.name for p in PAIRS)}.")


def pinned_sides(kept: RunRequest | None, run: RunRequest) -> Sides | str:
    """A view that was kept as A, and the one on screen as B."""
    if kept is None:
        return "Press Pin to keep this view as A; then change anything, and B follows."
    return Side("pinned", kept), Side("this view", run)
