"""From an engine to the subject of checks: the model that a request names, on that engine."""

from __future__ import annotations

from core.run.cancel import CancelToken
from core.run.checks.subject import Subject
from core.run.contract import Runs
from core.types import RunRequest


def subject_of(engine: Runs, run: RunRequest, cancel: CancelToken | None = None) -> Subject:
    """What is checked; torch is imported only for its own engine.

    Raises
    ------
    ValueError
        with a sentence for a model, a device or a file that cannot be run.
    """
    from core.export.ort_engine import OrtEngine

    if isinstance(engine, OrtEngine):
        from core.export.ort_subject import OrtSubject

        return OrtSubject(engine.model(run.model, run.device), run.model, cancel)
    from core.run.checks.torch_subject import TorchSubject
    from core.run.devices import pick
    from core.run.engine import Engine

    assert isinstance(engine, Engine)
    return TorchSubject(engine.model(run.model, *pick(run.device, run.dtype)), run.model, cancel)
