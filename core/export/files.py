"""The files of an exported model, and the header that says what is in them.

``OUT.onnx`` (an encoder-decoder: ``OUT.encoder.onnx`` and ``OUT.decoder.onnx``) has
``OUT.tokenizer.json`` and ``OUT.parity.json`` beside it. Reading them needs no torch.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError

from core.export.names import Part
from core.model.config import ModelConfig
from core.text.tokenizer import Tokenizer
from core.types import MaskKind, MaskSpec

FORMAT = 1
_PREFIX = "maskscope."
_HALVES = (".encoder.onnx", ".decoder.onnx")
_MASKS = ("mask", "source_mask", "cross_mask")


@dataclass(frozen=True)
class Header:
    """What a file says of itself in its metadata."""

    model: str
    part: Part
    config: ModelConfig
    dtype: str
    tokenizer_sha256: str
    product: str
    mask: MaskSpec | None = None
    """The mask that is built in, of a FIXED part; an encoder-decoder's has two more."""
    source_mask: MaskSpec | None = None
    cross_mask: MaskSpec | None = None

    @property
    def floats(self) -> str:
        """The dtype of what goes in and comes out: int8 are the weights alone."""
        return "float32" if self.dtype == "int8" else self.dtype

    def to_metadata(self) -> dict[str, str]:
        """The metadata of an ONNX file: every value is text."""
        plain = {
            "format": str(FORMAT),
            "product": self.product,
            "model": self.model,
            "part": self.part.value,
            "family": self.config.family.value,
            "kinds": ",".join(kind.value for kind in self.config.kinds),
            "config": json.dumps(self.config.to_json()),
            "dtype": self.dtype,
            "tokenizer_sha256": self.tokenizer_sha256,
        }
        for name in _MASKS:
            if (mask := getattr(self, name)) is not None:
                plain[name] = json.dumps(mask.__dict__)
        return {_PREFIX + name: value for name, value in plain.items()}


@dataclass(frozen=True)
class Files:
    """The files of one model: all in ``folder``, all named after ``stem``.

    ``suffix`` is the ending of a graph that is the only one, as the user wrote it: two halves have
    endings of their own.
    """

    folder: Path
    stem: str
    suffix: str = ".onnx"

    @classmethod
    def to_write(cls, out: Path, *, halves: bool) -> Files:
        """The files that an export to ``out`` writes; raises ValueError unless it ends in .onnx."""
        if out.suffix.lower() != ".onnx" or not out.stem:
            raise ValueError(f"{out} must end in .onnx, as every exported file does.")
        files = cls(out.parent, out.stem, out.suffix)
        return files.without_half() if halves else files

    def without_half(self) -> Files:
        """The same files, named by one of the two halves of an encoder-decoder."""
        name = f"{self.stem}.onnx"
        ending = next((end for end in _HALVES if name.endswith(end)), ".onnx")
        return replace(self, stem=name.removesuffix(ending))

    def _named(self, ending: str) -> Path:
        return self.folder / (self.stem + ending)

    def graph(self, part: Part) -> Path:
        """The ONNX file of a part."""
        halves = {Part.MEMORY: _HALVES[0], Part.TARGET: _HALVES[1]}
        return self._named(halves.get(part, self.suffix))

    @property
    def tokenizer(self) -> Path:
        """The copy of the tokenizer."""
        return self._named(".tokenizer.json")

    @property
    def parity(self) -> Path:
        """The report on how far the files are from torch."""
        return self._named(".parity.json")


def find(path: Path) -> tuple[Files, Header]:
    """The files that a user means by ``path``, and the header of the one that makes the output.

    An encoder-decoder is named by the name it was exported to, or by either half.

    Raises
    ------
    ValueError
        with a sentence, as `read_header`.
    """
    files = Files.to_write(path, halves=False)
    halves = files.without_half()
    target = halves.graph(Part.TARGET)
    if not path.exists() and target.exists():
        path = target
    header = read_header(path)
    if header.part not in (Part.MEMORY, Part.TARGET):
        return files, header
    if path != halves.graph(header.part):
        raise ValueError(
            f"{path} is one half of an encoder-decoder, whose halves go by names that end in"
            f" {' and '.join(_HALVES)}: name both as they were exported."
        )
    return halves, header if path == target else read_header(target)


def read_header(path: Path) -> Header:
    """The header of an ONNX file of ours, checked before anything else is made of it.

    Raises
    ------
    ValueError
        with a sentence: there is no such file; it is no ONNX file; it is not ours; it is of a
        newer format; its weights are not beside it.
    """
    if not path.is_file():
        raise ValueError(f"{path} is a folder." if path.is_dir() else f"There is no file {path}.")
    try:
        graph = onnx.load(path, load_external_data=False)
    except DecodeError:
        graph = onnx.ModelProto()
    if not graph.ir_version:
        raise ValueError(f"{path} is no ONNX file.")
    found = {entry.key: entry.value for entry in graph.metadata_props}
    plain = {key.removeprefix(_PREFIX): value for key, value in found.items()}
    header = _parsed(path, plain)
    _check_weights(path, graph)
    return header


def _parsed(path: Path, plain: dict[str, str]) -> Header:
    if not plain.get("format", "").isdigit():
        raise ValueError(f"{path} is an ONNX file, but was not exported by maskscope.")
    if int(plain["format"]) > FORMAT:
        raise ValueError(
            f"{path} has format {plain['format']}, but this program reads formats up to {FORMAT}:"
            " use a newer maskscope, or export the model again."
        )
    try:
        return Header(
            model=plain["model"],
            part=Part(plain["part"]),
            config=ModelConfig.from_json(json.loads(plain["config"])),
            dtype=plain["dtype"],
            tokenizer_sha256=plain["tokenizer_sha256"],
            product=plain["product"],
            **{name: _mask(json.loads(plain[name])) for name in _MASKS if name in plain},
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} has a damaged header: {error}; export it again.") from error


def _mask(plain: dict[str, Any]) -> MaskSpec:
    lists = {name: tuple(value) for name, value in plain.items() if isinstance(value, list)}
    return MaskSpec(**(plain | lists | {"kind": MaskKind(plain["kind"])}))


def _check_weights(path: Path, graph: onnx.ModelProto) -> None:
    for weights in graph.graph.initializer:
        places = [entry.value for entry in weights.external_data if entry.key == "location"]
        for place in places:
            if not (path.parent / place).is_file():
                raise ValueError(
                    f"{path} keeps its weights in {place}, which is not beside it: put it there."
                )


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_tokenizer(files: Files, header: Header) -> Tokenizer:
    """The tokenizer beside an exported model.

    Raises
    ------
    ValueError
        if it is missing, or not the one that the model was exported with.
    """
    if not files.tokenizer.is_file():
        raise ValueError(f"There is no {files.tokenizer} beside the model: put it there.")
    if digest(files.tokenizer) != header.tokenizer_sha256:
        raise ValueError(
            f"{files.tokenizer} is not the tokenizer that the model was exported with."
        )
    return Tokenizer.load(files.tokenizer)
