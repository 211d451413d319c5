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
from core.types.wording import counted

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
        sides = zip(self.alone, "AB", "BA", strict=True)
        alone = [
            f"{counted(n, 'token')} of {own}'s {what} that {other} has not"
            for n, own, other in sides
            if n
        ]
        if alone:
            found.append(f"Not compared: {', and '.join(alone)}.")
        exchanged = int((self.tokens[0] != self.tokens[1]).sum())
        if exchanged:
            found.append(
                f"The {what} of A and B differs in {counted(exchanged, 'token')}, compared in"
                " their places."
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
    stacks = tuple(Stack) if source.size else (Stack.DECODER,)
    heads, lost_heads = _common_heads(readings, stacks)
    levels, lost_levels = _common_levels(readings, stacks)
    cuts = []
    for n, reading in enumerate(readings):
        rows, read = text.columns[n], source.columns[n]
        axes = {Stack.ENCODER: (read, read), Stack.DECODER: (rows, rows), Stack.CROSS: (rows, read)}
        patterns = {
            key: reading.patterns[key][np.ix_(range(least), *axes[key[0]])]
            for key, least in heads.items()
        }
        states = {
            stack: reading.states[stack][:least, axes[stack][0]] for stack, least in levels.items()
        }
        cuts.append(Cut(reading.logits[rows], patterns, states))
    return (cuts[0], cuts[1]), lost_heads + lost_levels


def _common_heads(
    readings: Sequence[SideReading], stacks: Sequence[Stack]
) -> tuple[dict[Key, int], tuple[str, ...]]:
    """How many heads both sides have in each layer that both have."""
    one, other = (
        {key: len(pattern) for key, pattern in reading.patterns.items() if key[0] in stacks}
        for reading in readings
    )
    common = {key: min(heads, other[key]) for key, heads in one.items() if key in other}
    if one == other:
        return common, ()
    return common, ("A and B have not the same layers and heads: those that both have count.",)


def _common_levels(
    readings: Sequence[SideReading], stacks: Sequence[Stack]
) -> tuple[dict[Stack, int], tuple[str, ...]]:
    """How many levels of states both sides have in each stack; none where they are not as wide."""
    one, other = (
        {stack: states for stack, states in reading.states.items() if stack in stacks}
        for reading in readings
    )
    common = {
        stack: min(len(states), len(other[stack]))
        for stack, states in one.items()
        if stack in other
    }
    if any(one[stack].shape[2] != other[stack].shape[2] for stack in common):
        return {}, ("The states of A and B are not equally wide, so levels are not compared.",)
    return common, ()


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
