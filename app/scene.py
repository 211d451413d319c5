"""From a `ViewState` to token ids, masks and labels: pure, and quick enough for every mouse move.

Batch rows of different lengths are made equal with pads: on the left where the model generates (so
that every row ends in the last column), on the right where it only reads.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.state import FAMILY_KIND, RowState, ViewState, fits
from core.text.tokenizer import BOS, EOS, PAD, Tokenizer
from core.types import Family, Inputs, MaskKind, MaskSpec, ModelCard, Stack

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Scene:
    """What the state means: the inputs of the engine and how they are written on the axes.

    ``masks`` holds the mask of every stack of the model. ``query_ids`` and ``key_ids`` are the
    tokens of the shown batch row along the axes of each stack, pads included.
    """

    inputs: Inputs
    row: int
    masks: dict[Stack, MaskSpec]
    query_ids: dict[Stack, Ids]
    key_ids: dict[Stack, Ids]
    generated: int
    """How many of the last tokens of the shown row were generated."""


@dataclass(frozen=True)
class _Batch:
    """Rows of one length with the pads that make them so."""

    rows: tuple[Ids, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]

    @property
    def width(self) -> int:
        return len(self.rows[0])


def _padded(tokens: list[Ids], rows: tuple[RowState, ...], *, left: bool) -> _Batch:
    """Add each row's own pads, then what is missing to the longest row on one side."""
    width = max(len(t) + r.left_pad + r.right_pad for t, r in zip(tokens, rows, strict=True))
    made, lefts, rights = [], [], []
    for ids, row in zip(tokens, rows, strict=True):
        spare = width - len(ids) - row.left_pad - row.right_pad
        lefts.append(row.left_pad + (spare if left else 0))
        rights.append(row.right_pad + (0 if left else spare))
        made.append((PAD,) * lefts[-1] + ids + (PAD,) * rights[-1])
    return _Batch(tuple(made), tuple(lefts), tuple(rights))


def scene(state: ViewState, tokenizer: Tokenizer) -> Scene:
    """What a state means.

    Raises
    ------
    ValueError
        with a sentence for the user where the knobs cannot be: it names the knob, its value and
        the allowed range.
    """
    if state.family is Family.ENCODER_DECODER:
        return _two_stacks(state, tokenizer)
    kind = FAMILY_KIND[state.family]
    reads_only = kind is MaskKind.BIDIRECTIONAL
    tokens = []
    for row in state.rows:
        ids = (BOS, *tokenizer.encode(row.text), *row.generated)
        tokens.append((*ids, EOS) if reads_only else ids)
    batch = _padded(tokens, state.rows, left=not reads_only)
    spec = MaskSpec(
        kind,
        _chunk(batch.width, state.past),
        past=state.past,
        prefix=state.prefix if kind is MaskKind.PREFIX else 0,
        left_pad=batch.left,
        right_pad=batch.right,
        window=state.window,
        documents=state.documents,
    )
    stack = Stack.ENCODER if reads_only else Stack.DECODER
    shown = batch.rows[state.row]
    return Scene(
        Inputs(batch.rows, spec),
        state.row,
        {stack: spec},
        {stack: shown[state.past :]},
        {stack: shown},
        len(state.current.generated),
    )


def _chunk(width: int, past: int) -> int:
    if not 0 <= past < width:
        raise ValueError(f"past is {past}, but must be between 0 and {width - 1}.")
    return width - past


def _two_stacks(state: ViewState, tokenizer: Tokenizer) -> Scene:
    sources: list[Ids] = [(BOS, *tokenizer.encode(row.text), EOS) for row in state.rows]
    targets: list[Ids] = [
        (BOS, *tokenizer.encode(row.target), *row.generated) for row in state.rows
    ]
    source = _padded(sources, state.rows, left=False)
    target = _padded(targets, tuple(RowState("") for _ in targets), left=True)
    length = _chunk(target.width, state.past)
    source_mask = MaskSpec(
        MaskKind.ENCODER_SELF,
        source.width,
        left_pad=source.left,
        right_pad=source.right,
        window=state.window,
    )
    body = MaskSpec(
        MaskKind.DECODER_SELF,
        length,
        past=state.past,
        left_pad=target.left,
        right_pad=target.right,
        window=state.window,
    )
    cross = MaskSpec(
        MaskKind.CROSS,
        length,
        past=state.past,
        source=source.width,
        left_pad=source.left,
        right_pad=source.right,
    )
    read, written = source.rows[state.row], target.rows[state.row]
    chunk = written[state.past :]
    return Scene(
        Inputs(target.rows, body, source.rows, source_mask, cross),
        state.row,
        {Stack.ENCODER: source_mask, Stack.DECODER: body, Stack.CROSS: cross},
        {Stack.ENCODER: read, Stack.DECODER: chunk, Stack.CROSS: chunk},
        {Stack.ENCODER: read, Stack.DECODER: written, Stack.CROSS: read},
        len(state.current.generated),
    )


def asks(state: ViewState, scene: Scene) -> tuple[object, ...]:
    """What a run depends on."""
    return scene.inputs, scene.row, state.model, state.device, state.dtype, state.backend


def check_states(
    states: tuple[ViewState, ...], cards: list[ModelCard], tokenizer: Tokenizer
) -> None:
    """Raise ValueError with a sentence if one of some states cannot be shown here."""
    known = {card.name: card for card in cards}
    for state in states:
        if state.model not in known or not fits(known[state.model], state.family):
            raise ValueError(f"There is no model {state.model!r} for {state.family.value} here.")
        scene(state, tokenizer)
