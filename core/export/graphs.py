"""The modules that are exported: a model's own layers around ONNX's attention and cache.

Only the attention is written anew: `torch.onnx.ops.attention` becomes one ``Attention`` node, which
gives a row that may read nothing a zero output as `core.model.attention` does, and
``TensorScatter`` writes new keys and values into buffers that never move. Which family a model is
of shows in no node: every mask is an input.
"""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn
from torch.onnx import ops

from core.model.attention import Attention
from core.model.transformer import Block, LayerStack, Transformer

OPSET = 24


def scatter(buffer: Tensor, new: Tensor, write_indices: Tensor) -> Tensor:
    """``buffer`` ``[B, H, capacity, d]`` with ``new`` ``[B, H, T, d]`` written from an index on."""
    written: Tensor = ops.symbolic(
        "TensorScatter",
        [buffer, new, write_indices],
        {"axis": 2},
        dtype=new.dtype,
        shape=buffer.shape,
        version=OPSET,
    )
    return written


def mixed(attention: Attention, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """What an attention adds, ``[B, Tq, width]``, as one node and a linear layer."""
    heads = ops.attention(query, key, value, mask)[0]
    out: Tensor = attention.out(heads.transpose(1, 2).flatten(2))
    return out


def blocks_of(stack: LayerStack) -> list[Block]:
    """The blocks of a stack."""
    return [cast("Block", block) for block in stack.blocks]


class ReadingStack(nn.Module):
    """A stack whose every position is read at once: states, and queries and keys of each layer."""

    def __init__(self, stack: LayerStack) -> None:
        super().__init__()
        self.stack = stack

    def forward(
        self, ids: Tensor, positions: Tensor, mask: Tensor
    ) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """Final states ``[B, T, width]``; queries and keys ``[B, H, T, d]`` by layer."""
        x = self.stack.embedding(ids, positions)
        queries, keys = [], []
        for block in blocks_of(self.stack):
            query, key, value = block.attention.project(block.attention_norm(x))
            x = x + mixed(block.attention, query, key, value, mask)
            x = x + block.mlp(block.mlp_norm(x))
            queries.append(query.clone())
            keys.append(key.clone())
        return self.stack.norm(x), queries, keys


class EncoderGraph(nn.Module):
    """An encoder alone: logits, queries, keys."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model, self.reading = model, ReadingStack(model.body)

    def forward(
        self, ids: Tensor, positions: Tensor, mask: Tensor, rows: Tensor
    ) -> tuple[Tensor, ...]:
        """Logits of the rows ``rows`` of the states, then queries and keys by layer."""
        hidden, queries, keys = self.reading(ids, positions, mask)
        return self.model.head(hidden.index_select(1, rows)), *queries, *keys


class MemoryGraph(nn.Module):
    """The encoder half of an encoder-decoder: cross keys and values, queries, keys."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model, self.reading = model, ReadingStack(model.encoder)

    def forward(self, ids: Tensor, positions: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        """Cross key, cross value of each decoder layer; then queries and keys of the encoder."""
        hidden, queries, keys = self.reading(ids, positions, mask)
        cross = [t.clone() for pair in self.model.body.project_memory(hidden) for t in pair]
        return *cross, *queries, *keys


class DecoderGraph(nn.Module):
    """Anything with a cache: prefill, a later chunk and a single step are the same graph."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        ids: Tensor,
        positions: Tensor,
        mask: Tensor,
        rows: Tensor,
        write_indices: Tensor,
        past: list[Tensor],
        memory_mask: Tensor | None = None,
        cross: list[Tensor] | None = None,
    ) -> tuple[Tensor, ...]:
        """Logits ``[B, rows, V]``, then present, query and cross query of each layer.

        ``past`` and ``cross`` hold key, value, key, value and so on by layer.
        """
        body = self.model.body
        x = body.embedding(ids, positions)
        present, queries, cross_queries = [], [], []
        for layer, block in enumerate(blocks_of(body)):
            query, key, value = block.attention.project(block.attention_norm(x))
            keys = scatter(past[2 * layer], key, write_indices)
            values = scatter(past[2 * layer + 1], value, write_indices)
            x = x + mixed(block.attention, query, keys, values, mask)
            present += [keys, values]
            queries.append(query.clone())
            if cross is not None and memory_mask is not None:
                query = block.cross.project_query(block.cross_norm(x))
                memory = cross[2 * layer], cross[2 * layer + 1]
                x = x + mixed(block.cross, query, *memory, memory_mask)
                cross_queries.append(query.clone())
            x = x + block.mlp(block.mlp_norm(x))
        logits = self.model.head(body.norm(x).index_select(1, rows))
        return logits, *present, *queries, *cross_queries


class FixedPairGraph(nn.Module):
    """An encoder-decoder with its three masks built in: ids of source and target in, logits out.

    ``source`` and ``own`` are the positions and the mask of the two stacks.
    """

    mask: Tensor
    cross_mask: Tensor

    def __init__(
        self,
        model: Transformer,
        source: tuple[Tensor, Tensor],
        own: tuple[Tensor, Tensor],
        cross_mask: Tensor,
    ) -> None:
        super().__init__()
        self.model, self.reading = model, ReadingStack(model.encoder)
        self.register_buffer("source_positions", source[0])
        self.register_buffer("source_mask", source[1])
        self.register_buffer("positions", own[0])
        self.register_buffer("mask", own[1])
        self.register_buffer("cross_mask", cross_mask)

    def forward(self, source_ids: Tensor, ids: Tensor) -> Tensor:
        """``source_ids`` ``[B, S]`` and ``ids`` ``[B, T]`` to logits ``[B, T, V]``."""
        hidden, _, _ = self.reading(source_ids, self.source_positions, self.source_mask)
        body = self.model.body
        x = body.embedding(ids, self.positions)
        memory = body.project_memory(hidden)
        for block, cross in zip(blocks_of(body), memory, strict=True):
            own = block.attention.project(block.attention_norm(x))
            x = x + mixed(block.attention, *own, mask=self.mask)
            query = block.cross.project_query(block.cross_norm(x))
            x = x + mixed(block.cross, query, *cross, mask=self.cross_mask)
            x = x + block.mlp(block.mlp_norm(x))
        return self.model.head(body.norm(x))


class FixedGraph(nn.Module):
    """A model of one stack with its mask and positions built in: ids in, logits out."""

    def __init__(self, model: Transformer, positions: Tensor, mask: Tensor) -> None:
        super().__init__()
        self.model, self.reading = model, ReadingStack(model.body)
        self.register_buffer("positions", positions)
        self.register_buffer("mask", mask)

    def forward(self, ids: Tensor) -> Tensor:
        """``ids`` ``[B, T]`` to logits ``[B, T, V]``."""
        hidden, _, _ = self.reading(ids, self.positions, self.mask)
        return self.model.head(hidden)
