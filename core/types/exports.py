"""Exporting a model, and what is said of how far the file is from torch."""

from __future__ import annotations

import math
from dataclasses import dataclass

from core.types.jobs import Job
from core.types.masks import MaskSpec

BOUNDS = {"logits": 5e-5, "present": 5e-5, "attention": 1e-5}
"""The largest absolute differences that pass; about ten times what rounding makes."""
LOSSY_BOUNDS = {
    "float16": {"logits": 1e-1, "present": 5e-2, "attention": 2e-2},
    "int8": {"logits": 1.0, "present": 0.3, "attention": 0.2},
}
"""The same for what rounds on purpose: far below what a wrong mask makes, and told, not hidden."""


@dataclass(frozen=True)
class ParityCase:
    """One case: its sizes, its largest differences, and what failed.

    A difference is None where there was nothing to compare, and may be not a number.
    """

    name: str
    batch: int
    length: int
    chunks: int
    logits: float | None
    present: float | None
    attention: float | None
    greedy_equal: bool
    passed: bool
    dtype: str
    error: str = ""


@dataclass(frozen=True)
class ParityReport:
    """The verdict over all cases, written as ``OUT.parity.json``.

    ``max_abs`` is None for what the files hand out nothing of, and not a number where any case
    is; JSON has null for both.
    """

    verdict: str
    max_abs: dict[str, float | None]
    greedy_equal: bool
    cases: tuple[ParityCase, ...]
    providers: tuple[str, ...]
    versions: dict[str, str]

    @property
    def passed(self) -> bool:
        """True where every case passed."""
        return self.verdict == "PASS"

    def sentence(self) -> str:
        """What a user is told: the verdict, the figures, and the case that failed first."""
        compared = {name: value for name, value in self.max_abs.items() if value is not None}
        figures = ", ".join(f"{name} {figure(value)}" for name, value in compared.items())
        line = f"parity {self.verdict} in {len(self.cases)} cases: {figures}"
        dtype = self.cases[0].dtype
        lossy = f"; {dtype} is lossy, and these are its errors" if dtype in LOSSY_BOUNDS else ""
        bad = next((case for case in self.cases if not case.passed), None)
        if bad is None:
            equal = "equal" if self.greedy_equal else "not all equal"
            return f"{line}, greedy tokens {equal}{lossy}"
        why = bad.error or f"logits {figure(bad.logits)}, greedy tokens " + (
            "equal" if bad.greedy_equal else "differ"
        )
        size = f"{bad.batch} x {bad.length} tokens in {bad.chunks} chunks"
        return f"{line}; the first that fails is '{bad.name}' ({size}): {why}"


def figure(value: float | None) -> str:
    """A largest difference in words."""
    if value is None:
        return "–"
    return f"{value:.1e}" if math.isfinite(value) else "not a number"


@dataclass(frozen=True)
class ExportJob(Job):
    """Write a bundled model to ``out`` as ONNX files, and compare them with torch.

    ``dtype`` is "float32", "float16" or "int8"; ``mask`` of one batch row is built in (of an
    encoder-decoder with that of its source, ``source_mask``), None leaves it an input; without
    ``verify`` nothing is compared.
    """

    model: str
    out: str
    dtype: str = "float32"
    mask: MaskSpec | None = None
    source_mask: MaskSpec | None = None
    verify: bool = True


@dataclass(frozen=True)
class Exported:
    """What was written: the ONNX files with their bytes, what lies beside them, and the proof.

    ``report`` is None where nothing was compared.
    """

    graphs: tuple[str, ...]
    sizes: tuple[int, ...]
    tokenizer: str
    report: ParityReport | None = None
    report_file: str = ""
