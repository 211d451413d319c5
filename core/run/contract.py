"""What every engine does, whatever it runs on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from core.run.cancel import CancelToken
from core.run.rollout import Evidence
from core.run.side import SideReading
from core.types import (
    FlowJob,
    GenerateRequest,
    HeadPattern,
    HeadRequest,
    RunRequest,
    RunResult,
    Side,
    StepEvent,
)


class EngineError(RuntimeError):
    """Something the machine could not do; the message is a sentence for the user."""


class Runs(Protocol):
    """An engine: `core.run.engine` on torch, `core.export.ort_engine` on ONNX Runtime.

    ``run``, ``generate``, ``evidence`` and ``reading`` raise ValueError for inputs that the model
    cannot take, `EngineError` when the machine cannot do it (both with a sentence), and Cancelled
    when ``cancel`` was set.
    """

    def run(self, request: RunRequest, cancel: CancelToken | None = None) -> RunResult:
        """One forward pass: attention of every head and the likeliest tokens."""

    def head(self, request: HeadRequest) -> HeadPattern | None:
        """Another head of the last run; None if that run is not the one that is meant."""

    def generate(
        self, request: GenerateRequest, cancel: CancelToken | None = None
    ) -> Iterator[StepEvent]:
        """Generate token by token after one batch row; an event a token."""

    def evidence(self, job: FlowJob, cancel: CancelToken | None = None) -> Evidence:
        """Patterns, value norms and gradients of one row: what `core.run.flow` is made of."""

    def reading(self, side: Side, cancel: CancelToken | None = None) -> SideReading:
        """Logits, weights and states of one row: what `core.run.compare` is made of."""
