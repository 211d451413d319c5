"""Stages, objectives, embeddings and cost against their numbers: colours, places and words."""

from __future__ import annotations

from dataclasses import replace
from math import log10

import numpy as np
import pytest
from figure_cases import extent, objective, similar, specs, stages
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.figure.cost import cost_figure
from core.figure.embeddings import embeddings_figure
from core.figure.flow import FlowEdge, FlowRow, flow_figure
from core.figure.objectives import objectives_figure
from core.figure.page import Block, flowed
from core.figure.stages import STEPS, stages_figure
from core.figure.steps import GrowthStep, steps_figure
from core.figure.style import PRESETS, Style, diverging, ink_on, reason_colors
from core.mask.reference import reference_reasons
from core.types import (
    CostCurves,
    MaskKind,
    MaskSpec,
    Measured,
    MeasuredPoint,
    Pooling,
    Quantity,
    Reason,
)
from core.types.colors import ACCENT, MUTED, TEXT, WHITE, light_map
from core.types.cost import figure
from core.types.figure import Cells, Figure, Polygon, Polyline, Text
from core.types.log_curves import cost_lines, log_ticks, tick_text, timed_lines

WIDE = Style(width=900.0)


def frames(found: Figure, *, accent: bool = False) -> list[tuple[float, float, float, float]]:
    """Left, top, width and height of every frame, in drawing order."""
    made = [
        np.array(mark.points)
        for mark in found.marks
        if isinstance(mark, Polyline) and len(mark.points) == 5 and (mark.color == ACCENT) is accent
    ]
    return [(*p.min(axis=0), *np.ptp(p, axis=0)) for p in made]


def colors(
    found: Figure, frame: tuple[float, float, float, float], shape: tuple[int, int]
) -> NDArray[np.int64]:
    """The colour at the middle of every cell of a frame, int ``[R, C, 3]``; -1 where none is."""
    left, top, wide, high = frame
    x = left + (np.arange(shape[1]) + 0.5) * wide / shape[1]
    y = top + (np.arange(shape[0]) + 0.5) * high / shape[0]
    seen = np.full((*shape, 3), -1, np.int64)
    for mark in found.marks:
        if isinstance(mark, Cells):
            for rx, ry, rw, rh in mark.rects:
                inside = ((y > ry) & (y < ry + rh))[:, None] & ((x > rx) & (x < rx + rw))[None, :]
                seen[inside] = mark.color
    return seen


def signed(value: float, peak: float) -> tuple[int, ...]:
    return tuple(diverging("even")[round(127 * value / peak) + 127].tolist())


def texts(found: Figure, string: str) -> list[Text]:
    return [mark for mark in found.marks if isinstance(mark, Text) and mark.string == string]


# -- stages


@given(specs(), st.integers(0, 99))
@settings(deadline=None, max_examples=40)
def test_every_step_has_the_colours_of_its_numbers(spec: MaskSpec, seed: int) -> None:
    made = stages(spec, seed=seed)
    found = stages_figure(made, spec, style=replace(WIDE, color_bar=False))
    boxes = frames(found)[: len(STEPS)]
    reasons = reference_reasons(spec)[0]
    shape = reasons.shape
    peak = float(np.abs(made.scaled).max())
    seen = [colors(found, box, shape) for box in boxes[:4]]
    for row in range(shape[0]):
        for key in range(shape[1]):
            one = signed(made.scaled[row, key], peak)
            assert tuple(seen[0][row, key]) == one
            assert tuple(seen[1][row, key]) == one
            weight = light_map("even")[round(255 * float(np.sqrt(made.weights[row, key])))]
            if reasons[row, key] != Reason.OPEN:
                one = reason_colors(Reason(reasons[row, key]), quiet=True)[0]
                weight = np.array(one)
            assert tuple(seen[2][row, key]) == one
            assert tuple(seen[3][row, key]) == tuple(weight.tolist())
    assert made.output is not None
    last = colors(found, boxes[4], made.output.shape)
    most = float(np.abs(made.output).max())
    for row, feature in np.ndindex(made.output.shape):
        wanted = signed(made.output[row, feature], max(most, 1e-12))
        assert tuple(last[row, feature]) == wanted


