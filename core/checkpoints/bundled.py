"""Weights that ship with the program: safetensors in half precision beside a ``card.json``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from core.checkpoints.cards import folder_of, raw_card
from core.model.config import ModelConfig
from core.model.transformer import Transformer
from core.paths import MODELS

WEIGHTS = "model.safetensors"


def load(name: str, folder: Path = MODELS) -> Transformer:
    """Read a bundled model into float32, in evaluation mode.

    Raises
    ------
    ValueError
        for an unknown name, or weights that do not fit the config of the card.
    """
    config = ModelConfig.from_json(raw_card(name, folder)["config"])
    model = Transformer(config)
    found = load_file(folder_of(name, folder) / WEIGHTS)
    wanted = dict(model.named_parameters())
    if found.keys() != wanted.keys():
        odd = sorted(found.keys() ^ wanted.keys())
        raise ValueError(f"The weights of {name!r} do not fit its config: {', '.join(odd[:4])}.")
    with torch.no_grad():
        for key, parameter in wanted.items():
            if found[key].shape != parameter.shape:
                raise ValueError(
                    f"{key} of {name!r} has shape {tuple(found[key].shape)},"
                    f" but the config asks for {tuple(parameter.shape)}."
                )
            parameter.copy_(found[key])
    return model.eval()


def save(model: Transformer, card: dict[str, Any], folder: Path) -> None:
    """Write weights (float16, tied ones once) and card; a complete pair replaces the old one."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        name: parameter.detach().to(torch.float16).contiguous()
        for name, parameter in model.named_parameters()
    }
    plain = card | {
        "config": model.config.to_json(),
        "parameters": sum(p.numel() for p in model.parameters()),
    }
    save_file(weights, folder / (WEIGHTS + ".new"))
    text = json.dumps(plain, indent=2, ensure_ascii=False) + "\n"
    (folder / "card.json.new").write_text(text, encoding="utf-8")
    for name in (WEIGHTS, "card.json"):
        os.replace(folder / (name + ".new"), folder / name)
