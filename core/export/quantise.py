"""Weights of 8 bits: a quarter of the bytes, and an error that the parity report measures."""

from __future__ import annotations

import os
from pathlib import Path

import onnx
from onnxruntime.quantization import QuantType, quantize_dynamic


def to_8_bit(path: Path) -> None:
    """Give the matrix products of a graph weights of 8 bits, a scale for each column.

    Inputs of the products are rounded to 8 bits as they come; embeddings, attention, caches and
    all inputs and outputs of the graph stay in float32, and so does a tied output matrix. What
    the file says of itself stays as it was.
    """
    before = onnx.load(path)
    smaller = path.with_name(f"{path.name}.8bit")
    quantize_dynamic(
        path,
        smaller,
        op_types_to_quantize=["MatMul"],
        per_channel=True,
        weight_type=QuantType.QInt8,
    )
    after = onnx.load(smaller)
    del after.metadata_props[:]
    after.metadata_props.extend(before.metadata_props)
    after.producer_name, after.producer_version = before.producer_name, before.producer_version
    onnx.save(after, smaller)
    os.replace(smaller, path)
