"""How long a figure takes from its data to the file, and how large the file is.

Run ``python -m tests.benchmarks.figure_export [--length 1024] [--rounds 5] [--json FILE]``. The
least time of all rounds is told, in ms: making the display list is counted each time.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from PySide6.QtGui import QGuiApplication

from app.figure_files import content
from core.figure.attention import attention_figure
from core.figure.mask import mask_figure
from core.figure.style import Style
from core.types import MaskKind, MaskSpec
from core.types.figure import Figure
from widgets.figure_painter import measure


def measured(make: Callable[[], Figure], suffix: str, rounds: int) -> dict[str, float]:
    """Milliseconds and KiB of one kind of file."""
    times = []
    size = 0
    for _ in range(rounds):
        started = time.perf_counter()
        size = len(content(make(), suffix, 300))
        times.append(time.perf_counter() - started)
    return {"ms": round(1000 * min(times), 1), "KiB": round(size / 1024, 1)}


def main() -> None:
    """Measure a mask and a head in all kinds of files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    application = QGuiApplication([])
    n = options.length
    words = [f"w{i}" for i in range(n)]
    spec = MaskSpec(MaskKind.PREFIX, n, prefix=n // 4, window=n - n // 4)
    pattern = np.tril(np.random.default_rng(0).random((n, n)))
    pattern /= pattern.sum(axis=1, keepdims=True)
    look = Style(measure=measure)
    causal = MaskSpec(MaskKind.CAUSAL, n)
    makes = {
        "mask": partial(mask_figure, spec, 0, words, words, style=look),
        "attention": partial(attention_figure, pattern, causal, 0, words, words, style=look),
    }
    found = {
        f"{name}{suffix}": measured(make, suffix, options.rounds)
        for name, make in makes.items()
        for suffix in (".svg", ".pdf", ".png")
    }
    for name, numbers in found.items():
        print(f"{name:16} {numbers['ms']:8.1f} ms {numbers['KiB']:8.1f} KiB")
    if options.json:
        options.json.write_text(json.dumps({"length": n, **found}, indent=2))
    del application


if __name__ == "__main__":
    main()
