"""``maskscope run``: one pass of a model over a text under a mask."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from app.cli.models import add_json
from app.cli.options import add_reading, tokenizer, view_state
from app.cli.output import STANDARD_OUTPUT, check_target, deliver, npz, say_written, to_json
from app.cli.reading import as_arrays, as_plain, as_table, engine, read
from core.atomic import write_files


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "run",
        help="run a model over a text under a mask",
        description="Run a model over a text under a mask, and print the likeliest tokens at each"
        " position; as JSON with the mask, or as arrays with the attention of every head.",
    )
    add_reading(parser)
    add_json(parser)
    parser.add_argument("--npz", type=Path, metavar="FILE", help="write mask and attention there")
    parser.set_defaults(command=command)


def command(args: argparse.Namespace) -> int:
    """Run once; print the table, or write what was asked for."""
    if args.npz is not None:
        check_target(args.npz, suffix=".npz")
    if args.json not in (None, STANDARD_OUTPUT):
        check_target(args.json)
    state = view_state(args)
    words = tokenizer(state.model)
    with engine(state.model, state.backend) as runs:
        reading = read(runs, state)
    files = {}
    if args.npz is not None:
        files[args.npz] = npz(as_arrays(reading))
    if args.json is not None and args.json != STANDARD_OUTPUT:
        files[args.json] = to_json(as_plain(reading, words))
    write_files(files)
    for path in files:
        say_written(path, sys.stderr if args.json == STANDARD_OUTPUT else sys.stdout)
    if args.json == STANDARD_OUTPUT:
        deliver(to_json(as_plain(reading, words)), STANDARD_OUTPUT)
    elif not files:
        print(as_table(reading, words))
    return 0
