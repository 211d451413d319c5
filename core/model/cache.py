"""Keys and values that a later chunk reads again, as explicit state passed in and out.

The self-attention cache grows by every chunk; the cross-attention cache is filled once from the
encoder's output and never grows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

KeyValue = tuple[Tensor, Tensor]
"""Keys and values of one layer, each ``[B, kv_heads, S, head_width]``."""


@dataclass
class Cache:
    """The cached keys and values of one decoder.

    ``own`` and ``cross`` hold one pair a layer; ``cross`` stays empty without an encoder.
    """

    own: dict[int, KeyValue] = field(default_factory=dict)
    cross: list[KeyValue] = field(default_factory=list)

    @property
    def length(self) -> int:
        """Cached key columns: the ``past`` of the next chunk."""
        return self.own[0][0].shape[2] if self.own else 0

    @property
    def bytes(self) -> int:
        """Bytes held, self and cross together."""
        return _bytes([*self.own.values()]) + self.cross_bytes

    @property
    def cross_bytes(self) -> int:
        """Bytes of the cross keys and values: filled once, the same at every length."""
        return _bytes(self.cross)

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> KeyValue:
        """Append a chunk to a layer and return everything that its queries may be shown."""
        if layer in self.own:
            old_keys, old_values = self.own[layer]
            keys = torch.cat((old_keys, keys), dim=2)
            values = torch.cat((old_values, values), dim=2)
        self.own[layer] = (keys, values)
        return keys, values


def _bytes(pairs: list[KeyValue]) -> int:
    return sum(t.numel() * t.element_size() for pair in pairs for t in pair)
