"""Masks that are built into a file: what they may be, and the module that has them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from core.export.graphs import FixedGraph, FixedPairGraph
from core.mask.dense import dense
from core.mask.padding import position_ids
from core.model.config import ModelConfig
from core.model.transformer import Transformer
from core.types import Family, MaskKind, MaskSpec


@dataclass(frozen=True)
class FixedMasks:
    """The mask of the stack that makes the output; of an encoder-decoder that of the source too."""

    own: MaskSpec
    source: MaskSpec | None = None

    @property
    def cross(self) -> MaskSpec | None:
        """The cross mask of an encoder-decoder: every query reads every real source token."""
        read = self.source
        if read is None:
            return None
        return MaskSpec(
            MaskKind.CROSS,
            self.own.length,
            source=read.length,
            left_pad=read.left_pad,
            right_pad=read.right_pad,
        )

    def module(self, model: Transformer) -> nn.Module:
        """The model with the masks and their position ids in it: ids in, logits out."""
        if self.source is None or self.cross is None:
            return FixedGraph(model, *_read_under(self.own))
        cross = torch.from_numpy(dense(self.cross))
        return FixedPairGraph(model, _read_under(self.source), _read_under(self.own), cross)


def _read_under(mask: MaskSpec) -> tuple[Tensor, Tensor]:
    """Positions ``[1, T]`` and mask ``[1, 1, T, T]`` of a stack."""
    return torch.from_numpy(position_ids(mask)), torch.from_numpy(dense(mask))


def fixed_masks(
    config: ModelConfig, own: MaskSpec | None, source: MaskSpec | None
) -> FixedMasks | None:
    """The masks to build into a model; None where ``own`` is, for a file that takes any mask.

    Raises
    ------
    ValueError
        for a mask that cannot be built in, or a source that is missing or nobody reads.
    """
    two = config.family is Family.ENCODER_DECODER
    if source is not None and (own is None or not two):
        raise ValueError("source_mask goes with fixed_mask, and with an encoder-decoder alone.")
    if own is None:
        return None
    if two and source is None:
        raise ValueError("The fixed mask of an encoder-decoder needs source_mask beside it.")
    for mask in (own, source or own):
        if mask.rows != 1 or mask.past or mask.source is not None or mask.capacity is not None:
            raise ValueError(
                "A fixed mask must be one of self-attention in one batch row, without past or"
                " capacity."
            )
        if mask.real_tokens(0) > config.positions:
            raise ValueError(
                f"The fixed mask has {mask.real_tokens(0)} tokens, but the model has"
                f" {config.positions} positions."
            )
    return FixedMasks(own, source)
