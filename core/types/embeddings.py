"""Vectors of sentences: how alike they are by each pooling, and what each position knows."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from core.types.jobs import Job
from core.types.masks import MaskKind
from core.types.messages import RunRequest


class Pooling(str, Enum):
    """Which states of a sentence make its vector: all, that of its last or of its first token."""

    MEAN = "mean"
    LAST = "last"
    FIRST = "first"


@dataclass(frozen=True)
class EmbeddingsJob(Job):
    """Ask how alike the batch rows of ``run.inputs`` are; row and head are not asked for.

    An encoder-decoder embeds its source.
    """

    run: RunRequest


@dataclass(frozen=True)
class EmbeddingsView:
    """How alike ``n`` sentences are, and how much each position knows.

    Attributes
    ----------
    kind : the mask that the sentences were read under.
    similarity : float32 ``[n, n]`` by pooling, the cosine of two vectors, -1 to 1.
    known : float32 ``[n, N]``, the cosine of each position's state with the state of the same
        weights that reads both ways; NaN on pads. Empty where every position reads all.
    notes : sentences that must be known to read the rest.
    """

    generation: int
    kind: MaskKind
    similarity: dict[Pooling, NDArray[np.float32]] = field(repr=False)
    known: NDArray[np.float32] = field(repr=False)
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def sentences(self) -> int:
        """Number of sentences ``n``."""
        return len(self.similarity[Pooling.MEAN])
