"""One pre-norm block and the assemblies it is built into.

No family is written into the block: what a position may read comes in as a bool mask. Decoder-only,
prefix-LM and ``unified`` models are the same assembly under different masks.
"""

from __future__ import annotations

import math
from typing import Protocol, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from core.model.attention import Attention, Trace
from core.model.cache import Cache, KeyValue
from core.model.config import ModelConfig
from core.model.layers import Embedding, MaskedTokenHead, Mlp, make_norm
from core.text.special import FIRST_SENTINEL, MASK, SENTINELS
from core.types import Family, Stack


class Watcher(Protocol):
    """Who looks on while a model runs: the engine's cancel token and capture."""

    def before_layer(self, stack: Stack, layer: int) -> None:
        """Called before each layer; may raise to stop the run."""

    def wants(self, stack: Stack, layer: int) -> bool:
        """True if the trace of this attention shall be kept."""

    def keep(self, stack: Stack, layer: int, trace: Trace) -> None:
        """Take the trace of an attention that was wanted."""


class Block(nn.Module):
    """Self-attention, cross-attention where there is a memory, and the MLP; norm before each."""

    def __init__(self, config: ModelConfig, *, stack: Stack, layer: int, cross: bool) -> None:
        super().__init__()
        self.stack, self.layer = stack, layer
        self.attention_norm, self.attention = make_norm(config), Attention(config)
        if cross:
            self.cross_norm, self.cross = make_norm(config), Attention(config, cross=True)
        self.mlp_norm, self.mlp = make_norm(config), Mlp(config)

    def forward(
        self,
        x: Tensor,
        mask: Tensor,
        cache: Cache | None,
        cross_mask: Tensor | None,
        memory: KeyValue | None,
        watcher: Watcher | None,
    ) -> Tensor:
        """``x`` ``[B, Tq, width]`` to the same shape; the cache, if given, grows by ``Tq``."""
        if watcher is not None:
            watcher.before_layer(self.stack, self.layer)
        query, keys, values = self.attention.project(self.attention_norm(x))
        if cache is not None:
            keys, values = cache.extend(self.layer, keys, values)
        x = x + self._attend(self.attention, self.stack, query, (keys, values), mask, watcher)
        if memory is not None and cross_mask is not None:
            query = self.cross.project_query(self.cross_norm(x))
            x = x + self._attend(self.cross, Stack.CROSS, query, memory, cross_mask, watcher)
        out: Tensor = x + self.mlp(self.mlp_norm(x))
        return out

    def _attend(
        self,
        attention: Attention,
        stack: Stack,
        query: Tensor,
        keys_values: KeyValue,
        mask: Tensor,
        watcher: Watcher | None,
    ) -> Tensor:
        traced = watcher is not None and watcher.wants(stack, self.layer)
        output, trace = attention(query, keys_values, mask, traced)
        if watcher is not None and trace is not None:
            watcher.keep(stack, self.layer, trace)
        result: Tensor = output
        return result


class LayerStack(nn.Module):
    """An embedding, a pile of blocks and the final norm."""

    def __init__(
        self, config: ModelConfig, tokens: nn.Embedding, *, stack: Stack, layers: int, cross: bool
    ) -> None:
        super().__init__()
        self.embedding = Embedding(config, tokens)
        self.blocks = nn.ModuleList(
            Block(config, stack=stack, layer=layer, cross=cross) for layer in range(layers)
        )
        self.norm = make_norm(config)

    def project_memory(self, memory: Tensor) -> list[KeyValue]:
        """Cross keys and values of every layer for ``memory`` ``[B, S, width]``."""
        crosses = (cast("Block", block).cross for block in self.blocks)
        return [cross.project_memory(memory) for cross in crosses]

    def forward(
        self,
        ids: Tensor,
        positions: Tensor,
        mask: Tensor,
        cache: Cache | None = None,
        cross_mask: Tensor | None = None,
        watcher: Watcher | None = None,
    ) -> Tensor:
        """Hidden states ``[B, Tq, width]``; the memory of cross-attention comes in the cache."""
        x = self.embedding(ids, positions)
        for layer, block in enumerate(self.blocks):
            memory = cache.cross[layer] if cache is not None and cache.cross else None
            x = block(x, mask, cache, cross_mask, memory, watcher)
        hidden: Tensor = self.norm(x)
        return hidden


