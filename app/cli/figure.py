"""``maskscope figure``: what is seen of a run, as a figure for a paper."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.cli.figure_views import Asked, add_view, check_options, drawn
from app.cli.models import model_card
from app.cli.options import add_reading, check_head, tokenizer, view_state
from app.cli.output import Failure, check_target
from app.cli.values import length, whole
from app.scene import scene
from app.workspaces import is_workspace
from core.atomic import write_file
from core.figure.style import ONE_COLUMN, PRESETS, Style, points, preset
from core.types import HeadRef, ModelCard, Stack
from core.types.colors import MAP_NAMES

SUFFIXES = (".svg", ".pdf", ".png")
_DPI, _USUAL_DPI = (72, 1200), 300


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "figure",
        help="write a figure for a paper: SVG, PDF or PNG",
        description="Run a model over a text under a mask, and write what is seen as a figure:"
        " vectors and real text in SVG and PDF, pixels in PNG. What made it stands in the file."
        " Needs no display.",
    )
    add_reading(parser)
    add = parser.add_argument
    add("out", type=Path, metavar="OUT", help="the file: its name ends in .svg, .pdf or .png")
    add_view(parser)
    group = parser.add_argument_group("the look")
    add = group.add_argument
    add("--preset", choices=tuple(PRESETS), default="one-column", help="size and fonts")
    add("--width", type=length, metavar="LENGTH", help="such as 3.5in, 89mm, 252pt or 1200px")
    add("--height", type=length, metavar="LENGTH", help="default: what the figure needs")
    add("--dpi", type=whole(*_DPI), metavar="N", help=f"of PNG, and of px; default: {_USUAL_DPI}")
    add("--map", choices=MAP_NAMES, help=f"colours of weights; default: {ONE_COLUMN.map_name}")
    add("--transparent", action="store_true", help="no white ground")
    add("--title", default="", metavar="TEXT", help="written above")
    out: dict[str, Any] = {"action": "store_true", "default": None}
    add("--no-labels", **out, help="leave the tokens out")
    add("--no-colour-bar", **out, help="leave the colour bar out")
    parser.set_defaults(command=command)


def command(args: argparse.Namespace) -> int:
    """Draw the figure and write the file; nothing is written if anything fails."""
    suffix = args.out.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"{args.out} must end in .svg, .pdf or .png, which says what is written.")
    check_options(args)
    _check_dpi(args, suffix)
    check_target(args.out)
    look = style_of(args)
    if args.view == "cost" and not is_workspace(args.model):
        args.text = [""]  # What a model costs does not depend on what is read.
    state = view_state(args)
    card = model_card(state.model)
    state = replace(state, head=_head(args, card, state.head))
    words = tokenizer(state.model)
    shown = scene(state, words)
    application = _qt()
    from app.figure_files import content
    from widgets.figure_painter import measure

    figure = drawn(Asked(args, state, shown, words, replace(look, measure=measure)))
    write_file(args.out, content(figure, suffix, args.dpi or _USUAL_DPI))
    del application
    print(f"Wrote {args.out}.")
    return 0


def _check_dpi(args: argparse.Namespace, suffix: str) -> None:
    """Raise ValueError with a sentence where a resolution would do nothing."""
    units = [given[1] for given in (args.width, args.height) if given is not None]
    if args.dpi is not None and suffix != ".png" and "px" not in units:
        raise ValueError(
            f"--dpi is given, but {args.out} has no pixels and no size is in px; leave it out."
        )


def style_of(args: argparse.Namespace) -> Style:
    """The look that the options describe; ValueError where a size cannot be."""
    base = preset(args.preset)
    wide, high = (
        None if given is None else points(given[0], given[1], args.dpi or _USUAL_DPI)
        for given in (args.width, args.height)
    )
    return replace(
        base,
        width=base.width if wide is None else wide,
        height=base.height if wide is None and high is None else high,
        map_name=args.map or base.map_name,
        labels=not args.no_labels,
        color_bar=not args.no_colour_bar,
        title=args.title,
        background=None if args.transparent else base.background,
    )


def _head(args: argparse.Namespace, card: ModelCard, own: HeadRef) -> HeadRef:
    """The head that was asked for, counted from 0; ValueError where it is not there."""
    stacks = tuple(Stack) if card.encoder_layers and card.layers else (own.stack,)
    stack = own.stack if args.stack is None else Stack(args.stack)
    if stack not in stacks:
        only = own.stack.value
        raise ValueError(f"stack is {stack.value}, but {card.name} has only the {only}.")
    if stack is not own.stack:
        own = HeadRef(stack)
    head = HeadRef(stack, (args.layer or own.layer + 1) - 1, (args.head or own.head + 1) - 1)
    check_head(card, head)
    if args.view == "steps" and len(stacks) > 1 and stack is not Stack.DECODER:
        raise ValueError(f"stack is {stack.value}, but steps are drawn of a decoder.")
    return head


def _qt() -> Any:
    """Start Qt, which measures and paints the text; on Linux without the display: none is needed.

    Returns what must be kept while figures are made.
    """
    if sys.platform.startswith("linux"):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    try:
        from PySide6.QtGui import QGuiApplication
    except ImportError as error:
        raise Failure(f"Qt cannot start: {error}; `maskscope doctor` tells what to do.") from error
    return QGuiApplication.instance() or QGuiApplication([])
