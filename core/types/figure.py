"""A figure as data: marks on a page, all lengths in points (1/72 inch), y down.

Every rendering (SVG, PDF, PNG, the screen, the clipboard) draws this one list, in order, so that
they show the same. Colours are ``(red, green, blue)``, each 0 to 255.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from core.types.colors import TEXT, Rgb
from core.types.masks import require

FONTS = ("DejaVu Sans", "Verdana", "Arial", "Helvetica", "sans-serif")
"""The fonts of all text, the first that is there. Widths are estimated for the widest."""


class Hatch(str, Enum):
    """A pattern of lines; each has its own direction, pace and weight, so all differ in grey."""

    SLASH = "slash"
    HEAVY_SLASH = "heavy-slash"
    BACKSLASH = "backslash"
    LEVEL = "level"
    CROSS = "cross"


@dataclass(frozen=True)
class HatchLines:
    """How a hatch is drawn: lines ``period`` apart, ``width`` wide, at each of some ``angles``.

    Angles are degrees, 0 runs to the right, 45 up to the right. The point ``(0, 0)`` of the page
    lies on a line, so hatches of neighbours meet.
    """

    angles: tuple[float, ...]
    period: float
    width: float


HATCHES: dict[Hatch, HatchLines] = {
    Hatch.SLASH: HatchLines((45.0,), 3.0, 0.5),
    Hatch.HEAVY_SLASH: HatchLines((45.0,), 2.2, 1.0),
    Hatch.BACKSLASH: HatchLines((-45.0,), 3.0, 0.9),
    Hatch.LEVEL: HatchLines((0.0,), 2.4, 0.6),
    Hatch.CROSS: HatchLines((45.0, -45.0), 3.6, 0.45),
}


@dataclass(frozen=True, eq=False)
class Cells:
    """Rectangles of one colour, drawn without antialiasing, so that neighbours leave no seam.

    ``rects`` float64 ``[n, 4]`` are x, y, width, height. ``ink`` is the colour of the ``hatch``,
    whose lines are ``scale`` times as wide and as far apart.
    """

    rects: NDArray[np.float64] = field(repr=False)
    color: Rgb
    hatch: Hatch | None = None
    ink: Rgb = TEXT
    scale: float = 1.0

    def __eq__(self, other: object) -> bool:
        def look(cells: Cells) -> tuple[object, ...]:
            return cells.color, cells.hatch, cells.ink, cells.scale

        return isinstance(other, Cells) and (
            look(self) == look(other) and np.array_equal(self.rects, other.rects)
        )


@dataclass(frozen=True)
class Polyline:
    """Straight strokes from point to point; ``width`` in points, ``opacity`` 0 to 1."""

    points: tuple[tuple[float, float], ...]
    color: Rgb
    width: float = 0.5
    opacity: float = 1.0


@dataclass(frozen=True)
class Curve:
    """A cubic Bézier curve: start, two control points, end."""

    points: tuple[
        tuple[float, float], tuple[float, float], tuple[float, float], tuple[float, float]
    ]
    color: Rgb
    width: float = 0.5
    opacity: float = 1.0


@dataclass(frozen=True)
class Polygon:
    """A filled shape with straight sides, antialiased."""

    points: tuple[tuple[float, float], ...]
    color: Rgb


@dataclass(frozen=True)
class Text:
    """One line of text with its baseline through ``(x, y)``.

    ``anchor`` ("start", "middle" or "end") says which point of the text lies at x, before it is
    turned around ``(x, y)`` by ``rotation`` degrees clockwise. ``size`` is that of the font.
    """

    string: str
    x: float
    y: float
    size: float
    anchor: str = "start"
    rotation: float = 0.0
    bold: bool = False
    color: Rgb = TEXT


Mark: TypeAlias = Cells | Polyline | Curve | Polygon | Text


@dataclass(frozen=True)
class Figure:
    """A page and the marks on it, from the back to the front.

    ``background`` None is transparent. ``parameters`` say what made the figure; they are kept in
    the file.

    Raises
    ------
    ValueError
        unless width and height are between 9 and 14 400 points, the most that a PDF may have.
    """

    width: float
    height: float
    marks: tuple[Mark, ...] = field(repr=False)
    background: Rgb | None = None
    title: str = ""
    parameters: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("width", "height"):
            value = getattr(self, name)
            require(
                9.0 <= value <= 14_400.0,
                name,
                f"{value:.6g} pt",
                "between 9 and 14400 pt (3 mm and 5 m)",
            )

    def texts(self) -> list[str]:
        """Every string of the figure, in drawing order."""
        return [mark.string for mark in self.marks if isinstance(mark, Text)]
