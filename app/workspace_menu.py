"""Opens and saves workspaces: dialogs, the title of the window, and the last session."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QFileDialog, QMessageBox

from app import workspaces
from app.controller import Controller
from app.instruments.board import Board
from app.layouts import Layouts
from app.main_window import MainWindow
from app.workspaces import SUFFIX, Workspace
from core.workspace import naming

_FILTER = f"Workspace (*{SUFFIX})"


class WorkspaceMenu(QObject):
    """What File ▸ Open, Save and Save as do. What cannot be opened leaves the window as it is."""

    def __init__(
        self, window: MainWindow, controller: Controller, board: Board, layouts: Layouts
    ) -> None:
        super().__init__(window)
        self._window, self._controller = window, controller
        self._board, self._layouts = board, layouts
        self.path: Path | None = None

    def made(self) -> Workspace:
        """The window as a workspace."""
        return Workspace(
            self._controller.state,
            self._controller.others,
            self._layouts.current,
            self._board.open_names,
            self._board.remember(),
        )

    def open_file(self, path: Path) -> bool:
        """Show a workspace; False, with a sentence, if it cannot be."""
        try:
            found = workspaces.load(path)
            with naming(path, "cannot be shown"):
                self._controller.restore(found.state, found.others)
        except ValueError as error:
            self._warn(str(error))
            return False
        self._layouts.switch(found.layout)
        self._board.restore(found.docks, found.instruments)
        self._name(path)
        self._window.sentence.setText(f"Opened {path.name}.")
        return True

    def save_file(self, path: Path) -> bool:
        """Write the workspace; False, with a sentence, if it cannot be."""
        try:
            workspaces.save(self.made(), path)
        except ValueError as error:
            self._warn(str(error))
            return False
        self._name(path)
        self._window.sentence.setText(f"Saved {path.name}.")
        return True

    def keep_last(self) -> None:
        """Keep the session for File ▸ Reopen; a disk that is full must not stop the closing."""
        path = workspaces.last_path()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            workspaces.save(self.made(), path)
        except (OSError, ValueError):
            return

    def _name(self, path: Path) -> None:
        if path != workspaces.last_path():
            self.path = path
            self._window.setWindowTitle(f"{path.stem} — maskscope")

    def _warn(self, sentence: str) -> None:
        self._window.sentence.setText(sentence)
        box = QMessageBox(QMessageBox.Icon.Warning, "maskscope", sentence, parent=self._window)
        box.open()

    # -- handlers

    @Slot()
    def on_open_triggered(self) -> None:
        """Ask for a file and open it."""
        folder = str(self.path.parent) if self.path else ""
        name, _ = QFileDialog.getOpenFileName(self._window, "Open workspace", folder, _FILTER)
        if name:
            self.open_file(Path(name))

    @Slot()
    def on_save_triggered(self) -> None:
        """Save over the file that is open, or ask for one."""
        if self.path is None:
            self.on_save_as_triggered()
        else:
            self.save_file(self.path)

    @Slot()
    def on_save_as_triggered(self) -> None:
        """Ask for a file and save."""
        name, _ = QFileDialog.getSaveFileName(
            self._window, "Save workspace", str(self.path or f"untitled{SUFFIX}"), _FILTER
        )
        if name:
            self.save_file(Path(name if workspaces.is_workspace(name) else f"{name}{SUFFIX}"))

    @Slot()
    def on_reopen_triggered(self) -> None:
        """Open what the window was closed with last."""
        path = workspaces.last_path()
        if path.is_file():
            self.open_file(path)
        else:
            self._window.sentence.setText("There is no earlier session to reopen.")
