"""What is checked: a model together with the code that makes its masks and positions.

Checks trust neither. They know the *declared* mask, a `MaskSpec`, and look at what comes out.
Torch-free, so that every engine can be checked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.mask.spec import only_row, whole
from core.model.config import ModelConfig
from core.run.arrays import Arrays, arrays_of
from core.run.cancel import CancelToken
from core.run.walls import Key
from core.types import Inputs, MaskKind, MaskSpec

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Reading:
    """What came out of whole rows read in one or more chunks.

    ``logits`` float32 ``[B, N, V]``; ``patterns`` float32 ``[B, H, N, S]`` by stack and layer,
    empty unless they were wanted.
    """

    logits: NDArray[np.float32]
    patterns: dict[Key, NDArray[np.float32]]


class Subject(ABC):
    """A model that can be read chunk by chunk; ``cancel`` is asked before each reading."""

    name: str
    engine: str
    config: ModelConfig
    tolerance: float
    """The largest absolute difference of logits that is rounding."""
    blind_to_weights: str = ""
    """Why its patterns are not the weights that it used, in a sentence; empty where they are."""

    def __init__(self, cancel: CancelToken | None = None) -> None:
        self.cancel = cancel

    def given(self, inputs: Inputs) -> Arrays:
        """Ids, positions and masks of inputs: the code under test, with the model."""
        return arrays_of(inputs)

    def read(
        self,
        inputs: Inputs,
        stops: Sequence[int] = (),
        *,
        patterns: bool = False,
        positions: NDArray[np.int64] | None = None,
    ) -> Reading:
        """Read whole rows, up to each of ``stops`` and then to the end, cached in between.

        ``positions`` ``[B, N]`` are taken instead of the right ones.
        """
        if self.cancel is not None:
            self.cancel.check()
        given = self.given(inputs)
        if positions is not None:
            given = replace(given, positions=positions)
        width = given.ids.shape[1]
        ends = (*(stop for stop in stops if 0 < stop < width), width)
        return self._read(given, ends, patterns)

    @abstractmethod
    def _read(self, given: Arrays, stops: tuple[int, ...], patterns: bool) -> Reading:
        """Read up to each of ``stops``, the last of which is the whole width."""


@dataclass(frozen=True)
class Text:
    """One row without pads and cache, with the knobs of its mask: what checks vary."""

    spec: MaskSpec
    ids: Ids
    source: Ids = ()
    source_spec: MaskSpec | None = None

    @classmethod
    def of(cls, inputs: Inputs, row: int) -> Text:
        """The shown row of some inputs, its pads taken away."""
        spec = only_row(whole(inputs.mask), row)
        ids = _real(inputs.rows[row], spec)
        body = _bare(spec, len(ids))
        if inputs.source_mask is None:
            return cls(body, ids)
        source_spec = only_row(inputs.source_mask, row)
        source = _real(inputs.source[row], source_spec)
        return cls(body, ids, source, _bare(source_spec, len(source)))

    @property
    def length(self) -> int:
        """Tokens of the text that makes the output."""
        return len(self.ids)

    def batch(
        self,
        rows: Sequence[Ids],
        left: Sequence[int] | None = None,
        right: Sequence[int] | None = None,
        *,
        sources: Sequence[Ids] | None = None,
        source_left: Sequence[int] | None = None,
        source_right: Sequence[int] | None = None,
    ) -> Inputs:
        """Rows of the text's length with pads around them; every row comes out equally wide."""
        padded, spec = _padded(rows, self.spec, left, right)
        if self.source_spec is None:
            return Inputs(padded, spec)
        read, source_spec = _padded(
            sources or [self.source] * len(rows), self.source_spec, source_left, source_right
        )
        cross = MaskSpec(
            MaskKind.CROSS,
            spec.length,
            source=source_spec.length,
            left_pad=source_spec.left_pad,
            right_pad=source_spec.right_pad,
        )
        return Inputs(padded, spec, read, source_spec, cross)


def _real(ids: Ids, spec: MaskSpec) -> Ids:
    return ids[spec.left_pad[0] : len(ids) - spec.right_pad[0]]


def _bare(spec: MaskSpec, length: int) -> MaskSpec:
    return replace(spec, length=length, left_pad=(0,), right_pad=(0,))


def _padded(
    rows: Sequence[Ids],
    spec: MaskSpec,
    left: Sequence[int] | None,
    right: Sequence[int] | None,
) -> tuple[tuple[Ids, ...], MaskSpec]:
    count = len(rows)
    before, after = tuple(left or (0,) * count), tuple(right or (0,) * count)
    padded = tuple((0,) * b + row + (0,) * a for row, b, a in zip(rows, before, after, strict=True))
    width = len(padded[0])
    return padded, replace(spec, length=width, left_pad=before, right_pad=after)
