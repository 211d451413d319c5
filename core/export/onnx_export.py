"""A model as ONNX files that run under any mask, with a cache, without this program.

One graph is prefill, chunked prefill and decoding; an encoder-decoder is two. Source: the operators
``Attention`` and ``TensorScatter`` of ONNX opset 24.
"""

from __future__ import annotations

import copy
import logging
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import onnx_ir
import torch
from torch import Tensor, nn

from core.export.files import Files, Header, digest
from core.export.fixed import FixedMasks, fixed_masks
from core.export.graphs import OPSET, DecoderGraph, EncoderGraph, MemoryGraph
from core.export.names import Axis, Part, Signature, parts_of, signature
from core.export.quantise import to_8_bit
from core.model.config import ModelConfig
from core.model.transformer import Transformer
from core.paths import TOKENIZER
from core.run.cancel import CancelToken
from core.types import MaskSpec
from core.version import own_version

EXTERNAL_OVER = 1_500_000_000
"""Bytes of weights from which they go to a file of their own: one ONNX file holds 2 GB at most."""

DTYPES = {"float32": torch.float32, "float16": torch.float16, "int8": torch.float32}
"""What a file can be exported in, and what it is traced in; int8 are the weights alone."""
_EXAMPLE = {"batch": 3, "seq": 5, "capacity": 11, "source": 7, "rows": 2}
"""Sizes that a graph is traced with; none is special, and all are different."""
_ARGUMENTS = {
    "source_ids": "source_ids",
    "input_ids": "ids",
    "position_ids": "positions",
    "attention_mask": "mask",
    "logits_positions": "rows",
    "write_indices": "write_indices",
    "past": "past",
    "memory_mask": "memory_mask",
    "cross": "cross",
}
"""How the graph modules call what the files call by another name."""

Progress = Callable[[str, float], None]
"""Told what is being done, and the share from 0 to 1 that is done."""


class ExportError(RuntimeError):
    """The exporter made something that is not what was asked for; the message is a sentence."""


def export(
    model: Transformer,
    out: Path,
    *,
    name: str = "model",
    tokenizer: Path = TOKENIZER,
    dtype: str = "float32",
    fixed_mask: MaskSpec | None = None,
    source_mask: MaskSpec | None = None,
    opset: int = OPSET,
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
) -> Files:
    """Write ``out`` (an encoder-decoder: its two halves) and the tokenizer beside it.

    Everything is made and checked in a folder of its own beside ``out`` and then moved into
    place: a failure leaves older files as they were. The live model stays as it is.

    Parameters
    ----------
    model : any family, on any device.
    name : what the files call the model.
    dtype : "float32"; "float16", which is half as large and less exact; "int8", float32 with
        weights of 8 bits, the smallest and the least exact.
    fixed_mask : a mask of one batch row that is built in; the file then takes ids of its length
        alone, and an encoder-decoder becomes one file that takes those of its source as well.
    source_mask : the mask of that source; every target token reads every real source token.
    opset : 24 or 25; older ones lack the operators, newer ones the exporter cannot write.
    progress, cancel : told of every step, and asked before it.

    Raises
    ------
    ValueError
        for a place that cannot be written, or something that cannot be exported.
    ExportError
        when a file is not what it should be.
    Cancelled
        when ``cancel`` was set.
    """
    config = model.config
    _check(dtype, opset)
    fixed = fixed_masks(config, fixed_mask, source_mask)
    masks = () if fixed is None else (fixed.own, fixed.source, fixed.cross)
    parts = parts_of(config) if fixed is None else (Part.FIXED,)
    files = Files.to_write(out, halves=len(parts) > 1)
    frozen = _copied(model, DTYPES[dtype])
    steps = len(parts) + 1
    with _workshop(files.folder) as folder:
        made = replace(files, folder=folder)
        for done, part in enumerate(parts):
            _ask(cancel, progress, f"exporting {files.graph(part).name}", done / steps)
            program = _traced(frozen, part, fixed, opset)
            _ask(cancel, progress, f"checking {files.graph(part).name}", (done + 0.8) / steps)
            header = Header(name, part, config, dtype, digest(tokenizer), own_version(), *masks)
            _save(program, made.graph(part), header)
            _verify(made.graph(part), _signature(config, part, fixed))
        shutil.copyfile(tokenizer, made.tokenizer)
        _ask(cancel, progress, "moving into place", (steps - 1) / steps)
        _place(folder, files)
    _ask(None, progress, "done", 1.0)
    return files


def _ask(
    cancel: CancelToken | None, progress: Progress | None, sentence: str, share: float
) -> None:
    if progress is not None:
        progress(sentence, share)
    if cancel is not None:
        cancel.check()


def _check(dtype: str, opset: int) -> None:
    if dtype not in DTYPES:
        raise ValueError(f"dtype is {dtype!r}, but must be one of {', '.join(DTYPES)}.")
    if not OPSET <= opset <= OPSET + 1:
        raise ValueError(f"opset is {opset}, but must be {OPSET} or {OPSET + 1}.")


def _copied(model: Transformer, dtype: torch.dtype) -> Transformer:
    """A copy in evaluation mode on the CPU: the exporter sees no live model."""
    return copy.deepcopy(model).to(device="cpu", dtype=dtype).eval()


