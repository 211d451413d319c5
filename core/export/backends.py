"""The backend table: one mask through every implementation of attention, beside plain loops."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from core.export import backend_runs as runs
from core.export.backend_causes import TOLERANCE, Case, differences, sentence
from core.export.onnx_export import Progress
from core.mask.intervals import row_intervals
from core.run.cancel import Cancelled, CancelToken
from core.types import BackendRow, BackendsJob, BackendTable, MaskKind

HEADS, WIDTH = 2, 16
"""Heads, and features of each, of the random queries, keys and values."""
MOST_CELLS = 2**20
"""The largest mask that is run: 1024 x 1024, which the loops read in some seconds."""
_REFERENCE = "plain loops in float64"

_BACKENDS: dict[str, runs.Run] = {
    "softmax, closed = minus infinity": runs.minus_infinity,
    "softmax, closed = lowest float": runs.lowest,
    "SDPA, bool mask": runs.fused_bool,
    "SDPA, additive mask": runs.fused_additive,
    "SDPA, is_causal": runs.fused_causal,
    "MultiheadAttention": runs.multihead,
    "MultiheadAttention, mask not inverted": runs.multihead_unconverted,
    "FlexAttention": runs.flex_compiled,
    "ONNX Runtime, opset 18": runs.onnx(18),
    "ONNX Runtime, opset 24": runs.onnx(24),
}


def backends(
    job: BackendsJob, *, progress: Progress | None = None, cancel: CancelToken | None = None
) -> BackendTable:
    """Run a mask through every backend that is there, on the CPU.

    The reference are loops over queries in float64; a query that may read nothing is 0 there.
    The first call of a process exports two graphs and compiles a kernel, which takes some ten
    seconds; later ones are quick.

    Raises
    ------
    ValueError
        for a mask of more than `MOST_CELLS` cells.
    Cancelled
        when ``cancel`` was set; it is asked before every backend.
    """
    case = _case(job)
    wanted = case.under(case.mask)
    found = []
    for n, (name, run) in enumerate(_BACKENDS.items()):
        if progress is not None:
            progress(f"running {name}", n / len(_BACKENDS))
        if cancel is not None:
            cancel.check()
        if run is runs.flex_compiled:
            found.append(_flex(case, wanted, cancel))
        else:
            found.append(_row(name, run, case, wanted))
    if progress is not None:
        progress("done", 1.0)
    return BackendTable(
        job.generation, case.mask, tuple(found), TOLERANCE, _REFERENCE, job.spec.past
    )


def _case(job: BackendsJob) -> Case:
    spec = job.spec
    rows, keys = spec.length, spec.keys
    if rows * keys > MOST_CELLS:
        raise ValueError(
            f"The mask has {rows * keys:,} cells ({rows} x {keys}), but at most {MOST_CELLS:,} are"
            " run through the backends; take a smaller length."
        )
    mask = row_intervals(spec, job.row).dense() if job.cells is None else job.cells
    triangles = [np.tri(rows, keys, more, dtype=bool) for more in (0, keys - rows)]
    causal = any(np.array_equal(mask, triangle) for triangle in triangles)
    if job.cells is None:
        causal = causal or spec.kind in (MaskKind.CAUSAL, MaskKind.DECODER_SELF)
    rng = np.random.default_rng(job.seed)
    query, key, value = (
        rng.standard_normal((HEADS, length, WIDTH), np.float32) for length in (rows, keys, keys)
    )
    return Case(query, key, value, np.ascontiguousarray(mask), spec.past, causal)


def _row(name: str, run: runs.Run, case: Case, wanted: NDArray[np.float64]) -> BackendRow:
    """One line of the table; whatever a backend raises becomes its sentence."""
    try:
        with warnings.catch_warnings(), torch.inference_mode():
            warnings.simplefilter("ignore")
            output = run(case)
    except Cancelled:
        raise
    except runs.Unavailable as error:
        return _absent(name, str(error))
    except Exception as error:  # A backend that cannot do it is a finding, whatever it raises.
        return _absent(name, f"cannot run it: {_first_line(error)}")
    difference = differences(output, wanted)
    return BackendRow(name, True, difference, sentence(case, output, ~(difference <= TOLERANCE)))


def _flex(case: Case, wanted: NDArray[np.float64], cancel: CancelToken | None) -> BackendRow:
    """FlexAttention compiled, or without its compiler where that does not work here."""
    compiled = _row(
        "FlexAttention, compiled", partial(runs.flex_compiled, cancel=cancel), case, wanted
    )
    if compiled.available:
        return compiled
    eager = _row("FlexAttention, eager", runs.flex_eager, case, wanted)
    return BackendRow(
        eager.name, eager.available, eager.difference, f"{eager.sentence}; {compiled.sentence}"
    )


def _absent(name: str, why: str) -> BackendRow:
    return BackendRow(name, False, np.empty(0, np.float32), why)


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0].rstrip(".")
