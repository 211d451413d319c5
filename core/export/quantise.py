"""Weights of 8 bits: a quarter of the bytes, and an error that the parity report measures."""

from __future__ import annotations

import logging
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

_BLOCK = 32
"""Weights of a column that share a scale."""
_ZERO = 128
"""The byte that stands for 0."""
_EIGHT_BIT_INPUTS = 4
"""ONNX Runtime's number for products whose inputs are rounded to 8 bits too: the fast ones."""


def to_8_bit(path: Path) -> None:
    """Give the matrix products and embeddings of a graph weights of 8 bits, a scale for each block.

    Inputs of the products are rounded to 8 bits as they come, a scale for each block; attention,
    caches and all inputs and outputs of the graph stay in float32. An output matrix that is tied
    to the embedding becomes a matrix of its own. The products are ``MatMulNBits`` of ONNX Runtime,
    the one operator here that is not of the ONNX standard. What the file says of itself stays as
    it was.
    """
    model = onnx.load(path)
    _store_transposed(model.graph)
    _shrink_tables(model.graph)
    quantizer = _quantizer()(
        model, bits=8, block_size=_BLOCK, is_symmetric=True, accuracy_level=_EIGHT_BIT_INPUTS
    )
    quantizer.process()
    smaller = path.with_name(f"{path.name}.8bit")
    onnx.save(quantizer.model.model, smaller)
    os.replace(smaller, path)


def _store_transposed(graph: onnx.GraphProto) -> None:
    """Store weights that are transposed in the graph as they are read: only those become 8 bits."""
    weights = {tensor.name: tensor for tensor in graph.initializer}
    for node in [node for node in graph.node if node.op_type == "Transpose"]:
        if node.input[0] in weights:
            axes = next((list(has.ints) for has in node.attribute if has.name == "perm"), None)
            array = numpy_helper.to_array(weights[node.input[0]]).transpose(axes)
            stored = numpy_helper.from_array(np.ascontiguousarray(array), node.output[0])
            graph.initializer.append(stored)
            graph.node.remove(node)


def _shrink_tables(graph: onnx.GraphProto) -> None:
    """Store tables that rows are looked up in as bytes, and scale the rows that were found."""
    weights = {tensor.name: tensor for tensor in graph.initializer}
    graph.initializer.append(numpy_helper.from_array(np.array(_ZERO, np.float32), "zero_byte"))
    for at, node in reversed([*enumerate(graph.node)]):
        table = weights.get(node.input[0]) if node.op_type == "Gather" else None
        if table is None or len(table.dims) != 2:
            continue
        (source, ids), (row,) = node.input, node.output
        width = table.dims[1]
        stored, scales = _in_bytes(numpy_helper.to_array(table))
        for name, array in (
            ("bytes", stored), ("scales", scales), ("shape", np.array([0, 0, width])),
        ):  # fmt: skip
            graph.initializer.append(numpy_helper.from_array(array, f"{row}.{name}"))
        made = [
            helper.make_node("Gather", [f"{row}.bytes", ids], [f"{row}.found"]),
            helper.make_node("Cast", [f"{row}.found"], [f"{row}.cast"], to=TensorProto.FLOAT),
            helper.make_node("Sub", [f"{row}.cast", "zero_byte"], [f"{row}.signed"]),
            helper.make_node("Gather", [f"{row}.scales", ids], [f"{row}.scale"]),
            helper.make_node("Mul", [f"{row}.signed", f"{row}.scale"], [f"{row}.blocks"]),
            helper.make_node("Reshape", [f"{row}.blocks", f"{row}.shape"], [row]),
        ]
        graph.node.remove(node)
        for n, new in enumerate(made):
            graph.node.insert(at + n, new)
        if not any(source in other.input for other in graph.node):
            graph.initializer.remove(table)


def _in_bytes(table: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Bytes ``[V, n, block]`` and scales ``[V, n, 1]`` of a table ``[V, n * block]``."""
    block = math.gcd(table.shape[1], _BLOCK)
    blocks = table.reshape(len(table), -1, block)
    scales = np.abs(blocks).max(axis=-1, keepdims=True) / np.float32(127)
    scales[scales == 0] = 1
    return (np.rint(blocks / scales) + _ZERO).astype(np.uint8), scales


def _quantizer() -> Any:
    """The class of ONNX Runtime, whose module would set up logging for the whole process."""
    root, silent = logging.getLogger(), logging.NullHandler()
    root.addHandler(silent)  # With a handler there, it sets up nothing.
    try:
        from onnxruntime.quantization import matmul_nbits_quantizer
    finally:
        root.removeHandler(silent)
    return matmul_nbits_quantizer.MatMulNBitsQuantizer
