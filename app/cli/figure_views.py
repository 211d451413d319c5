"""The views of ``maskscope figure``: what draws each, and the options that belong to it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app import figures, training_figures
from app.cli.check import checked
from app.cli.compare import engines
from app.cli.cost import check_source
from app.cli.embeddings import sentences, usual_mask
from app.cli.flow import usual_position
from app.cli.objectives import job_of
from app.cli.options import options_given
from app.cli.reading import engine
from app.cli.stages import query_of
from app.cli.values import whole
from app.pairs import PAIRS, Sides, sides
from app.scene import Scene, request
from app.sizes import sizes_of_model
from app.state import ViewState
from app.training_figures import CostShown
from core.figure.style import Style
from core.run.cost import axes, cost, sweep
from core.text.tokenizer import Tokenizer
from core.types import (
    CompareJob,
    EmbeddingsJob,
    FlowJob,
    FlowMethod,
    GenerateRequest,
    MaskKind,
    Noise,
    Objective,
    Quantity,
    RunRequest,
    Shift,
    Stack,
    StagesJob,
    Workload,
)
from core.types.figure import Figure


@dataclass(frozen=True)
class Asked:
    """What the options mean: what is read, how it is written, and how the figure is to look."""

    args: argparse.Namespace
    state: ViewState
    scene: Scene
    words: Tokenizer
    look: Style

    @property
    def run(self) -> RunRequest:
        """What an engine is asked for."""
        return request(self.state, self.scene)


def add_view(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what is drawn; those of one view alone have no default."""
    add = parser.add_argument
    add("--view", choices=tuple(VIEWS), default="attention", help="what is drawn; attention")
    layer = "the layer, from 1; default: the first; with --view flow how many, as `maskscope flow`"
    add("--layer", type=whole(1), metavar="N", help=layer)
    add("--head", type=whole(1), metavar="N", help="the head, from 1; default: the first")
    stacks = [stack.value for stack in Stack]
    add("--stack", choices=stacks, help="of an encoder-decoder; default: decoder")
    for view, options in _OPTIONS.items():
        group = parser.add_argument_group(f"of --view {view}")
        for name, given in options.items():
            group.add_argument(f"--{name}", **given)


def check_options(args: argparse.Namespace) -> None:
    """Raise ValueError with a sentence where an option would do nothing, or one is missing."""
    for view, options in _OPTIONS.items():
        for name in options:
            if view != args.view and getattr(args, name.replace("-", "_")) is not None:
                raise ValueError(f"--{name} needs --view {view}; leave one of them out.")
    needed = _NEEDED.get(args.view)
    if needed is not None and getattr(args, needed) is None:
        raise ValueError(f"--view {args.view} needs --{needed}.")
    for option in options_given(args, *_USELESS.get(args.view, ())):
        raise ValueError(f"{option} is given, but --view {args.view} has no use for it.")


def drawn(asked: Asked) -> Figure:
    """The figure of the view that was asked for, with what made it."""
    view = asked.args.view
    figure = VIEWS[view](asked)
    if view == "cost":
        return figures.noted(figure, {"view": view, "model": asked.state.model})
    runs = [side.run for side in _sides(asked)] if view == "difference" else [asked.run]
    return figures.made(figure, view, runs, asked.words)


def _mask(asked: Asked) -> Figure:
    return figures.mask_of(asked.scene, asked.state.head.stack, asked.words, asked.look)


def _attention(asked: Asked) -> Figure:
    with engine(asked.state.model, asked.state.backend) as runs:
        head = runs.run(asked.run).head
    return figures.attention_of(asked.scene, head, asked.words, asked.look)


def _heads(asked: Asked) -> Figure:
    with engine(asked.state.model, asked.state.backend) as runs:
        found = runs.run(asked.run).maps
    maps = [one for one in found if asked.args.stack in (None, one.stack.value)]
    return figures.heads_of(asked.scene, maps, asked.look)


def _steps(asked: Asked) -> Figure:
    most = asked.args.max_new_tokens or 8
    wanted = GenerateRequest(asked.run, asked.state.sampling, most)
    with engine(asked.state.model, asked.state.backend) as runs:
        events = runs.generate(wanted)
        return figures.steps_of(asked.scene, wanted.sampling, events, asked.words, asked.look)


def _flow(asked: Asked) -> Figure:
    from core.run.flow import flow

    given = asked.args.position
    position = usual_position(asked.scene) if given is None else given
    with engine(asked.state.model, asked.state.backend) as runs:
        made = flow(runs, FlowJob(1, asked.run, position, asked.args.layer))
    method = FlowMethod(asked.args.method or FlowMethod.ROLLOUT)
    return figures.flow_of(asked.scene, made, method, asked.words, asked.look)


def _report(asked: Asked) -> Figure:
    with engine(asked.state.model, asked.state.backend) as runs:
        report = checked(runs, asked.run)
    return figures.report_of(report, asked.run, asked.words, asked.look)


def _difference(asked: Asked) -> Figure:
    from core.run.compare import compare

    with engines() as engine_of:
        found = compare(engine_of, CompareJob(1, *_sides(asked), asked.run.head))
    return figures.comparison_of(found, asked.words, asked.look)


def _sides(asked: Asked) -> Sides:
    made = sides(asked.args.pair, asked.run)
    if isinstance(made, str):
        raise ValueError(made)
    return made


