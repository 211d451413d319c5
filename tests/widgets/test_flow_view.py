from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot

from core.types import LEAST_EDGE, FlowMethod, FlowNode, HeadRef, Stack
from widgets import palette
from widgets.flow_canvas import FlowCanvas
from widgets.flow_demo import LAYERS, demo_flow
from widgets.flow_layout import Curve, curves, lay_out, shown_columns
from widgets.flow_view import FlowView

Show = Callable[..., None]
E, D = Stack.ENCODER, Stack.DECODER
ROLLOUT, NORM, GRADIENT = FlowMethod
FIELDS = ("stack", "layer", "query", "key", "head", "rollout", "value_norm")
both = pytest.mark.parametrize("two", [False, True])


def view_of(two: bool = False, columns: int = 15) -> FlowView:
    view = FlowView()
    view.set_flow(*demo_flow(two, columns), layers=LAYERS)
    return view


def nodes_of(canvas: FlowCanvas) -> list[tuple[FlowNode, QPoint]]:
    blocks, _ = canvas.laid()
    return [
        (node, block.point(node).toPoint())
        for block in blocks
        for level in range(block.levels)
        for column in block.columns
        for node in (FlowNode(block.stack, level, column),)
    ]


def a_spot_of(canvas: FlowCanvas, curve: Curve) -> QPoint | None:
    """A point on an edge that is near no node and no other edge."""
    blocks, drawn = canvas.laid()
    for x, y in curve.points[2:-2]:
        at = QPointF(QPointF(x, y).toPoint())
        free = not any(block.node_at(at) for block in blocks)
        near = [other for other in drawn if other.distance(at) <= 5.0]
        if free and near == [curve]:
            return at.toPoint()
    return None


# -- where it lies


@both
@pytest.mark.parametrize("width", [300, 700, 1200])
def test_every_node_is_found_where_it_lies_and_apart_from_others(two: bool, width: int) -> None:
    result, _ = demo_flow(two)
    room = QRectF(0.0, 20.0, float(width), 260.0)
    blocks = lay_out(result, ROLLOUT, room, 24.0)
    points = []
    for block in blocks:
        for level in range(block.levels):
            for column in block.columns:
                node = FlowNode(block.stack, level, column)
                assert [b.node_at(block.point(node)) for b in blocks].count(node) == 1
                points.append((block.point(node).x(), block.point(node).y()))
                assert room.contains(block.point(node))
    apart = np.hypot(*(np.array(points)[:, None] - np.array(points)[None]).transpose(2, 0, 1))
    np.fill_diagonal(apart, np.inf)
    assert apart.min() >= 2 * max(block.radius for block in blocks)


@pytest.mark.parametrize("method", FlowMethod)
def test_the_strongest_columns_are_shown_where_not_all_fit(method: FlowMethod) -> None:
    result, _ = demo_flow(columns=60)
    (stack,) = result.stacks
    assert shown_columns(result, stack, method, 60) == tuple(range(60))
    shown = shown_columns(result, stack, method, 9)
    assert len(shown) == 9
    assert list(shown) == sorted(shown)
    assert result.position in shown
    weight = np.abs(stack.shares[method]).max(axis=0)
    least = min(weight[c] for c in shown if c != result.position)
    assert all(weight[c] <= least for c in range(60) if c not in shown)


@both
@pytest.mark.parametrize("least", [LEAST_EDGE, 0.02, 0.2])
def test_just_the_edges_above_the_threshold_are_drawn(two: bool, least: float) -> None:
    result, _ = demo_flow(two)
    blocks = lay_out(result, ROLLOUT, QRectF(0, 0, 1200, 300), 24.0)
    drawn = curves(result, blocks, ROLLOUT, least)
    expected = {n for n, share in enumerate(result.edges.rollout) if share >= least}
    assert {curve.edge for curve in drawn} == expected
    assert [curve.share for curve in drawn] == sorted(curve.share for curve in drawn)
    for curve in drawn:
        for end, node in ((0, result.edges.lower), (-1, result.edges.upper)):
            (block,) = (b for b in blocks if b.has(node(curve.edge)))
            at = block.point(node(curve.edge))
            assert np.allclose(curve.points[end], (at.x(), at.y()))


