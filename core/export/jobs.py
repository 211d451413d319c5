"""The export as a job of the window: write, then compare, in one piece."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from core import paths
from core.checkpoints import bundled
from core.export.names import Part, parts_of
from core.export.onnx_export import ExportError, Progress, export
from core.export.parity import verify
from core.run.cancel import Cancelled, CancelToken
from core.run.contract import EngineError
from core.types import Exported, ExportJob

_EXPORTING = 0.6
"""The share of the time that the export takes where it is compared afterwards."""


def export_job(job: ExportJob, progress: Progress, cancel: CancelToken) -> Exported:
    """Write the files and the report; a stop while they are compared leaves them without one.

    Raises
    ------
    ValueError
        for a place that cannot be written, or something that cannot be exported.
    EngineError
        when the exporter made something that is not what was asked for.
    Cancelled
        when ``cancel`` was set before the files were in place: older ones are as they were.
    """
    model = bundled.load(job.model, paths.MODELS)
    first = _EXPORTING if job.verify else 1.0

    def exporting(sentence: str, share: float) -> None:
        progress(sentence, first * share)

    def comparing(sentence: str, share: float) -> None:
        progress(sentence, first + (1 - first) * share)

    try:
        files = export(
            model,
            Path(job.out),
            name=job.model,
            dtype=job.dtype,
            fixed_mask=job.mask,
            source_mask=job.source_mask,
            progress=exporting,
            cancel=cancel,
        )
    except ExportError as error:
        raise EngineError(str(error)) from error
    parts = parts_of(model.config) if job.mask is None else (Part.FIXED,)
    graphs = [files.graph(part) for part in parts]
    report = None
    if job.verify:
        with suppress(Cancelled):
            report = verify(model, graphs[-1], progress=comparing, cancel=cancel)
    return Exported(
        tuple(str(path) for path in graphs),
        tuple(_size(path) for path in graphs),
        str(files.tokenizer),
        report,
        str(files.parity) if report else "",
    )


def _size(graph: Path) -> int:
    """Bytes of a graph and of the weights beside it."""
    weights = graph.with_name(f"{graph.name}.data")
    return graph.stat().st_size + (weights.stat().st_size if weights.is_file() else 0)
