"""What a run of torch leaves behind to be looked at: the attention of one batch row."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from core.model.attention import Trace
from core.run.cancel import CancelToken
from core.run.walls import Key, Layers, Walls
from core.types import Stack


class Capture(Walls):
    """Keeps the attention patterns (and, if asked, scores) of one batch row of one run.

    ``layers`` limits what is kept; None keeps every layer. ``only`` names the stack of a model that
    has but one: by how its mask reads, whatever the model was built as.
    """

    def __init__(
        self,
        row: int = 0,
        *,
        cancel: CancelToken | None = None,
        layers: Iterable[Key] | None = None,
        scores: bool = False,
        only: Stack | None = None,
    ) -> None:
        super().__init__()
        self.row = row
        self.scores = Layers()
        self._cancel = cancel
        self._layers = None if layers is None else frozenset(layers)
        self._keep_scores = scores
        self._only = only

    def before_layer(self, stack: Stack, layer: int) -> None:
        """Ask whether to go on."""
        if self._cancel is not None:
            self._cancel.check()

    def wants(self, stack: Stack, layer: int) -> bool:
        """True for the layers that were asked for."""
        return self._layers is None or (self._only or stack, layer) in self._layers

    def keep(self, stack: Stack, layer: int, trace: Trace) -> None:
        """Copy the shown batch row off the device."""
        key = (self._only or stack, layer)
        self.patterns.add(key, self._copied(trace.pattern))
        if self._keep_scores:
            self.scores.add(key, self._copied(trace.scores))

    def _copied(self, values: Tensor) -> NDArray[np.float32]:
        copied: NDArray[np.float32] = values[self.row].detach().float().cpu().numpy()
        return copied
