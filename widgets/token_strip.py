"""The tokens as chips on wrapped lines: pads, prefix, cache, documents, generated tokens."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFontMetricsF,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QApplication, QSizePolicy, QWidget

from core.types import Reason
from widgets.box_lines import BoxLines
from widgets.grid_labels import LabelFonts
from widgets.palette import Theme, current, hatch_brush, mix
from widgets.share_tint import paint_minus, tinted

_CHIP = 24.0
_LINE = 44.0
_GAP = 6.0


@dataclass(frozen=True)
class TokenStripState:
    """What the strip shows; indices are slots from 0, pads included.

    Attributes
    ----------
    labels : one text for each slot.
    positions : position id of each slot, or empty (then the slot number stands there).
    left_pad, right_pad : pad slots at either end.
    prefix_end : the slot before which the prefix ends, None without a prefix.
    cached : slots in the cache before this run.
    generated_from : first generated slot, None where nothing is generated.
    document_starts : slots at which a document after the first begins.
    selected : the slot whose query is shown, None for none.
    shares : each slot's share in an output, by which it is tinted, or empty.
    measure : what a share is called in words.
    """

    labels: tuple[str, ...]
    positions: tuple[int, ...] = ()
    left_pad: int = 0
    right_pad: int = 0
    prefix_end: int | None = None
    cached: int = 0
    generated_from: int | None = None
    document_starts: tuple[int, ...] = ()
    selected: int | None = None
    shares: tuple[float, ...] = ()
    measure: str = "share"

    @property
    def largest(self) -> float:
        """The share that is tinted in full."""
        return max(map(abs, self.shares), default=0.0) or 1.0

    def is_pad(self, slot: int) -> bool:
        """Tell whether a slot holds a pad."""
        return slot < self.left_pad or slot >= len(self.labels) - self.right_pad

    def is_generated(self, slot: int) -> bool:
        """Tell whether a slot holds a generated token."""
        return self.generated_from is not None and slot >= self.generated_from


class TokenStrip(BoxLines):
    """Chips that wrap and scroll; a click, or the arrows, choose the query that is shown.

    Signals
    -------
    token_clicked : the slot that was clicked or reached by keyboard.
    """

    token_clicked = Signal(int)

    high, gap, line, below = _CHIP, _GAP, _LINE, _LINE - _CHIP
    step = int(_LINE)
    rests_on_lines = True

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = TokenStripState(())
        self._known: dict[str, float] = {}
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.setAccessibleName("Tokens")

    # -- told from outside: never emits

    def set_tokens(self, state: TokenStripState) -> None:
        """Show tokens; scrolls as far as needed to show the selected one."""
        moved = state.selected != self._state.selected
        self._state = state
        self._lay_out()
        if state.selected is not None and state.selected < len(state.labels):
            self.setAccessibleDescription(self.describe(state.selected))
            if moved:
                self._reveal(state.selected)
        else:
            self.setAccessibleDescription("")

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: wrap anew, and keep the selected token in sight."""
        super().resizeEvent(event)
        if self._state.selected is not None and self._state.selected < len(self._boxes):
            self._reveal(self._state.selected)

    # -- asked from outside

    def sizeHint(self) -> QSize:
        """Qt: one line of chips, two where they wrap."""
        lines = 1 if not self._boxes or self._boxes[-1].top() < _LINE else 2
        return QSize(480, int(lines * _LINE) + 2)

    def minimumSizeHint(self) -> QSize:
        """Qt: one line of chips."""
        return QSize(160, int(_LINE) + 2)

    def describe(self, slot: int) -> str:
        """Return one token in words: slot 5, "cat", position 3, prefix."""
        state = self._state
        words = [f"slot {slot}", f"“{state.labels[slot]}”"]
        if slot < len(state.positions):
            words.append(f"position id {state.positions[slot]}")
        if state.is_pad(slot):
            words.append("pad: no query may read it, nothing scores it")
        elif state.prefix_end is not None and slot < state.prefix_end:
            words.append("prefix: read in both directions")
        if slot < state.cached:
            words.append("its key and value come from the cache")
        if state.is_generated(slot):
            words.append("generated")
        if slot < len(state.shares):
            words.append(f"{state.measure} {state.shares[slot]:.3f}")
        return " · ".join(words)

    # -- layout

    def _width(self, label: str) -> float:
        if label not in self._known:
            if len(self._known) > 20_000:
                self._known.clear()
            metrics = QFontMetricsF(self.font())
            self._known[label] = min(150.0, max(12.0, metrics.horizontalAdvance(label))) + 16.0
        return self._known[label]

    def _widths(self) -> Iterator[tuple[float, float]]:
        state = self._state
        for slot, label in enumerate(state.labels):
            border = slot == state.prefix_end or slot in state.document_starts
            yield (_GAP if border else 0.0), self._width(label)

    # -- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: the chips that are in sight."""
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme = current()
        if not self._boxes:
            painter.setPen(theme.muted)
            flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
            painter.drawText(self.viewport().rect(), flags, "Type a sentence to see its tokens.")
            return
        fonts = LabelFonts.beside(self.font())
        painter.translate(0.0, -self.verticalScrollBar().value())
        for slot in self._in_sight():
            self._paint_chip(painter, theme, fonts, slot)

    def _paint_chip(self, painter: QPainter, theme: Theme, fonts: LabelFonts, slot: int) -> None:
        state, chip = self._state, self._boxes[slot]
        selected = slot == state.selected
        pad = state.is_pad(slot)
        ground = theme.generated if state.is_generated(slot) else theme.chip
        share = state.shares[slot] / state.largest if slot < len(state.shares) else 0.0
        ground = tinted(ground, 0.5 * share, theme)
        if slot == self._hot:
            ground = mix(ground, theme.accent, 0.14)
        painter.setPen(QPen(theme.accent, 2.0) if selected else QPen(theme.hairline, 1.0))
        painter.setBrush(hatch_brush(Reason.PADDING, theme) if pad else ground)
        painter.setOpacity(0.55 if pad and not selected else 1.0)
        inset = 1.0 if selected else 0.5
        painter.drawRoundedRect(chip.adjusted(inset, inset, -inset, -inset), 6.0, 6.0)
        painter.setOpacity(1.0)
        painter.setFont(fonts.label)
        painter.setPen(theme.muted if pad else theme.text)
        text = QFontMetricsF(fonts.label).elidedText(
            state.labels[slot], Qt.TextElideMode.ElideMiddle, chip.width() - 12.0
        )
        painter.drawText(chip, Qt.AlignmentFlag.AlignCenter, text)
        paint_minus(painter, QRectF(chip.left() + 3.0, chip.top() + 2.0, 8.0, 6.0), share, theme)
        if slot < state.cached:
            line = QRectF(chip.left() + 4.0, chip.bottom() - 1.0, chip.width() - 8.0, 2.5)
            painter.fillRect(line, theme.accent)
        painter.setFont(fonts.digit)
        painter.setPen(theme.accent if selected else theme.muted)
        known = slot < len(state.positions)
        digits = QRectF(chip.left() - 10.0, chip.bottom() + 2.0, chip.width() + 20.0, 14.0)
        number = str(state.positions[slot] if known else slot)
        painter.drawText(digits, Qt.AlignmentFlag.AlignCenter, "–" if pad and known else number)
        if slot == state.prefix_end:
            self._paint_border(painter, chip, QPen(theme.accent, 2.5))
        elif slot in state.document_starts:
            self._paint_border(painter, chip, QPen(theme.other_document, 2.0))

    @staticmethod
    def _paint_border(painter: QPainter, chip: QRectF, pen: QPen) -> None:
        x = max(1.5, chip.left() - _GAP)
        painter.setPen(pen)
        painter.drawLine(QPointF(x, chip.top() + 1.0), QPointF(x, chip.bottom() + 2.0))

    # -- events

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Qt: choose a query."""
        slot = self._box_at(event.position())
        if slot is not None and event.button() == Qt.MouseButton.LeftButton:
            self.token_clicked.emit(slot)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Qt: the press has said it all."""
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt: arrows choose the query before or after, Ctrl+C copies the tokens."""
        last = len(self._state.labels) - 1
        at = self._state.selected
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        key = Qt.Key(event.key())
        if event.matches(QKeySequence.StandardKey.Copy):
            QApplication.clipboard().setText(" ".join(self._state.labels))
        elif last >= 0 and key in steps:
            self.token_clicked.emit(0 if at is None else min(max(0, at + steps[key]), last))
        elif last >= 0 and key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            self.token_clicked.emit(0 if key == Qt.Key.Key_Home else last)
        else:
            super().keyPressEvent(event)


def make_demo() -> QWidget:
    """Return a strip with every kind of token."""
    from widgets.demo import WORDS

    strip = TokenStrip()
    labels = WORDS[:15]
    positions = (0, 0, *range(13))
    strip.set_tokens(
        TokenStripState(
            labels,
            positions,
            left_pad=2,
            prefix_end=8,
            cached=5,
            generated_from=13,
            document_starts=(11,),
            selected=9,
        )
    )
    return strip


if __name__ == "__main__":
    from widgets.demo import run

    sys.exit(run(make_demo, (900, 80)))
