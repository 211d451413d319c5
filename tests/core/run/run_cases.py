"""A folder of five tiny models and requests for them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from core.checkpoints import bundled
from core.model.config import ModelConfig
from core.model.transformer import Transformer
from core.run.step import begin, chunk, to_device
from core.text.special import EOS
from core.types import (
    Family,
    HeadRef,
    Inputs,
    MaskKind,
    MaskSpec,
    RunRequest,
    Stack,
)

V, POSITIONS, LAYERS, HEADS = 30, 300, 2, 2
B, C = MaskKind.BIDIRECTIONAL, MaskKind.CAUSAL
MODELS = {
    "encoder": (Family.ENCODER, (B,)),
    "decoder": (Family.DECODER, (C,)),
    "prefix": (Family.PREFIX, (MaskKind.PREFIX,)),
    "encdec": (Family.ENCODER_DECODER, (MaskKind.DECODER_SELF,)),
    "unified": (Family.PREFIX, (MaskKind.PREFIX, C, B)),
}
GENERATORS = ("decoder", "prefix", "encdec", "unified")


def config(name: str) -> ModelConfig:
    family, kinds = MODELS[name]
    return ModelConfig(
        family,
        kinds,
        vocabulary=V,
        width=8,
        layers=LAYERS,
        encoder_layers=LAYERS if family is Family.ENCODER_DECODER else 0,
        heads=HEADS,
        kv_heads=HEADS,
        ffn=12,
        positions=POSITIONS,
    )


def randomise(model: Transformer, seed: int = 0) -> Transformer:
    """Weights so large that texts are varied; the end token is never likely."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            wide = {"positions.weight": 2.0, "bias": 0.1}
            std = next((std for end, std in wide.items() if name.endswith(end)), 0.6)
            parameter.normal_(0.0, std, generator=generator)
        model.bias[EOS] = -50.0
    return model.eval()


def bundle(folder: Path) -> Path:
    """Write the five models; returns the folder."""
    for name in MODELS:
        model = randomise(Transformer(config(name)))
        bundled.save(model, {"title": name, "figures": {}}, folder / name)
    return folder


def ids(length: int, seed: int = 0) -> tuple[int, ...]:
    return tuple(np.random.default_rng(seed).integers(0, V, length).tolist())


def inputs(name: str, length: int = 6, *, source: int = 5, rows: int = 1, **knobs) -> Inputs:
    """Random ids under a model's usual mask; ``knobs`` are those of `MaskSpec`."""
    pads = {"left_pad": (0,) * rows, "right_pad": (0,) * rows}
    spec = MaskSpec(**{"kind": MODELS[name][1][0], "length": length} | pads | knobs)
    body = tuple(ids(spec.filled, 10 + row) for row in range(rows))
    if name != "encdec":
        return Inputs(body, spec)
    return Inputs(
        body,
        spec,
        tuple(ids(source, 20 + row) for row in range(rows)),
        MaskSpec(MaskKind.ENCODER_SELF, source, **pads),
        MaskSpec(MaskKind.CROSS, spec.length, past=spec.past, source=source, **pads),
    )


def request(name: str, given: Inputs | None = None, **changes) -> RunRequest:
    stack = Stack.ENCODER if name == "encoder" else Stack.DECODER
    plain = RunRequest(1, name, given or inputs(name), HeadRef(stack), device="cpu")
    return replace(plain, **changes)


def logits_of(model: Transformer, given: Inputs) -> torch.Tensor:
    """Logits ``[B, N, V]`` of the whole rows without a cache."""
    tensors = to_device(given, torch.device("cpu"))
    with torch.inference_mode():
        return chunk(model, tensors, begin(model, tensors), tensors.ids.shape[1])
