"""ONNX Runtime: opening a file, running it so that it can be stopped, and what it runs on."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import onnxruntime

from core.run.cancel import Cancelled, CancelToken
from core.run.contract import EngineError

_SMALL = 32 * 2**20
"""Bytes of weights up to which one thread is the fastest."""
_NO_LOG = 4
"""Only fatal messages: what goes wrong is raised, and a missing CUDA shows in the providers."""


def open_session(path: Path, device: str = "auto") -> Any:
    """A session on the fastest provider that is there, or on the one that is asked for.

    ``session.get_providers()`` tells what it really runs on; the list of what is available does
    not, for it names a CUDA whose libraries are missing.

    Raises
    ------
    ValueError
        for a device that is not there, or a file that ONNX Runtime cannot run.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise ValueError(f"device is {device!r}, but ONNX Runtime runs on auto, cpu or cuda.")
    onnxruntime.set_default_logger_severity(_NO_LOG)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _NO_LOG
    options.inter_op_num_threads = 1
    spare = max(1, (os.cpu_count() or 2) - 1)
    weights = path.with_name(f"{path.name}.data")
    size = (weights if weights.is_file() else path).stat().st_size
    options.intra_op_num_threads = 1 if size < _SMALL else spare
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    known = onnxruntime.get_available_providers()
    wanted = ["CUDAExecutionProvider"] if device != "cpu" else []
    names = [*(name for name in wanted if name in known), "CPUExecutionProvider"]
    try:
        session = onnxruntime.InferenceSession(path, options, providers=names)
    except Exception as error:  # The errors of ONNX Runtime share no base of their own.
        raise ValueError(_why_not(path, error)) from error
    if device == "cuda" and on_device(session) != "cuda":
        raise ValueError("There is no device 'cuda' for ONNX Runtime here; choose cpu.")
    return session


def on_device(session: Any) -> str:
    """Where a session keeps its tensors: "cuda" or "cpu"."""
    return "cuda" if "CUDAExecutionProvider" in session.get_providers() else "cpu"


def missing(session: Any) -> str:
    """In words, the CUDA that the runtime was built for and whose libraries it cannot load."""
    known = "CUDAExecutionProvider" in onnxruntime.get_available_providers()
    return " (no CUDA)" if known and on_device(session) != "cuda" else ""


def _why_not(path: Path, error: Exception) -> str:
    told, runtime = str(error), f"ONNX Runtime {onnxruntime.__version__}"
    unknown = re.search(r"No Op registered for (\S+)|([\w.:]+)\(\d+\) is not a registered", told)
    if unknown is None:
        unknown = re.search(r"implementation for ([\w.]+)", told)
    if unknown is not None:
        operator = next(group for group in unknown.groups() if group)
        return f"{path} uses the operator {operator}, which {runtime} does not know."
    return f"{path} cannot be run by {runtime}: {_reason(error)}."


def run_bound(session: Any, binding: Any, cancel: CancelToken | None) -> None:
    """Run what is bound; a cancel ends it between two nodes.

    Raises
    ------
    EngineError
        when ONNX Runtime cannot do it.
    Cancelled
        when ``cancel`` was set.
    """
    try:
        if cancel is None:
            session.run_with_iobinding(binding)
            return
        options = onnxruntime.RunOptions()
        with cancel.calling(lambda: setattr(options, "terminate", True)):
            session.run_with_iobinding(binding, options)
    except Cancelled:
        raise
    except Exception as error:  # The errors of ONNX Runtime share no base of their own.
        if cancel is not None:
            cancel.check()
        raise EngineError(f"ONNX Runtime could not run the model: {_reason(error)}.") from error


def _reason(error: Exception) -> str:
    """The last piece of an error, which is what a reader can use."""
    return str(error).rsplit(" : ", 1)[-1].strip().splitlines()[0].rstrip(".")
