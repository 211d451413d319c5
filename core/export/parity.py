"""How far an exported model is from torch: the proof that is written beside it."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.atomic import write_file
from core.export.files import Files, Header, find
from core.export.names import Part
from core.export.onnx_export import Progress
from core.export.ort_model import Chunk, OrtModel, State
from core.export.parity_cases import GREEDY, Case, cases, longer
from core.export.session import open_session
from core.model.attention import Trace
from core.model.cache import Cache
from core.model.transformer import Transformer
from core.run.arrays import Arrays, arrays_of
from core.run.cancel import CancelToken
from core.run.contract import EngineError
from core.run.walls import Key
from core.types import (
    BOUNDS,
    LOSSY_BOUNDS,
    Family,
    Inputs,
    MaskSpec,
    ParityCase,
    ParityReport,
    Stack,
)
from core.version import own_version

_FIXED_CASES = 20

Apart = dict[str, float | None]
"""The largest absolute difference of each kind, None for what was not compared."""


def verify(
    model: Transformer,
    path: Path,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
) -> ParityReport:
    """Compare an exported file with the model it was made of, and write the report beside it.

    Raises
    ------
    ValueError
        with a sentence: the file cannot be run, or is one of another model.
    Cancelled
        when ``cancel`` was set.
    """
    files, header = find(path)
    if header.config != model.config:
        raise ValueError(f"{path} was exported from another model: {header.model}.")
    reference = _Torch(model)
    if header.part is Part.FIXED:
        found, providers = _fixed(reference, files, header, seed)
    else:
        exported = OrtModel(files, header, "auto")
        todo, found = list(cases(model.config, seed=seed)), []
        for n, case in enumerate(todo):
            if cancel is not None:
                cancel.check()
            if progress is not None:
                progress(f"comparing with torch: {case.name}", n / len(todo))
            found.append(_compare(reference, exported, case))
        providers = exported.providers
    if progress is not None:
        progress("done", 1.0)
    report = _report(found, providers)
    _write(report, files.parity)
    return report


def _report(found: list[ParityCase], providers: tuple[str, ...]) -> ParityReport:
    versions = {
        "maskscope": own_version(),
        "torch": torch.__version__,
        "onnx": onnx.__version__,
        "onnxruntime": onnxruntime.__version__,
    }
    largest = {}
    for name in BOUNDS:
        values = [value for case in found if (value := getattr(case, name)) is not None]
        largest[name] = float(np.max(values)) if values else None  # Keeps what is not a number.
    verdict = "PASS" if all(case.passed for case in found) else "FAIL"
    greedy = all(case.greedy_equal for case in found)
    return ParityReport(verdict, largest, greedy, tuple(found), providers, versions)


def _write(report: ParityReport, path: Path) -> None:
    text = json.dumps(_plain(asdict(report)), indent=1, allow_nan=False)
    write_file(path, f"{text}\n".encode())


def _plain(value: Any) -> Any:
    """The same with null where JSON has no number for it."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _Traces:
    """A watcher that keeps the pattern of every layer, all batch rows."""

    def __init__(self) -> None:
        self.patterns: dict[Key, NDArray[np.float32]] = {}

    def before_layer(self, stack: Stack, layer: int) -> None:
        """Nothing is asked."""

    def wants(self, stack: Stack, layer: int) -> bool:
        """True: every layer is compared."""
        return True

    def keep(self, stack: Stack, layer: int, trace: Trace) -> None:
        """Take the pattern off the device."""
        self.patterns[stack, layer] = trace.pattern.float().cpu().numpy()


class _Torch:
    """The live model with the cache of `core.model`: the plain other way to the same numbers."""

    def __init__(self, model: Transformer) -> None:
        self.model = model
        self.device = model.tokens.weight.device

    def _on(self, array: NDArray[Any]) -> Tensor:
        return torch.as_tensor(array, device=self.device)

    def begin(self, given: Arrays, traces: _Traces) -> Cache:
        if given.source is None:
            return Cache()
        source = given.source
        read = (self._on(source.ids), self._on(source.positions), self._on(source.mask))
        with torch.inference_mode():
            return self.model.encode(*read, traces)

    def chunk(
        self, cache: Cache, given: Arrays, past: int, stop: int, traces: _Traces
    ) -> NDArray[np.float32]:
        cross = given.cross_mask
        with torch.inference_mode():
            logits: Tensor = self.model(
                self._on(given.ids[:, past:stop]),
                self._on(given.positions[:, past:stop]),
                self._on(given.mask[:, :, past:stop, :stop]),
                cache,
                None if cross is None else self._on(cross[:, :, past:stop]),
                traces,
            )
        return logits.float().cpu().numpy()


def _compare(reference: _Torch, exported: OrtModel, case: Case) -> ParityCase:
    apart: Apart = dict.fromkeys(BOUNDS)
    greedy, error = False, ""
    try:
        greedy = _read_both(reference, exported, case, apart)
    except EngineError as failed:
        error, apart = str(failed), dict.fromkeys(BOUNDS, float("nan"))
    return _case_report(case, apart, greedy, error, exported.dtype)