def _stages(asked: Asked) -> Figure:
    from core.run.stages import stages

    head = asked.state.head
    query = query_of(asked.args, asked.scene, head.stack)
    with engine(asked.state.model, asked.state.backend) as runs:
        found = stages(runs, StagesJob(1, asked.run, head))
    return training_figures.stages_of(asked.scene, found, query, asked.words, asked.look)


def _objectives(asked: Asked) -> Figure:
    from core.run.objectives import objective

    state = asked.state
    job = job_of(asked.args, state, asked.run, asked.words)
    with engine(state.model, state.backend) as runs:
        seen = objective(runs, job)
    return training_figures.objectives_of(seen, job, asked.words, asked.look)


def _embeddings(asked: Asked) -> Figure:
    from core.run.embeddings import embeddings

    state, words = asked.state, asked.words
    if asked.args.mask not in (None, MaskKind.CAUSAL.value, MaskKind.BIDIRECTIONAL.value):
        raise ValueError(
            f"mask is {asked.args.mask}, but must be causal or bidirectional for embeddings."
        )
    job = EmbeddingsJob(1, sentences(state, asked.run, words, usual_mask(state)))
    with engine(state.model, state.backend) as runs:
        seen = embeddings(runs, job)
    return training_figures.embeddings_of(seen, job, words, asked.look)


def _cost(asked: Asked) -> Figure:
    args, model = asked.args, sizes_of_model(asked.state.model)
    length = args.length or 512
    generate = 128 if args.generate is None else args.generate
    check_source(args.source, model)
    source = args.source or length
    load = Workload(length, batch=args.batch or 1, source=source, prompt=length, generate=generate)
    found, quantity = cost(model, load), Quantity(args.quantity or Quantity.FLOPS)
    if not found.tallies[quantity].terms:
        there = [one.value for one, tally in found.tallies.items() if tally.terms]
        raise ValueError(
            f"quantity is {quantity.value}, but must be one of {', '.join(there)} for"
            f" {asked.state.model}."
        )
    offered = list(axes(quantity, model))
    axis = args.against or offered[0]
    if axis not in offered:
        raise ValueError(
            f"against is {axis}, but must be {' or '.join(offered)} for {quantity.value}."
        )
    return training_figures.cost_of(CostShown(found, sweep(found, quantity, axis)), asked.look)


VIEWS: dict[str, Callable[[Asked], Figure]] = {
    "mask": _mask,
    "attention": _attention,
    "heads": _heads,
    "steps": _steps,
    "flow": _flow,
    "report": _report,
    "difference": _difference,
    "stages": _stages,
    "objectives": _objectives,
    "embeddings": _embeddings,
    "cost": _cost,
}

_OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "steps": {
        "max-new-tokens": {
            "type": whole(1, 100_000),
            "metavar": "N",
            "help": "tokens that are generated; default: 8",
        },
    },
    "flow": {
        "position": {
            "type": whole(0),
            "metavar": "N",
            "help": "the column whose output is explained, from 0, pads and cache included;"
            " default: as `maskscope flow`",
        },
        "method": {
            "choices": [method.value for method in FlowMethod],
            "help": "how shares are measured; default: rollout",
        },
    },
    "difference": {
        "pair": {
            "choices": [pair.name for pair in PAIRS],
            "help": "what is compared; `maskscope compare` lists them",
        },
    },
    "stages": {
        "query": {
            "type": whole(0),
            "metavar": "N",
            "help": "the column of the query that is written out, from 0, pads and cache included;"
            " default: as `maskscope stages`",
        },
    },
    "objectives": {
        "objective": {
            "choices": [one.value for one in Objective],
            "help": "what has to be predicted; `maskscope objectives --help` explains them",
        },
        "seed": {"type": whole(0), "metavar": "N", "help": "of what is drawn; default: 0"},
        "shift": {
            "choices": [one.value for one in Shift],
            "help": "how often labels are shifted; default: right, which is once",
        },
        "noise": {
            "choices": [one.value for one in Noise],
            "help": "what denoise undoes; default: infilling",
        },
    },
    "cost": {
        "quantity": {
            "choices": [quantity.value for quantity in Quantity],
            "help": "what is drawn; default: flops",
        },
        "against": {
            "metavar": "LETTER",
            "help": "the size it is drawn against, as in the formulas of `maskscope cost`: T, B, …",
        },
        "length": {"type": whole(1), "metavar": "T", "help": "tokens of a pass; default: 512"},
        "batch": {"type": whole(1), "metavar": "B", "help": "batch rows; default: 1"},
        "source": {
            "type": whole(1),
            "metavar": "S",
            "help": "source tokens of an encoder-decoder; default: as --length",
        },
        "generate": {"type": whole(0), "metavar": "G", "help": "tokens to add; default: 128"},
    },
}
"""The options of one view alone: None where they are not given."""

_NEEDED = {"difference": "pair", "objectives": "objective"}

_HEAD = ("layer", "head", "stack")
_COLORS = ("map", "no_colour_bar")
_SHAPE = ("past", "left_pad", "right_pad", "window", "documents", *_HEAD)
_USELESS = {
    "mask": ("layer", "head", *_COLORS),
    "heads": ("layer", "head"),
    "flow": ("head", "stack", *_COLORS),
    "report": ("past", "left_pad", "right_pad", *_HEAD, *_COLORS, "no_labels"),
    "objectives": ("mask", *_SHAPE),
    "embeddings": ("row", "target", "prefix", *_SHAPE),
    "cost": ("text", "target", "row", "mask", "prefix", *_SHAPE, *_COLORS, "no_labels"),
}
"""Options that would do nothing: no one head, no weights, no tokens, or a mask of its own."""
