"""The attention of one batch row as arrays: what walls of heads are drawn from.

Needs numpy only, so that every engine keeps its patterns in the same place.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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


class Walls:
    """The patterns of every layer that was kept, float32 ``[H, Tq, S]`` each.

    Patterns of later chunks are put below those of earlier ones, so that generation grows one
    matrix a layer.
    """

    def __init__(self) -> None:
        self.patterns: dict[Key, NDArray[np.float32]] = {}

    def add(self, key: Key, new: NDArray[np.float32]) -> None:
        """Take the pattern of a chunk, ``[H, Tq, S]``; the array is the walls' from now on."""
        grow(self.patterns, key, new)

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


def grow(kept: dict[Key, NDArray[np.float32]], key: Key, new: NDArray[np.float32]) -> None:
    """Put the rows ``new`` ``[H, Tq, S]`` below those kept; older rows get zeros for new keys."""
    if key in kept:
        old = kept[key]
        wider = np.zeros((old.shape[0], old.shape[1], new.shape[2]), np.float32)
        wider[:, :, : old.shape[2]] = old
        new = np.concatenate((wider, new), axis=1)
    kept[key] = new


def block_maximum(values: NDArray[np.float32], block: int) -> NDArray[np.float32]:
    """The maximum of each ``block`` x ``block`` tile of the last two axes; edge tiles are cut."""
    if block == 1:
        return values
    rows, keys = values.shape[-2:]
    down = np.maximum.reduceat(values, np.arange(0, rows, block), axis=-2)
    across: NDArray[np.float32] = np.maximum.reduceat(down, np.arange(0, keys, block), axis=-1)
    return across
