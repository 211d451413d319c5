"""Every colour of the program: two themes, the style sheet, hatches and attention maps.

A closed cell differs from an open one, and from a weight of zero, by its tint *and* by a hatch in
the reason's own direction, so that the reasons stay apart in grey and to colour-blind eyes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QGuiApplication, QImage, QPalette
from PySide6.QtWidgets import QApplication, QStyleFactory

from core.types import Reason
from widgets.style_sheet import STYLE_SHEET

HATCH_PERIOD = 24
"""Side of the hatch tile in device-independent pixels; every pattern repeats within it."""

MAP_NAMES = ("indigo", "even", "grey")
"""Names that `attention_lut` knows: the house ramp, many hues at an even pace, and no hue."""


@dataclass(frozen=True)
class Theme:
    """One set of colours; two exist, `LIGHT` and `DARK`."""

    name: str
    dark: bool
    window: QColor
    card: QColor
    hairline: QColor
    text: QColor
    muted: QColor
    accent: QColor
    on_accent: QColor
    open: QColor
    chip: QColor
    hover: QColor
    track: QColor
    generated: QColor
    future: QColor
    padding: QColor
    other_document: QColor
    outside_window: QColor
    beyond_cache: QColor
    by_hand: QColor
    good: QColor
    warning: QColor
    error: QColor
    map_low: QColor
    map_high: QColor
    tint: float
    """Share of the reason's colour in a closed cell's ground."""
    line: float
    """Share of the reason's colour in a closed cell's hatch line."""


LIGHT = Theme(
    name="light",
    dark=False,
    window=QColor("#F5F6F8"),
    card=QColor("#FFFFFF"),
    hairline=QColor("#DDE1E8"),
    text=QColor("#1E2330"),
    muted=QColor("#677084"),
    accent=QColor("#3D5AFE"),
    on_accent=QColor("#FFFFFF"),
    open=QColor("#5B6FE8"),
    chip=QColor("#EEF1F6"),
    hover=QColor("#E7EBFF"),
    track=QColor("#D5DAE3"),
    generated=QColor("#FFF0CC"),
    future=QColor("#A9B0BF"),
    padding=QColor("#E69F00"),
    other_document=QColor("#009E73"),
    outside_window=QColor("#56B4E9"),
    beyond_cache=QColor("#8B7FA8"),
    by_hand=QColor("#CC79A7"),
    good=QColor("#12936B"),
    warning=QColor("#C77F00"),
    error=QColor("#C93A3A"),
    map_low=QColor("#F3F4FA"),
    map_high=QColor("#2A2F86"),
    tint=0.16,
    line=0.48,
)

DARK = Theme(
    name="dark",
    dark=True,
    window=QColor("#15171C"),
    card=QColor("#1C1F26"),
    hairline=QColor("#2F343F"),
    text=QColor("#E6E9F0"),
    muted=QColor("#949CAE"),
    accent=QColor("#8FA2FF"),
    on_accent=QColor("#12141A"),
    open=QColor("#7C8DF5"),
    chip=QColor("#272B34"),
    hover=QColor("#2B3150"),
    track=QColor("#383E4A"),
    generated=QColor("#40371F"),
    future=QColor("#8A91A0"),
    padding=QColor("#E69F00"),
    other_document=QColor("#009E73"),
    outside_window=QColor("#56B4E9"),
    beyond_cache=QColor("#9A8CC0"),
    by_hand=QColor("#CC79A7"),
    good=QColor("#43C59E"),
    warning=QColor("#F0B64A"),
    error=QColor("#FF7B7B"),
    map_low=QColor("#232732"),
    map_high=QColor("#D5DCFF"),
    tint=0.13,
    line=0.42,
)

_active: list[Theme] = [LIGHT]


def current() -> Theme:
    """Return the theme that paints now."""
    return _active[0]


def named(name: str) -> Theme:
    """Return the theme of that name (`Theme.name`)."""
    return DARK if name == DARK.name else LIGHT


def system_is_dark() -> bool:
    """Tell whether the desktop asks for a dark scheme (False where it does not say)."""
    return QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark


def apply(app: QApplication, dark: bool) -> Theme:
    """Dress the whole program in one theme and return it; may be called again at any time."""
    theme = DARK if dark else LIGHT
    _active[0] = theme
    if app.style().objectName().lower() != "fusion":
        app.setStyle(QStyleFactory.create("Fusion"))
    app.setPalette(_qt_palette(theme))
    app.setStyleSheet(style_sheet(theme))
    return theme


def _qt_palette(theme: Theme) -> QPalette:
    role = QPalette.ColorRole
    palette = QPalette()
    for roles, color in (
        ((role.Window,), theme.window),
        ((role.Base, role.ToolTipBase, role.Button, role.AlternateBase), theme.card),
        ((role.WindowText, role.Text, role.ButtonText, role.ToolTipText), theme.text),
        ((role.PlaceholderText,), theme.muted),
        ((role.Highlight, role.Link, role.Accent), theme.accent),
        ((role.HighlightedText,), theme.on_accent),
        ((role.Mid,), theme.hairline),
        ((role.Dark,), theme.track),
        ((role.Light, role.Midlight), theme.chip),
    ):
        for one in roles:
            palette.setColor(one, color)
    faint = mix(theme.card, theme.muted, 0.6)
    for one in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, one, faint)
    return palette


def style_sheet(theme: Theme) -> str:
    """Return the style sheet in the theme's colours (cards, pills, sliders, fields)."""
    words = {
        name: getattr(theme, name).name()
        for name in ("window", "card", "hairline", "text", "muted", "accent", "on_accent")
    }
    words |= {name: getattr(theme, name).name() for name in ("chip", "hover", "track", "error")}
    words["faint"] = mix(theme.card, theme.muted, 0.55).name()
    words["accent_soft"] = mix(theme.card, theme.accent, 0.55).name()
    sheet = STYLE_SHEET
    for name in sorted(words, key=len, reverse=True):
        sheet = sheet.replace(f"@{name}", words[name])
    return sheet


