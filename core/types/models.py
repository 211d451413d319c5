"""Models as they are named on screen: families, stacks, heads, cards."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from core.types.masks import MaskKind


class Family(str, Enum):
    """How a model is assembled from the one block."""

    ENCODER = "encoder"
    DECODER = "decoder"
    PREFIX = "prefix"
    ENCODER_DECODER = "encoder-decoder"


class Stack(str, Enum):
    """One pile of attention layers that is shown as a wall of heads."""

    ENCODER = "encoder"
    DECODER = "decoder"
    CROSS = "cross"


@dataclass(frozen=True)
class HeadRef:
    """One attention head; ``layer`` and ``head`` count from 0 (shown counted from 1)."""

    stack: Stack
    layer: int = 0
    head: int = 0


@dataclass(frozen=True)
class ModelCard:
    """What a bundled model is, read from ``assets/models/NAME/card.json`` and its config."""

    name: str
    title: str
    family: Family
    parameters: int
    layers: int
    encoder_layers: int
    heads: int
    width: int
    vocabulary: int
    positions: int
    kinds: tuple[MaskKind, ...]
    """The self-attention masks that it was trained under."""
    figures: dict[str, float] = field(default_factory=dict)
