"""``maskscope compare``: two runs side by side, and where they first part."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from app.cli.models import add_json
from app.cli.options import add_reading, tokenizer, varied, view_state
from app.cli.output import STANDARD_OUTPUT, check_target, deliver, table, to_json
from app.cli.reading import engine
from app.cli.values import MOST, whole, whole_list
from app.pairs import PAIRS, Sides, sides
from app.scene import request, scene
from app.state import FAMILY_KIND, ViewState
from core.text.tokenizer import Tokenizer
from core.types import CompareJob, Comparison, RunRequest, Side
from core.types.wording import a_mask

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.run.contract import Runs

SHOWN_MOVED = 3
"""Tokens that are printed at each position; JSON has all."""
LEAST_MOVED = 0.005
"""The least difference of probability that is printed."""

_OTHER = ("model", "mask", "prefix", "past", "left_pad", "right_pad", "window", "backend")
"""What B may have otherwise than A, as ``--with-...``."""
_KNOBS = ("prefix", "past", "left_pad", "right_pad", "window", "documents")
"""What is printed of a mask beside its rule, where it is not 0 or empty."""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    pairs = "\n".join(f"  {pair.name:<22}{pair.title}" for pair in PAIRS)
    parser = commands.add_parser(
        "compare",
        help="compare two runs, and tell where they first part",
        description="Compare two runs of the same text: weights, outputs and hidden states, and the"
        " first layer,\nhead and position where they part. A is the run that the options describe;"
        f" B differs from it in\nwhat --with-... says, or both are a ready --pair:\n\n{pairs}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_reading(parser)
    add = parser.add_argument
    add("--pair", choices=[pair.name for pair in PAIRS], help="a ready pair, listed above")
    own = "what B runs, under A's mask where it can, else its own"
    add("--with-model", metavar="MODEL", help=own)
    kinds = [kind.value for kind in FAMILY_KIND.values()]
    add("--with-mask", choices=kinds, help="the rule of B's mask")
    add("--with-prefix", type=whole(0, MOST), metavar="N", help="B's prefix")
    add("--with-past", type=whole(0, MOST), metavar="N", help="B's keys in the cache")
    add("--with-left-pad", type=whole_list, metavar="N,..", help="B's pads on the left")
    add("--with-right-pad", type=whole_list, metavar="N,..", help="B's pads on the right")
    add("--with-window", type=whole(1, MOST), metavar="N", help="B's window")
    add("--with-backend", choices=("torch", "onnx"), help="what runs B")
    add_json(parser)
    parser.set_defaults(command=command)


def command(args: argparse.Namespace) -> int:
    """Compare once; print the tables, or write JSON."""
    from core.run.compare import compare

    if args.json not in (None, STANDARD_OUTPUT):
        check_target(args.json)
    state = view_state(args)
    words = tokenizer(state.model)
    a, b = _sides(args, state)
    with engines() as engine_of:
        found = compare(engine_of, CompareJob(1, a, b, a.run.head))
    kind, own = (side.run.inputs.mask.kind for side in (a, b))
    if args.with_model is not None and args.with_mask is None and kind is not own:
        note = f"{b.run.model} cannot run under {a_mask(kind)}, so B has {a_mask(own)}."
        found = replace(found, notes=(note, *found.notes))
    if args.json is not None:
        deliver(to_json(as_plain(found, (a, b), words)), args.json)
    else:
        print(as_text(found, (a, b), words))
    return 0


def _sides(args: argparse.Namespace, state: ViewState) -> Sides:
    """The two sides that the options describe; raises ValueError where they describe none."""
    changes = {name: getattr(args, f"with_{name}") for name in _OTHER}
    changes = {name: value for name, value in changes.items() if value is not None}
    if args.pair is not None and changes:
        given = ", ".join(f"--with-{name.replace('_', '-')}" for name in changes)
        raise ValueError(f"--pair says what both sides are, so {given} cannot be given beside it.")
    if args.pair is None and not changes:
        raise ValueError("There is nothing to compare with: give --pair, or --with-model and such.")
    run = _run(state)
    if args.pair is not None:
        found = sides(args.pair, run)
        if isinstance(found, str):
            raise ValueError(found)
        return found
    other = varied(state, changes)
    said = (f"{name.replace('_', ' ')} {_in_words(value)}" for name, value in changes.items())
    return Side("A", run), Side(f"B ({', '.join(said)})", _run(other))


def _in_words(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _run(state: ViewState) -> RunRequest:
    return request(state, scene(state, tokenizer(state.model)))


@contextmanager
def engines() -> Iterator[Callable[[RunRequest], Runs]]:
    """The engine of each run, opened when it is first asked for."""
    with ExitStack() as stack:
        made: dict[tuple[str, str], Runs] = {}

        def engine_of(run: RunRequest) -> Runs:
            key = run.model if run.backend == "onnx" else "", run.backend
            if key not in made:
                made[key] = stack.enter_context(engine(run.model, run.backend))
            return made[key]

        yield engine_of


def as_text(found: Comparison, sides: Sides, words: Tokenizer) -> str:
    """What is printed: where the sides part, then outputs by position and states by level."""
    lines = [_in_a_line(side) for side in sides]
    lines += [found.sentence, *(f"note: {note}" for note in found.notes)]
    lines += ["", _outputs(found, words)]
    if found.levels:
        lines += ["", _levels(found)]
    return "\n".join([*lines, "", _heads(found)])


def _in_a_line(side: Side) -> str:
    """What a side is: its model and mask, and the knobs that are turned."""
    read = _read(side.run)
    knobs = (f"{name.replace('_', ' ')} {_in_words(read[name])}" for name in _KNOBS if read[name])
    mask = f"{read['mask_kind']} mask"
    return f"{side.title}: {', '.join((f'{side.run.model} on {side.run.backend}', mask, *knobs))}"


def _read(run: RunRequest) -> dict[str, Any]:
    """What is read under which mask by which engine; pads are those of the shown batch row.

    The pads of an encoder-decoder are those of its source.
    """
    spec, text = run.inputs.mask, run.inputs.source_mask or run.inputs.mask
    return {
        "model": run.model,
        "backend": run.backend,
        "mask_kind": spec.kind.value,
        "prefix": spec.prefix,
        "past": spec.past,
        "left_pad": text.left_pad[run.row],
        "right_pad": text.right_pad[run.row],
        "window": spec.window,
        "documents": spec.documents,
    }


def _outputs(found: Comparison, words: Tokenizer) -> str:
    """A line for each token that both texts share."""
    rows = []
    for n, token in enumerate(found.tokens[0]):
        moved = [
            f"{words.label(int(i))} {p:.2f} -> {q:.2f}"
            for i, p, q in zip(found.moved_ids[n], *found.moved[:, n], strict=True)
            if abs(p - q) >= LEAST_MOVED
        ]
        numbers = _figure(found.total_variation[n]), _figure(found.divergence[n])
        told = "  ".join(moved[:SHOWN_MOVED])
        rows.append((str(n), words.label(int(token)), *numbers, told))
    header = ("position", "token", "total variation", "KL(A||B) nats", "moved most, A -> B")
    return table(header, rows)


def _levels(found: Comparison) -> str:
    """A line for each level: least and mean cosine, mean and largest norm of the difference."""
    rows = []
    for stack, levels in found.levels.items():
        for level, (cosine, relative) in enumerate(
            zip(levels.cosine, levels.relative, strict=True)
        ):
            name = f"layer {level}" if level else "embedding"
            numbers = (cosine.min(), cosine.mean(), relative.mean(), relative.max())
            rows.append((f"{stack.value} {name}", *map(_figure, numbers)))
    header = ("hidden state", "least cosine", "mean", "mean |A-B|/|A|", "largest")
    return table(header, rows)


def _heads(found: Comparison) -> str:
    """The largest difference of weights of each head."""
    most = max(apart.shape[1] for apart in found.attention.values())
    rows = []
    for stack, apart in found.attention.items():
        for layer, heads in enumerate(apart, start=1):
            cells = [*map(_figure, heads)] + [""] * (most - len(heads))
            rows.append((f"{stack.value} layer {layer}", *cells))
    header = ("largest difference of weights", *(f"head {n + 1}" for n in range(most)))
    return table(header, rows)


def _figure(number: np.float32) -> str:
    """Four digits; what they would hide in its magnitude."""
    return f"{number:.4f}" if number == 0 or abs(number) >= 5e-5 else f"{number:.0e}"


def as_plain(found: Comparison, sides: Sides, words: Tokenizer) -> dict[str, Any]:
    """The content of a JSON file; layers and heads count from 1, level 0 is the embedding."""
    first = found.first
    place = None
    if first is not None:
        place = {
            "stack": None if first.stack is None else first.stack.value,
            "layer": None if first.layer is None else first.layer + 1,
            "head": None if first.head is None else first.head + 1,
            "position": first.position,
        }
    return {
        "a": found.titles[0],
        "b": found.titles[1],
        "runs": {name: _read(side.run) for name, side in zip("ab", sides, strict=True)},
        "sentence": found.sentence,
        "first": place,
        "tolerance": found.tolerance,
        "notes": list(found.notes),
        "tokens": words.pieces(found.tokens[0].tolist()),
        "positions": dict(zip("ab", found.positions.tolist(), strict=True)),
        "total_variation": _round(found.total_variation),
        "kl": _round(found.divergence),
        "moved": [_moved(found, n, words) for n in range(len(found.moved_ids))],
        "hidden_states": {
            stack.value: {"cosine": _round(one.cosine), "relative_norm": _round(one.relative)}
            for stack, one in found.levels.items()
        },
        "attention": {stack.value: _round(apart) for stack, apart in found.attention.items()},
        "seconds": round(found.seconds, 6),
    }


def _moved(found: Comparison, n: int, words: Tokenizer) -> list[dict[str, Any]]:
    both = zip(found.moved_ids[n], *found.moved[:, n], strict=True)
    return [
        {"id": int(i), "token": words.label(int(i)), "a": _round(p), "b": _round(q)}
        for i, p, q in both
    ]


def _round(numbers: NDArray[np.float32]) -> Any:
    """Six digits, as plain lists."""
    return np.round(numbers.astype(np.float64), 6).tolist()
