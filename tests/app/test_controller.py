"""State diff to action, with a client that only writes down what it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from app.controller import Controller
from app.engine_client import EngineClient
from app.engine_process import Failed, Finished
from app.gestures import Gestures
from app.main_window import MainWindow
from core.checkpoints import cards
from core.paths import TOKENIZER
from core.text.tokenizer import Tokenizer
from core.types import (
    Family,
    GenerateRequest,
    HeadPattern,
    HeadRef,
    HeadRequest,
    Progress,
    RunRequest,
    RunResult,
    Stack,
    StepEvent,
)
from widgets.mask_form import MaskKnobs

TOKENS = Tokenizer.load(TOKENIZER)


class Notebook(EngineClient):
    """Writes down requests instead of sending them."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[RunRequest | GenerateRequest] = []
        self.heads: list[HeadRequest] = []
        self.stops = 0

    def start(self) -> None:
        pass

    def submit(self, request: RunRequest | GenerateRequest) -> None:
        self.asked.append(request)
        if self._gave_up:
            super().submit(request)

    def ask_head(self, request: HeadRequest) -> None:
        self.heads.append(request)

    def stop(self) -> None:
        self.stops += 1


class Desk:
    """A window, its controller, and an engine that the test plays."""

    def __init__(self, family: Family) -> None:
        self.window, self.client = MainWindow(), Notebook()
        models = [cards.card(name) for name in cards.names()]
        self.controller = Controller(self.window, self.client, TOKENS, models, family)
        self.gestures = Gestures(self.window, self.controller, TOKENS)
        self.controller.start()

    @property
    def last(self) -> RunRequest | GenerateRequest:
        return self.client.asked[-1]

    def answer(self, note: str = "") -> RunResult:
        """Answer the last run with uniform attention."""
        request = self.last
        assert isinstance(request, RunRequest)
        spec = request.inputs.mask
        pattern = np.full((spec.length, spec.keys), 1 / spec.keys, np.float32)
        made = RunResult(
            request.generation,
            request.model,
            "cpu",
            "float32",
            0.01,
            (),
            HeadPattern(request.generation, request.head, pattern),
            np.full((spec.length, 2), 40, np.int32),
            np.full((spec.length, 2), 0.5, np.float32),
            cache_bytes=16 * spec.filled,
            cache_difference=1e-6 if spec.past else None,
            note=note,
        )
        self.client.result_arrived.emit(made)
        self.client.finished.emit(Finished(request.generation))
        return made

    def step(self, token: int, number: int = 0, *, stopped: bool = False) -> None:
        """Play one generated token: the first of a generation has number 0."""
        request = self.last
        assert isinstance(request, GenerateRequest)
        self.client.step_arrived.emit(
            StepEvent(
                request.run.generation,
                number,
                token,
                0.9,
                np.array([token], np.int32),
                np.array([0.9], np.float32),
                np.ones(4, np.bool_),
                4,
                1024,
                0,
                0.01,
                stopped,
            )
        )


@pytest.fixture
def desk(request: pytest.FixtureRequest, qtbot: QtBot) -> Iterator[Desk]:
    made = Desk(getattr(request, "param", Family.PREFIX))
    qtbot.addWidget(made.window)
    yield made
    made.client.deleteLater()


def test_the_mask_is_on_screen_before_the_engine_has_said_anything(desk: Desk) -> None:
    assert desk.controller.answer is None
    assert "20 queries by 20 keys" in desk.window.mask_view.accessibleName()
    assert len(desk.client.asked) == 1


def test_an_equal_state_asks_for_nothing(desk: Desk) -> None:
    assert desk.controller.update(replace(desk.controller.state))
    assert len(desk.client.asked) == 1


def test_each_mask_knob_asks_with_a_higher_number_and_its_mask(desk: Desk) -> None:
    first = desk.last
    desk.window.form.knobs_changed.emit(MaskKnobs(prefix=9, window=5))
    second = desk.last
    assert isinstance(first, RunRequest)
    assert isinstance(second, RunRequest)
    assert second.generation > first.generation
    assert second.inputs.mask.prefix == 9
    assert second.inputs.mask.window == 5


def test_a_selected_cell_repaints_and_asks_the_engine_for_nothing(desk: Desk) -> None:
    desk.answer()
    desk.window.mask_view.cell_clicked.emit((3, 9))
    assert len(desk.client.asked) == 1
    assert "may not read" in desk.window.sentence.text()
    assert desk.window.attention_view.selected == (3, 9)


def test_another_head_is_asked_of_the_run_that_is_shown(desk: Desk) -> None:
    made = desk.answer()
    head = HeadRef(Stack.DECODER, 2, 1)
    desk.window.heads.head_clicked.emit(head)
    assert desk.client.heads == [HeadRequest(made.generation, head)]
    assert len(desk.client.asked) == 1


