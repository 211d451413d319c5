"""From the options of a command to what a model says: the same state and scene as the window's."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from app.cli.mask import add_shape, row_facts, spread
from app.cli.models import model_names
from app.cli.output import Failure, table
from app.cli.values import whole
from app.scene import Scene, scene
from app.state import FAMILY_KIND, RowState, ViewState, initial
from core.checkpoints import cards
from core.mask.closed_form import allowed_pairs
from core.mask.intervals import row_intervals
from core.mask.padding import position_ids
from core.mask.spec import only_row
from core.paths import TOKENIZER
from core.text.tokenizer import Tokenizer
from core.types import (
    Family,
    HeadRef,
    HeadRequest,
    MaskKind,
    MaskSpec,
    ModelCard,
    RunRequest,
    RunResult,
    Stack,
)

if TYPE_CHECKING:
    from core.run.engine import Engine

_FAMILY = {kind: family for family, kind in FAMILY_KIND.items()}


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which model reads what, and under which mask."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="a name that `maskscope models` lists")
    add("--text", action="append", required=True, help="the text; once more for another batch row")
    add("--target", action="append", help="the decoder's text of an encoder-decoder, by row")
    add("--row", type=whole(0), default=0, metavar="N", help="the batch row that is shown")
    kinds = [kind.value for kind in _FAMILY]
    add("--mask", choices=kinds, help="the rule of the mask; default: what it was trained under")
    add_shape(parser)
    add("--device", default="auto", help="auto, cpu, cuda or mps")
    add("--dtype", default="float32", help="float32; float16 or bfloat16 on cuda")


def view_state(args: argparse.Namespace) -> ViewState:
    """The state that the options describe.

    Raises
    ------
    ValueError
        with a sentence where an option cannot be, or would not do anything.
    """
    model_names()
    card = cards.card(args.model)
    state = replace(
        initial(_family(card, args.mask)),
        model=card.name,
        rows=_rows(args, card.family is Family.ENCODER_DECODER),
        row=args.row,
        past=args.past,
        window=args.window,
        documents=args.documents,
        device=args.device,
        dtype=args.dtype,
    )
    if args.row >= len(state.rows):
        raise ValueError(f"row is {args.row}, but must be between 0 and {len(state.rows) - 1}.")
    return _with_prefix(state, args.prefix)


def _family(card: ModelCard, mask: str | None) -> Family:
    if mask is None:
        return card.family
    family = _FAMILY[MaskKind(mask)]
    if (family is Family.ENCODER_DECODER) != (card.family is Family.ENCODER_DECODER):
        allowed = [k.value for f, k in FAMILY_KIND.items() if f is not Family.ENCODER_DECODER]
        if card.family is Family.ENCODER_DECODER:
            allowed = [MaskKind.DECODER_SELF.value]
        raise ValueError(f"mask is {mask}, but must be {' or '.join(allowed)} for {card.name}.")
    return family


def _rows(args: argparse.Namespace, two_texts: bool) -> tuple[RowState, ...]:
    texts, targets = args.text, args.target or [""]
    if args.target and not two_texts:
        raise ValueError(f"target is given, but only an encoder-decoder has one: not {args.model}.")
    if two_texts and args.documents:
        raise ValueError("documents are given, but an encoder-decoder packs none.")
    left, right = spread(args.left_pad, args.right_pad)
    count = len(texts)
    columns = []
    for name, values in (("target", targets), ("left_pad", left), ("right_pad", right)):
        if len(values) not in (1, count):
            raise ValueError(f"{name} has {len(values)} values, but must have 1 or {count}.")
        columns.append(list(values) * count if len(values) == 1 else list(values))
    return tuple(
        RowState(text, target, left_pad=before, right_pad=after)
        for text, target, before, after in zip(texts, *columns, strict=True)
    )


def _with_prefix(state: ViewState, prefix: int | None) -> ViewState:
    """The prefix that was asked for, or the window's first one, cut to the shortest row."""
    if prefix is not None:
        if state.family is not Family.PREFIX and prefix:
            raise ValueError(f"prefix is {prefix}, but must be 0 unless the mask is prefix.")
        return replace(state, prefix=prefix)
    if state.family is not Family.PREFIX:
        return state
    spec = scene(replace(state, prefix=0), tokenizer()).inputs.mask
    shortest = min(spec.real_tokens(b) for b in range(spec.rows))
    return replace(state, prefix=min(state.prefix, shortest))


def tokenizer() -> Tokenizer:
    """The one tokenizer of all models."""
    return Tokenizer.load(TOKENIZER)


@contextmanager
def engine() -> Iterator[Engine]:
    """An engine; torch is imported here. What the machine cannot do becomes a `Failure`."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # Read when torch is imported.
    from core.run.engine import Engine, EngineError

    try:
        yield Engine()
    except EngineError as error:
        raise Failure(str(error)) from error


def request(state: ViewState, shown: Scene, *, top: int = 8) -> RunRequest:
    """What the engine is asked for a state."""
    return RunRequest(
        generation=1,
        model=state.model,
        inputs=shown.inputs,
        head=state.head,
        row=shown.row,
        top=top,
        device=state.device,
        dtype=state.dtype,
    )


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


def read(engine: Engine, state: ViewState, *, top: int = 8) -> Reading:
    """Run a state, and take the attention of every head."""
    shown = scene(state, tokenizer())
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


def _pattern(engine: Engine, stack: Stack, layer: int, head: int) -> NDArray[np.float32]:
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
    return plain | {
        "candidates": [candidates(*row, words) for row in zip(*_tops(result), strict=True)]
    }


def _tops(result: RunResult) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    return result.top_ids, result.top_probs


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
    size = f"{spec.length} x {spec.keys}, {allowed_pairs(spec)} pairs"
    lines = [
        f"{result.model} under a {spec.kind.value} mask ({size}) on {result.device},"
        f" {result.dtype}, {1000 * result.seconds:.1f} ms"
    ]
    if result.note:
        lines.append(f"note: {result.note}")
    if reading.scene.inputs.source_mask is not None:
        source = reading.scene.inputs.source[reading.scene.row]
        lines.append(f"source: {' '.join(words.pieces(source))}")
    if result.cache_difference is not None:
        lines.append(
            f"cache: {spec.past} keys, {result.cache_bytes / 1024:.1f} KiB; largest difference to"
            f" the uncached run {result.cache_difference:.1e}"
        )
    says = "likeliest next tokens" if spec.kind.is_causal else "likeliest tokens here"
    reads = row_intervals(spec).dense().sum(axis=1)
    positions = position_ids(spec)[0, spec.past :]
    rows = [
        (str(position), words.label(token), str(count), in_words(candidates(*top, words)))
        for position, token, count, *top in zip(
            positions, reading.query_ids, reads, *_tops(result), strict=True
        )
    ]
    return "\n".join([*lines, "", table(("position", "token", "reads", says), rows)])
