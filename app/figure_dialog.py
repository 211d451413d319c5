"""File > Export figure: what is on screen as a figure for a paper, with a live preview."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QAbstractButton,
    QCheckBox,
    QComboBox,
    QDialog,
    QDoubleSpinBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from app.cli.output import check_target
from app.figure_files import FILTERS, content
from core.atomic import write_file
from core.export.figure_svg import to_svg
from core.figure.style import ONE_COLUMN, UNITS, Style, points, preset
from core.types.colors import WHITE
from core.types.figure import Figure
from widgets.figure_painter import LEAST_DPI, MOST_DPI, measure, mime_of
from widgets.figure_view import FigureView

Make = Callable[[str, Style], Figure]
"""A figure of a view's name and a look; ValueError with a sentence where it cannot be."""

MAPS = (("even", "Even, many hues"), ("indigo", "Indigo"), ("grey", "Grey"))
_PRESETS = {"one-column": "One column", "two-column": "Two columns", "slide": "Slide, 16 : 9"}
_UNITS = ("in", "mm", "px")


class FigureDialog(QDialog):
    """Chooses view, size and look of a figure; copies or saves it.

    ``views`` are (name, text on screen) of what can be drawn now, the first is shown first.
    """

    def __init__(
        self, make: Make, views: Sequence[tuple[str, str]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Export figure")
        self._make = make
        self._unit = _UNITS[0]
        self.preview = FigureView()
        self.sentence = QLabel()
        self.sentence.setWordWrap(True)
        self._make_fields(views)
        self._make_buttons()
        self._lay_out()
        self._show_size(ONE_COLUMN.width, ONE_COLUMN.height)
        self._connect()
        self.resize(980, 640)
        self._draw()

    # -- making

    def _make_fields(self, views: Sequence[tuple[str, str]]) -> None:
        self.view = _combo("View", "What is drawn", views)
        self.preset = _combo("Preset", "Size and fonts to begin with", tuple(_PRESETS.items()))
        self.width_box = _length("Width", "Width of the figure")
        self.height_box = _length("Height", "Height of the figure; at the least: what it needs")
        self.height_box.setSpecialValueText("as needed")
        units = tuple((unit, unit) for unit in _UNITS)
        self.unit = _combo("Unit", "Unit of width and height; a pixel is 1 / dpi inch", units)
        self.dpi = QSpinBox()
        self.dpi.setRange(LEAST_DPI, MOST_DPI)
        self.dpi.setValue(300)
        _name(self.dpi, "Resolution", "Pixels to an inch of a PNG; SVG and PDF have none")
        self.map = _combo("Colours", "Colours of weights; all can be read in grey", MAPS)
        self.title = QLineEdit()
        _name(self.title, "Title", "Written above the figure")
        self.title.setPlaceholderText("none")
        self.labels = _check("Token labels", "Write the tokens on the axes", on=True)
        self.color_bar = _check("Colour bar", "Show which colour means which weight", on=True)
        self.transparent = _check("Transparent", "Leave out the white ground", on=False)

    def _make_buttons(self) -> None:
        self.copy = QPushButton("&Copy")
        _name(self.copy, "Copy", "Put the figure on the clipboard, as a picture, SVG and PDF")
        self.save_button = QPushButton("&Save…")
        _name(self.save_button, "Save", "Write an SVG, PDF or PNG file")
        self.save_button.setDefault(True)
        self.close_button = QPushButton("Close")
        _name(self.close_button, "Close", "Leave without saving")
        for button in (self.copy, self.save_button, self.close_button):
            button.setProperty("pill", True)

    def _lay_out(self) -> None:
        size = QHBoxLayout()
        for part in (self.width_box, QLabel("×"), self.height_box, self.unit):
            size.addWidget(part)
        form = QFormLayout()
        form.setLabelAlignment(Qt.AlignmentFlag.AlignRight)
        form.addRow("View", self.view)
        form.addRow("Preset", self.preset)
        form.addRow("Size", size)
        form.addRow("dpi", self.dpi)
        form.addRow("Colours", self.map)
        form.addRow("Title", self.title)
        for check in (self.labels, self.color_bar, self.transparent):
            form.addRow("", check)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        for button in (self.copy, self.save_button, self.close_button):
            buttons.addWidget(button)
        side = QVBoxLayout()
        side.addLayout(form)
        side.addWidget(self.sentence)
        side.addStretch(1)
        side.addLayout(buttons)
        layout = QHBoxLayout(self)
        layout.addWidget(self.preview, 1)
        layout.addLayout(side)

    def _connect(self) -> None:
        self.preset.currentIndexChanged.connect(self._on_preset_changed)
        self.unit.currentIndexChanged.connect(self._on_unit_changed)
        self.dpi.valueChanged.connect(self._on_changed)
        for combo in (self.view, self.map):
            combo.currentIndexChanged.connect(self._on_changed)
        for box in (self.width_box, self.height_box):
            box.valueChanged.connect(self._on_changed)
        self.title.textChanged.connect(self._on_changed)
        for check in (self.labels, self.color_bar, self.transparent):
            check.toggled.connect(self._on_changed)
        self.copy.clicked.connect(self._on_copy_clicked)
        self.save_button.clicked.connect(self._on_save_clicked)
        self.close_button.clicked.connect(self.reject)

    # -- asked from outside

    def style_now(self) -> Style:
        """The look that is chosen; ValueError with a sentence where a size cannot be."""
        high = self._points(self.height_box)
        return replace(
            preset(self.preset.currentData()),
            width=self._points(self.width_box),
            height=high or None,
            map_name=self.map.currentData(),
            labels=self.labels.isChecked(),
            color_bar=self.color_bar.isChecked(),
            title=self.title.text().strip(),
            background=None if self.transparent.isChecked() else WHITE,
            measure=measure,
        )

    def _points(self, box: QDoubleSpinBox) -> float:
        return points(box.value(), self.unit.currentData(), self.dpi.value())

    # -- drawing

    def _draw(self) -> None:
        """Show the figure as it is now; one that cannot be leaves the last, and says why."""
        self._fails = ""
        try:
            figure = self._make(self.view.currentData(), self.style_now())
        except ValueError as error:
            self._fails = str(error)
            self._say(self._fails, error=True)
        else:
            self.preview.set_figure(figure)
            mm = UNITS["mm"]
            self._say(f"{figure.width / mm:.1f} × {figure.height / mm:.1f} mm")
        for button in (self.copy, self.save_button):
            button.setEnabled(not self._fails)

    def _say(self, sentence: str, *, error: bool = False) -> None:
        self.sentence.setText(sentence)
        self.sentence.setProperty("role", "error" if error else "muted")
        self.sentence.style().polish(self.sentence)

    def _show_size(self, wide: float, high: float | None) -> None:
        for box, length in ((self.width_box, wide), (self.height_box, high)):
            with QSignalBlocker(box):
                box.setDecimals(0 if self._unit == "px" else 2)
                box.setValue((length or 0.0) / points(1.0, self._unit, self.dpi.value()))

    # -- answers to the user

    @Slot()
    def _on_changed(self) -> None:
        self._draw()

    @Slot()
    def _on_preset_changed(self) -> None:
        chosen = preset(self.preset.currentData())
        self._show_size(chosen.width, chosen.height)
        self._draw()

    @Slot()
    def _on_unit_changed(self) -> None:
        """The size stays; it is written in the new unit."""
        dpi = self.dpi.value()
        wide, high = (
            points(box.value(), self._unit, dpi) for box in (self.width_box, self.height_box)
        )
        self._unit = self.unit.currentData()
        self._show_size(wide, high)
        self._draw()

    @Slot()
    def _on_copy_clicked(self) -> None:
        figure = self.preview.figure
        if figure is None:
            return
        try:
            data = mime_of(figure, to_svg(figure), self.dpi.value())
        except ValueError as error:
            self._say(str(error), error=True)
            return
        QGuiApplication.clipboard().setMimeData(data)
        self._say("Copied, as a picture, SVG and PDF.")

    @Slot()
    def _on_save_clicked(self) -> None:
        name, chosen = QFileDialog.getSaveFileName(self, "Save figure", "figure.svg", FILTERS)
        if name:
            path = Path(name)
            self.save(path if path.suffix else path.with_suffix(f".{chosen[-4:-1]}"))

    def save(self, path: Path) -> bool:
        """Write the figure to a file, wholly or not at all; the sentence says how it went."""
        figure = self.preview.figure
        if figure is None or self._fails:
            return False
        try:
            check_target(path)
            write_file(path, content(figure, path.suffix.lower(), self.dpi.value()))
        except ValueError as error:
            self._say(str(error), error=True)
            return False
        self._say(f"Saved {path}.")
        return True


def _name(widget: QWidget, name: str, tip: str) -> None:
    widget.setAccessibleName(name)
    widget.setToolTip(tip)


def _combo(name: str, tip: str, entries: Sequence[tuple[str, str]]) -> QComboBox:
    combo = QComboBox()
    for data, text in entries:
        combo.addItem(text, data)
    _name(combo, name, tip)
    return combo


def _length(name: str, tip: str) -> QDoubleSpinBox:
    box = QDoubleSpinBox()
    box.setRange(0.0, 20_000.0)
    box.setKeyboardTracking(False)
    _name(box, name, tip)
    return box


def _check(name: str, tip: str, *, on: bool) -> QAbstractButton:
    check = QCheckBox(name)
    check.setChecked(on)
    _name(check, name, tip)
    return check
