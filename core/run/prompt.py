"""One batch row alone, and inputs that grow by a token a step."""

from __future__ import annotations

from dataclasses import replace

from core.mask.spec import only_row, whole
from core.types import Inputs, MaskKind, MaskSpec


def prompt(inputs: Inputs, row: int) -> Inputs:
    """One batch row alone and uncached, without its right pads."""

    def alone(spec: MaskSpec) -> MaskSpec:
        one = only_row(whole(spec), row)
        if one.kind is MaskKind.CROSS:
            return one
        return replace(one, length=one.length - one.right_pad[0], right_pad=(0,))

    spec = alone(inputs.mask)
    ids = inputs.rows[row][: spec.length]
    if inputs.source_mask is None or inputs.cross_mask is None:
        return Inputs((ids,), spec)
    cross = replace(only_row(whole(inputs.cross_mask), row), length=spec.length)
    source_mask = only_row(inputs.source_mask, row)
    return Inputs((ids,), spec, (inputs.source[row],), source_mask, cross)


def appended(inputs: Inputs, token: int) -> Inputs:
    """The inputs with one more token in their only row; the last document goes on."""
    spec = inputs.mask
    documents = (*spec.documents[:-1], spec.documents[-1] + 1) if spec.documents else ()
    longer = replace(spec, length=spec.length + 1, documents=documents)
    cross = inputs.cross_mask
    if cross is not None:
        cross = replace(cross, length=cross.length + 1)
    return replace(inputs, rows=((*inputs.rows[0], token),), mask=longer, cross_mask=cross)


def one_row(inputs: Inputs, row: int) -> Inputs:
    """One batch row alone, pads included, as whole rows without a past."""
    body = only_row(whole(inputs.mask), row)
    if inputs.source_mask is None or inputs.cross_mask is None:
        return Inputs((inputs.rows[row],), body)
    source, cross = only_row(inputs.source_mask, row), only_row(whole(inputs.cross_mask), row)
    return Inputs((inputs.rows[row],), body, (inputs.source[row],), source, cross)