class Transformer(nn.Module):
    """A model of any family; the output matrix is the token embedding (tied)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocabulary, config.width)
        two = config.family is Family.ENCODER_DECODER
        if two:
            self.encoder = LayerStack(
                config,
                self.tokens,
                stack=Stack.ENCODER,
                layers=config.encoder_layers,
                cross=False,
            )
        only_encoder = config.family is Family.ENCODER
        self.body = LayerStack(
            config,
            self.tokens,
            stack=Stack.ENCODER if only_encoder else Stack.DECODER,
            layers=config.layers,
            cross=two,
        )
        self.transform: nn.Module = MaskedTokenHead(config) if only_encoder else nn.Identity()
        self.bias = nn.Parameter(torch.zeros(config.vocabulary))

    def encode(
        self, ids: Tensor, positions: Tensor, mask: Tensor, watcher: Watcher | None = None
    ) -> Cache:
        """Run the encoder once; the cache holds every decoder layer's cross keys and values.

        ``ids`` and ``positions`` ``[B, S]``; ``mask`` bool broadcastable to ``[B, H, S, S]``.
        """
        memory = self.encoder(ids, positions, mask, watcher=watcher)
        return Cache(cross=self.body.project_memory(memory))

    def forward(
        self,
        ids: Tensor,
        positions: Tensor,
        mask: Tensor,
        cache: Cache | None = None,
        cross_mask: Tensor | None = None,
        watcher: Watcher | None = None,
    ) -> Tensor:
        """Logits ``[B, Tq, V]`` of a chunk.

        Parameters
        ----------
        ids, positions : ``[B, Tq]`` (positions may be ``[1, Tq]``); positions continue from the
            cache.
        mask : bool, broadcastable to ``[B, H, Tq, S]`` with ``S`` the cached keys plus ``Tq``;
            True = may read.
        cache : read and extended by the chunk; an encoder-decoder needs the one of ``encode``.
        cross_mask : bool, broadcastable to ``[B, H, Tq, S_source]`` (encoder-decoder only).
        watcher : told before each layer, may take traces.
        """
        return self.head(self.body(ids, positions, mask, cache, cross_mask, watcher))

    def head(self, hidden: Tensor) -> Tensor:
        """Logits ``[..., V]`` of final hidden states ``[..., width]``."""
        return functional.linear(self.transform(hidden), self.tokens.weight, self.bias)


def sinusoids(length: int, width: int) -> Tensor:
    """Position features ``[length, width]`` of Vaswani et al. 2017: sines, then cosines."""
    rates = 10_000.0 ** (-torch.arange(0, width, 2) / width)
    angles = torch.arange(length)[:, None] * rates
    return torch.cat((angles.sin(), angles.cos()), dim=1)


def initialise(model: Transformer, seed: int) -> None:
    """Fill the weights: std 0.02 everywhere (embeddings too), residual outputs scaled down.

    The output of each residual branch gets std ``0.02 / sqrt(2 * layers)`` (Radford et al. 2019).
    Positions are learned from sinusoids on, where a fixed distance is a fixed rotation: a
    bidirectional model finds its neighbours much sooner than from noise.
    """
    generator = torch.Generator().manual_seed(seed)
    branch_std = 0.02 / math.sqrt(2 * (model.config.layers + model.config.encoder_layers))
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(parameter)
        elif "norm" in name:
            nn.init.ones_(parameter)
        elif name.endswith("positions.weight"):
            parameter.data.copy_(sinusoids(*parameter.shape) * 0.02 * math.sqrt(2))
        else:
            narrow = name.endswith(("out.weight", "down.weight"))
            nn.init.normal_(parameter, 0.0, branch_std if narrow else 0.02, generator=generator)


def start_from(model: Transformer, *sources: Transformer) -> None:
    """Copy every parameter that a source has too: same name, same shape.

    One source gives all it has. Of two, the first gives the decoder of an encoder-decoder, the
    second its encoder and the token embedding, in which sentinels start as ``[MASK]`` with some
    noise: the encoder fills that already.
    """
    parts = [dict(source.named_parameters()) for source in sources]
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            own = name.replace("encoder.", "body.", 1)
            known = parts[:1] if name.startswith("body.") else parts[-1:]
            for weights in known:
                if own in weights and weights[own].shape == parameter.shape:
                    parameter.copy_(weights[own])
        if len(sources) > 1:
            table = model.tokens.weight
            generator = torch.Generator().manual_seed(0)
            noise = torch.randn(SENTINELS, table.shape[1], generator=generator)
            sentinels = slice(FIRST_SENTINEL, FIRST_SENTINEL + SENTINELS)
            table[sentinels] = table[MASK] + 0.5 * table.std() * noise
