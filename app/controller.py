"""State diff to action: what the user does becomes a new state, and a new state asks the engine.

The mask is repainted at once. The engine is asked only when something that it needs has changed;
its answers are told to the widgets if they are still the newest.
"""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QObject, Signal, Slot

from app import presenter
from app.display import Display
from app.engine_client import EngineClient
from app.engine_process import Failed, Finished, Ready
from app.instruments.base import View
from app.main_window import MainWindow
from app.playback import Playback, scene_of
from app.scene import Scene, asks, check_states, request, scene
from app.state import ViewState, controls, fits, initial
from core.text.tokenizer import Tokenizer
from core.types import (
    Family,
    GenerateRequest,
    HeadPattern,
    HeadRef,
    HeadRequest,
    ModelCard,
    Progress,
    RunRequest,
    RunResult,
    StepEvent,
)
from widgets.run_bar import EngineStatus


class Controller(QObject):
    """Holds the state, and is the only one who changes it."""

    changed = Signal(object)
    """The state is another one; the `ViewState` that it was before."""
    shown = Signal()
    """`view` is another one: a new answer, or another choice in what was answered."""
    asking = Signal()
    """The engine was asked for a view: what instruments know is old."""
    refused = Signal(str)
    """The model did not run; a sentence."""

    def __init__(
        self,
        window: MainWindow,
        client: EngineClient,
        tokenizer: Tokenizer,
        cards: list[ModelCard],
        family: Family = Family.PREFIX,
    ) -> None:
        super().__init__(window)
        self._window, self.client, self._tokenizer, self._cards = window, client, tokenizer, cards
        self._display = Display(window, tokenizer)
        self._remembered: dict[Family, ViewState] = {}
        self._state = initial(family)
        self._scene = scene(self._state, tokenizer)
        self._asked, self._asked_head = self._scene, self._state.head
        self._answer: tuple[Scene, RunResult] | None = None
        self._awaited = 0
        """The number of the run that is under way, 0 for none."""
        self._head: HeadPattern | None = None
        self._playback = Playback()
        self._connect()
        self._tell(None)

    # -- signals

    def _connect(self) -> None:
        client = self.client
        client.became_ready.connect(self._on_engine_ready)
        client.result_arrived.connect(self._on_result_arrived)
        client.step_arrived.connect(self._on_step_arrived)
        client.head_arrived.connect(self._on_head_arrived)
        client.finished.connect(self._on_finished)
        client.failed.connect(self._on_failed)
        client.died.connect(self._on_engine_died)
        client.progressed.connect(self._on_progressed)

    # -- the state

    @property
    def state(self) -> ViewState:
        """What is shown."""
        return self._state

    @property
    def answer(self) -> RunResult | None:
        """The newest answer of the engine."""
        return self._answer[1] if self._answer else None

    @property
    def view(self) -> View | None:
        """What instruments ask about: the state and its answer; None while there is no answer."""
        if self._answer is None or self._awaited:
            return None
        return View(self._state, self._scene, self._request(0), self._answer[1])

    @property
    def scene(self) -> Scene:
        """What the state means."""
        return self._scene

    def edit(self, new: ViewState) -> None:
        """Show a state whose text or rows changed: knobs are brought into range.

        What was generated and scrubbed away belonged to the old text and is forgotten.
        """
        self._playback = Playback(new.current.generated)
        self.update(presenter.fitted(new, self._tokenizer))

    def update(self, new: ViewState) -> bool:
        """Show a new state; False, with a sentence in the form, if it cannot be."""
        old, before = self._state, self._scene
        if new == old:
            return True
        try:
            made = scene(new, self._tokenizer)
        except ValueError as error:
            self._window.form.set_error(str(error))
            return False
        spec = made.masks[new.stack]
        if new.cell is not None and not (new.cell[0] < spec.length and new.cell[1] < spec.keys):
            new = replace(new, cell=None)
        self._state, self._scene = new, made
        self._display.forget()
        self.changed.emit(old)
        self._tell(old)
        if asks(new, made) != asks(old, before):
            self._run()
        elif new.head != old.head:
            self.ask_head(new.head)
        if new.cell != old.cell and self._answer is not None:
            self._display.candidates(new, *self._answer)
        self.shown.emit()
        return True

    def _tell(self, old: ViewState | None) -> None:
        if old is None or controls(old) != controls(self._state):
            models = [c for c in self._cards if fits(c, self._state.family)]
            self._display.state(self._state, models)
        self._display.scene(self._state, self._scene)
        self._display.timeline(self._playback.written, len(self._state.current.generated))

    @Slot(object)
    def pick_family(self, family: Family) -> None:
        """Show a family: where it was left, or with its sample."""
        if family is not self._state.family:
            self._remembered[self._state.family] = self._state
            new = self._remembered.get(family) or initial(family)
            self._playback = Playback(new.current.generated)
            kept = {name: getattr(self._state, name) for name in ("device", "dtype", "backend")}
            self.update(replace(new, **kept))

    @property
    def head(self) -> HeadPattern | None:
        """The head that is shown, in full."""
        return self._head

    @property
    def others(self) -> tuple[ViewState, ...]:
        """The families that are not on screen, as they were left."""
        here = self._state.family
        return tuple(state for family, state in self._remembered.items() if family is not here)

    def restore(self, state: ViewState, others: tuple[ViewState, ...]) -> None:
        """Show a state that was saved.

        Raises
        ------
        ValueError
            with a sentence where it cannot be shown; what is on screen stays.
        """
        check_states((state, *others), self._cards, self._tokenizer)
        self._remembered = {one.family: one for one in others}
        self._playback = Playback(state.current.generated)
        self.update(state)

    def show_curves(self) -> None:
        """Tell the curves of the head that is shown, if they are open."""
        if self._answer is not None and self._head is not None:
            self._display.curves(*self._answer, self._head)

    # -- asking the engine

    def _request(self, generation: int) -> RunRequest:
        return request(self._state, self._scene, generation)

    def _end_playing(self) -> bool:
        """Show the mask of the state where that of a step was; True if tokens were written."""
        writing = self._playback.running is not None
        self._playback = self._playback.ended()
        self._window.run_bar.set_playing(False)
        if writing:
            self._display.scene(self._state, self._scene)
        return writing

    def _run(self) -> None:
        self._end_playing()
        self._asked, self._asked_head = self._scene, self._state.head
        self._display.awaiting()
        self._display.status(EngineStatus.RUNNING if self.client.is_ready else EngineStatus.LOADING)
        self._awaited = self.client.next_generation()
        self.asking.emit()
        self.client.submit(self._request(self._awaited))

    def ask_head(self, head: HeadRef) -> None:
        """Show another head of the last run, without choosing it."""
        if self._answer is not None:
            self.client.ask_head(HeadRequest(self._answer[1].generation, head))

    def start(self) -> None:
        """Start the engine and ask for the first result; the mask is on screen already."""
        self.client.start()
        self._run()

    @Slot()
    def restart_engine(self) -> None:
        """End the engine process and start a new one with the same state."""
        self._display.forget()
        self._window.form.set_error("")
        self.client.restart()
        self._answer = None
        self._run()

    # -- generating

    @Slot()
    def play(self) -> None:
        """Generate as many tokens as the sampling form allows."""
        self._generate(self._state.max_new_tokens)

    @Slot()
    def step(self) -> None:
        """Generate one token."""
        self._generate(1)

    @Slot()
    def stop(self) -> None:
        """Stop what runs; what was generated stays."""
        self.client.stop()

    def _generate(self, count: int) -> None:
        self._display.forget()
        self._awaited = self.client.next_generation()
        run = self._request(self._awaited)
        request = GenerateRequest(run, self._state.sampling, count)
        self._playback = self._playback.begun(self._scene, self._state.current.generated)
        self.changed.emit(self._state)
        self._window.run_bar.set_playing(count > 1)
        self._display.status(EngineStatus.RUNNING)
        self.asking.emit()
        self.client.submit(request)

    @Slot(object)
    def _on_step_arrived(self, event: StepEvent) -> None:
        running = self._playback.running
        if running is None:
            return
        before = scene_of(running, len(self._playback.written))
        if event.stopped:
            self._display.tell("The model ended its text: it chose </s>.")
        else:
            self._playback = self._playback.advanced(event.token)
            self._show_written()
        self._display.step(self._state, before, event)

    def _show_written(self) -> None:
        """Put the written tokens into the state and the strip, without asking for a run."""
        written = self._playback.written
        grown = presenter.fitted(self._state.with_row(generated=written), self._tokenizer)
        self._state, self._scene = grown, scene(grown, self._tokenizer)
        row = grown.cell[0] if grown.cell else None
        self._window.strip.set_tokens(
            presenter.strip(self._tokenizer, self._scene, grown.stack, row)
        )
        self._display.timeline(written, len(written))

    def scrub(self, count: int) -> None:
        """Show the text with the first ``count`` of the written tokens."""
        if self._playback.running is not None:
            self.client.stop()
            return
        count = max(0, min(count, len(self._playback.written)))
        shown = self._state.with_row(generated=self._playback.written[:count])
        self.update(presenter.fitted(shown, self._tokenizer))

    # -- the engine answers

    @Slot(object)
    def _on_engine_ready(self, ready: Ready) -> None:
        self._display.devices(self._state, ready.devices)
        self._display.status(EngineStatus.RUNNING if self.client.is_busy else EngineStatus.READY)

    @Slot(object)
    def _on_result_arrived(self, result: RunResult) -> None:
        self._answer, self._awaited = (self._asked, result), 0
        self._display.result(self._state, self._asked, result)
        self._head = result.head
        self.show_curves()
        if result.head.head != self._asked_head:  # The model has no such head: the nearest one.
            self._state = replace(self._state, head=result.head.head)
        self.shown.emit()

    @Slot(object)
    def _on_head_arrived(self, head: HeadPattern) -> None:
        if self._answer is not None and self._playback.running is None:
            self._display.pattern(self._state, self._answer[0], head)
            self._head = head
            self.show_curves()

    @Slot(object)
    def _on_finished(self, finished: Finished) -> None:
        self._display.status(EngineStatus.READY)
        if self._playback.running is not None:
            self._run()
        elif self._head is not None and self._head.head != self._state.head:
            self.ask_head(self._state.head)  # Chosen while the run was under way.

    @Slot(object)
    def _on_failed(self, failed: Failed) -> None:
        writing = self._end_playing()
        self._display.failed(failed.sentence, is_there=self.client.is_ready)
        if not writing:
            self._answer = None
            self._display.refused(failed.sentence)
            self.refused.emit(failed.sentence)
        elif self._scene.inputs != self._asked.inputs:  # What was written until then stays.
            self._run()
        else:
            self._awaited = 0
            self.shown.emit()

    @Slot(object)
    def _on_progressed(self, progress: Progress) -> None:
        if progress.generation == self._awaited and progress.share < 1:
            self._display.progress(progress.sentence, progress.share)

    @Slot(str)
    def _on_engine_died(self, sentence: str) -> None:
        self._display.tell(f"{sentence} Nothing that you made is lost.")
        self._answer = None
        self._run()
