"""``maskscope`` without a command: the window, or a picture of it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection, Sequence
from pathlib import Path

from app.cli.libraries import has_display
from app.cli.models import model_card, model_names
from app.cli.options import tokenizer
from app.cli.output import Failure, check_target
from app.cli.values import UsageError, pixels
from app.scene import check_states
from app.workspaces import SUFFIX, is_workspace, load
from core.types import Family
from core.workspace import naming

_OPTIONS = ("open", "smoke", "screenshot", "window_family", "size", "theme")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the window to the main parser."""
    group = parser.add_argument_group("the window")
    add = group.add_argument
    add("--open", type=Path, metavar="FILE", help=f"show a FILE{SUFFIX}; its name alone does too")
    add("--smoke", action="store_true", help="start, wait for the first result, say so and end")
    add("--screenshot", type=Path, metavar="FILE", help="write a PNG of the window and end")
    families = [family.value for family in Family]
    add("--family", dest="window_family", choices=families, help="the family that is shown first")
    add("--size", type=pixels, metavar="WxH", help="size of the window, such as 1280x800")
    add("--theme", choices=("light", "dark"), help="default: as the system has it")
    parser.set_defaults(command=command)


def opened(words: Sequence[str], commands: Collection[str]) -> list[str]:
    """The words of a command line, with ``--open`` before a workspace that stands there alone."""
    made: list[str] = []
    for n, word in enumerate(words):
        if word in commands:
            return [*made, *words[n:]]
        if is_workspace(word) and made[-1:] != ["--open"]:
            made.append("--open")
        made.append(word)
    return made


def check_alone(args: argparse.Namespace) -> None:
    """Raise `UsageError` if options of the window stand before a command."""
    if args.command is command:
        return
    for name in _OPTIONS:
        if getattr(args, name):
            option = name.removeprefix("window_")
            raise UsageError(f"--{option} before a command is for the window alone; leave it out.")


def command(args: argparse.Namespace) -> int:
    """Open the window; without a display, only for a picture or a smoke test."""
    if args.screenshot is not None:
        check_target(args.screenshot, suffix=".png")
    if args.open is not None:
        _check_workspace(args)
    if not has_display() and "QT_QPA_PLATFORM" not in os.environ:
        if not args.smoke and args.screenshot is None:
            raise Failure(
                "There is no display (DISPLAY and WAYLAND_DISPLAY are not set), so no window can be"
                " shown; start this on a desktop, or try `maskscope tour FOLDER`."
            )
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    try:
        from app.gui import run_gui
    except ImportError as error:
        raise Failure(f"Qt cannot start: {error}; `maskscope doctor` tells what to do.") from error
    return run_gui(
        smoke=args.smoke,
        screenshot=args.screenshot,
        family=Family(args.window_family) if args.window_family else None,
        size=args.size,
        theme=args.theme,
        workspace=args.open,
    )


def _check_workspace(args: argparse.Namespace) -> None:
    """Raise ValueError with a sentence if a workspace cannot be shown, before a window is made."""
    if args.window_family:
        raise ValueError(f"{args.open} says which family is shown; leave --family out.")
    found = load(args.open)
    with naming(args.open, "cannot be shown"):
        check_states((found.state, *found.others), [*map(model_card, model_names())], tokenizer())
