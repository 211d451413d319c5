"""One mask through every implementation of attention: what is asked, and how far they part."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.types.jobs import Job
from core.types.masks import MaskSpec, require


@dataclass(frozen=True)
class BackendsJob(Job):
    """Run one mask through every backend on random queries, keys and values.

    Attributes
    ----------
    spec : the mask; batch row ``row`` of it is run.
    seed : of the random numbers.
    cells : bool ``[Tq, S]``, True = may read: a mask of the sizes of ``spec`` to run instead, such
        as one that was edited by hand.

    Raises
    ------
    ValueError
        for a row that is not there, or cells of another size.
    """

    spec: MaskSpec
    row: int = 0
    seed: int = 0
    cells: NDArray[np.bool_] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        rows, size = self.spec.rows, (self.spec.length, self.spec.keys)
        require(0 <= self.row < rows, "row", self.row, f"between 0 and {rows - 1}")
        if self.cells is not None:
            require(self.cells.dtype == np.bool_, "the dtype of cells", self.cells.dtype, "bool")
            shape = " x ".join(map(str, self.cells.shape))
            wanted = " x ".join(map(str, size))
            require(self.cells.shape == size, "the shape of cells", shape, wanted)


@dataclass(frozen=True)
class BackendRow:
    """What one backend made of the mask.

    ``difference`` float32 ``[Tq]`` is the largest absolute difference of each query's output to the
    reference, NaN where the backend returned no finite number; empty where it is not available.
    ``sentence`` tells where it parts and why, or "agrees", or why it is not available.
    """

    name: str
    available: bool
    difference: NDArray[np.float32] = field(repr=False)
    sentence: str

    @property
    def largest(self) -> float:
        """The largest difference of all queries; NaN where one is NaN or there is none."""
        return float(self.difference.max()) if self.difference.size else float("nan")

    def differs(self, tolerance: float) -> NDArray[np.bool_]:
        """Bool ``[Tq]``, True where a query's output is not within ``tolerance``, as NaN is not."""
        return ~(self.difference <= tolerance)


@dataclass(frozen=True)
class BackendTable:
    """Every backend under one ``mask``, bool ``[Tq, S]``, True = may read.

    ``reference`` tells in words what the differences are to; within ``tolerance`` they are
    rounding. Query ``r`` is told by its absolute position ``past + r``.
    """

    generation: int
    mask: NDArray[np.bool_] = field(repr=False)
    rows: tuple[BackendRow, ...]
    tolerance: float
    reference: str
    past: int = 0

    def sentence(self) -> str:
        """How many of the backends that ran agree."""
        ran = [row for row in self.rows if row.available]
        agree = sum(not row.differs(self.tolerance).any() for row in ran)
        return f"{agree} of {len(ran)} backends agree with {self.reference}."
