"""An exported model that runs: chunk after chunk into static buffers, whatever its family."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.export.buffers import Bound, Buffers, held_pairs, ort_value
from core.export.files import Files, Header, read_header
from core.export.names import Part, each, pairs, parts_of, signature
from core.export.session import missing, on_device, open_session
from core.run.arrays import Arrays, Floats, Source, pattern, scores
from core.run.cancel import CancelToken
from core.types import Stack


@dataclass
class Seen:
    """Queries and keys of one stack in one call, ``[B, H, Tq, d]`` and ``[B, kv_heads, S, d]``."""

    stack: Stack
    queries: list[Floats]
    keys: list[Floats]
    mask: NDArray[np.bool_]

    @property
    def heads(self) -> int:
        """Query heads of a layer."""
        return int(self.queries[0].shape[1])

    def pattern(self, layer: int, row: int) -> NDArray[np.float32]:
        """The weights of a layer for one batch row, float32 ``[H, Tq, S]``, computed now."""
        return pattern(self.queries[layer][row], self.keys[layer][row], self.mask[row])

    def scores(self, layer: int, row: int) -> NDArray[np.float32]:
        """What those weights are made of, before the mask, float32 ``[H, Tq, S]``."""
        return scores(self.queries[layer][row], self.keys[layer][row])


@dataclass
class State:
    """What a text has left in a model: buffers, and the source that was read once."""

    buffers: Buffers | None
    cross: list[Any] = field(default_factory=list)
    cross_keys: list[Floats] = field(default_factory=list)
    memory: Seen | None = None
    bound: tuple[tuple[int, ...], Bound] | None = None

    @property
    def length(self) -> int:
        """Cached columns: the ``past`` of the next chunk."""
        return 0 if self.buffers is None else self.buffers.length


@dataclass
class Chunk:
    """What one call gives: ``logits`` float32 ``[B, rows, V]``, and what its attention is made of.

    ``seen`` holds views of the buffers, valid until the next call.
    """

    logits: NDArray[np.float32]
    seen: tuple[Seen, ...]


class OrtModel:
    """The sessions of one exported model.

    Raises
    ------
    ValueError
        with a sentence where the files cannot be run.
    """

    def __init__(self, files: Files, header: Header, device: str = "auto") -> None:
        if header.part is Part.FIXED:
            raise ValueError(
                f"{files.graph(header.part)} has its mask built in and takes ids alone; only a file"
                " that takes a mask can be run under one."
            )
        self.config, self.dtype, self.floats = header.config, header.dtype, header.floats
        self.parts = parts_of(header.config)
        for part in self.parts[:-1]:
            if read_header(files.graph(part)) != replace(header, part=part):
                raise ValueError(f"{files.graph(part)} is not the other half of the model.")
        self._sessions = {part: open_session(files.graph(part), device) for part in self.parts}
        self._session = self._sessions[self.parts[-1]]
        self.missing = "" if device == "cpu" else missing(self._session)
        self._caches = self.parts[-1] is not Part.ENCODER

    @property
    def providers(self) -> tuple[str, ...]:
        """What the model really runs on, first choice first."""
        return tuple(self._session.get_providers())

    @property
    def device(self) -> str:
        """Where its tensors are: "cuda" or "cpu"."""
        return on_device(self._session)

    @property
    def threads(self) -> int:
        """Threads of the CPU that one operator may use."""
        return int(self._session.get_session_options().intra_op_num_threads)

    def begin(
        self, batch: int, source: Source | None = None, cancel: CancelToken | None = None
    ) -> State:
        """An empty state for ``batch`` rows; an encoder-decoder reads its source here, once."""
        if not self._caches:
            return State(None)
        state = State(Buffers(self.config, batch, dtype=self.floats, device=self.device))
        if source is None:
            return state
        size = source.ids.shape[1]
        sizes = {"batch": batch, "seq": size, "source": size, "mask_heads": source.mask.shape[1]}
        wanted = signature(self.config, Part.MEMORY)
        call = Bound(self._sessions[Part.MEMORY], wanted, sizes, {}, self.floats)
        call.inputs["input_ids"][:] = source.ids
        call.inputs["position_ids"][:] = source.positions
        call.inputs["attention_mask"][:] = source.mask
        call.run(cancel)
        out, layers = call.outputs, self.config.encoder_layers
        cross = [out[name] for name in pairs("cross", self.config.layers)]
        state.cross_keys = [*cross[::2]]
        state.cross = [ort_value(array, self.device) for array in cross]
        queries = [out[name] for name in each("query", layers)]
        keys = [out[name] for name in each("key", layers)]
        state.memory = Seen(Stack.ENCODER, queries, keys, source.mask)
        return state

    def chunk(
        self,
        state: State,
        given: Arrays,
        stop: int,
        *,
        rows: NDArray[np.int64] | None = None,
        cancel: CancelToken | None = None,
    ) -> Chunk:
        """Read the columns from the state's end up to ``stop``; the state grows by them.

        ``rows`` are the columns of the chunk whose logits are wanted, counted from its first;
        None wants all.
        """
        past = state.length
        rows = np.arange(stop - past) if rows is None else rows
        call = self._bound(state, given, stop, len(rows))
        call.inputs["input_ids"][:] = given.ids[:, past:stop]
        call.inputs["position_ids"][:] = given.positions[:, past:stop]
        mask = given.mask[:, :, past:stop, :stop]
        call.inputs["attention_mask"][..., stop:] = False
        call.inputs["attention_mask"][..., :stop] = mask
        call.inputs["logits_positions"][:] = rows
        if state.buffers is not None:
            call.inputs["write_indices"][:] = past
        if given.cross_mask is not None:
            call.inputs["memory_mask"][:] = given.cross_mask[:, :, past:stop]
        call.run(cancel)
        if state.buffers is not None:
            state.buffers.length = stop
        logits = call.outputs["logits"].astype(np.float32)
        return Chunk(logits, self._seen(state, call, given, past, stop))

    def _bound(self, state: State, given: Arrays, stop: int, rows: int) -> Bound:
        """The call for these sizes: the last one again where nothing but values changes."""
        batch, heads = given.mask.shape[:2]
        sizes = {"batch": batch, "seq": stop - state.length, "rows": rows, "mask_heads": heads}
        if state.buffers is not None:
            state.buffers.reserve(stop)
            sizes["capacity"] = state.buffers.capacity
        if given.cross_mask is not None:
            sizes["memory_heads"], sizes["source"] = given.cross_mask.shape[1::2]
        key = tuple(sizes.values())
        if state.bound is None or state.bound[0] != key:
            wanted = signature(self.config, self.parts[-1])
            held = held_pairs("cross", state.cross)
            if state.buffers is not None:
                for kind in ("past", "present"):
                    held |= held_pairs(kind, state.buffers.values)
            state.bound = key, Bound(self._session, wanted, sizes, held, self.floats)
        return state.bound[1]

    def _seen(
        self, state: State, call: Bound, given: Arrays, past: int, stop: int
    ) -> tuple[Seen, ...]:
        layers = self.config.layers
        queries = [call.outputs[name] for name in each("query", layers)]
        mask = given.mask[:, :, past:stop, :stop]
        if state.buffers is None:
            keys = [call.outputs[name] for name in each("key", layers)]
            return (Seen(Stack.ENCODER, queries, keys, mask),)
        keys = [state.buffers.filled(2 * layer) for layer in range(layers)]
        own = Seen(Stack.DECODER, queries, keys, mask)
        if given.cross_mask is None:
            return (own,)
        crossing = [call.outputs[name] for name in each("cross_query", layers)]
        cross_mask = given.cross_mask[:, :, past:stop]
        return own, Seen(Stack.CROSS, crossing, state.cross_keys, cross_mask)