def test_rows_of_a_line_stand_beside_each_other() -> None:
    spec = MaskSpec(MaskKind.CAUSAL, 6)
    boxes = np.array(frames(stages_figure(stages(spec), spec, style=PRESETS["two-column"]))[:5])
    assert np.ptp(boxes[:, 1]) == pytest.approx(0.0)
    assert np.ptp(boxes[:, 2]) == pytest.approx(0.0)
    assert np.ptp(boxes[:, 3]) == pytest.approx(0.0)
    assert (np.diff(boxes[:, 0]) > boxes[0, 2]).all()


def test_a_narrow_page_has_its_panels_in_lines() -> None:
    spec = MaskSpec(MaskKind.CAUSAL, 9)
    boxes = np.array(frames(stages_figure(stages(spec), spec))[:5])
    assert len(set(boxes[:, 1].round(3))) > 1


def test_titles_and_formulas_are_whole_where_labels_are_wide() -> None:
    spec = MaskSpec(MaskKind.CAUSAL, 4)
    words = ("<s>", "<extra_id_0>", "red", "ball")
    said = stages_figure(stages(spec), spec, 0, words, words).texts()
    assert {*STEPS, "rows add up to 1", "closed: −∞", "weights · v"} <= set(said)


@pytest.mark.parametrize("past", [0, 3])
def test_the_query_is_framed_and_its_numbers_are_those_of_the_equation(past: int) -> None:
    spec = MaskSpec(MaskKind.CAUSAL, 4, past=past)
    keys = ["a", "b", "c", "d", "e", "f", "g"][: spec.keys]
    made = stages(spec)
    found = stages_figure(made, spec, 0, keys[past:], keys, 2, style=WIDE)
    said = " ".join(found.texts())
    lines = dict(made.equation(2, keys))
    assert f"query {past + 2} “{keys[past + 2]}”" in found.texts()
    for name in ("keys", *STEPS):
        assert lines[name] in said
        assert found.parameters[f"query {name}"] == lines[name]
    assert lines["too late"] not in said
    rows = frames(found, accent=True)
    assert len(rows) == len(STEPS)
    for row, box in zip(rows, frames(found), strict=False):
        assert row[1] == pytest.approx(box[1] + 2 * box[3] / 4)
        assert row[3] == pytest.approx(box[3] / 4)


def test_a_long_equation_is_left_out_of_the_page_and_kept_in_the_file() -> None:
    spec = MaskSpec(MaskKind.CAUSAL, 12)
    keys = [f"a-very-long-word-number-{n}" for n in range(12)]
    found = stages_figure(stages(spec), spec, 0, keys, keys, 11)
    assert not [text for text in found.texts() if "softmax(" in text]
    assert "softmax(" in found.parameters["query softmax"]


def test_without_values_there_is_no_output() -> None:
    spec = MaskSpec(MaskKind.CAUSAL, 4)
    said = stages_figure(stages(spec, features=0), spec, query=3).texts()
    assert said.count("output") == 0
    assert stages_figure(stages(spec), spec).texts().count("output") == 2


def test_tiny_cells_have_the_number_farthest_from_zero() -> None:
    spec = MaskSpec(MaskKind.BIDIRECTIONAL, 700)
    made = stages(spec)
    scaled = np.zeros_like(made.scaled)
    scaled[350, 20], scaled[350, 600] = -3.0, 2.0
    found = stages_figure(replace(made, scaled=scaled), spec)
    assert "largest size of each" in found.parameters["cells drawn"]
    x, top, wide, high = frames(found)[1]
    low = [m for m in found.marks if isinstance(m, Cells) and m.color == signed(-3.0, 3.0)]
    places = np.concatenate([mark.rects for mark in low])
    spot = (x + wide * 20.5 / 700, top + high * 350.5 / 700)
    inside = (np.abs(places[:, :2] + places[:, 2:] / 2 - spot) <= places[:, 2:]).all(axis=1)
    assert inside.any()


# -- objectives


