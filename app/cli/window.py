"""``maskscope`` without a command: the window, or a picture of it."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from app.cli.libraries import has_display
from app.cli.output import Failure, check_target
from app.cli.values import UsageError, pixels
from core.types import Family

_OPTIONS = ("smoke", "screenshot", "window_family", "size", "theme")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the window to the main parser."""
    group = parser.add_argument_group("the window")
    add = group.add_argument
    add("--smoke", action="store_true", help="start, wait for the first result, say so and end")
    add("--screenshot", type=Path, metavar="FILE", help="write a PNG of the window and end")
    families = [family.value for family in Family]
    add("--family", dest="window_family", choices=families, help="the family that is shown first")
    add("--size", type=pixels, metavar="WxH", help="size of the window, such as 1280x800")
    add("--theme", choices=("light", "dark"), help="default: as the system has it")
    parser.set_defaults(command=command)


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
    )
