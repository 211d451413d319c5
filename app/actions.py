"""The menus: one table of what can be done, with its shortcut."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QAction, QActionGroup, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu, QMessageBox

from core.types import Family
from widgets import palette
from widgets.grid_geometry import GridWindow

if TYPE_CHECKING:
    from app.gui import Session

FAMILIES = (
    (Family.ENCODER, "&Encoder"),
    (Family.DECODER, "&Decoder"),
    (Family.PREFIX, "&Prefix-LM"),
    (Family.ENCODER_DECODER, "E&ncoder–decoder"),
)
MAPS = (("indigo", "&Indigo"), ("even", "&Colour-blind-safe"), ("grey", "&Grey"))
ABOUT = (
    "<b>maskscope</b><p>Build an attention mask and watch a small trained transformer re-run under"
    " it: encoder, decoder, prefix-LM and encoder–decoder.</p><p>Apache-2.0. The program never"
    " opens a network connection.</p>"
)

KEYS = """<table cellspacing=4>
<tr><td><b>hover</b></td><td>a cell says whether its query may read its key, or why not</td></tr>
<tr><td><b>click, arrows</b></td><td>choose a cell: its query's weights and candidates</td></tr>
<tr><td><b>wheel, drag</b></td><td>zoom at the cursor, pan; 0 or a double click shows all</td></tr>
<tr><td><b>hover a head</b></td><td>preview it; a click keeps it; arrows walk the wall</td></tr>
<tr><td><b>click a candidate</b></td><td>append it to the text, or fill the [MASK] with it</td></tr>
<tr><td><b>Ctrl+1 … 4</b></td><td>encoder, decoder, prefix-LM, encoder–decoder</td></tr>
<tr><td><b>Ctrl+→, Ctrl+Return, Ctrl+.</b></td><td>generate one token, play, stop</td></tr>
<tr><td><b>Ctrl+0</b></td><td>show the whole mask</td></tr>
<tr><td><b>Alt+1, 2, 3</b></td><td>layouts: Explore, Check, Compare</td></tr>
<tr><td><b>View</b></td><td>instruments beside the tokens: flow, stages, side by side, verify,
backends, objectives, embeddings, cost</td></tr>
<tr><td><b>click a cell</b></td><td>with Flow open: shade what lies downstream of it</td></tr>
<tr><td><b>Ctrl+Z, Ctrl+Shift+Z</b></td><td>undo and redo changes of text and mask</td></tr>
<tr><td><b>Ctrl+S, Ctrl+O</b></td><td>save and open a workspace</td></tr>
<tr><td><b>Ctrl+Shift+E, Ctrl+E</b></td><td>export a figure, an ONNX model</td></tr>
</table>"""


class Actions(QObject):
    """Owns the menus of the main window."""

    def __init__(self, session: Session, theme: str) -> None:
        window = session.window
        super().__init__(window)
        self._window, self._controller = window, session.controller
        self._board, self._exporting = session.board, session.exporting
        self._files, self._figures = session.files, session.figures
        self._data = session.data
        self._history = session.history
        self.theme = theme
        bar = window.menuBar()
        self._file_menu(bar.addMenu("&File"))
        self._edit_menu(bar.addMenu("&Edit"))
        self._view_menu(bar.addMenu("&View"))
        self._model_menu(bar.addMenu("&Model"))
        self._engine_menu(bar.addMenu("&Engine"))
        help_menu = bar.addMenu("&Help")
        self._add(help_menu, "&Keys and mouse", self._on_keys_triggered, "F1")
        self._add(help_menu, "&About maskscope", self._on_about_triggered)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._on_scheme_changed)

    def _add(
        self, menu: QMenu, text: str, slot: Callable[[], object], key: str | None = None
    ) -> QAction:
        action = menu.addAction(text)
        if key is not None:
            action.setShortcut(QKeySequence(key))
        action.triggered.connect(slot)
        return action

    def _file_menu(self, menu: QMenu) -> None:
        self._add(menu, "&Open workspace…", self._files.on_open_triggered, "Ctrl+O")
        self._add(menu, "&Save workspace", self._files.on_save_triggered, "Ctrl+S")
        self._add(menu, "Save workspace &as…", self._files.on_save_as_triggered, "Ctrl+Shift+S")
        self._add(menu, "&Reopen last session", self._files.on_reopen_triggered)
        menu.addSeparator()
        self._add(menu, "Export &figure…", self._figures.open, "Ctrl+Shift+E")
        self._add(menu, "Export &data…", self._data.open, "Ctrl+Shift+D")
        self._add(menu, "Export &ONNX…", self._exporting.open, "Ctrl+E")
        menu.addSeparator()
        self._add(menu, "Save &picture of the window…", self._on_picture_triggered)
        self._add(menu, "&Copy picture of the window", self._on_copy_triggered, "Ctrl+Shift+C")
        menu.addSeparator()
        self._add(menu, "&Quit", self._window.close, "Ctrl+Q")

    def _edit_menu(self, menu: QMenu) -> None:
        self.undo = self._add(menu, "&Undo", self._history.undo, "Ctrl+Z")
        self.redo = self._add(menu, "&Redo", self._history.redo, "Ctrl+Shift+Z")
        self._history.moved.connect(self._on_history_moved)
        self._on_history_moved(False, False)

    @Slot(bool, bool)
    def _on_history_moved(self, can_undo: bool, can_redo: bool) -> None:
        self.undo.setEnabled(can_undo)
        self.redo.setEnabled(can_redo)

    def _view_menu(self, menu: QMenu) -> None:
        self._add(menu, "Show the &whole mask", self._on_whole_triggered, "Ctrl+0")
        curves = self._window.curves_dock.toggleViewAction()
        curves.setText("&Curves along the text")
        curves.setShortcut(QKeySequence("Ctrl+K"))
        menu.addAction(curves)
        for place in self._board.places.values():
            action = place.dock.toggleViewAction()
            action.setText(place.instrument.title)
            action.setToolTip(place.instrument.tip)
            if place.instrument.shortcut:
                action.setShortcut(QKeySequence(place.instrument.shortcut))
            menu.addAction(action)
        menu.addSeparator()
        contrast = menu.addAction("Contrast by &row")
        contrast.setCheckable(True)
        contrast.setToolTip("Colour each row up to its own largest weight")
        contrast.toggled.connect(self._window.attention_view.set_row_contrast)
        maps = menu.addMenu("Attention &colours")
        self._choices(maps, MAPS, "indigo", self._on_map_picked)
        themes = menu.addMenu("&Theme")
        entries = (("system", "As the &system"), ("light", "&Light"), ("dark", "&Dark"))
        self._choices(themes, entries, self.theme, self._on_theme_picked)

    def _model_menu(self, menu: QMenu) -> None:
        for number, (family, title) in enumerate(FAMILIES, start=1):
            slot = partial(self._controller.pick_family, family)
            self._add(menu, title, slot, f"Ctrl+{number}")
        menu.addSeparator()
        self._add(menu, "Generate one &token", self._controller.step, "Ctrl+Right")
        self._add(menu, "P&lay", self._controller.play, "Ctrl+Return")
        self._add(menu, "&Stop", self._controller.stop, "Ctrl+.")

    def _engine_menu(self, menu: QMenu) -> None:
        self._add(menu, "&Restart the engine", self._controller.restart_engine)

    def _choices(
        self,
        menu: QMenu,
        entries: tuple[tuple[str, str], ...],
        chosen: str,
        slot: Callable[[str], None],
    ) -> None:
        group = QActionGroup(self)
        for name, title in entries:
            action = menu.addAction(title)
            action.setCheckable(True)
            action.setChecked(name == chosen)
            action.triggered.connect(partial(slot, name))
            group.addAction(action)

    # -- handlers

    def _on_map_picked(self, name: str, checked: bool = True) -> None:
        self._window.attention_view.set_map(name)
        self._window.heads.set_map(name)

    def _on_theme_picked(self, name: str, checked: bool = True) -> None:
        self.theme = name
        self._apply_theme()

    @Slot(Qt.ColorScheme)
    def _on_scheme_changed(self, scheme: Qt.ColorScheme) -> None:
        if self.theme == "system":
            self._apply_theme()

    def _apply_theme(self) -> None:
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        dark = palette.system_is_dark() if self.theme == "system" else self.theme == "dark"
        palette.apply(application, dark)

    @Slot()
    def _on_whole_triggered(self) -> None:
        for view in (self._window.mask_view, self._window.attention_view):
            view.set_view(GridWindow())

    @Slot()
    def _on_picture_triggered(self) -> None:
        name, _ = QFileDialog.getSaveFileName(
            self._window, "Save picture", "maskscope.png", "PNG picture (*.png)"
        )
        if name and not self._window.grab().save(name):
            QMessageBox.warning(
                self._window, "maskscope", f"The picture could not be written to {name}."
            )

    @Slot()
    def _on_copy_triggered(self) -> None:
        QGuiApplication.clipboard().setPixmap(self._window.grab())

    @Slot()
    def _on_keys_triggered(self) -> None:
        QMessageBox.information(self._window, "Keys and mouse", KEYS)

    @Slot()
    def _on_about_triggered(self) -> None:
        QMessageBox.about(self._window, "About maskscope", ABOUT)