@given(st.integers(1, 60), st.integers(0, 99), st.sampled_from([0, 0, 5, 40]), st.booleans())
@settings(deadline=None, max_examples=40)
def test_a_loss_has_its_tint_and_its_number(
    length: int, seed: int, source: int, labels: bool
) -> None:
    view = objective(length, seed=seed, source=source)
    words, read = [f"w{n}" for n in range(length)], [f"s{n}" for n in range(source)]
    found = objectives_figure(view, words, words, read, style=Style(labels=labels))
    right = np.nanmax(view.loss) if view.denominator else 0.0
    lut, largest = light_map("even"), max(float(right), 1.0)
    numbers = [
        (n, mark)
        for n, mark in enumerate(found.marks)
        if isinstance(mark, Text) and mark.anchor == "middle" and mark.color in (WHITE, TEXT)
    ]
    shown = [(n, mark) for n, mark in numbers if mark.string.replace(".", "").isdigit()]
    losses = view.loss[view.loss_mask].tolist()
    assert [mark.string for _, mark in shown] == [f"{loss:.2f}" for loss in losses]
    for (n, mark), loss in zip(shown, losses, strict=True):
        cell = found.marks[n - 1]
        assert isinstance(cell, Cells)
        assert cell.color == tuple(lut[round(255 * min(1.0, loss / largest))].tolist())
        assert mark.color == ink_on(cell.color)
        ((x, _, wide, _),) = cell.rects
        assert mark.x == pytest.approx(x + wide / 2)
    assert len(frames(found, accent=True)) == view.denominator
    said = " ".join(found.texts())
    assert view.sentence in said
    assert all((word in found.texts()) is labels for word in (*words, *read))
    assert extent(found)[2] <= found.width + 0.01


def test_what_is_read_stands_above_its_target_and_its_loss() -> None:
    view = objective(30, seed=4)
    reads, targets = [f"r{n}" for n in range(30)], [f"t{n}" for n in range(30)]
    found = objectives_figure(view, reads, targets)
    assert len({mark.y for n in range(30) for mark in texts(found, f"r{n}")}) > 2
    for n in range(30):
        (read,) = texts(found, f"r{n}")
        under = texts(found, f"t{n}")
        assert len(under) == int(view.loss_mask[n])
        for target in under:
            assert target.x == pytest.approx(read.x)
            assert read.y < target.y < read.y + 30.0


def test_replaced_tokens_and_the_prefix_have_their_colours() -> None:
    view = objective(30, seed=1)
    words = ["x"] * 30
    changed = view.loss_mask & (view.inputs != view.targets)
    found = objectives_figure(view, words, words)
    assert "replaced" in found.texts()
    swatch = next(
        found.marks[n - 2]
        for n, m in enumerate(found.marks)
        if getattr(m, "string", "") == "replaced"
    )
    assert isinstance(swatch, Cells)
    same = [m for m in found.marks if isinstance(m, Cells) and m.color == swatch.color]
    assert len(same) == 1 + int(changed.sum())
    prefixed = objectives_figure(objective(30, seed=1, prefix=4), words, words)
    assert "prefix, read both ways" in prefixed.texts()
    assert prefixed.parameters["prefix"] == "4"


def test_what_was_not_computed_has_no_loss() -> None:
    view = objective(8, seed=1)
    none = np.zeros(0, np.float32)
    bare = replace(
        view, loss=np.full(8, np.nan, np.float32), top_ids=none.astype(np.int32), top_probs=none
    )
    said = objectives_figure(bare, ["x"] * 8, ["y"] * 8).texts()
    assert "loss" not in said
    assert "loss in nats" not in said
    assert bare.sentence in " ".join(said)
    assert said.count("y") == view.denominator


# -- embeddings


@given(st.integers(2, 9), st.integers(0, 99))
@settings(deadline=None, max_examples=30)
def test_cosines_have_their_colours_and_numbers(count: int, seed: int) -> None:
    view = similar(count, seed)
    sentences = [f"Sentence number {n}." for n in range(count)]
    found = embeddings_figure(view, sentences, style=WIDE)
    every = np.stack([view.similarity[pooling] for pooling in Pooling])
    low = min(float(every.min()), 0.9)
    boxes = frames(found)[:3]
    for values, box in zip(view.similarity.values(), boxes, strict=True):
        seen = colors(found, box, values.shape)
        for row, col in np.ndindex(values.shape):
            value = float(values[row, col])
            share = min(1.0, max(0.0, (value - low) / (1.0 - low)))
            # The level may lie between two colours.
            near = light_map("even")[[max(0, round(255 * share - 1e-3)), round(255 * share)]]
            assert tuple(seen[row, col]) in {tuple(one.tolist()) for one in near}
            x = box[0] + (col + 0.5) * box[2] / count
            y = box[1] + (row + 0.5) * box[3] / count
            written = f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")
            assert any(
                abs(mark.x - x) < 0.1 and abs(mark.y - y) < 5.0 for mark in texts(found, written)
            )
    assert set(sentences) <= set(found.texts())
    assert {"mean", "last token", "first token", "cosine"} <= set(found.texts())


