from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot

from core.types import Comparison, HeadRef, Place, Reason, Stack, colors
from widgets import palette
from widgets.compare_demo import demo_comparison
from widgets.compare_tables import NO_LEVELS
from widgets.compare_view import CompareView
from widgets.grid_geometry import GridWindow

Show = Callable[..., None]
SIGNALS = (
    "pair_picked",
    "pin_requested",
    "head_clicked",
    "cell_clicked",
    "place_clicked",
    "said",
)
E, D, X = Stack.ENCODER, Stack.DECODER, Stack.CROSS
PAIRS = (("one", "First", "tip"), ("two", "Second", "tip"))


def view_of(two: bool = False, **changes: object) -> CompareView:
    found, label = demo_comparison(two)
    view = CompareView()
    view.set_pairs(PAIRS, "one")
    view.set_comparison(replace(found, **changes), label)
    return view


def spies(view: CompareView) -> dict[str, QSignalSpy]:
    return {name: QSignalSpy(getattr(view, name)) for name in SIGNALS}


def said(all_spies: dict[str, QSignalSpy]) -> dict[str, list[list[object]]]:
    return {name: [spy.at(n) for n in range(spy.count())] for name, spy in all_spies.items()}


def at(view: CompareView, square: int, cell: tuple[int, int]) -> QPoint:
    return view.squares[square].cell_rect(cell).center().toPoint()


def cells_of(table) -> list[list[str]]:
    return [
        [table.item(row, column).text() for column in range(table.columnCount())]
        for row in range(table.rowCount())
    ]


# -- told from outside


def test_set_never_emits(qtbot: QtBot, shown: Show) -> None:
    view = view_of()
    shown(view, 700, 320)
    all_spies = spies(view)
    found, label = demo_comparison(True)
    view.set_pairs(PAIRS, "two")
    view.set_comparison(found, label)
    view.set_selected((2, 1))
    view.set_stale(True)
    view.set_empty("Nothing.")
    view.set_selected(None)
    assert all(not calls for calls in said(all_spies).values())


def test_an_empty_view_says_why_and_offers_nothing(qtbot: QtBot, shown: Show) -> None:
    view = view_of()
    shown(view, 700, 320)
    view.set_empty("Nothing can be cached.")
    assert not view.pages.isVisible()
    assert view.sentence.text() == "Nothing can be cached."
    assert not view.go.isEnabled()
    assert all(square.frame() is None for square in view.squares)
    assert (view.moved.rowCount(), view.levels.rowCount()) == (0, 0)
    assert view.pair.isEnabled()
    view.set_comparison(*demo_comparison(False))
    assert view.pages.isVisible()


def test_titles_sentence_and_notes_are_those_of_the_comparison(qtbot: QtBot) -> None:
    view = view_of(notes=("B: out of its training.", "Another."), first=None)
    qtbot.addWidget(view)
    assert [title.text() for title in view.titles] == ["A: causal", "B: prefix 6", "A − B"]
    assert "part nowhere" in view.sentence.text()
    assert view.note.text() == "B: out of its training. Another."
    assert not view.go.isEnabled()


# -- one cursor, one selection, one zoom


@pytest.mark.parametrize("square", [0, 1, 2])
def test_a_click_selects_in_all_squares(qtbot: QtBot, shown: Show, square: int) -> None:
    view = view_of()
    shown(view, 700, 320)
    all_spies = spies(view)
    where = at(view, square, (6, 2))
    qtbot.mouseClick(view.squares[square], Qt.MouseButton.LeftButton, pos=where)
    assert said(all_spies)["cell_clicked"] == [[(6, 2)]]
    assert [one.selected for one in view.squares] == [(6, 2)] * 3
    assert " 6: total variation" in view.at.text()


def test_the_mouse_says_both_weights(qtbot: QtBot, shown: Show) -> None:
    view = view_of()
    shown(view, 700, 320)
    all_spies = spies(view)
    qtbot.mouseMove(view.squares[1], at(view, 1, (0, 3)))
    (words,) = said(all_spies)["said"][-1]
    b = float(demo_comparison()[0].patterns[1, 0, 3])
    assert words == (
        f'query 0 "Once", key 3 "time": causal may not read it, in the future; prefix 6 {b:.3f};'
        f" A − B {-b:+.3f}"
    )


def test_a_zoom_is_shared(qtbot: QtBot, shown: Show) -> None:
    view = view_of()
    shown(view, 700, 320)
    view.squares[2].setFocus()
    qtbot.keyClick(view.squares[2], Qt.Key.Key_Plus)
    assert view.squares[2].view.zoom > 1
    assert len({square.view for square in view.squares}) == 1
    qtbot.keyClick(view.squares[0], Qt.Key.Key_0)
    assert {square.view for square in view.squares} == {GridWindow()}


