"""How long a slider takes to become a painted mask, as a ratio to copying the picture's pixels.

Run ``python -m tests.benchmarks.slider_to_mask [--length 4096] [--json FILE]``. Each round moves
the prefix, which builds a new spec, its intervals and the exact picture, and paints the widget.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from PySide6.QtWidgets import QApplication

from core.mask.intervals import reason_counts
from core.types import MaskKind, MaskSpec
from widgets import palette
from widgets.mask_form import KnobLimits, MaskForm, MaskKnobs
from widgets.mask_view import MaskView

SIZE = (700, 900)


class Bench:
    """A mask form wired to a mask view, as in the program."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.form, self.view = MaskForm(), MaskView()
        self.form.set_knobs(MaskKnobs(), KnobLimits(prefix=length))
        self.form.knobs_changed.connect(self._on_knobs_changed)
        self.view.resize(*SIZE)
        self.view.show()
        self._on_knobs_changed(MaskKnobs())

    def _on_knobs_changed(self, knobs: MaskKnobs) -> None:
        spec = MaskSpec(MaskKind.PREFIX, self.length, prefix=knobs.prefix)
        self.view.set_mask(spec, 0, [], [])
        self.form.set_counts(reason_counts(spec))

    def move(self, prefix: int) -> float:
        """Seconds from the slider's new value to the painted picture."""
        started = time.perf_counter()
        self.form.knobs["prefix"].slider.setValue(prefix)
        self.view.repaint()
        return time.perf_counter() - started


def copy_time(rounds: int) -> float:
    """Best seconds to copy the pixels of the view once."""
    pixels = np.zeros((SIZE[1], SIZE[0], 4), np.uint8)
    target = np.empty_like(pixels)
    best = float("inf")
    for _ in range(rounds):
        started = time.perf_counter()
        np.copyto(target, pixels)
        best = min(best, time.perf_counter() - started)
    return best


def main() -> int:
    """Measure and print; the exit code is 1 where the best round takes 16 ms or more."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    application = QApplication(sys.argv[:1])
    application.setStyle("Fusion")
    palette.apply(application, dark=False)
    bench = Bench(args.length)
    QApplication.processEvents()
    times = np.array([bench.move(64 + 8 * n) for n in range(args.rounds)])
    copy = copy_time(args.rounds)
    figures = {
        "length": args.length,
        "view": SIZE,
        "best_ms": round(1000 * times.min(), 2),
        "median_ms": round(1000 * float(np.median(times)), 2),
        "copy_ms": round(1000 * copy, 3),
        "ratio_best": round(times.min() / copy, 1),
    }
    print(json.dumps(figures))
    if args.json:
        args.json.write_text(json.dumps(figures) + "\n", encoding="utf-8")
    return int(times.min() >= 0.016)


if __name__ == "__main__":
    sys.exit(main())
