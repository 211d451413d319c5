"""Colours that the screen and a printed figure share: numbers alone, for a light ground.

A colour is ``(red, green, blue)``, each 0 to 255. Maps are drawn in OKLab (Ottosson 2020), whose
lightness runs as the eye sees it.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from core.types.masks import Reason

Rgb = tuple[int, int, int]

WHITE: Rgb = (255, 255, 255)
TEXT: Rgb = (0x1E, 0x23, 0x30)
MUTED: Rgb = (0x67, 0x70, 0x84)
HAIRLINE: Rgb = (0xDD, 0xE1, 0xE8)
ACCENT: Rgb = (0x3D, 0x5A, 0xFE)
GOOD: Rgb = (0x12, 0x93, 0x6B)
WARNING: Rgb = (0xC7, 0x7F, 0x00)
ERROR: Rgb = (0xC9, 0x3A, 0x3A)
MAP_LOW: Rgb = (0xF3, 0xF4, 0xFA)
MAP_HIGH: Rgb = (0x2A, 0x2F, 0x86)

REASONS: dict[Reason, Rgb] = {
    Reason.OPEN: (0x5B, 0x6F, 0xE8),
    Reason.FUTURE: (0xA9, 0xB0, 0xBF),
    Reason.PADDING: (0xE6, 0x9F, 0x00),
    Reason.OTHER_DOCUMENT: (0x00, 0x9E, 0x73),
    Reason.OUTSIDE_WINDOW: (0x56, 0xB4, 0xE9),
    Reason.BEYOND_CACHE: (0x8B, 0x7F, 0xA8),
}
"""The full colour of each reason, and of "may read"."""

TINT = 0.16
"""Share of the reason's colour in a closed cell's ground."""

LINE = 0.48
"""Share of the reason's colour in a closed cell's hatch line."""

MAP_NAMES = ("indigo", "even", "grey")
"""The house ramp, many hues at an even pace, and no hue."""


def mixed(ground: Rgb, ink: Rgb, share: float) -> Rgb:
    """``ground`` with ``share`` (0 to 1) of ``ink`` in it."""
    red, green, blue = (
        round(g * (1.0 - share) + i * share) for g, i in zip(ground, ink, strict=True)
    )
    return red, green, blue


def ramp(name: str, low: Rgb, high: Rgb, ink: Rgb, *, dark: bool) -> NDArray[np.uint8]:
    """256 colours from no weight to the largest weight, uint8 ``[256, 3]``.

    Lightness moves one way at an even pace: down on a light ground, up on a dark one. ``low`` and
    ``high`` are the ends of "indigo", ``low`` and ``ink`` those of "grey".

    Raises
    ------
    ValueError
        naming the map, where it is not one of `MAP_NAMES`.
    """
    t = np.linspace(0.0, 1.0, 256)
    if name == "indigo":
        first, last = oklab(low), oklab(high)
        lab = first + (last - first) * t[:, None]
        lab[:, 1:] *= 1.0 + 0.9 * (t * (1.0 - t))[:, None]
    elif name == "even":
        away = 1.0 - t if not dark else t
        light = 0.24 + 0.72 * away
        # On a light ground the pale end keeps clear of the yellow that says padding.
        hue = np.deg2rad(285.0 - (185.0 if dark else 115.0) * away)
        chroma = 0.03 + 0.1 * np.sin(np.pi * np.clip(0.15 + 0.75 * away, 0, 1))
        chroma *= 1.0 if dark else 1.0 - 0.8 * away**3
        lab = np.stack([light, chroma * np.cos(hue), chroma * np.sin(hue)], axis=1)
    elif name == "grey":
        first, last = oklab(low), oklab(ink)
        lab = (first + (last - first) * t[:, None]) * np.array([1.0, 0.0, 0.0])
    else:
        raise ValueError(f"map_name is {name!r}, but must be one of {', '.join(MAP_NAMES)}.")
    return srgb(lab)


@cache
def light_map(name: str) -> NDArray[np.uint8]:
    """The map of that name on a light ground, uint8 ``[256, 3]``; errors as in `ramp`."""
    found = ramp(name, MAP_LOW, MAP_HIGH, TEXT, dark=False)
    found.setflags(write=False)
    return found


_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def oklab(color: Rgb) -> NDArray[np.float64]:
    """OKLab of an sRGB colour, float64 ``[3]`` (Ottosson 2020)."""
    rgb = np.array(color) / 255.0
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    lab: NDArray[np.float64] = _TO_LAB @ np.cbrt(_TO_LMS @ linear)
    return lab


def srgb(lab: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Rows of OKLab ``[n, 3]`` as colours, uint8 ``[n, 3]``, clipped into sRGB."""
    lms = (lab @ np.linalg.inv(_TO_LAB).T) ** 3
    linear = np.clip(lms @ np.linalg.inv(_TO_LMS).T, 0.0, 1.0)
    rgb = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.round(rgb * 255).astype(np.uint8)
