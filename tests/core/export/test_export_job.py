"""The export as a job: what is there after a stop is told as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from core import paths
from core.export.jobs import export_job
from core.run.cancel import Cancelled, CancelToken
from core.types import ExportJob


class Stopper:
    """Stops a job at the first step that begins with a word."""

    def __init__(self, word: str) -> None:
        self.word, self.token = word, CancelToken()

    def progress(self, sentence: str, share: float) -> None:
        if sentence.startswith(self.word):
            self.token.cancel()


@pytest.fixture
def job(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ExportJob:
    monkeypatch.setattr(paths, "MODELS", folder)
    return ExportJob(0, "decoder", str(tmp_path / "a.onnx"))


def test_a_stop_of_the_comparison_leaves_the_files_and_says_so(job: ExportJob) -> None:
    stopper, graph = Stopper("comparing"), Path(job.out)
    done = export_job(job, stopper.progress, stopper.token)
    assert done.report is None
    assert done.report_file == ""
    assert done.graphs == (job.out,)
    assert done.sizes[0] >= graph.stat().st_size > 0
    assert not graph.with_suffix(".parity.json").exists()


@pytest.mark.parametrize("step", ["exporting", "checking", "moving"])
def test_a_stop_before_that_writes_nothing(job: ExportJob, step: str) -> None:
    stopper = Stopper(step)
    with pytest.raises(Cancelled):
        export_job(job, stopper.progress, stopper.token)
    assert list(Path(job.out).parent.iterdir()) == []
