"""One whole number as a slider with a spin box beside it."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QSlider, QSpinBox, QWidget


class _CalmSlider(QSlider):
    """A slider that leaves the wheel to the scroll area until it has the focus."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class CalmSpinBox(QSpinBox):
    """A spin box that leaves the wheel to the scroll area until it has the focus."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Qt: turn only what is in use."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class Knob(QWidget):
    """A named slider; slider and spin box follow each other.

    Signals
    -------
    value_changed : the new value, while the user drags or types.
    """

    value_changed = Signal(int)

    def __init__(
        self, name: str, tip: str, *, zero_text: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._label = QLabel(name)
        self._spin = CalmSpinBox()
        self._slider = _CalmSlider(Qt.Orientation.Horizontal)
        self._spin.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._slider.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._label.setBuddy(self._spin)
        self._spin.setSpecialValueText(zero_text)
        self._spin.setMinimumWidth(66)
        self._spin.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._spin.setAccessibleName(name)
        self._slider.setAccessibleName(name)
        for part in (self._label, self._spin, self._slider):
            part.setToolTip(tip)
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setVerticalSpacing(1)
        layout.addWidget(self._label, 0, 0)
        layout.addWidget(self._spin, 0, 1)
        layout.addWidget(self._slider, 1, 0, 1, 2)
        layout.setColumnStretch(0, 1)
        self._slider.valueChanged.connect(self._on_slider_moved)
        self._spin.valueChanged.connect(self._on_spin_changed)

    @property
    def value(self) -> int:
        """The number that is shown."""
        return self._spin.value()

    @property
    def slider(self) -> QSlider:
        """The slider, for tests and focus."""
        return self._slider

    @property
    def spin(self) -> QSpinBox:
        """The spin box, for tests and focus."""
        return self._spin

    def set_value(self, value: int, largest: int) -> None:
        """Show `value` between 0 and `largest`; never emits."""
        for part in (self._slider, self._spin):
            with QSignalBlocker(part):
                part.setRange(0, max(0, largest, value))
                part.setValue(value)
        self._slider.setEnabled(largest > 0)
        self._spin.setEnabled(largest > 0)

    def _on_slider_moved(self, value: int) -> None:
        with QSignalBlocker(self._spin):
            self._spin.setValue(value)
        self.value_changed.emit(value)

    def _on_spin_changed(self, value: int) -> None:
        with QSignalBlocker(self._slider):
            self._slider.setValue(value)
        self.value_changed.emit(value)
