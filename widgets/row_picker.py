"""Choose, add and remove batch rows."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSizePolicy, QToolButton, QWidget

from widgets.icons import icon
from widgets.palette import current

MOST_ROWS = 16
"""Most batch rows that can be added by hand."""


class RowPicker(QWidget):
    """A list of batch rows with buttons to add and remove one.

    Signals
    -------
    row_selected : the batch row that was chosen, from 0.
    row_added : the user wants another row.
    row_removed : the batch row that is to go.
    """

    row_selected = Signal(int)
    row_added = Signal()
    row_removed = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.combo = QComboBox()
        self.combo.setToolTip(
            "Batch row whose mask is shown. Rows of one batch share length, prefix, window and"
            " documents; each has its own text and padding."
        )
        self.combo.setAccessibleName("Batch row")
        self.combo.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.combo.setMinimumContentsLength(6)
        self.combo.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.add = self._button("Add a batch row")
        self.remove = self._button("Remove this batch row")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self.combo, 1)
        layout.addWidget(self.add)
        layout.addWidget(self.remove)
        self._dress()
        self.combo.currentIndexChanged.connect(self._on_combo_changed)
        self.add.clicked.connect(self._on_add_clicked)
        self.remove.clicked.connect(self._on_remove_clicked)

    def set_rows(self, labels: list[str], row: int) -> None:
        """Show the batch rows with `row` chosen; never emits."""
        with QSignalBlocker(self.combo):
            self.combo.clear()
            self.combo.addItems(labels)
            self.combo.setCurrentIndex(row)
        self.remove.setEnabled(len(labels) > 1)
        self.add.setEnabled(len(labels) < MOST_ROWS)

    def changeEvent(self, event: QEvent) -> None:
        """Qt: draw the icons anew in another theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._dress()

    @staticmethod
    def _button(name: str) -> QToolButton:
        button = QToolButton()
        button.setProperty("pill", True)
        button.setToolTip(name)
        button.setAccessibleName(name)
        button.setIconSize(QSize(14, 14))
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        return button

    def _dress(self) -> None:
        self.add.setIcon(icon("plus", current()))
        self.remove.setIcon(icon("minus", current()))

    def _on_combo_changed(self, row: int) -> None:
        if row >= 0:
            self.row_selected.emit(row)

    def _on_add_clicked(self) -> None:
        self.row_added.emit()

    def _on_remove_clicked(self) -> None:
        self.row_removed.emit(self.combo.currentIndex())
