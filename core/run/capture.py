"""What a run leaves behind to be looked at: the attention of one batch row."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray

from core.model.attention import Trace
from core.run.cancel import CancelToken
from core.types import AttentionMaps, HeadRef, Stack

THUMB = 128
"""The most rows and columns of a thumbnail."""


class Capture:
    """Keeps the attention patterns (and, if asked, scores) of one batch row of one run.

    ``layers`` limits what is kept; None keeps every layer. ``only`` names the stack of a model that
    has but one: by how its mask reads, whatever the model was built as. Patterns of later chunks
    are put below those of earlier ones, so that generation grows one matrix a layer.
    """

    def __init__(
        self,
        row: int = 0,
        *,
        cancel: CancelToken | None = None,
        layers: Iterable[tuple[Stack, int]] | None = None,
        scores: bool = False,
        only: Stack | None = None,
    ) -> None:
        self.row = row
        self.patterns: dict[tuple[Stack, int], NDArray[np.float32]] = {}
        self.scores: dict[tuple[Stack, int], NDArray[np.float32]] = {}
        self._cancel = cancel
        self._layers = None if layers is None else frozenset(layers)
        self._keep_scores = scores
        self._only = only

    def before_layer(self, stack: Stack, layer: int) -> None:
        """Ask whether to go on."""
        if self._cancel is not None:
            self._cancel.check()

    def wants(self, stack: Stack, layer: int) -> bool:
        """True for the layers that were asked for."""
        return self._layers is None or (self._only or stack, layer) in self._layers

    def keep(self, stack: Stack, layer: int, trace: Trace) -> None:
        """Copy the shown batch row off the device."""
        key = (self._only or stack, layer)
        self._add(self.patterns, key, trace.pattern)
        if self._keep_scores:
            self._add(self.scores, key, trace.scores)

    def _add(
        self,
        kept: dict[tuple[Stack, int], NDArray[np.float32]],
        key: tuple[Stack, int],
        values: torch.Tensor,
    ) -> None:
        new = values[self.row].float().cpu().numpy()
        if key in kept:
            old = kept[key]
            grown = np.zeros((old.shape[0], old.shape[1], new.shape[2]), np.float32)
            grown[:, :, : old.shape[2]] = old
            new = np.concatenate((grown, new), axis=1)
        kept[key] = new

    def stacks(self) -> tuple[Stack, ...]:
        """The stacks that were kept, in the order encoder, decoder, cross."""
        found = {stack for stack, _ in self.patterns}
        return tuple(stack for stack in Stack if stack in found)

    def pattern(self, head: HeadRef) -> NDArray[np.float32]:
        """One head, float32 ``[Tq, S]``.

        Raises
        ------
        ValueError
            naming the head if the model has no such head.
        """
        layer = self.patterns.get((head.stack, head.layer))
        if layer is None or not 0 <= head.head < layer.shape[0]:
            raise ValueError(
                f"There is no head {head.head + 1} in {head.stack.value} layer {head.layer + 1}."
            )
        found: NDArray[np.float32] = layer[head.head]
        return found

    def nearest(self, head: HeadRef) -> HeadRef:
        """The head itself, or the first one of the last stack if the model has none such."""
        layer = self.patterns.get((head.stack, head.layer))
        if layer is not None and 0 <= head.head < layer.shape[0]:
            return head
        shown = [stack for stack in self.stacks() if stack is not Stack.CROSS]
        return HeadRef(shown[-1], 0, 0)

    def maps(self) -> tuple[AttentionMaps, ...]:
        """Thumbnails of all heads, a wall for each stack."""
        return tuple(self._wall(stack) for stack in self.stacks())

    def _wall(self, stack: Stack) -> AttentionMaps:
        layers = [self.patterns[key] for key in sorted(self.patterns) if key[0] is stack]
        heads = np.stack(layers)
        rows, keys = heads.shape[2:]
        block = max(1, -(-max(rows, keys) // THUMB))
        small = block_maximum(heads, block)
        scale = small.max(axis=(2, 3))
        shown = np.sqrt(small / np.where(scale == 0, 1, scale)[:, :, None, None])
        thumbs = np.rint(255 * shown).astype(np.uint8)
        return AttentionMaps(stack, rows, keys, block, thumbs, scale)


def block_maximum(values: NDArray[np.float32], block: int) -> NDArray[np.float32]:
    """The maximum of each ``block`` x ``block`` tile of the last two axes; edge tiles are cut."""
    if block == 1:
        return values
    rows, keys = values.shape[-2:]
    down = np.maximum.reduceat(values, np.arange(0, rows, block), axis=-2)
    across: NDArray[np.float32] = np.maximum.reduceat(down, np.arange(0, keys, block), axis=-1)
    return across