def test_a_head_chosen_while_a_run_is_under_way_is_kept_and_asked_for_after_it(desk: Desk) -> None:
    desk.answer()
    desk.window.form.knobs_changed.emit(MaskKnobs(prefix=9))
    head = HeadRef(Stack.DECODER, 2, 1)
    desk.window.heads.head_clicked.emit(head)
    desk.client.heads.clear()
    made = desk.answer()
    assert desk.controller.state.head == head
    assert desk.client.heads == [HeadRequest(made.generation, head)]


def test_impossible_documents_get_a_sentence_and_the_last_good_mask_stays(desk: Desk) -> None:
    before = desk.controller.state
    desk.window.form.knobs_changed.emit(MaskKnobs(prefix=6, documents=(2, 2)))
    assert desk.controller.state == before
    assert "documents is 2,2, but must be lengths that add up to 20" in (
        desk.window.form.error.text()
    )
    assert len(desk.client.asked) == 1


def test_a_refusal_of_the_engine_is_shown_and_the_mask_stays(desk: Desk) -> None:
    desk.answer()
    desk.window.form.knobs_changed.emit(MaskKnobs(prefix=6, past=3))
    desk.client.failed.emit(Failed(2, "past is 3, but must be 0 or at least 6."))
    assert desk.window.form.error.text() == "past is 3, but must be 0 or at least 6."
    assert desk.controller.state.past == 3
    assert desk.controller.answer is None
    assert "did not run" in desk.window.bars.accessibleDescription()


@pytest.mark.parametrize("how", ["refused", "progress", "note"])
def test_what_was_said_of_an_earlier_run_goes_with_the_next_result(desk: Desk, how: str) -> None:
    desk.window.text.textEdited.emit("word " * 600)
    if how == "refused":
        desk.client.failed.emit(Failed(0, "The text has 601 tokens."))
    elif how == "progress":
        assert isinstance(desk.last, RunRequest)
        desk.client.progressed.emit(Progress(desk.last.generation, "moving into place", 0.5))
    else:
        desk.answer(note="trained under a causal mask only")
    assert desk.window.sentence.text()
    desk.window.text.textEdited.emit("Once upon a time")
    desk.answer()
    assert desk.window.sentence.text() == ""


def test_what_others_say_stays_when_a_result_comes(desk: Desk) -> None:
    desk.client.failed.emit(Failed(0, "The text has 601 tokens."))
    desk.window.text.textEdited.emit("Once upon a time")
    desk.window.sentence.setText("Saved mine.maskscope.")
    desk.answer()
    assert desk.window.sentence.text() == "Saved mine.maskscope."


def test_the_cache_of_an_earlier_run_goes_with_a_refusal(desk: Desk) -> None:
    desk.answer()
    assert "20 of 44 slots" in desk.window.cache.text()
    desk.client.failed.emit(Failed(0, "The text has 601 tokens."))
    assert desk.window.cache.text() == "no cache: the model did not run"


def test_the_curves_of_an_earlier_run_go_with_a_refusal(desk: Desk) -> None:
    desk.window.show()
    desk.window.curves_dock.show()
    desk.answer()
    assert "nats" in desk.window.curve_plot().accessibleDescription()
    desk.client.failed.emit(Failed(0, "The text has 601 tokens."))
    assert desk.window.curve_plot().accessibleDescription() == ""
    desk.window.close()


def test_a_generation_that_is_refused_leaves_the_last_run_on_screen(desk: Desk) -> None:
    made = desk.answer()
    desk.controller.play()
    desk.client.failed.emit(Failed(2, "An encoder cannot generate."))
    assert desk.controller.answer is made
    assert desk.window.sentence.text() == "An encoder cannot generate."
    assert desk.controller.view is not None, "instruments ask about it again"


def test_what_was_generated_before_a_failure_is_read_and_the_reason_stays(desk: Desk) -> None:
    desk.answer()
    desk.controller.play()
    desk.step(40)
    desk.client.failed.emit(Failed(2, "cpu ran out of memory."))
    assert desk.controller.state.current.generated == (40,)
    assert isinstance(desk.last, RunRequest)
    assert desk.last.inputs.rows[0][-1] == 40
    desk.answer()
    assert desk.controller.view is not None
    assert desk.window.form.error.text() == "cpu ran out of memory."


def test_a_cache_offset_shows_the_difference_to_the_uncached_run(desk: Desk) -> None:
    desk.window.form.knobs_changed.emit(MaskKnobs(prefix=6, past=8))
    desk.answer()
    assert "cached − uncached ≤ 1.0e-06" in desk.window.facts.text()
    assert "8 cached" in desk.window.mask_card.note.text()


