"""What a model says of a state: the same state, scene and engine as the window's."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from app.cli.mask import row_facts
from app.cli.models import is_file
from app.cli.options import tokenizer
from app.cli.output import Failure, table
from app.scene import Scene, request, scene
from app.state import ViewState
from core import paths
from core.mask.closed_form import allowed_pairs
from core.mask.intervals import row_intervals
from core.mask.padding import position_ids
from core.mask.spec import only_row
from core.text.tokenizer import Tokenizer
from core.types import HeadRef, HeadRequest, MaskSpec, RunResult, Stack
from core.types.wording import a_mask, counted

if TYPE_CHECKING:
    from core.run.contract import Runs


@contextmanager
def engine(model: str = "", backend: str | None = None) -> Iterator[Runs]:
    """An engine for a model; torch is imported only where it is needed.

    An exported file is run by ONNX Runtime, and so is a bundled model whose ``backend`` is "onnx":
    it is exported first, once. What the machine cannot do becomes a `Failure`.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # Read when torch is imported.
    from core.run.contract import EngineError

    try:
        if is_file(model) or backend == "onnx":
            from core.export.ort_engine import OrtEngine

            yield OrtEngine({} if is_file(model) else {model: _exported(model)})
        else:
            from core.run.engine import Engine

            yield Engine(paths.MODELS)
    except EngineError as error:
        raise Failure(str(error)) from error


def _exported(model: str) -> Path:
    """A bundled model as a file in the user's cache, made where it is not there yet."""
    from core.export.store import kept

    found = kept(model, paths.MODELS)
    if found.is_made:
        return found.path
    print(f"maskscope: exporting {model} to ONNX, once", file=sys.stderr)
    found.make()
    return found.path


@dataclass(frozen=True)
class Reading:
    """One run: what was read, under which mask, and what came out at the shown batch row."""

    state: ViewState
    scene: Scene
    result: RunResult
    patterns: dict[str, NDArray[np.float32]]
    """``encoder``, ``decoder`` and ``cross``, each ``[L, H, Tq, S]``."""

    @property
    def spec(self) -> MaskSpec:
        """The mask that makes the output, of the shown batch row alone."""
        return only_row(self.scene.inputs.mask, self.scene.row)

    @property
    def ids(self) -> tuple[int, ...]:
        """Token ids of the shown batch row, those in the cache included."""
        return self.scene.inputs.rows[self.scene.row]

    @property
    def query_ids(self) -> tuple[int, ...]:
        """Token ids of the query rows."""
        return self.ids[self.spec.past :]

    @property
    def masks(self) -> dict[str, MaskSpec]:
        """The masks of the shown batch row: ``mask``, and those of an encoder-decoder's source."""
        inputs = self.scene.inputs
        named = {"mask": inputs.mask}
        if inputs.source_mask is not None and inputs.cross_mask is not None:
            named |= {"encoder_mask": inputs.source_mask, "cross_mask": inputs.cross_mask}
        return {name: only_row(spec, self.scene.row) for name, spec in named.items()}


def read(engine: Runs, state: ViewState, *, top: int = 8) -> Reading:
    """Run a state, and take the attention of every head."""
    shown = scene(state, tokenizer(state.model))
    result = engine.run(request(state, shown, top=top))
    patterns = {
        maps.stack.value: np.stack(
            [
                [_pattern(engine, maps.stack, layer, head) for head in range(maps.thumbs.shape[1])]
                for layer in range(maps.thumbs.shape[0])
            ]
        )
        for maps in result.maps
    }
    return Reading(state, shown, result, patterns)


def _pattern(engine: Runs, stack: Stack, layer: int, head: int) -> NDArray[np.float32]:
    found = engine.head(HeadRequest(1, HeadRef(stack, layer, head)))
    assert found is not None
    return found.pattern


