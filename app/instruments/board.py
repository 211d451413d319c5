"""Puts the instruments beside the tokens, asks for those that are open, and hands out answers."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QDockWidget, QFrame, QScrollArea, QVBoxLayout, QWidget

from app.controller import Controller
from app.engine_client import EngineClient
from app.errand import Errand
from app.instruments.base import Instrument, View
from app.instruments.registry import INSTRUMENTS
from app.main_window import MainWindow
from app.scene import asks
from app.state import ViewState
from core.text.tokenizer import Tokenizer
from core.types import Job
from widgets.job_bar import JobBar

PATIENCE_S = 0.3
"""What is answered sooner shows no progress."""
_NOT_YET = "The model has not run yet; ask again once it has."


@dataclass
class _Place:
    """An instrument, where it is, and what it waits for."""

    instrument: Instrument
    dock: QDockWidget
    errand: Errand
    bar: JobBar
    asked: tuple[Job, View] | None = None
    """The last job, and the view that it is about; forgotten where it has no answer."""
    since: float = 0.0
    is_made: bool = False
    answer: object = None
    """The newest answer, None while there is none about the view on screen."""
    answered: tuple[Job, View] | None = None
    """The job that it is the answer to, and the view that it is about."""


class Board(QObject):
    """Owns the docks of the instruments."""

    def __init__(
        self,
        window: MainWindow,
        controller: Controller,
        workshop: EngineClient,
        tokenizer: Tokenizer,
    ) -> None:
        super().__init__(window)
        self._window, self._controller = window, controller
        self.places: dict[str, _Place] = {}
        self._refusal = ""
        """Why the model did not run on what is on screen; empty where it did, or may."""
        for kind in INSTRUMENTS:
            client = workshop if kind.long else controller.client
            self._place(kind(tokenizer, self), Errand(client, self))
        controller.shown.connect(self._on_view_shown)
        controller.asking.connect(self._on_view_asked)
        controller.refused.connect(self._on_view_refused)

    def _place(self, instrument: Instrument, errand: Errand) -> None:
        dock = self._window.add_dock(instrument.name, instrument.title)
        dock.setToolTip(instrument.tip)
        place = _Place(instrument, dock, errand, JobBar())
        self.places[instrument.name] = place
        dock.visibilityChanged.connect(partial(self._on_dock_shown, place))
        dock.toggleViewAction().triggered.connect(partial(self._on_dock_toggled, place))
        place.bar.stop_requested.connect(errand.stop)
        errand.progressed.connect(partial(self._on_progressed, place))
        errand.ended.connect(place.bar.set_idle)
        errand.answered.connect(partial(self._on_answered, place))
        errand.failed.connect(partial(self._on_failed, place))
        errand.died.connect(partial(self._on_failed, place))
        errand.stopped.connect(partial(self._on_stopped, place))
        instrument.asked.connect(partial(self._on_instrument_asked, place))
        instrument.picked.connect(self._on_picked)
        instrument.said.connect(self._window.sentence.setText)

    # -- docks

    def open(self, name: str) -> None:
        """Open an instrument and bring it to the front."""
        dock = self.places[name].dock
        dock.show()
        dock.raise_()

    def open_only(self, names: tuple[str, ...]) -> None:
        """Open these instruments and close all others; the first comes to the front."""
        for name in reversed(names):
            if name in self.places:
                self.open(name)
        for name, place in self.places.items():
            if name not in names:
                place.dock.close()

    @property
    def open_names(self) -> tuple[str, ...]:
        """The instruments that are open, those in front of their tabs first."""
        names = [n for n, place in self.places.items() if not place.dock.isHidden()]
        return tuple(sorted(names, key=self._is_behind))

    def _is_behind(self, name: str) -> bool:
        return self.places[name].dock.visibleRegion().isEmpty()

    def answers(self) -> dict[str, object]:
        """What each open instrument was answered about the run on screen, by its name."""
        places = {n: p for n, p in self.places.items() if self._is_open(p) and p.answer}
        return {n: p.answer for n, p in places.items() if not self._is_stale(p)}

    def shown(self) -> dict[str, object]:
        """What a figure may show of each open instrument: its answer, or what it made."""
        own = {n: p.instrument.shown() for n, p in self.places.items() if self._is_open(p)}
        return self.answers() | {name: made for name, made in own.items() if made is not None}

    def jobs(self) -> dict[str, Job]:
        """What those answers were asked with, by the name of the instrument."""
        return {n: p.answered[0] for n, p in self.places.items() if p.answered is not None}

    def _is_stale(self, place: _Place) -> bool:
        """True where the answer is about another run than the one on screen."""
        if place.answered is None:
            return False
        view, now = place.answered[1], self._controller
        return asks(view.state, view.scene) != asks(now.state, now.scene)

    def remember(self) -> dict[str, dict[str, str]]:
        """The settings of every instrument that was opened."""
        made = {n: p.instrument.remember() for n, p in self.places.items() if p.is_made}
        return {name: found for name, found in made.items() if found}

    def restore(self, names: tuple[str, ...], settings: dict[str, dict[str, str]]) -> None:
        """Open instruments with the settings that they were left with."""
        self.open_only(names)
        for name, found in settings.items():
            if name in self.places and self.places[name].is_made:
                self.places[name].instrument.restore(found)

    def _on_dock_shown(self, place: _Place, shown: bool) -> None:
        if not shown:
            return
        if not place.is_made:
            self._make(place)
        if self.open_names == (place.instrument.name,):
            self._window.give_room(place.dock)
        self._look(place)
        if place.instrument.follows:
            self._ask(place)

    def _on_dock_toggled(self, place: _Place, checked: bool = False) -> None:
        """Opened from the menu, an instrument comes before the others."""
        if not place.dock.isHidden():
            place.dock.raise_()

    def _make(self, place: _Place) -> None:
        place.is_made = True
        content = QWidget()
        layout = QVBoxLayout(content)
        layout.setContentsMargins(8, 0, 10, 4)
        layout.setSpacing(4)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidget(place.instrument.make())
        layout.addWidget(area, 1)
        layout.addWidget(place.bar)
        place.dock.setWidget(content)

    # -- asking

    def _look(self, place: _Place) -> None:
        """Tell an instrument of the view, and what does not follow whether its answer is old."""
        if not place.instrument.follows:
            place.instrument.set_stale(self._is_stale(place))
        view = self._controller.view
        if view is not None:
            place.instrument.look(view)

    def _ask(self, place: _Place, *, again: bool = False) -> None:
        """Ask about the view if the question is a new one; say why where there is none."""
        view = self._controller.view
        if view is None:
            if self._refusal or not place.instrument.follows:
                place.instrument.refuse(self._refusal or _NOT_YET)
            return
        job = place.instrument.job(view)
        if isinstance(job, str):
            place.asked = None
            place.instrument.refuse(job)
        elif again or place.asked is None or place.asked[0] != job:
            place.asked = (job, view)
            place.instrument.await_answer()
            place.since = time.monotonic()
            place.errand.ask(job)

    def _is_open(self, place: _Place) -> bool:
        return place.is_made and place.dock.isVisible()

    def _on_instrument_asked(self, place: _Place) -> None:
        self._ask(place, again=not place.instrument.follows)

    @Slot()
    def _on_view_shown(self) -> None:
        for place in self.places.values():
            if self._is_open(place):
                self._look(place)
                if place.instrument.follows:
                    self._ask(place)

    @Slot()
    def _on_view_asked(self) -> None:
        self._refusal = ""
        for place in self.places.values():
            if place.is_made and not place.instrument.follows:
                self._look(place)
            if place.instrument.follows and not place.instrument.long:
                place.asked = place.answer = None
                if self._is_open(place):
                    place.instrument.await_answer()

    @Slot(str)
    def _on_view_refused(self, sentence: str) -> None:
        self._refusal = sentence
        for place in self.places.values():
            if place.instrument.follows and self._is_open(place):
                place.asked = None
                place.instrument.refuse(sentence)

    @Slot(object)
    def _on_picked(self, picked: ViewState) -> None:
        """Show the head and the cell of a state; what else was changed since stays as it is."""
        now = self._controller.state
        if picked.family is now.family:
            self._controller.update(replace(now, head=picked.head, cell=picked.cell))

    # -- answers

    def _on_answered(self, place: _Place, value: object) -> None:
        if place.asked is not None:
            place.answer, place.answered = value, place.asked
            place.instrument.show(place.asked[1], value)
            self._look(place)

    def _on_progressed(self, place: _Place, sentence: str, share: float) -> None:
        if time.monotonic() - place.since > PATIENCE_S:
            place.bar.set_progress(sentence, share)

    def _on_failed(self, place: _Place, sentence: str) -> None:
        place.asked = None
        place.instrument.refuse(sentence)

    def _on_stopped(self, place: _Place) -> None:
        place.asked = None
        if not place.instrument.follows:
            place.instrument.refuse("Stopped.")
