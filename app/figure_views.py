"""What of the window can be drawn as a figure now; a later view is a line in `VIEWS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from app import figures, training_figures
from app.scene import Scene
from app.training_figures import CostShown
from core.figure.style import Style
from core.text.tokenizer import Tokenizer
from core.types import (
    AttentionMaps,
    CheckJob,
    CheckReport,
    CompareJob,
    Comparison,
    EmbeddingsJob,
    EmbeddingsView,
    FlowMethod,
    FlowResult,
    GenerateRequest,
    HeadPattern,
    Job,
    ObjectiveJob,
    ObjectiveView,
    RunRequest,
    Stack,
    Stages,
    StepEvent,
)
from core.types.figure import Figure


@dataclass(frozen=True)
class Shown:
    """Everything on screen that a figure can be made of; None or empty where it is not there."""

    words: Tokenizer
    scene: Scene
    run: RunRequest
    """What the engine is asked of the scene."""
    head: HeadPattern | None = None
    maps: tuple[AttentionMaps, ...] = ()
    generated: tuple[Scene, GenerateRequest, tuple[StepEvent, ...]] | None = None
    """What was read, how it was asked for, and what came."""
    answers: dict[str, object] = field(default_factory=dict)
    """The newest answer of each instrument that is open, by its name."""
    settings: dict[str, dict[str, str]] = field(default_factory=dict)
    """What each instrument remembers of its own controls, by its name."""
    jobs: dict[str, Job] = field(default_factory=dict)
    """What each of those answers was asked with."""
    query: int | None = None
    """The query row that speaks, of the shown stack."""

    @property
    def stack(self) -> Stack:
        """The stack whose mask and attention are on screen."""
        return self.run.head.stack


@dataclass(frozen=True)
class Drawable:
    """A view that can be a figure: its title, whether it is there now, and what draws it."""

    title: str
    is_there: Callable[[Shown], bool]
    draw: Callable[[Shown, Style], Figure]


def _always(shown: Shown) -> bool:
    return True


def _mask(shown: Shown, style: Style) -> Figure:
    return figures.mask_of(shown.scene, shown.stack, shown.words, style)


def _has_head(shown: Shown) -> bool:
    return shown.head is not None


def _attention(shown: Shown, style: Style) -> Figure:
    assert shown.head is not None
    return figures.attention_of(shown.scene, shown.head, shown.words, style)


def _has_heads(shown: Shown) -> bool:
    return bool(shown.maps)


def _heads(shown: Shown, style: Style) -> Figure:
    return figures.heads_of(shown.scene, shown.maps, style)


def _has_steps(shown: Shown) -> bool:
    return shown.generated is not None and bool(shown.generated[2])


def _steps(shown: Shown, style: Style) -> Figure:
    assert shown.generated is not None
    read, wanted, events = shown.generated
    return figures.steps_of(read, wanted.sampling, events, shown.words, style)


def _has_flow(shown: Shown) -> bool:
    return isinstance(shown.answers.get("flow"), FlowResult)


def _flow(shown: Shown, style: Style) -> Figure:
    result = shown.answers["flow"]
    assert isinstance(result, FlowResult)
    told = shown.settings.get("flow", {}).get("method", FlowMethod.ROLLOUT.value)
    return figures.flow_of(shown.scene, result, FlowMethod(told), shown.words, style)


def _has_report(shown: Shown) -> bool:
    answer, job = shown.answers.get("checks"), shown.jobs.get("checks")
    return isinstance(answer, CheckReport) and isinstance(job, CheckJob)


def _report(shown: Shown, style: Style) -> Figure:
    answer, job = shown.answers["checks"], shown.jobs["checks"]
    assert isinstance(answer, CheckReport)
    assert isinstance(job, CheckJob)
    return figures.report_of(answer, job.run, shown.words, style)


def _has_difference(shown: Shown) -> bool:
    answer, job = shown.answers.get("compare"), shown.jobs.get("compare")
    return isinstance(answer, Comparison) and isinstance(job, CompareJob)


def _difference(shown: Shown, style: Style) -> Figure:
    found = shown.answers["compare"]
    assert isinstance(found, Comparison)
    return figures.comparison_of(found, shown.words, style)


def _has_stages(shown: Shown) -> bool:
    return isinstance(shown.answers.get("stages"), Stages)


def _stages(shown: Shown, style: Style) -> Figure:
    found = shown.answers["stages"]
    assert isinstance(found, Stages)
    query = shown.query if found.head.stack is shown.stack else None
    return training_figures.stages_of(shown.scene, found, query, shown.words, style)


def _has_objectives(shown: Shown) -> bool:
    answer, job = shown.answers.get("objectives"), shown.jobs.get("objectives")
    return isinstance(answer, ObjectiveView) and isinstance(job, ObjectiveJob)


def _objectives(shown: Shown, style: Style) -> Figure:
    answer, job = shown.answers["objectives"], shown.jobs["objectives"]
    assert isinstance(answer, ObjectiveView)
    assert isinstance(job, ObjectiveJob)
    return training_figures.objectives_of(answer, job, shown.words, style)


def _has_embeddings(shown: Shown) -> bool:
    answer, job = shown.answers.get("embeddings"), shown.jobs.get("embeddings")
    return isinstance(answer, EmbeddingsView) and isinstance(job, EmbeddingsJob)


def _embeddings(shown: Shown, style: Style) -> Figure:
    answer, job = shown.answers["embeddings"], shown.jobs["embeddings"]
    assert isinstance(answer, EmbeddingsView)
    assert isinstance(job, EmbeddingsJob)
    return training_figures.embeddings_of(answer, job, shown.words, style)


def _has_cost(shown: Shown) -> bool:
    return isinstance(shown.answers.get("cost"), CostShown)


def _cost(shown: Shown, style: Style) -> Figure:
    found = shown.answers["cost"]
    assert isinstance(found, CostShown)
    return training_figures.cost_of(found, style)


VIEWS: dict[str, Drawable] = {
    "mask": Drawable("Mask", _always, _mask),
    "attention": Drawable("Attention of the head", _has_head, _attention),
    "heads": Drawable("All heads", _has_heads, _heads),
    "steps": Drawable("Generation, step by step", _has_steps, _steps),
    "flow": Drawable("Flow", _has_flow, _flow),
    "report": Drawable("Check report", _has_report, _report),
    "difference": Drawable("Side by side", _has_difference, _difference),
    "stages": Drawable("Stages", _has_stages, _stages),
    "objectives": Drawable("Objectives", _has_objectives, _objectives),
    "embeddings": Drawable("Embeddings", _has_embeddings, _embeddings),
    "cost": Drawable("Cost", _has_cost, _cost),
}


def drawn(name: str, shown: Shown, style: Style) -> Figure:
    """The figure of a view that is there, with what made it."""
    figure = VIEWS[name].draw(shown, style)
    if name == "cost":
        return figures.noted(figure, {"view": name})
    return figures.made(figure, name, _runs(name, shown), shown.words)


def _runs(name: str, shown: Shown) -> list[RunRequest]:
    """The run that a view is of, or the two that it compares."""
    job = shown.jobs.get({"report": "checks", "difference": "compare"}.get(name, ""))
    if isinstance(job, CompareJob):
        return [job.a.run, job.b.run]
    if isinstance(job, CheckJob):
        return [job.run]
    if name == "steps" and shown.generated is not None:
        return [shown.generated[1].run]
    return [shown.run]


def available(shown: Shown) -> list[tuple[str, str]]:
    """Name and title of the views that have something to draw."""
    return [(name, view.title) for name, view in VIEWS.items() if view.is_there(shown)]
