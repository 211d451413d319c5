"""A model under test that reads one key too far."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.run.arrays import Arrays, arrays_of
from core.run.checks.torch_subject import TorchSubject
from core.types import Inputs


class SeesTheFuture(TorchSubject):
    """The triangle begins one key too late."""

    def given(self, inputs: Inputs) -> Arrays:
        """The right arrays with one diagonal too many."""
        given = arrays_of(inputs)
        return replace(given, mask=given.mask | np.eye(given.mask.shape[-1], k=1, dtype=bool))