def test_tokens_stand_at_the_axes_where_there_is_room(qtbot: QtBot, shown: Show) -> None:
    view = view_of()
    shown(view, 500, 300)
    narrow = view.squares[0].frame()
    shown(view, 1100, 300)
    wide = view.squares[0].frame()
    assert narrow is not None
    assert wide is not None
    assert wide.x > narrow.x + 20
    assert '"Once"' in view.squares[0].describe((0, 0))


# -- colours


def colour(view: CompareView, square: int, cell: tuple[int, int], pixel_at) -> QColor:
    picture = view.squares[square].grab().toImage()
    return QColor.fromRgb(pixel_at(picture, QPointF(at(view, square, cell))))


def marked(view: CompareView, cell: tuple[int, int]) -> set[int]:
    """The colours of a cell of the difference, its edge left out."""
    picture = view.squares[2].grab().toImage()
    box = view.squares[2].cell_rect(cell).toRect().adjusted(3, 3, -3, -3)
    return {
        picture.pixel(x, y)
        for x in range(box.left(), box.right())
        for y in range(box.top(), box.bottom())
    }


@pytest.mark.parametrize("dark", [False, True])
def test_sign_shows_by_hue_and_by_stripes(qapp, qtbot: QtBot, shown: Show, dark: bool) -> None:
    theme = palette.apply(qapp, dark)
    weights = np.zeros((2, 13, 13), np.float32)
    weights[0, 1, 1], weights[1, 5, 5] = 0.64, 0.64
    reasons = np.zeros((2, 13, 13), np.uint8)
    reasons[:, 9, 9] = Reason.FUTURE
    reasons[0, 11, 11] = Reason.FUTURE
    view = view_of(patterns=weights, reasons=reasons, head=HeadRef(D))
    shown(view, 1300, 500)
    lut = palette.difference_lut(theme.name)
    plain = {int(lut[100])}
    assert marked(view, (1, 1)) == {int(lut[180])}
    assert marked(view, (5, 5)) == {int(lut[20]), theme.card.rgb()}
    assert marked(view, (3, 3)) == marked(view, (11, 11)) == plain
    assert len(marked(view, (9, 9))) == 2
    assert not marked(view, (9, 9)) & plain


@pytest.mark.parametrize("name", ["light", "dark"])
def test_a_difference_is_as_light_on_either_side(name: str) -> None:
    lut = palette.difference_lut(name)
    shown = [QColor.fromRgb(int(one)) for one in lut]
    light = np.array([colors.oklab((one.red(), one.green(), one.blue()))[0] for one in shown])
    assert light[:100] == pytest.approx(light[:100:-1], abs=0.03)
    steps = np.diff(light[100:])
    assert (steps < 2e-3).all() if name == "light" else (steps > -2e-3).all()


def test_a_lone_cell_shows_where_cells_are_less_than_a_pixel(qtbot: QtBot, shown: Show) -> None:
    size = 900
    weights = np.zeros((2, size, size), np.float32)
    weights[1, 500, 400] = 1.0
    tokens = np.zeros((2, size), np.int32)
    view = view_of(
        patterns=weights,
        reasons=np.zeros((2, size, size), np.uint8),
        tokens=tokens,
        total_variation=np.zeros(size, np.float32),
        divergence=np.zeros(size, np.float32),
        moved=np.zeros((2, size, 8), np.float32),
        moved_ids=np.zeros((size, 8), np.int32),
        levels={},
    )
    shown(view, 900, 400)
    frame = view.squares[2].frame()
    assert frame is not None
    assert frame.cell < 1
    image = view.squares[2]._make_picture(frame, palette.current())
    empty = int(palette.difference_lut("light")[100])
    seen = {image.pixel(x, y) for x in range(image.width()) for y in range(image.height())}
    assert len(seen - {empty}) == 1


# -- heads, pairs, places


def test_a_tile_picks_its_head(qtbot: QtBot, shown: Show) -> None:
    view = view_of()
    shown(view, 700, 320)
    all_spies = spies(view)
    tile = view.wall.head_rect(HeadRef(D, 3, 1)).center().toPoint()
    qtbot.mouseClick(view.wall, Qt.MouseButton.LeftButton, pos=tile)
    assert said(all_spies)["head_clicked"] == [[HeadRef(D, 3, 1)]]
    apart = demo_comparison()[0].attention[D][3, 1]
    assert view.wall.describe(HeadRef(D, 3, 1)).endswith(f"largest difference {apart:.2f}")


