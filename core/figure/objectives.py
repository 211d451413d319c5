"""A sentence as a training objective sees it: what is read, what to predict, the loss, the mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.figure.axes import RISE, SMALLEST, Box, framed, widest
from core.figure.keys import Swatch, color_bar, legend
from core.figure.page import MARGIN, Block, cut, flowed, page, paragraphs, room
from core.figure.runs import rgb
from core.figure.style import ONE_COLUMN, Style, ink_on
from core.text.visible import visible
from core.types import Objective, ObjectiveView
from core.types.colors import ACCENT, MUTED, TEXT, WARNING, WHITE, Rgb, mixed
from core.types.figure import Cells, Figure, Mark, Text

_PLAIN = mixed(WHITE, MUTED, 0.08)
_PREFIX = mixed(WHITE, ACCENT, 0.22)
_CHANGED = mixed(WHITE, WARNING, 0.35)
_PALE = mixed(WHITE, MUTED, 0.45)
_GAP = 2.0
"""Between cells, in points."""


def objectives_figure(
    view: ObjectiveView,
    reads: Sequence[str],
    targets: Sequence[str],
    source: Sequence[str] = (),
    *,
    style: Style = ONE_COLUMN,
) -> Figure:
    """A column for each position: what is read, what has to be predicted, the loss in nats.

    ``reads`` and ``targets`` are ``T`` tokens; a target is drawn where loss is taken, and nowhere
    else. ``source`` are the ``S`` tokens that an encoder reads. The tint of a loss ends at the
    largest, and at 1 nat where all are lower. Columns wrap; a page of a given height makes them
    smaller until they fit. The mean is written with its denominator.

    Raises
    ------
    ValueError
        where there is not one token for each position.
    """
    for name, texts, ids in (
        ("reads", reads, view.inputs),
        ("targets", targets, view.inputs),
        ("source", source, view.source),
    ):
        if len(texts) != len(ids):
            raise ValueError(
                f"{name} has {len(texts)} tokens, but must have one for each of the {len(ids)}"
                " positions."
            )
    told = _told(view)
    below = _below(style, view)
    notes = [(note, style.small, MUTED) for note in view.notes]
    words = paragraphs(style, [(view.sentence, style.label, TEXT), *notes])
    most = room(style, (words, below))[1]
    for share in (1.0, 0.9, 0.8, 0.7, SMALLEST):
        look = _Look(style, share)
        block = _columns(look, view, reads, targets, source)
        if style.height is None or block.height <= most:
            break
    return page(style, (block, words, below), told)


def largest_loss(view: ObjectiveView) -> float:
    """Where the tint of a loss ends, in nats."""
    losses = view.loss[np.isfinite(view.loss)]
    return max(float(losses.max(initial=0.0)), 1.0)


@dataclass(frozen=True)
class _Look:
    """Sizes of the columns in points: everything at ``share`` of what the style says."""

    style: Style
    share: float

    @property
    def label(self) -> float:
        return self.share * self.style.label

    @property
    def small(self) -> float:
        return self.share * self.style.small

    @property
    def chip(self) -> float:
        """The height of a token."""
        return 1.6 * self.label

    @property
    def gutter(self) -> float:
        """What the names of the rows take."""
        names = ("source", "reads", "target", "loss")
        return widest(names, self.small, self.style.measure) + 0.8 * self.small

    @property
    def cell(self) -> float:
        """The height of a loss."""
        return 1.6 * self.small

    def high(self, has_loss: bool) -> float:
        """The height of a column."""
        return 2 * self.chip + _GAP + (_GAP + self.cell if has_loss else 0.0)

    def wide(self, text: str) -> float:
        """The width of a cell for a text, which is cut where it is very long."""
        least = self.style.measure("00.00", self.small) + 0.6 * self.small
        wide = self.style.measure(text, self.label) + 0.8 * self.label
        return max(least, min(wide, 0.3 * self.style.width))

    def said(self, text: str) -> str:
        """How a token is written."""
        return visible(text) if self.style.labels else ""


def _columns(
    look: _Look,
    view: ObjectiveView,
    reads: Sequence[str],
    targets: Sequence[str],
    source: Sequence[str],
) -> Block:
    """The source, then a column for each position."""
    marks, y = _source(look, [look.said(text) for text in source])
    scored, largest = view.loss_mask, largest_loss(view)
    pairs = [
        (look.said(read), look.said(target) if on else "")
        for read, target, on in zip(reads, targets, scored, strict=True)
    ]
    widths = [max(look.wide(text) for text in pair) for pair in pairs]
    pace, foot = look.chip + _GAP, y
    for position, (x, line) in enumerate(_placed(look, widths)):
        wide, at = widths[position], y + line * (look.high(view.is_computed) + 0.9 * look.label)
        if x == look.gutter:
            marks += _names(look, at, view.is_computed)
        read, target = pairs[position]
        marks += _chip(look, (x, at, wide), read, _ground(view, position), _PALE)
        if scored[position]:
            marks += _chip(look, (x, at + pace, wide), target, WHITE, ACCENT)
        if view.is_computed:
            loss = float(view.loss[position])
            marks += _loss(look, (x, at + 2 * pace, wide), loss, largest)
        foot = at + look.high(view.is_computed)
    return Block(tuple(marks), look.style.width - 2 * MARGIN, foot + 1.0)


def _ground(view: ObjectiveView, position: int) -> Rgb:
    """The colour of what is read: of the prefix, replaced by the objective, or plain."""
    if position < view.prefix:
        return _PREFIX
    in_place = view.objective is Objective.MASKED and bool(view.loss_mask[position])
    return _CHANGED if in_place and view.inputs[position] != view.targets[position] else _PLAIN


def _placed(look: _Look, widths: Sequence[float]) -> list[tuple[float, int]]:
    """Left edge and line of cells that are as wide as that."""
    places: list[tuple[float, int]] = []
    x, line = look.gutter, 0
    for wide in widths:
        if x > look.gutter and x + wide > look.style.width - 2 * MARGIN:
            x, line = look.gutter, line + 1
        places.append((x, line))
        x += wide + _GAP
    return places


def _source(look: _Look, texts: Sequence[str]) -> tuple[list[Mark], float]:
    """What the encoder reads, wrapped, and where it ends; nothing without one."""
    widths = [look.wide(text) for text in texts]
    marks: list[Mark] = []
    foot = 0.0
    for (x, line), text, wide in zip(_placed(look, widths), texts, widths, strict=True):
        y = line * (look.chip + _GAP)
        if x == look.gutter and not line:
            marks.append(_name(look, "source", y, look.chip))
        marks += _chip(look, (x, y, wide), text, _PLAIN, _PALE)
        foot = y + look.chip + 1.2 * look.label
    return marks, foot


def _names(look: _Look, y: float, has_loss: bool) -> list[Mark]:
    """What the rows of a line of columns are."""
    pace = look.chip + _GAP
    names = [_name(look, "reads", y, look.chip), _name(look, "target", y + pace, look.chip)]
    return [*names, *[_name(look, "loss", y + 2 * pace, look.cell)] * has_loss]


def _name(look: _Look, name: str, y: float, high: float) -> Mark:
    return Text(name, 0.0, y + high / 2 + RISE * look.small, look.small, color=MUTED)


def _chip(
    look: _Look, place: tuple[float, float, float], text: str, ground: Rgb, rim: Rgb
) -> list[Mark]:
    """A token in a frame; ``place`` is left, top and width."""
    x, y, wide = place
    size = look.label
    said = cut(text, size, wide - 0.6 * size, look.style.measure)
    middle = (x + wide / 2, y + look.chip / 2 + RISE * size)
    return [
        Cells(np.array([[x, y, wide, look.chip]]), ground),
        _frame(look, (x, y, wide, look.chip), rim),
        Text(said, *middle, size, "middle"),
    ]


def _loss(
    look: _Look, place: tuple[float, float, float], loss: float, largest: float
) -> list[Mark]:
    """The tint of a loss and its number; an empty frame where none is taken (NaN)."""
    x, y, wide = place
    rect = (x, y, wide, look.cell)
    if np.isnan(loss):
        return [_frame(look, rect, mixed(WHITE, MUTED, 0.3))]
    ground = rgb(look.style.map[round(255.0 * min(1.0, loss / largest))])
    middle = (x + wide / 2, y + look.cell / 2 + RISE * look.small)
    return [
        Cells(np.array([rect]), ground),
        Text(f"{loss:.2f}", *middle, look.small, "middle", color=ink_on(ground)),
    ]


def _frame(look: _Look, rect: tuple[float, float, float, float], color: Rgb) -> Mark:
    x, y, wide, high = rect
    return framed(Box(x, y, (wide, high), 1, 1), color, look.style.line)


def _below(style: Style, view: ObjectiveView) -> Block:
    """The bar of the loss, and what the colours of tokens mean."""
    bar = Block((), 0.0, 0.0)
    if view.is_computed and view.denominator:
        largest = largest_loss(view)
        ticks = ((0.0, "0"), (0.5, f"{largest / 2:.2f}"), (1.0, f"{largest:.2f}"))
        bar = color_bar(style, style.map, ticks, "loss in nats")
    swatches = []
    if view.prefix:
        swatches.append(Swatch("prefix, read both ways", _PREFIX))
    if any(_ground(view, n) == _CHANGED for n in range(len(view.inputs))):
        swatches.append(Swatch("replaced", _CHANGED))
    return flowed(style, (bar, legend(style, swatches, style.width - 2 * MARGIN)))


def _told(view: ObjectiveView) -> dict[str, str]:
    """What made the figure, and what came out."""
    told = {
        "objective": view.objective.value,
        "mask": view.kind.value,
        "positions": str(len(view.inputs)),
        "positions with loss": str(view.denominator),
    }
    if view.prefix:
        told["prefix"] = str(view.prefix)
    return told | {"finding": view.sentence}
