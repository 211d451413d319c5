"""Checks of what the mask closes: weights, the boundary, the prefix, the documents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.mask.dense import dense
from core.mask.padding import real_tokens
from core.mask.reach import upstream
from core.mask.spec import document_starts
from core.run.checks.bench import Bench, Pair, refused, shown, spread
from core.run.checks.parting import Rows, difference, in_order
from core.run.walls import Key
from core.types import Check, Family, Inputs, MaskKind, MaskSpec, Place, Stack, Verdict

MOST_COLUMNS = 64
"""Tokens that are changed one by one; of longer texts as many, evenly chosen."""
_AT_ONCE = 16
_SUM = 1e-3
"""How far the weights of a row may be from adding up to 1."""


def attention(bench: Bench) -> Check:
    """No weight on a closed cell; the weights of a row add up to 1, or to 0 if it reads nothing."""
    name, text = "weights", bench.text
    if bench.subject.blind_to_weights:
        return refused(name, bench.subject.blind_to_weights)
    pads: dict[str, Any] = {}
    if text.source:
        pads = {"source_left": (0, 2), "source_right": (2, 0)}
    inputs = text.batch([text.ids, text.ids], (0, 2), (2, 0), **pads)
    reading = bench.subject.read(inputs, patterns=True)
    largest = 0.0
    for key in sorted(reading.patterns, key=in_order):
        pattern, open_cells = reading.patterns[key], _declared(inputs, key, bench)
        real = real_tokens(_queries(inputs, key))[:, None, :]  # What a pad reads is never scored.
        on_closed = np.where(open_cells | ~real[..., None], 0.0, pattern)
        sums = np.where(real, np.abs(pattern.sum(axis=-1) - open_cells.any(axis=-1)), 0.0)
        for found, why in ((on_closed.max(axis=-1), _LEAKS), (sums, _SUMS)):
            limit = 0.0 if why is _LEAKS else _SUM
            bad = ~(found <= limit)
            if bad.any():
                row, head, query = (int(n) for n in np.argwhere(bad)[0])
                place = Place(query - _queries(inputs, key).left_pad[row], *key, head)
                sentence = f"{why} in {place.sentence()}."
                return Check(name, Verdict.FAIL, sentence, float(np.nanmax(found)), limit, place)
        largest = max(largest, float(on_closed.max()))
    return Check(name, Verdict.PASS, _KEEPS, largest, 0.0)


_LEAKS = "A closed cell has weight"
_SUMS = "The weights of a row do not add up to 1"
_KEEPS = "No head puts weight on a closed cell, and the weights of every row add up to 1."


def _declared(inputs: Inputs, key: Key, bench: Bench) -> NDArray[np.bool_]:
    """The declared mask of a stack, ``[B, 1, Tq, S]``."""
    stack = key[0]
    two = bench.subject.config.family is Family.ENCODER_DECODER
    spec = inputs.mask
    if stack is Stack.CROSS and inputs.cross_mask is not None:
        spec = inputs.cross_mask
    elif two and stack is Stack.ENCODER and inputs.source_mask is not None:
        spec = inputs.source_mask
    return dense(spec)


def _queries(inputs: Inputs, key: Key) -> MaskSpec:
    """The mask whose columns are the queries of a stack."""
    if key[0] is Stack.ENCODER and inputs.source_mask is not None:
        return inputs.source_mask
    return inputs.mask


def boundary(bench: Bench) -> Check:
    """Change every token: no output moves that the mask closes to it, through all layers."""
    name, text, subject = "boundary", bench.text, bench.subject
    layers = subject.config.layers
    can = np.stack([upstream(text.spec, 0, i, layers)[0] for i in range(text.length)])
    columns = [int(j) for j in spread(text.length, MOST_COLUMNS) if not can[:, j].all()]
    if not columns:
        many = f"through {layers} layers"
        return refused(
            name, f"Every output may depend on every token {many}: there is no boundary to cross."
        )
    largest = 0.0
    for start in range(0, len(columns), _AT_ONCE):
        block = columns[start : start + _AT_ONCE]
        inputs = text.batch([text.ids, *(bench.changed([j]) for j in block)])
        reading = subject.read(inputs)
        same = shown(reading, inputs, 0)
        for row, column in enumerate(block, start=1):
            closed = ~can[:, column]
            apart = np.where(closed, difference(same, shown(reading, inputs, row)), 0.0)
            if not float(apart.max()) <= subject.tolerance:
                return _crossed(bench, name, column, closed, apart)
            largest = max(largest, float(apart.max()))
    count = f"{len(columns)} of {text.length} tokens"
    sentence = f"Changing {count} one by one moves no output that the mask closes to them."
    sentence += _window_not_shown(bench, can)
    return Check(name, Verdict.PASS, sentence, largest, subject.tolerance)


def _window_not_shown(bench: Bench, can: NDArray[np.bool_]) -> str:
    """A sentence where a window closes nothing through all layers that would be open without it."""
    spec, layers = bench.text.spec, bench.subject.config.layers
    if spec.window is None:
        return ""
    wide = replace(spec, window=None)
    if (can != np.stack([upstream(wide, 0, i, layers)[0] for i in range(spec.length)])).any():
        return ""
    needed = layers * (spec.window - 1) + 2
    return (
        f" The window of {spec.window} is not shown: through {layers} layers it closes nothing more"
        f" in {spec.length} tokens; {needed} or more show it."
    )


def _crossed(
    bench: Bench, name: str, column: int, closed: Rows, apart: NDArray[np.float32]
) -> Check:
    inputs = bench.text.batch([bench.text.ids, bench.changed([column])])
    place = bench.place(Pair(inputs), Pair(inputs, 1), closed)
    moved = int(np.flatnonzero(~(apart <= bench.subject.tolerance))[0])
    sentence = (
        f"Changing token {column} moves the output at {moved}, which may not depend on it: first"
        f" in {place.sentence()}."
    )
    largest, tolerance = float(apart.max()), bench.subject.tolerance
    return Check(name, Verdict.FAIL, sentence, largest, tolerance, place)


def prefix(bench: Bench) -> Check:
    """The prefix reads itself both ways, and nothing that comes after it."""
    name, text, length = "prefix", bench.text, bench.text.spec.prefix
    if text.spec.kind is not MaskKind.PREFIX:
        return refused(name, f"A {text.spec.kind.value} mask has no prefix.")
    if length < 2:
        return refused(name, f"prefix {length} cannot show whether it reads both ways: 2 can.")
    if length >= text.length:
        return refused(name, f"prefix {length} is the whole text: nothing comes after it.")
    first = int(dense(text.spec)[0, 0, :, length - 1].argmax())
    if first == length - 1:
        return refused(name, f"No token before {first}, the last of the prefix, may read it.")
    last, after = [length - 1], range(length, text.length)
    inputs = text.batch([text.ids, bench.changed(last), bench.changed(after)])
    reading = bench.subject.read(inputs)
    same, by_last, by_after = (shown(reading, inputs, row) for row in range(3))
    inside = np.arange(text.length) < length
    tolerance = bench.subject.tolerance
    leak = np.where(inside, difference(same, by_after), 0.0)
    if not float(leak.max()) <= tolerance:
        place = bench.place(Pair(inputs), Pair(inputs, 2), inside)
        sentence = f"Tokens after the prefix move it: first in {place.sentence()}."
        return Check(name, Verdict.FAIL, sentence, float(leak.max()), tolerance, place)
    felt = float(difference(same, by_last)[first])
    if felt <= tolerance:
        sentence = (
            f"Position {first} does not feel token {length - 1}: the prefix is read one way only."
        )
        return Check(name, Verdict.FAIL, sentence, felt, tolerance, Place(first))
    sentence = (
        f"Token {length - 1}, the last of the prefix, moves position {first}; what follows the"
        " prefix moves nothing in it."
    )
    return Check(name, Verdict.PASS, sentence, float(leak.max()), tolerance)


def documents(bench: Bench) -> Check:
    """Packed documents do not read each other, and each reads as it does alone."""
    name, text = "documents", bench.text
    if text.source_spec is not None:
        return refused(name, "An encoder–decoder packs no documents.")
    lengths = text.spec.documents
    if len(lengths) < 2:
        half = text.length // 2
        if half < 2:
            return refused(name, f"{text.length} tokens cannot be two documents: 4 can.")
        lengths = (half, text.length - half)
    packed = replace(text, spec=replace(text.spec, documents=lengths))
    starts = (0, *document_starts(packed.spec, 0))
    inputs, pairs = packed.batch([text.ids]), []
    for start, size in zip(starts, lengths, strict=True):
        end = start + size
        prefix = min(max(text.spec.prefix - start, 0), size)
        alone = replace(text.spec, length=size, documents=(), prefix=prefix)
        one = replace(text, ids=text.ids[start:end], spec=alone)
        pairs.append((start, end, one.batch([one.ids])))
    return _isolated(bench, inputs, pairs, lengths)


def _isolated(
    bench: Bench,
    packed: Inputs,
    pairs: list[tuple[int, int, Inputs]],
    lengths: tuple[int, ...],
) -> Check:
    name, tolerance, largest = "documents", bench.subject.tolerance, 0.0
    together = bench.subject.read(packed)
    for number, (start, end, inputs) in enumerate(pairs, start=1):
        alone = bench.subject.read(inputs)
        apart = np.abs(together.logits[0, start:end] - alone.logits[0]).max(axis=-1)
        if not float(apart.max()) <= tolerance:
            place = _place_in(bench, packed, inputs, start, end)
            sentence = (
                f"Document {number} (tokens {start} to {end - 1}) reads otherwise than alone:"
                f" first in {place.sentence()}."
            )
            return Check(name, Verdict.FAIL, sentence, float(apart.max()), tolerance, place)
        largest = max(largest, float(apart.max()))
    sizes = ", ".join(str(n) for n in lengths)
    sentence = f"{len(lengths)} documents of {sizes} tokens read as each does alone."
    return Check(name, Verdict.PASS, sentence, largest, tolerance)


def _place_in(bench: Bench, packed: Inputs, alone: Inputs, start: int, end: int) -> Place:
    """Where a packed document parts from the same one alone, or reads beyond itself."""
    together = bench.subject.read(packed, patterns=True)
    one = bench.subject.read(alone, patterns=True)
    limit = bench.subject.tolerance / 10
    for key in sorted(one.patterns, key=in_order):
        rows = together.patterns[key][0][:, start:end]
        apart = np.abs(rows[:, :, start:end] - one.patterns[key][0]).max(axis=-1)
        found = np.flatnonzero((apart > limit).any(axis=0))
        if found.size:
            query = int(found[0])
            return Place(start + query, *key, int(apart[:, query].argmax()))
    return Place(start)
