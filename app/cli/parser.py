"""The command line as a whole."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from app import doctor
from app.cli import (
    backends,
    check,
    compare,
    cost,
    data,
    embeddings,
    export,
    figure,
    flow,
    generate,
    mask,
    models,
    objectives,
    run,
    stages,
    tour,
    window,
)
from app.cli.values import Parser
from core.version import own_version

PARTS = (
    mask,
    models,
    run,
    generate,
    check,
    flow,
    stages,
    compare,
    objectives,
    embeddings,
    cost,
    figure,
    data,
    export,
    backends,
    tour,
    doctor,
)
"""The commands in the order of the help."""
DESCRIPTION = """Explore attention masks: edit a mask, watch a real transformer re-run under it.

Without a command the window opens. Everything it shows can be had without it:
"""


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of a command line, that of the process if it is None; `UsageError` for others."""
    names = [part.__name__.rpartition(".")[2] for part in PARTS]
    return build().parse_args(window.opened(sys.argv[1:] if words is None else words, names))


def build() -> argparse.ArgumentParser:
    """The parser of every option and command; ``command`` of its answer is what to call."""
    parser = Parser(
        prog="maskscope",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {own_version()}")
    window.add(parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for part in PARTS:
        part.add(commands)
    return parser
