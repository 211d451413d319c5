"""Checks of what must not matter: padding, the cache, the other rows of a batch, the time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from core.run.checks.bench import Bench, Pair, refused, shown, spread
from core.run.checks.parting import difference
from core.types import Check, Family, MaskKind, Verdict
from core.types.wording import counted

PADS = 3
MOST_OFFSETS = 64
"""Cache offsets that are tried; of longer texts as many, evenly chosen."""
MOST_TOKENS = 64
"""Columns that are read token by token: the last ones."""
_CHUNK = 3


def padding(bench: Bench) -> Check:
    """Pads on either side change nothing at the real tokens; batch against alone."""
    name, text = "padding", bench.text
    two = text.source_spec is not None
    alone = Pair(text.batch([text.ids]))
    left, right = (PADS, 0, 1), (0, PADS, PADS - 1)
    pads: dict[str, Any] = {"source_left": left, "source_right": right} if two else {}
    # Targets are padded on the left, where they grow.
    sides = ((PADS,) * 3, (0,) * 3) if two else (left, right)
    batch = text.batch([text.ids] * 3, *sides, **pads)
    places = ("on the left", "on the right", "on both sides")
    pairs = [
        (f"{PADS} pads {places[row]} change the output", Pair(batch, row), alone)
        for row in range(3)
    ]
    told = f"{PADS} pads on the left, on the right and on both sides change nothing."
    return bench.agree(name, pairs, f"{told} {_without_positions(bench)}")


def _without_positions(bench: Bench) -> str:
    """How far the output moves if pads are counted as positions."""
    text = bench.text
    alone, padded = text.batch([text.ids]), text.batch([text.ids], (PADS,), (0,))
    most = bench.subject.config.positions - 1
    counted = np.minimum(np.arange(padded.mask.length), most)[None]
    wrong = bench.subject.read(padded, positions=counted)
    right = bench.subject.read(alone)
    apart = difference(shown(wrong, padded, 0), shown(right, alone, 0))
    return f"If pads counted as positions, the logits would move by {float(apart.max()):.1e}."


def cache(bench: Bench) -> Check:
    """Cached reading equals uncached: at every offset, token by token, and in chunks."""
    name, text, config = "cache", bench.text, bench.subject.config
    if not text.spec.kind.is_causal:
        return refused(
            name,
            f"Under a {text.spec.kind.value} mask every state changes with every new token:"
            " nothing can be cached.",
        )
    if config.family is Family.ENCODER and bench.subject.engine != "torch":
        return refused(name, "An encoder is exported without a cache.")
    first = max(text.spec.prefix, 1) if text.spec.kind is MaskKind.PREFIX else 1
    if first >= text.length:
        return refused(name, f"{text.length} tokens leave none to read after the cache.")
    # Two rows, one of them with pads, so that offsets and pads meet.
    inputs = text.batch([text.ids, text.ids], (0, 2), (2, 0))
    width = inputs.mask.length
    first += 2 if text.spec.kind is MaskKind.PREFIX else 0
    offsets = [first + int(n) for n in spread(width - first, MOST_OFFSETS)]
    ways: list[tuple[str, tuple[int, ...]]] = [
        (f"A cache of {n} columns changes the output", (n,)) for n in offsets
    ]
    by_token = tuple(range(max(first, width - MOST_TOKENS), width))
    ways.append(("Reading token by token changes the output", by_token))
    chunks = tuple(range(first, width, _CHUNK))
    ways.append((f"Reading in chunks of {_CHUNK} changes the output", chunks))
    pairs = [
        (what, Pair(inputs, row, stops), Pair(inputs, row))
        for what, stops in ways
        for row in (0, 1)
    ]
    count = counted(len(offsets), "cache offset")
    if len(offsets) == width - first > 1:
        count = f"All {count}"
    told = (
        f"{count} in rows of {width} columns, 2 of them pads, token by token and chunks of"
        f" {_CHUNK} give what one piece gives."
    )
    return bench.agree(name, pairs, told)


def order(bench: Bench) -> Check:
    """Each row of a batch reads as it does alone: masks belong to their rows, not to others'."""
    name, text = "batch order", bench.text
    two = text.source_spec is not None
    rows = [text.ids, bench.changed([0]), bench.changed([text.length - 1])]
    left, right = (0, 2, 4), (4, 2, 0)
    pads: dict[str, Any] = {"source_left": left, "source_right": right} if two else {}
    batch = text.batch(rows, left, right, **pads)
    pairs = []
    for row, ids in enumerate(rows):
        alone = replace(text, ids=ids).batch([ids])
        what = f"Row {row} of a batch of 3 reads otherwise than alone"
        pairs.append((what, Pair(batch, row), Pair(alone)))
    return bench.agree(
        name, pairs, "Each row of a batch of 3, with other tokens and pads, reads as it does alone."
    )


def determinism(bench: Bench) -> Check:
    """The same inputs give the same numbers, bit for bit."""
    inputs = bench.text.batch([bench.text.ids])
    one, other = (bench.subject.read(inputs).logits for _ in range(2))
    apart = float(np.abs(one - other).max())
    verdict = Verdict.PASS if np.array_equal(one, other) else Verdict.FAIL
    same = "the same numbers" if verdict is Verdict.PASS else "other numbers"
    sentence = f"Two runs of the same inputs give {same}."
    return Check("determinism", verdict, sentence, apart, 0.0)