def test_a_text_that_was_not_typed_is_shown_from_its_beginning(desk: Desk) -> None:
    text = "Once upon a time there was a little girl. " * 4
    desk.controller.edit(desk.controller.state.with_row(text=text))
    assert desk.window.text.text() == text
    assert desk.window.text.cursorPosition() == 0


def test_typing_changes_the_tokens_and_keeps_the_knobs_in_range(desk: Desk) -> None:
    desk.window.text.textEdited.emit("The cat")
    request = desk.last
    assert isinstance(request, RunRequest)
    assert request.inputs.mask.length == 3
    assert request.inputs.mask.prefix == 3
    assert desk.window.form.error.text() == ""


def test_generated_tokens_are_appended_and_the_run_at_the_end_sees_them(desk: Desk) -> None:
    desk.answer()
    length = desk.controller.state.current.generated
    assert length == ()
    desk.controller.play()
    assert isinstance(desk.last, GenerateRequest)
    desk.step(40)
    desk.step(41)
    assert desk.controller.state.current.generated == (40, 41)
    desk.client.finished.emit(Finished(desk.last.run.generation))
    after = desk.last
    assert isinstance(after, RunRequest)
    assert after.inputs.rows[0][-2:] == (40, 41)


def test_the_end_token_is_said_and_not_appended(desk: Desk) -> None:
    desk.answer()
    desk.controller.step()
    desk.step(2, stopped=True)
    assert desk.controller.state.current.generated == ()
    assert "ended its text" in desk.window.sentence.text()


def test_scrubbing_back_and_forth_shows_the_text_as_it_was(desk: Desk) -> None:
    desk.answer()
    desk.controller.play()
    for token in (40, 41, 42):
        desk.step(token)
    desk.client.finished.emit(Finished(0))
    desk.answer()
    desk.window.timeline.step_picked.emit(1)
    assert desk.controller.state.current.generated == (40,)
    desk.window.timeline.step_picked.emit(3)
    assert desk.controller.state.current.generated == (40, 41, 42)
    desk.window.run_bar.back_requested.emit()
    assert desk.controller.state.current.generated == (40, 41)
    desk.window.run_bar.start_requested.emit()
    assert desk.controller.state.current.generated == ()


def test_a_knob_during_generation_stops_it_and_its_events_are_ignored(desk: Desk) -> None:
    desk.answer()
    desk.controller.play()
    playing = desk.last
    desk.step(40)
    desk.window.form.knobs_changed.emit(MaskKnobs(prefix=2))
    assert isinstance(desk.last, RunRequest)
    desk.client.asked.append(playing)
    desk.step(41)
    assert desk.controller.state.current.generated == (40,)


def test_a_family_comes_back_as_it_was_left(desk: Desk) -> None:
    desk.window.text.textEdited.emit("My own sentence.")
    desk.controller.pick_family(Family.ENCODER)
    assert desk.controller.state.model == "encoder"
    desk.controller.pick_family(Family.PREFIX)
    assert desk.window.text.text() == "My own sentence."


def test_a_died_engine_is_told_and_the_state_is_asked_again(desk: Desk) -> None:
    desk.answer()
    desk.window.form.knobs_changed.emit(MaskKnobs(prefix=9))
    state = desk.controller.state
    before = len(desk.client.asked)
    desk.client.died.emit("The engine stopped (exit code -9) and was started again.")
    assert "Nothing that you made is lost" in desk.window.sentence.text()
    assert desk.controller.state == state
    assert len(desk.client.asked) == before + 1


def test_tokens_per_second_are_those_of_the_model_by_each_engine(desk: Desk) -> None:
    prefix = desk.controller.state
    for backend in ("torch", "onnx"):
        desk.controller.update(replace(prefix, backend=backend))
        desk.answer()
        desk.controller.play()
        desk.step(40)
        desk.step(41, 1)
        desk.client.finished.emit(Finished(0))
        desk.answer()
    assert "torch 100 tokens/s  ·  ONNX 100 tokens/s" in desk.window.facts.text()
    desk.controller.pick_family(Family.ENCODER)
    desk.answer()
    assert "tokens/s" not in desk.window.facts.text()
    desk.controller.pick_family(Family.PREFIX)
    desk.answer()
    assert "ONNX 100 tokens/s" in desk.window.facts.text()


ENDED = "The model ended its text: it chose </s>."
DIED = "The engine stopped (exit code -9) and was started again."


