"""Tiny models, inputs to feed them, and the same models once more as plain arithmetic.

`plain_logits` shares nothing with `core.model` but the names of the weights: one row, one head and
one query at a time, the mask and the position ids from the loop oracle of `core.mask`.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from core.mask.reference import reference_mask, reference_positions
from core.model.attention import Trace
from core.model.cache import Cache
from core.model.config import ModelConfig
from core.model.transformer import Transformer
from core.run.step import Tensors, begin, chunk, to_device
from core.types import Family, Inputs, MaskKind, MaskSpec, Stack

V = 30
CPU = torch.device("cpu")
KINDS = {
    Family.ENCODER: MaskKind.BIDIRECTIONAL,
    Family.DECODER: MaskKind.CAUSAL,
    Family.PREFIX: MaskKind.PREFIX,
    Family.ENCODER_DECODER: MaskKind.DECODER_SELF,
}
"""The usual self-attention mask of each family."""
Patterns = dict[tuple[Stack, int], Tensor]


def tiny(family: Family, *, seed: int = 0, **changes: int) -> Transformer:
    """A model small enough to be run by loops; weights so large that every one of them matters."""
    sizes = {"vocabulary": V, "width": 12, "heads": 2, "kv_heads": 2, "ffn": 20, "positions": 24}
    layers = {"layers": 2, "encoder_layers": 2 if family is Family.ENCODER_DECODER else 0}
    model = Transformer(ModelConfig(family, (KINDS[family],), **(sizes | layers | changes)))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            is_scale = "norm" in name and name.endswith("weight")
            parameter.normal_(1.0 if is_scale else 0.0, 0.3, generator=generator)
    return model.eval().requires_grad_(False)


class Keeper:
    """A watcher that keeps every trace."""

    def __init__(self) -> None:
        self.traces: dict[tuple[Stack, int], Trace] = {}
        self.layers: list[tuple[Stack, int]] = []

    def before_layer(self, stack: Stack, layer: int) -> None:
        self.layers.append((stack, layer))

    def wants(self, stack: Stack, layer: int) -> bool:
        return True

    def keep(self, stack: Stack, layer: int, trace: Trace) -> None:
        self.traces[stack, layer] = trace

    @property
    def patterns(self) -> Patterns:
        return {key: trace.pattern for key, trace in self.traces.items()}


def logits_of(model: Transformer, inputs: Inputs, watcher: Keeper | None = None) -> Tensor:
    """Logits ``[B, N, V]`` of the whole rows, run at once."""
    tensors = to_device(inputs, CPU)
    return chunk(model, tensors, begin(model, tensors, watcher), tensors.ids.shape[1], watcher)


def logits_in_chunks(
    model: Transformer, inputs: Inputs, stops: list[int]
) -> tuple[Tensor, Cache, Tensors]:
    """The same logits with a cache: a chunk ends at each of ``stops``."""
    tensors = to_device(inputs, CPU)
    cache = begin(model, tensors)
    parts = [chunk(model, tensors, cache, stop) for stop in stops]
    return torch.cat(parts, dim=1), cache, tensors


# -- inputs


def row_of_ids(length: int, seed: int) -> tuple[int, ...]:
    return tuple(np.random.default_rng(seed).integers(0, V, length).tolist())


def one_row(family: Family, length: int, *, seed: int = 0, source: int = 5, **knobs: int) -> Inputs:
    """One unpadded row under the family's usual mask."""
    spec = MaskSpec(KINDS[family], length, **knobs)
    return around(family, spec, (row_of_ids(length, seed),), (row_of_ids(source, seed + 1),))


def around(
    family: Family,
    spec: MaskSpec,
    rows: tuple[tuple[int, ...], ...],
    source: tuple[tuple[int, ...], ...],
    left_pad: tuple[int, ...] = (0,),
    right_pad: tuple[int, ...] = (0,),
) -> Inputs:
    """Inputs with the encoder's side where the family has one."""
    if family is not Family.ENCODER_DECODER:
        return Inputs(rows, spec)
    width = len(source[0])
    pads = {"left_pad": left_pad, "right_pad": right_pad}
    return Inputs(
        rows,
        spec,
        source,
        MaskSpec(MaskKind.ENCODER_SELF, width, **pads),
        MaskSpec(MaskKind.CROSS, spec.past + spec.length, source=width, **pads),
    )


@st.composite
def some_inputs(draw: st.DrawFn, family: Family, *, knobs: bool = True) -> Inputs:
    """Batches with pads on both sides; with ``knobs`` also windows, documents, prefixes."""
    rows = draw(st.integers(1, 3))
    width = draw(st.integers(2, 9))
    left, right = _pads(draw, rows, width)
    tokens = [width - a - b for a, b in zip(left, right, strict=True)]
    kind, documents, window = KINDS[family], (), None
    if knobs:
        cuts = draw(st.sets(st.integers(1, max(tokens)), max_size=2)) - {max(tokens)}
        documents = tuple(np.diff([0, *sorted(cuts), max(tokens)]).tolist()) if cuts else ()
        window = draw(st.none() | st.integers(1, 6))
    prefix = draw(st.integers(0, min(tokens))) if kind is MaskKind.PREFIX else 0
    spec = MaskSpec(
        kind,
        width,
        prefix=prefix,
        left_pad=left,
        right_pad=right,
        window=window,
        documents=documents,
    )
    seed = draw(st.integers(0, 99))
    ids = tuple(row_of_ids(width, seed + b) for b in range(rows))
    length = draw(st.integers(1, 7))
    source = tuple(row_of_ids(length, seed + 100 + b) for b in range(rows))
    return around(family, spec, ids, source, *_pads(draw, rows, length))


