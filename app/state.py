"""What the user has asked for: one frozen value, from which everything on screen follows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from core.types import Family, HeadRef, MaskKind, ModelCard, Sampling, Stack

FAMILY_KIND = {
    Family.ENCODER: MaskKind.BIDIRECTIONAL,
    Family.DECODER: MaskKind.CAUSAL,
    Family.PREFIX: MaskKind.PREFIX,
    Family.ENCODER_DECODER: MaskKind.DECODER_SELF,
}
"""The self-attention mask that a family button stands for."""


MOST_ROWS, MOST_PADS, MOST_LETTERS, MOST_NEW_TOKENS = 16, 32, 4000, 512
"""The most that the window's controls make: batch rows, pads on a side, a text, one Play."""


@dataclass(frozen=True)
class RowState:
    """One batch row: its text, the tokens generated after it, and its own padding.

    ``target`` is the decoder's text of an encoder-decoder, whose ``text`` is the source. The pads
    are those of the source then.
    """

    text: str
    target: str = ""
    generated: tuple[int, ...] = ()
    left_pad: int = 0
    right_pad: int = 0


@dataclass(frozen=True)
class ViewState:
    """Everything that decides what is shown.

    ``row`` is the batch row on screen, ``cell`` the selected (query row, key column), ``stack``
    which of an encoder-decoder's three masks is shown. ``max_new_tokens`` bounds one Play;
    ``backend`` is "torch" or "onnx".
    """

    family: Family
    model: str
    rows: tuple[RowState, ...]
    row: int = 0
    prefix: int = 0
    past: int = 0
    window: int | None = None
    documents: tuple[int, ...] = ()
    head: HeadRef = HeadRef(Stack.DECODER)
    cell: tuple[int, int] | None = None
    device: str = "auto"
    dtype: str = "float32"
    backend: str = "torch"
    sampling: Sampling = field(default_factory=Sampling)
    max_new_tokens: int = 24

    @property
    def current(self) -> RowState:
        """The batch row on screen."""
        return self.rows[self.row]

    @property
    def stack(self) -> Stack:
        """The stack whose mask and attention are on screen."""
        return self.head.stack

    def with_row(self, **changes: Any) -> ViewState:
        """The state with changes to the batch row on screen."""
        rows = list(self.rows)
        rows[self.row] = replace(rows[self.row], **changes)
        return replace(self, rows=tuple(rows))


SAMPLES: dict[Family, RowState] = {
    Family.ENCODER: RowState(
        "Mia put the red [MASK] in the box. Later she looked in the [MASK] and found it."
    ),
    Family.DECODER: RowState("Once upon a time there was a little girl named Lily. Lily had a"),
    Family.PREFIX: RowState(
        "One day, Tom put his blue kite behind the door. When Tom came home, he looked"
    ),
    Family.ENCODER_DECODER: RowState(
        "Mia put her <extra_id_0> in the box and went out to play. When Mia came home, she looked"
        " in the <extra_id_1> for the red ball.",
        target="<extra_id_0> red",
    ),
}
"""A sentence for each family, so that the first start has something to play with."""

NEW_ROW = RowState("Once there was a small dog.", target="<extra_id_0>")
"""The batch row that is added: shorter than the samples, so that padding shows."""

DEFAULT_MODEL = {
    Family.ENCODER: "encoder",
    Family.DECODER: "decoder",
    Family.PREFIX: "prefix",
    Family.ENCODER_DECODER: "encdec",
}


def initial(family: Family) -> ViewState:
    """The state that a family button starts with."""
    first = Stack.ENCODER if family is Family.ENCODER else Stack.DECODER
    return ViewState(
        family=family,
        model=DEFAULT_MODEL[family],
        rows=(SAMPLES[family],),
        prefix=6 if family is Family.PREFIX else 0,
        head=HeadRef(first),
    )


def controls(state: ViewState) -> tuple[object, ...]:
    """What the run bar and the texts show: a knob of the mask touches none of it."""
    return (
        state.family,
        state.model,
        state.row,
        state.rows,
        state.sampling,
        state.max_new_tokens,
        state.backend,
    )


def fits(card: ModelCard, family: Family) -> bool:
    """True if a model can run under a family's masks: two stacks need two, one stack one."""
    two = card.family is Family.ENCODER_DECODER
    return two == (family is Family.ENCODER_DECODER)
