"""From what the instruments of training show to figures: pure functions, no Qt and no engine."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.figures import head_name, noted
from app.scene import Scene
from core.figure.cost import cost_figure
from core.figure.embeddings import embeddings_figure
from core.figure.objectives import objectives_figure
from core.figure.stages import stages_figure
from core.figure.style import Style
from core.text.tokenizer import Tokenizer
from core.types import (
    Cost,
    CostCurves,
    EmbeddingsJob,
    EmbeddingsView,
    Measured,
    Objective,
    ObjectiveJob,
    ObjectiveView,
    Shift,
    Stages,
)
from core.types.cost import LETTERS, TITLES
from core.types.figure import Figure
from core.types.log_curves import cost_lines, timed_lines


@dataclass(frozen=True)
class CostShown:
    """A cost, how it grows, and what was timed where that is drawn instead.

    ``rates`` True draws what was timed as FLOP a second, False as seconds.
    """

    cost: Cost
    curves: CostCurves
    measured: Measured | None = None
    rates: bool = False


def stages_of(
    scene: Scene, found: Stages, query: int | None, words: Tokenizer, style: Style
) -> Figure:
    """The steps of a head on the axes of its mask; ``query`` is a row of it, or None."""
    stack = found.head.stack
    figure = stages_figure(
        found,
        scene.masks[stack],
        scene.row,
        words.pieces(scene.query_ids[stack]),
        words.pieces(scene.key_ids[stack]),
        query,
        style=style,
    )
    return noted(figure, {"head": head_name(found.head)} | _notes(found.notes))


def objectives_of(view: ObjectiveView, job: ObjectiveJob, words: Tokenizer, style: Style) -> Figure:
    """The sentence of a job as its objective sees it."""
    targets = [
        words.label(int(target)) if scored else ""
        for target, scored in zip(view.targets, view.loss_mask, strict=True)
    ]
    reads, source = words.pieces(view.inputs), words.pieces(view.source)
    figure = objectives_figure(view, reads, targets, source, style=style)
    told = {"seed": str(job.seed)}
    if job.shift is not Shift.RIGHT:
        told["shift"] = job.shift.value
    if job.objective is Objective.DENOISING:
        told["noise"] = job.noise.value
    return noted(figure, told | _notes(view.notes))


def embeddings_of(
    view: EmbeddingsView, job: EmbeddingsJob, words: Tokenizer, style: Style
) -> Figure:
    """The sentences of a job and how alike they are."""
    inputs = job.run.inputs
    texts = [words.decode(ids, structure=False).strip() for ids in inputs.source or inputs.rows]
    return noted(embeddings_figure(view, texts, style=style), _notes(view.notes))


def cost_of(shown: CostShown, style: Style) -> Figure:
    """A quantity against a size, or what was timed against the length."""
    curves, measured = shown.curves, shown.measured
    if measured is not None:
        lines, points, unit = timed_lines(measured, rates=shown.rates)
        what = "FLOP a second, measured" if shown.rates else "time, measured"
        names = f"{LETTERS['T']}, T", what
        figure = cost_figure(lines, points, unit, names, style=style)
        return noted(figure, {"measured": measured.sentence()} | _notes(measured.notes))
    tally, place = shown.cost.tallies[curves.quantity], shown.cost.letters[curves.axis]
    names = f"{LETTERS[curves.axis]}, {curves.axis}", TITLES[curves.quantity]
    figure = cost_figure(
        cost_lines(curves),
        {},
        tally.unit,
        names,
        place=place,
        caption=_fixed(shown.cost, curves),
        style=style,
    )
    sizes = ", ".join(f"{letter} = {size:,}" for letter, size in shown.cost.letters.items())
    formulas = {term.name: f"{term.formula} = {term.substituted}" for term in tally.terms}
    return noted(figure, {"sizes": sizes} | formulas)


def _fixed(found: Cost, curves: CostCurves) -> str:
    """The sizes of the work that a quantity depends on and that do not grow with the axis."""
    formulas = " ".join(term.formula for term in found.tallies[curves.quantity].terms)
    used = set(re.findall(r"[A-Za-z]+", formulas)) - {curves.axis}
    fixed = [
        f"{LETTERS[letter]} {letter} = {found.letters[letter]:,}"
        for letter in ("B", "T", "past", "S", "P", "G", "s")
        if letter in used
    ]
    return f"fixed: {', '.join(fixed)}" if fixed else ""


def _notes(notes: tuple[str, ...]) -> dict[str, str]:
    return {"notes": " ".join(notes)} if notes else {}
