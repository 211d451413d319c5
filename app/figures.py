"""From what the program shows to figures: pure functions, no Qt and no engine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from app.scene import Scene
from core.figure.attention import attention_figure
from core.figure.difference import difference_figure
from core.figure.flow import LEAST, FlowEdge, flow_figure
from core.figure.mask import mask_figure
from core.figure.report import report_figure
from core.figure.steps import GrowthStep, steps_figure
from core.figure.style import Style
from core.figure.wall import TITLES, wall_figure
from core.run.prompt import appended, prompt
from core.text.tokenizer import Tokenizer
from core.types import (
    AttentionMaps,
    CheckReport,
    Comparison,
    FlowMethod,
    FlowNode,
    FlowResult,
    HeadPattern,
    HeadRef,
    RunRequest,
    Stack,
    StepEvent,
)
from core.types.figure import Figure


def head_name(head: HeadRef) -> str:
    """A head in words, counted from 1."""
    return f"{TITLES[head.stack].lower()} layer {head.layer + 1}, head {head.head + 1}"


def mask_of(scene: Scene, stack: Stack, words: Tokenizer, style: Style) -> Figure:
    """The mask of a stack, of the shown batch row, with its tokens."""
    labels = _labels(scene, stack, words)
    return noted(
        mask_figure(scene.masks[stack], scene.row, *labels, style=style), {"stack": stack.value}
    )


def attention_of(scene: Scene, head: HeadPattern, words: Tokenizer, style: Style) -> Figure:
    """One head on the axes of its mask."""
    stack = head.head.stack
    labels = _labels(scene, stack, words)
    figure = attention_figure(head.pattern, scene.masks[stack], scene.row, *labels, style=style)
    return noted(figure, {"head": head_name(head.head)})


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
    return noted(steps_figure(steps, style=style), told)


def flow_of(
    scene: Scene, result: FlowResult, method: FlowMethod, words: Tokenizer, style: Style
) -> Figure:
    """What made an output: the strongest edges of a method.

    Of an encoder-decoder, the levels of the decoder follow those of the encoder, whose output goes
    on beside them, for every decoder layer reads it. A gradient has no edges: rollout stands in.
    """
    labels: list[str] = []
    first: dict[Stack, tuple[int, int]] = {}  # The first node and the first level of a stack.
    levels = ["in"]
    for stack in result.stacks:
        first[stack.stack] = len(labels), len(levels) - 1
        inputs, source = scene.inputs, len(result.stacks) > 1 and stack is result.stacks[0]
        labels += words.pieces((inputs.source if source else inputs.rows)[scene.row])
        depth = stack.levels if stack.stack is not result.output.stack else result.layer + 1
        sign = "E" if source else ("D" if len(result.stacks) > 1 else "L")
        levels += [f"{sign}{n}" for n in range(1, depth)]
    edges = [
        FlowEdge(first[upper.stack][1] + upper.level - 1, low, high, float(share))
        for upper, low, high, share in _flow_edges(result, method, first)
        if share >= LEAST
    ]
    node = first[result.output.stack][0] + result.position
    told = {"output": f"column {result.position}", "shares": method.value}
    return noted(flow_figure(levels, labels, edges, focus=node, style=style), told)


def _flow_edges(
    result: FlowResult, method: FlowMethod, first: dict[Stack, tuple[int, int]]
) -> Iterator[tuple[FlowNode, int, int, float]]:
    """Upper node, numbers of the lower and the upper node, and share, of every edge known."""
    edges = result.edges
    for n, share in enumerate(edges.shares(method)):
        upper, lower = edges.upper(n), edges.lower(n)
        if not math.isnan(share):
            low, high = (first[node.stack][0] + node.column for node in (lower, upper))
            yield upper, low, high, min(float(share), 1.0)


def comparison_of(found: Comparison, words: Tokenizer, style: Style) -> Figure:
    """The shown head of two sides and their difference, between the tokens that both texts share.

    The tokens are those of A.
    """
    queries = found.source_tokens if found.from_source else found.tokens
    keys = found.source_tokens if found.reads_source else found.tokens
    figure = difference_figure(
        found.patterns[0],
        found.patterns[1],
        words.pieces(queries[0].tolist()),
        words.pieces(keys[0].tolist()),
        names=found.titles,
        reasons=found.reasons,
        style=style,
    )
    return noted(figure, {"head": head_name(found.head), "finding": found.sentence})


def report_of(report: CheckReport, run: RunRequest, words: Tokenizer, style: Style) -> Figure:
    """The checks of a model on the text of a run, for an encoder-decoder source and target."""
    rows = (ids[run.row] for ids in (run.inputs.source, run.inputs.rows) if ids)
    texts = (words.decode(row, structure=False) for row in rows)
    return report_figure(report, " → ".join(filter(None, texts)), style=style)


def _labels(scene: Scene, stack: Stack, words: Tokenizer) -> tuple[list[str], list[str]]:
    return words.pieces(scene.query_ids[stack]), words.pieces(scene.key_ids[stack])


def noted(figure: Figure, more: dict[str, str]) -> Figure:
    """The figure with more parameters."""
    return replace(figure, parameters={**figure.parameters, **more})