def test_numbers_of_all_poolings_have_one_size_and_0_has_no_sign() -> None:
    view = similar(9, seed=3)
    view.similarity[Pooling.MEAN][:] = 1.0
    view.similarity[Pooling.LAST][0, 1] = -0.004
    view.similarity[Pooling.LAST][0, 2] = -0.13
    figure = embeddings_figure(view, ["A cat."] * 9, style=WIDE)
    assert "−0.13" in figure.texts()
    assert "−0.00" not in figure.texts()
    numbers = [m for m in figure.marks if isinstance(m, Text) and m.string[-3:-2] == "."]
    inside = [mark for mark in numbers if mark.color != MUTED]
    assert len(inside) == 3 * 81
    assert len({mark.size for mark in inside}) == 1


def test_small_squares_have_no_numbers_but_keep_their_sentences() -> None:
    sentences = [f"Sentence {n}." for n in range(30)]
    said = embeddings_figure(similar(30), sentences).texts()
    assert "1.00" not in said
    assert set(sentences) <= set(said)
    said = embeddings_figure(similar(30), sentences, style=Style(labels=False)).texts()
    assert not set(sentences) & set(said)


# -- cost


@given(
    st.lists(st.integers(1, 10**9), min_size=1, max_size=12, unique=True),
    st.integers(0, 99),
    st.sampled_from(["bytes", "FLOP", "parameters", "seconds", "FLOP/s"]),
    st.sampled_from([Style(), PRESETS["two-column"], PRESETS["slide"]]),
)
@settings(deadline=None, max_examples=40)
def test_numbers_lie_where_the_ticks_say(
    values: list[int], seed: int, unit: str, style: Style
) -> None:
    x = np.sort(np.array(values, np.float64))
    y = 10.0 ** np.random.default_rng(seed).uniform(1.0, 14.0, len(x))
    found = cost_figure({"total": (x, y)}, {"dots": (x, 2.0 * y)}, unit, ("x", "y"), style=style)
    box = next(iter(frames(found)))
    line = max((m for m in found.marks if isinstance(m, Polyline) and m.color == TEXT), key=_width)
    dots = [np.mean(m.points, axis=0) for m in found.marks if isinstance(m, Polygon)]
    across = _line_of([log10(v) for v in x], [p[0] for p in line.points])
    down = _line_of(
        [log10(v) for v in (*y, *2.0 * y)],
        [*(p[1] for p in line.points), *(d[1] for d in dots[: len(x)])],
    )
    for n, value in enumerate(x):
        assert dots[n][0] == pytest.approx(line.points[n][0], abs=1e-6)
        assert across(log10(value)) == pytest.approx(line.points[n][0], abs=1e-6)
        assert down(log10(y[n])) == pytest.approx(line.points[n][1], abs=1e-6)
        assert box[0] < line.points[n][0] < box[0] + box[2]
        assert box[1] < dots[n][1] < box[1] + box[3]
    assert "total" in found.texts()
    assert {"x", "y", "dots"} <= set(found.texts())


def _width(mark: Polyline) -> float:
    return mark.width


def _line_of(logs: list[float], places: list[float]):
    """What sends the first and the last log10 to their places, and all between evenly."""
    low, high = int(np.argmin(logs)), int(np.argmax(logs))
    if logs[low] == logs[high]:
        return lambda log: places[low]
    slope = (places[high] - places[low]) / (logs[high] - logs[low])
    return lambda log: places[low] + slope * (log - logs[low])


def test_ticks_stand_where_their_numbers_are() -> None:
    x = np.array([1.0, 10.0, 100.0, 1000.0])
    found = cost_figure({"a": (x, 1e3 * x)}, {}, "FLOP", ("size", "work"))
    line = next(m for m in found.marks if isinstance(m, Polyline) and len(m.points) == 4)
    for (place, _), text in zip(line.points, ("1", "10", "100", "1,000"), strict=True):
        (tick,) = texts(found, text)
        assert tick.x == pytest.approx(place)
    for (_, place), text in zip(
        line.points, ("1 kFLOP", "10 kFLOP", "100 kFLOP", "1 MFLOP"), strict=True
    ):
        (tick,) = texts(found, text)
        assert tick.y - 0.36 * tick.size == pytest.approx(place)


