"""Only the newest job of an errand is told of, and each end once, with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from pytestqt.qtbot import QtBot

from app.engine_client import EngineClient
from app.errand import Errand
from tests.app.fake_engine import Echo, Other, working_engine

WAIT = 20_000
SIGNALS = ("progressed", "answered", "ended", "failed", "stopped", "died")


class Told:
    """An errand, and all that it tells, in order."""

    def __init__(self, client: EngineClient) -> None:
        self.errand = Errand(client, client)
        self.words: list[tuple[object, ...]] = []
        for name in SIGNALS:
            getattr(self.errand, name).connect(partial(self.hear, name))

    def hear(self, name: str, *values: object) -> None:
        self.words.append((name, *values))


@pytest.fixture
def client(qtbot: QtBot) -> Iterator[EngineClient]:
    made = EngineClient(target=working_engine)
    with qtbot.waitSignal(made.became_ready, timeout=WAIT):
        made.start()
    yield made
    made.shutdown()
    made.deleteLater()


def test_an_answer_and_then_the_end_are_told(qtbot: QtBot, client: EngineClient) -> None:
    told = Told(client)
    with qtbot.waitSignal(told.errand.ended, timeout=WAIT):
        told.errand.ask(Echo(0, "word"))
    assert told.words == [("answered", "word"), ("ended",)]


def test_a_refusal_is_told_with_its_sentence(qtbot: QtBot, client: EngineClient) -> None:
    told = Told(client)
    with qtbot.waitSignal(told.errand.failed, timeout=WAIT):
        told.errand.ask(Echo(0, "bad"))
    assert told.words == [("ended",), ("failed", "A sentence.")]


def test_jobs_of_another_errand_are_not_told_of(qtbot: QtBot, client: EngineClient) -> None:
    one, other = Told(client), Told(client)
    with qtbot.waitSignal(one.errand.progressed, timeout=WAIT):
        one.errand.ask(Echo(0, "wait"))
    other.errand.ask(Other(0, "other"))
    with qtbot.waitSignal(other.errand.ended, timeout=WAIT):
        one.errand.stop()
    assert one.words == [("progressed", "waiting", 0.5), ("ended",), ("stopped",)]
    assert other.words == [("answered", "other"), ("ended",)]


def test_a_job_that_still_waits_is_stopped_at_once(qtbot: QtBot, client: EngineClient) -> None:
    one, other = Told(client), Told(client)
    with qtbot.waitSignal(one.errand.progressed, timeout=WAIT):
        one.errand.ask(Echo(0, "wait"))
    other.errand.ask(Other(0, "other"))
    other.errand.stop()
    assert other.words == [("ended",), ("stopped",)]
    assert one.words == [("progressed", "waiting", 0.5)]


def test_of_an_older_job_nothing_more_is_told(qtbot: QtBot, client: EngineClient) -> None:
    told = Told(client)
    with qtbot.waitSignal(told.errand.progressed, timeout=WAIT):
        told.errand.ask(Echo(0, "wait"))
    with qtbot.waitSignal(told.errand.ended, timeout=WAIT):
        told.errand.ask(Echo(0, "newer"))
    assert told.words[1:] == [("answered", "newer"), ("ended",)]


def test_a_death_is_told_only_while_a_job_is_under_way(qtbot: QtBot, client: EngineClient) -> None:
    told = Told(client)
    client.died.emit("It died.")
    assert told.words == []
    with qtbot.waitSignal(told.errand.progressed, timeout=WAIT):
        told.errand.ask(Echo(0, "wait"))
    client.died.emit("It died.")
    client.died.emit("It died again.")
    assert told.words[1:] == [("ended",), ("died", "It died.")]


@pytest.mark.parametrize("where", ["in flight", "waiting"])
def test_a_restart_of_the_process_stops_the_job(
    qtbot: QtBot, client: EngineClient, where: str
) -> None:
    one, other = Told(client), Told(client)
    with qtbot.waitSignal(one.errand.progressed, timeout=WAIT):
        one.errand.ask(Echo(0, "wait"))
    asked = one if where == "in flight" else other
    if where == "waiting":
        other.errand.ask(Other(0, "other"))
    with qtbot.waitSignal(client.became_ready, timeout=WAIT):
        client.restart()
    assert asked.words[-2:] == [("ended",), ("stopped",)]
    assert not client.is_busy


def test_a_stop_of_everything_ends_what_waits_too(qtbot: QtBot, client: EngineClient) -> None:
    one, other = Told(client), Told(client)
    with qtbot.waitSignal(one.errand.progressed, timeout=WAIT):
        one.errand.ask(Echo(0, "wait"))
    other.errand.ask(Other(0, "other"))
    client.stop()
    assert other.words == [("ended",), ("stopped",)]
    qtbot.waitUntil(lambda: not client.is_busy, timeout=WAIT)
    assert one.words[1:] == [("ended",), ("stopped",)]


def test_a_stop_without_a_job_stops_nobody_else(qtbot: QtBot, client: EngineClient) -> None:
    one, other = Told(client), Told(client)
    with qtbot.waitSignal(one.errand.progressed, timeout=WAIT):
        one.errand.ask(Echo(0, "wait"))
    other.errand.stop()
    assert client.is_busy
    with qtbot.waitSignal(one.errand.stopped, timeout=WAIT):
        one.errand.stop()
    assert other.words == []
