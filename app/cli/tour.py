"""``maskscope tour``: every family on its sample sentence, into a folder."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.generate import fill, generate
from app.cli.libraries import has_display
from app.cli.mask import rows_text
from app.cli.models import model_names
from app.cli.options import tokenizer
from app.cli.output import npz, to_json
from app.cli.reading import Reading, as_arrays, as_plain, engine, read
from app.state import DEFAULT_MODEL, initial
from core.atomic import write_files
from core.mask.closed_form import allowed_pairs
from core.paths import ASSETS
from core.text.tokenizer import Tokenizer
from core.types import Family
from core.types.wording import counted

if TYPE_CHECKING:
    from core.run.contract import Runs

_PATIENCE_S = 180


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "tour",
        help="write masks, attention, texts and pictures of every family into a folder",
        description="Run every family on a sample sentence, and write its mask, the attention of"
        " all heads, what it generates or fills, and a picture of the window into a folder.",
    )
    parser.add_argument("folder", metavar="OUTDIR", type=Path, help="made if it is not there")
    parser.add_argument("--no-screenshots", action="store_true", help="leave the pictures out")
    parser.set_defaults(command=command)


@dataclass
class Stop:
    """One stop of the tour: a family, its files, and what is said of it."""

    family: Family
    facts: dict[str, Any]
    text: str
    files: list[str] = field(default_factory=list)
    trouble: str = ""


def command(args: argparse.Namespace) -> int:
    """Make the tour; 1 if a picture could not be taken, the rest is written all the same."""
    folder: Path = args.folder
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; name a folder.")
    model_names(DEFAULT_MODEL.values())
    words = tokenizer()
    with engine() as runs:
        visits = [_visit(runs, family, words) for family in Family]
    _make(folder)
    stops = []
    for stop, files in visits:
        target = folder / stop.family.value
        _make(target)
        write_files({target / name: content for name, content in files.items()})
        stop.files += files
        if not args.no_screenshots:
            _photograph(stop, target / "window.png")
        print(f"{stop.family.value}: {stop.text}")
        stops.append(stop)
    write_files({folder / "summary.md": _report(stops), folder / "summary.json": _data(stops)})
    for stop in stops:
        if stop.trouble:
            print(f"maskscope: no picture of {stop.family.value}: {stop.trouble}", file=sys.stderr)
    print(f"The results are in {folder}; begin with {folder / 'summary.md'}.")
    return 1 if any(stop.trouble for stop in stops) else 0


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"{folder} cannot be made: {error.strerror}.") from error


def _visit(engine: Runs, family: Family, words: Tokenizer) -> tuple[Stop, dict[str, bytes]]:
    """Run one family; the files that it leaves, by name."""
    state = initial(family)
    reading = read(engine, state)
    files = {f"{name}.txt": rows_text(spec) for name, spec in reading.masks.items()}
    files["attention.npz"] = npz(as_arrays(reading))
    files["run.json"] = to_json(as_plain(reading, words))
    if family is Family.ENCODER:
        name, filled = "filled", fill(reading, words)
        text, printed, plain = filled.filled, filled.as_text(), filled.as_plain()
    else:
        name, generated = "generated", generate(engine, state, words)
        text, printed, plain = generated.whole, generated.whole, generated.as_plain()
    files[f"{name}.txt"] = f"{printed}\n".encode()
    files[f"{name}.json"] = to_json(plain)
    return Stop(family, _facts(reading) | {name: text}, text), files


def _facts(reading: Reading) -> dict[str, Any]:
    masks = {
        name: {
            "kind": spec.kind.value,
            "queries": spec.length,
            "keys": spec.keys,
            "prefix": spec.prefix,
            "allowed_pairs": allowed_pairs(spec),
        }
        for name, spec in reading.masks.items()
    }
    return {
        "model": reading.result.model,
        "device": reading.result.device,
        "sample": reading.state.current.text,
        "masks": masks,
        "attention": {stack: list(p.shape) for stack, p in reading.patterns.items()},
        "milliseconds": round(1000 * reading.result.seconds, 1),
    }


def _photograph(stop: Stop, target: Path) -> None:
    """Take a picture of the window in a process of its own; trouble is told, not raised."""
    environment = dict(os.environ)
    if not has_display():
        environment.setdefault("QT_QPA_PLATFORM", "offscreen")
    picture = ("--screenshot", target.absolute(), "--size", "1280x800")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "app", "--family", stop.family.value, *picture],
            cwd=ASSETS.parent,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        stop.trouble = f"the window took more than {_PATIENCE_S} s"
        return
    if done.returncode == 0 and target.is_file():
        stop.files.append(target.name)
        return
    told = done.stderr.strip().splitlines()
    stop.trouble = (
        told[-1].removeprefix("maskscope: ")
        if told
        else f"the window ended with exit code {done.returncode}"
    )


def _data(stops: list[Stop]) -> bytes:
    return to_json(
        [
            {"family": stop.family.value}
            | stop.facts
            | {"files": stop.files, "trouble": stop.trouble}
            for stop in stops
        ]
    )


def _report(stops: list[Stop]) -> bytes:
    lines = ["# A tour of the four families", ""]
    for stop in stops:
        facts, family = stop.facts, stop.family.value
        lines += [
            f"## {family}",
            "",
            f"- model: {facts['model']} on {facts['device']}, {facts['milliseconds']} ms",
            f"- sample: {facts['sample']}",
            f"- {'filled' if 'filled' in facts else 'generated'}: {stop.text}",
            f"- files: {', '.join(f'[{name}]({family}/{name})' for name in stop.files)}",
        ]
        lines += [
            f"- {mask['kind']} mask: {mask['queries']} x {mask['keys']},"
            f" {counted(mask['allowed_pairs'], 'pair')} may read"
            for mask in facts["masks"].values()
        ]
        lines += [f"- no picture: {stop.trouble}"] if stop.trouble else []
        lines += ["", f"![The window]({family}/window.png)"] * ("window.png" in stop.files)
        lines.append("")
    return "\n".join(lines).encode()
