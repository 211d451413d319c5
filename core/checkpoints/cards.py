"""The model cards that ship with the program; reading them needs no tensor library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core.paths import MODELS
from core.types import Family, MaskKind, ModelCard

ORDER = ("encoder", "decoder", "prefix", "encdec", "unified")


def names(folder: Path = MODELS) -> tuple[str, ...]:
    """The bundled models, in the order in which they are shown."""
    found = {path.parent.name for path in folder.glob("*/card.json")}
    return (*(n for n in ORDER if n in found), *sorted(found.difference(ORDER)))


def folder_of(name: str, folder: Path = MODELS) -> Path:
    """The folder of a bundled model.

    Raises
    ------
    ValueError
        if there is none of that name; the message lists the names there are.
    """
    known = names(folder)
    if name not in known:
        raise ValueError(f"There is no model {name!r}; choose one of {', '.join(known)}.")
    return folder / name


def raw_card(name: str, folder: Path = MODELS) -> dict[str, Any]:
    """The whole ``card.json``: the model card with data, seed, command and figures."""
    text = (folder_of(name, folder) / "card.json").read_text(encoding="utf-8")
    plain: dict[str, Any] = json.loads(text)
    return plain


def card(name: str, folder: Path = MODELS) -> ModelCard:
    """The card of a bundled model; raises ValueError for an unknown name."""
    plain = raw_card(name, folder)
    config = plain["config"]
    return ModelCard(
        name=name,
        title=plain["title"],
        family=Family(config["family"]),
        parameters=plain["parameters"],
        layers=config["layers"],
        encoder_layers=config["encoder_layers"],
        heads=config["heads"],
        width=config["width"],
        vocabulary=config["vocabulary"],
        positions=config["positions"],
        kinds=tuple(MaskKind(kind) for kind in config["kinds"]),
        figures=plain["figures"],
    )
