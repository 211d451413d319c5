"""Exported graphs, broken on purpose as exporters and hands break them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from core.export.files import Files
from core.export.names import Part

Spoil = Callable[[onnx.ModelProto], None]


def before_use(graph: onnx.GraphProto, name: str, kind: str, *others: str, **given) -> None:
    """Put a node between an input and everything that reads it."""
    for node in graph.node:
        for i, read in enumerate(node.input):
            if read == name:
                node.input[i] = "spoiled"
    graph.node.insert(0, helper.make_node(kind, [name, *others], ["spoiled"], **given))


def constant(graph: onnx.GraphProto, value: np.ndarray) -> str:
    graph.initializer.append(numpy_helper.from_array(value, "spoiler"))
    return "spoiler"


def negated(model: onnx.ModelProto) -> None:
    before_use(model.graph, "attention_mask", "Not")


def off_by_one(model: onnx.ModelProto) -> None:
    one = constant(model.graph, np.array(1, np.int64))
    before_use(model.graph, "position_ids", "Add", one)


def frozen_causal(model: onnx.ModelProto) -> None:
    """Every attention causal for good, as an exporter writes it that saw one causal mask."""
    for node in model.graph.node:
        if node.op_type == "Attention":
            node.attribute.append(helper.make_attribute("is_causal", 1))


def blind_to_mask(model: onnx.ModelProto) -> None:
    open_mask = constant(model.graph, np.array(True))
    before_use(model.graph, "attention_mask", "Or", open_mask)


def not_a_number(model: onnx.ModelProto) -> None:
    for weights in model.graph.initializer:
        if len(weights.dims) == 2:
            array = numpy_helper.to_array(weights).copy()
            array.fill(np.nan)
            weights.CopyFrom(numpy_helper.from_array(array, weights.name))


def spoiled(files: Files, part: Part, place: Path, spoil: Spoil) -> Path:
    """A copy of the files with one graph broken."""
    for path in files.folder.glob(f"{files.stem}.*"):
        shutil.copyfile(path, place / path.name)
    path = Files(place, files.stem).graph(part)
    model = onnx.load(path)
    spoil(model)
    onnx.save(model, path)
    return place / f"{files.stem}.onnx"