def _case_report(case: Case, apart: Apart, greedy: bool, error: str, dtype: str) -> ParityCase:
    bounds = LOSSY_BOUNDS.get(dtype, BOUNDS)
    # What is not a number is not below a bound either.
    near = all(value <= bounds[name] for name, value in apart.items() if value is not None)
    passed = near and not error and (greedy or dtype in LOSSY_BOUNDS)
    batch, length = case.given.ids.shape
    return ParityCase(
        case.name,
        batch,
        length,
        len(case.stops),
        **apart,
        greedy_equal=greedy,
        passed=passed,
        dtype=dtype,
        error=error,
    )


def _read_both(reference: _Torch, exported: OrtModel, case: Case, apart: Apart) -> bool:
    """Read a case both ways and go on greedily; True for equal tokens, ``apart`` is filled in."""
    given, traces, past = case.given, _Traces(), 0
    cache = reference.begin(given, traces)
    state = exported.begin(len(given.ids), given.source)
    if state.memory is not None:
        seen = Chunk(np.empty(0, np.float32), (state.memory,))
        _note(apart, "attention", *_patterns(traces, seen))
    equal = True
    for stop in case.stops:
        wanted = reference.chunk(cache, given, past, stop, traces)
        got = exported.chunk(state, given, stop)
        _note(apart, "logits", wanted, got.logits)
        _note(apart, "attention", *_patterns(traces, got))
        equal = equal and _same_tokens(wanted[:, -1], got.logits[:, -1])
        past = stop
    if exported.config.family is not Family.ENCODER:
        for _ in range(GREEDY):
            given = longer(given, wanted[:, -1].argmax(axis=-1), exported.config)
            wanted = reference.chunk(cache, given, past, past + 1, traces)
            got = exported.chunk(state, given, past + 1, rows=np.array([0]))
            equal = equal and _same_tokens(wanted[:, -1], got.logits[:, -1])
            past += 1
    _note(apart, "present", *_present(cache, state))
    return equal


def _note(apart: Apart, name: str, wanted: NDArray[Any], got: NDArray[Any]) -> None:
    if wanted.size:
        difference = float(np.abs(wanted - got).max())
        apart[name] = float(np.maximum(apart[name] or 0.0, difference))  # Keeps not a number.


def _same_tokens(wanted: NDArray[np.float32], got: NDArray[np.float32]) -> bool:
    """The likeliest tokens are the same; of two that torch itself cannot part, either."""
    chosen = np.take_along_axis(wanted, got.argmax(axis=-1)[:, None], axis=-1)[:, 0]
    return bool((chosen >= wanted.max(axis=-1) - BOUNDS["logits"]).all())


def _patterns(traces: _Traces, chunk: Chunk) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """All patterns of a chunk both ways, each as one long vector."""
    wanted, got = [], []
    for seen in chunk.seen:
        for layer in range(len(seen.queries)):
            whole = traces.patterns[seen.stack, layer]
            for row in range(len(whole)):
                wanted.append(whole[row].ravel())
                got.append(seen.pattern(layer, row).ravel())
    return np.concatenate(wanted), np.concatenate(got)


def _present(cache: Cache, state: State) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """All cached keys and values both ways, each as one long vector; empty without a cache."""
    if state.buffers is None:
        return np.empty(0, np.float32), np.empty(0, np.float32)
    pairs = [cache.own[layer] for layer in sorted(cache.own)] + cache.cross
    wanted = [tensor.float().cpu().numpy().ravel() for pair in pairs for tensor in pair]
    own = [state.buffers.filled(n).ravel() for n in range(2 * len(cache.own))]
    cross = [value.numpy().ravel() for value in state.cross]
    return np.concatenate(wanted), np.concatenate([*own, *cross]).astype(np.float32)


def _fixed(
    reference: _Torch, files: Files, header: Header, seed: int
) -> tuple[list[ParityCase], tuple[str, ...]]:
    """Random ids through a file with a fixed mask, and through torch under that mask."""
    assert header.mask is not None
    session = open_session(files.graph(Part.FIXED))
    rng, spec, found = np.random.default_rng(seed), header.mask, []
    for n in range(_FIXED_CASES):
        ids = _ids(rng, header, spec)
        read = {"input_ids": np.array(ids)}
        inputs = Inputs(ids, spec)
        if header.source_mask is not None:
            source = _ids(rng, header, header.source_mask)
            read["source_ids"] = np.array(source)
            inputs = Inputs(ids, spec, source, header.source_mask, header.cross_mask)
        given, traces = arrays_of(inputs), _Traces()
        cache = reference.begin(given, traces)
        wanted = reference.chunk(cache, given, 0, spec.length, traces)
        got = session.run(None, read)[0].astype(np.float32)
        apart: Apart = dict.fromkeys(BOUNDS)
        _note(apart, "logits", wanted, got)
        same = _same_tokens(wanted[0], got[0])
        case = Case(f"ids {n}", given, (spec.length,))
        found.append(_case_report(case, apart, same, "", header.dtype))
    return found, tuple(session.get_providers())


def _ids(rng: np.random.Generator, header: Header, spec: MaskSpec) -> tuple[tuple[int, ...]]:
    return (tuple(rng.integers(0, header.config.vocabulary, spec.length).tolist()),)
