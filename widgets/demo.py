"""Run one widget alone: ``python -m widgets.NAME [--dark] [--size 640x560] [--grab FILE]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from core.mask.intervals import row_intervals
from core.types import AttentionMaps, MaskKind, MaskSpec, Stack
from widgets import palette

_TEXT = "<pad> <pad> Once upon a time a cat sat on the mat . It was very happy and it ran"

WORDS = tuple(_TEXT.split())
"""Tokens that the demos read."""


def demo_spec() -> MaskSpec:
    """Return the mask of the demos: prefix 6, two left pads, 15 slots."""
    return MaskSpec(MaskKind.PREFIX, length=15, prefix=6, left_pad=(2,))


def demo_pattern(seed: int = 7) -> NDArray[np.float32]:
    """Return invented weights ``[15, 15]`` under `demo_spec`."""
    open_cells = row_intervals(demo_spec(), 0).dense()
    raw = np.random.default_rng(seed).gumbel(size=open_cells.shape) * 1.4
    raw[:, 2] += 2.0
    weights = np.where(open_cells, np.exp(raw), 0.0)
    shares: NDArray[np.float32] = (weights / weights.sum(1, keepdims=True)).astype(np.float32)
    return shares


def demo_maps(stack: Stack) -> AttentionMaps:
    """Return four layers by four heads of invented weights."""
    patterns = np.stack([demo_pattern(seed) for seed in range(16)]).reshape(4, 4, 15, 15)
    scale = patterns.max(axis=(2, 3))
    thumbs = (255 * np.sqrt(patterns / scale[:, :, None, None])).astype(np.uint8)
    return AttentionMaps(stack, 15, 15, 1, thumbs, scale)


def run(make: Callable[[], QWidget], size: tuple[int, int]) -> int:
    """Show the widget that `make` returns inside a card, or paint it into ``--grab FILE``."""
    parser = argparse.ArgumentParser(description="Show one maskscope widget alone.")
    parser.add_argument("--dark", action="store_true", help="paint in the dark theme")
    parser.add_argument("--size", default=f"{size[0]}x{size[1]}", help="width x height, in pixels")
    parser.add_argument("--grab", help="write a PNG there and leave")
    parser.add_argument(
        "--three", action="store_true", help="show three stacks (head_wall, flow_view)"
    )
    options = parser.parse_args()
    app = QApplication(sys.argv[:1])
    palette.apply(app, options.dark or palette.system_is_dark())
    window = QWidget()
    window.setWindowTitle("maskscope widget demo")
    layout = QVBoxLayout(window)
    layout.setContentsMargins(12, 12, 12, 12)
    layout.addWidget(make())
    window.resize(*(int(part) for part in options.size.split("x")))
    window.show()
    if not options.grab:
        return app.exec()
    for _ in range(3):
        app.processEvents()
    window.grab().save(options.grab)
    return 0
