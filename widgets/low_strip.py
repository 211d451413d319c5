"""A strip of tokens that takes no more height than its lines."""

from __future__ import annotations

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy

from widgets.token_strip import TokenStrip, TokenStripState


class LowStrip(TokenStrip):
    """A strip as high as its lines, two at the most; it scrolls where there are more."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_tokens(self, state: TokenStripState) -> None:
        """Show tokens, and take the height that they need; never emits."""
        super().set_tokens(state)
        self.updateGeometry()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: another width wraps into other lines."""
        before = self.sizeHint()
        super().resizeEvent(event)
        if self.sizeHint() != before:
            self.updateGeometry()