def test_pairs_pin_and_place_are_asked_for(qtbot: QtBot, shown: Show) -> None:
    view = view_of()
    shown(view, 700, 320)
    all_spies = spies(view)
    view.pair.setFocus()
    qtbot.keyClick(view.pair, Qt.Key.Key_Down)
    qtbot.mouseClick(view.pin, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(view.go, Qt.MouseButton.LeftButton)
    calls = said(all_spies)
    assert calls["pair_picked"] == [["two"]]
    assert calls["pin_requested"] == [[]]
    assert calls["place_clicked"] == [[Place(0, D, 0, 1)]]


# -- outputs and states


def second_page(qtbot: QtBot, view: CompareView) -> None:
    qtbot.mouseClick(view.switch.button(1), Qt.MouseButton.LeftButton)
    assert view.pages.currentIndex() == 1


def test_the_numbers_are_those_of_the_chosen_token(qtbot: QtBot, shown: Show) -> None:
    view, (found, label) = view_of(), demo_comparison()
    shown(view, 700, 320)
    second_page(qtbot, view)
    all_spies = spies(view)
    chip = view.strip.box_rect(4).center().toPoint()
    qtbot.mouseClick(view.strip.viewport(), Qt.MouseButton.LeftButton, pos=chip)
    assert said(all_spies)["cell_clicked"] == [[(4, 4)]]
    assert f"total variation {found.total_variation[4]:.3f}" in view.at.text()
    moved = cells_of(view.moved)
    assert [line[0] for line in moved] == [label(int(i)) for i in found.moved_ids[4]]
    assert [float(line[1]) for line in moved] == pytest.approx(found.moved[0, 4], abs=1e-3)
    assert [float(line[3]) for line in moved] == pytest.approx(
        found.moved[0, 4] - found.moved[1, 4], abs=1e-3
    )
    levels = cells_of(view.levels)
    assert [line[0] for line in levels] == ["embedding", *(f"layer {n}" for n in range(1, 5))]
    own = found.levels[D]
    for level, line in enumerate(levels):
        wanted = [own.cosine[level, 4], own.cosine[level].mean()]
        wanted += [own.relative[level, 4], own.relative[level].mean()]
        assert [float(cell) for cell in line[1:]] == pytest.approx(wanted, abs=1e-3)


def test_a_source_has_means(qtbot: QtBot) -> None:
    found, label = demo_comparison(True)
    levels = found.levels | {E: replace(found.levels[D])}
    view = view_of(True, levels=levels)
    qtbot.addWidget(view)
    lines = cells_of(view.levels)
    source = [line for line in lines if line[0].startswith("source ")]
    assert len(source) == 5
    assert all(line[1] == line[2] and line[3] == line[4] for line in source)
    assert label(0) == "Once"


def test_queries_of_a_source_are_no_outputs(qtbot: QtBot, shown: Show) -> None:
    """A token of the target is chosen without a cell, where the square is the encoder's."""
    found = demo_comparison(True)[0]
    size = found.source_tokens.shape[1]
    view = view_of(
        True,
        head=HeadRef(E),
        patterns=np.zeros((2, size, size), np.float32),
        reasons=np.zeros((2, size, size), np.uint8),
    )
    shown(view, 700, 320)
    second_page(qtbot, view)
    all_spies = spies(view)
    chip = view.strip.box_rect(2).center().toPoint()
    qtbot.mouseClick(view.strip.viewport(), Qt.MouseButton.LeftButton, pos=chip)
    assert said(all_spies)["cell_clicked"] == []
    assert " 2: total variation" in view.at.text()
    view.set_selected((8, 1))
    assert " 2: total variation" in view.at.text()


def test_states_that_are_not_known_are_said_to_be(qtbot: QtBot) -> None:
    view = view_of(levels={})
    qtbot.addWidget(view)
    assert view.levels.horizontalHeaderItem(0).text() == NO_LEVELS
    assert view.levels.rowCount() == 0


def test_rounding_tints_no_token(qtbot: QtBot) -> None:
    found: Comparison = demo_comparison()[0]
    tiny = (found.total_variation * 1e-6).astype(np.float32)
    view = view_of(total_variation=tiny)
    qtbot.addWidget(view)
    assert "total variation" not in view.strip.describe(3)
    view = view_of()
    qtbot.addWidget(view)
    assert f"total variation {found.total_variation[3]:.3f}" in view.strip.describe(3)
