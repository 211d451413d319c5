"""From what the program shows to figures: pure functions, no Qt and no engine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from app.scene import Scene
from core.figure.attention import attention_figure
from core.figure.difference import difference_figure
from core.figure.flow import FlowEdge, FlowRow, flow_figure
from core.figure.mask import described, mask_figure
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
    FlowResult,
    HeadPattern,
    HeadRef,
    Inputs,
    RunRequest,
    Sampling,
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


def steps_of(
    scene: Scene,
    sampling: Sampling,
    events: Iterable[StepEvent],
    words: Tokenizer,
    style: Style,
) -> Figure:
    """What was generated after the shown batch row; the heads are those of the events."""
    inputs = prompt(scene.inputs, scene.row)
    given = len(inputs.rows[0]) - scene.generated
    steps: list[GrowthStep] = []
    told = {"sampling": _drawn(sampling)}
    for event in events:
        head = event.head
        if head is not None and head.head.stack is not Stack.DECODER:
            head = None
        if head is not None:
            told["head"] = head_name(head.head)
        label, pattern = words.label(event.token), None if head is None else head.pattern
        steps.append(GrowthStep(label, event.mask_row, pattern, inputs.mask))
        inputs = appended(inputs, event.token)
    tokens = words.pieces(inputs.rows[0])
    return noted(steps_figure(steps, tokens, given, style=style), told)


def _drawn(sampling: Sampling) -> str:
    """How the next token is drawn, in a line."""
    if not sampling.temperature:
        return "greedy"
    told = [f"temperature {sampling.temperature:g}"]
    if sampling.top_k:
        told.append(f"top-k {sampling.top_k}")
    if sampling.top_p < 1:
        told.append(f"top-p {sampling.top_p:g}")
    return ", ".join([*told, f"seed {sampling.seed}"])


def flow_of(
    scene: Scene, result: FlowResult, method: FlowMethod, words: Tokenizer, style: Style
) -> Figure:
    """What can reach an output, and what does: the shares and the strongest edges of a method.

    Of an encoder-decoder, the levels of the decoder follow those of the encoder, whose output goes
    on beside them, for every decoder layer reads it. A gradient has no edges: rollout stands in.
    """
    rows: list[FlowRow] = []
    first: dict[Stack, tuple[int, int]] = {}  # The first node and the first level of a stack.
    levels = ["in"]
    for stack in result.stacks:
        start = len(levels) - 1
        first[stack.stack] = len(rows), start
        inputs, source = scene.inputs, len(result.stacks) > 1 and stack is result.stacks[0]
        ids = (inputs.source if source else inputs.rows)[scene.row]
        reach = stack.reach if source else stack.reach[: result.layer + 1]
        sign = "E" if source else ("D" if len(result.stacks) > 1 else "L")
        levels += [f"{sign}{n}" for n in range(1, len(reach))]
        if source:
            reach = np.vstack([reach, np.repeat(reach[-1:], result.layer - 1, axis=0)])
        shares = stack.shares.get(method)
        known = [None] * len(ids) if shares is None else shares[0].tolist()
        rows += [
            FlowRow(label, tuple(can), start, share)
            for label, can, share in zip(words.pieces(ids), reach.T.tolist(), known, strict=True)
        ]
    edges = [
        FlowEdge(*place, min(share, 1.0))
        for place, share in _flow_edges(result, method, first).items()
    ]
    node = first[result.output.stack][0] + result.position
    caption = _flow_caption(result, method, rows[node].label, words)
    told = {
        "output": f"column {result.position}",
        "layers": str(result.layer),
        "shares": method.value,
        "finding": caption,
    }
    return noted(flow_figure(levels, rows, edges, focus=node, caption=caption, style=style), told)


def _flow_edges(
    result: FlowResult, method: FlowMethod, first: dict[Stack, tuple[int, int]]
) -> dict[tuple[int, int, int], float]:
    """What passes between two nodes, by level, lower and upper node: attention and residual."""
    edges = result.edges
    found: dict[tuple[int, int, int], float] = {}
    for n, share in enumerate(edges.shares(method)):
        upper, lower = edges.upper(n), edges.lower(n)
        if not math.isnan(share):
            low, high = (first[node.stack][0] + node.column for node in (lower, upper))
            place = first[upper.stack][1] + upper.level - 1, low, high
            found[place] = found.get(place, 0.0) + float(share)
    return found


def _flow_caption(result: FlowResult, method: FlowMethod, label: str, words: Tokenizer) -> str:
    """The output, the depth and the method in a line, and why there are no shares."""
    of = "decoder " if len(result.stacks) > 1 else ""
    layers = f"{result.layer} {of}layer{'' if result.layer == 1 else 's'}"
    line = f"What made column {result.position} “{label}” through {layers}, by {method.value}"
    is_known = all(method in stack.shares for stack in result.stacks)
    if method is FlowMethod.GRADIENT:
        shares = f": shares of the logit of “{words.label(result.token)}”" if is_known else ""
        line += f"{shares}; edges by rollout"
    beside = (
        ["Every decoder layer reads the encoder's output, which stands beside it."] if of else []
    )
    return " ".join([f"{line}.", *beside, *(() if is_known else result.notes_for(method))])


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


_OWN_MASK = ("report", "objectives", "embeddings")
"""Views that read under masks of their own, which they tell themselves."""


def made(figure: Figure, view: str, runs: Sequence[RunRequest], words: Tokenizer) -> Figure:
    """The figure of a view with what made it; ``runs`` is the run, or the two that are compared.

    Model, engine, texts, and the mask with its knobs; those of an encoder-decoder by stack. What
    two runs do not share is told of A and of B. What the figure tells itself stays.
    """
    each = [_made_by(run, words) for run in runs]
    if view not in _OWN_MASK:
        each = [told | _masks(run.inputs, run.row) for told, run in zip(each, runs, strict=True)]
    shared = {
        name: text for name, text in each[0].items() if all(told.get(name) == text for told in each)
    }
    own = {
        f"{side} {name}": text
        for side, told in zip("AB", each, strict=False)
        for name, text in told.items()
        if name not in shared
    }
    return replace(figure, parameters={"view": view} | shared | own | figure.parameters)


def _made_by(run: RunRequest, words: Tokenizer) -> dict[str, str]:
    """Model, engine and the texts of the shown row; what is as usual or empty is left out."""
    read, written = ((ids[run.row] if ids else ()) for ids in (run.inputs.source, run.inputs.rows))
    text, target = (words.decode(ids, structure=False) for ids in (read, written))
    engine = "ONNX Runtime" if run.backend == "onnx" else run.backend  # As a report calls it.
    told = {"model": run.model, "engine": engine}
    told |= {"text": text, "target": target} if read else {"text": target}
    usual = {"device": (run.device, "auto"), "dtype": (run.dtype, "float32")}
    told |= {name: value for name, (value, rest) in usual.items() if value != rest}
    return {name: value for name, value in told.items() if value}


def _masks(inputs: Inputs, row: int) -> dict[str, str]:
    """The mask of a run and its knobs; of two stacks both, by name."""
    if inputs.source_mask is None:
        return described(inputs.mask, row)
    masks = {Stack.ENCODER: inputs.source_mask, Stack.DECODER: inputs.mask}
    return {
        f"{stack.value} {name}": text
        for stack, spec in masks.items()
        for name, text in described(spec, row).items()
    }


def noted(figure: Figure, more: dict[str, str]) -> Figure:
    """The figure with more parameters."""
    return replace(figure, parameters={**figure.parameters, **more})
