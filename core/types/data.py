"""A run as data: what is written, and what stands in the file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from core.types.checks import CheckReport
from core.types.flow import FlowResult
from core.types.jobs import Job
from core.types.messages import RunRequest
from core.types.wording import counted


@dataclass(frozen=True)
class DataJob(Job):
    """Write the shown batch row of a run as data.

    Attributes
    ----------
    run : the run; head and top are not asked for.
    out : the file; its ending says of which kind it is.
    tokens, source_tokens : how the columns of the row and of its source are written.
    parameters : what made the run, as plain JSON values, beside what the engine adds.
    flow, report : what was found beside; None where it was not computed.
    """

    run: RunRequest
    out: str
    tokens: tuple[str, ...]
    source_tokens: tuple[str, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)
    flow: FlowResult | None = None
    report: CheckReport | None = None


@dataclass(frozen=True)
class DataArray:
    """Numbers, truths or texts with a name for each axis, and what they are in words."""

    values: NDArray[Any] = field(repr=False)
    axes: tuple[str, ...]
    meaning: str


@dataclass(frozen=True)
class Data:
    """Everything that stands in a file: arrays by name, what made them, and what is missing.

    ``parameters`` are plain JSON values, ``notes`` sentences.
    """

    arrays: dict[str, DataArray]
    parameters: dict[str, Any]
    notes: tuple[str, ...] = ()

    def readme(self) -> str:
        """Names, shapes and meanings of the arrays as a text of lines."""
        lines = [
            f"What {self.parameters['model']} read and computed, written by maskscope.",
            "",
            "True means may read. Rows are queries, columns are keys, and all of it counts from 0."
            " NaN is what was not measured.",
        ]
        past = self.parameters["past"]
        if past:
            lines += [f"The first {past} columns are in the cache: query r is column {past} + r."]
        lines += [""]
        for name, array in self.arrays.items():
            kind = "text" if array.values.dtype.kind == "U" else array.values.dtype.name
            shape = ", ".join(map(str, array.values.shape))
            axes = ", ".join(array.axes)
            lines.append(f"{name}: {kind} [{shape}] ({axes}): {array.meaning}.")
        if self.notes:
            lines += ["", *self.notes]
        lines += ["", "What made it stands under parameters.", ""]
        return "\n".join(lines)


@dataclass(frozen=True)
class Written:
    """What was written: the file or folder, and the names of its arrays."""

    path: str
    names: tuple[str, ...]

    def sentence(self) -> str:
        """What a user is told."""
        return f"Wrote {counted(len(self.names), 'array')} to {self.path}."
