"""Keys and values in buffers that the graph writes into, and the tensors of one call bound once."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from core.export.names import Signature, pairs
from core.export.session import on_device, run_bound
from core.model.config import ModelConfig
from core.run.arrays import Floats
from core.run.cancel import CancelToken

_STEP = 32
"""Columns by which buffers grow at least; beyond 8 times as many, by an eighth of their length."""


class Buffers:
    """Keys and values of all layers, ``[B, kv_heads, capacity, d]`` each; past and present in one.

    On the CPU the arrays here are the memory that ONNX Runtime reads and writes.
    """

    def __init__(self, config: ModelConfig, batch: int, *, dtype: str, device: str) -> None:
        self.length = 0
        self.capacity = 0
        self._shape = (batch, config.kv_heads, config.head_width)
        self._dtype, self._device = np.dtype(dtype), device
        self._count = 2 * config.layers
        self._arrays: list[NDArray[Any]] = []
        self.values: list[Any] = []

    def reserve(self, length: int) -> None:
        """Make room for ``length`` columns and some more.

        Every call computes over the whole capacity, and growing copies what is filled: a small
        step keeps both small.
        """
        if length <= self.capacity:
            return
        batch, heads, width = self._shape
        step = max(_STEP, length // 8)
        capacity = -(-length // step) * step
        shape = (batch, heads, capacity, width)
        grown = [np.zeros(shape, self._dtype) for _ in range(self._count)]
        if self.length:
            for n, array in enumerate(grown):
                array[:, :, : self.length] = self.filled(n)
        self._arrays, self.capacity = grown, capacity
        self.values = [ort_value(array, self._device) for array in grown]

    def filled(self, n: int) -> Floats:
        """The filled columns of buffer ``n``: layer ``n // 2``, keys where ``n`` is even."""
        held = self._arrays[n] if self._device == "cpu" else self.values[n].numpy()
        found: Floats = held[:, :, : self.length]
        return found


class Bound:
    """One call of a graph: its tensors are bound once, and their arrays written before each run.

    ``held`` are values that stay where they are: buffers, cross keys and values.
    """

    def __init__(
        self,
        session: Any,
        wanted: Signature,
        sizes: dict[str, int],
        held: dict[str, Any],
        dtype: str,
    ) -> None:
        self._session = session
        self._binding = session.io_binding()
        self._device = on_device(session)
        self.inputs: dict[str, NDArray[Any]] = {}
        self.outputs: dict[str, NDArray[Any]] = {}
        self._held = held
        for name, axes in wanted.inputs.items():
            if name in held:
                self._binding.bind_ortvalue_input(name, held[name])
                continue
            shape = [sizes[axis] if isinstance(axis, str) else axis for axis in axes]
            kind = np.bool_ if name.endswith("_mask") else np.int64
            self.inputs[name] = np.zeros(shape, kind)
            self._binding.bind_ortvalue_input(name, ort_value(self.inputs[name], "cpu"))
        for name, axes in wanted.outputs.items():
            if name in held:
                self._binding.bind_ortvalue_output(name, held[name])
                continue
            shape = [sizes[axis] if isinstance(axis, str) else axis for axis in axes]
            self.outputs[name] = np.zeros(shape, np.dtype(dtype))
            self._binding.bind_ortvalue_output(name, ort_value(self.outputs[name], "cpu"))

    def run(self, cancel: CancelToken | None) -> None:
        """Run on what the arrays hold now; the outputs are overwritten."""
        if self._device != "cpu":
            for name, array in self.inputs.items():
                self._binding.bind_cpu_input(name, array)  # Copied to the device when it is bound.
        run_bound(self._session, self._binding, cancel)
        self._binding.synchronize_outputs()


def ort_value(array: NDArray[Any], device: str) -> Any:
    """An array as a value of ONNX Runtime; on the CPU both are the same memory."""
    return onnxruntime.OrtValue.ortvalue_from_numpy(array, device, 0)


def held_pairs(kind: str, values: list[Any]) -> dict[str, Any]:
    """Values by the names ``kind.0.key``, ``kind.0.value`` and so on."""
    return dict(zip(pairs(kind, len(values) // 2), values, strict=True))
