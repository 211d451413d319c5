"""The one attention of the house: it reads a mask and knows no family.

Two paths give the same output. The fast path hands the mask to the fused kernel; the capture path
spells the steps out and returns the scores before the mask and the pattern after the softmax. A
query row that may read nothing has a zero pattern row and a zero output on both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from core.model.cache import KeyValue
from core.model.config import ModelConfig


class Trace(NamedTuple):
    """What one attention layer did.

    ``scores`` are the scaled dot products before the mask, ``pattern`` the weights after the
    softmax, both ``[B, H, Tq, S]``; the pattern is 0 where the mask is closed.
    """

    scores: Tensor
    pattern: Tensor


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Weighted values by the fused kernel.

    Shapes: ``query`` ``[B, H, Tq, d]``, ``key``/``value`` ``[B, H, S, d]``; ``mask`` bool,
    broadcastable to ``[B, H, Tq, S]``, True = may read. A row without a True is 0.
    """
    output = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    return output.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)


def attend_traced(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Trace]:
    """Same values as :func:`attend`, step by step, with the trace.

    Closed cells get the dtype's lowest value before the softmax and exactly 0 after it, so that an
    empty row becomes zeros and never NaN.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    lowest = torch.finfo(scores.dtype).min
    pattern = scores.masked_fill(~mask, lowest).softmax(dim=-1).masked_fill(~mask, 0.0)
    return pattern @ value, Trace(scores, pattern)


def attend_late(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Trace]:
    """The fault of masking too late: closed cells are zeroed after the softmax, which saw them.

    Shapes as in :func:`attend`. A row adds up to 1 only where nothing is closed in it.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    pattern = scores.softmax(dim=-1).masked_fill(~mask, 0.0)
    return pattern @ value, Trace(scores, pattern)


class Attention(nn.Module):
    """Multi-head attention over its own input (fused QKV) or over a memory (cross).

    Grouped heads: ``kv_heads`` keys and values are shared by equal groups of queries.
    ``attend_traced`` is the capture path; `core.run.side_torch` puts a faulty one there to show it.
    """

    attend_traced: Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Trace]]

    def __init__(self, config: ModelConfig, *, cross: bool = False) -> None:
        super().__init__()
        self.attend_traced = attend_traced
        self.heads, self.kv_heads, self.head_width = (
            config.heads,
            config.kv_heads,
            config.head_width,
        )
        self.q_width = config.heads * config.head_width
        self.kv_width = 2 * config.kv_heads * config.head_width
        if cross:
            self.q = nn.Linear(config.width, self.q_width)
            self.kv = nn.Linear(config.width, self.kv_width)
        else:
            self.qkv = nn.Linear(config.width, self.q_width + self.kv_width)
        self.out = nn.Linear(self.q_width, config.width)

    def _heads(self, joined: Tensor, *counts: int) -> tuple[Tensor, ...]:
        """``[B, T, sum(counts) * d]`` to a ``[B, count, T, d]`` for each count of heads."""
        batch, length, _ = joined.shape
        heads = joined.view(batch, length, sum(counts), self.head_width).transpose(1, 2)
        return torch.split(heads, list(counts), dim=1)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of self-attention for ``x`` ``[B, T, width]``."""
        query, key, value = self._heads(self.qkv(x), self.heads, self.kv_heads, self.kv_heads)
        return query, key, value

    def project_query(self, x: Tensor) -> Tensor:
        """Queries of cross-attention, ``[B, H, Tq, d]``."""
        return self._heads(self.q(x), self.heads)[0]

    def project_memory(self, memory: Tensor) -> KeyValue:
        """Keys and values of the encoder's final output ``[B, S, width]``; computed once."""
        key, value = self._heads(self.kv(memory), self.kv_heads, self.kv_heads)
        return key, value

    def forward(
        self, query: Tensor, keys_values: KeyValue, mask: Tensor, traced: bool = False
    ) -> tuple[Tensor, Trace | None]:
        """Mix the values that the mask lets each query read.

        ``query`` ``[B, H, Tq, d]``; ``mask`` bool broadcastable to ``[B, H, Tq, S]``. Returns
        ``[B, Tq, width]`` and the trace if it was asked for.
        """
        keys, values = keys_values
        group = self.heads // self.kv_heads
        if group > 1:
            keys = keys.repeat_interleave(group, dim=1)
            values = values.repeat_interleave(group, dim=1)
        trace = None
        if traced:
            mixed, trace = self.attend_traced(query, keys, values, mask)
        else:
            mixed = attend(query, keys, values, mask)
        return self.out(mixed.transpose(1, 2).flatten(2)), trace
