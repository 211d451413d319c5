"""``maskscope embeddings``: how alike sentences are to a model, by each way to pool its states."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from app.cli.models import add_json
from app.cli.options import add_engine, card_of, placed, tokenizer
from app.cli.output import STANDARD_OUTPUT, check_target, deliver, table, to_json
from app.cli.reading import engine
from core.text.tokenizer import Tokenizer
from core.types import (
    EmbeddingsJob,
    EmbeddingsView,
    Family,
    HeadRef,
    MaskKind,
    ModelCard,
    Pooling,
    RunRequest,
    Stack,
)

Sentences = list[tuple[int, ...]]


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "embeddings",
        help="compare sentences by mean, last and first token",
        description="Pool the last hidden states of sentences (mean of all tokens, last token,"
        " first token), and print the cosines; under a causal mask also how near the state of each"
        " position is to the one of the same weights that reads both ways.",
    )
    option = parser.add_argument
    option("model", metavar="MODEL", help="a name that `maskscope models` lists")
    option("--text", action="append", required=True, help="a sentence; give two or more")
    kinds = (MaskKind.CAUSAL.value, MaskKind.BIDIRECTIONAL.value)
    option("--mask", choices=kinds, help="the mask; default: causal where the model can generate")
    add_engine(parser)
    add_json(parser)
    parser.set_defaults(command=command)


def command(args: argparse.Namespace) -> int:
    """Ask once; print the tables, or write JSON."""
    from core.run.embeddings import batch, embeddings, sentence_ids

    if args.json not in (None, STANDARD_OUTPUT):
        check_target(args.json)
    card = card_of(args)
    words = tokenizer(card.name)
    kind = _usual(card) if args.mask is None else MaskKind(args.mask)
    sentences = [sentence_ids(words.encode(text), kind) for text in args.text]
    inputs = batch(sentences, kind, card.family)
    head = HeadRef(Stack.DECODER)
    run = placed(RunRequest(1, card.name, inputs, head), args)
    with engine(card.name, args.backend) as runs:
        seen = embeddings(runs, EmbeddingsJob(1, run))
    if args.json is not None:
        deliver(to_json(as_plain(card, seen, sentences, words)), args.json)
    else:
        print(as_text(card, seen, sentences, words))
    return 0


def _usual(card: ModelCard) -> MaskKind:
    generates = card.family in (Family.DECODER, Family.PREFIX)
    return MaskKind.CAUSAL if generates else MaskKind.BIDIRECTIONAL


def as_text(card: ModelCard, seen: EmbeddingsView, sentences: Sentences, words: Tokenizer) -> str:
    """What is printed: a table of cosines for each pooling, then what each position knows."""
    lines = [f"{card.name} under a {seen.kind.value} mask ({1000 * seen.seconds:.1f} ms)"]
    lines += [f"note: {note}" for note in seen.notes]
    for pooling, values in seen.similarity.items():
        head = [f"{pooling.value} token" if pooling is not Pooling.MEAN else "mean of all tokens"]
        head += [str(n + 1) for n in range(len(sentences))]
        rows = [
            [f"{n + 1}: {words.decode(ids, structure=False)}", *(f"{value:.3f}" for value in row)]
            for n, (ids, row) in enumerate(zip(sentences, values, strict=True))
        ]
        lines += ["", table(head, rows)]
    for n in range(seen.sentences if seen.known.shape[1] else 0):
        pieces = words.pieces(sentences[n])
        known = [f"{value:.2f}" for value in seen.known[n, : len(pieces)]]
        title = f"{n + 1}: cosine with the state that reads both ways"
        lines += ["", title, table(pieces, [known])]
    return "\n".join(lines)


def as_plain(
    card: ModelCard, seen: EmbeddingsView, sentences: Sentences, words: Tokenizer
) -> dict[str, Any]:
    """The content of a JSON file; ``known`` is empty where every position reads all."""
    known = [
        [round(float(value), 6) for value in row[~np.isnan(row)]]
        for row in seen.known
        if seen.known.shape[1]
    ]
    return {
        "model": card.name,
        "mask_kind": seen.kind.value,
        "seconds": round(seen.seconds, 6),
        "notes": list(seen.notes),
        "sentences": [words.decode(ids, structure=False) for ids in sentences],
        "tokens": [words.pieces(ids) for ids in sentences],
        "similarity": {
            pooling.value: [[round(float(value), 6) for value in row] for row in values]
            for pooling, values in seen.similarity.items()
        },
        "known": known,
    }