@contextmanager
def _workshop(target: Path) -> Iterator[Path]:
    """A folder beside the files to come, gone afterwards; files move from it in one step each."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=".maskscope-", dir=target))
    except OSError as error:
        raise ValueError(f"{target} cannot be written into: {error.strerror}.") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _place(folder: Path, files: Files) -> None:
    """Move what was made over what was there; weights first, and no report of an older file."""
    made = sorted(folder.iterdir(), key=lambda path: path.suffix.lower() == ".onnx")
    for path in made:
        if (files.folder / path.name).is_dir():
            raise ValueError(f"{files.folder / path.name} is a folder; name a file to write.")
    files.parity.unlink(missing_ok=True)
    for path in made:
        os.replace(path, files.folder / path.name)


def _signature(config: ModelConfig, part: Part, fixed: FixedMasks | None) -> Signature:
    if fixed is None:
        return signature(config, part)
    source = 0 if fixed.source is None else fixed.source.length
    return signature(config, part, fixed_length=fixed.own.length, fixed_source=source)


def _module(model: Transformer, part: Part, fixed: FixedMasks | None) -> nn.Module:
    if fixed is not None:
        return fixed.module(model).eval()
    kinds = {Part.ENCODER: EncoderGraph, Part.MEMORY: MemoryGraph}
    return kinds.get(part, DecoderGraph)(model).eval()


def _traced(model: Transformer, part: Part, fixed: FixedMasks | None, opset: int) -> onnx_ir.Model:
    """The graph of a part with the names of its signature."""
    config, wanted = model.config, _signature(model.config, part, fixed)
    arguments: dict[str, Any] = {}
    shapes: dict[str, Any] = {}
    for name, axes in wanted.inputs.items():
        example = _example(name, axes, config, model.tokens.weight.dtype)
        dynamic = {i: axis for i, axis in enumerate(axes) if isinstance(axis, str)}
        group = name.split(".")[0]
        argument = _ARGUMENTS[group]
        if group == name:
            arguments[argument], shapes[argument] = example, dynamic
        else:
            arguments.setdefault(argument, []).append(example)
            shapes.setdefault(argument, []).append(dynamic)
    with quiet(), torch.no_grad():
        program = torch.onnx.export(
            _module(model, part, fixed),
            kwargs=arguments,
            dynamo=True,
            opset_version=opset,
            verbose=False,
            input_names=list(wanted.inputs),
            output_names=list(wanted.outputs),
            dynamic_shapes=shapes,
        )
    assert program is not None
    return program.model


def _example(name: str, axes: tuple[Axis, ...], config: ModelConfig, dtype: torch.dtype) -> Tensor:
    sizes = _EXAMPLE | {"mask_heads": config.heads, "memory_heads": config.heads}
    shape = [sizes[axis] if isinstance(axis, str) else axis for axis in axes]
    if name.endswith("_mask"):
        return torch.ones(shape, dtype=torch.bool)
    whole = "." not in name
    return torch.zeros(shape, dtype=torch.int64 if whole else dtype)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the exporter's talk of its own insides from the user."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _save(model: onnx_ir.Model, path: Path, header: Header) -> None:
    """Write a graph that says what it is, and nothing of where it was made."""
    for node in model.graph.all_nodes():
        node.metadata_props.clear()
        node.doc_string = None
    for held in (model.graph, model):
        held.metadata_props.clear()
        held.doc_string = None
    model.metadata_props.update(header.to_metadata())
    model.producer_name, model.producer_version = "maskscope", header.product
    weights = sum(
        value.const_value.nbytes
        for value in model.graph.initializers.values()
        if value.const_value is not None
    )
    external = f"{path.name}.data" if weights > EXTERNAL_OVER else None
    if external and header.dtype == "int8":
        raise ValueError(f"{path.name} is too large for weights of 8 bits; take float16.")
    onnx_ir.save(model, path, external_data=external)
    if header.dtype == "int8":
        with quiet():
            to_8_bit(path)


def _verify(path: Path, wanted: Signature) -> None:
    """Raise ExportError unless the file is valid and has the inputs and outputs it should have."""
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except onnx.checker.ValidationError as error:
        raise ExportError(f"{path.name} was made, but is not valid ONNX: {error}.") from error
    graph = onnx.load(path, load_external_data=False).graph
    for found, expected in ((graph.input, wanted.inputs), (graph.output, wanted.outputs)):
        shapes = {value.name: _axes(value) for value in found}
        if list(shapes) != list(expected):
            raise ExportError(f"{path.name} has {list(shapes)}, but should have {list(expected)}.")
        for name, axes in expected.items():
            same = len(axes) == len(shapes[name]) and all(
                isinstance(has, str) if isinstance(axis, str) else has == axis
                for axis, has in zip(axes, shapes[name], strict=True)
            )
            if not same:
                raise ExportError(
                    f"{name} of {path.name} has shape {shapes[name]}, but should have {axes}."
                )


def _axes(value: onnx.ValueInfoProto) -> tuple[Axis, ...]:
    dims = value.type.tensor_type.shape.dim
    return tuple(dim.dim_param or (dim.dim_value if dim.dim_value else "?") for dim in dims)
