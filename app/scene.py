"""From a `ViewState` to token ids, masks and labels: pure, and quick enough for every mouse move.

Batch rows of different lengths are made equal with pads: on the left where the model generates (so
that every row ends in the last column), on the right where it only reads.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.state import FAMILY_KIND, RowState, ViewState, fits
from core.text.objectives import refilled
from core.text.tokenizer import BOS, EOS, PAD, Tokenizer
from core.types import Family, Inputs, MaskKind, MaskSpec, ModelCard, RunRequest, Stack
from core.types.masks import require

Ids = tuple[int, ...]

_ENDS = (".", "!", "?", "…")


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


def document(state: ViewState, tokenizer: Tokenizer) -> Ids:
    """The shown text as one document, as `framed`: what objectives corrupt.

    What was generated is a part of it. Spans that an encoder-decoder has written are put back into
    its source; a sentinel without one stays.
    """
    row = state.current
    text = tokenizer.encode(row.text)
    if state.family is Family.ENCODER_DECODER:
        text = refilled(text, (*tokenizer.encode(row.target), *row.generated))
    else:
        text += row.generated
    return framed(tuple(token for token in text if token not in (BOS, EOS, PAD)), tokenizer)


def framed(text: Ids, tokenizer: Tokenizer) -> Ids:
    """A text with its begin, and its end where it ends a sentence: what breaks off goes on."""
    is_finished = bool(sentence_ends(text[-1:], tokenizer))
    return (BOS, *text, EOS) if is_finished else (BOS, *text)


def sentence_ends(ids: Ids, tokenizer: Tokenizer) -> Ids:
    """Those of the ids that end a sentence, each once: a full stop and its like."""
    return tuple(i for i in sorted(set(ids)) if tokenizer.label(i).rstrip("\"'”’")[-1:] in _ENDS)


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


def request(state: ViewState, shown: Scene, generation: int = 1, *, top: int = 8) -> RunRequest:
    """What the engine is asked for a state and what it means."""
    return RunRequest(
        generation=generation,
        model=state.model,
        inputs=shown.inputs,
        head=state.head,
        row=shown.row,
        top=top,
        device=state.device,
        dtype=state.dtype,
        backend=state.backend,
    )


def asks(state: ViewState, scene: Scene) -> tuple[object, ...]:
    """What a run depends on."""
    return scene.inputs, scene.row, state.model, state.device, state.dtype, state.backend


def check_states(
    states: tuple[ViewState, ...], cards: list[ModelCard], tokenizer: Tokenizer
) -> None:
    """Raise ValueError with a sentence if one of some states cannot be shown here."""
    known = {card.name: card for card in cards}
    layers = max(max(card.layers, card.encoder_layers) for card in cards)
    heads = max(card.heads for card in cards)
    for state in states:
        if state.model not in known or not fits(known[state.model], state.family):
            raise ValueError(f"There is no model {state.model!r} for {state.family.value} here.")
        _check_generated(state, known[state.model], tokenizer)
        made = scene(state, tokenizer)
        head, stacks = state.head, ", ".join(stack.value for stack in made.masks)
        require(head.stack in made.masks, "head.stack", head.stack.value, f"one of {stacks}")
        for name, number, most in (("layer", head.layer, layers), ("head", head.head, heads)):
            require(number < most, f"head.{name}", number, f"between 0 and {most - 1}")


def _check_generated(state: ViewState, card: ModelCard, tokenizer: Tokenizer) -> None:
    """Raise ValueError for generated tokens that the model does not know, or has no room for."""
    for row in state.rows:
        count = len(row.generated)
        allowed = f"at most the {card.positions} positions of {card.name}"
        require(count <= card.positions, "generated", f"{count} tokens", allowed)
        for token in row.generated:
            known = 0 <= token < tokenizer.vocabulary
            allowed = f"between 0 and {tokenizer.vocabulary - 1}"
            require(known, "A generated token", token, allowed)
