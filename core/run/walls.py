"""The attention of one batch row as arrays: what walls of heads are drawn from.

Needs numpy only, so that every engine keeps its patterns in the same place.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.pooling import block_maximum
from core.types import AttentionMaps, HeadRef, Inputs, Stack

THUMB = 128
"""The most rows and columns of a thumbnail."""

Key = tuple[Stack, int]
"""A stack and the number of a layer in it."""


def only_stack(inputs: Inputs) -> Stack | None:
    """What the only stack is shown as: an encoder where its mask reads both ways, else a decoder.

    None for an encoder-decoder, whose stacks have names of their own.
    """
    if inputs.source_mask is not None:
        return None
    return Stack.DECODER if inputs.mask.kind.is_causal else Stack.ENCODER


class Layers(dict[Key, NDArray[np.float32]]):
    """An array float32 ``[H, Tq, S]`` a layer, such as its pattern, that grows by chunks of rows.

    Rows of later chunks are put below those of earlier ones, which get zeros for new keys. The
    arrays are parts of buffers that double, so that a token costs what it adds; a part that was
    handed out never changes.
    """

    def __init__(self) -> None:
        super().__init__()
        self._buffers: dict[Key, NDArray[np.float32]] = {}

    def add(self, key: Key, new: NDArray[np.float32]) -> None:
        """Put the rows ``new`` ``[H, Tq, S]`` below those of a layer; the array is kept."""
        if key not in self:
            self[key] = self._buffers[key] = new
            return
        old = self[key]
        heads, before, known = old.shape
        rows, keys = before + new.shape[1], new.shape[2]
        buffer = self._buffers[key]
        if rows > buffer.shape[1] or keys > buffer.shape[2]:
            room = keys if keys == known else 2 * keys
            buffer = self._buffers[key] = np.zeros((heads, 2 * rows, room), np.float32)
            buffer[:, :before, :known] = old
        buffer[:, before:rows, :keys] = new
        self[key] = buffer[:, :rows, :keys]


class Walls:
    """The patterns of every layer that was kept, and what is drawn of them."""

    def __init__(self) -> None:
        self.patterns = Layers()

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
        rows, keys = layers[0].shape[1:]
        block = max(1, -(-max(rows, keys) // THUMB))
        small = np.stack([block_maximum(layer, block, block) for layer in layers])
        scale = small.max(axis=(2, 3))
        shown = np.sqrt(small / np.where(scale == 0, 1, scale)[:, :, None, None])
        thumbs = np.rint(255 * shown).astype(np.uint8)
        return AttentionMaps(stack, rows, keys, block, thumbs, scale)
