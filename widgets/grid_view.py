"""A square of queries × keys under the hand: hover, click, zoom, pan and keys."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QHelpEvent, QKeyEvent, QMouseEvent, QNativeGestureEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QToolTip, QWidget

from widgets.grid_canvas import Cell, GridCanvas
from widgets.grid_geometry import GridWindow, revealing, zoomed

_MOVES = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}
_ZOOM_STEP = 1.25
_HELP = (
    "Rows are queries, columns are keys. Wheel zooms, dragging pans, a double click or 0 shows"
    " everything; arrows move the selected cell."
)


class GridView(GridCanvas):
    """Base of the mask and of the attention view; a subclass paints the cells and the footer.

    The wheel zooms about the cursor, dragging pans, a double click or the key 0 shows everything
    again, arrows (with Ctrl: by eight) move the selected cell.

    Signals
    -------
    cell_hovered : (query row, key column) under the mouse, or None as it leaves.
    cell_clicked : the cell that was clicked or reached by keyboard.
    view_changed : the `GridWindow` after a zoom or pan by the user.
    """

    cell_hovered = Signal(object)
    cell_clicked = Signal(object)
    view_changed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hovered: Cell | None = None
        self._press: QPointF | None = None
        self._press_window = GridWindow()
        self._dragging = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def _change_window(self, window: GridWindow) -> None:
        before = self._window
        self._window = window
        frame = self.frame()
        if frame is not None:
            self._window = frame.window(window.zoom)
        if self._window != before:
            self.update()
            self.view_changed.emit(self._window)

    def _zoom(self, factor: float, at: QPointF) -> None:
        frame = self.frame()
        if frame is not None:
            self._change_window(zoomed(frame, self._window, factor, at.x(), at.y()))

    def _hover(self, cell: Cell | None) -> None:
        if cell != self._hovered:
            self._hovered = cell
            self.set_cursor(cell)
            self.cell_hovered.emit(cell)

    def _select(self, cell: Cell) -> None:
        self.set_selected(cell)
        self.cell_clicked.emit(cell)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Qt: zoom about the cursor."""
        turn = event.angleDelta().y() or event.angleDelta().x()
        if turn:
            self._zoom(_ZOOM_STEP ** (turn / 120.0), event.position())
        event.accept()

    def event(self, event: QEvent) -> bool:
        """Qt: pinch on a touch pad zooms too."""
        if isinstance(event, QNativeGestureEvent) and (
            event.gestureType() == Qt.NativeGestureType.ZoomNativeGesture
        ):
            self._zoom(1.0 + event.value(), event.position())
            return True
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            frame = self.frame()
            at = event.pos()
            cell = frame.cell_at(at.x(), at.y()) if frame is not None else None
            QToolTip.showText(event.globalPos(), self.describe(cell) if cell else _HELP, self)
            return True
        return super().event(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Qt: a press may become a click or a drag."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._press, self._press_window, self._dragging = event.position(), self._window, False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Qt: hover, or pan while the button is down."""
        frame = self.frame()
        if frame is None:
            return
        if self._press is None:
            self._hover(frame.cell_at(event.position().x(), event.position().y()))
            return
        moved = event.position() - self._press
        if not self._dragging and moved.manhattanLength() < QApplication.startDragDistance():
            return
        self._dragging = True
        if self._window.zoom > 1.0:
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            start = self._press_window
            self._change_window(
                GridWindow(
                    start.zoom,
                    max(0.0, start.row - moved.y() / frame.cell),
                    max(0.0, start.col - moved.x() / frame.cell),
                )
            )

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Qt: a click selects the cell."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        pressed, dragged = self._press, self._dragging
        self._press, self._dragging = None, False
        self.unsetCursor()
        frame = self.frame()
        if pressed is None or dragged or frame is None:
            return
        cell = frame.cell_at(event.position().x(), event.position().y())
        if cell is not None:
            self._select(cell)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Qt: show everything again."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._change_window(GridWindow())

    def leaveEvent(self, event: QEvent) -> None:
        """Qt: no cell is under the mouse any more."""
        self._hover(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt: arrows move the cell, plus and minus zoom, 0 shows everything."""
        frame = self.frame()
        key = Qt.Key(event.key())
        if frame is None:
            super().keyPressEvent(event)
            return
        middle = QPointF(frame.x + frame.width / 2.0, frame.y + frame.height / 2.0)
        target = self._key_target(key, event.modifiers())
        if target is not None:
            self._change_window(revealing(frame, self._window, target))
            self._select(target)
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self._zoom(_ZOOM_STEP, self._selected_center() or middle)
        elif key == Qt.Key.Key_Minus:
            self._zoom(1.0 / _ZOOM_STEP, self._selected_center() or middle)
        elif key == Qt.Key.Key_0:
            self._change_window(GridWindow())
        else:
            super().keyPressEvent(event)

    def _selected_center(self) -> QPointF | None:
        return self.cell_rect(self._selected).center() if self._selected else None

    def _key_target(self, key: Qt.Key, held: Qt.KeyboardModifier) -> Cell | None:
        rows, cols = self._shape
        row, col = self._selected or (0, 0)
        if key in _MOVES:
            if self._selected is None:
                return row, col
            far = 8 if held & Qt.KeyboardModifier.ControlModifier else 1
            row, col = row + far * _MOVES[key][0], col + far * _MOVES[key][1]
        elif key == Qt.Key.Key_Home:
            col = 0
        elif key == Qt.Key.Key_End:
            col = cols - 1
        elif key == Qt.Key.Key_PageUp:
            row = 0
        elif key == Qt.Key.Key_PageDown:
            row = rows - 1
        else:
            return None
        return min(max(row, 0), rows - 1), min(max(col, 0), cols - 1)
