"""Which tokens two texts share, and both readings cut to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

from core.mask.reasons import reason_grid
from core.run.checks.parting import Shown
from core.run.checks.subject import Reading
from core.run.side import SideReading
from core.run.walls import Key
from core.types import Inputs, MaskSpec, Side, Stack

Columns = NDArray[np.int32]


def shared_tokens(a: Sequence[int], b: Sequence[int]) -> Columns:
    """Where tokens that two texts share stand in each, int32 ``[2, n]``, in order.

    Runs of equal tokens are shared, and so is a run that was exchanged for one of equal length:
    its tokens differ, but their places do not. What is more in one text is shared by none.
    """
    found: list[tuple[int, int]] = []
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    for kind, start, stop, other, end in blocks:
        if kind == "equal" or (kind == "replace" and stop - start == end - other):
            found += zip(range(start, stop), range(other, end), strict=True)
    return np.array(found, np.int32).reshape(-1, 2).T


@dataclass(frozen=True)
class Shared:
    """The tokens that two sides share: int32 ``[2, n]``, ids, positions and absolute columns.

    A position counts the tokens of a text, a column its pads too.
    """

    tokens: Columns
    positions: Columns
    columns: Columns
    alone: tuple[int, int]
    """Real tokens of A and of B that the other has not."""

    @classmethod
    def of(cls, ids: Sequence[Sequence[int]], specs: Sequence[MaskSpec]) -> Shared:
        """What two rows of token ids under masks of one row share."""
        bounds = [(s.left_pad[0], s.filled - s.right_pad[0]) for s in specs]
        real = [tuple(row[start:stop]) for row, (start, stop) in zip(ids, bounds, strict=True)]
        at = shared_tokens(*real)
        tokens = np.array([np.array(r, np.int32)[i] for r, i in zip(real, at, strict=True)])
        starts = np.array([[start] for start, _ in bounds], np.int32)
        alone = len(real[0]) - at.shape[1], len(real[1]) - at.shape[1]
        return cls(tokens.astype(np.int32), at, at + starts, alone)

    @classmethod
    def nothing(cls) -> Shared:
        """No token: what sides without a source share of it."""
        none = np.zeros((2, 0), np.int32)
        return cls(none, none, none, (0, 0))

    @property
    def size(self) -> int:
        """How many tokens are shared."""
        return len(self.columns[0])

    def notes(self, what: str) -> tuple[str, ...]:
        """Sentences about tokens of one side alone, and about exchanged ones."""
        found = []
        if any(self.alone):
            found.append(
                f"{self.alone[0]} tokens of A's {what} and {self.alone[1]} of B's stand there alone"
                " and are not compared."
            )
        exchanged = int((self.tokens[0] != self.tokens[1]).sum())
        if exchanged:
            found.append(
                f"The {what} of A and B differs in {exchanged} tokens, compared in their places."
            )
        return tuple(found)


@dataclass(frozen=True)
class Cut:
    """One side of a comparison, cut to what both have.

    ``logits`` float32 ``[n, V]``, ``patterns`` ``[H, q, k]`` by layer, ``states`` ``[levels, n,
    width]`` by stack.
    """

    logits: NDArray[np.float32]
    patterns: dict[Key, NDArray[np.float32]]
    states: dict[Stack, NDArray[np.float32]]

    def shown(self) -> Shown:
        """The same as `core.run.checks.parting` looks at it."""
        everything, patterns = slice(None), {key: p[None] for key, p in self.patterns.items()}
        source = everything if any(stack is not Stack.DECODER for stack, _ in patterns) else None
        return Shown(Reading(self.logits[None], patterns), 0, everything, source)


def cut(
    readings: Sequence[SideReading], text: Shared, source: Shared
) -> tuple[tuple[Cut, Cut], tuple[str, ...]]:
    """Both readings with the tokens, layers, heads and levels that both have; and what is lost."""
    notes: list[str] = []
    one, other = readings
    keys = [
        key
        for key in one.patterns
        if key in other.patterns and (source.size or key[0] is Stack.DECODER)
    ]
    heads = {key: min(len(one.patterns[key]), len(other.patterns[key])) for key in keys}
    if len(keys) < max(len(r.patterns) for r in readings) or any(
        heads[key] < max(len(r.patterns[key]) for r in readings) for key in keys
    ):
        notes.append("A and B have not the same layers and heads: those that both have count.")
    places = {Stack.DECODER: text, Stack.ENCODER: source}
    levels = {}
    for stack in (stack for stack in one.states if stack in other.states and places[stack].size):
        depth = [len(reading.states[stack]) for reading in readings]
        if one.states[stack].shape[2] != other.states[stack].shape[2]:
            notes.append("The states of A and B are not equally wide, so levels are not compared.")
        else:
            levels[stack] = min(depth)
    cuts = []
    for n, reading in enumerate(readings):
        rows, read = text.columns[n], source.columns[n]
        axes = {Stack.ENCODER: (read, read), Stack.DECODER: (rows, rows), Stack.CROSS: (rows, read)}
        patterns = {
            key: reading.patterns[key][np.ix_(range(heads[key]), *axes[key[0]])] for key in keys
        }
        states = {s: reading.states[s][:least, places[s].columns[n]] for s, least in levels.items()}
        cuts.append(Cut(reading.logits[rows], patterns, states))
    return (cuts[0], cuts[1]), tuple(notes)


def reasons(
    inputs: Sequence[Inputs], stack: Stack, text: Shared, source: Shared
) -> NDArray[np.uint8]:
    """Why cells between shared tokens are closed in each side, uint8 ``[2, q, k]``."""
    found = []
    for n, given in enumerate(inputs):
        rows, keys, spec = text.columns[n], text.columns[n], given.mask
        if stack is not Stack.DECODER:
            keys = source.columns[n]
        if stack is Stack.CROSS and given.cross_mask is not None:
            spec = given.cross_mask
        elif stack is Stack.ENCODER and given.source_mask is not None:
            rows, spec = keys, given.source_mask
        found.append(reason_grid(spec, 0, rows, keys))
    return np.stack(found)


def share(sides: Sequence[Side], inputs: Sequence[Inputs]) -> tuple[Shared, Shared]:
    """What two sides share of their texts, and of their sources.

    Raises
    ------
    ValueError
        where their texts have no token in common.
    """
    text = Shared.of([given.rows[0] for given in inputs], [given.mask for given in inputs])
    if not text.size:
        raise ValueError(
            f"The texts of {sides[0].title} and {sides[1].title} have no token in common, so there"
            " is nothing to compare; give both the same text."
        )
    specs = [given.source_mask for given in inputs if given.source_mask is not None]
    if len(specs) < 2:
        return text, Shared.nothing()
    return text, Shared.of([given.source[0] for given in inputs], specs)
