"""Train a bundled model: ``python -m core.train RECIPE --corpus FOLDER``.

``tokenizer`` learns the pieces instead; ``held-out`` writes the few held-out documents that the
tests judge the models on: ``python -m core.train held-out --corpus FOLDER --out tests/core/train``.
"""

from __future__ import annotations

import argparse
import copy
import logging
import os
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # Read when torch is imported below.

import torch

from core.checkpoints import bundled
from core.checkpoints.cards import raw_card
from core.model.transformer import Transformer
from core.paths import MODELS, TOKENIZER
from core.text.tokenizer import Tokenizer
from core.train.corpus import TokenisedCorpus, prepare, tokenizer_texts
from core.train.evaluate import Judge, excerpt
from core.train.recipes import RECIPES, Recipe
from core.train.trainer import Budget, train

log = logging.getLogger("core.train")


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m core.train", description=__doc__)
    parser.add_argument("recipe", choices=[*RECIPES, "tokenizer", "held-out"])
    parser.add_argument("--corpus", type=Path, required=True, help="folder of .txt stories")
    parser.add_argument("--stories", type=int, default=20_000, help="grammar stories to tell")
    parser.add_argument("--tokens", type=float, default=2e7, help="tokens to train on")
    parser.add_argument("--real-share", type=float, default=0.35, help="share of real documents")
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="bfloat16")
    parser.add_argument("--out", type=Path, default=MODELS, help="folder to write into")
    parser.add_argument("--resume", type=Path, help="folder for the state of stopped runs")
    parser.add_argument("--evaluate", action="store_true", help="judge the saved model again")
    return parser.parse_args(argv)


def _command(args: argparse.Namespace) -> str:
    """What trains the same model again; folders of this machine are left out."""
    return (
        f"python -m core.train {args.recipe} --corpus CORPUS --stories {args.stories}"
        f" --tokens {args.tokens:.0f} --real-share {args.real_share} --precision {args.precision}"
    )


def _card(recipe: Recipe, corpus: TokenisedCorpus, seen: int, command: str) -> dict[str, Any]:
    sizes = {
        name: {"documents": len(part), "tokens": len(part.tokens)}
        for name, part in (
            ("real", corpus.only(real=True)),
            ("grammar", corpus.only(real=False)),
        )
    }
    return {
        "title": recipe.title,
        "data": sizes,
        "tokens_seen": seen,
        "start": [name for name in (recipe.start, recipe.start_encoder) if name],
        "seed": recipe.seed,
        "command": command,
        "objectives": [objective.value for objective in recipe.objectives],
        "licence": "Apache-2.0",
    }


def main(argv: list[str]) -> int:
    """Train, judge and write one model; returns the exit code."""
    args = _arguments(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    torch.set_num_threads(args.threads)
    if args.recipe == "tokenizer":
        Tokenizer.train(tokenizer_texts(args.corpus, stories=args.stories), TOKENIZER)
        return 0
    corpus, held = prepare(args.corpus, Tokenizer.load(TOKENIZER), stories=args.stories)
    if args.recipe == "held-out":
        excerpt(held).save(args.out / "held_out.npz")
        return 0
    recipe, command, judge = RECIPES[args.recipe], _command(args), Judge(corpus, held)

    def checkpoint(model: Transformer, seen: int) -> None:
        stored = copy.deepcopy(model).half().float()  # What `save` keeps is what is judged.
        figures = judge.figures(stored, recipe)
        log.info("%s after %d tokens: %s", recipe.name, seen, figures)
        card = _card(recipe, corpus, seen, command) | {
            "figures": figures,
            "written": datetime.now(UTC).date().isoformat(),
        }
        bundled.save(model, card, args.out / recipe.name)

    if args.evaluate:
        old = raw_card(recipe.name, args.out)
        command = _command(_arguments(shlex.split(old["command"])[3:]))
        checkpoint(bundled.load(recipe.name, args.out), old["tokens_seen"])
        return 0
    budget = Budget(int(args.tokens), args.real_share, args.precision)
    resume = args.resume / f"{recipe.name}.pt" if args.resume else None
    begin = [bundled.load(n, args.out) for n in (recipe.start, recipe.start_encoder) if n]
    train(recipe, corpus, budget, checkpoint, resume, begin)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