# -- the mouse


@both
def test_a_click_asks_about_a_node_of_the_outputs_stack(
    shown: Show, qtbot: QtBot, two: bool
) -> None:
    view = view_of(two)
    shown(view, 900, 460)
    for node, at in nodes_of(view.canvas)[::5]:
        spy = QSignalSpy(view.node_clicked)
        qtbot.mouseClick(view.canvas, Qt.MouseButton.LeftButton, pos=at)
        told = [spy.at(n)[0] for n in range(spy.count())]
        assert told == ([node.column] if node.stack is D else [])
        assert view.canvas.selected == node
        assert f"{node.column} “" in view.canvas.accessibleName()


@both
def test_a_click_on_an_edge_opens_its_head(shown: Show, qtbot: QtBot, two: bool) -> None:
    view = view_of(two)
    shown(view, 1200, 600)
    edges, met = demo_flow(two)[0].edges, set()
    for curve in view.canvas.laid()[1]:
        spot = a_spot_of(view.canvas, curve)
        if spot is None:
            continue
        spy = QSignalSpy(view.edge_clicked)
        qtbot.mouseClick(view.canvas, Qt.MouseButton.LeftButton, pos=spot)
        head = edges.head_ref(curve.edge)
        told = [spy.at(n) for n in range(spy.count())]
        cell = (int(edges.query[curve.edge]), int(edges.key[curve.edge]))
        assert told == ([] if head is None else [[head, cell]])
        assert view.canvas.selected == curve.edge
        met.add(edges.attention(curve.edge) if head else None)
    assert met == {None, *({D, E, Stack.CROSS} if two else {D})}


def test_hovering_lights_a_node_and_emits_nothing(shown: Show, qtbot: QtBot) -> None:
    view = view_of()
    shown(view, 700, 420)
    spies = [QSignalSpy(view.node_clicked), QSignalSpy(view.edge_clicked)]
    before = view.grab().toImage()
    node, at = nodes_of(view.canvas)[7]
    qtbot.mouseMove(view.canvas, at)
    assert view.grab().toImage() != before
    assert view.canvas.selected != node
    assert [spy.count() for spy in spies] == [0, 0]


# -- the keyboard


def test_arrows_walk_nodes_and_enter_asks(shown: Show, qtbot: QtBot) -> None:
    view = view_of(two=True)
    shown(view, 900, 460)
    output = demo_flow(True)[0].output
    assert view.canvas.selected == output
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Left):
        qtbot.keyClick(view.canvas, key)
    assert view.canvas.selected == FlowNode(D, output.level - 2, output.column - 1)
    with qtbot.waitSignal(view.node_clicked) as asked:
        qtbot.keyClick(view.canvas, Qt.Key.Key_Return)
    assert asked.args == [output.column - 1]
    for _ in range(output.column):
        qtbot.keyClick(view.canvas, Qt.Key.Key_Left)
    assert view.canvas.selected == FlowNode(E, output.level - 2, 9)
    qtbot.keyClick(view.canvas, Qt.Key.Key_Up)
    assert view.canvas.selected == FlowNode(E, output.level - 2, 9)
    assert "source · after layer 2 · 9 “out” · can reach" in view.canvas.accessibleName()


