"""The implementations of attention that a mask is run through, each as its users call it.

Sources: the documentation of ``scaled_dot_product_attention`` (True = takes part), of
``nn.MultiheadAttention`` (True = blocked) and of ``flex_attention``, and the operator ``Attention``
of ONNX opset 24, which older opsets spell out.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import onnxruntime
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from core.export.backend_causes import Array, Case
from core.export.onnx_export import quiet
from core.run.cancel import CancelToken

COMPILE_SECONDS = 60.0
"""How long a compilation is waited for; 0 for not at all."""
_SMALLEST, _LARGEST = 128, 1024
"""Sizes that FlexAttention is compiled for: few, for each takes some seconds."""
_EXAMPLE = {"rows": 3, "keys": 5}


class Unavailable(RuntimeError):
    """A backend that cannot run a mask, or not on this machine; the message is a sentence."""


Run = Callable[[Case], Array]
"""A case to its output float32 ``[H, Tq, d]``; raises Unavailable."""


def tensors(case: Case) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Query, key and value ``[1, H, T, d]`` and the mask ``[Tq, S]``."""
    mask = torch.from_numpy(case.mask)
    query, key, value = (torch.from_numpy(x)[None] for x in (case.query, case.key, case.value))
    return query, key, value, mask


def _out(output: Tensor) -> Array:
    found: Array = output[0].detach().numpy()
    return found


def _filled(case: Case, closed: float) -> Array:
    """Attention step by step; the scores of closed cells are set to ``closed``."""
    query, key, value, mask = tensors(case)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return _out(scores.masked_fill(~mask, closed).softmax(dim=-1) @ value)


def minus_infinity(case: Case) -> Array:
    """Closed scores are minus infinity: the textbook."""
    return _filled(case, -math.inf)


def lowest(case: Case) -> Array:
    """Closed scores are the lowest float: what keeps many libraries free of NaN."""
    return _filled(case, torch.finfo(torch.float32).min)


def fused_bool(case: Case) -> Array:
    """``scaled_dot_product_attention`` with a bool mask."""
    query, key, value, mask = tensors(case)
    return _out(functional.scaled_dot_product_attention(query, key, value, attn_mask=mask))


def fused_additive(case: Case) -> Array:
    """``scaled_dot_product_attention`` with 0 and minus infinity to add."""
    query, key, value, mask = tensors(case)
    bias = torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
    return _out(functional.scaled_dot_product_attention(query, key, value, attn_mask=bias))


def fused_causal(case: Case) -> Array:
    """``scaled_dot_product_attention`` that makes its own triangle and is given no mask."""
    if not case.causal:
        raise Unavailable("is not for this mask: it makes a causal triangle and nothing else")
    query, key, value, _ = tensors(case)
    return _out(functional.scaled_dot_product_attention(query, key, value, is_causal=True))


def multihead(case: Case) -> Array:
    """``nn.MultiheadAttention`` with the mask turned into what is blocked."""
    return _multihead(case, ~case.mask)


def multihead_unconverted(case: Case) -> Array:
    """``nn.MultiheadAttention`` given what may be read: the usual mistake."""
    return _multihead(case, case.mask)


def _multihead(case: Case, blocked: Any) -> Array:
    """Projections that change nothing, so that what comes in is what is attended to."""
    heads, _, width = case.query.shape
    layer = nn.MultiheadAttention(heads * width, heads, bias=False, batch_first=True).eval()
    identity = torch.eye(heads * width)
    with torch.no_grad():
        layer.in_proj_weight.copy_(identity.repeat(3, 1))
        layer.out_proj.weight.copy_(identity)
    joined = [x.transpose(1, 2).flatten(2) for x in tensors(case)[:3]]
    output = layer(*joined, attn_mask=torch.from_numpy(blocked))[0]
    return _out(output.unflatten(2, (heads, width)).transpose(1, 2))


def flex_eager(case: Case) -> Array:
    """``flex_attention`` without its compiler: every score is made."""
    return _flex(flex_attention, case)


