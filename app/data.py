"""From a state to the job that writes it as data: pure."""

from __future__ import annotations

import platform
from dataclasses import asdict
from typing import Any

from app.doctor import RUNTIMES
from app.scene import Scene
from app.state import ViewState
from core.text.tokenizer import Tokenizer
from core.types import CheckReport, DataJob, FlowResult, RunRequest
from core.version import own_version, version_of


def data_job(
    state: ViewState,
    scene: Scene,
    run: RunRequest,
    words: Tokenizer,
    out: str,
    beside: tuple[FlowResult | None, CheckReport | None] = (None, None),
) -> DataJob:
    """What writes a run to ``out``, with the flow and the checks that stand ``beside``."""
    inputs = scene.inputs
    source = inputs.source[scene.row] if inputs.source else ()
    flow, report = beside
    return DataJob(
        0,
        run,
        out,
        tuple(words.pieces(inputs.rows[scene.row])),
        tuple(words.pieces(source)),
        _parameters(state),
        flow,
        report,
    )


def _parameters(state: ViewState) -> dict[str, Any]:
    """What made a run, in plain values."""
    names = ["numpy", *(RUNTIMES if state.backend == "onnx" else ("torch",))]
    installed = {name: version for name in names if (version := version_of(name))}
    return {
        "family": state.family.value,
        "backend": state.backend,
        "texts": [asdict(row) for row in state.rows],
        "versions": {"maskscope": own_version(), "python": platform.python_version(), **installed},
    }
