"""Curves: the lines carry the numbers they were given, and a missing value is a gap."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication

from widgets import palette
from widgets.curve_plot import MOST_TICKS, CurvePlot


@pytest.fixture
def plot(shown: Callable[..., None]) -> CurvePlot:
    made = CurvePlot()
    shown(made, 600, 220)
    return made


def test_each_curve_with_a_value_is_a_line_of_its_numbers(plot: CurvePlot) -> None:
    values = np.array([0.5, np.nan, 2.0], np.float32)
    none = np.full(3, np.nan, np.float32)
    plot.set_curves({"surprise": values, "absent": none}, ["a", "b", "c"], 4)
    (line,) = plot.plot.getPlotItem().listDataItems()
    x, y = line.getOriginalDataset()
    assert x.tolist() == [4, 5, 6]
    assert np.array_equal(y, values, equal_nan=True)
    assert line.name() == "surprise"
    assert plot.accessibleDescription() == "surprise: 1.25 nats"


def test_new_curves_replace_the_old_ones(plot: CurvePlot) -> None:
    for n in (3, 5):
        plot.set_curves({"entropy": np.ones(n, np.float32)}, ["t"] * n, 0)
    (line,) = plot.plot.getPlotItem().listDataItems()
    assert len(line.getOriginalDataset()[0]) == 5


def test_many_tokens_are_thinned_on_the_axis(plot: CurvePlot) -> None:
    plot.set_curves({"entropy": np.ones(400, np.float32)}, [str(i) for i in range(400)], 10)
    ticks = plot._ticks()
    assert len(ticks) <= MOST_TICKS
    assert ticks[0] == (10.0, "0")
    assert ticks[1][0] - 10 == int(ticks[1][1])


def test_a_new_theme_repaints_the_ground(plot: CurvePlot, qapp: QApplication) -> None:
    palette.apply(qapp, True)
    assert plot.plot.backgroundBrush().color() == palette.DARK.card
