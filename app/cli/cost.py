"""``maskscope cost``: what a model costs, as formulas with the numbers in."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from app.cli.models import add_json
from app.cli.options import tokenizer, workspace_state
from app.cli.output import STANDARD_OUTPUT, check_target, deliver, table, to_json
from app.cli.values import whole
from app.scene import scene
from app.sizes import sizes_of_model, work_of
from app.state import ViewState
from app.workspaces import SUFFIX, is_workspace
from core.run.cost import cost
from core.types import Cost, ModelSizes, Term, Workload
from core.types.cost import LETTERS, TITLES, figure

_WORK = ("length", "batch", "past", "source", "bytes", "prompt", "generate")
_HELP = """Tell what a model costs: parameters, FLOPs, score matrices, caches, and a generation.

Of a model by its name, or of any sizes: --layers, --width and --heads, and what else there is.
FLOPs are of a dense forward pass, multiplications and additions counted separately; a causal mask
halves nothing there. Score bytes are of one layer. Caches are what --length tokens leave.
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "cost",
        help="tell what a model costs, with the formulas",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    named = f"a bundled model, a FILE.onnx, or a FILE{SUFFIX} with model and lengths"
    add("model", metavar="MODEL", nargs="?", help=named)
    for name, low, what in (
        ("layers", 1, "layers of the only stack, or of the decoder"),
        ("width", 1, "features of a token"),
        ("heads", 1, "query heads"),
        ("kv-heads", 0, "key/value heads; default: as many as heads"),
        ("head-width", 0, "features of a head; default: width / heads"),
        ("ffn", 0, "features inside the FFN; default: 4 x width"),
        ("vocab", 0, "entries of the vocabulary; default: none, without embedding and head"),
        ("positions", 0, "learned positions; default: none"),
        ("encoder-layers", 0, "layers of an encoder beside the decoder"),
    ):
        add(f"--{name}", type=whole(low), metavar="N", help=what)
    add("--encoder", action="store_true", help="an encoder alone: nothing is cached")
    add("--gated", action="store_true", help="the FFN has three matrices, as in SwiGLU")
    add("--no-bias", action="store_true", help="no biases in attention and output")
    work = "tokens of a pass; of an encoder-decoder those of the target"
    add("--length", type=whole(1), metavar="T", help=f"{work}; default: 512")
    add("--past", type=whole(0), metavar="N", help="cached tokens before the pass; default: 0")
    add("--batch", type=whole(1), metavar="B", help="batch rows; default: 1")
    add("--source", type=whole(1), metavar="S", help="source tokens; default: as --length")
    add("--bytes", type=whole(1, 16), metavar="s", help="of a number; default: 4")
    add("--prompt", type=whole(1), metavar="P", help="tokens to start from; default: as --length")
    add("--generate", type=whole(0), metavar="G", help="tokens to add; default: 128")
    add_json(parser)
    parser.set_defaults(command=command)


def command(args: argparse.Namespace) -> int:
    """Work it out; print the tables, or write JSON."""
    if args.json not in (None, STANDARD_OUTPUT):
        check_target(args.json)
    state = None
    if args.model is not None and is_workspace(args.model):
        state = workspace_state(args.model)
        args.model = state.model
    model = _model(args)
    _check_used(args, model)
    found = cost(model, _load(args, state))
    if args.json is not None:
        deliver(to_json(as_plain(found)), args.json)
    else:
        print(as_text(found))
    return 0


def _load(args: argparse.Namespace, state: ViewState | None) -> Workload:
    """The work that is given; the rest as in a workspace, or as usual."""
    given = {name: size for name in _WORK if (size := getattr(args, name)) is not None}
    if state is not None:
        shown = scene(state, tokenizer(state.model))
        return replace(work_of(shown.inputs, state.dtype, state.max_new_tokens), **given)
    length = given.setdefault("length", 512)
    return Workload(**({"source": length, "bytes": 4, "prompt": length, "generate": 128} | given))


