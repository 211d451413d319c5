"""Arrangements of the window: Explore, Check, Compare; each remembers which docks are open."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QWidget

from app.instruments.board import Board
from app.main_window import MainWindow
from app.settings import Settings

LAYOUTS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "explore": ("Explore", (), "The mask, the attention, the output"),
    "check": ("Check", ("checks", "backends"), "Verify the model, and compare the backends"),
    "compare": ("Compare", ("compare", "flow"), "Two runs side by side, and what flows"),
}
"""Name to title, the docks that it first opens, and what it is for."""


class Layouts(QObject):
    """Switches between arrangements; the buttons stand at the right end of the menu bar."""

    def __init__(self, window: MainWindow, board: Board, settings: Settings) -> None:
        super().__init__(window)
        self._board, self._settings = board, settings
        self._open: dict[str, tuple[str, ...]] = {}
        """The instruments that are open in an arrangement, the one in front first."""
        self.current = "explore"
        self._group = QButtonGroup(self)
        self.buttons: dict[str, QPushButton] = {}
        self._corner = corner = QWidget()
        row = QHBoxLayout(corner)
        row.setContentsMargins(0, 2, 10, 0)
        row.setSpacing(4)
        for number, (name, (title, _, tip)) in enumerate(LAYOUTS.items(), start=1):
            button = QPushButton(title)
            button.setProperty("pill", True)
            button.setProperty("small", True)
            button.setCheckable(True)
            button.setToolTip(f"{tip} (Alt+{number})")
            button.setAccessibleName(f"Layout: {title}")
            button.setShortcut(f"Alt+{number}")
            button.clicked.connect(partial(self._on_clicked, name))
            self._group.addButton(button)
            self.buttons[name] = button
            row.addWidget(button)
        self.buttons[self.current].setChecked(True)
        window.menuBar().setCornerWidget(corner)

    def restore(self) -> None:
        """The arrangement that the window was left with, and what was open in the others."""
        for name in LAYOUTS:
            kept = self._settings.text(f"layout.{name}", "none")
            if kept != "none":
                self._open[name] = tuple(filter(None, kept.split(",")))
        last = self._settings.text("layout", self.current)
        self.current = last if last in LAYOUTS else self.current
        self._arrange()

    def switch(self, name: str) -> None:
        """Show another arrangement; an unknown name changes nothing."""
        if name in LAYOUTS and name != self.current:
            self._open[self.current] = self._board.open_names
            self.current = name
            self._arrange()

    def to_settings(self) -> dict[str, str]:
        """What is written down when the window closes."""
        self._open[self.current] = self._board.open_names
        kept = {f"layout.{name}": ",".join(names) for name, names in self._open.items()}
        return {"layout": self.current, **kept}

    def _arrange(self) -> None:
        self.buttons[self.current].setChecked(True)
        self._board.open_only(self._open.get(self.current, LAYOUTS[self.current][1]))

    def _on_clicked(self, name: str, checked: bool = False) -> None:
        self.switch(name)
