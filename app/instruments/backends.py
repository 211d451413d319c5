"""The Backends dock: the mask on screen through every implementation of attention."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.instruments.base import Instrument, View
from core.types import BackendsJob, BackendTable


class Backends(Instrument):
    """Runs in the second process, since ONNX graphs and kernels are made once; then it follows."""

    name = "backends"
    title = "Backends"
    tip = "One mask, many executions: how far each implementation is from the reference, and why"
    shortcut = "Ctrl+Shift+B"
    long = True

    def make(self) -> QWidget:
        """The table."""
        from widgets.backend_table import BackendTableView

        self._shown: BackendTable | None = None
        self._table = BackendTableView()
        self._table.set_empty("Running the mask through every implementation of attention…")
        self._table.row_hovered.connect(self._on_row_hovered)
        return self._table

    def job(self, view: View) -> BackendsJob:
        """The mask of the stack on screen, of the shown batch row."""
        return BackendsJob(0, view.scene.masks[view.state.stack], view.scene.row)

    def show(self, view: View, answer: object) -> None:
        """Show the table."""
        assert isinstance(answer, BackendTable)
        self._shown = answer
        self._table.set_table(answer)

    def refuse(self, sentence: str) -> None:
        """Say why there is no table."""
        self._table.set_empty(sentence)

    def await_answer(self) -> None:
        """Fade what is old."""
        self._table.set_stale(True)

    @Slot(int)
    def _on_row_hovered(self, row: int) -> None:
        """Tell what the hovered query may read."""
        if self._shown is not None and 0 <= row < len(self._shown.mask):
            count = int(self._shown.mask[row].sum())
            self.said.emit(f"query {self._shown.past + row} may read {count} keys")