def test_page_down_walks_edges_from_the_strongest(shown: Show, qtbot: QtBot) -> None:
    view = view_of()
    shown(view, 900, 460)
    order = [curve.edge for curve in reversed(view.canvas.laid()[1])]
    for n in order[:4]:
        qtbot.keyClick(view.canvas, Qt.Key.Key_PageDown)
        assert view.canvas.selected == n
    qtbot.keyClick(view.canvas, Qt.Key.Key_PageUp)
    assert view.canvas.selected == order[2]
    heads = [n for n in order if demo_flow()[0].edges.head_ref(n) is not None]
    while view.canvas.selected != heads[-1]:
        qtbot.keyClick(view.canvas, Qt.Key.Key_PageDown)
    with qtbot.waitSignal(view.edge_clicked) as opened:
        qtbot.keyClick(view.canvas, Qt.Key.Key_Return)
    assert isinstance(opened.args[0], HeadRef)
    assert " reads " in view.canvas.accessibleName()


# -- the knobs


def test_knobs_say_what_is_asked(shown: Show, qtbot: QtBot) -> None:
    view = view_of()
    shown(view, 900, 460)
    with qtbot.waitSignal(view.job_changed) as asked:
        view.method.setCurrentIndex(2)
    assert asked.args == [GRADIENT, LAYERS]
    with qtbot.waitSignal(view.job_changed) as asked:
        view.layer.setValue(2)
    assert asked.args == [GRADIENT, 2]
    assert (view.layer.minimum(), view.layer.maximum()) == (1, LAYERS)


def test_the_slider_hides_weak_edges_and_says_from_where(shown: Show) -> None:
    view = view_of()
    shown(view, 900, 460)
    counts = []
    for value in (0, 50, 100):
        view.least.setValue(value)
        assert view.least_text.text() == f"{view.threshold:.3f}"
        counts.append(len(view.canvas.laid()[1]))
    edges = demo_flow()[0].edges
    assert counts[0] == len(edges)
    assert counts == sorted(counts, reverse=True)
    assert counts[2] == (edges.rollout >= 0.5).sum()


def test_being_told_emits_nothing(shown: Show) -> None:
    view = FlowView()
    signals = (view.edge_clicked, view.node_clicked, view.job_changed)
    spies = [QSignalSpy(signal) for signal in signals]
    shown(view, 700, 420)
    for two in (False, True, False):
        view.set_flow(*demo_flow(two), layers=9)
        view.set_method(GRADIENT)
        view.set_stale(True)
        view.grab()
    view.set_empty("Choose an output.")
    view.grab()
    assert [spy.count() for spy in spies] == [0, 0, 0]


# -- what is told