def _flex(function: Callable[..., Any], case: Case) -> Array:
    query, key, value, mask = tensors(case)

    def may_read(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        return mask[q, kv]

    rows, keys = mask.shape
    blocks = create_block_mask(may_read, None, None, rows, keys, device="cpu")
    return _out(function(query, key, value, block_mask=blocks))


def flex_compiled(case: Case, cancel: CancelToken | None = None) -> Array:
    """``flex_attention`` as one kernel, which is compiled on its first call of a size.

    Sizes are filled up to a power of two, so that most masks share a kernel.

    Raises
    ------
    Unavailable
        where it does not compile, or not within `COMPILE_SECONDS`; a later call may find it done.
    Cancelled
        when ``cancel`` was set meanwhile.
    """
    if not COMPILE_SECONDS:
        raise Unavailable("compiling is turned off")
    waiting = _Waiting(_filled_up(case))
    waiting.start()
    left = COMPILE_SECONDS
    while waiting.is_alive() and left > 0:
        waiting.join(min(0.1, left))
        left -= 0.1
        if cancel is not None:
            cancel.check()
    if waiting.is_alive():
        raise Unavailable(f"did not compile within {COMPILE_SECONDS:.0f} s")
    if waiting.output is None:
        raise Unavailable(f"does not compile here: {waiting.error}")
    return waiting.output[:, : len(case.mask)]


class _Waiting(threading.Thread):
    """A compilation, which cannot be stopped and so must not be waited for at the end."""

    def __init__(self, case: Case) -> None:
        super().__init__(daemon=True)
        self._case = case
        self.output: Array | None = None
        self.error = ""

    def run(self) -> None:
        try:
            with torch.inference_mode():
                self.output = _flex(_compiled(), self._case)
        except Exception as error:  # A compiler fails in many ways.
            self.error = f"{type(error).__name__}: {error}".splitlines()[0].rstrip(".")


@cache
def _compiled() -> Callable[..., Any]:
    import torch._inductor.config as inductor

    inductor.compile_threads = 1  # No pool of processes that stays.
    return torch.compile(flex_attention, dynamic=False)


def _filled_up(case: Case) -> Case:
    """The case with as many queries as keys, a power of two; what is added is closed."""
    side = max(_SMALLEST, 1 << (max(case.mask.shape) - 1).bit_length())
    if side > _LARGEST:
        raise Unavailable(f"is not compiled for more than {_LARGEST:,} keys")
    more_rows, more_keys = side - case.mask.shape[0], side - case.mask.shape[1]
    key, value = (np.pad(x, ((0, 0), (0, more_keys), (0, 0))) for x in (case.key, case.value))
    query = np.pad(case.query, ((0, 0), (0, more_rows), (0, 0)))
    mask = np.pad(case.mask, ((0, more_rows), (0, more_keys)))
    return Case(query, key, value, mask, case.past, case.causal)


class _Fused(nn.Module):
    """What is exported: one call of the fused kernel under a bool mask."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        output: Tensor = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return output


def onnx(opset: int) -> Run:
    """The fused kernel under a bool mask as ONNX Runtime reads it from an opset."""

    def run(case: Case) -> Array:
        query, key, value, mask = (x.numpy() for x in tensors(case))
        session = _session(opset, len(case.query), case.query.shape[-1])
        given = {"query": query, "key": key, "value": value, "mask": mask}
        found: Array = session.run(None, given)[0][0]
        return found

    return run


@cache
def _session(opset: int, heads: int, width: int) -> Any:
    """A session that takes any number of queries and keys; exported once in a process."""
    rows, keys = _EXAMPLE["rows"], _EXAMPLE["keys"]
    query, key = torch.zeros(1, heads, rows, width), torch.zeros(1, heads, keys, width)
    mask = torch.ones(rows, keys, dtype=torch.bool)
    with quiet(), torch.no_grad():
        program = torch.onnx.export(
            _Fused(),
            (query, key, key.clone(), mask),
            dynamo=True,
            opset_version=opset,
            verbose=False,
            input_names=["query", "key", "value", "mask"],
            output_names=["output"],
            dynamic_shapes=({2: "rows"}, {2: "keys"}, {2: "keys"}, {0: "rows", 1: "keys"}),
        )
    assert program is not None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(
        program.model_proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
