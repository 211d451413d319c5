"""Answers beside the view: what is about an earlier run says so, and is not taken away as new."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.engine_client import EngineClient
from app.engine_process import Failed, Finished
from app.figure_menu import FigureMenu
from app.figure_views import available
from app.instruments.backends import Backends
from app.instruments.board import Board
from app.instruments.checks import Checks
from app.instruments.cost import Cost
from app.instruments.embeddings import Embeddings
from core.types import Answer, BackendTable, CheckJob, Family, HeadRef, Job, Place, Stack
from tests.app.test_controller import TOKENS, Desk
from tests.widgets.test_cost_plot import MEASURED
from widgets.check_list import demo_report

OLD = "This report is of an earlier view."
TABLE = BackendTable(1, np.ones((3, 3), bool), (), 1e-5, "plain loops")
PLACE = Place(3, Stack.DECODER, 1, 2)


class Workshop(EngineClient):
    """Writes down jobs; the test answers them."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Job] = []

    def ask(self, job: Job) -> int:
        self.asked.append(replace(job, generation=len(self.asked) + 1))
        return len(self.asked)

    def answer(self, value: object) -> None:
        """Answer the last job."""
        number = len(self.asked)
        self.answered.emit(Answer(number, value))
        self.job_ended.emit(Finished(number))


class Bench(Desk):
    """A window with its instruments, whose engines the test plays."""

    def __init__(self) -> None:
        super().__init__(Family.DECODER)
        self.workshop = Workshop()
        self.board = Board(self.window, self.controller, self.workshop, TOKENS)
        self.figures = FigureMenu(self.window, self.controller, self.board, TOKENS)
        self.window.show()
        self.answer()
        self.board.open("checks")
        checks = self.board.places["checks"].instrument
        assert isinstance(checks, Checks)
        self.checks = checks

    def type(self, text: str) -> None:
        self.window.text.textEdited.emit(text)

    def verify(self) -> None:
        self.checks._list.verify.click()

    @property
    def told(self) -> str:
        return self.checks._list.summary.text()

    def has_figure(self, name: str = "report") -> bool:
        return name in dict(available(self.figures.shown()))


@pytest.fixture
def bench(qtbot: QtBot) -> Iterator[Bench]:
    made = Bench()
    qtbot.addWidget(made.window)
    yield made
    made.window.close()
    made.client.deleteLater()
    made.workshop.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def test_a_report_of_an_earlier_text_says_so_until_the_text_is_back(bench: Bench) -> None:
    text, view = bench.controller.state.current.text, bench.checks._list
    bench.verify()
    bench.workshop.answer(demo_report())
    assert OLD not in bench.told
    assert view.copy.isEnabled()
    assert bench.has_figure()
    bench.type("Tom sat.")
    for _ in ("while it runs", "afterwards"):
        assert OLD in bench.told
        assert not view.copy.isEnabled()
        assert not view.table.isEnabled()
        assert not bench.has_figure()
        assert bench.board.answers() == {}
        bench.answer()
    bench.type(text)
    bench.answer()
    assert OLD not in bench.told
    assert view.copy.isEnabled()
    assert view.table.isEnabled()
    assert bench.board.answers() == {"checks": demo_report()}


def test_a_report_that_comes_too_late_is_one_of_an_earlier_view(bench: Bench) -> None:
    bench.verify()
    bench.type("Tom sat.")
    bench.workshop.answer(demo_report())
    assert OLD in bench.told
    bench.answer()
    assert OLD in bench.told
    assert not bench.has_figure()


def test_while_a_newer_report_is_awaited_the_older_is_not_taken_for_it(bench: Bench) -> None:
    bench.verify()
    bench.workshop.answer(demo_report())
    bench.type("Tom sat.")
    bench.answer()
    bench.verify()
    assert bench.told == f"Checking… {OLD}"
    assert bench.board.answers() == {}
    bench.workshop.answer(demo_report())
    assert OLD not in bench.told
    assert bench.has_figure()


def test_a_dock_that_was_closed_meanwhile_says_so_too(bench: Bench) -> None:
    bench.verify()
    bench.workshop.answer(demo_report())
    bench.board.places["checks"].dock.close()
    bench.type("Tom sat.")
    bench.answer()
    bench.board.open("checks")
    assert OLD in bench.told


