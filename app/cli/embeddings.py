"""``maskscope embeddings``: how alike sentences are to a model, by each way to pool its states."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np

from app.cli.models import add_json
from app.cli.options import add_engine, text_state, tokenizer
from app.cli.output import STANDARD_OUTPUT, check_target, deliver, table, to_json
from app.cli.reading import engine
from app.scene import document, request, scene
from app.state import ViewState
from app.workspaces import SUFFIX
from core.text.special import BOS, EOS
from core.text.tokenizer import Tokenizer
from core.types import (
    EmbeddingsJob,
    EmbeddingsView,
    Family,
    HeadRef,
    MaskKind,
    Pooling,
    RunRequest,
    Stack,
)
from core.types.wording import a_mask

Ids = tuple[int, ...]

LONGEST = 40
"""Letters of a sentence that are printed as its name."""
WIDE = 12
"""Tokens that are printed side by side."""


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
    named = f"a name that `maskscope models` lists, or a FILE{SUFFIX} with the sentences"
    option("model", metavar="MODEL", help=named)
    option("--text", action="append", help="a sentence; give two or more")
    kinds = (MaskKind.CAUSAL.value, MaskKind.BIDIRECTIONAL.value)
    option("--mask", choices=kinds, help="the mask; default: causal where the model can generate")
    add_engine(parser, files=False)
    add_json(parser)
    parser.set_defaults(command=command)


def command(args: argparse.Namespace) -> int:
    """Ask once; print the tables, or write JSON."""
    from core.run.embeddings import embeddings

    if args.json not in (None, STANDARD_OUTPUT):
        check_target(args.json)
    state = text_state(args)
    words = tokenizer(state.model)
    kind = usual_mask(state) if args.mask is None else MaskKind(args.mask)
    job = EmbeddingsJob(1, sentences(state, request(state, scene(state, words)), words, kind))
    with engine(state.model, state.backend) as runs:
        seen = embeddings(runs, job)
    if args.json is not None:
        deliver(to_json(as_plain(job.run, seen, words)), args.json)
    else:
        print(as_text(job.run, seen, words))
    return 0


def usual_mask(state: ViewState) -> MaskKind:
    """Causal where the model generates."""
    generates = state.family in (Family.DECODER, Family.PREFIX)
    return MaskKind.CAUSAL if generates else MaskKind.BIDIRECTIONAL


def sentences(state: ViewState, run: RunRequest, words: Tokenizer, kind: MaskKind) -> RunRequest:
    """A run of every text of a state as a sentence of its own; ValueError for a single one."""
    from core.run.embeddings import batch, sentence_ids

    rows = [document(replace(state, row=row), words) for row in range(len(state.rows))]
    texts = [[i for i in ids if i not in (BOS, EOS)] for ids in rows]
    inputs = batch([sentence_ids(text, kind) for text in texts], kind, state.family)
    return replace(run, inputs=inputs, head=HeadRef(Stack.DECODER), row=0)


def _read(run: RunRequest) -> list[Ids]:
    """The tokens of each sentence, without the pads that make them equally long."""
    spec = run.inputs.mask
    return [
        ids[left : spec.length - right]
        for ids, left, right in zip(run.inputs.rows, spec.left_pad, spec.right_pad, strict=True)
    ]


def _name(n: int, ids: Ids, words: Tokenizer) -> str:
    text = " ".join(words.decode(ids, structure=False).split())
    return f"{n + 1}: {text if len(text) <= LONGEST else text[: LONGEST - 1] + '…'}"


def as_text(run: RunRequest, seen: EmbeddingsView, words: Tokenizer) -> str:
    """What is printed: a table of cosines for each pooling, then what each position knows."""
    read = _read(run)
    lines = [f"{run.model} under {a_mask(seen.kind)} ({1000 * seen.seconds:.1f} ms)"]
    lines += [f"note: {note}" for note in seen.notes]
    for pooling, values in seen.similarity.items():
        head = [f"{pooling.value} token" if pooling is not Pooling.MEAN else "mean of all tokens"]
        head += [str(n + 1) for n in range(len(read))]
        rows = [
            [_name(n, ids, words), *(f"{value:z.3f}" for value in row)]
            for n, (ids, row) in enumerate(zip(read, values, strict=True))
        ]
        lines += ["", table(head, rows)]
    for n in range(seen.sentences if seen.known.shape[1] else 0):
        pieces = words.pieces(read[n])
        known = [f"{value:z.2f}" for value in seen.known[n, : len(pieces)]]
        lines += ["", f"{n + 1}: cosine with the state that reads both ways"]
        for start in range(0, len(pieces), WIDE):
            shown = slice(start, start + WIDE)
            lines.append(table(pieces[shown], [known[shown]]))
    return "\n".join(lines)


def as_plain(run: RunRequest, seen: EmbeddingsView, words: Tokenizer) -> dict[str, Any]:
    """The content of a JSON file; ``known`` is empty where every position reads all."""
    read = _read(run)
    known = [
        [round(float(value), 6) for value in row[~np.isnan(row)]]
        for row in seen.known
        if seen.known.shape[1]
    ]
    return {
        "model": run.model,
        "mask_kind": seen.kind.value,
        "seconds": round(seen.seconds, 6),
        "notes": list(seen.notes),
        "sentences": [words.decode(ids, structure=False) for ids in read],
        "tokens": [words.pieces(ids) for ids in read],
        "similarity": {
            pooling.value: [[round(float(value), 6) for value in row] for row in values]
            for pooling, values in seen.similarity.items()
        },
        "known": known,
    }
