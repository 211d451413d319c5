"""``maskscope data``: what a run computes, as arrays for other programs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from app.cli.check import checked
from app.cli.flow import usual_position
from app.cli.options import add_reading, tokenizer, view_state
from app.cli.output import progress
from app.cli.reading import engine
from app.cli.values import whole
from app.data import data_job
from app.scene import request, scene
from core.types import FlowJob

BESIDE = ("flow", "checks")
_HELP = """Run a model over a text under a mask, and write what it computes as arrays.

Attention and scores of every head, masks, logits, tokens and position ids, of the shown batch row;
what made them, and a README of names and shapes, stand inside. The ending of OUT says the kind:
.npz, .safetensors, .json, or .csv, a new folder of one file an array.
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "data",
        help="write attention, scores, masks and logits as NPZ, safetensors, CSV or JSON",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_reading(parser)
    add = parser.add_argument
    add("out", type=Path, metavar="OUT", help="the file; its ending says the kind")
    beside = "flow, checks or both with a comma: what is computed and written beside"
    add("--with", type=_beside, default=(), dest="beside", metavar="WHAT", help=beside)
    of = "the column whose output the flow explains, from 0, pads and cache included"
    usual = "default: as `maskscope flow`"
    add("--position", type=whole(0), metavar="N", help=f"{of}; {usual}")
    parser.set_defaults(command=command)


def command(args: argparse.Namespace) -> int:
    """Compute and write; nothing is written if anything fails."""
    from core.export.data import write_data
    from core.export.data_files import check_place
    from core.run.flow import flow

    check_place(args.out)
    if args.position is not None and "flow" not in args.beside:
        raise ValueError("--position is of the flow; add --with flow, or leave it out.")
    state = view_state(args)
    words = tokenizer(state.model)
    shown = scene(state, words)
    run = request(state, shown)
    with engine(state.model, state.backend) as runs:
        found = report = None
        if "flow" in args.beside:
            position = usual_position(shown) if args.position is None else args.position
            found = flow(runs, FlowJob(1, run, position))
        if "checks" in args.beside:
            report = checked(runs, run)
        job = data_job(state, shown, run, words, str(args.out), (found, report))
        written = write_data(runs, job, progress=progress)
    progress("", 1.0)
    print(written.sentence())
    return 0


def _beside(text: str) -> tuple[str, ...]:
    """A type for names out of `BESIDE`, with commas between them."""
    names = tuple(text.split(","))
    if not set(names) <= set(BESIDE):
        raise argparse.ArgumentTypeError(f"{text!r} is not {' or '.join(BESIDE)}, or both")
    return names
