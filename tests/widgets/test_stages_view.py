"""Stages: squares show their own numbers, share cell and zoom, and the query is written out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.types import MaskKind, MaskSpec
from widgets import palette
from widgets.grid_geometry import GridWindow
from widgets.grid_labels import AxisLabels
from widgets.stage_grid import StageGrid
from widgets.stages_view import STEPS, WIDE, StagesView, demo_stages

Show = Callable[..., None]
SPEC = MaskSpec(MaskKind.CAUSAL, 6)
WORDS = [f"t{i}" for i in range(6)]


@pytest.fixture
def view(shown: Show) -> StagesView:
    made = StagesView()
    shown(made, 640, 270)
    made.set_stages(demo_stages(SPEC), (SPEC, 0), WORDS, WORDS)
    made.set_cell((4, 2))
    return made


def color_at(grid: StageGrid, cell: tuple[int, int]) -> QColor:
    """The colour in the upper left of a cell, off the crosshair."""
    image: QImage = grid.grab().toImage()
    box = grid.cell_rect(cell)
    at = box.topLeft() + QPointF(box.width() * 0.3, box.height() * 0.3)
    return QColor(image.pixel((at * image.devicePixelRatio()).toPoint()))


def visible(view: StagesView) -> set[str]:
    return {name for name, grid in view.grids.items() if grid.isVisible()}


def test_signs_differ_in_colour_and_size_in_strength(shown: Show) -> None:
    grid = StageGrid("scores")
    plain = AxisLabels(())
    grid.set_values(np.array([[2.0, -2.0, 0.0, 0.5]], np.float32), plain, plain)
    shown(grid, 300, 200)
    theme = palette.current()
    assert color_at(grid, (0, 0)) == theme.accent
    assert color_at(grid, (0, 1)) == theme.warning
    assert color_at(grid, (0, 2)) == theme.map_low
    weak = color_at(grid, (0, 3))
    assert theme.accent.lightness() < weak.lightness() < theme.map_low.lightness()


def test_a_score_under_a_closed_cell_takes_no_part_in_the_scale(shown: Show) -> None:
    grid = StageGrid("masked")
    spec, plain = MaskSpec(MaskKind.CAUSAL, 2), AxisLabels(())
    values = np.array([[1.0, 900.0], [0.0, -1.0]], np.float32)
    grid.set_values(values, plain, plain, (spec, 0))
    shown(grid, 200, 200)
    assert color_at(grid, (0, 0)) == palette.current().accent
    assert color_at(grid, (1, 1)) == palette.current().warning
    assert grid.describe((0, 1)) == "masked: closed, in the future"
    assert grid.describe((0, 0)) == "masked of row 0, column 0: 1.000"


def test_narrow_shows_the_chosen_step_and_wide_shows_all(shown: Show, view: StagesView) -> None:
    assert visible(view) == {"softmax"}
    view.buttons["output"].click()
    assert visible(view) == {"output"}
    view.resize(WIDE + 20, 400)
    QApplication.processEvents()
    assert view.width() == WIDE + 20
    assert visible(view) == set(STEPS)
    assert not view.buttons["output"].isVisible()
    view.resize(WIDE - 20, 270)
    assert visible(view) == {"output"}


def test_arrows_walk_through_the_steps(qtbot: QtBot, view: StagesView) -> None:
    button = view.buttons["softmax"]
    button.setFocus()
    qtbot.keyClick(button, Qt.Key.Key_Right)
    assert visible(view) == {"output"}
    qtbot.keyClick(view.buttons["output"], Qt.Key.Key_Left)
    assert visible(view) == {"softmax"}


def test_cells_and_zoom_are_shared_but_by_the_output(view: StagesView) -> None:
    assert {grid.selected for name, grid in view.grids.items() if name != "output"} == {(4, 2)}
    view.grids["softmax"].view_changed.emit(GridWindow(2.0, 1.0, 1.0))
    assert view.grids["scores"].view == GridWindow(2.0, 1.0, 1.0)
    assert view.grids["output"].view == GridWindow()


def test_a_click_selects_and_one_on_the_output_keeps_the_key(
    qtbot: QtBot, view: StagesView
) -> None:
    with qtbot.waitSignal(view.cell_clicked) as clicked:
        view.grids["softmax"].cell_clicked.emit((3, 1))
    assert clicked.args == [(3, 1)]
    with qtbot.waitSignal(view.cell_clicked) as clicked:
        view.grids["output"].cell_clicked.emit((5, 7))
    assert clicked.args == [(5, 1)]
    assert view.grids["scores"].selected == (5, 1)


def test_the_selected_query_is_written_out(view: StagesView) -> None:
    told = view.equation.toPlainText()
    found = view.stages
    assert found is not None
    for name, line in found.equation(4, WORDS):
        assert name in told
        assert line in told
    view.set_cell((1, 0))
    assert dict(found.equation(1, WORDS))["softmax"] in view.equation.toPlainText()
    assert view.equation.isReadOnly()


def test_without_values_the_output_says_why(shown: Show, view: StagesView) -> None:
    plain = replace(demo_stages(SPEC), output=None, values=None, notes=("No values here.",))
    view.set_stages(plain, (SPEC, 0), WORDS, WORDS)
    assert view.grids["output"].frame() is None
    assert "No values here." in view.equation.toPlainText()


def test_the_example_puts_the_mistake_beside_what_is_right(view: StagesView) -> None:
    toggled: list[bool] = []
    view.example_toggled.connect(toggled.append)
    view.example.click()
    assert toggled == [True]
    assert visible(view) == {"softmax", "too late"}
    view.example.click()
    assert visible(view) == {"softmax"}


def test_emptying_leaves_nothing_behind(view: StagesView) -> None:
    view.set_empty("Nothing ran.")
    assert view.stages is None
    assert view.equation.toPlainText() == ""
    view.set_cell((0, 0))
    assert view.equation.toPlainText() == ""
