"""Names and shapes of what goes into the exported graphs and comes out of them.

Dynamic axes have names, the others are numbers:

==========================  =====  ==================================  =========================
``input_ids``               int64  ``[batch, seq]``
``source_ids``              int64  ``[batch, source]``                 encoder-decoder, FIXED alone
``position_ids``            int64  ``[batch, seq]``                    the caller decides
``attention_mask``          bool   ``[batch, 1 or H, seq, capacity]``  True = may read
``logits_positions``        int64  ``[rows]``                          which of seq are projected
``write_indices``           int64  ``[batch]``                         filled length before the call
``past.L.key``, ``.value``  float  ``[batch, kv_heads, capacity, d]``  bound to ``present`` as well
``memory_mask``             bool   ``[batch, 1 or H, seq, source]``    encoder-decoder
``cross.L.key``, ``.value``  float  ``[batch, kv_heads, source, d]``   encoder-decoder
``logits``                  float  ``[batch, rows, V]``
``query.L``, ``cross_query.L``  float  ``[batch, H, seq, d]``          for patterns on demand
``key.L``                   float  ``[batch, kv_heads, seq, d]``       of a stack without a cache
==========================  =====  ==================================  =========================
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from core.model.config import ModelConfig
from core.types import Family

Axis = str | int


class Part(str, Enum):
    """What a file holds of its model."""

    ENCODER = "encoder"
    """An encoder alone: no cache."""
    DECODER = "decoder"
    """Any model of one stack with a cache."""
    MEMORY = "memory"
    """The encoder half of an encoder-decoder: cross keys and values."""
    TARGET = "target"
    """The decoder half of an encoder-decoder."""
    FIXED = "fixed"
    """A whole model with its masks built in: ids in, logits out."""


@dataclass(frozen=True)
class Signature:
    """Inputs and outputs of a graph, in order, with the axes of each."""

    inputs: dict[str, tuple[Axis, ...]]
    outputs: dict[str, tuple[Axis, ...]]


def parts_of(config: ModelConfig) -> tuple[Part, ...]:
    """The parts that a model is exported into, in the order in which they run."""
    return {
        Family.ENCODER: (Part.ENCODER,),
        Family.ENCODER_DECODER: (Part.MEMORY, Part.TARGET),
    }.get(config.family, (Part.DECODER,))


def pairs(kind: str, layers: int) -> list[str]:
    """``kind.0.key``, ``kind.0.value``, ``kind.1.key`` and so on."""
    return [f"{kind}.{layer}.{what}" for layer in range(layers) for what in ("key", "value")]


def each(kind: str, layers: int) -> list[str]:
    """``kind.0``, ``kind.1`` and so on."""
    return [f"{kind}.{layer}" for layer in range(layers)]


def signature(
    config: ModelConfig, part: Part, *, fixed_length: int = 0, fixed_source: int = 0
) -> Signature:
    """What a graph takes and gives.

    ``fixed_length`` and ``fixed_source`` are the tokens of a fixed mask and of its source.
    """
    if part is Part.FIXED:
        out: tuple[Axis, ...] = ("batch", fixed_length, config.vocabulary)
        read: dict[str, tuple[Axis, ...]] = {}
        if fixed_source:
            read["source_ids"] = ("batch", fixed_source)
        return Signature(read | {"input_ids": ("batch", fixed_length)}, {"logits": out})
    caches = part in (Part.DECODER, Part.TARGET)
    layers = config.encoder_layers if part is Part.MEMORY else config.layers
    inputs: dict[str, tuple[Axis, ...]] = {
        "input_ids": ("batch", "seq"),
        "position_ids": ("batch", "seq"),
        "attention_mask": ("batch", "mask_heads", "seq", "capacity" if caches else "seq"),
    }
    outputs: dict[str, tuple[Axis, ...]] = {}
    if part is not Part.MEMORY:
        inputs["logits_positions"] = ("rows",)
        outputs["logits"] = ("batch", "rows", config.vocabulary)
    asked = ("batch", config.heads, "seq", config.head_width)

    def held(axis: str) -> tuple[Axis, ...]:
        return ("batch", config.kv_heads, axis, config.head_width)

    if caches:
        inputs["write_indices"] = ("batch",)
        inputs |= dict.fromkeys(pairs("past", layers), held("capacity"))
        outputs |= dict.fromkeys(pairs("present", layers), held("capacity"))
    cross = pairs("cross", config.layers)
    if part is Part.MEMORY:
        outputs |= dict.fromkeys(cross, held("source"))
    outputs |= dict.fromkeys(each("query", layers), asked)
    if part is Part.TARGET:
        inputs["memory_mask"] = ("batch", "memory_heads", "seq", "source")
        inputs |= dict.fromkeys(cross, held("source"))
        outputs |= dict.fromkeys(each("cross_query", layers), asked)
    if not caches:
        outputs |= dict.fromkeys(each("key", layers), held("seq"))
    return Signature(inputs, outputs)
