"""How a figure is to look: its size, its fonts, its colours. What it shows is said elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.types import Reason
from core.types.colors import LINE, REASONS, TEXT, TINT, WHITE, Rgb, light_map, mixed, oklab, srgb
from core.types.figure import Hatch
from core.types.masks import require

Measure = Callable[[str, float], float]
"""Width in points of a string in a font size in points."""

REASON_HATCH: dict[Reason, Hatch] = {
    Reason.FUTURE: Hatch.SLASH,
    Reason.PADDING: Hatch.HEAVY_SLASH,
    Reason.OTHER_DOCUMENT: Hatch.BACKSLASH,
    Reason.OUTSIDE_WINDOW: Hatch.LEVEL,
    Reason.BEYOND_CACHE: Hatch.CROSS,
}

REASON_NAMES: dict[Reason, str] = {
    Reason.OPEN: "may read",
    Reason.FUTURE: "in the future",
    Reason.PADDING: "padding",
    Reason.OTHER_DOCUMENT: "other document",
    Reason.OUTSIDE_WINDOW: "outside window",
    Reason.BEYOND_CACHE: "beyond cache",
}


def estimate(text: str, size: float) -> float:
    """A width in points that is hardly ever too small for the fonts of a figure."""
    return size * sum(_share(letter) for letter in text)


_NARROW = frozenset("iIjlftr .,:;!|'\"()[]/\\")
_WIDE = frozenset("mwMW%@")


def _share(letter: str) -> float:
    """The widest that a letter may be, in ems."""
    if letter in _NARROW:
        return 0.46
    if letter in _WIDE:
        return 1.01
    if letter < "\x7f":
        return 0.66 if letter.islower() or letter.isdigit() else 0.84
    return 1.1 if letter < "\u0180" else 1.5


UNITS = {"in": 72.0, "mm": 72.0 / 25.4, "pt": 1.0}
"""Points in a unit of length; a pixel has 72 / dpi."""


def points(value: float, unit: str, dpi: float) -> float:
    """A length in points; ``unit`` is "in", "mm", "pt" or "px"."""
    return value * (72.0 / dpi if unit == "px" else UNITS[unit])


def in_words(value: float | None) -> str:
    """A length for a sentence, such as "252 pt (88.9 mm)"."""
    return "as needed" if value is None else f"{value:.4g} pt ({value / UNITS['mm']:.4g} mm)"


@dataclass(frozen=True)
class Style:
    """The look of a figure. Lengths are points; ``height`` None is as high as it needs.

    ``label``, ``small`` and ``heading`` are font sizes of tokens, of numbers and captions, and of
    the title. ``labels`` and ``color_bar`` False leave those out. ``measure`` is what draws the
    text, asked how wide it is.

    Raises
    ------
    ValueError
        unless width and height are between 36 pt (12.7 mm) and 14 400 pt, or the map is unknown.
    """

    width: float = 252.0
    height: float | None = None
    label: float = 7.0
    small: float = 6.0
    heading: float = 8.5
    line: float = 0.5
    map_name: str = "even"
    labels: bool = True
    color_bar: bool = True
    title: str = ""
    background: Rgb | None = WHITE
    measure: Measure = estimate

    def __post_init__(self) -> None:
        for name, value in (("width", self.width), ("height", self.height)):
            allowed = "between 36 and 14400 pt (12.7 mm and 5 m)"
            require(value is None or 36.0 <= value <= 14_400.0, name, in_words(value), allowed)
        light_map(self.map_name)

    @property
    def hatch_scale(self) -> float:
        """How much coarser hatches are than in print: a slide is seen from afar."""
        return self.line / 0.5

    @property
    def map(self) -> NDArray[np.uint8]:
        """Colours from no weight to the largest, uint8 ``[256, 3]``."""
        return light_map(self.map_name)


ONE_COLUMN = Style()

PRESETS: dict[str, Style] = {
    "one-column": ONE_COLUMN,
    "two-column": Style(width=515.52, label=7.5, small=6.5, heading=9.0),
    "slide": Style(width=960.0, height=540.0, label=15.0, small=12.5, heading=20.0, line=1.0),
}
"""3.5 in and 7.16 in wide, as journals set their columns; a slide of 16 to 9."""


def preset(name: str) -> Style:
    """The preset of that name; ValueError names those that there are."""
    if name not in PRESETS:
        raise ValueError(f"preset is {name!r}, but must be one of {', '.join(PRESETS)}.")
    return PRESETS[name]


def reason_colors(reason: Reason, *, quiet: bool = False) -> tuple[Rgb, Rgb]:
    """Ground and hatch line of a cell; an open one has its full colour. ``quiet`` fades both."""
    color = REASONS[reason]
    if reason is Reason.OPEN:
        return color, color
    fade = 0.6 if quiet else 1.0
    # Ink on paper is paler than light on a screen.
    return mixed(WHITE, color, TINT * fade), mixed(WHITE, color, 1.6 * LINE * fade)


def diverging(map_name: str) -> NDArray[np.uint8]:
    """Colours from the largest negative to the largest positive number, uint8 ``[255, 3]``.

    Blue to white to orange: the two hues that every kind of colour-blind eye tells apart. Both
    ends are as dark as each other; "grey" runs from white over grey to black instead, so that the
    sign stays apart without colour. Number 127 is zero.
    """
    t = np.linspace(-1.0, 1.0, 255)
    if map_name == "grey":
        return srgb(np.stack([0.58 - 0.40 * t, 0 * t, 0 * t], axis=1))
    white = oklab(WHITE)
    ends = np.where(t[:, None] < 0, oklab((0x1F, 0x4E, 0xA1)), oklab((0xB3, 0x4A, 0x00)))
    return srgb(white + (ends - white) * np.abs(t)[:, None])


def ink_on(ground: Rgb) -> Rgb:
    """White or the ink of text, whichever is easier to read on a ground."""
    return WHITE if oklab(ground)[0] < 0.6 else TEXT
