"""Random cases that an exported model and torch are compared on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from core.mask.dense import dense
from core.mask.padding import position_ids
from core.model.config import ModelConfig
from core.run.arrays import Arrays, Source, arrays_of
from core.types import Family, Inputs, MaskKind, MaskSpec

_LONGEST = 130
GREEDY = 4
"""Tokens that are generated after every case; their positions are left free."""


@dataclass(frozen=True)
class Case:
    """One text, read in chunks that end at ``stops``; the last stop is the whole of it."""

    name: str
    given: Arrays
    stops: tuple[int, ...]


def cases(config: ModelConfig, *, seed: int = 0) -> Iterator[Case]:
    """At least 20 cases: lengths, chunks, pads, prefixes, windows, random masks, empty rows."""
    rng = np.random.default_rng(seed)
    longest = max(4, min(_LONGEST, config.positions - GREEDY))
    for length in dict.fromkeys((1, 2, 3, min(8, longest), longest // 2, longest)):
        yield _from_spec(config, rng, "length", MaskSpec(MaskKind.CAUSAL, length))
    for kind in (MaskKind.CAUSAL, MaskKind.BIDIRECTIONAL):
        for side in ("left", "right"):
            length = int(rng.integers(5, 13))
            pads = tuple(rng.integers(0, 4, size=(3,)).tolist())
            none = (0,) * len(pads)
            spec = MaskSpec(
                kind,
                length,
                left_pad=pads if side == "left" else none,
                right_pad=pads if side == "right" else none,
            )
            yield _from_spec(config, rng, f"{side} pads", spec)
    for prefix in (2, 5):
        spec = MaskSpec(MaskKind.PREFIX, 9, prefix=prefix, left_pad=(0, 1), right_pad=(0, 0))
        yield _from_spec(config, rng, f"prefix {prefix}", spec)
    yield _from_spec(config, rng, "window", MaskSpec(MaskKind.CAUSAL, 12, window=3))
    yield _from_spec(config, rng, "documents", MaskSpec(MaskKind.CAUSAL, 9, documents=(4, 2, 3)))
    for name, heads, empty in (
        ("random mask", 1, False),
        ("random mask of each head", config.heads, False),
        ("row that may read nothing", 1, True),
        ("row that may read nothing in one head", config.heads, True),
        ("random mask", 1, False),
        ("row that may read nothing", 1, True),
    ):
        batch, length = int(rng.integers(1, 4)), int(rng.integers(4, 20))
        yield _at_random(config, rng, name, batch, length, heads, empty)


def _from_spec(config: ModelConfig, rng: np.random.Generator, name: str, spec: MaskSpec) -> Case:
    ids = rng.integers(0, config.vocabulary, (spec.rows, spec.length))
    body = Arrays(ids, position_ids(spec), dense(spec))
    chunked = spec.kind is MaskKind.CAUSAL and config.family is not Family.ENCODER
    stops = _stops(rng, spec.length, 3 if chunked else 1)
    return Case(name, _with_source(config, rng, body), stops)


def _at_random(
    config: ModelConfig,
    rng: np.random.Generator,
    name: str,
    batch: int,
    length: int,
    heads: int,
    empty: bool,
) -> Case:
    """Any mask at all. A cache can be read in chunks under it as long as it is causal."""
    chunked = config.family is not Family.ENCODER
    mask = rng.random((batch, heads, length, length)) < 0.6
    if chunked:
        mask &= np.tri(length, dtype=bool)
    if empty:
        mask[rng.integers(batch), rng.integers(heads), rng.integers(length)] = False
    ids = rng.integers(0, config.vocabulary, (batch, length))
    positions = rng.integers(0, max(1, config.positions - GREEDY), (batch, length))
    given = _with_source(config, rng, Arrays(ids, positions, mask), empty=empty)
    return Case(name, given, _stops(rng, length, 3 if chunked else 1))


def _stops(rng: np.random.Generator, length: int, chunks: int) -> tuple[int, ...]:
    inner = rng.permutation(np.arange(1, length))[: chunks - 1]
    return (*sorted(inner.tolist()), length)


def _with_source(
    config: ModelConfig, rng: np.random.Generator, body: Arrays, *, empty: bool = False
) -> Arrays:
    """The same text with a source to read, where the family has one."""
    if config.family is not Family.ENCODER_DECODER:
        return body
    batch, length = body.ids.shape
    size = int(rng.integers(2, 12))
    pads = tuple(rng.integers(0, size, size=(batch,)).tolist())
    ids = rng.integers(0, config.vocabulary, (batch, size)).tolist()
    none = (0,) * batch
    spec = MaskSpec(MaskKind.ENCODER_SELF, size, left_pad=none, right_pad=pads)
    cross = MaskSpec(MaskKind.CROSS, length, source=size, left_pad=none, right_pad=pads)
    read = tuple(tuple(row) for row in ids)
    blank = MaskSpec(MaskKind.DECODER_SELF, length, left_pad=none, right_pad=none)
    found = arrays_of(Inputs(tuple((0,) * length for _ in none), blank, read, spec, cross))
    assert found.source is not None
    assert found.cross_mask is not None
    source, cross_mask = found.source, found.cross_mask
    if empty:
        source = Source(source.ids, source.positions, source.mask.copy())
        source.mask[0, :, int(rng.integers(size))] = False
        cross_mask[-1, :, int(rng.integers(length))] = False
    return replace(body, source=source, cross_mask=cross_mask)


def longer(given: Arrays, tokens: np.ndarray, config: ModelConfig) -> Arrays:
    """The text with one more token a row, which may read every token before it and itself."""
    batch, heads, length, _ = given.mask.shape
    mask = np.zeros((batch, heads, length + 1, length + 1), bool)
    mask[:, :, :length, :length] = given.mask
    mask[:, :, length] = True
    after = np.minimum(given.positions[:, -1:] + 1, config.positions - 1)
    cross = given.cross_mask
    return replace(
        given,
        ids=np.concatenate((given.ids, tokens[:, None]), axis=1),
        positions=np.concatenate((given.positions, after), axis=1),
        mask=mask,
        cross_mask=None if cross is None else np.concatenate((cross, cross[:, :, -1:]), axis=2),
    )
