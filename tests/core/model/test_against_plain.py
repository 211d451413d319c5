"""Every family, under every kind of knob, against the same model as plain arithmetic."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from model_cases import Keeper, logits_of, one_row, plain_logits, some_inputs, tiny

from core.types import Family, Stack

families = pytest.mark.parametrize("family", Family)


@families
@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_logits_and_patterns_are_those_of_the_plain_model(
    family: Family, data: st.DataObject
) -> None:
    model = tiny(family, kv_heads=data.draw(st.sampled_from((1, 2))))
    inputs = data.draw(some_inputs(family))
    keeper = Keeper()
    logits = logits_of(model, inputs, keeper)
    torch.testing.assert_close(logits_of(model, inputs), logits, atol=1e-5, rtol=1e-5)
    for row in range(inputs.mask.rows):
        expected, patterns = plain_logits(model, inputs, row)
        torch.testing.assert_close(logits[row].double(), expected, atol=1e-4, rtol=1e-5)
        assert patterns.keys() == keeper.patterns.keys()
        for at, pattern in patterns.items():
            found = keeper.patterns[at][row].double()
            torch.testing.assert_close(found, pattern, atol=1e-5, rtol=0)


@families
def test_a_watcher_is_told_of_each_layer_once_in_order(family: Family) -> None:
    keeper = Keeper()
    logits_of(tiny(family), one_row(family, 4), keeper)
    expected = [(keeper.layers[-1][0], 0), (keeper.layers[-1][0], 1)]
    if family is Family.ENCODER_DECODER:
        expected = [(Stack.ENCODER, 0), (Stack.ENCODER, 1), *expected]
    assert keeper.layers == expected


def test_only_what_a_watcher_wants_is_kept() -> None:
    class Second(Keeper):
        def wants(self, stack: Stack, layer: int) -> bool:
            return stack is Stack.CROSS and layer == 1

    family, keeper = Family.ENCODER_DECODER, Second()
    logits_of(tiny(family), one_row(family, 4), keeper)
    assert keeper.traces.keys() == {(Stack.CROSS, 1)}


def test_cross_attention_reads_the_final_output_of_the_encoder() -> None:
    """Swapping the encoder's last norm reaches the cross patterns of every decoder layer."""
    family = Family.ENCODER_DECODER
    model, inputs = tiny(family), one_row(family, 4)
    before, after = Keeper(), Keeper()
    logits_of(model, inputs, before)
    model.encoder.norm.weight.mul_(-1.0)
    logits_of(model, inputs, after)
    for layer in range(2):
        at = (Stack.CROSS, layer)
        assert (before.patterns[at] - after.patterns[at]).abs().max() > 1e-3
    for at in ((Stack.ENCODER, 0), (Stack.ENCODER, 1), (Stack.DECODER, 0)):
        assert torch.equal(before.patterns[at], after.patterns[at])


@families
def test_traces_have_a_row_for_each_query_and_a_column_for_each_key(family: Family) -> None:
    inputs = one_row(family, 6)
    keeper = Keeper()
    assert logits_of(tiny(family), inputs, keeper).shape == (1, 6, 30)
    for (stack, _), trace in keeper.traces.items():
        width = 5 if family is Family.ENCODER_DECODER and stack is not Stack.DECODER else 6
        rows = width if stack is Stack.ENCODER else 6
        assert trace.scores.shape == trace.pattern.shape == (1, 2, rows, width)
