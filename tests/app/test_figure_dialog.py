"""The dialog alone: what it asks for, what it shows, what it writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QComboBox,
    QFileDialog,
    QLineEdit,
)
from pytestqt.qtbot import QtBot

from app.figure_dialog import FigureDialog
from core.figure.attention import attention_figure
from core.figure.mask import mask_figure
from core.figure.style import Style, preset
from core.types import MaskKind, MaskSpec
from core.types.figure import Figure
from widgets import palette

VIEWS = (("mask", "Mask"), ("attention", "Attention"))


class Maker:
    """Makes small figures, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Style]] = []

    def __call__(self, view: str, style: Style) -> Figure:
        self.asked.append((view, style))
        spec = MaskSpec(MaskKind.CAUSAL, 3)
        if view == "mask":
            return mask_figure(spec, 0, "abc", "abc", style=style)
        return attention_figure(np.eye(3), spec, 0, "abc", "abc", style=style)


@pytest.fixture
def maker() -> Maker:
    return Maker()


@pytest.fixture
def dialog(qtbot: QtBot, maker: Maker) -> FigureDialog:
    made = FigureDialog(maker, VIEWS)
    qtbot.addWidget(made)
    with qtbot.waitExposed(made):
        made.show()
    return made


def test_it_begins_with_the_first_view_in_one_column(dialog: FigureDialog, maker: Maker) -> None:
    ((view, style),) = maker.asked
    assert view == "mask"
    assert style.width == pytest.approx(252.0)
    assert style.height is None
    assert dialog.preview.figure is not None
    assert dialog.sentence.text().startswith("88.9 × ")


def test_every_field_reaches_the_figure(dialog: FigureDialog, maker: Maker, qtbot: QtBot) -> None:
    dialog.view.setCurrentIndex(1)
    dialog.map.setCurrentIndex(2)
    qtbot.keyClicks(dialog.title, "Mine")
    for check in (dialog.labels, dialog.color_bar, dialog.transparent):
        qtbot.mouseClick(check, Qt.MouseButton.LeftButton, pos=check.rect().center() / 4)
    dialog.height_box.setValue(3.0)
    view, style = maker.asked[-1]
    assert view == "attention"
    assert (style.map_name, style.title) == ("grey", "Mine")
    assert (style.labels, style.color_bar, style.background) == (False, False, None)
    assert style.height == pytest.approx(216.0)
    assert dialog.preview.figure == Maker()(view, style)


def test_a_preset_brings_its_size_and_fonts(dialog: FigureDialog, maker: Maker) -> None:
    dialog.preset.setCurrentIndex(2)
    style = maker.asked[-1][1]
    slide = preset("slide")
    assert style.width == pytest.approx(slide.width, abs=0.4)
    assert style.height == pytest.approx(slide.height, abs=0.4)
    assert style.label == slide.label


def test_a_unit_changes_no_size(dialog: FigureDialog, maker: Maker) -> None:
    dialog.unit.setCurrentIndex(1)
    assert dialog.width_box.value() == pytest.approx(88.9)
    assert dialog.height_box.text() == "as needed"
    dialog.unit.setCurrentIndex(2)
    assert dialog.width_box.value() == 1050
    assert maker.asked[-1][1].width == pytest.approx(252.0)
    dialog.dpi.setValue(600)
    assert maker.asked[-1][1].width == pytest.approx(126.0)


def test_a_size_that_cannot_be_is_said_and_nothing_lost(dialog: FigureDialog) -> None:
    before = dialog.preview.figure
    dialog.width_box.setValue(0.2)
    assert "width is 14.4 pt" in dialog.sentence.text()
    assert dialog.preview.figure is before
    assert not dialog.save_button.isEnabled()
    assert not dialog.copy.isEnabled()
    assert not dialog.save(Path("never.svg"))
    dialog.width_box.setValue(3.5)
    assert dialog.save_button.isEnabled()


@pytest.mark.parametrize(
    ("name", "start"), [("a.svg", b"<?xml"), ("a.pdf", b"%PDF"), ("A.PNG", b"\x89PNG")]
)
def test_the_ending_decides_what_is_saved(
    dialog: FigureDialog, tmp_path: Path, name: str, start: bytes
) -> None:
    assert dialog.save(tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [name]


def test_the_resolution_is_that_of_the_field(dialog: FigureDialog, tmp_path: Path) -> None:
    dialog.dpi.setValue(144)
    dialog.save(tmp_path / "a.png")
    assert QImage(str(tmp_path / "a.png")).width() == 504


@pytest.mark.parametrize("name", ["a.gif", "a", "none/a.svg", "."])
def test_what_cannot_be_saved_is_said(dialog: FigureDialog, tmp_path: Path, name: str) -> None:
    (tmp_path / "a.gif").write_bytes(b"kept")
    assert not dialog.save(tmp_path / name)
    assert dialog.sentence.property("role") == "error"
    assert dialog.sentence.text().endswith(".")
    assert (tmp_path / "a.gif").read_bytes() == b"kept"


def test_save_asks_for_a_name(
    dialog: FigureDialog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    answers = iter([("", ""), (str(tmp_path / "figure"), "PDF (*.pdf)")])
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *given: next(answers))
    qtbot.mouseClick(dialog.save_button, Qt.MouseButton.LeftButton)
    assert not list(tmp_path.glob("*.pdf"))
    qtbot.mouseClick(dialog.save_button, Qt.MouseButton.LeftButton)
    assert (tmp_path / "figure.pdf").read_bytes().startswith(b"%PDF")
    assert "Saved" in dialog.sentence.text()


def test_copy_fills_the_clipboard(dialog: FigureDialog, qtbot: QtBot) -> None:
    qtbot.mouseClick(dialog.copy, Qt.MouseButton.LeftButton)
    data = QGuiApplication.clipboard().mimeData()
    assert data.hasImage()
    assert data.hasFormat("image/svg+xml")
    QGuiApplication.clipboard().clear()


def test_everything_has_a_name_and_a_tip(dialog: FigureDialog) -> None:
    plain: tuple[type, ...] = (QAbstractButton, QAbstractSpinBox, QComboBox, QLineEdit)
    for kind in plain:
        for child in dialog.findChildren(kind):
            if not child.objectName().startswith("qt_"):
                assert child.accessibleName(), child
                assert child.toolTip(), child


def test_it_can_be_read_in_both_themes(qapp, light_theme: None, dialog: FigureDialog) -> None:
    light = dialog.grab().toImage()
    palette.apply(qapp, True)
    dark = dialog.grab().toImage()
    assert dark.pixelColor(3, 3).lightness() < 60 < light.pixelColor(3, 3).lightness()
    sheet = dialog.preview.mapTo(dialog, dialog.preview.sheet().center().toPoint())
    assert dark.pixelColor(sheet) == light.pixelColor(sheet)


@pytest.fixture
def light_theme(qapp):
    palette.apply(qapp, False)
    yield
    palette.apply(qapp, False)
