"""Squares of cosines that are lit together, and the list of sentences beside them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.types import MaskKind, Pooling
from widgets.similarity_view import SENTENCES, SimilarityView, make_demo


def demo(shown: Callable[..., None]) -> SimilarityView:
    view = make_demo()
    assert isinstance(view, SimilarityView)
    shown(view, 640, 260)
    return view


def test_a_pair_is_the_same_in_every_square(qtbot: QtBot, shown: Callable[..., None]) -> None:
    view = demo(shown)
    said: list[str] = []
    view.hovered.connect(said.append)
    canvas = view.canvas
    words = set()
    for pooling in Pooling:
        square = canvas.square_rect(pooling)
        cell = square.width() / 5
        qtbot.mouseMove(canvas, (square.topLeft() + QPointF(1.5 * cell, 3.5 * cell)).toPoint())
        qtbot.waitUntil(lambda: bool(said) and said[-1].startswith("sentences 4 and 2"))
        words.add(said[-1])
    assert len(words) == 1
    assert all(pooling.value in next(iter(words)) for pooling in Pooling)


def test_squares_lie_side_by_side_in_the_widget(shown: Callable[..., None]) -> None:
    view = demo(shown)
    for size in ((620, 240), (940, 400)):
        view.resize(*size)
        QApplication.processEvents()
        squares = [view.canvas.square_rect(pooling) for pooling in Pooling]
        assert squares[0].right() < squares[1].left() < squares[1].right() < squares[2].left()
        assert view.canvas.rect().toRectF().contains(squares[2])


def test_arrows_walk_and_a_copy_holds_all(qtbot: QtBot, shown: Callable[..., None]) -> None:
    view = demo(shown)
    canvas = view.canvas
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Down):
        qtbot.keyClick(canvas, key)
    assert canvas.accessibleDescription().startswith("sentences 2 and 2")
    qtbot.keyClick(canvas, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.clipboard().text().count("\n") == 3 * 6 + 1


def test_sentences_are_lines_and_typing_asks_once(qtbot: QtBot, shown: Callable[..., None]) -> None:
    view = demo(shown)
    assert view.sentences == SENTENCES
    with qtbot.waitSignal(view.asked):
        view.edit.setPlainText("One.\n\n  Two. \n")
    assert view.sentences == ("One.", "Two.")


def test_being_told_a_mask_asks_nothing(shown: Callable[..., None]) -> None:
    view = demo(shown)
    asked: list[MaskKind] = []

    def note() -> None:
        asked.append(view.kind)

    view.asked.connect(note)
    view.set_mask(MaskKind.BIDIRECTIONAL, fixed=True)
    assert asked == []
    assert view.kind is MaskKind.BIDIRECTIONAL
    assert not view.reading.isEnabled()
    view.set_mask(MaskKind.BIDIRECTIONAL)
    view.reading.setCurrentIndex(1)
    assert asked == [MaskKind.CAUSAL]


def test_a_long_row_leaves_room_for_the_list(shown: Callable[..., None]) -> None:
    view, long = demo(shown), "word " * 512
    view.set_rows((long, "Short."))
    QApplication.processEvents()
    assert view.first.text().splitlines()[0] == f"1  {long[:79]}…"
    assert view.first.text().splitlines()[1:] == ["2  Short.", "and from 3 on:"]
    assert view.edit.height() >= view.first.height()


def test_a_sentence_stands_where_there_is_nothing(shown: Callable[..., None]) -> None:
    view = demo(shown)
    view.set_empty("There is 1 sentence.")
    assert view.canvas.accessibleDescription() == "There is 1 sentence."
    assert view.canvas.text() == ""
