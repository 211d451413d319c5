"""A model on torch as the subject of checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.model.attention import Trace
from core.model.cache import Cache
from core.model.transformer import Transformer
from core.run.arrays import Arrays, Mask
from core.run.cancel import CancelToken
from core.run.checks.subject import Reading, Subject
from core.run.walls import Key
from core.types import Stack

TOLERANCES = {torch.float32: 2e-4, torch.float16: 5e-2, torch.bfloat16: 4e-1}


class _Patterns:
    """A watcher that keeps every pattern of every batch row, chunk below chunk."""

    def __init__(self, wanted: bool, width: int) -> None:
        self._wanted, self._width = wanted, width
        self.kept: dict[Key, list[NDArray[np.float32]]] = {}

    def before_layer(self, stack: Stack, layer: int) -> None:
        """Nothing is asked."""

    def wants(self, stack: Stack, layer: int) -> bool:
        """True for all or for none."""
        return self._wanted

    def keep(self, stack: Stack, layer: int, trace: Trace) -> None:
        """Take the pattern off the device, as wide as the whole row."""
        pattern = trace.pattern.float().cpu().numpy()
        if stack is not Stack.CROSS and pattern.shape[-1] < self._width:
            short = self._width - pattern.shape[-1]
            pattern = np.pad(pattern, ((0, 0), (0, 0), (0, 0), (0, short)))
        self.kept.setdefault((stack, layer), []).append(pattern)


class TorchSubject(Subject):
    """A `Transformer` read as the engine reads it."""

    engine = "torch"

    def __init__(self, model: Transformer, name: str, cancel: CancelToken | None = None) -> None:
        super().__init__(cancel)
        self.model, self.name, self.config = model, name, model.config
        weight = model.tokens.weight
        self.device, self.tolerance = weight.device, TOLERANCES[weight.dtype]

    def chunk(self, given: Arrays, past: int, stop: int) -> tuple[NDArray[np.int64], Mask]:
        """Position ids and mask of the columns from ``past`` to ``stop``."""
        return given.positions[:, past:stop], given.mask[:, :, past:stop, :stop]

    def _read(self, given: Arrays, stops: tuple[int, ...], patterns: bool) -> Reading:
        watcher = _Patterns(patterns, stops[-1])
        logits, past = [], 0
        with torch.inference_mode():
            cache = self._begin(given, watcher)
            for stop in stops:
                positions, mask = self.chunk(given, past, stop)
                cross = given.cross_mask
                made = self.model(
                    self._on(given.ids[:, past:stop]),
                    self._on(positions),
                    self._on(mask),
                    cache,
                    None if cross is None else self._on(cross[:, :, past:stop]),
                    watcher,
                )
                logits.append(made.float().cpu().numpy())
                past = stop
        whole = {key: np.concatenate(parts, axis=2) for key, parts in watcher.kept.items()}
        return Reading(np.concatenate(logits, axis=1), whole)

    def _begin(self, given: Arrays, watcher: _Patterns) -> Cache:
        if given.source is None:
            return Cache()
        source = given.source
        narrow = _Patterns(watcher._wanted, 0)
        read = (self._on(source.ids), self._on(source.positions), self._on(source.mask))
        cache = self.model.encode(*read, narrow)
        watcher.kept |= narrow.kept
        return cache

    def _on(self, array: NDArray[Any]) -> Tensor:
        return torch.as_tensor(array, device=self.device)
