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

from core.types import Reason, colors
from widgets.style_sheet import STYLE_SHEET

HATCH_PERIOD = 24
"""Side of the hatch tile in device-independent pixels; every pattern repeats within it."""

MAP_NAMES = colors.MAP_NAMES
"""Names that `attention_lut` knows."""


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
    card=QColor(*colors.WHITE),
    hairline=QColor(*colors.HAIRLINE),
    text=QColor(*colors.TEXT),
    muted=QColor(*colors.MUTED),
    accent=QColor(*colors.ACCENT),
    on_accent=QColor("#FFFFFF"),
    open=QColor(*colors.REASONS[Reason.OPEN]),
    chip=QColor("#EEF1F6"),
    hover=QColor("#E7EBFF"),
    track=QColor("#D5DAE3"),
    generated=QColor("#FFF0CC"),
    future=QColor(*colors.REASONS[Reason.FUTURE]),
    padding=QColor(*colors.REASONS[Reason.PADDING]),
    other_document=QColor(*colors.REASONS[Reason.OTHER_DOCUMENT]),
    outside_window=QColor(*colors.REASONS[Reason.OUTSIDE_WINDOW]),
    beyond_cache=QColor(*colors.REASONS[Reason.BEYOND_CACHE]),
    by_hand=QColor("#CC79A7"),
    good=QColor(*colors.GOOD),
    warning=QColor(*colors.WARNING),
    error=QColor(*colors.ERROR),
    map_low=QColor(*colors.MAP_LOW),
    map_high=QColor(*colors.MAP_HIGH),
    tint=colors.TINT,
    line=colors.LINE,
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


def contrast(one: QColor, other: QColor) -> float:
    """Return the contrast of two colours, 1 to 21 (WCAG 2.1, 1.4.3)."""
    low, high = sorted(_luminance(color) for color in (one, other))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: QColor) -> float:
    parts = (color.redF(), color.greenF(), color.blueF())
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def ink_on(theme: Theme, ground: QColor) -> QColor:
    """Return the ink of a theme that is the easiest to read on a ground."""
    return max(theme.text, theme.on_accent, key=lambda ink: contrast(ink, ground))


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
    ends = (_rgb(theme.map_low), _rgb(theme.map_high), _rgb(theme.text))
    lut = _packed(colors.ramp(map_name, *ends, dark=theme.dark))
    lut.setflags(write=False)
    return lut


@cache
def difference_lut(theme_name: str) -> NDArray[np.uint32]:
    """Return 201 colours ``0xffRRGGBB`` from -1 over 0 to 1: amber, the card's ground, blue.

    Both ends are equally light, so that size alone tells in grey: what paints a negative cell must
    mark it by a stripe too.
    """
    theme = named(theme_name)
    ground = colors.oklab(_rgb(theme.map_low))
    ends = [colors.oklab(_rgb(color)) for color in (theme.warning, theme.accent)]
    light = (ends[0][0] + ends[1][0]) / 2.0
    t = np.linspace(-1.0, 1.0, 201)[:, None]
    lab = np.where(t < 0, ends[0] - ground, ends[1] - ground)
    lab[:, 0] = light - ground[0]
    lut = _packed(colors.srgb(ground + lab * np.abs(t)))
    lut.setflags(write=False)
    return lut


def _packed(rgb: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Return colours ``[n, 3]`` as ``0xffRRGGBB``."""
    red, green, blue = rgb.astype(np.uint32).T
    packed: NDArray[np.uint32] = np.uint32(0xFF000000) | (red << 16) | (green << 8) | blue
    return packed


def _rgb(color: QColor) -> colors.Rgb:
    return color.red(), color.green(), color.blue()
