"""A tiny random model of every family, and requests for them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from core.checkpoints import bundled
from core.model.config import ModelConfig
from core.model.transformer import Transformer
from core.text.special import EOS
from core.types import Family, HeadRef, Inputs, MaskKind, MaskSpec, RunRequest, Stack

V, POSITIONS = 40, 150
SIZES = {
    "encoder": (Family.ENCODER, MaskKind.BIDIRECTIONAL, {"heads": 2, "kv_heads": 2}),
    "decoder": (Family.DECODER, MaskKind.CAUSAL, {"heads": 4, "kv_heads": 2}),
    "prefix": (Family.PREFIX, MaskKind.PREFIX, {"heads": 1, "kv_heads": 1, "layers": 1}),
    "encdec": (
        Family.ENCODER_DECODER,
        MaskKind.DECODER_SELF,
        {"heads": 2, "kv_heads": 2, "encoder_layers": 1},
    ),
}
NAMES = tuple(SIZES)
GENERATORS = ("decoder", "prefix", "encdec")


def random_model(name: str, seed: int = 0) -> Transformer:
    """Weights so large that texts are varied; the end token is never likely."""
    family, kind, sizes = SIZES[name]
    small = {"width": 16, "layers": 2, "ffn": 20} | sizes
    config = ModelConfig(family, (kind,), vocabulary=V, positions=POSITIONS, **small)
    model, generator = Transformer(config), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for place, parameter in model.named_parameters():
            std = 2.0 if place.endswith("positions.weight") else 0.5
            parameter.normal_(0.0, std, generator=generator)
        model.bias[EOS] = -50.0
    return model.eval()


def bundle(folder: Path) -> Path:
    """Write the models as they ship; returns the folder."""
    for name in NAMES:
        bundled.save(random_model(name), {"title": name, "figures": {}}, folder / name)
    return folder


def ids(length: int, seed: int) -> tuple[int, ...]:
    return tuple(np.random.default_rng(seed).integers(0, V, length).tolist())


def inputs(name: str, length: int = 6, *, source: int = 5, rows: int = 1, **knobs) -> Inputs:
    """Random ids under a model's usual mask; ``knobs`` are those of `MaskSpec`."""
    pads = {"left_pad": (0,) * rows, "right_pad": (0,) * rows}
    spec = MaskSpec(**({"kind": SIZES[name][1], "length": length} | pads | knobs))
    body = tuple(ids(spec.filled, 10 + row) for row in range(rows))
    if name != "encdec":
        return Inputs(body, spec)
    read = tuple(ids(source, 20 + row) for row in range(rows))
    source_pads = {"left_pad": (0,) * rows, "right_pad": (1,) * rows}
    return Inputs(
        body,
        spec,
        read,
        MaskSpec(MaskKind.ENCODER_SELF, source, **source_pads),
        MaskSpec(MaskKind.CROSS, spec.length, past=spec.past, source=source, **source_pads),
    )


def request(name: str, given: Inputs | None = None, **changes) -> RunRequest:
    stack = Stack.ENCODER if name == "encoder" else Stack.DECODER
    plain = RunRequest(1, name, given or inputs(name), HeadRef(stack), device="cpu")
    return replace(plain, **changes)
