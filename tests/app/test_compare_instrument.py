"""The instrument on real answers: one selection for the squares and for the window."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot

from app.engine_work import Engines
from app.instruments.base import View
from app.instruments.compare import Compare, selected_cell, where, with_cell
from app.pairs import PAIRS, PINNED
from app.scene import scene
from app.state import RowState, ViewState, initial
from core import paths
from core.run.cancel import CancelToken
from core.run.engine import Engine
from core.text.tokenizer import Tokenizer
from core.types import (
    CompareJob,
    Comparison,
    Family,
    HeadPattern,
    HeadRef,
    Place,
    RunRequest,
    RunResult,
    Side,
    Stack,
)

E, D, X = Stack.ENCODER, Stack.DECODER, Stack.CROSS
PREFIX = Family.PREFIX


@cache
def tokenizer() -> Tokenizer:
    return Tokenizer.load(paths.TOKENIZER)


@cache
def engines() -> Engines:
    return Engines()


def view_of(state: ViewState) -> View:
    shown = scene(state, tokenizer())
    request = RunRequest(
        0, state.model, shown.inputs, state.head, state.row, device="cpu", backend=state.backend
    )
    none = np.zeros((0, 0), np.float32)
    pattern = HeadPattern(0, state.head, none)
    ids = np.zeros((0, 0), np.int32)
    result = RunResult(0, state.model, "cpu", "float32", 0.0, (), pattern, ids, none)
    return View(state, shown, request, result)


def answered(instrument: Compare, view: View) -> Comparison:
    job = instrument.job(view)
    assert isinstance(job, CompareJob), job
    found = engines().work(job, lambda sentence, share: None, CancelToken())
    assert isinstance(found, Comparison)
    instrument.show(view, found)
    return found


@pytest.fixture
def instrument(qtbot: QtBot) -> Compare:
    made = Compare(tokenizer())
    qtbot.addWidget(made.make())
    return made


def choose(instrument: Compare, name: str) -> None:
    box = instrument._content.pair
    box.setCurrentIndex(box.findData(name))
    box.activated.emit(box.currentIndex())


def last(spy: QSignalSpy) -> ViewState:
    return spy.at(spy.count() - 1)[0]


def test_every_pair_is_offered_and_asked_for(instrument: Compare) -> None:
    box = instrument._content.pair
    names = [box.itemData(n) for n in range(box.count())]
    assert names == [*(pair.name for pair in PAIRS), PINNED]
    view, asked = view_of(initial(PREFIX)), QSignalSpy(instrument.asked)
    titles = set()
    for n, pair in enumerate(PAIRS, start=1):
        choose(instrument, pair.name)
        assert asked.count() == n
        job = instrument.job(view)
        assert isinstance(job, CompareJob)
        assert job.generation == job.a.run.generation == 0
        titles.add((job.a.title, job.b.title))
    assert len(titles) == len(PAIRS)
    assert instrument.job(view) == instrument.job(view)


def test_a_pair_that_there_is_not_says_why(instrument: Compare) -> None:
    choose(instrument, "cache")
    sentence = instrument.job(view_of(initial(Family.ENCODER)))
    assert isinstance(sentence, str)
    instrument.refuse(sentence)
    assert "nothing can be cached" in instrument._content.sentence.text()


@pytest.mark.parametrize("family", list(Family))
def test_it_opens_on_a_pair_that_the_view_has(instrument: Compare, family: Family) -> None:
    assert isinstance(instrument.job(view_of(initial(family))), CompareJob)
    two = family is Family.ENCODER_DECODER
    shown = instrument._content.pair.currentData()
    assert shown == ("padding" if two else "causal-prefix")
    other = PREFIX if two else Family.ENCODER_DECODER
    assert isinstance(instrument.job(view_of(initial(other))), CompareJob)
    assert instrument._content.pair.currentData() != shown


def test_a_pair_that_was_chosen_stays(instrument: Compare) -> None:
    choose(instrument, "causal-prefix")
    assert "choose another" in instrument.job(view_of(initial(Family.ENCODER_DECODER)))
    assert instrument._content.pair.currentData() == "causal-prefix"


def test_a_pinned_view_stays_while_the_other_follows(instrument: Compare) -> None:
    first = view_of(initial(PREFIX))
    choose(instrument, PINNED)
    assert "Press Pin" in instrument.job(first)
    instrument._content.pin.click()
    assert answered(instrument, first).first is None
    second = view_of(replace(initial(PREFIX), window=3))
    found = answered(instrument, second)
    assert found.first is not None
    job = instrument.job(second)
    assert (job.a.run.inputs, job.b.run.inputs) == (first.scene.inputs, second.scene.inputs)
    assert instrument._content.pair.currentData() == PINNED


def test_a_click_selects_in_the_window(instrument: Compare) -> None:
    state = initial(PREFIX).with_row(left_pad=2)
    view, picked = view_of(state), QSignalSpy(instrument.picked)
    found = answered(instrument, view)
    instrument._content.cell_clicked.emit((3, 1))
    assert picked.count() == 1
    assert last(picked).cell == (5, 3)
    assert last(picked).head == HeadRef(D)
    instrument._content.head_clicked.emit(HeadRef(D, 2, 3))
    assert last(picked).head == HeadRef(D, 2, 3)
    instrument._content.go.click()
    assert found.first is not None
    head = HeadRef(D, found.first.layer, found.first.head)
    place = found.first.position + 2
    assert (last(picked).head, last(picked).cell) == (head, (place, place))


def test_the_window_selects_in_the_squares(instrument: Compare) -> None:
    state = initial(PREFIX).with_row(left_pad=2)
    answered(instrument, view_of(state))
    instrument.job(view_of(replace(state, cell=(7, 4))))
    assert instrument._content.squares[0].selected == (5, 2)
    instrument.job(view_of(replace(state, cell=(7, 1))))  # A pad is no token.
    assert instrument._content.squares[0].selected is None


def test_a_cached_query_has_no_row(instrument: Compare) -> None:
    state = replace(initial(Family.DECODER), past=4)
    view, picked, said = view_of(state), QSignalSpy(instrument.picked), QSignalSpy(instrument.said)
    choose(instrument, "cache")
    answered(instrument, view)
    instrument._content.cell_clicked.emit((3, 1))
    assert picked.count() == 0
    assert "in the cache" in said.at(0)[0]
    instrument._content.cell_clicked.emit((4, 1))
    assert last(picked).cell == (0, 1)


def test_three_stacks_keep_their_names(instrument: Compare) -> None:
    state = replace(initial(Family.ENCODER_DECODER), head=HeadRef(X, 1, 2), cell=(2, 5))
    view, picked = view_of(state), QSignalSpy(instrument.picked)
    choose(instrument, "softmax")
    found = answered(instrument, view)
    assert found.head == HeadRef(X, 1, 2)
    assert instrument._content.squares[0].selected == (2, 5)
    instrument._content.head_clicked.emit(HeadRef(E, 0, 1))
    assert (last(picked).head, last(picked).cell) == (HeadRef(E, 0, 1), None)
    assert where(found, Place(1, X, 0, 3)) == (HeadRef(X, 0, 3), (1, 0))
    assert where(found, Place(9, E, 1, 0)) == (HeadRef(E, 1, 0), (9, 9))
    assert where(found, Place(1)) == (HeadRef(X, 1, 2), (1, 0))


def test_the_only_stack_is_called_as_in_the_window(instrument: Compare) -> None:
    """A is causal, the view is an encoder: the comparison speaks of a decoder, the window not."""
    view, picked = view_of(initial(Family.ENCODER)), QSignalSpy(instrument.picked)
    choose(instrument, "causal-bidirectional")
    assert answered(instrument, view).head.stack is D
    instrument._content.head_clicked.emit(HeadRef(D, 1, 1))
    assert last(picked).head == HeadRef(E, 1, 1)


@settings(deadline=None, max_examples=25)
@given(
    st.sampled_from(list(Family)),
    st.sampled_from(["padding", "softmax"]),
    st.sampled_from(list(Stack)),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=2),
    st.integers(0, 3),
    st.data(),
)
def test_a_cell_comes_back_from_the_window(family, name, stack, pads, past, data) -> None:
    """Shared tokens to the window and back, under any pads, rows, past and stack."""
    texts = ("The cat sat on the mat.", "She ran.")
    rows = tuple(
        RowState(text, "a red ball", left_pad=left, right_pad=right)
        for text, (left, right) in zip(texts, pads, strict=False)
    )
    state = replace(
        initial(family),
        rows=rows,
        row=data.draw(st.integers(0, len(rows) - 1)),
        past=0 if family in (Family.ENCODER, Family.PREFIX) else past,
        prefix=0,
    )
    two = family is Family.ENCODER_DECODER
    state = replace(state, head=HeadRef(stack) if two else initial(family).head)
    view, instrument = view_of(state), Compare(tokenizer())
    instrument._pair, instrument._is_chosen = name, True
    job = instrument.job(view)
    assert isinstance(job, CompareJob)
    found = engines().work(job, lambda sentence, share: None, CancelToken())
    assert isinstance(found, Comparison)
    cell = tuple(data.draw(st.integers(0, size - 1)) for size in found.patterns.shape[1:])
    picked = with_cell(view, found, found.head, cell)
    if picked is None:
        assert state.past > 0
        return
    spec = view.scene.masks[state.stack]
    assert picked.cell[0] < spec.length
    assert picked.cell[1] < spec.keys
    assert selected_cell(view_of(picked), found) == cell
    query = view.scene.query_ids[state.stack][picked.cell[0]]
    key = view.scene.key_ids[state.stack][picked.cell[1]]
    tokens, source = found.tokens[1], found.source_tokens[1]
    assert query == (source if found.from_source else tokens)[cell[0]]
    assert key == (source if found.reads_source else tokens)[cell[1]]


def test_the_heads_of_the_window_stay_those_of_its_own_run(monkeypatch) -> None:
    """A side on ONNX Runtime does not take the place of the run that is shown."""
    worker, token = engines(), CancelToken()
    run = view_of(initial(Family.DECODER)).request
    onnx = replace(run, backend="onnx")
    monkeypatch.setattr(worker, "_export", lambda model, progress, cancel: None)
    read: list[str] = []
    for name in ("torch", "onnx"):
        one = getattr(worker, name)
        monkeypatch.setattr(
            one,
            "reading",
            lambda side, cancel, name=name: read.append(name) or Engine.reading(worker.torch, side),
        )

    def quiet(sentence: str, share: float) -> None:
        pass

    assert worker.of(run, quiet, token) is worker.torch
    job = CompareJob(1, Side("A", run), Side("B", onnx), run.head)
    assert isinstance(worker.work(job, quiet, token), Comparison)
    assert read == ["torch", "onnx"]
    assert worker.last is worker.torch
