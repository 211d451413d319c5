"""``maskscope objectives``: a text as a training objective sees it, and the loss of a model."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np

from app.cli.models import add_json
from app.cli.options import add_engine, text_state, tokenizer
from app.cli.output import STANDARD_OUTPUT, check_target, deliver, table, to_json
from app.cli.reading import engine
from app.cli.values import MOST, whole
from app.scene import document, request, scene, sentence_ends
from app.state import ViewState
from app.workspaces import SUFFIX, is_workspace
from core.text.tokenizer import Tokenizer
from core.types import (
    MASK_RATE,
    HeadRef,
    Noise,
    Objective,
    ObjectiveJob,
    ObjectiveView,
    RunRequest,
    Shift,
    Stack,
)
from core.types.wording import a_mask, counted

BAR = 20
"""Letters of the longest bar."""
_HELP = """Show a text as a training objective sees it: what is read, what has to be predicted, and
the loss of a model at each position.

mlm      masked tokens (BERT): 15 % are selected and guessed back from both sides
clm      the next token (GPT)
span     spans are cut out and written apart (T5)
prefix   the next token after a prefix that is read both ways (UniLM, UL2)
denoise  the whole text is restored from a noisy one (BART)
rtd      replaced tokens (ELECTRA): needs a second model, so it is explained, not computed
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "objectives",
        help="show a text as a training objective sees it, with the loss",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = parser.add_argument
    named = f"a name that `maskscope models` lists, a FILE.onnx, or a FILE{SUFFIX} with the text"
    option("model", metavar="MODEL", help=named)
    option("--text", nargs=1, help="the plain text")
    names = [one.value for one in Objective]
    option("--objective", choices=names, required=True, help="what has to be predicted")
    option("--seed", type=whole(0), default=0, metavar="N", help="of what is drawn; default: 0")
    drawn = "tokens of the prefix, <s> included; default: drawn by the seed"
    option("--prefix", type=whole(0, MOST), metavar="P", help=drawn)
    shifts = [one.value for one in Shift]
    bug = "how often labels are shifted: right, the default, is once; none and double are bugs"
    option("--shift", choices=shifts, default=shifts[0], help=bug)
    noises = [one.value for one in Noise]
    undone = f"what denoise undoes; default: {noises[0]}"
    option("--noise", choices=noises, default=noises[0], help=undone)
    add_engine(parser)
    add_json(parser)
    parser.set_defaults(command=command)


def command(args: argparse.Namespace) -> int:
    """Ask once; print the table, or write JSON."""
    from core.run.objectives import objective

    if args.json not in (None, STANDARD_OUTPUT):
        check_target(args.json)
    state = text_state(args)
    words = tokenizer(state.model)
    job = job_of(args, state, request(state, scene(state, words)), words)
    with engine(state.model, state.backend) as runs:
        seen = objective(runs, job)
    if args.json is not None:
        deliver(to_json(as_plain(job, seen, words)), args.json)
    else:
        print(as_text(job, seen, words))
    return 0


def job_of(
    args: argparse.Namespace, state: ViewState, run: RunRequest, words: Tokenizer
) -> ObjectiveJob:
    """The objective that the options say, of the shown text of a state; None stands for usual."""
    ids, prefix = document(state, words), args.prefix
    if is_workspace(args.model) and args.objective == Objective.PREFIX.value:
        prefix = state.prefix or None
    return ObjectiveJob(
        generation=1,
        run=replace(run, head=HeadRef(Stack.DECODER)),
        ids=ids,
        objective=Objective(args.objective),
        seed=args.seed or 0,
        prefix=prefix,
        shift=Shift(args.shift or Shift.RIGHT),
        noise=Noise(args.noise or Noise.INFILLING),
        stops=sentence_ends(ids, words),
    )


def as_text(job: ObjectiveJob, seen: ObjectiveView, words: Tokenizer) -> str:
    """What is printed: the mean in a line, notes, then a line for each position."""
    lines = [
        f"{job.run.model}, {seen.objective.value} under {a_mask(seen.kind)}, seed {job.seed}"
        f" ({1000 * seen.seconds:.1f} ms)",
        seen.sentence,
        *(f"note: {note}" for note in seen.notes),
    ]
    if seen.counts:
        lines.append(seen.counts)
    if seen.prefix:
        lines.append(f"prefix: {counted(seen.prefix, 'token')}")
    if len(seen.source):
        lines.append(f"source: {' '.join(words.pieces(seen.source))}")
    largest = float(np.nanmax(seen.loss)) if np.isfinite(seen.loss).any() else 1.0
    rows = []
    for position, token in enumerate(seen.inputs):
        row = [str(position), words.label(int(token)), _target(seen, position, words)]
        if seen.is_computed:
            loss = float(seen.loss[position])
            has_loss = not np.isnan(loss)
            guess = words.label(int(seen.top_ids[position]))
            row += [
                f"{loss:.3f}" if has_loss else "",
                f"{guess} {seen.top_probs[position]:.2f}",
                "#" * round(BAR * loss / largest) if has_loss else "",
            ]
        rows.append(row)
    head = ["position", "reads", "target"]
    if seen.is_computed:
        head += ["loss", "likeliest", ""]
    return "\n".join([*lines, "", table(head, rows)])


def _target(seen: ObjectiveView, position: int, words: Tokenizer) -> str:
    """The label of what has to be predicted, empty where nothing has."""
    return words.label(int(seen.targets[position])) if seen.loss_mask[position] else ""


def as_plain(job: ObjectiveJob, seen: ObjectiveView, words: Tokenizer) -> dict[str, Any]:
    """The content of a JSON file; null where no loss is taken or nothing was computed."""
    targets = [int(i) if i >= 0 else None for i in seen.targets]
    guesses = [
        {"id": int(i), "token": words.label(int(i)), "probability": round(float(p), 6)}
        for i, p in zip(seen.top_ids, seen.top_probs, strict=True)
    ]
    return {
        "model": job.run.model,
        "objective": seen.objective.value,
        "mask_kind": seen.kind.value,
        "seed": job.seed,
        "shift": job.shift.value,
        "prefix": seen.prefix,
        "seconds": round(seen.seconds, 6),
        "notes": list(seen.notes),
        "sentence": words.pieces(job.ids),
        "source": words.pieces(seen.source),
        "source_ids": seen.source.tolist(),
        "inputs": words.pieces(seen.inputs),
        "input_ids": seen.inputs.tolist(),
        "targets": [None if i is None else words.label(i) for i in targets],
        "target_ids": targets,
        "loss_mask": seen.loss_mask.astype(int).tolist(),
        "loss": [None if np.isnan(x) else round(float(x), 6) for x in seen.loss],
        "mean": None if seen.mean is None else round(seen.mean, 6),
        "denominator": seen.denominator,
        "counts": {
            "next_token": seen.next_tokens,
            "masked_on_average": round(MASK_RATE * seen.selectable, 6),
        },
        "likeliest": guesses,
    }
