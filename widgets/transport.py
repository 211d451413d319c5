"""Transport buttons of generation: to start, back, step, play or pause, stop, and sampling."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QMenu, QToolButton, QWidget, QWidgetAction

from widgets.icons import icon
from widgets.palette import current
from widgets.sampling_form import SamplingChoice, SamplingForm


class Transport(QWidget):
    """Buttons that ask; what happens is told back by `set_playing` and `set_steps`.

    Signals
    -------
    start_requested, back_requested, step_requested, play_requested, pause_requested,
    stop_requested : the button that was pressed.
    sampling_changed : a `SamplingChoice`.
    """

    start_requested = Signal()
    back_requested = Signal()
    step_requested = Signal()
    play_requested = Signal()
    pause_requested = Signal()
    stop_requested = Signal()
    sampling_changed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._playing = False
        self._able = True
        self._steps = (0, 0)
        self._why_not = ""
        self._tips: dict[QToolButton, str] = {}
        self.start = self._button("To the start", "Back to the text before generation")
        self.back = self._button("Back", "One generated token back")
        self.step = self._button("Step", "Generate one token", text="Step")
        self.play = self._button("Play", "Generate token after token", text="Play")
        self.stop = self._button("Stop", "Stop generating; what is there stays")
        self.form = SamplingForm()
        self.sampling = self._button("Sampling", "How the next token is drawn", text="greedy")
        self._attach_popover()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(5)
        for button in self._tips:
            layout.addWidget(button)
        self.start.clicked.connect(self._on_start_clicked)
        self.back.clicked.connect(self._on_back_clicked)
        self.step.clicked.connect(self._on_step_clicked)
        self.play.clicked.connect(self._on_play_clicked)
        self.stop.clicked.connect(self._on_stop_clicked)
        self.form.sampling_changed.connect(self._on_form_changed)
        self._dress()
        self._enable()

    # -- told from outside: never emits

    def set_playing(self, playing: bool) -> None:
        """Show Pause instead of Play while tokens come."""
        self._playing = playing
        self._dress()
        self._enable()

    def set_steps(self, count: int, at: int) -> None:
        """Tell how many tokens were generated, and after how many of them the view stands."""
        self._steps = (count, at)
        self._enable()

    def set_can_generate(self, able: bool, why_not: str = "") -> None:
        """Enable the buttons, or disable them with a sentence that says why."""
        self._able, self._why_not = able, why_not
        self._enable()

    def set_sampling(self, choice: SamplingChoice) -> None:
        """Show how tokens are drawn."""
        self.form.set_choice(choice)
        self.sampling.setText(choice.text())

    # -- widgets

    def _button(self, name: str, tip: str, *, text: str = "") -> QToolButton:
        button = QToolButton()
        button.setProperty("pill", True)
        button.setAccessibleName(name)
        button.setIconSize(QSize(14, 14))
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        if text:
            button.setText(text)
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._tips[button] = tip
        return button

    def _attach_popover(self) -> None:
        menu = QMenu(self.sampling)
        action = QWidgetAction(menu)
        action.setDefaultWidget(self.form)
        menu.addAction(action)
        self.sampling.setMenu(menu)
        self.sampling.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)

    def changeEvent(self, event: QEvent) -> None:
        """Qt: draw the icons anew in another theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._dress()

    def _dress(self) -> None:
        theme = current()
        for button, name in (
            (self.start, "start"),
            (self.back, "back"),
            (self.step, "step"),
            (self.play, "pause" if self._playing else "play"),
            (self.stop, "stop"),
            (self.sampling, "sliders"),
        ):
            button.setIcon(icon(name, theme))
        self.play.setText("Pause" if self._playing else "Play")
        self.play.setAccessibleName(self.play.text())

    def _enable(self) -> None:
        at = self._steps[1]
        idle = self._able and not self._playing
        for button, on in (
            (self.start, idle and at > 0),
            (self.back, idle and at > 0),
            (self.step, idle),
            (self.play, self._able),
            (self.stop, self._able and self._playing),
            (self.sampling, self._able),
        ):
            button.setEnabled(on)
            button.setToolTip(self._tips[button] if self._able else self._why_not)

    # -- handlers

    def _on_start_clicked(self) -> None:
        self.start_requested.emit()

    def _on_back_clicked(self) -> None:
        self.back_requested.emit()

    def _on_step_clicked(self) -> None:
        self.step_requested.emit()

    def _on_play_clicked(self) -> None:
        if self._playing:
            self.pause_requested.emit()
        else:
            self.play_requested.emit()

    def _on_stop_clicked(self) -> None:
        self.stop_requested.emit()

    def _on_form_changed(self, choice: object) -> None:
        if isinstance(choice, SamplingChoice):
            self.sampling.setText(choice.text())
        self.sampling_changed.emit(choice)
