"""A `Transformer` that is timed: prefill and single steps on its device."""

from __future__ import annotations

import torch

from core.model.cache import Cache
from core.model.transformer import Transformer
from core.run.cancel import CancelToken
from core.run.capture import Capture
from core.run.step import Tensors, begin, chunk, to_device
from core.types import Inputs


class TorchPacer:
    """Runs as the engine does, on the fused path; the cancel token is asked before each layer."""

    engine = "torch"

    def __init__(self, model: Transformer, cancel: CancelToken | None = None) -> None:
        weight = model.tokens.weight
        self.config = model.config
        self.device = str(weight.device)
        self.dtype = str(weight.dtype).removeprefix("torch.")
        self.threads = torch.get_num_threads()
        self._model, self._at = model, weight.device
        self._watcher = Capture(cancel=cancel, layers=())
        self._tensors: Tensors | None = None

    def prepare(self, inputs: Inputs) -> None:
        """Ids, positions and masks on the device."""
        self._tensors = to_device(inputs, self._at)

    def prefill(self, stop: int) -> Cache:
        """Read the source and the first ``stop`` columns; returns the cache."""
        assert self._tensors is not None
        with torch.inference_mode():
            cache = begin(self._model, self._tensors, self._watcher)
            if stop:
                chunk(self._model, self._tensors, cache, stop, self._watcher)
        self._wait()
        return cache

    def step(self, state: Cache) -> None:
        """Run one more column on a copy of the cache, whose tensors are shared."""
        assert self._tensors is not None
        cache = Cache(dict(state.own), state.cross)
        with torch.inference_mode():
            chunk(self._model, self._tensors, cache, cache.length + 1, self._watcher)
        self._wait()

    def _wait(self) -> None:
        """Devices answer before they are done."""
        if self._at.type == "cuda":
            torch.cuda.synchronize(self._at)
        elif self._at.type == "mps":
            torch.mps.synchronize()
