"""What instruments ask of an engine beside the run that is shown, and how they are answered."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Job:
    """The base of every question of an instrument; its type names the instrument.

    ``generation`` orders the questions of one instrument: an older answer is dropped.
    """

    generation: int


@dataclass(frozen=True)
class Progress:
    """How far a job is: what is being done, and the share from 0 to 1 that is done."""

    generation: int
    sentence: str
    share: float


@dataclass(frozen=True)
class Answer:
    """What a job was answered with; the type of ``value`` belongs to the type of the job."""

    generation: int
    value: object
