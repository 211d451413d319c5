"""Masks of public bug reports, reduced to numbers: the builder must get each of them right.

``builder.json`` holds one report a line: the spec that was meant, its rows and pairs, and where it
is known the wrong mask that the report saw.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.mask.dense import dense
from core.mask.intervals import row_intervals
from core.mask.padding import position_ids
from core.types import MaskKind, MaskSpec

CASES = json.loads((Path(__file__).parent / "builder.json").read_text(encoding="utf-8"))


def spec_of(case: dict[str, Any]) -> MaskSpec:
    plain = {k: tuple(v) if isinstance(v, list) else v for k, v in case["spec"].items()}
    return MaskSpec(**(plain | {"kind": MaskKind(plain["kind"])}))


def rows_of(spec: MaskSpec) -> list[str]:
    return ["".join("01"[int(cell)] for cell in row) for row in dense(spec)[0, 0]]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_the_mask_of_a_report_is_built_as_it_was_meant(case: dict[str, Any]) -> None:
    spec = spec_of(case)
    assert row_intervals(spec).count() == case["pairs"]
    if "rows" in case:
        assert rows_of(spec) == case["rows"]
    if "wrong" in case:
        assert rows_of(spec) != case["wrong"]
    if "position_ids" in case:
        assert position_ids(spec)[0].tolist() == case["position_ids"]
