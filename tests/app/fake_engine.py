"""Engine processes that answer without a model, for tests of the parent side."""

from __future__ import annotations

import os
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np

from app.engine_process import Failed, Finished, Ready, Stop
from core.types import (
    Answer,
    GenerateRequest,
    HeadPattern,
    HeadRef,
    HeadRequest,
    Job,
    Progress,
    RunRequest,
    RunResult,
    Stack,
)

HEAD = HeadRef(Stack.DECODER, 0, 0)


@dataclass(frozen=True)
class Echo(Job):
    """A job that is answered with its word; "wait" is held until a stop, "bad" is refused."""

    word: str = ""


@dataclass(frozen=True)
class Other(Echo):
    """The same of another kind."""


def result(generation: int, rows: int = 2) -> RunResult:
    """An empty answer that carries its number."""
    pattern = np.eye(rows, dtype=np.float32)
    return RunResult(
        generation,
        "fake",
        "cpu",
        "float32",
        0.0,
        (),
        HeadPattern(generation, HEAD, pattern),
        np.zeros((rows, 1), np.int32),
        np.ones((rows, 1), np.float32),
    )


def prompt_engine(connection: Connection) -> None:
    """Answers each run at once; refuses the model "bad"; dies at the model "crash"."""
    connection.send(Ready(("cpu",), 1))
    while True:
        try:
            message = connection.recv()
        except EOFError:
            return
        if isinstance(message, RunRequest):
            if message.model == "crash":
                os._exit(7)
            if message.model == "bad":
                connection.send(Failed(message.generation, "A sentence."))
                continue
            connection.send(result(message.generation))
            connection.send(Finished(message.generation))
        elif isinstance(message, HeadRequest):
            pattern = np.full((2, 2), message.head.head, np.float32)
            connection.send(HeadPattern(message.generation, message.head, pattern))
            connection.send(Finished(message.generation))


def working_engine(connection: Connection) -> None:
    """Answers runs and jobs at once, but holds what says "wait" until it is told to stop."""
    connection.send(Ready(("cpu",), 1))
    held = 0
    while True:
        try:
            message = connection.recv()
        except EOFError:
            return
        if isinstance(message, Stop):
            if held:
                connection.send(Finished(held, stopped=True))
            held = 0
        elif isinstance(message, RunRequest):
            connection.send(result(message.generation))
            connection.send(Finished(message.generation))
        elif isinstance(message, Echo) and message.word == "wait":
            held = message.generation
            connection.send(Progress(held, "waiting", 0.5))
        elif isinstance(message, Echo) and message.word == "bad":
            connection.send(Failed(message.generation, "A sentence."))
        elif isinstance(message, Echo):
            connection.send(Answer(message.generation, message.word))
            connection.send(Finished(message.generation))


def patient_engine(connection: Connection) -> None:
    """Holds every request until it is told to stop, then says that it was stopped."""
    connection.send(Ready(("cpu",), 1))
    held: RunRequest | GenerateRequest | None = None
    while True:
        try:
            message = connection.recv()
        except EOFError:
            return
        if isinstance(message, Stop) and held is not None:
            number = held.generation if isinstance(held, RunRequest) else held.run.generation
            connection.send(result(number))
            connection.send(Finished(number, stopped=True))
            held = None
        elif isinstance(message, RunRequest | GenerateRequest):
            held = message


def deaf_engine(connection: Connection) -> None:
    """Never answers anything."""
    connection.send(Ready(("cpu",), 1))
    while True:
        try:
            connection.recv()
        except EOFError:
            return


def stillborn_engine(connection: Connection) -> None:
    """Ends before it has said anything."""
    os._exit(1)
