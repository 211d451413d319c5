"""What the engine process does: which engine runs a request, and who answers which job."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from core import paths
from core.export.backends import backends
from core.export.data import write_data
from core.export.jobs import export_job
from core.export.ort_engine import OrtEngine
from core.export.store import kept
from core.run.cancel import CancelToken
from core.run.checks.engines import subject_of
from core.run.checks.run import check
from core.run.compare import compare
from core.run.contract import Runs
from core.run.embeddings import embeddings
from core.run.engine import Engine
from core.run.flow import flow
from core.run.measure import measure
from core.run.objectives import objective
from core.run.stages import stages
from core.types import (
    BackendsJob,
    CheckJob,
    CompareJob,
    DataJob,
    EmbeddingsJob,
    ExportJob,
    FlowJob,
    Job,
    MeasureJob,
    ObjectiveJob,
    RunRequest,
    StagesJob,
)

Progress = Callable[[str, float], None]


class Engines:
    """The engines of one process: torch, and ONNX Runtime on what was exported of the models."""

    def __init__(self) -> None:
        self._exported: dict[str, Path] = {}
        self.torch = Engine(paths.MODELS)
        self.onnx = OrtEngine(self._exported)
        self.last: Runs = self.torch
        """The engine of the last run: other heads of it are served from there."""

    def of(self, run: RunRequest, progress: Progress, cancel: CancelToken) -> Runs:
        """The engine that a request names; a model is exported once before ONNX Runtime runs it.

        Raises
        ------
        ValueError
            for an unknown backend or model.
        """
        self.last = self._engine(run, progress, cancel)
        return self.last

    def _engine(self, run: RunRequest, progress: Progress, cancel: CancelToken) -> Runs:
        """The same for a job: heads are still those of the view's run."""
        if run.backend == "torch":
            return self.torch
        if run.backend != "onnx":
            raise ValueError(f"backend is {run.backend!r}, but must be torch or onnx.")
        self._export(run.model, progress, cancel)
        return self.onnx

    def _export(self, model: str, progress: Progress, cancel: CancelToken) -> None:
        if model in self._exported or model.lower().endswith(".onnx"):
            return
        place = kept(model, paths.MODELS)
        if not place.is_made:
            place.make(progress, cancel)
        self._exported[model] = place.path

    def work(self, job: Job, progress: Progress, cancel: CancelToken) -> object:
        """Answer a job of an instrument; a new kind of job is one line here."""
        if isinstance(job, ExportJob):
            return export_job(job, progress, cancel)
        if isinstance(job, BackendsJob):
            return backends(job, progress=progress, cancel=cancel)
        if isinstance(job, FlowJob):
            return flow(self._engine(job.run, progress, cancel), job, cancel, progress)
        if isinstance(job, ObjectiveJob):
            return objective(self._engine(job.run, progress, cancel), job, cancel, progress)
        if isinstance(job, EmbeddingsJob):
            return embeddings(self._engine(job.run, progress, cancel), job, cancel, progress)
        if isinstance(job, CheckJob):
            subject = subject_of(self._engine(job.run, progress, cancel), job.run, cancel)
            inputs, row = job.run.inputs, job.run.row
            return check(subject, inputs, row, names=job.names, progress=progress, cancel=cancel)
        if isinstance(job, MeasureJob):
            return measure(self._engine(job.run, progress, cancel), job, cancel, progress)
        if isinstance(job, StagesJob):
            return stages(self._engine(job.run, progress, cancel), job, cancel)
        if isinstance(job, CompareJob):
            engine_of = partial(self._engine, progress=progress, cancel=cancel)
            return compare(engine_of, job, cancel, progress)
        if isinstance(job, DataJob):
            return write_data(self._engine(job.run, progress, cancel), job, cancel, progress)
        raise ValueError(f"There is nobody to answer a {type(job).__name__}.")
