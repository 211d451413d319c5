"""``maskscope stages``: one head step by step, with the numbers of one query."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.cli.models import add_json, model_card
from app.cli.options import add_reading, check_head, options_given, tokenizer, view_state
from app.cli.output import STANDARD_OUTPUT, check_target, deliver, to_json
from app.cli.reading import engine
from app.cli.values import whole
from app.scene import Scene, request, scene
from core.run.stages import EXAMPLE_KEYS, EXAMPLE_WORDS, example, stages
from core.text.tokenizer import MASK
from core.types import HeadRef, Stack, Stages, StagesJob

_OF_A_MODEL = (
    *("text", "target", "row", "mask", "prefix", "past", "left_pad", "right_pad", "window"),
    *("documents", "device", "dtype", "backend", "layer", "head", "stack", "query"),
)
"""Options that say nothing of the example."""

_HELP = """Show what one head does with one query: its scores, the same over the root of the head's
width, the mask, the softmax, and the values weighted by it.

--example takes three keys whose numbers can be followed by hand, and shows what becomes of them if
the mask is put on after the softmax.
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "stages",
        help="show one head step by step",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_reading(parser, model_needed=False)
    add = parser.add_argument
    add("--layer", type=whole(1), metavar="N", help="the layer, from 1; default: the first")
    add("--head", type=whole(1), metavar="N", help="the head, from 1; default: the first")
    names = [stack.value for stack in Stack]
    add("--stack", choices=names, help="the stack of an encoder-decoder; default: the decoder")
    where = "the column of the query, from 0, pads and cache included"
    usual = "default: the last token, or the [MASK]"
    add("--query", type=whole(0), metavar="N", help=f"{where}; {usual}")
    add("--example", action="store_true", help="three keys and two features, without a model")
    add_json(parser)
    parser.set_defaults(command=command)


def command(args: argparse.Namespace) -> int:
    """Run once; print the steps of a query, or write all of them as JSON."""
    if args.json not in (None, STANDARD_OUTPUT):
        check_target(args.json)
    if args.example:
        if args.model is not None:
            raise ValueError(f"{args.model} is given, but the example takes no model.")
        for option in options_given(args, *_OF_A_MODEL):
            raise ValueError(f"{option} is given, but the example takes no model; leave it out.")
        found, keys, query, lines = example(), EXAMPLE_KEYS, 0, [EXAMPLE_WORDS]
        place: dict[str, Any] = dict.fromkeys(("model", "mask_kind", "stack", "layer", "head"))
        place |= {"past": 0, "query": 0}
    else:
        found, keys, query, lines, place = _of_a_model(args)
    if args.json is not None:
        deliver(to_json(place | as_plain(found, keys, query)), args.json)
        return 0
    steps = found.equation(query, keys)
    width = max(len(name) for name, _ in steps)
    rows = [f"{name.ljust(width)}  {line}" for name, line in steps]
    notes = [f"note: {note}" for note in found.notes]
    print("\n".join([*lines, *notes, "", *rows]))
    return 0


def _of_a_model(
    args: argparse.Namespace,
) -> tuple[Stages, tuple[str, ...], int, list[str], dict[str, Any]]:
    """The steps, keys, the query that is asked about, a title, and where the head is."""
    if args.model is None:
        raise ValueError("MODEL and --text must be given, or --example alone.")
    state = view_state(args)
    words = tokenizer(state.model)
    shown = scene(state, words)
    stack = state.stack if args.stack is None else Stack(args.stack)
    if stack not in shown.masks:
        there = " or ".join(known.value for known in shown.masks)
        raise ValueError(f"stack is {stack.value}, but must be {there} for {state.model}.")
    spec = shown.masks[stack]
    query = query_of(args, shown, stack)
    own = state.head if stack is state.stack else HeadRef(stack)
    layer, number = args.layer or own.layer + 1, args.head or own.head + 1
    head = HeadRef(stack, layer - 1, number - 1)
    check_head(model_card(state.model), head)
    with engine(state.model, state.backend) as runs:
        found = stages(runs, StagesJob(1, request(state, shown), head))
    keys = tuple(words.pieces(shown.key_ids[stack]))
    token = words.label(shown.query_ids[stack][query])
    title = (
        f"{state.model}, {stack.value} layer {layer}, head {number}:"
        f" query {spec.past + query} {token!r}"
    )
    place = {
        "model": state.model,
        "mask_kind": spec.kind.value,
        "stack": stack.value,
        "layer": layer,
        "head": number,
        "past": spec.past,
        "query": spec.past + query,
    }
    return found, keys, query, [title], place


def query_of(args: argparse.Namespace, shown: Scene, stack: Stack) -> int:
    """The row of the query that is asked about; ValueError where there is no such."""
    if args.query is None:
        return _usual(shown, stack)
    spec, query = shown.masks[stack], int(args.query)
    last = spec.past + spec.length - 1
    if not spec.past <= query <= last:
        raise ValueError(f"query is {query}, but must be between {spec.past} and {last}.")
    return query - spec.past


def _usual(shown: Scene, stack: Stack) -> int:
    """The query that is asked about most: the first gap to be filled, or the last token."""
    spec, ids = shown.masks[stack], shown.query_ids[stack]
    if stack is Stack.ENCODER:
        return ids.index(MASK) if MASK in ids else spec.length - 1 - spec.right_pad[shown.row]
    return shown.inputs.mask.length - 1 - shown.inputs.mask.right_pad[shown.row]


def as_plain(found: Stages, keys: tuple[str, ...], query: int) -> dict[str, Any]:
    """The content of a JSON file but for the place; a closed cell of ``masked`` is null.

    Row 0 of a matrix is the query at column ``past`` of the place.
    """
    return {
        "keys": list(keys),
        "head_width": found.width,
        "scores": _rows(found.scores),
        "scaled": _rows(found.scaled),
        "mask": found.mask.astype(int).tolist(),
        "masked": _rows(found.masked),
        "weights": _rows(found.weights),
        "values": None if found.values is None else _rows(found.values),
        "output": None if found.output is None else _rows(found.output),
        "masked_too_late": {
            "weights": _rows(found.late_weights),
            "output": None if found.late_output is None else _rows(found.late_output),
        },
        "equation": dict(found.equation(query, keys)),
        "notes": list(found.notes),
    }


def _rows(values: NDArray[np.float32]) -> list[list[float | None]]:
    return [[round(v, 6) if np.isfinite(v) else None for v in row] for row in values.tolist()]
