"""What every check works with: the subject, the text, and how a comparison becomes a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.run.checks.parting import Rows, Shown, difference, first_place
from core.run.checks.subject import Ids, Reading, Subject, Text
from core.text.special import FIRST_PIECE
from core.types import Check, Inputs, MaskSpec, Place, Verdict


@dataclass(frozen=True)
class Pair:
    """Two readings of the same tokens that must agree: what is read, cached where, which row."""

    inputs: Inputs
    row: int = 0
    stops: tuple[int, ...] = ()


@dataclass(frozen=True)
class Bench:
    """A subject and a text under the declared mask."""

    subject: Subject
    text: Text

    def other(self, token: int) -> int:
        """Another token of the vocabulary, far from this one."""
        pieces = self.subject.config.vocabulary - FIRST_PIECE
        return FIRST_PIECE + (token + pieces // 2) % pieces

    def changed(self, columns: Sequence[int], ids: Ids | None = None) -> Ids:
        """The text with other tokens at some columns."""
        made = list(self.text.ids if ids is None else ids)
        for column in columns:
            made[column] = self.other(made[column])
        return tuple(made)

    def agree(self, name: str, pairs: Sequence[tuple[str, Pair, Pair]], passed: str) -> Check:
        """Compare pairs of readings; the first that differs is told and located."""
        largest, tolerance = 0.0, self.subject.tolerance
        readings: dict[tuple[int, tuple[int, ...]], Reading] = {}

        def read(pair: Pair) -> Shown:
            key = id(pair.inputs), pair.stops  # The pairs keep their inputs alive.
            if key not in readings:
                readings[key] = self.subject.read(pair.inputs, pair.stops)
            return shown(readings[key], pair.inputs, pair.row)

        for what, one, other in pairs:
            sides = [read(pair) for pair in (one, other)]
            apart = difference(sides[0], sides[1])
            if not float(apart.max()) <= tolerance:
                place = self.place(one, other)
                sentence = f"{what}: first in {place.sentence()}."
                return Check(name, Verdict.FAIL, sentence, float(apart.max()), tolerance, place)
            largest = max(largest, float(apart.max()))
        return Check(name, Verdict.PASS, passed, largest, tolerance)

    def place(self, one: Pair, other: Pair, rows: Rows | None = None) -> Place:
        """Where two readings part, with their weights looked at."""
        sides = [
            shown(self.subject.read(pair.inputs, pair.stops, patterns=True), pair.inputs, pair.row)
            for pair in (one, other)
        ]
        return first_place(sides[0], sides[1], self.subject.tolerance, rows)


def shown(reading: Reading, inputs: Inputs, row: int) -> Shown:
    """One row of a reading, its pads left out."""
    source = None if inputs.source_mask is None else _real(inputs.source_mask, row)
    return Shown(reading, row, _real(inputs.mask, row), source)


def _real(spec: MaskSpec, row: int) -> slice:
    return slice(spec.left_pad[row], spec.filled - spec.right_pad[row])


def refused(name: str, sentence: str) -> Check:
    """A check that these sizes or this family cannot show."""
    return Check(name, Verdict.REFUSED, sentence)


def spread(length: int, most: int) -> NDArray[np.int64]:
    """At most ``most`` columns of a text, first and last among them."""
    if length <= most:
        return np.arange(length)
    return np.unique(np.linspace(0, length - 1, most).round().astype(np.int64))
