"""The numbers beside two squares: tokens that moved, hidden states by level, heads that differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from core.types import AttentionMaps, Comparison, Stack
from widgets.head_wall import HeadWall

_LINE = 20
_STACK = 96
"""The least height of the heads of a stack."""
NO_LEVELS = "The states between the layers are not known on both sides."


class SmallTable(QTableWidget):
    """Lines of text under a header; the first column is a name, the others are numbers."""

    def __init__(self, name: str, tip: str, parent: QWidget | None = None) -> None:
        super().__init__(0, 0, parent)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(_LINE)
        self.verticalHeader().setMinimumSectionSize(_LINE)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setProperty("flat", True)
        self.setShowGrid(False)
        self.setAccessibleName(name)
        self.setToolTip(tip)

    def set_lines(self, header: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
        """Show a line of as many cells as the header has for each entry; never emits."""
        self.setColumnCount(len(header))
        self.setHorizontalHeaderLabels(list(header))
        self.setRowCount(len(lines))
        for row, line in enumerate(lines):
            for column, text in enumerate(line):
                item = QTableWidgetItem(text)
                if column:
                    item.setTextAlignment(
                        Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
                    )
                self.setItem(row, column, item)
        self.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft)
        modes = QHeaderView.ResizeMode
        for column in range(len(header)):
            mode = modes.ResizeToContents if column else modes.Stretch
            self.horizontalHeader().setSectionResizeMode(column, mode)


class DifferenceWall(HeadWall):
    """All heads, each one tile: the darker, the further its weights are apart."""

    measure = "largest difference"

    def set_differences(self, found: Comparison) -> None:
        """Show the largest difference of every head; never emits."""
        maps = []
        for stack, apart in found.attention.items():
            tiles = np.rint(255 * np.sqrt(np.clip(apart, 0.0, 1.0))).astype(np.uint8)
            maps.append(AttentionMaps(stack, 1, 1, 1, tiles[:, :, None, None], apart))
        self.setMinimumHeight(_STACK * len(maps))
        self.set_maps(tuple(maps))
        self.set_selected(found.head)


def moved_lines(
    found: Comparison, position: int, label: Callable[[int], str]
) -> list[tuple[str, ...]]:
    """Return the tokens that moved most at a position: label, both probabilities, difference."""
    p, q = found.moved[:, position]
    return [
        (label(int(i)), number(float(a)), number(float(b)), f"{a - b:+.3f}")
        for i, a, b in zip(found.moved_ids[position], p, q, strict=True)
    ]


def level_lines(found: Comparison, position: int) -> list[tuple[str, ...]]:
    """Return a line a level: cosine and norm of the difference at a position, each with its mean.

    The tokens of a source have other positions: there all four are means.
    """
    lines = []
    for stack, levels in found.levels.items():
        is_source = bool(found.source_tokens.size) and stack is Stack.ENCODER
        for level, both in enumerate(zip(levels.cosine, levels.relative, strict=True)):
            name = ("source " if is_source else "") + (f"layer {level}" if level else "embedding")
            here = (one.mean() if is_source else one[position] for one in both)
            cells = [
                number(n) for one, at in zip(both, here, strict=True) for n in (at, one.mean())
            ]
            lines.append((name, *cells))
    return lines


def number(value: float) -> str:
    """Return three digits; the magnitude where they would hide it."""
    return f"{value:.3f}" if value == 0 or abs(value) >= 5e-4 else f"{value:.0e}"
