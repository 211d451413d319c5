"""``maskscope mask``: a mask as rows of 1 and 0, as JSON or as an array."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.cli.output import check_target, deliver, npy, to_json
from app.cli.values import MOST, whole, whole_list
from core.mask.closed_form import allowed_pairs
from core.mask.dense import dense
from core.mask.intervals import reason_counts, row_intervals
from core.mask.padding import position_ids
from core.types import MaskKind, MaskSpec

MOST_CELLS = 2**26
"""The largest mask that is written out: 8192 x 8192 of one batch row."""

_HELP = """Print a mask: one line for each query, 1 where it may read the key of that column.

With one batch row, npy is [queries, keys] and json holds one of each; with several (pads such as
0,2,1) npy is [batch, queries, keys], json holds lists, and a blank line parts the blocks of rows.
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "mask",
        help="print a mask as rows of 1 and 0, JSON or an array",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_family(parser)
    add_shape(parser)
    parser.add_argument("--format", choices=("rows", "json", "npy"), default="rows")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write there, not to the screen")
    parser.set_defaults(command=command)


def add_family(parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
    """Add the options that say which mask, and of which size."""
    add = parser.add_argument
    kinds = [kind.value for kind in MaskKind]
    rule = f"the rule of the mask: {', '.join(kinds)}"
    add("--mask", "--family", choices=kinds, required=needed, metavar="RULE", help=rule)
    add(
        "--length", type=whole(1, MOST), required=needed, metavar="N", help="queries, pads included"
    )
    add("--source", type=whole(1, MOST), metavar="N", help="keys of a cross mask")
    add("--capacity", type=whole(1, MOST), metavar="N", help="keys with unfilled slots")


def add_shape(parser: argparse.ArgumentParser, *, pads_and_cache: bool = True) -> None:
    """Add the options that shape a mask, the same for every command.

    ``pads_and_cache`` False leaves out of the help what the command refuses.
    """
    add, hidden = parser.add_argument, argparse.SUPPRESS
    add("--prefix", type=whole(0, MOST), metavar="N", help="real tokens of the two-way prefix")
    cached = "keys already in the cache" if pads_and_cache else hidden
    pads = "pads on the {} of each batch row, such as 2 or 0,2,1" if pads_and_cache else hidden
    add("--past", type=whole(0, MOST), default=0, metavar="N", help=cached)
    add("--left-pad", type=whole_list, default=(0,), metavar="N,..", help=pads.format("left"))
    add("--right-pad", type=whole_list, default=(0,), metavar="N,..", help=pads.format("right"))
    reach = "keys within reach, the query itself counted"
    add("--window", type=whole(1, MOST), metavar="N", help=reach)
    documents = "lengths of packed documents in real tokens, such as 3,2,1"
    add("--documents", type=whole_list, default=(), metavar="N,..", help=documents)


def spread(
    left: tuple[int, ...], right: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Left and right pads of every batch row; a single value stands for all rows."""
    rows = max(len(left), len(right))
    return (
        left * rows if len(left) == 1 else left,
        right * rows if len(right) == 1 else right,
    )


def mask_spec(args: argparse.Namespace) -> MaskSpec:
    """The mask that the options of `add_family` and `add_shape` describe."""
    return shaped(args, MaskKind(args.mask), source=args.source, capacity=args.capacity)


def shaped(
    args: argparse.Namespace,
    kind: MaskKind,
    *,
    source: int | None = None,
    capacity: int | None = None,
) -> MaskSpec:
    """The mask of a rule that the options of `add_shape` and ``--length`` describe.

    Raises
    ------
    ValueError
        with a sentence where an option cannot be, or a prefix mask has no prefix.
    """
    if kind is MaskKind.PREFIX and args.prefix is None:
        raise ValueError("prefix is not given, but a prefix mask needs it: add --prefix N.")
    left, right = spread(args.left_pad, args.right_pad)
    return MaskSpec(
        kind,
        args.length,
        past=args.past,
        prefix=args.prefix or 0,
        left_pad=left,
        right_pad=right,
        window=args.window,
        documents=args.documents,
        source=source,
        capacity=capacity,
    )


def command(args: argparse.Namespace) -> int:
    """Write the mask that the options describe."""
    if args.out is not None:
        check_target(args.out)
    spec = mask_spec(args)
    cells = spec.rows * spec.length * spec.keys
    if cells > MOST_CELLS:
        raise ValueError(
            f"The mask has {cells:,} cells ({spec.rows} x {spec.length} x {spec.keys}), but at most"
            f" {MOST_CELLS:,} are written out; take a smaller length, or look at it in the window."
        )
    content = {"rows": rows_text, "json": _as_json, "npy": _as_npy}[args.format](spec)
    deliver(content, args.out)
    return 0


def rows_text(spec: MaskSpec) -> bytes:
    """A line of 1 and 0 for each query; a blank line between batch rows."""
    blocks = []
    for mask in dense(spec)[:, 0]:
        letters = mask.astype(np.uint8) + ord("0")
        blocks.append(b"".join(line.tobytes() + b"\n" for line in letters))
    return b"\n".join(blocks)


def _as_npy(spec: MaskSpec) -> bytes:
    return npy(_without_batch(dense(spec)[:, 0]))


def _without_batch(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return mask[0] if len(mask) == 1 else mask


def _as_json(spec: MaskSpec) -> bytes:
    facts = [row_facts(spec, b) for b in range(spec.rows)]
    merged = {name: [fact[name] for fact in facts] for name in facts[0]}
    if spec.rows == 1:
        merged = facts[0]
    return to_json({"spec": asdict(spec) | {"kind": spec.kind.value}} | merged)


def row_facts(spec: MaskSpec, b: int) -> dict[str, Any]:
    """Everything that is said of one batch row, in plain values."""
    intervals = row_intervals(spec, b)
    counts = reason_counts(spec, b)
    return {
        "rows": intervals.dense().astype(int).tolist(),
        "allowed_pairs": allowed_pairs(spec, b),
        "empty_rows": intervals.empty_rows().tolist(),
        "position_ids": position_ids(spec)[b].tolist(),
        "reasons": {reason.name.lower(): counts[reason] for reason in counts},
    }