def test_the_inputs_are_tinted_by_their_share(shown: Show, qtbot: QtBot) -> None:
    view = view_of()
    shown(view, 700, 420)
    (stack,) = demo_flow()[0].stacks
    for method in FlowMethod:
        view.set_method(method)
        for slot in (2, 7):
            share = stack.shares[method][0, slot]
            assert f"share {share:.3f}" in view.strips[D].describe(slot)
    with qtbot.waitSignal(view.node_clicked) as asked:
        at = view.strips[D].box_rect(5).center().toPoint()
        qtbot.mouseClick(view.strips[D].viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert asked.args == [5]


def test_the_only_stack_of_an_encoder_makes_the_output(shown: Show, qtbot: QtBot) -> None:
    result, labels = demo_flow()
    own = replace(result.stacks[0], stack=E)
    edges = replace(result.edges, stack=np.zeros_like(result.edges.stack))
    view = FlowView()
    view.set_flow(replace(result, stacks=(own,), edges=edges), {E: labels[D]})
    shown(view, 700, 420)
    assert not view.titles[E].isVisible()
    at = view.strips[E].box_rect(4).center().toPoint()
    with qtbot.waitSignal(view.node_clicked) as asked:
        qtbot.mouseClick(view.strips[E].viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert asked.args == [4]
    assert view.canvas.selected == FlowNode(E, LAYERS, result.position)


def test_a_source_token_makes_no_output(shown: Show, qtbot: QtBot) -> None:
    view = view_of(two=True)
    shown(view, 900, 460)
    spy = QSignalSpy(view.node_clicked)
    at = view.strips[E].box_rect(2).center().toPoint()
    qtbot.mouseClick(view.strips[E].viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert spy.count() == 0


def test_what_is_out_of_reach_is_faded_and_said(shown: Show, pixel_at: Callable[..., int]) -> None:
    view = view_of()
    shown(view, 900, 460)
    image, theme = view.canvas.grab().toImage(), palette.current()
    (block,), _ = view.canvas.laid()
    (stack,) = demo_flow()[0].stacks
    for node, _ in nodes_of(view.canvas):
        edge = block.point(node) - QPointF(block.radius, 0.0)
        dark = palette.mix(theme.card, theme.text, 0.3).lightness()
        outlined = any(
            (pixel_at(image, edge + QPointF(by, 0.0)) & 0xFF) < dark for by in (-0.5, 0.0, 0.5)
        )
        if node != view.canvas.selected:
            assert outlined == stack.reach[node.level, node.column], node
    told = view.canvas.describe(FlowNode(D, 4, 2))
    assert told == "after layer 4 · 2 “Once” · cannot reach the output under this mask"


def test_a_share_against_the_logit_has_a_minus(shown: Show, pixel_at: Callable[..., int]) -> None:
    view = view_of()
    view.set_method(GRADIENT)
    shown(view, 900, 460)
    image = view.canvas.grab().toImage()
    (block,), _ = view.canvas.laid()
    shares = demo_flow()[0].stacks[0].shares[GRADIENT]
    strong = np.argwhere(np.abs(shares) > 0.1)
    assert {bool(shares[level, column] < 0) for level, column in strong} == {True, False}
    for level, column in strong:
        at = block.point(FlowNode(D, int(level), int(column)))
        around = [QColor(pixel_at(image, at + QPointF(0.0, by))) for by in (-1.0, 0.0, 1.0)]
        darkest = min(color.lightness() for color in around)
        assert (darkest < 110) == (shares[level, column] < 0)


def test_a_long_row_says_what_is_left_out(shown: Show) -> None:
    from widgets.flow_paint import heading

    view = view_of(columns=512)
    shown(view, 1200, 500)
    (block,), drawn = view.canvas.laid()
    assert len(block.columns) + block.hidden == 512
    assert block.step >= 17.0
    assert heading(demo_flow(columns=512)[0], block) == (
        f"the {len(block.columns)} strongest of 512 columns"
    )
    assert drawn
    assert all(curve.points[:, 0].max() <= view.canvas.width() for curve in drawn)


def test_a_method_that_is_not_known_is_noted(shown: Show) -> None:
    result, labels = demo_flow()
    (stack,) = result.stacks
    known = {ROLLOUT: stack.shares[ROLLOUT]}
    note = "ONNX Runtime computes no gradient."
    told = replace(result, stacks=(replace(stack, shares=known),), notes=(note,))
    view = FlowView()
    view.set_method(GRADIENT)
    view.set_flow(told, labels)
    shown(view, 700, 420)
    assert view.note.isVisible()
    assert view.note.text() == note
    assert view.canvas.describe(FlowNode(D, 0, 3)) == "input · 3 “upon” · can reach the output"
    assert "share" not in view.strips[D].describe(3)


def test_an_empty_view_says_what_to_do(shown: Show) -> None:
    view = view_of()
    shown(view, 700, 420)
    full = view.grab().toImage()
    view.set_empty("Click a token to see what made it.")
    assert view.grab().toImage() != full
    assert not any(strip.isVisible() for strip in view.strips.values())
    assert not view.method.isEnabled()
    assert view.canvas.laid() == ([], [])
    assert view.canvas.describe(FlowNode(D, 0, 0)) == ""


def test_a_result_without_edges_is_shown(shown: Show) -> None:
    result, labels = demo_flow()
    none = replace(result.edges, **{n: getattr(result.edges, n)[:0] for n in FIELDS})
    view = FlowView()
    view.set_flow(replace(result, edges=none), labels)
    shown(view, 700, 420)
    assert view.canvas.laid()[1] == []
