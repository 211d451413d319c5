"""``maskscope models``: the trained models that ship with the program."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from app.cli.output import STANDARD_OUTPUT, Failure, deliver, table, to_json
from core import paths
from core.checkpoints import cards
from core.types import ModelCard

HEADER = ("model", "family", "parameters", "layers", "heads", "width", "positions", "trained under")


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "models",
        help="list the trained models",
        description="List the models that ship with the program, with their sizes and figures.",
    )
    add_json(parser)
    parser.set_defaults(command=command)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``, which prints or, with a name, writes."""
    parser.add_argument(
        "--json",
        type=Path,
        nargs="?",
        const=STANDARD_OUTPUT,
        metavar="FILE",
        help="JSON, printed, or written to FILE",
    )


def model_names(needed: Iterable[str] = ()) -> tuple[str, ...]:
    """The bundled models; raises `Failure` where there are none, or one that is needed is not."""
    names = cards.names(paths.MODELS)
    missing = [name for name in needed if name not in names]
    if missing or not names:
        raise Failure(
            f"Models are missing from {paths.MODELS.parent.name}/{paths.MODELS.name}"
            f" ({', '.join(missing) or 'all of them'}); get the whole program again, or train them"
            " with `python -m core.train`."
        )
    return names


def model_card(name: str) -> ModelCard:
    """The card of a bundled model, or of a file that ends in ``.onnx``.

    Raises
    ------
    ValueError
        for an unknown name, or a file that is no exported model.
    """
    if is_file(name):
        return _card_of_file(name)
    model_names()
    return cards.card(name, paths.MODELS)


def is_file(model: str) -> bool:
    """True for what is meant as an exported file and not as the name of a bundled model."""
    return model.lower().endswith(".onnx")


def _card_of_file(name: str) -> ModelCard:
    from core.export.files import find

    _, header = find(Path(name))
    config = header.config
    return ModelCard(
        name=name,
        title=f"{header.model}, exported by maskscope {header.product}",
        family=config.family,
        parameters=0,
        layers=config.layers,
        encoder_layers=config.encoder_layers,
        heads=config.heads,
        width=config.width,
        vocabulary=config.vocabulary,
        positions=config.positions,
        kinds=config.kinds,
    )


def command(args: argparse.Namespace) -> int:
    """Print or write the table."""
    found = [model_card(name) for name in model_names()]
    if args.json is not None:
        deliver(to_json([_plain(card) for card in found]), args.json)
        return 0
    print(table(HEADER, [_row(card) for card in found]))
    for card in found:
        print(f"\n{card.name}: {card.title}")
        for name, value in card.figures.items():
            if name.endswith("_ratio"):
                print(f"  {name.replace('_', ' ')} to counting models: {value:g}")
    return 0


def _row(card: ModelCard) -> tuple[str, ...]:
    layers = f"{card.encoder_layers}+{card.layers}" if card.encoder_layers else str(card.layers)
    return (
        card.name,
        card.family.value,
        f"{card.parameters:,}",
        layers,
        str(card.heads),
        str(card.width),
        str(card.positions),
        ", ".join(kind.value for kind in card.kinds),
    )


def _plain(card: ModelCard) -> dict[str, Any]:
    kinds = [kind.value for kind in card.kinds]
    return asdict(card) | {"family": card.family.value, "kinds": kinds}