def test_the_place_is_marked_on_every_line() -> None:
    x = np.array([8.0, 64.0, 512.0])
    found = cost_figure({"a": (x, x), "total": (x, 3 * x)}, {}, "", ("T", ""), place=64.0)
    (said,) = [mark for mark in texts(found, "64") if mark.y < 30.0]
    larger = [m for m in found.marks if isinstance(m, Polygon) and np.ptp(m.points, axis=0)[0] > 5]
    assert len(larger) == 2
    for mark in larger:
        assert np.mean(mark.points, axis=0)[0] == pytest.approx(said.x, abs=0.01)
    assert found.parameters["marked"] == "64"


def test_lines_stay_apart_without_colour() -> None:
    x = np.geomspace(1.0, 1000.0, 31)
    names = [f"part {n}" for n in range(6)]
    found = cost_figure(dict.fromkeys(names, (x, x)), {}, "FLOP")
    shapes = {
        tuple(np.round(np.array(m.points) - np.mean(m.points, axis=0), 3).ravel().tolist())
        for m in found.marks
        if isinstance(m, Polygon)
    }
    assert len(shapes) == len(names)


def test_parts_that_are_nowhere_0_are_lines_with_their_total() -> None:
    values = np.array([1, 2, 4])
    parts = {"a": np.array([1.0, 2.0, 4.0]), "b": np.array([5.0, 5.0, 5.0]), "no": np.zeros(3)}
    lines = cost_lines(CostCurves(Quantity.FLOPS, "T", values, parts))
    assert list(lines) == ["a", "b", "total"]
    assert lines["total"][1].tolist() == [6.0, 7.0, 9.0]
    assert list(cost_lines(CostCurves(Quantity.FLOPS, "T", values, {"a": parts["a"]}))) == ["a"]


def test_what_was_timed_is_points_and_a_line_at_the_best_rate() -> None:
    points = (MeasuredPoint(8, 2.0, 1.0, 10, 3), MeasuredPoint(16, 3.0, None, 30, 4))
    measured = Measured("decoder", "torch", "cpu", "float32", 1, 1, 3, points)
    lines, dots, unit = timed_lines(measured, rates=False)
    assert unit == "seconds"
    assert dots["prefill"][1].tolist() == [2.0, 3.0]
    assert dots["decode step"][0].tolist() == [8.0]
    assert lines["prefill at its best rate"][1].tolist() == [1.0, 3.0]
    lines, dots, unit = timed_lines(measured, rates=True)
    assert (lines, unit) == ({}, "FLOP/s")
    assert dots["prefill"][1].tolist() == [5.0, 10.0]
    assert dots["decode step"][1].tolist() == [3.0]


@given(
    st.floats(-3.0, 12.0),
    st.floats(0.01, 12.0),
    st.sampled_from(["bytes", "FLOP", ""]),
    st.integers(2, 12),
    st.booleans(),
)
def test_ticks_are_round_and_few(low: float, span: float, unit: str, most: int, fine: bool) -> None:
    for at in (found := log_ticks(low, low + span, unit, most, fine=fine)):
        assert low - 1e-9 <= at <= low + span + 1e-9
        power = at / log10(2.0) if unit == "bytes" else at
        leading = 10.0 ** (at % 1.0)
        is_fine = fine and unit != "bytes"
        assert abs(2 * leading - round(2 * leading) if is_fine else power - round(power)) < 1e-6
    if not (fine and unit != "bytes"):
        assert len(found) <= most + 1
    elif span > 1.0:
        assert {round(10.0 ** (at % 1.0), 6) for at in found} <= {1.0, 2.0, 5.0, 10.0}


def test_a_short_axis_has_finer_ticks() -> None:
    said = [tick_text(10.0**at, "FLOP") for at in log_ticks(9.4, 9.6, "FLOP", 9, fine=True)]
    assert said == ["3 GFLOP", "3.5 GFLOP"]
    said = [tick_text(10.0**at, "FLOP") for at in log_ticks(9.1, 9.8, "FLOP", 9, fine=True)]
    assert said == ["2 GFLOP", "3 GFLOP", "4 GFLOP", "5 GFLOP", "6 GFLOP"]


@pytest.mark.parametrize("power", range(0, 60, 7))
def test_a_tick_of_bytes_is_a_whole_number(power: int) -> None:
    assert tick_text(10.0 ** (power * log10(2.0)), "bytes") == figure(2**power, "bytes")


