"""One in flight, one waiting, newest wins; a process that dies or is deaf is replaced."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from app.engine_client import EngineClient
from app.engine_process import Failed
from core.types import HeadRef, HeadRequest, Inputs, MaskKind, MaskSpec, RunRequest, Stack
from tests.app import fake_engine

INPUTS = Inputs(((1, 2),), MaskSpec(MaskKind.CAUSAL, 2))


def request(client: EngineClient, model: str = "fake") -> RunRequest:
    return RunRequest(client.next_generation(), model, INPUTS, fake_engine.HEAD)


@pytest.fixture
def start(qtbot: QtBot) -> Iterator[Callable[..., EngineClient]]:
    clients: list[EngineClient] = []

    def make(target: Any, **options: Any) -> EngineClient:
        client = EngineClient(target=target, **options)
        clients.append(client)
        with qtbot.waitSignal(client.became_ready, timeout=20_000):
            client.start()
        return client

    yield make
    for client in clients:
        client.shutdown()
        client.deleteLater()


def test_an_answer_carries_the_number_of_its_request(
    qtbot: QtBot, start: Callable[..., EngineClient]
) -> None:
    client = start(fake_engine.prompt_engine)
    asked = request(client)
    with (
        qtbot.waitSignal(client.result_arrived, timeout=20_000) as answer,
        qtbot.waitSignal(client.finished, timeout=20_000) as done,
    ):
        client.submit(asked)
    assert answer.args[0].generation == done.args[0].generation == asked.generation


def test_a_request_made_before_the_process_is_up_is_answered_when_it_is(qtbot: QtBot) -> None:
    client = EngineClient(target=fake_engine.prompt_engine)
    with qtbot.waitSignal(client.result_arrived, timeout=20_000):
        client.start()
        client.submit(request(client))
    client.shutdown()


def test_of_a_burst_only_the_newest_is_shown_and_the_stale_answer_is_dropped(
    qtbot: QtBot, start: Callable[..., EngineClient]
) -> None:
    client = start(fake_engine.patient_engine)
    shown: list[int] = []
    client.result_arrived.connect(lambda result: shown.append(result.generation))
    first = request(client)
    client.submit(first)
    numbers = []
    for _ in range(50):
        newest = request(client)
        numbers.append(newest.generation)
        client.submit(newest)
    with qtbot.waitSignal(client.finished, timeout=20_000) as done:
        qtbot.waitUntil(lambda: not client._waiting, timeout=20_000)
        client.stop()
    assert done.args[0].generation == numbers[-1]
    assert shown == [numbers[-1]]
    assert not client.is_busy


def test_a_refused_request_tells_its_sentence_and_the_next_one_is_answered(
    qtbot: QtBot, start: Callable[..., EngineClient]
) -> None:
    client = start(fake_engine.prompt_engine)
    with qtbot.waitSignal(client.failed, timeout=20_000) as told:
        client.submit(request(client, "bad"))
    assert isinstance(told.args[0], Failed)
    assert told.args[0].sentence == "A sentence."
    with qtbot.waitSignal(client.result_arrived, timeout=20_000):
        client.submit(request(client))


def test_another_head_of_the_run_is_served(
    qtbot: QtBot, start: Callable[..., EngineClient]
) -> None:
    client = start(fake_engine.prompt_engine)
    asked = request(client)
    with qtbot.waitSignal(client.finished, timeout=20_000):
        client.submit(asked)
    with qtbot.waitSignal(client.head_arrived, timeout=20_000) as served:
        client.ask_head(HeadRequest(asked.generation, HeadRef(Stack.DECODER, 0, 3)))
    assert served.args[0].pattern[0, 0] == 3


@pytest.mark.parametrize("how", ["crash", "kill"])
def test_a_process_that_dies_is_told_replaced_and_works_again(
    qtbot: QtBot, start: Callable[..., EngineClient], how: str
) -> None:
    client = start(fake_engine.prompt_engine)
    first = client.pid
    with (
        qtbot.waitSignal(client.died, timeout=30_000) as told,
        qtbot.waitSignal(client.became_ready, timeout=30_000),
    ):
        if how == "crash":
            client.submit(request(client, "crash"))
        else:
            assert first is not None
            os.kill(first, signal.SIGKILL)
    assert "was started again" in told.args[0]
    assert client.pid != first
    with qtbot.waitSignal(client.result_arrived, timeout=20_000):
        client.submit(request(client))


def test_a_process_that_cannot_start_is_given_up_until_it_is_restarted(qtbot: QtBot) -> None:
    client = EngineClient(target=fake_engine.stillborn_engine)
    told: list[str] = []
    client.died.connect(told.append)
    client.start()
    qtbot.waitUntil(lambda: client.pid is None, timeout=60_000)
    assert ["was started again" in sentence for sentence in told] == [True, True, False]
    assert "3 times in a row (exit code 1) and was not started again" in told[-1]
    with qtbot.waitSignal(client.failed, timeout=20_000) as refused:
        client.submit(request(client))
    assert "Engine ▸ Restart" in refused.args[0].sentence
    assert not client.is_busy
    with qtbot.waitSignal(client.died, timeout=30_000) as again:
        client.restart()
    assert "was started again" in again.args[0]
    client.shutdown()


def test_deaths_with_a_result_in_between_are_not_in_a_row(
    qtbot: QtBot, start: Callable[..., EngineClient]
) -> None:
    client = start(fake_engine.prompt_engine)
    for model in ("crash", "crash", "fake", "crash"):
        with qtbot.waitSignal(client.result_arrived if model == "fake" else client.died):
            client.submit(request(client, model))
    with qtbot.waitSignal(client.result_arrived, timeout=20_000):
        client.submit(request(client))


def test_a_process_that_ignores_a_stop_is_replaced(
    qtbot: QtBot, start: Callable[..., EngineClient]
) -> None:
    client = start(fake_engine.deaf_engine, patience_ms=50)
    first = client.pid
    client.submit(request(client))
    with qtbot.waitSignals([client.died, client.became_ready], timeout=30_000):
        client.stop()
    assert client.pid != first
    assert not client.is_busy


def test_a_job_is_answered_with_the_number_that_it_was_given(
    qtbot: QtBot, start: Callable[..., EngineClient]
) -> None:
    client = start(fake_engine.working_engine)
    with (
        qtbot.waitSignal(client.answered, timeout=20_000) as answer,
        qtbot.waitSignal(client.job_ended, timeout=20_000) as end,
    ):
        number = client.ask(fake_engine.Echo(0, "word"))
    assert (answer.args[0].generation, answer.args[0].value) == (number, "word")
    assert end.args[0].generation == number


def test_a_job_starts_a_process_that_was_not_started(qtbot: QtBot) -> None:
    client = EngineClient(target=fake_engine.working_engine)
    with qtbot.waitSignal(client.answered, timeout=20_000):
        client.ask(fake_engine.Echo(0, "word"))
    client.shutdown()


def test_a_refused_job_tells_its_sentence(qtbot: QtBot, start: Callable[..., EngineClient]) -> None:
    client = start(fake_engine.working_engine)
    with qtbot.waitSignal(client.job_ended, timeout=20_000) as end:
        client.ask(fake_engine.Echo(0, "bad"))
    assert end.args[0].sentence == "A sentence."


def test_a_newer_job_of_the_same_kind_stops_the_one_in_flight_and_another_kind_waits(
    qtbot: QtBot, start: Callable[..., EngineClient]
) -> None:
    client = start(fake_engine.working_engine)
    with qtbot.waitSignal(client.progressed, timeout=20_000) as told:
        client.ask(fake_engine.Echo(0, "wait"))
    assert told.args[0].sentence == "waiting"
    words: list[object] = []
    client.answered.connect(lambda answer: words.append(answer.value))
    client.ask(fake_engine.Other(0, "other"))
    client.ask(fake_engine.Echo(0, "newer"))
    qtbot.waitUntil(lambda: not client.is_busy, timeout=20_000)
    assert words == ["other", "newer"]


def test_a_run_stops_a_job_and_forgets_those_that_wait(
    qtbot: QtBot, start: Callable[..., EngineClient]
) -> None:
    client = start(fake_engine.working_engine)
    with qtbot.waitSignal(client.progressed, timeout=20_000):
        client.ask(fake_engine.Echo(0, "wait"))
    client.ask(fake_engine.Other(0, "other"))
    words: list[object] = []
    client.answered.connect(lambda answer: words.append(answer.value))
    with qtbot.waitSignals([client.job_ended, client.result_arrived], timeout=20_000):
        client.submit(request(client))
    qtbot.waitUntil(lambda: not client.is_busy, timeout=20_000)
    assert words == []


@pytest.mark.parametrize("where", ["in flight", "waiting"])
def test_a_job_can_be_stopped_wherever_it_is(
    qtbot: QtBot, start: Callable[..., EngineClient], where: str
) -> None:
    client = start(fake_engine.working_engine)
    with qtbot.waitSignal(client.progressed, timeout=20_000):
        number = client.ask(fake_engine.Echo(0, "wait"))
    if where == "waiting":
        number = client.ask(fake_engine.Other(0, "other"))
    with qtbot.waitSignal(client.job_ended, timeout=20_000) as end:
        client.cancel(number)
    assert end.args[0].stopped
    assert end.args[0].generation == number


def test_a_shutdown_leaves_no_process(start: Callable[..., EngineClient]) -> None:
    client = start(fake_engine.prompt_engine)
    pid = client.pid
    assert pid is not None
    client.shutdown()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert client.pid is None
