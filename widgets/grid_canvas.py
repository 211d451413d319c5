"""The paint of a query × key square: cached cells, labels, crosshair; deaf to the mouse."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from widgets.grid_geometry import GridFrame, GridWindow, Margins, lay_out
from widgets.grid_labels import (
    AxisLabels,
    LabelFonts,
    label_margins,
    paint_col_labels,
    paint_row_labels,
)
from widgets.palette import Theme, current, mix

MAX_FOOTER = 190.0
"""Height of the footer where there is plenty of room, in device-independent pixels."""

Cell = tuple[int, int]
"""(query row, key column), both counted from 0."""


NEAR = 8
"""Twins that differ by at most so many pixels lie alike."""


class GridCanvas(QWidget):
    """What a square shows; `widgets.grid_view.GridView` adds what the user does with it.

    A subclass gives the picture of the cells and paints the footer.
    """

    footer = 118.0
    """Room kept for the bars under the square, in device-independent pixels."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shape = (0, 0)
        self._row_labels = AxisLabels(())
        self._col_labels = AxisLabels(())
        self._window = GridWindow()
        self._cursor: Cell | None = None
        self._selected: Cell | None = None
        self._version = 0
        self._picture_key: tuple[object, ...] = ()
        self._picture = QImage()
        self._frame_key: tuple[object, ...] = ()
        self._frame_made: GridFrame | None = None
        self._twin: GridCanvas | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(180, 180)

    # -- told from outside: never emits

    def set_cursor(self, cell: Cell | None) -> None:
        """Show the crosshair at `cell`, None to hide it; a cell beyond the square is none."""
        cell = self._kept(cell, self._shape)
        if cell != self._cursor:
            self._cursor = cell
            self.update()

    def set_selected(self, cell: Cell | None) -> None:
        """Outline `cell` and let the footer speak of its row; beyond the square there is none."""
        cell = self._kept(cell, self._shape)
        if cell != self._selected:
            self._selected = cell
            self._describe(cell)
            self.update()

    def set_twin(self, twin: GridCanvas) -> None:
        """Lay the square out like that of `twin`, as long as both have about the same size."""
        self._twin = twin
        self.update()

    def set_view(self, window: GridWindow) -> None:
        """Show the part of the square that another view shows."""
        if window != self._window:
            self._window = window
            self.update()

    # -- asked from outside

    @property
    def selected(self) -> Cell | None:
        """The outlined cell."""
        return self._selected

    @property
    def view(self) -> GridWindow:
        """The part of the square that is shown."""
        return self._window

    def sizeHint(self) -> QSize:
        """Qt: a comfortable size."""
        return QSize(420, 560)

    def frame(self) -> GridFrame | None:
        """Return how the square lies in the widget now, None while there is nothing to show."""
        if not all(self._shape):
            return None
        room = self._room()
        key = (room, self._window, self._version, self.devicePixelRatioF(), self.font())
        if key != self._frame_key:
            margins = self._margins()
            self._frame_made = lay_out(
                room,
                self._shape,
                self._window,
                margins=margins,
                dpr=self.devicePixelRatioF(),
            )
            self._frame_key = key
        return self._frame_made

    def _room(self) -> tuple[int, int]:
        """Return the size to lay out in: a pixel more than the twin has must not show."""
        mine = self.width(), self.height()
        if self._twin is None:
            return mine
        other = self._twin.width(), self._twin.height()
        near = all(abs(a - b) <= NEAR for a, b in zip(mine, other, strict=True))
        return (min(mine[0], other[0]), min(mine[1], other[1])) if near else mine

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: the twin may lie differently now."""
        super().resizeEvent(event)
        if self._twin is not None:
            self._twin.update()

    def cell_rect(self, cell: Cell) -> QRectF:
        """Return where a cell lies in the widget (empty while there is nothing to show)."""
        frame = self.frame()
        if frame is None:
            return QRectF()
        return QRectF(frame.left_of(cell[1]), frame.top_of(cell[0]), frame.cell, frame.cell)

    # -- for subclasses

    def _set_grid(self, shape: tuple[int, int], rows: AxisLabels, cols: AxisLabels) -> None:
        """Take a new square; keeps the window and the cells as far as they still exist."""
        if shape != self._shape:
            self._window = GridWindow() if not all(shape) else self._window
            self._selected = self._kept(self._selected, shape)
            self._cursor = self._kept(self._cursor, shape)
        self._shape, self._row_labels, self._col_labels = shape, rows, cols
        self._touch()

    def _touch(self) -> None:
        """Forget the picture and paint again."""
        self._version += 1
        self.update()

    def _make_picture(self, frame: GridFrame, theme: Theme) -> QImage:
        """Return the square at device resolution."""
        raise NotImplementedError

    def _picture_state(self) -> tuple[object, ...]:
        """Return what the picture depends on beside data, frame and theme."""
        return ()

    def _paint_over(self, painter: QPainter, frame: GridFrame, theme: Theme) -> None:
        """Paint what lies on the cells, below the crosshair."""

    def _paint_footer(
        self, painter: QPainter, frame: GridFrame, theme: Theme, fonts: LabelFonts
    ) -> None:
        """Paint under the square."""

    def _paint_empty(self, painter: QPainter, theme: Theme, text: str) -> None:
        painter.setPen(theme.muted)
        flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        painter.drawText(self.rect().adjusted(24, 24, -24, -24), flags, text)

    def _empty_text(self) -> str:
        return "Choose a model family to see its mask."

    def describe(self, cell: Cell) -> str:
        """Return one cell in words."""
        return f"query {cell[0]}, key {cell[1]}"

    def _describe(self, cell: Cell | None) -> None:
        """Say the cell to assistive technology."""

    def _footer_room(self) -> float:
        """Return the room kept free for the footer; none in a very low widget."""
        return min(self.footer, max(0.0, self.height() * 0.26)) if self.height() >= 240 else 0.0

    def _footer_band(self, frame: GridFrame, fonts: LabelFonts) -> tuple[float, float, float]:
        """Return the y of the caption, of the top and of the base of the bars."""
        high = QFontMetricsF(fonts.digit).height()
        caption = frame.y + frame.height + 10.0
        base = min(float(self.height()), caption + MAX_FOOTER) - high - 8.0
        return caption, caption + high + 6.0, base

    # -- geometry

    @staticmethod
    def _kept(cell: Cell | None, shape: tuple[int, int]) -> Cell | None:
        return cell if cell and cell[0] < shape[0] and cell[1] < shape[1] else None

    def _margins(self) -> Margins:
        fonts = LabelFonts.beside(self.font())
        margins = label_margins(self._row_labels, self._col_labels, self._shape, fonts)
        return replace(margins, bottom=self._footer_room() + 6.0)

    # -- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: paint everything, from a cached picture of the cells."""
        with QPainter(self) as painter:  # Ends even if something below raises: Qt would crash.
            self._paint(painter, current())

    def _paint(self, painter: QPainter, theme: Theme) -> None:
        painter.fillRect(self.rect(), theme.card)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = self.frame()
        if frame is None:
            self._paint_empty(painter, theme, self._empty_text())
            return
        key = (frame, self._version, theme.name, self._picture_state())
        if key != self._picture_key:
            self._picture = self._make_picture(frame, theme)
            self._picture_key = key
        fonts = LabelFonts.beside(self.font())
        painter.drawImage(QPointF(frame.x, frame.y), self._picture)
        self._paint_faded(painter, frame, theme)
        self._paint_over(painter, frame, theme)
        hot = self._cursor or self._selected
        row, col = hot if hot is not None else (None, None)
        paint_row_labels(painter, frame, self._row_labels, fonts, theme=theme, hot=row)
        paint_col_labels(painter, frame, self._col_labels, fonts, theme=theme, hot=col)
        self._paint_marks(painter, frame, theme)
        self._paint_footer(painter, frame, theme, fonts)
        if self.hasFocus():
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(mix(theme.card, theme.accent, 0.6))
            edge = QRectF(frame.x, frame.y, frame.width, frame.height)
            painter.drawRect(edge.adjusted(-2.0, -2.0, 1.0, 1.0))

    def _paint_faded(self, painter: QPainter, frame: GridFrame, theme: Theme) -> None:
        """Veil the query rows of pads: nothing reads or scores them."""
        veil = _alpha(theme.card, 150)
        for start, stop in self._row_labels.faded:
            top = max(frame.top_of(start), frame.y)
            bottom = min(frame.top_of(stop), frame.y + frame.height)
            if bottom > top:
                painter.fillRect(QRectF(frame.x, top, frame.width, bottom - top), veil)

    def _paint_marks(self, painter: QPainter, frame: GridFrame, theme: Theme) -> None:
        """Paint the crosshair, and outline the cell under it and the selected one."""
        inside = QRectF(frame.x, frame.y, frame.width, frame.height)
        painter.save()
        painter.setClipRect(inside.adjusted(-2.0, -2.0, 2.0, 2.0))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        hot = self._cursor or self._selected
        if hot is not None:
            painter.setPen(QPen(_alpha(theme.text, 110), 1.0))
            _paint_cross(painter, inside, self.cell_rect(hot))
        for cell, color in ((self._cursor, theme.accent), (self._selected, theme.text)):
            if cell is None:
                continue
            box = self.cell_rect(cell)
            grow = max(0.0, (6.0 - box.width()) / 2.0) - 0.5
            box.adjust(-grow, -grow, grow, grow)
            for ink, width in ((theme.card, 3.5), (color, 1.8)):
                painter.setPen(QPen(ink, width))
                painter.drawRoundedRect(box, 2.0, 2.0)
        painter.restore()


def _paint_cross(painter: QPainter, inside: QRectF, box: QRectF) -> None:
    """Paint lines from the edges of the square up to `box`."""
    x, y = box.center().x(), box.center().y()
    for start, stop in (
        (QPointF(inside.left(), y), QPointF(max(inside.left(), box.left()), y)),
        (QPointF(min(inside.right(), box.right()), y), QPointF(inside.right(), y)),
        (QPointF(x, inside.top()), QPointF(x, max(inside.top(), box.top()))),
        (QPointF(x, min(inside.bottom(), box.bottom())), QPointF(x, inside.bottom())),
    ):
        painter.drawLine(start, stop)


def _alpha(color: QColor, alpha: int) -> QColor:
    faint = QColor(color)
    faint.setAlpha(alpha)
    return faint
