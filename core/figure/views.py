"""The figures that there are, by name; each returns a `core.types.figure.Figure`."""

from __future__ import annotations

from collections.abc import Callable

from core.figure.attention import attention_figure
from core.figure.cost import cost_figure
from core.figure.difference import difference_figure
from core.figure.embeddings import embeddings_figure
from core.figure.flow import flow_figure
from core.figure.mask import mask_figure
from core.figure.objectives import objectives_figure
from core.figure.report import report_figure
from core.figure.stages import stages_figure
from core.figure.steps import steps_figure
from core.figure.wall import wall_figure
from core.types.figure import Figure

VIEWS: dict[str, Callable[..., Figure]] = {
    "mask": mask_figure,
    "attention": attention_figure,
    "heads": wall_figure,
    "steps": steps_figure,
    "difference": difference_figure,
    "report": report_figure,
    "flow": flow_figure,
    "stages": stages_figure,
    "objectives": objectives_figure,
    "embeddings": embeddings_figure,
    "cost": cost_figure,
}
