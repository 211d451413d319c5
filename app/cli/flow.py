"""``maskscope flow``: which inputs made an output, and which could have."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.cli.models import add_json
from app.cli.options import add_reading, tokenizer, view_state
from app.cli.output import STANDARD_OUTPUT, check_target, deliver, table, to_json
from app.cli.reading import engine
from app.cli.values import whole
from app.scene import Scene, request, scene
from core.mask.padding import last_real
from core.text.tokenizer import MASK, Tokenizer
from core.types import LEAST_EDGE, FlowEdges, FlowJob, FlowMethod, FlowResult, FlowStack, Stack
from core.types.wording import counted

SHOWN_EDGES = 12
"""Edges that are printed; JSON has all."""
BAR = 24
"""Letters of the longest bar."""


@dataclass(frozen=True)
class _Told:
    """What was found, and what is needed to write it down."""

    result: FlowResult
    model: str
    scene: Scene
    words: Tokenizer

    def tokens(self, stack: Stack) -> list[str]:
        """The labels of the columns of a stack of nodes."""
        inputs, row = self.scene.inputs, self.scene.row
        is_source = inputs.source and stack is Stack.ENCODER
        return self.words.pieces((inputs.source if is_source else inputs.rows)[row])


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "flow",
        help="tell which inputs made an output",
        description="Tell which inputs can reach an output under the mask, how much of it each one"
        " makes, and along which edges.",
    )
    add_reading(parser)
    which = (
        "the column whose output is explained, from 0, pads and cache included; default: the last"
    )
    parser.add_argument(
        "--position", type=whole(0), metavar="N", help=f"{which} token, or the [MASK]"
    )
    through = "how many layers are looked through, from the first on; default: all"
    parser.add_argument("--layer", type=whole(1), metavar="L", help=through)
    names = [method.value for method in FlowMethod]
    measured = f"how shares are measured; default: {names[0]}"
    parser.add_argument("--method", choices=names, default=names[0], help=measured)
    explained = "the token whose logit a gradient explains; default: the likeliest there"
    parser.add_argument("--token", metavar="TEXT", help=explained)
    add_json(parser)
    parser.set_defaults(command=command)


def command(args: argparse.Namespace) -> int:
    """Ask once; print the tables, or write JSON."""
    from core.run.flow import flow

    if args.json not in (None, STANDARD_OUTPUT):
        check_target(args.json)
    state = view_state(args)
    words = tokenizer(state.model)
    shown = scene(state, words)
    token = None if args.token is None else _one_token(args.token, words)
    if token is not None and args.json is None and args.method != FlowMethod.GRADIENT.value:
        raise ValueError("--token says whose logit a gradient explains: add --method gradient.")
    position = usual_position(shown) if args.position is None else args.position
    with engine(state.model, state.backend) as runs:
        job = FlowJob(1, request(state, shown), position, args.layer, token)
        told = _Told(flow(runs, job), state.model, shown, words)
    if args.json is not None:
        deliver(to_json(as_plain(told)), args.json)
    else:
        print(as_text(told, FlowMethod(args.method)))
    return 0


def _one_token(text: str, words: Tokenizer) -> int:
    """The id of a text that is one token; raises ValueError with its pieces if it is not."""
    ids = words.encode(text)
    if len(ids) != 1:
        pieces = (
            f"{counted(len(ids), 'token')} ({', '.join(words.pieces(ids))})" if ids else "no token"
        )
        raise ValueError(f"token is {text!r}, but must be one token: it is {pieces}.")
    return ids[0]


def usual_position(shown: Scene) -> int:
    """The column that is asked about most: the first gap to be filled, or the last token."""
    spec, ids = shown.inputs.mask, shown.inputs.rows[shown.row]
    if not spec.kind.is_causal and MASK in ids:
        return ids.index(MASK)
    return int(last_real(spec)[shown.row])


def as_text(told: _Told, method: FlowMethod) -> str:
    """What is printed: the output in a line, the inputs of each stack, the strongest edges."""
    result, output = told.result, told.result.output
    label = told.tokens(output.stack)[output.column]
    layers = counted(result.layer, "layer")
    lines = [
        f"what made column {output.column} {label!r}, through {layers}, by {method.value}"
        f" ({1000 * result.seconds:.1f} ms)"
    ]
    if method is FlowMethod.GRADIENT:
        lines.append(f"explained: the logit of {told.words.label(result.token)!r}")
    lines += [f"note: {note}" for note in result.notes_for(method)]
    for stack in result.stacks:
        name = "source" if stack is not result.stacks[-1] else "target"
        heading = [f"{name}:"] if len(result.stacks) > 1 else []
        lines += ["", *heading, _inputs(told, stack, method)]
    if method is not FlowMethod.GRADIENT:
        lines += ["", _strongest(told, method)]
    return "\n".join(lines)


def _inputs(told: _Told, stack: FlowStack, method: FlowMethod) -> str:
    """A line for each input of a stack."""
    shares = stack.shares.get(method)
    head = ("column", "token", "can reach", "share")
    rows = []
    for column, token in enumerate(told.tokens(stack.stack)):
        can = "yes" if stack.reach[0, column] else "no"
        share = "" if shares is None else _share(float(shares[0, column]), method)
        rows.append((str(column), token, can, share))
    if shares is None:
        return table(head[:3], [row[:3] for row in rows])
    largest = float(np.abs(shares[0]).max()) or 1.0
    bars = [round(BAR * float(share) / largest) for share in shares[0]]
    drawn = [("#" if bar > 0 else "-") * abs(bar) for bar in bars]
    full = [(*row, bar) for row, bar in zip(rows, drawn, strict=True)]
    return table((*head, ""), full)


def _share(share: float, method: FlowMethod) -> str:
    return f"{share:+.3f}" if method is FlowMethod.GRADIENT else f"{share:.3f}"


def _strongest(told: _Told, method: FlowMethod) -> str:
    """The strongest edges of attention; residual ones have no head to look at."""
    edges = told.result.edges
    shares = edges.shares(method)
    known = ~np.isnan(shares) & (edges.head >= 0)
    order = [n for n in np.argsort(-shares, kind="stable") if known[n]]
    rows = []
    for n in order[:SHOWN_EDGES]:
        head = edges.head_ref(int(n))
        assert head is not None
        name = f"{head.stack.value} layer {head.layer + 1}, head {head.head + 1}"
        query, key = (
            f"{told.tokens(node.stack)[node.column]} {node.column}"
            for node in (edges.upper(int(n)), edges.lower(int(n)))
        )
        rows.append((f"{shares[n]:.3f}", name, query, key))
    if not rows:
        if np.isnan(shares).any():
            return f"What the edges of attention carry by {method.value} is not known."
        return f"No edge of attention carries {LEAST_EDGE} of the output."
    return table((method.value, "strongest edges", "query", "reads key"), rows)


def as_plain(told: _Told) -> dict[str, Any]:
    """The content of a JSON file; layers and heads count from 1, level 0 is the embedding."""
    result = told.result
    stacks = []
    for stack in result.stacks:
        plain: dict[str, Any] = {"stack": stack.stack.value, "tokens": told.tokens(stack.stack)}
        plain["reach"] = stack.reach.astype(int).tolist()
        for method, shares in stack.shares.items():
            plain[method.value] = [[_round(share) for share in level] for level in shares]
        stacks.append(plain)
    return {
        "model": told.model,
        "mask_kind": told.scene.inputs.mask.kind.value,
        "position": result.position,
        "layer": result.layer,
        "token": {"id": result.token, "token": told.words.label(result.token)},
        "seconds": round(result.seconds, 6),
        "notes": list(result.notes),
        "stacks": stacks,
        "edges": [_edge(result.edges, n) for n in range(len(result.edges))],
    }


def _edge(edges: FlowEdges, n: int) -> dict[str, Any]:
    head = edges.head_ref(n)
    return {
        "stack": edges.attention(n).value,
        "layer": int(edges.layer[n]) + 1,
        "head": None if head is None else head.head + 1,
        "query": int(edges.query[n]),
        "key": int(edges.key[n]),
        "rollout": _round(edges.rollout[n]),
        "value-norm": _round(edges.value_norm[n]),
    }


def _round(share: np.floating[Any]) -> float | None:
    """Six digits; None where there is no number."""
    value = float(share)
    return None if math.isnan(value) else round(value, 6)
