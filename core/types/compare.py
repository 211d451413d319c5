"""Two runs side by side: what is compared, and where and how far they part."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.types.checks import Place
from core.types.jobs import Job
from core.types.messages import RunRequest
from core.types.models import HeadRef, Stack

MOVED = 8
"""Tokens that are told at each position: those whose probability differs most."""


@dataclass(frozen=True)
class Side:
    """One of two runs: its shown row under its mask, and the deliberate faults that it may have.

    Attributes
    ----------
    title : what it is called beside the other.
    run : model, inputs, batch row, device and backend. The whole row is read: the first ``past``
        columns of the mask into the cache, then the rest; head and top are not asked for.
    positions : False counts columns as positions, pads and documents too.
    mask_after_softmax : True zeroes closed weights after the softmax and leaves the rest as they
        are, so that a row no longer adds up to 1.
    scores : True keeps what the weights are made of beside them.
    """

    title: str
    run: RunRequest
    positions: bool = True
    mask_after_softmax: bool = False
    scores: bool = False


@dataclass(frozen=True)
class CompareJob(Job):
    """Compare two sides; ``head`` is the one whose weights come back in full."""

    a: Side
    b: Side
    head: HeadRef


@dataclass(frozen=True)
class Levels:
    """How far hidden states are apart, float32 ``[L + 1, n]``; level 0 is the embedding.

    ``cosine`` is that of the angle between the two states, ``relative`` the L2 norm of A - B in
    norms of A. States are those between the layers, before the last norm.
    """

    cosine: NDArray[np.float32] = field(repr=False)
    relative: NDArray[np.float32] = field(repr=False)


@dataclass(frozen=True)
class Comparison:
    """What two sides have in common, and A - B of the rest.

    Tokens are the ``n`` that both texts share, pads left out, in the order of the text; a source
    shares ``m``, none without one. Stacks have the names that they have in A.

    Attributes
    ----------
    titles : those of A and B.
    tokens, source_tokens : int32 ``[2, n]`` and ``[2, m]``, the ids in A and in B.
    positions, source_positions : int32 ``[2, n]`` and ``[2, m]``, where they stand in the text of A
        and of B, pads left out.
    head : the head that is shown, the nearest one that both sides have.
    patterns : float32 ``[2, q, k]``, its weights in A and in B between shared tokens.
    reasons : uint8 ``[2, q, k]``, the `Reason` why a cell is closed in A and in B.
    attention : float32 ``[L, H]`` by stack, the largest absolute difference of weights.
    total_variation, divergence : float32 ``[n]``, half the sum of ``|p - q|`` and KL(A || B) in
        nats, of the probabilities of the output at each token.
    moved_ids : int32 ``[n, MOVED]``, the tokens whose probability differs most, the first most.
    moved : float32 ``[2, n, MOVED]``, their probabilities in A and in B.
    levels : by stack (ENCODER of a source, and the one that makes the output); empty where the
        states of a side are not known, and a note says why.
    tolerance : the largest absolute difference of logits that is rounding; a tenth for weights.
    first : where the sides first part by more than that, positions counted in A; None if nowhere.
    notes : sentences about what is not compared, or must be known to read the rest.
    """

    generation: int
    titles: tuple[str, str]
    tokens: NDArray[np.int32] = field(repr=False)
    source_tokens: NDArray[np.int32] = field(repr=False)
    positions: NDArray[np.int32] = field(repr=False)
    source_positions: NDArray[np.int32] = field(repr=False)
    head: HeadRef
    patterns: NDArray[np.float32] = field(repr=False)
    reasons: NDArray[np.uint8] = field(repr=False)
    attention: dict[Stack, NDArray[np.float32]] = field(repr=False)
    total_variation: NDArray[np.float32] = field(repr=False)
    divergence: NDArray[np.float32] = field(repr=False)
    moved_ids: NDArray[np.int32] = field(repr=False)
    moved: NDArray[np.float32] = field(repr=False)
    levels: dict[Stack, Levels] = field(repr=False)
    tolerance: float
    first: Place | None
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def difference(self) -> NDArray[np.float32]:
        """A - B of the weights of the shown head, float32 ``[q, k]``."""
        apart: NDArray[np.float32] = self.patterns[0] - self.patterns[1]
        return apart

    @property
    def sentence(self) -> str:
        """Where the sides first part, in words."""
        if self.first is None:
            return f"{self.titles[0]} and {self.titles[1]} part nowhere by more than rounding."
        most = float(self.total_variation.max())
        before = "in their embeddings, then first" if self.embeddings_part else "first"
        return (
            f"{self.titles[0]} and {self.titles[1]} part {before} in {self.first.sentence()}; the"
            f" outputs are at most {most:.3f} apart in total variation."
        )

    @property
    def embeddings_part(self) -> bool:
        """True where embeddings of shared tokens are known to differ by more than rounding."""
        return any(
            bool((levels.relative[:1] > self.tolerance).any()) for levels in self.levels.values()
        )

    @property
    def reads_source(self) -> bool:
        """True where the keys of the shown head are tokens of the source."""
        return bool(self.source_tokens.size) and self.head.stack is not Stack.DECODER

    @property
    def from_source(self) -> bool:
        """True where the queries of the shown head are tokens of the source."""
        return self.reads_source and self.head.stack is Stack.ENCODER
