"""``maskscope doctor``: is everything there that the program needs, and what to do if not."""

from __future__ import annotations

import argparse
import platform
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.cli.libraries import has_display, install_line, missing_libraries, packages_of
from app.cli.output import table
from core import paths
from core.checkpoints import cards
from core.version import own_version, version_of

RUNTIMES = ("onnxruntime", "onnxruntime-gpu")
"""Two packages with one import name: whichever is installed last wins, so only one may be there."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; ``advice`` is a sentence where it is wrong."""

    name: str
    text: str
    advice: str = ""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "doctor",
        help="look for what is missing on this machine",
        description="Look for what is missing on this machine, and tell what to do about it. The"
        " exit code is 1 if something is wrong.",
    )
    parser.set_defaults(command=command)


def command(args: argparse.Namespace) -> int:
    """Print what was found; 1 if something is wrong."""
    del args
    findings = [finding for check in CHECKS for finding in check()]
    rows = [("wrong" if f.advice else "ok", f.name, f.text) for f in findings]
    print(table(("", "what", "found"), rows))
    advice = [finding.advice for finding in findings if finding.advice]
    if advice:
        print("\nTo do:\n" + "\n".join(f"- {sentence}" for sentence in advice))
    else:
        print("\nEverything is there.")
    return 1 if advice else 0


def _python() -> list[Finding]:
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return [Finding("maskscope", own_version()), Finding("python", found)]


def _packages() -> list[Finding]:
    from importlib import metadata

    try:
        required = metadata.requires("maskscope") or []
    except metadata.PackageNotFoundError:
        advice = "Install the program, with `python3 packaging/bootstrap.py run` in its folder."
        return [Finding("packages", "maskscope is not installed", advice)]
    names = [re.split(r"[^\w.-]", entry)[0] for entry in required if "extra ==" not in entry]
    found = []
    for name in dict.fromkeys(n for n in names if n not in RUNTIMES):
        version = version_of(name)
        advice = "" if version else f"Install {name}: `{_pip('install', name)}`."
        found.append(Finding(name, version or "missing", advice or _bad_release(name, version)))
    return found


def _bad_release(name: str, version: str | None) -> str:
    """Advice against a release that is known to crash."""
    if name.lower().replace("_", "-") != "pyside6-essentials" or version is None:
        return ""
    major, minor = (int(part) for part in version.split(".")[:2])
    if (major, minor) < (6, 12) or sys.version_info >= (3, 12):
        return ""
    return (
        f"PySide6 {version} crashes on Python 3.11; take an older one:"
        f" `{_pip('install', repr('PySide6-Essentials<6.12'))}`."
    )


def _runtimes() -> list[Finding]:
    found = [f"{name} {version}" for name in RUNTIMES if (version := version_of(name))]
    if len(found) == 1:
        return [Finding("ONNX Runtime", found[0])]
    mac = sys.platform == "darwin"
    best = RUNTIMES[platform.machine() in ("x86_64", "AMD64") and not mac]
    if not found:
        return [Finding("ONNX Runtime", "missing", f"Install it: `{_pip('install', best)}`.")]
    advice = (
        "Both packages share one folder, and only one may be installed:"
        f" `{_pip('uninstall', '-y', *RUNTIMES)}`, then `{_pip('install', best)}`."
    )
    return [Finding("ONNX Runtime", f"two packages, {' and '.join(found)}", advice)]


def _pip(*words: str) -> str:
    return f"python -m pip {' '.join(words)}"


def _qt() -> list[Finding]:
    missing = missing_libraries()
    if not missing:
        return [Finding("Qt libraries", "all there")]
    advice = f"Install the libraries that Qt loads: `{install_line(packages_of(missing))}`."
    return [Finding("Qt libraries", f"missing: {', '.join(missing)}", advice)]


def _display() -> list[Finding]:
    there = "there" if has_display() else "none; pictures work, a window does not"
    return [Finding("display", there)]


def _devices() -> list[Finding]:
    try:
        import torch

        from core.run.devices import available
    except Exception as error:  # A broken build raises anything: it is told, not hidden.
        return [Finding("devices", f"torch fails: {error}", "Install torch again.")]
    return [Finding("devices", f"{', '.join(available())}; {torch.get_num_threads()} threads")]


def _models() -> list[Finding]:
    names = cards.names(paths.MODELS)
    missing = [name for name in cards.ORDER if name not in names]
    found = [Finding("models", ", ".join(names) or "none")]
    again = "Get the whole program again: the folder `assets` is incomplete."
    if missing:
        found.append(Finding("models", f"missing: {', '.join(missing)}", again))
    if not paths.TOKENIZER.is_file():
        found.append(Finding("tokenizer", "missing", again))
    return found


def _settings() -> list[Finding]:
    try:
        from app.settings import path
    except ImportError as error:
        advice = "Once the Qt libraries and PySide6-Essentials are there, look again."
        return [Finding("settings", f"Qt cannot be loaded: {error}", advice)]
    return [Finding("settings", str(path()))]


CHECKS: tuple[Callable[[], list[Finding]], ...] = (
    _python,
    _packages,
    _runtimes,
    _qt,
    _display,
    _devices,
    _models,
    _settings,
)
