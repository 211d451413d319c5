"""A run as data: attention, scores, masks, logits, and the flow and the checks beside. Torch-free.

All of one batch row, from one reading: the softmax of the scores where the mask is open is the
attention. What an engine cannot give is told in the notes, and never made up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.export.data_files import check_place, write
from core.mask.dense import dense
from core.mask.padding import position_ids
from core.mask.spec import only_row, whole
from core.run.cancel import CancelToken
from core.run.contract import Runs
from core.run.flow import top_stack
from core.run.side import SideReading
from core.types import (
    CheckReport,
    Data,
    DataArray,
    DataJob,
    FlowResult,
    Inputs,
    MaskSpec,
    Side,
    Stack,
    Written,
)

Arrays = dict[str, DataArray]

_CELLS = ("layer", "head", "query", "key")
_FLOW = {
    "rollout": "part of the output that stands at a node, by attention rollout",
    "value-norm": "the same, weighed by the norms of the values",
    "gradient": "gradient times input of the explained logit, signed",
}
_EDGES = {
    "stack": "of the attention: 0 encoder, 1 decoder, 2 cross",
    "layer": "of the attention",
    "query": "column of the upper node",
    "key": "column of the lower node",
    "head": "with the largest weight; -1 for a residual edge",
    "rollout": "part of the output that passes here",
    "value_norm": "the same, weighed by the norms of the values",
}
_CHECKS = {
    "name": "what was checked",
    "verdict": "PASS, FAIL or REFUSED",
    "difference": "largest absolute difference",
    "tolerance": "what is rounding",
    "sentence": "what was done and what came out",
}


def write_data(
    engine: Runs,
    job: DataJob,
    cancel: CancelToken | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Written:
    """Run, read and write; an older file is replaced as a whole, or stays as it is.

    Raises
    ------
    ValueError
        for a place that cannot be written, or inputs that the model cannot run.
    EngineError
        when the machine cannot do it.
    Cancelled
        when ``cancel`` was set: nothing was written.
    """
    path = Path(job.out)
    check_place(path)
    found = gather(engine, job, cancel, progress)
    if cancel is not None:
        cancel.check()
    if progress is not None:
        progress(f"writing {path.name}", 0.8)
    write(found, path, cancel)
    return Written(str(path), tuple(found.arrays))


def gather(
    engine: Runs,
    job: DataJob,
    cancel: CancelToken | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Data:
    """What a file of ``job`` holds, with ``L``, ``H``, ``Tq``, ``S`` and ``V`` as in `core.types`.

    ``STACK_attention`` and ``STACK_scores`` float32 ``[L, H, Tq, S]`` and ``STACK_mask`` bool
    ``[Tq, S]`` of every stack, ``logits`` float32 ``[Tq, V]``, ``tokens``, ``ids`` and
    ``position_ids`` ``[S]``, those of a source beside. Errors as in `write_data`.
    """
    tell = progress or _nobody
    tell("running the model", 0.0)
    result = engine.run(job.run, cancel)
    tell("reading scores and logits", 0.4)
    reading = engine.reading(Side(job.run.model, job.run, scores=True), cancel)
    inputs, row = job.run.inputs, job.run.row
    masks = _masks(inputs, row)
    parameters = job.parameters | {
        "model": job.run.model,
        "engine": result.engine,
        "device": result.device,
        "dtype": result.dtype,
        "row": row,
        "past": inputs.mask.past,
        "masks": {stack.value: _plain(spec) for stack, spec in masks.items()},
    }
    arrays = _attention(reading, masks, inputs)
    logits = reading.logits[inputs.mask.past :]
    arrays["logits"] = DataArray(logits, ("query", "vocabulary"), "before the softmax")
    arrays |= _columns("", job.tokens, inputs.rows[row], only_row(whole(inputs.mask), row))
    if inputs.source_mask is not None:
        source = only_row(inputs.source_mask, row)
        arrays |= _columns("source_", job.source_tokens, inputs.source[row], source)
    notes = [f"The model was {result.note}."] if result.note else []
    if job.flow is not None:
        arrays |= _flow(job.flow)
        parameters["flow"] = {
            name: getattr(job.flow, name) for name in ("position", "layer", "token")
        }
        notes += job.flow.notes
    if job.report is not None:
        arrays |= _checks(job.report)
        parameters["checks"] = {"engine": job.report.engine, "mask": job.report.mask}
    return Data(arrays, parameters, tuple(notes))


def _masks(inputs: Inputs, row: int) -> dict[Stack, MaskSpec]:
    """The mask of every stack, of one batch row, under the names that are shown."""
    masks = {top_stack(inputs): only_row(inputs.mask, row)}
    if inputs.source_mask is not None and inputs.cross_mask is not None:
        masks |= {
            Stack.ENCODER: only_row(inputs.source_mask, row),
            Stack.CROSS: only_row(inputs.cross_mask, row),
        }
    return {stack: masks[stack] for stack in Stack if stack in masks}


def _plain(spec: MaskSpec) -> dict[str, Any]:
    return asdict(spec) | {"kind": spec.kind.value}


def _attention(reading: SideReading, masks: dict[Stack, MaskSpec], inputs: Inputs) -> Arrays:
    """Weights, scores and mask of every stack; of what makes the output, the query rows alone."""
    arrays: Arrays = {}
    for stack, spec in masks.items():
        only = len(masks) == 1  # A reading calls the only stack of a model its decoder.
        kept = Stack.DECODER if only else stack
        first = 0 if stack is Stack.ENCODER and not only else inputs.mask.past
        for name, found, meaning in (
            ("attention", reading.patterns, "weights after the softmax, 0 where closed"),
            ("scores", reading.scores, "scaled dot products before the mask"),
        ):
            layers = sorted(layer for one, layer in found if one is kept)
            values = np.stack([found[kept, layer][:, first:] for layer in layers])
            arrays[f"{stack.value}_{name}"] = DataArray(values, _CELLS, meaning)
        mask = dense(spec)[0, 0]
        arrays[f"{stack.value}_mask"] = DataArray(mask, _CELLS[2:], "True where query may read key")
    return arrays


def _columns(name: str, tokens: tuple[str, ...], ids: tuple[int, ...], spec: MaskSpec) -> Arrays:
    """Tokens, ids and positions of whole rows, pads and cached ones included."""
    positions = position_ids(spec)[0]
    return {
        f"{name}tokens": DataArray(_texts(tokens), ("column",), "as they are shown"),
        f"{name}ids": DataArray(np.array(ids, np.int64), ("column",), "of the tokens"),
        f"{name}position_ids": DataArray(positions, ("column",), "count real tokens only"),
    }


def _flow(found: FlowResult) -> Arrays:
    arrays: Arrays = {}
    for stack in found.stacks:
        name, axes = f"flow_{stack.stack.value}", ("level", "column")
        arrays[f"{name}_reach"] = DataArray(stack.reach, axes, "True where it can reach the output")
        for method, shares in stack.shares.items():
            own = f"{name}_{method.value.replace('-', '_')}"
            arrays[own] = DataArray(shares, axes, _FLOW[method.value])
    for field in fields(found.edges):
        if field.name in _EDGES:
            values = getattr(found.edges, field.name)
            arrays[f"flow_edge_{field.name}"] = DataArray(values, ("edge",), _EDGES[field.name])
    return arrays


def _checks(report: CheckReport) -> Arrays:
    arrays: Arrays = {}
    for name, meaning in _CHECKS.items():
        found = [getattr(check, name) for check in report.checks]
        if name in ("difference", "tolerance"):
            values: NDArray[Any] = np.array(found, np.float64)  # None becomes NaN.
        else:
            values = _texts(str(getattr(one, "value", one)) for one in found)
        arrays[f"check_{name}"] = DataArray(values, ("check",), meaning)
    return arrays


def _texts(texts: Iterable[str]) -> NDArray[np.str_]:
    """Texts as an array; what UTF-8 cannot hold becomes a question mark."""
    clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
    return np.array(clean, np.str_)


def _nobody(sentence: str, share: float) -> None:
    """Whom progress is told where nobody asks."""