def mix(ground: QColor, ink: QColor, share: float) -> QColor:
    """Return `ground` with `share` (0 to 1) of `ink` in it."""
    keep = 1.0 - share
    return QColor(
        round(ground.red() * keep + ink.red() * share),
        round(ground.green() * keep + ink.green() * share),
        round(ground.blue() * keep + ink.blue() * share),
    )


def reason_color(reason: Reason, theme: Theme | None = None) -> QColor:
    """Return the full colour of a reason (of "may read" for `Reason.OPEN`)."""
    theme = theme or current()
    return {
        Reason.OPEN: theme.open,
        Reason.FUTURE: theme.future,
        Reason.PADDING: theme.padding,
        Reason.OTHER_DOCUMENT: theme.other_document,
        Reason.OUTSIDE_WINDOW: theme.outside_window,
        Reason.BEYOND_CACHE: theme.beyond_cache,
    }[reason]


def reason_pair(reason: Reason, theme: Theme | None = None) -> tuple[QColor, QColor]:
    """Return ground and hatch line of a closed cell; twice the same colour for an open one."""
    theme = theme or current()
    color = reason_color(reason, theme)
    if reason is Reason.OPEN:
        return color, color
    return mix(theme.card, color, theme.tint), mix(theme.card, color, theme.line)


@cache
def hatch_bits() -> NDArray[np.uint8]:
    """Return the hatch tile, uint8 ``[24, 24]``: bit ``reason`` is set on that reason's lines."""
    y, x = np.mgrid[0:HATCH_PERIOD, 0:HATCH_PERIOD]
    lines = {
        Reason.FUTURE: (x + y) % 6 == 0,
        Reason.PADDING: (x + y) % 4 < 2,
        Reason.OTHER_DOCUMENT: (x - y) % 6 < 2,
        Reason.OUTSIDE_WINDOW: y % 4 == 0,
        Reason.BEYOND_CACHE: ((x + y) % 8 == 0) | ((x - y) % 8 == 0),
    }
    bits = np.zeros((HATCH_PERIOD, HATCH_PERIOD), np.uint8)
    for reason, line in lines.items():
        bits |= line.astype(np.uint8) << np.uint8(reason)
    return bits