def as_arrays(reading: Reading) -> dict[str, NDArray[Any]]:
    """The content of an ``.npz`` file; shapes in letters as in `core.types`."""
    spec, inputs = reading.spec, reading.scene.inputs
    arrays: dict[str, NDArray[Any]] = {
        f"{stack}_pattern": pattern for stack, pattern in reading.patterns.items()
    }
    arrays |= {name: row_intervals(mask).dense() for name, mask in reading.masks.items()}
    arrays |= {
        "ids": np.array(reading.ids),
        "position_ids": position_ids(spec)[0],
        "past": np.array(spec.past),
        "top_ids": reading.result.top_ids,
        "top_probabilities": reading.result.top_probs,
    }
    if inputs.source_mask is not None:
        arrays["source_ids"] = np.array(inputs.source[reading.scene.row])
        arrays["source_position_ids"] = position_ids(reading.masks["encoder_mask"])[0]
    return arrays


def as_plain(reading: Reading, words: Tokenizer) -> dict[str, Any]:
    """The content of a JSON file."""
    result, facts = reading.result, row_facts(reading.spec, 0)
    plain: dict[str, Any] = {
        "model": result.model,
        "mask_kind": reading.spec.kind.value,
        "device": result.device,
        "dtype": result.dtype,
        "seconds": round(result.seconds, 6),
        "note": result.note,
        "past": reading.spec.past,
        "cache_bytes": result.cache_bytes,
        "cache_difference": result.cache_difference,
        "allowed_pairs": facts["allowed_pairs"],
        "ids": list(reading.ids),
        "tokens": words.pieces(reading.ids),
        "position_ids": facts["position_ids"],
    }
    if reading.scene.inputs.source_mask is not None:
        source = reading.scene.inputs.source[reading.scene.row]
        plain |= {"source_ids": list(source), "source_tokens": words.pieces(source)}
    for name, spec in reading.masks.items():
        plain[name] = row_facts(spec, 0)["rows"]
    return plain | {"candidates": said(result, words)}


def said(result: RunResult, words: Tokenizer) -> list[list[dict[str, Any]]]:
    """The likeliest tokens at each query row."""
    tops = zip(result.top_ids, result.top_probs, strict=True)
    return [candidates(ids, probabilities, words) for ids, probabilities in tops]


def candidates(
    ids: NDArray[np.int32], probabilities: NDArray[np.float32], words: Tokenizer
) -> list[dict[str, Any]]:
    """The likeliest tokens at one place, best first."""
    return [
        {"id": int(i), "token": words.label(int(i)), "probability": round(float(p), 6)}
        for i, p in zip(ids, probabilities, strict=True)
    ]


def in_words(found: list[dict[str, Any]], count: int = 5) -> str:
    """Candidates in a line: each with its probability."""
    return "  ".join(f"{one['token']} {one['probability']:.2f}" for one in found[:count])


def as_table(reading: Reading, words: Tokenizer) -> str:
    """What is printed: the mask in a line, then a line for each query row."""
    spec, result = reading.spec, reading.result
    size = f"{spec.length} x {spec.keys}, {counted(allowed_pairs(spec), 'pair')}"
    lines = [
        f"{result.model} under {a_mask(spec.kind)} ({size}) on {result.device},"
        f" {result.dtype}, {1000 * result.seconds:.1f} ms"
    ]
    if result.note:
        lines.append(f"note: {result.note}")
    if reading.scene.inputs.source_mask is not None:
        source = reading.scene.inputs.source[reading.scene.row]
        lines.append(f"source: {' '.join(words.pieces(source))}")
    if result.cache_difference is not None:
        lines.append(
            f"cache: {counted(spec.past, 'key')}, {result.cache_bytes / 1024:.1f} KiB; largest"
            f" difference to the uncached run {result.cache_difference:.1e}"
        )
    heading = "likeliest next tokens" if spec.kind.is_causal else "likeliest tokens here"
    reads = row_intervals(spec).dense().sum(axis=1)
    positions = position_ids(spec)[0, spec.past :]
    columns = zip(positions, reading.query_ids, reads, said(result, words), strict=True)
    rows = [
        (str(position), words.label(token), str(count), in_words(found))
        for position, token, count, found in columns
    ]
    return "\n".join([*lines, "", table(("position", "token", "reads", heading), rows)])