@pytest.mark.parametrize("how", [ENDED, DIED, "cpu ran out of memory."])
@pytest.mark.parametrize("action", ["type", "look", "play", "restart"])
def test_what_was_told_outlives_the_run_that_follows_and_goes_with_the_next_action(
    desk: Desk, how: str, action: str
) -> None:
    desk.answer()
    desk.controller.play()
    desk.step(40)
    if how == ENDED:
        desk.step(2, 1, stopped=True)
        desk.client.finished.emit(Finished(0))
    elif how == DIED:
        desk.client.died.emit(DIED)
    else:
        desk.client.failed.emit(Failed(0, how))
    assert isinstance(desk.last, RunRequest)
    desk.client.progressed.emit(Progress(desk.last.generation, "moving into place", 0.5))
    desk.answer(note="trained under a causal mask only")
    assert desk.window.sentence.text().startswith(how)
    if action == "type":
        desk.window.text.textEdited.emit("Once upon a time")
    elif action == "look":
        desk.window.heads.head_clicked.emit(HeadRef(Stack.DECODER, 2, 1))
    elif action == "play":
        desk.controller.play()
    else:
        desk.controller.restart_engine()
    assert desk.window.sentence.text() == ""


@pytest.mark.parametrize("how", ["finished", "failed", "died", "restarted"])
def test_however_playing_ends_the_mask_is_that_of_the_text(desk: Desk, how: str) -> None:
    desk.answer()
    desk.controller.play()
    desk.step(40)
    if how == "finished":
        desk.client.finished.emit(Finished(0))
    elif how == "failed":
        desk.client.failed.emit(Failed(0, "cpu ran out of memory."))
    elif how == "died":
        desk.client.died.emit("The engine stopped (exit code -9) and was started again.")
    else:
        desk.controller.restart_engine()
    assert desk.controller.scene.inputs.mask.length == 21
    assert "21 queries by 21 keys" in desk.window.mask_view.accessibleName()


def test_an_engine_that_is_given_up_is_told_and_everything_old_goes(desk: Desk) -> None:
    desk.answer()
    desk.client._gave_up = "The engine stopped 3 times in a row (exit code 1)."
    desk.client.died.emit(desk.client._gave_up)
    for _ in ("at once", "after an edit"):
        assert "Engine ▸ Restart" in desk.window.sentence.text()
        assert desk.window.run_bar.status.text() == "stopped"
        assert desk.controller.view is None
        assert "did not run" in desk.window.bars.accessibleDescription()
        desk.window.form.knobs_changed.emit(MaskKnobs(prefix=9))
    desk.controller.play()
    assert "Engine ▸ Restart" in desk.window.sentence.text()
    assert desk.window.run_bar.transport.play.text() == "Play"
    desk.client._gave_up = ""
    desk.controller.restart_engine()
    assert desk.window.sentence.text() == desk.window.form.error.text() == ""


def test_rows_are_added_chosen_and_removed(desk: Desk) -> None:
    desk.window.form.row_added.emit()
    request = desk.last
    assert isinstance(request, RunRequest)
    assert request.inputs.mask.rows == 2
    assert request.row == 1
    assert request.inputs.mask.left_pad[1] > 0
    desk.window.form.row_selected.emit(0)
    assert desk.controller.state.row == 0
    desk.window.form.row_removed.emit(1)
    assert len(desk.controller.state.rows) == 1


@pytest.mark.parametrize("desk", [Family.ENCODER], indirect=True)
def test_a_candidate_fills_the_mask_it_stands_for(desk: Desk) -> None:
    desk.answer()
    token = TOKENS.encode("ball")[0]
    desk.window.bars.candidate_clicked.emit(token)
    text = desk.window.text.text()
    assert text.startswith(f"Mia put the red {TOKENS.decode([token]).strip()} in the box.")
    assert text.count("[MASK]") == 1


def test_a_candidate_continues_the_text(desk: Desk) -> None:
    desk.answer()
    desk.window.bars.candidate_clicked.emit(40)
    assert desk.controller.state.current.generated == (40,)


@pytest.mark.parametrize("desk", [Family.ENCODER], indirect=True)
def test_an_encoder_says_why_it_cannot_generate(desk: Desk) -> None:
    play = desk.window.run_bar.transport.play
    assert not play.isEnabled()
    assert "cannot generate" in play.toolTip()


@pytest.mark.parametrize("desk", [Family.ENCODER_DECODER], indirect=True)
def test_an_encoder_decoder_shows_each_of_its_three_masks(desk: Desk) -> None:
    scene = desk.controller.scene
    for stack in Stack:
        desk.window.stacks.stack_picked.emit(stack)
        spec = scene.masks[stack]
        expected = f"{spec.length} queries by {spec.keys} keys"
        assert expected in desk.window.mask_view.accessibleName()
        assert desk.controller.state.head.stack is stack
