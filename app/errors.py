"""An error that nobody foresaw reaches the user as a sentence, and a report as its details."""

from __future__ import annotations

import logging
import sys
import traceback
from types import TracebackType

from PySide6.QtWidgets import QMessageBox, QWidget

log = logging.getLogger(__name__)


def install_error_dialog(parent: QWidget, *, quiet: bool = False) -> None:
    """Show unexpected errors in a dialog that leaves the window usable.

    ``quiet`` logs them instead and ends the program, for runs that nobody watches.
    """

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        details = "".join(traceback.format_exception(kind, error, trace))
        log.error("unexpected error\n%s", details)
        if quiet:
            sys.exit(1)
        box = QMessageBox(QMessageBox.Icon.Warning, "maskscope", "", parent=parent)
        box.setText("Something went wrong that should not have. Your work is as it was.")
        box.setInformativeText(f"{kind.__name__}: {error}")
        box.setDetailedText(details)
        box.open()

    sys.excepthook = hook
