from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

from core.types import Reason
from widgets import palette

CLOSED = [reason for reason in Reason if reason is not Reason.OPEN]


def lightness(packed: np.ndarray) -> np.ndarray:
    red, green, blue = ((packed >> shift) & 255 for shift in (16, 8, 0))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", [palette.LIGHT, palette.DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("name", palette.MAP_NAMES)
def test_attention_maps_go_one_way_in_grey(theme: palette.Theme, name: str) -> None:
    lut = palette.attention_lut(theme, name)
    assert lut.shape == (256,)
    assert lut.dtype == np.uint32
    steps = np.diff(lightness(lut.astype(np.int64)))
    assert (steps >= -0.8).all() if theme.dark else (steps <= 0.8).all()
    assert abs(steps.sum()) > 120


def test_an_unknown_map_is_named() -> None:
    with pytest.raises(ValueError, match="jet"):
        palette.attention_lut(palette.LIGHT, "jet")


@pytest.mark.parametrize("dark", [False, True])
def test_apply_dresses_the_program(qapp: QApplication, dark: bool) -> None:
    theme = palette.apply(qapp, dark)
    assert palette.current() is theme
    assert theme.dark is dark
    assert qapp.palette().color(QPalette.ColorRole.Window) == theme.window
    assert "@" not in qapp.styleSheet()


def test_reasons_differ_by_hatch_alone() -> None:
    bits = palette.hatch_bits()
    tiles = {reason: (bits >> np.uint8(reason)) & 1 for reason in CLOSED}
    for one, other in combinations(CLOSED, 2):
        assert not np.array_equal(tiles[one], tiles[other])
    assert all(0 < tile.mean() < 1 for tile in tiles.values())


@pytest.mark.parametrize("theme", [palette.LIGHT, palette.DARK], ids=lambda theme: theme.name)
def test_text_can_be_read(theme: palette.Theme) -> None:
    def luminance(color: QColor) -> float:
        parts = np.array([color.redF(), color.greenF(), color.blueF()])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    for ink in (theme.text, theme.muted):
        for ground in (theme.card, theme.window):
            high, low = sorted((luminance(ink), luminance(ground)), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= 4.5


@pytest.mark.parametrize("theme", [palette.LIGHT, palette.DARK], ids=lambda theme: theme.name)
def test_numbers_on_tints_can_be_read(theme: palette.Theme) -> None:
    assert palette.contrast(QColor("#FFFFFF"), QColor("#000000")) == pytest.approx(21)
    for share in np.linspace(0, 1, 21):
        ground = palette.mix(theme.map_low, theme.open, float(share))
        assert palette.contrast(palette.ink_on(theme, ground), ground) > 3.5
