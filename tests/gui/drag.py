"""Run under a virtual display: drag the prefix slider with a real mouse, then end.

Prints what the drag did. The mouse is xdotool's, so that the whole way from the display server to
the model's answer is walked.
"""

from __future__ import annotations

import subprocess
import sys

from PySide6.QtCore import QObject, QPoint, QTimer, Slot
from PySide6.QtWidgets import QApplication, QStyle, QStyleOptionSlider

from app.gui import Session
from core.types import Family


def mouse(*words: object) -> None:
    """One xdotool command."""
    subprocess.run(["xdotool", *map(str, words)], check=True)


class Drag(QObject):
    """Waits for the first answer, drags, and waits for the answer to the last value."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._moves: list[QPoint] = []
        self._timer = QTimer(self, interval=20)
        self._timer.timeout.connect(self._on_tick)
        session.client.finished.connect(self._on_finished)
        self._dragged = False

    @Slot(object)
    def _on_finished(self, finished: object) -> None:
        if not self._dragged and not self._timer.isActive():
            self._begin()
        elif self._dragged and not self._session.client.is_busy:
            self._end()

    def _begin(self) -> None:
        slider = self._session.window.form.knobs["prefix"].slider
        option = QStyleOptionSlider()
        slider.initStyleOption(option)
        handle = slider.style().subControlRect(
            QStyle.ComplexControl.CC_Slider, option, QStyle.SubControl.SC_SliderHandle, slider
        )
        start = slider.mapToGlobal(handle.center())
        self._moves = [start + QPoint(10 * step, 0) for step in range(1, 7)]
        mouse("mousemove", start.x(), start.y())
        mouse("mousedown", 1)
        self._timer.start()

    @Slot()
    def _on_tick(self) -> None:
        if self._moves:
            point = self._moves.pop(0)
            mouse("mousemove", point.x(), point.y())
            return
        self._timer.stop()
        mouse("mouseup", 1)
        self._dragged = True
        if not self._session.client.is_busy:
            self._end()

    def _end(self) -> None:
        state, answer = self._session.controller.state, self._session.controller.answer
        if answer is None or state.prefix <= 6:
            return
        readable = int((answer.head.pattern[0] > 0).sum())
        ok = readable == state.prefix
        print(f"dragged: prefix 6 -> {state.prefix}, row 0 reads {readable} keys")
        self._session.window.close()
        QApplication.exit(0 if ok else 1)


if __name__ == "__main__":
    application = QApplication(sys.argv)
    application.setStyle("Fusion")
    session = Session(Family.PREFIX, "light")
    drag = Drag(session)
    session.window.show()
    QTimer.singleShot(0, session.controller.start)
    QTimer.singleShot(120_000, QApplication.quit)
    code = application.exec()
    session.client.shutdown()
    sys.exit(code)
