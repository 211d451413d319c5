"""One step of a head as a square: signed numbers in two colours, weights in one."""

from __future__ import annotations

import sys
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from core.mask.reasons import WORDS, reason_at
from core.types import MaskSpec, Reason
from widgets.grid_canvas import Cell
from widgets.grid_geometry import GridFrame
from widgets.grid_labels import AxisLabels
from widgets.grid_raster import CLOSED_BASE, MaskRow, axes_of, cells_picture, color_table, pooled
from widgets.grid_view import GridView
from widgets.palette import Theme, attention_lut, mix, named

_HALF = CLOSED_BASE // 2 - 1
"""Shades on either side of zero; zero is palette entry `_HALF`."""

Floats = NDArray[np.float32]


class StageGrid(GridView):
    """Paint float32 ``[Tq, n]``: blue above zero, orange below, as strong as the largest of them.

    Weights (``signed`` off) have the colours of the attention view. Where cells are smaller than a
    pixel the number of the largest size is drawn.
    """

    footer = 0.0

    def __init__(self, name: str, *, signed: bool = True, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.name = name
        self._signed = signed
        self._values: Floats = np.zeros((0, 0), np.float32)
        self._mask: MaskRow | None = None
        self._empty = ""
        self.setMinimumSize(110, 110)
        self.setAccessibleName(name)

    # -- told from outside: never emits

    def set_values(
        self,
        values: Floats,
        rows: AxisLabels,
        columns: AxisLabels,
        closed: tuple[MaskSpec, int] | None = None,
    ) -> None:
        """Show numbers ``[Tq, n]``; ``closed`` is a mask of that shape and its batch row, to hatch.

        Numbers under a closed cell are of no matter.
        """
        self._values = values
        self._mask = None if closed is None else MaskRow(*closed)
        self._set_grid((values.shape[0], values.shape[1]), rows, columns)

    def set_empty(self, sentence: str) -> None:
        """Show a sentence and no numbers."""
        self._empty = sentence
        self._values = np.zeros((0, 0), np.float32)
        self._set_grid((0, 0), AxisLabels(()), AxisLabels(()))

    def describe(self, cell: Cell) -> str:
        """Return one cell in words."""
        row, column = cell
        if row >= self._values.shape[0] or column >= self._values.shape[1]:
            return ""
        if self._mask is not None:
            reason = reason_at(self._mask.spec, self._mask.row, row, column)
            if reason is not Reason.OPEN:
                return f"{self.name}: closed, {WORDS[reason]}"
        value = float(self._values[row, column])
        return f"{self.name} of row {self._row_labels.first + row}, column {column}: {value:.3f}"

    def _empty_text(self) -> str:
        return self._empty

    # -- painting

    def _make_picture(self, frame: GridFrame, theme: Theme) -> QImage:
        down, across = axes_of(frame)
        high = pooled(self._values, down, across)
        if self._signed:
            low = pooled(-self._values, down, across)
            far = np.where(high >= low, high, -low) / self._peak()
            levels = np.clip(far, -1.0, 1.0) * _HALF + _HALF + 0.5
        else:
            levels = np.sqrt(np.clip(high, 0.0, 1.0)) * 2 * _HALF + 0.5
        return cells_picture(levels, self._mask, _color_table(theme.name, self._signed), frame)

    def _peak(self) -> float:
        """The largest size of any number that is not under a closed cell."""
        sizes = np.abs(self._values)
        if self._mask is not None:
            sizes = sizes[self._mask.intervals.dense()]
        return max(float(sizes.max(initial=0.0)), 1e-12)


@cache
def _color_table(theme_name: str, signed: bool) -> list[int]:
    theme = named(theme_name)
    shares = np.linspace(-1.0, 1.0, 2 * _HALF + 1)
    if signed:
        inks = [theme.accent if share > 0 else theme.warning for share in shares]
        colors = [
            mix(theme.map_low, ink, abs(float(share)) ** 0.7).rgb()
            for ink, share in zip(inks, shares, strict=True)
        ]
    else:
        lut = attention_lut(theme, "indigo")
        colors = lut[np.linspace(0, 255, len(shares)).round().astype(np.intp)].tolist()
    return color_table(theme, colors, quiet=0.62)


def make_demo() -> QWidget:
    """Return invented scores."""
    from widgets.demo import WORDS as TOKENS

    grid = StageGrid("scores")
    words = AxisLabels(TOKENS[:12])
    scores = np.random.default_rng(1).normal(size=(12, 12)).astype(np.float32)
    grid.set_values(scores, words, words)
    return grid


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (300, 300)))
