"""Data in four kinds of file, each with a README of names and shapes, and what made it. No torch.

CSV is a folder of one file an array, because a spreadsheet opens those as they are.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from core.atomic import write_file, write_folder
from core.run.cancel import CancelToken
from core.types import Data, DataArray

SUFFIXES = (".npz", ".safetensors", ".csv", ".json")


def check_place(path: Path) -> None:
    """Raise ValueError with a sentence if no data can be written at ``path``."""
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(
            f"{path} must end in .npz, .safetensors, .csv or .json, which says what is written."
        )
    if not path.absolute().parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}; make it.")
    if path.suffix.lower() == ".csv":
        if path.exists():
            raise ValueError(
                f"{path} is there already, but CSV is written as a new folder of files: take"
                " another name, or move it away."
            )
    elif path.is_dir():
        raise ValueError(f"{path} is a folder; name a file to write.")


def write(data: Data, path: Path, cancel: CancelToken | None = None) -> None:
    """Write a file of the kind that the ending says, or the folder of a ``.csv``.

    Raises
    ------
    ValueError
        with a sentence where it cannot be; what was there is as it was.
    Cancelled
        when ``cancel`` was set in the meantime; what was there is as it was.
    """
    check_place(path)
    token = cancel or CancelToken()
    suffix = path.suffix.lower()
    if suffix == ".csv":
        files = csv_files(data, token)
        token.check()
        write_folder(path, files)
        return
    if suffix == ".json":
        content = as_json(data, token)
    else:
        content = npz(data) if suffix == ".npz" else safetensors(data)
    token.check()
    write_file(path, content)


def npz(data: Data) -> bytes:
    """NumPy's archive; ``README`` and ``parameters`` (JSON) are texts in it."""
    content = io.BytesIO()
    entries: dict[str, Any] = {name: array.values for name, array in data.arrays.items()}
    entries["README"] = np.array(_utf8(data.readme()))
    entries["parameters"] = np.array(_utf8(_json(data.parameters)))
    np.savez_compressed(content, **entries)
    return content.getvalue()


def safetensors(data: Data) -> bytes:
    """Tensors; README, parameters and arrays of texts (JSON lists) stand in the metadata."""
    told = {"README": _utf8(data.readme()), "parameters": _utf8(_json(data.parameters))}
    tensors = {}
    for name, array in data.arrays.items():
        if array.values.dtype.kind == "U":
            told[name] = _json(array.values.tolist())
        else:
            tensors[name] = np.ascontiguousarray(array.values)
    content: bytes = save(tensors, metadata=told)
    return content


def as_json(data: Data, cancel: CancelToken) -> bytes:
    """One object: ``readme``, ``parameters``, and nested lists in ``arrays``; NaN is null.

    ``cancel`` is asked before each matrix.
    """
    told = {"readme": data.readme(), "parameters": data.parameters}
    head = ", ".join(f"{_json(name)}: {_json(value)}" for name, value in told.items())
    arrays = ", ".join(
        f"{_json(name)}: {_nested(array.values, cancel)}" for name, array in data.arrays.items()
    )
    return _utf8(f'{{{head}, "arrays": {{{arrays}}}}}\n').encode()


def csv_files(data: Data, cancel: CancelToken) -> dict[str, bytes]:
    """A file for each array, and README.txt and parameters.json, by name.

    ``cancel`` is asked before each line.
    """
    files = {f"{name}.csv": _csv(array, cancel) for name, array in data.arrays.items()}
    files["README.txt"] = _utf8(f"{data.readme()}{_CSV_READ}").encode()
    files["parameters.json"] = _utf8(_json(data.parameters) + "\n").encode()
    return files


_CSV_READ = (
    "Each line of a CSV file begins with the indices of all axes but the last, and holds the values"
    " along that one; an array of one axis has a value a line. True is 1.\n"
)


def _csv(array: DataArray, cancel: CancelToken) -> bytes:
    content = io.StringIO()
    lines = csv.writer(content, lineterminator="\n")
    if array.values.ndim == 1:
        lines.writerow((*array.axes, "value"))
        lines.writerows(enumerate(_written(array.values)))
    else:
        lines.writerow((*array.axes[:-1], *range(array.values.shape[-1])))
        lines.writerows(_rows(array.values, cancel))
    return _utf8(content.getvalue()).encode()


def _rows(values: NDArray[Any], cancel: CancelToken) -> Iterator[tuple[Any, ...]]:
    for index in product(*map(range, values.shape[:-1])):
        cancel.check()
        yield (*index, *_written(values[index]))


def _written(values: NDArray[Any]) -> list[Any]:
    """Values in the fewest digits that bring them back exactly; True is 1."""
    if values.dtype == np.bool_:
        values = values.astype(np.uint8)
    written: list[Any] = values.astype(np.str_).tolist()
    return written


def _nested(values: NDArray[Any], cancel: CancelToken) -> str:
    """Nested lists as JSON, matrix by matrix: the text of a large array takes long."""
    if values.ndim > 2:
        return f"[{', '.join(_nested(part, cancel) for part in values)}]"
    cancel.check()
    return _json(_lists(values))


def _lists(values: NDArray[Any]) -> Any:
    """Nested lists of plain values, in the fewest digits that bring them back exactly."""
    if values.dtype.kind != "f":
        return values.tolist()
    short = values.astype(np.str_).astype(np.float64)
    plain = short.astype(np.object_)
    plain[np.isnan(short)] = None
    return plain.tolist()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _utf8(text: str) -> str:
    """The text with a question mark for what UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
