"""Hugging Face's GPT-2 with our weights says what our block says, under every mask."""

from __future__ import annotations

import pytest
import torch
from model_cases import CPU, Keeper, V, logits_of, row_of_ids, tiny
from transformers import GPT2Config, GPT2LMHeadModel

from core.mask.padding import real_tokens
from core.model.transformer import Transformer
from core.run.step import to_device
from core.types import Family, Inputs, MaskKind, MaskSpec, Stack


def as_gpt2(model: Transformer) -> GPT2LMHeadModel:
    """The same weights in Hugging Face's layout: matrices transposed, no bias on the output."""
    config = model.config
    twin = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=config.vocabulary,
            n_positions=config.positions,
            n_embd=config.width,
            n_layer=config.layers,
            n_head=config.heads,
            n_inner=config.ffn,
            activation_function="gelu",
            attn_implementation="eager",
            bos_token_id=1,
            eos_token_id=2,
        )
    ).eval()
    weights = {
        "transformer.wte": model.tokens,
        "transformer.wpe": model.body.embedding.positions,
        "transformer.ln_f": model.body.norm,
    }
    for layer, block in enumerate(model.body.blocks):
        weights |= {
            f"transformer.h.{layer}.{theirs}": block.get_submodule(ours)
            for theirs, ours in {
                "ln_1": "attention_norm",
                "ln_2": "mlp_norm",
                "attn.c_attn": "attention.qkv",
                "attn.c_proj": "attention.out",
                "mlp.c_fc": "mlp.up",
                "mlp.c_proj": "mlp.down",
            }.items()
        }
    with torch.no_grad():
        for name, ours in weights.items():
            theirs = twin.get_submodule(name)
            transposed = type(theirs).__name__ == "Conv1D"
            theirs.weight.copy_(ours.weight.T if transposed else ours.weight)
            if hasattr(ours, "bias"):
                theirs.bias.copy_(ours.bias)
    return twin


def inputs_of(spec: MaskSpec) -> Inputs:
    return Inputs(tuple(row_of_ids(spec.filled, 3 + b) for b in range(spec.rows)), spec)


@pytest.fixture(scope="module")
def model() -> Transformer:
    return tiny(Family.DECODER, layers=3, width=16, heads=4, kv_heads=4)


@pytest.mark.parametrize("left_pad", [(0, 0), (0, 3), (2, 5)])
def test_gpt2_agrees_on_every_logit_and_weight(model: Transformer, left_pad) -> None:
    spec = MaskSpec(MaskKind.CAUSAL, 8, left_pad=left_pad, right_pad=(0, 0))
    inputs = inputs_of(spec)
    tensors, keeper = to_device(inputs, CPU), Keeper()
    ours = logits_of(model, inputs, keeper) - model.bias
    real = torch.from_numpy(real_tokens(spec))
    with torch.inference_mode():
        theirs = as_gpt2(model)(
            tensors.ids,
            attention_mask=real.long(),
            position_ids=tensors.positions,
            output_attentions=True,
        )
    torch.testing.assert_close(ours[real], theirs.logits[real], atol=1e-5, rtol=1e-5)
    for layer, pattern in enumerate(theirs.attentions):
        mine = keeper.patterns[Stack.DECODER, layer].transpose(1, 2)[real]
        torch.testing.assert_close(mine, pattern.transpose(1, 2)[real], atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    "spec",
    [
        MaskSpec(MaskKind.BIDIRECTIONAL, 7),
        MaskSpec(MaskKind.PREFIX, 7, prefix=4),
        MaskSpec(MaskKind.CAUSAL, 7, window=3),
        MaskSpec(MaskKind.CAUSAL, 7, documents=(3, 4)),
    ],
    ids=["bidirectional", "prefix", "window", "documents"],
)
def test_gpt2_agrees_when_it_is_handed_another_mask(model: Transformer, spec: MaskSpec) -> None:
    inputs = inputs_of(spec)
    tensors, keeper = to_device(inputs, CPU), Keeper()
    ours = logits_of(model, inputs, keeper) - model.bias
    additive = torch.zeros(tensors.mask.shape).masked_fill(~tensors.mask, -torch.inf)
    with torch.inference_mode():
        theirs = as_gpt2(model)(
            tensors.ids,
            attention_mask=additive,
            position_ids=tensors.positions,
            output_attentions=True,
        )
    torch.testing.assert_close(ours, theirs.logits, atol=1e-5, rtol=1e-5)
    for layer, pattern in enumerate(theirs.attentions):
        mine = keeper.patterns[Stack.DECODER, layer]
        torch.testing.assert_close(mine, pattern, atol=1e-5, rtol=0)
        assert torch.equal(pattern > 0, tensors.mask.expand(pattern.shape))


def test_the_comparison_would_see_a_missing_bias(model: Transformer) -> None:
    twin = as_gpt2(model)
    torch.nn.init.zeros_(twin.transformer.h[1].attn.c_attn.bias)
    inputs = inputs_of(MaskSpec(MaskKind.CAUSAL, 8))
    with torch.inference_mode():
        theirs = twin(to_device(inputs, CPU).ids).logits
    assert theirs.shape == (1, 8, V)
    assert (logits_of(model, inputs) - model.bias - theirs).abs().max() > 1e-2
