"""Weights of 8 bits: a quarter of the bytes, and an error that the parity report measures."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

_BLOCK = 32
"""Weights of a column that share a scale."""
_EIGHT_BIT_INPUTS = 4
"""ONNX Runtime's number for products whose inputs are rounded to 8 bits too: the fast ones."""


def to_8_bit(path: Path) -> None:
    """Give the matrix products of a graph weights of 8 bits, a scale for each block of a column.

    Inputs of the products are rounded to 8 bits as they come, a scale for each block; embeddings,
    attention, caches and all inputs and outputs of the graph stay in float32. An output matrix
    that is tied to the embedding becomes a matrix of its own. The products are ``MatMulNBits`` of
    ONNX Runtime, the one operator here that is not of the ONNX standard. What the file says of
    itself stays as it was.
    """
    model = onnx.load(path)
    _store_transposed(model.graph)
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


def _quantizer() -> Any:
    """The class of ONNX Runtime, whose module would set up logging for the whole process."""
    root, silent = logging.getLogger(), logging.NullHandler()
    root.addHandler(silent)  # With a handler there, it sets up nothing.
    try:
        from onnxruntime.quantization import matmul_nbits_quantizer
    finally:
        root.removeHandler(silent)
    return matmul_nbits_quantizer.MatMulNBitsQuantizer