def hatch_brush(reason: Reason, theme: Theme | None = None) -> QBrush:
    """Return the brush of a legend swatch: the same tint and hatch as the cells."""
    ground, line = reason_pair(reason, theme)
    if reason is Reason.OPEN:
        return QBrush(ground)
    on = (hatch_bits() >> np.uint8(reason)) & 1
    pixels = np.where(on, np.uint32(line.rgb()), np.uint32(ground.rgb())).astype(np.uint32)
    side = HATCH_PERIOD
    image = QImage(pixels.tobytes(), side, side, side * 4, QImage.Format.Format_RGB32).copy()
    return QBrush(image)


def attention_lut(theme: Theme, map_name: str) -> NDArray[np.uint32]:
    """Return 256 colours ``0xffRRGGBB`` from no weight to the largest weight.

    Lightness moves one way at an even pace in OKLab, so that the map reads in grey and to
    colour-blind eyes; light themes darken with weight, dark themes brighten.

    Raises
    ------
    ValueError
        naming the map, where it is not one of `MAP_NAMES`.
    """
    return _lut(theme.name, map_name)


@cache
def _lut(theme_name: str, map_name: str) -> NDArray[np.uint32]:
    theme = named(theme_name)
    t = np.linspace(0.0, 1.0, 256)
    if map_name == "indigo":
        low, high = _oklab(theme.map_low), _oklab(theme.map_high)
        lab = low + (high - low) * t[:, None]
        lab[:, 1:] *= 1.0 + 0.9 * (t * (1.0 - t))[:, None]
    elif map_name == "even":
        away = 1.0 - t if not theme.dark else t
        light = 0.24 + 0.72 * away
        # On a light ground the pale end keeps clear of the yellow that says padding.
        hue = np.deg2rad(285.0 - (185.0 if theme.dark else 115.0) * away)
        chroma = 0.03 + 0.1 * np.sin(np.pi * np.clip(0.15 + 0.75 * away, 0, 1))
        chroma *= 1.0 if theme.dark else 1.0 - 0.8 * away**3
        lab = np.stack([light, chroma * np.cos(hue), chroma * np.sin(hue)], axis=1)
    elif map_name == "grey":
        low, high = _oklab(theme.map_low), _oklab(theme.text)
        lab = (low + (high - low) * t[:, None]) * np.array([1.0, 0.0, 0.0])
    else:
        raise ValueError(f"map_name is {map_name!r}, but must be one of {', '.join(MAP_NAMES)}.")
    lut = _packed(lab)
    lut.setflags(write=False)
    return lut


@cache
def difference_lut(theme_name: str) -> NDArray[np.uint32]:
    """Return 201 colours ``0xffRRGGBB`` from -1 over 0 to 1: amber, the card's ground, blue.

    Both ends are equally light, so that size alone tells in grey: what paints a negative cell must
    mark it by a stripe too.
    """
    theme = named(theme_name)
    ground = _oklab(theme.map_low)
    ends = [_oklab(theme.warning), _oklab(theme.accent)]
    light = (ends[0][0] + ends[1][0]) / 2.0
    t = np.linspace(-1.0, 1.0, 201)[:, None]
    lab = np.where(t < 0, ends[0] - ground, ends[1] - ground)
    lab[:, 0] = light - ground[0]
    lut = _packed(ground + lab * np.abs(t))
    lut.setflags(write=False)
    return lut


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


def _oklab(color: QColor) -> NDArray[np.float64]:
    """Return OKLab of an sRGB colour (Ottosson 2020)."""
    rgb = np.array([color.redF(), color.greenF(), color.blueF()])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    lab: NDArray[np.float64] = _TO_LAB @ np.cbrt(_TO_LMS @ linear)
    return lab


def _packed(lab: NDArray[np.float64]) -> NDArray[np.uint32]:
    """Return OKLab rows ``[n, 3]`` as ``0xffRRGGBB``, clipped into sRGB."""
    lms = (lab @ np.linalg.inv(_TO_LAB).T) ** 3
    linear = np.clip(lms @ np.linalg.inv(_TO_LMS).T, 0.0, 1.0)
    rgb = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    byte = np.round(rgb * 255).astype(np.uint32)
    packed = np.uint32(0xFF000000) | (byte[:, 0] << 16) | (byte[:, 1] << 8) | byte[:, 2]
    return packed.astype(np.uint32)