def _pads(draw: st.DrawFn, rows: int, width: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    left = [draw(st.integers(0, width - 1)) for _ in range(rows)]
    right = [draw(st.integers(0, width - 1 - n)) for n in left]
    return tuple(left), tuple(right)


# -- the dumb reference


def plain_logits(model: Transformer, inputs: Inputs, row: int) -> tuple[Tensor, Patterns]:
    """Logits ``[N, V]`` and patterns ``[H, N, S]`` of one batch row, uncached."""
    return _Plain(model).run(inputs, row)


class _Plain:
    def __init__(self, model: Transformer) -> None:
        self.weights = {name: p.double() for name, p in model.named_parameters()}
        self.config = model.config
        self.patterns: Patterns = {}

    def run(self, inputs: Inputs, row: int) -> tuple[Tensor, Patterns]:
        config = self.config
        memory = cross = None
        if inputs.source_mask is not None:
            assert inputs.cross_mask is not None
            memory = self.stack(
                "encoder", Stack.ENCODER, inputs.source[row], inputs.source_mask, row
            )
            cross = reference_mask(inputs.cross_mask)[row]
        only_encoder = config.family is Family.ENCODER
        stack = Stack.ENCODER if only_encoder else Stack.DECODER
        x = self.stack("body", stack, inputs.rows[row], inputs.mask, row, memory, cross)
        if only_encoder:
            x = self.norm("transform.norm", functional.gelu(self.linear("transform.dense", x)))
        return x @ self.weights["tokens.weight"].T + self.weights["bias"], self.patterns

    def stack(
        self,
        name: str,
        stack: Stack,
        ids: tuple[int, ...],
        spec: MaskSpec,
        row: int,
        memory: Tensor | None = None,
        cross: np.ndarray | None = None,
    ) -> Tensor:
        layers = self.config.encoder_layers if name == "encoder" else self.config.layers
        mask, positions = reference_mask(spec)[row], reference_positions(spec)[row].tolist()
        places = self.weights[f"{name}.embedding.positions.weight"]
        tokens = self.weights["tokens.weight"]
        x = torch.stack([tokens[i] + places[p] for i, p in zip(ids, positions, strict=True)])
        for layer in range(layers):
            block = f"{name}.blocks.{layer}"
            width = self.config.width
            joined = self.linear(f"{block}.attention.qkv", self.norm(f"{block}.attention_norm", x))
            query, key, value = joined.split((width, self.kv_width, self.kv_width), dim=-1)
            read = self.attention((stack, layer), query, key, value, mask)
            x = x + self.linear(f"{block}.attention.out", read)
            if memory is not None and cross is not None:
                query = self.linear(f"{block}.cross.q", self.norm(f"{block}.cross_norm", x))
                key, value = self.linear(f"{block}.cross.kv", memory).chunk(2, dim=-1)
                read = self.attention((Stack.CROSS, layer), query, key, value, cross)
                x = x + self.linear(f"{block}.cross.out", read)
            inner = functional.gelu(
                self.linear(f"{block}.mlp.up", self.norm(f"{block}.mlp_norm", x))
            )
            x = x + self.linear(f"{block}.mlp.down", inner)
        return self.norm(f"{name}.norm", x)

    @property
    def kv_width(self) -> int:
        return self.config.kv_heads * self.config.head_width

    def linear(self, name: str, x: Tensor) -> Tensor:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def norm(self, name: str, x: Tensor) -> Tensor:
        centred = x - x.mean(dim=-1, keepdim=True)
        spread = (centred.pow(2).mean(dim=-1, keepdim=True) + 1e-5).sqrt()
        return centred / spread * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def attention(
        self, at: tuple[Stack, int], query: Tensor, key: Tensor, value: Tensor, mask: np.ndarray
    ) -> Tensor:
        d = self.config.head_width
        group = self.config.heads // self.config.kv_heads
        outputs, patterns = [], []
        for head in range(self.config.heads):
            mine, shared = (slice(h * d, (h + 1) * d) for h in (head, head // group))
            pattern = torch.zeros(mask.shape, dtype=torch.float64)
            for i in range(mask.shape[0]):
                allowed = np.flatnonzero(mask[i]).tolist()
                if allowed:
                    scores = key[allowed, shared] @ query[i, mine] / math.sqrt(d)
                    pattern[i, allowed] = scores.softmax(dim=0)
            patterns.append(pattern)
            outputs.append(pattern @ value[:, shared])
        self.patterns[at] = torch.stack(patterns)
        return torch.cat(outputs, dim=-1)