def test_another_head_or_cell_makes_no_report_old_and_stays_when_a_place_is_picked(
    bench: Bench,
) -> None:
    bench.verify()
    bench.workshop.answer(demo_report())
    bench.controller.update(replace(bench.controller.state, max_new_tokens=7))
    bench.controller.update(replace(bench.controller.state, cell=(1, 1)))
    assert OLD not in bench.told
    bench.checks._list.place_picked.emit(PLACE)
    assert bench.controller.state.head == HeadRef(Stack.DECODER, 1, 2)
    assert bench.controller.state.cell == (3, 3)
    assert bench.controller.state.max_new_tokens == 7


def test_verify_says_why_there_is_nothing_to_check(bench: Bench) -> None:
    bench.type("word " * 600)
    bench.verify()
    assert bench.told == "The model has not run yet; ask again once it has."
    bench.client.failed.emit(Failed(0, "The text has 601 tokens: shorten it."))
    bench.verify()
    assert bench.told == "The text has 601 tokens: shorten it."
    assert bench.workshop.asked == []
    bench.type("Tom sat.")
    bench.answer()
    bench.verify()
    assert isinstance(bench.workshop.asked[-1], CheckJob)


def test_a_dock_that_is_opened_on_a_refused_text_says_why_it_is_empty(bench: Bench) -> None:
    bench.client.failed.emit(Failed(0, "The text has 601 tokens: shorten it."))
    bench.board.open("embeddings")
    dock = bench.board.places["embeddings"].instrument
    assert isinstance(dock, Embeddings)
    assert dock._view.canvas.accessibleDescription() == "The text has 601 tokens: shorten it."


def test_a_table_of_an_earlier_mask_stays_pale_where_its_successor_is_stopped(
    bench: Bench,
) -> None:
    bench.board.open("backends")
    dock = bench.board.places["backends"].instrument
    assert isinstance(dock, Backends)
    bench.workshop.answer(TABLE)
    assert not dock._table._stale
    bench.type("Tom sat.")
    bench.answer()
    bench.workshop.job_ended.emit(Finished(len(bench.workshop.asked), stopped=True))
    assert dock._table._stale
    bench.type("Tom sat")
    bench.answer()
    bench.workshop.answer(TABLE)
    assert not dock._table._stale


def test_the_steps_of_a_generation_are_offered_while_what_they_wrote_is_on_screen(
    bench: Bench,
) -> None:
    controller = bench.controller
    bench.type("Tom sat.")
    assert not bench.has_figure("steps")
    bench.answer()
    controller.play()
    for number, token in enumerate((40, 41, 42)):
        bench.step(token, number)
    bench.client.finished.emit(Finished(0))
    bench.answer()
    written = controller.state
    for count in (0, 2, 3):
        controller.scrub(count)
        assert bench.has_figure("steps")
    controller.update(replace(written, cell=(1, 1), head=HeadRef(Stack.DECODER, 1, 2)))
    assert bench.has_figure("steps")
    for other in (
        replace(written, window=3),
        replace(written, model="unified"),
        written.with_row(text="Tom ran."),
        written.with_row(generated=(40, 7)),
    ):
        controller.update(other)
        assert not bench.has_figure("steps")
        controller.update(written)
        assert bench.has_figure("steps")
    controller.pick_family(Family.PREFIX)
    assert not bench.has_figure("steps")


def test_times_of_another_model_say_so_and_are_no_figure(bench: Bench) -> None:
    bench.board.open("cost")
    cost = bench.board.places["cost"].instrument
    assert isinstance(cost, Cost)
    plot = cost._plot
    plot.measure.click()
    bench.workshop.answer(MEASURED)
    bench.type("Tom sat.")
    bench.answer()
    assert "earlier view" not in plot.said.text()
    assert bench.has_figure("cost")
    bench.controller.update(replace(bench.controller.state, model="unified"))
    for _ in ("while it runs", "afterwards"):
        assert "earlier view" in plot.said.text()
        assert not plot.formulas.isEnabled()
        assert not bench.has_figure("cost")
        bench.answer()
    plot.quantity.setCurrentIndex(0)
    plot.quantity.activated.emit(0)
    assert bench.has_figure("cost"), "the formulas are those of the model on screen"


def test_embeddings_name_what_was_generated_with_the_text(bench: Bench) -> None:
    token = TOKENS.encode("there")[0]
    bench.controller.edit(bench.controller.state.with_row(text="Tom sat", generated=(token,)))
    bench.answer()
    bench.board.open("embeddings")
    dock = bench.board.places["embeddings"].instrument
    assert isinstance(dock, Embeddings)
    assert dock._view.first.text().startswith("1  Tom sat there\n")