def _check_used(args: argparse.Namespace, model: ModelSizes) -> None:
    """Raise ValueError with a sentence where an option would do nothing."""
    check_source(args.source, model)
    for name in ("past", "prompt", "generate"):
        if model.encoder and getattr(args, name) is not None:
            raise ValueError(
                f"--{name} is given, but an encoder caches and generates nothing; leave it out."
            )


def check_source(source: int | None, model: ModelSizes) -> None:
    """Raise ValueError with a sentence where a source is given that nothing reads."""
    if source is not None and not model.encoder_layers:
        raise ValueError("--source is given, but only an encoder-decoder reads one; leave it out.")


def _model(args: argparse.Namespace) -> ModelSizes:
    """The named model, or one of the sizes that are given; never both."""
    fields = ("layers", "width", "heads", "kv_heads", "head_width", "ffn", "positions")
    given = {name: value for name in fields if (value := getattr(args, name)) is not None}
    if args.vocab is not None:
        given["vocabulary"] = args.vocab
    if args.encoder_layers is not None:
        given["encoder_layers"] = args.encoder_layers
    flags = {"encoder": args.encoder, "gated": args.gated, "no_bias": args.no_bias}
    if args.model is not None:
        odd = [*given, *(name for name, on in flags.items() if on)]
        if odd:
            option = odd[0].replace("_", "-").replace("vocabulary", "vocab")
            raise ValueError(
                f"--{option} is given, but {args.model} has sizes of its own; leave one out."
            )
        return sizes_of_model(args.model)
    missing = [f"--{name}" for name in ("layers", "width", "heads") if name not in given]
    if missing:
        *first, last = missing
        needed = f"{', '.join(first)} and {last}" if first else last
        raise ValueError(f"{needed} must be given; or name a model that `maskscope models` lists.")
    bias = not args.no_bias
    return ModelSizes(
        **given,
        encoder=args.encoder,
        gated=args.gated,
        attention_bias=bias,
        output_bias=bias,
    )


def as_plain(found: Cost) -> dict[str, Any]:
    """The content of a JSON file: every quantity by its parts with a total, then the formulas."""
    plain: dict[str, Any] = {}
    for quantity, tally in found.tallies.items():
        values = {term.name.replace(" ", "_"): int(term.value) for term in tally.terms}
        plain[quantity.value] = values | {"total": tally.total}
    plain["facts"] = {term.name.replace(" ", "_"): term.value for term in found.facts}
    plain["notes"] = list(found.notes)
    plain["letters"] = found.letters
    plain["formulas"] = [
        {"quantity": tally.quantity.value} | _formula(term)
        for tally in found.tallies.values()
        for term in tally.terms
    ] + [{"quantity": "facts"} | _formula(term) for term in found.facts]
    return plain


def _formula(term: Term) -> dict[str, Any]:
    value = int(term.value) if term.value == int(term.value) else term.value
    return {
        "name": term.name,
        "formula": term.formula,
        "substituted": term.substituted,
        "value": value,
        "unit": term.unit,
    }


def as_text(found: Cost) -> str:
    """What is printed: a table for each quantity, then what the letters stand for."""
    blocks = []
    for quantity, tally in found.tallies.items():
        if tally.terms:
            rows = [_row(term) for term in tally.terms]
            rows.append(("total", figure(tally.total, tally.unit), f"= {tally.total:,}", ""))
            blocks.append(table((TITLES[quantity], "", "formula", "with numbers"), rows))
    facts = [_row(term) for term in found.facts]
    blocks.append(table(("and", "", "formula", "with numbers"), facts))
    if found.model.encoder:
        blocks.append("An encoder caches nothing and generates nothing: it reads in one pass.")
    if found.notes:
        blocks.append("\n".join(f"note: {note}" for note in found.notes))
    used = "".join(term.formula for t in found.tallies.values() for term in t.terms)
    used += "".join(term.formula for term in found.facts)
    words = [
        f"{letter} = {found.letters[letter]:,} {word}"
        for letter, word in LETTERS.items()
        if letter in used
    ]
    return "\n\n".join([*blocks, "\n".join(words)])


def _row(term: Term) -> tuple[str, str, str, str]:
    return term.name, term.figure(), f"= {term.formula}", f"= {term.substituted}"
