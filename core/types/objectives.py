"""Training objectives: a sentence as each of them sees it, and the loss that a model has there."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from core.types.jobs import Job
from core.types.masks import MaskKind
from core.types.messages import RunRequest
from core.types.wording import counted

MASK_RATE = 0.15
"""The share of the text that masked language modelling selects (Devlin et al. 2019)."""


class Objective(str, Enum):
    """What a model is asked to predict."""

    MASKED = "mlm"
    CAUSAL = "clm"
    SPANS = "span"
    PREFIX = "prefix"
    DENOISING = "denoise"
    REPLACED = "rtd"

    @property
    def is_shifted(self) -> bool:
        """True where a position predicts the token after it, not the one at it."""
        return self not in (Objective.MASKED, Objective.REPLACED)

    @property
    def has_source(self) -> bool:
        """True where an encoder reads the corrupted text and a decoder writes."""
        return self in (Objective.SPANS, Objective.DENOISING)


class Shift(str, Enum):
    """How far labels are shifted against inputs: once as it must be, or by a bug."""

    RIGHT = "right"
    NONE = "none"
    DOUBLE = "double"


class Noise(str, Enum):
    """What is done to the text that denoising restores (BART, Lewis et al. 2020)."""

    INFILLING = "infilling"
    MASKING = "masking"
    DELETION = "deletion"
    PERMUTATION = "permutation"
    ROTATION = "rotation"


@dataclass(frozen=True)
class ObjectiveJob(Job):
    """Ask how an objective sees a sentence, and what loss a model takes on it.

    Attributes
    ----------
    run : model, device, dtype and backend; its inputs, row and head are not asked for.
    ids : the plain sentence, its begin included, and its end if it has one. A ``[MASK]`` or a
        sentinel in it is a gap whose truth is not known: it carries no loss.
    seed : of all chance: which tokens are selected, which spans are cut.
    prefix : tokens of the prefix, its begin included; None lets the seed draw it.
    noise : what denoising undoes.
    stops : ids of the pieces that end a sentence, where permutation may cut.
    """

    run: RunRequest
    ids: tuple[int, ...]
    objective: Objective
    seed: int = 0
    prefix: int | None = None
    shift: Shift = Shift.RIGHT
    noise: Noise = Noise.INFILLING
    stops: tuple[int, ...] = ()


@dataclass(frozen=True)
class ObjectiveView:
    """A sentence as an objective sees it; arrays ``[T]`` by position of what makes the output.

    Attributes
    ----------
    kind : the self-attention mask that the objective is read under.
    inputs : int32 ``[T]``, what is read there.
    source : int32 ``[S]``, what the encoder reads; empty without one.
    targets : int32 ``[T]``, the id to predict, -100 where no loss is taken.
    loss : float32 ``[T]``, nats; NaN where no loss is taken, everywhere if none was computed.
    top_ids, top_probs : int32 and float32 ``[T]``, the likeliest token and its probability; empty
        if nothing was computed.
    tokens, selectable : tokens of the plain sentence, and how many of them stand for text.
    gaps : how many of them are gaps, of which nobody knows what belongs there.
    prefix : tokens of the prefix, 0 without one.
    notes : sentences about what could not be computed, or must be known to read the rest.
    """

    generation: int
    objective: Objective
    kind: MaskKind
    inputs: NDArray[np.int32] = field(repr=False)
    source: NDArray[np.int32] = field(repr=False)
    targets: NDArray[np.int32] = field(repr=False)
    loss: NDArray[np.float32] = field(repr=False)
    top_ids: NDArray[np.int32] = field(repr=False)
    top_probs: NDArray[np.float32] = field(repr=False)
    tokens: int
    selectable: int
    prefix: int = 0
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    gaps: int = 0

    @property
    def loss_mask(self) -> NDArray[np.bool_]:
        """Bool ``[T]``, True where loss is taken."""
        mask: NDArray[np.bool_] = self.targets >= 0
        return mask

    @property
    def denominator(self) -> int:
        """The number of positions that the mean loss is divided by."""
        return int(self.loss_mask.sum())

    @property
    def is_computed(self) -> bool:
        """True where the model could run."""
        return len(self.top_ids) > 0

    @property
    def mean(self) -> float | None:
        """Mean loss in nats; None where no position carries loss, or nothing was computed."""
        if not self.denominator or not self.is_computed:
            return None
        return float(self.loss[self.loss_mask].mean(dtype=np.float64))

    @property
    def sentence(self) -> str:
        """The mean written out, or why there is none."""
        count = self.denominator
        if not count:
            return (
                "No position carries loss, so the mean is undefined: draw again, or take a longer"
                " text."
            )
        places = counted(count, "position")
        if self.mean is None:
            return f"{places} {'carries' if count == 1 else 'carry'} loss; no loss was computed."
        total = float(self.loss[self.loss_mask].sum(dtype=np.float64))
        return f"mean loss {total:.3f} nats / {places} = {self.mean:.3f} nats"

    @property
    def next_tokens(self) -> int:
        """Positions at which the next token of the plain sentence can be predicted."""
        return self.tokens - 1 - self.gaps

    @property
    def counts(self) -> str:
        """How much two objectives learn from the plain sentence, in words; empty for others."""
        if self.objective not in (Objective.MASKED, Objective.CAUSAL):
            return ""
        causal, masked = self.next_tokens, MASK_RATE * self.selectable
        more = f", {causal / masked:.2f} times as many" if masked else ""
        return (
            f"Of {counted(self.tokens, 'token')}, masking selects {masked:.2f} on average; the"
            f" next token is predicted at {causal}{more}."
        )
