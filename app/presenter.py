"""From a scene and an answer to what the widgets are told: pure functions, no Qt objects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from app.scene import Scene
from app.scene import scene as scene_of
from app.state import MOST_PADS, ViewState
from core.mask.intervals import row_intervals
from core.mask.padding import position_ids, real_tokens
from core.mask.spec import document_starts, prefix_end, whole
from core.text.tokenizer import MASK, Tokenizer
from core.types import Family, HeadPattern, MaskKind, MaskSpec, RunResult, Stack
from widgets.mask_form import KnobLimits, MaskKnobs
from widgets.next_token_bars import Candidate
from widgets.token_strip import TokenStripState


def labels(tokenizer: Tokenizer, ids: tuple[int, ...]) -> list[str]:
    """How tokens are written on an axis."""
    return [tokenizer.label(i) for i in ids]


def knobs(state: ViewState) -> MaskKnobs:
    """What the mask form shows for a state."""
    row = state.current
    return MaskKnobs(
        state.prefix, state.past, row.left_pad, row.right_pad, state.window, state.documents
    )


def limits(state: ViewState, scene: Scene) -> KnobLimits:
    """How far each knob goes; None hides one that the family does not have."""
    spec = scene.inputs.mask
    shortest = min(spec.real_tokens(b) for b in range(spec.rows))
    longest = max(spec.filled, scene.masks[state.stack].filled)
    return KnobLimits(
        prefix=shortest if spec.kind is MaskKind.PREFIX else None,
        past=spec.filled - 1 if spec.kind.is_causal else None,
        left_pad=MOST_PADS,
        right_pad=MOST_PADS,
        window=longest,
        documents=state.family is not Family.ENCODER_DECODER,
    )


def with_knobs(state: ViewState, new: MaskKnobs) -> ViewState:
    """The state after the form was changed."""
    changed = state.with_row(left_pad=new.left_pad, right_pad=new.right_pad)
    return replace(
        changed, prefix=new.prefix, past=new.past, window=new.window, documents=new.documents
    )


def fitted(state: ViewState, tokenizer: Tokenizer) -> ViewState:
    """The state with knobs brought into range after its text or padding changed.

    A text is never refused for the sake of a knob: prefix and past are cut to what there is, the
    last document grows or shrinks, and documents that no longer fit are one again.
    """
    plain = replace(state, prefix=0, past=0, documents=())
    spec = scene_of(plain, tokenizer).inputs.mask
    real = [spec.real_tokens(b) for b in range(spec.rows)]
    documents = state.documents
    if documents:
        spare = max(real) - sum(documents[:-1])
        documents = (*documents[:-1], spare) if spare > 0 else ()
    return replace(
        state,
        prefix=min(state.prefix, min(real)),
        past=min(state.past, spec.filled - 1),
        documents=documents,
    )


def strip(
    tokenizer: Tokenizer, scene: Scene, stack: Stack, selected: int | None
) -> TokenStripState:
    """The chips of the sequence that the shown queries belong to.

    ``selected`` is a query row of the shown mask, or None.
    """
    own = Stack.DECODER if stack is Stack.CROSS else stack
    spec = scene.masks[own]
    ids = scene.key_ids[own]
    row = scene.row
    generated = scene.generated if own is not Stack.ENCODER else 0
    first = len(ids) - spec.right_pad[row] - generated
    return TokenStripState(
        labels=tuple(labels(tokenizer, ids)),
        positions=tuple(position_ids(whole(spec))[row].tolist()),
        left_pad=spec.left_pad[row],
        right_pad=spec.right_pad[row],
        prefix_end=prefix_end(spec, row) if spec.prefix else None,
        cached=spec.past,
        generated_from=first if generated else None,
        document_starts=document_starts(spec, row) if spec.documents else (),
        selected=None if selected is None else spec.past + selected,
    )


def query_shown(scene: Scene, stack: Stack, row: int | None) -> int:
    """The query row whose candidates are shown.

    The selected one; without a selection the first ``[MASK]`` of an encoder, else the last real
    row, whose next token continues the text.
    """
    spec = scene.inputs.mask
    decoder = Stack.DECODER in scene.masks
    if row is not None and row < spec.length and not (decoder and stack is Stack.ENCODER):
        return row
    last = spec.length - 1 - spec.right_pad[scene.row]
    if decoder:
        return max(last, 0)
    ids = scene.query_ids[Stack.ENCODER]
    return ids.index(MASK) if MASK in ids else max(last, 0)


def cell_shown(state: ViewState, scene: Scene) -> tuple[int, int]:
    """The selected cell, or without a selection the query that speaks and itself as the key."""
    if state.cell is not None:
        return state.cell
    spec = scene.masks[state.stack]
    if state.stack is Stack.ENCODER and Stack.DECODER in scene.masks:
        return 0, 0
    row = query_shown(scene, state.stack, None)
    return row, min(spec.past + row, spec.keys - 1) if spec.source is None else 0


def candidates(
    tokenizer: Tokenizer, scene: Scene, stack: Stack, result: RunResult, row: int | None
) -> tuple[str, str, list[Candidate]]:
    """Title, note and bars of the likeliest tokens at the shown query."""
    query = query_shown(scene, stack, row)
    own = next(s for s in (Stack.DECODER, Stack.ENCODER) if s in scene.masks)
    token = tokenizer.label(scene.query_ids[own][query])
    bars = [
        Candidate(int(i), tokenizer.label(int(i)), float(p))
        for i, p in zip(result.top_ids[query], result.top_probs[query], strict=True)
    ]
    position = scene.masks[own].past + query
    if scene.inputs.mask.kind is MaskKind.BIDIRECTIONAL:
        title = "Fill" if scene.query_ids[own][query] == MASK else "Token"
        return title, f"for “{token}” at {position}", bars
    return "Next token", f"after “{token}” at {position}", bars


def curves(scene: Scene, result: RunResult, head: HeadPattern) -> dict[str, NDArray[np.float32]]:
    """Numbers along the queries of the shown head, each float32 ``[Tq]`` in nats; NaN for pads.

    How surprising the token is that follows; the entropy of what the head reads; and the entropy
    that reading all allowed keys evenly would have, the most there can be.
    """
    spec = scene.masks[head.head.stack]
    weights = head.pattern.astype(np.float64)
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    reads = np.bincount(
        np.repeat((made := row_intervals(spec, scene.row)).rows, made.hi - made.lo),
        minlength=spec.length,
    )
    even = np.log(np.maximum(reads, 1))
    found = {"attention entropy": -(weights * logs).sum(axis=1), "entropy if read evenly": even}
    if len(result.surprise) == spec.length and head.head.stack is not Stack.ENCODER:
        found = {"surprise of the next token": result.surprise, **found}
    queries = spec if spec.source is None else scene.inputs.mask
    real = real_tokens(queries)[scene.row, queries.past :]
    return {n: np.where(real, v, np.nan).astype(np.float32) for n, v in found.items()}


def row_titles(state: ViewState) -> list[str]:
    """How the batch rows are named in the picker."""
    return [f"{n} · {row.text[:24] or '(empty)'}" for n, row in enumerate(state.rows, start=1)]


def pairs_text(spec: MaskSpec, count: int) -> str:
    """Allowed pairs of one batch row in words."""
    return f"{count:,} of {spec.length * spec.keys:,} pairs"
