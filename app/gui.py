"""Start the window: palette, tokenizer, engine; smoke test and screenshot."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice, QObject, QTimer, Slot
from PySide6.QtGui import QIcon, QPixmap
from PySide6.QtWidgets import QApplication

from app.actions import Actions
from app.controller import Controller
from app.data_menu import DataMenu
from app.engine_client import EngineClient
from app.engine_process import Failed, Finished
from app.errors import install_error_dialog
from app.exporting import Exporting
from app.figure_menu import FigureMenu
from app.gestures import Gestures
from app.history import History
from app.instruments.board import Board
from app.layouts import Layouts
from app.main_window import MainWindow
from app.settings import Settings
from app.workspace_menu import WorkspaceMenu
from core.atomic import write_file
from core.checkpoints import cards
from core.paths import ICON, TOKENIZER
from core.text.tokenizer import Tokenizer
from core.types import Family
from widgets import palette

SMOKE_LIMIT_MS = 120_000


class Session(QObject):
    """One running program: the window, the engine, and what is remembered.

    One that does not remember leaves the layout and the last session of the user as they are.
    """

    def __init__(self, family: Family | None, theme: str | None, *, remembers: bool = True) -> None:
        super().__init__()
        self._remembers = remembers
        self.settings = Settings()
        choice = theme or self.settings.text("theme", "system")
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        dark = palette.system_is_dark() if choice == "system" else choice == "dark"
        palette.apply(application, dark)
        self.window = MainWindow()
        self.client = EngineClient(self)
        tokenizer = Tokenizer.load(TOKENIZER)
        self.controller = Controller(
            self.window,
            self.client,
            tokenizer,
            [cards.card(name) for name in cards.names()],
            family or Family.PREFIX,
        )
        self.gestures = Gestures(self.window, self.controller, tokenizer)
        self.workshop = EngineClient(self, patience_ms=20_000)
        self.board = Board(self.window, self.controller, self.workshop, tokenizer)
        self.exporting = Exporting(self.window, self.controller, self.workshop)
        self.layouts = Layouts(self.window, self.board, self.settings)
        self.files = WorkspaceMenu(self.window, self.controller, self.board, self.layouts)
        self.history = History(self.controller)
        self.figures = FigureMenu(self.window, self.controller, self.board, tokenizer)
        self.data = DataMenu(self.window, self.controller, self.board, self.workshop, tokenizer)
        self.actions = Actions(self, choice)
        self.window.closing.connect(self._on_window_closing)

    def restore(self) -> None:
        """Give the window the layout that it was left with."""
        window = self.window
        window.restoreGeometry(self.settings.bytes("geometry"))
        window.restoreState(self.settings.bytes("docks"))
        self.layouts.restore()
        for name, splitter in window.splitters().items():
            splitter.restoreState(self.settings.bytes(name))

    @Slot()
    def _on_window_closing(self) -> None:
        if self._remembers:
            self._remember()
        self.shutdown()

    def _remember(self) -> None:
        window = self.window
        self.settings.save(
            geometry=window.saveGeometry(),
            docks=window.saveState(),
            **self.layouts.to_settings(),
            theme=self.actions.theme,
            **{name: splitter.saveState() for name, splitter in window.splitters().items()},
        )
        self.files.keep_last()

    def shutdown(self) -> None:
        """End the processes."""
        self.client.shutdown()
        self.workshop.shutdown()


class _Shot(QObject):
    """Waits for the first result, then takes the picture or says that all is well.

    A picture waits for what the open instruments ask of the view too.
    """

    def __init__(self, session: Session, screenshot: Path | None) -> None:
        super().__init__(session)
        self._session = session
        self._screenshot = screenshot
        self._started = time.perf_counter()
        for ended in (session.client.finished, session.client.job_ended):
            ended.connect(self._on_finished)
        session.client.failed.connect(self._on_failed)
        self._limit = QTimer(self, singleShot=True, interval=SMOKE_LIMIT_MS)
        self._limit.timeout.connect(self._on_time_over)
        self._limit.start()

    @Slot(object)
    def _on_finished(self, finished: Failed | Finished) -> None:
        result = self._session.controller.answer
        waits = self._screenshot is not None and self._session.client.is_busy
        if result is None or waits:
            return
        self._limit.stop()
        QApplication.processEvents()
        took = time.perf_counter() - self._started
        try:
            if self._screenshot is not None:
                write_file(self._screenshot, _png(self._session.window.grab()))
        except ValueError as error:
            self._say(f"maskscope: {error}", sys.stderr)
            self._end(2)
        else:
            self._say(f"ready {result.model} on {result.device} after {took:.1f} s", sys.stdout)
            self._end(0)

    @Slot(object)
    def _on_failed(self, failed: Failed) -> None:
        self._say(f"maskscope: {failed.sentence}", sys.stderr)
        self._end(1)

    @Slot()
    def _on_time_over(self) -> None:
        self._say("maskscope: No result came within two minutes.", sys.stderr)
        self._end(1)

    @staticmethod
    def _say(sentence: str, stream: object) -> None:
        print(sentence, file=stream, flush=True)  # type: ignore[call-overload]

    def _end(self, code: int) -> None:
        self._session.window.close()
        QApplication.exit(code)


def _png(picture: QPixmap) -> bytes:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    picture.save(buffer, "PNG")
    return bytes(buffer.data().data())


def run_gui(
    *,
    smoke: bool = False,
    screenshot: Path | None = None,
    family: Family | None = None,
    size: tuple[int, int] | None = None,
    theme: str | None = None,
    workspace: Path | None = None,
) -> int:
    """Show the window and serve it until it is closed; returns the exit code.

    ``smoke`` and ``screenshot`` end by themselves once the first result is on screen, and leave
    what a user's own session has kept. ``workspace`` is what the window shows first.
    """
    application = QApplication.instance() or QApplication(sys.argv[:1])
    assert isinstance(application, QApplication)
    application.setApplicationName("maskscope")
    application.setWindowIcon(QIcon(str(ICON)))
    application.setStyle("Fusion")
    once = smoke or screenshot is not None
    session = Session(family, theme, remembers=not once)
    install_error_dialog(session.window, quiet=once)
    if not once:
        session.restore()
    if workspace is not None:
        session.files.open_file(workspace)
    if size is not None:
        session.window.resize(*size)
    if once:
        _Shot(session, screenshot)
    session.window.show()
    session.window.mask_view.setFocus()
    QTimer.singleShot(0, session.controller.start)
    code = application.exec()
    session.shutdown()
    return code
