"""``maskscope backends``: one mask through every implementation of attention on this machine."""

from __future__ import annotations

import argparse
import math
import os
from typing import Any

from app.cli.mask import add_family, add_shape, mask_spec
from app.cli.models import add_json
from app.cli.options import add_texts, tokenizer, view_state
from app.cli.output import STANDARD_OUTPUT, check_target, deliver, progress, table, to_json
from app.cli.values import UsageError, whole
from app.scene import scene
from app.workspaces import is_workspace
from core.mask.closed_form import allowed_pairs
from core.types import BackendRow, BackendsJob, BackendTable, MaskSpec
from core.types.wording import counted

HEADER = ("backend", "largest difference", "queries that differ", "finding")
_HELP = """Run one mask through every implementation of attention, and say where they part and why.

The mask is that of --mask and --length, or the one under which MODEL reads --text. Queries, keys
and values are random. A difference is the largest absolute one to plain loops in float64; NaN where
a backend returns no number (null in JSON).
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "backends",
        help="where implementations of attention part under a mask, and why",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_texts(parser, model_needed=False)
    add_family(parser, needed=False)
    add_shape(parser)
    parser.add_argument("--seed", type=whole(0), default=0, metavar="N", help="of the numbers")
    add_json(parser)
    parser.set_defaults(command=command, backend=None, device=None, dtype=None)


def command(args: argparse.Namespace) -> int:
    """Measure, and print or write the table; differences are findings and no errors."""
    if args.json not in (None, STANDARD_OUTPUT):
        check_target(args.json)
    spec, row = _mask(args)
    job = BackendsJob(1, spec, row, args.seed)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # Read when torch is imported.
    from core.export.backends import backends

    found = backends(job, progress=progress)
    if args.json is not None:
        deliver(to_json(_as_plain(job, found)), args.json)
    else:
        print(_as_text(job, found))
    return 0


def _mask(args: argparse.Namespace) -> tuple[MaskSpec, int]:
    """The mask and its batch row that the options describe."""
    of_sizes = args.length, args.source, args.capacity
    says_all = args.model is not None and is_workspace(args.model)
    if args.model and (args.text or says_all) and not any(of_sizes):
        state = view_state(args)
        shown = scene(state, tokenizer(state.model))
        return shown.inputs.mask, shown.row
    if args.mask and args.length and not any((args.model, args.text, args.target)):
        return mask_spec(args), args.row or 0
    raise UsageError(
        "backends needs --mask and --length, or MODEL and --text, or a workspace; not both."
    )


def _as_text(job: BackendsJob, found: BackendTable) -> str:
    spec = job.spec
    pairs = counted(allowed_pairs(spec, job.row), "pair")
    lines = [f"{spec.kind.value} mask ({spec.length} x {spec.keys}, {pairs})", ""]
    rows = [_line(row, found.tolerance) for row in found.rows]
    return "\n".join([*lines, table(HEADER, rows), "", found.sentence()])


def _line(row: BackendRow, tolerance: float) -> tuple[str, ...]:
    if not row.available:
        return row.name, "", "", row.sentence
    largest = "NaN" if math.isnan(row.largest) else f"{row.largest:.1e}"
    return row.name, largest, str(row.differs(tolerance).sum()), row.sentence


def _as_plain(job: BackendsJob, found: BackendTable) -> dict[str, Any]:
    return {
        "mask_kind": job.spec.kind.value,
        "past": found.past,
        "seed": job.seed,
        "reference": found.reference,
        "tolerance": found.tolerance,
        "summary": found.sentence(),
        "mask": found.mask.astype(int).tolist(),
        "backends": [
            {
                "name": row.name,
                "available": row.available,
                "largest": _number(row.largest),
                "finding": row.sentence,
                "difference": [_number(value) for value in row.difference.tolist()],
            }
            for row in found.rows
        ],
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
