"""``maskscope check``: whether a model keeps to its mask, and where it first does not."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from app.cli.models import add_json, model_card
from app.cli.options import add_reading, options_given, tokenizer, view_state
from app.cli.output import STANDARD_OUTPUT, check_target, deliver, progress, table, to_json
from app.cli.reading import engine
from app.scene import request, scene
from app.state import SAMPLES
from app.workspaces import is_workspace
from core.run.checks.run import CHECKS
from core.types import CheckReport, RunRequest
from core.types.checks import COLUMNS

if TYPE_CHECKING:
    from core.run.contract import Runs

_HELP = """Run a model on a text under a mask, and check that it keeps to it.

Weights on closed cells, causality and every other boundary of the declared mask, the prefix,
padding, packed documents, the cache at every offset, the rows of a batch, and that two runs agree.
Pads and cache are varied by the checks themselves: --past, --left-pad and --right-pad are refused.
Exit code 1 where a check fails. Without --text a sample sentence is read.
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "check",
        help="check that a model keeps to its mask",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_reading(parser, pads_and_cache=False)
    only = f"run this check alone; once more for another: {', '.join(CHECKS)}"
    parser.add_argument("--only", action="append", default=[], metavar="CHECK", help=only)
    add_json(parser)
    parser.set_defaults(command=command)


def command(args: argparse.Namespace) -> int:
    """Check, and print or write the report; 1 where a check fails."""
    if args.json not in (None, STANDARD_OUTPUT):
        check_target(args.json)
    for option in options_given(args, "past", "left_pad", "right_pad"):
        raise ValueError(
            f"{option} is given, but checks vary pads and cache themselves; leave it out."
        )
    if args.text is None and not is_workspace(args.model):
        sample = SAMPLES[model_card(args.model).family]
        args.text = [sample.text]
        args.target = args.target or ([sample.target] if sample.target else None)
    state = view_state(args)
    shown = scene(state, tokenizer(state.model))
    with engine(state.model, state.backend) as runs:
        report = checked(runs, request(state, shown), args.only)
    if args.json is not None:
        deliver(to_json(as_plain(report)), args.json)
    else:
        print(as_table(report))
    return 0 if report.passed else 1


def checked(runs: Runs, run: RunRequest, names: Sequence[str] = ()) -> CheckReport:
    """Check the model of a run on its row and mask, all checks or those of ``names``."""
    from core.run.checks.engines import subject_of
    from core.run.checks.run import check

    report = check(subject_of(runs, run), run.inputs, run.row, names=names, progress=progress)
    progress("", 1.0)
    return report


def as_plain(report: CheckReport) -> dict[str, Any]:
    """The report as JSON: layers and heads counted from 1, as in its sentences."""
    checks = []
    for check in report.checks:
        plain = asdict(check) | {"verdict": check.verdict.value}
        place = check.place
        if place is not None:
            plain["place"] = {
                "stack": place.stack.value if place.stack else None,
                "layer": None if place.layer is None else place.layer + 1,
                "head": None if place.head is None else place.head + 1,
                "position": place.position,
            }
        checks.append(plain)
    return {
        "model": report.model,
        "engine": report.engine,
        "mask": report.mask,
        "passed": report.passed,
        "checks": checks,
    }


def as_table(report: CheckReport) -> str:
    """What is printed: a line a check."""
    rows = [check.cells for check in report.checks]
    head = f"{report.model} on {report.engine}, {report.mask}: {report.sentence()}"
    return "\n".join([head, "", table(COLUMNS, rows)])
