"""From what the program shows to figures: pure functions, no Qt and no engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from app.scene import Scene
from core.figure.attention import attention_figure
from core.figure.mask import mask_figure
from core.figure.steps import GrowthStep, steps_figure
from core.figure.style import Style
from core.figure.wall import TITLES, wall_figure
from core.run.prompt import appended, prompt
from core.text.tokenizer import Tokenizer
from core.types import AttentionMaps, HeadPattern, HeadRef, Stack, StepEvent
from core.types.figure import Figure


def head_name(head: HeadRef) -> str:
    """A head in words, counted from 1."""
    return f"{TITLES[head.stack].lower()} layer {head.layer + 1}, head {head.head + 1}"


def mask_of(scene: Scene, stack: Stack, words: Tokenizer, style: Style) -> Figure:
    """The mask of a stack, of the shown batch row, with its tokens."""
    labels = _labels(scene, stack, words)
    return _told(
        mask_figure(scene.masks[stack], scene.row, *labels, style=style), {"stack": stack.value}
    )


def attention_of(scene: Scene, head: HeadPattern, words: Tokenizer, style: Style) -> Figure:
    """One head on the axes of its mask."""
    stack = head.head.stack
    labels = _labels(scene, stack, words)
    figure = attention_figure(head.pattern, scene.masks[stack], scene.row, *labels, style=style)
    return _told(figure, {"head": head_name(head.head)})


def heads_of(scene: Scene, maps: Sequence[AttentionMaps], style: Style) -> Figure:
    """All heads of some stacks."""
    return wall_figure(maps, scene.masks, scene.row, style=style)


def steps_of(scene: Scene, events: Iterable[StepEvent], words: Tokenizer, style: Style) -> Figure:
    """What was generated after the shown batch row; the heads are those of the events."""
    inputs = prompt(scene.inputs, scene.row)
    steps: list[GrowthStep] = []
    told: dict[str, str] = {}
    for event in events:
        head = event.head
        if head is not None and head.head.stack is not Stack.DECODER:
            head = None
        if head is not None:
            told["head"] = head_name(head.head)
        label, pattern = words.label(event.token), None if head is None else head.pattern
        steps.append(GrowthStep(label, event.mask_row, pattern, inputs.mask))
        inputs = appended(inputs, event.token)
    return _told(steps_figure(steps, style=style), told)


def _labels(scene: Scene, stack: Stack, words: Tokenizer) -> tuple[list[str], list[str]]:
    return words.pieces(scene.query_ids[stack]), words.pieces(scene.key_ids[stack])


def _told(figure: Figure, more: dict[str, str]) -> Figure:
    return replace(figure, parameters={**figure.parameters, **more})
