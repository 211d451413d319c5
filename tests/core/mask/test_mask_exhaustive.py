"""Every small mask, every rendering, cell by cell against the loops of ``reference.py``."""

from __future__ import annotations

import pytest
from mask_cases import assert_all_renderings_agree, compositions, pads, small_self_specs

from core.types import MaskKind, MaskSpec


@pytest.mark.parametrize("total", range(1, 9))
def test_self_masks(total):
    seen = 0
    for spec in small_self_specs(total):
        assert_all_renderings_agree(spec)
        seen += 1
    assert seen >= 2 * total


@pytest.mark.parametrize("source", range(1, 9))
def test_cross_masks(source):
    left, right = pads(source)
    for length in range(1, 9):
        for past in (0, 3):
            spec = MaskSpec(
                MaskKind.CROSS, length, past=past, left_pad=left, right_pad=right, source=source
            )
            assert_all_renderings_agree(spec)


def test_the_cases_are_all_there():
    assert len(pads(8)[0]) == 36
    assert len(compositions(8)) == 128
    assert (4, 2, 2) in compositions(8)
    assert sum(1 for _ in small_self_specs(3)) == 4 * 4 * 3 * (4 + 4)