def test_a_tick_says_no_parameters() -> None:
    assert tick_text(1000.0, "parameters") == "1,000"
    assert tick_text(1000.0, "") == "1,000"


# -- all


def test_blocks_fill_lines_as_far_as_they_fit() -> None:
    blocks = [
        Block((), 90.0, 10.0),
        Block((), 90.0, 12.0),
        Block((), 0.0, 0.0),
        Block((), 90.0, 8.0),
    ]
    one = flowed(Style(width=252.0), blocks)
    assert one.height == 12.0 + 4.0 + 8.0
    assert one.width == pytest.approx(180.0 + 18.0)
    assert flowed(Style(width=600.0), blocks).height == 12.0
    assert flowed(Style(), [Block((), 0.0, 0.0)]).height == 0.0


@given(
    st.integers(2, 40),
    st.floats(36.0, 900.0),
    st.none() | st.floats(36.0, 900.0),
    st.booleans(),
    st.sampled_from(["stages", "objectives", "embeddings", "cost", "flow", "steps"]),
)
@settings(deadline=None, max_examples=90)
def test_any_size_fits_or_is_refused(size, width, height, labels, view) -> None:
    style = Style(width=width, height=height, labels=labels, title="A title")
    try:
        found = small(view, size, style)
    except ValueError:
        found = None
    if found is None:
        assert min(width, height or 900.0) < 500.0
        with pytest.raises(ValueError, match="needs at least"):
            small(view, size, style)
        return
    left, top, right, bottom = extent(found)
    assert min(left, top) >= 0.0
    assert right <= width + 0.01
    assert bottom <= found.height + 0.01


def small(view: str, size: int, style: Style) -> Figure:
    """A figure of about so many tokens."""
    words = [f"word {n}" for n in range(size)]
    spec = MaskSpec(MaskKind.CAUSAL, size)
    x = np.geomspace(1.0, 1e6, size)
    if view == "stages":
        return stages_figure(stages(spec), spec, 0, words, words, size - 1, style=style)
    if view == "flow":
        rows = [FlowRow(word, (True, False), share=0.1) for word in words]
        edges = [FlowEdge(0, size - 1, 0, 0.5)]
        return flow_figure(("in", "1"), rows, edges, caption="What made it.", style=style)
    if view == "steps":
        reads = range(max(1, size - 4), size)
        steps = [GrowthStep(words[n], np.ones(n, bool), np.full((n, n), 0.1)) for n in reads]
        return steps_figure(steps, words, 2, style=style)
    if view == "objectives":
        return objectives_figure(objective(size), words, words, style=style)
    if view == "embeddings":
        return embeddings_figure(similar(size), words, style=style)
    lines = {"a long name of a part": (x, x), "total": (x, 2 * x)}
    return cost_figure(lines, {}, "bytes", ("x", "y"), style=style)


@pytest.mark.parametrize("ground", [WHITE, (0, 0, 0), (40, 40, 120), (230, 240, 235)])
def test_ink_can_be_read_on_its_ground(ground: tuple[int, int, int]) -> None:
    assert abs(sum(ink_on(ground)) - sum(ground)) > 300


CAUSAL = MaskSpec(MaskKind.CAUSAL, 3)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: stages_figure(stages(CAUSAL), MaskSpec(MaskKind.CAUSAL, 4)),
            "3 x 3, but must be 4",
        ),
        (
            lambda: stages_figure(stages(CAUSAL), CAUSAL, query=3),
            "query is 3, but must be between 0",
        ),
        (lambda: stages_figure(stages(CAUSAL), CAUSAL, 0, "ab"), "2 labels"),
        (lambda: objectives_figure(objective(3), "ab", "abc"), "reads has 2 tokens"),
        (lambda: objectives_figure(objective(3), "abc", "a"), "targets has 1 tokens"),
        (lambda: objectives_figure(objective(3), "abc", "abc", "a"), "source has 1 tokens"),
        (lambda: embeddings_figure(similar(3), ["a"]), "sentences has 1 texts"),
        (lambda: cost_figure({}), "no numbers"),
        (lambda: cost_figure({"a": (np.zeros(2), np.ones(2))}), "a has the number 0"),
        (lambda: cost_figure({"a": (np.ones(2), np.array([1, np.nan]))}), "a has the number nan"),
    ],
)
def test_what_cannot_be_drawn_is_said(make, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make()
