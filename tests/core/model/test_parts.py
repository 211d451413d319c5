"""Config, weights to begin with, cache."""

from __future__ import annotations

import pytest
import torch
from model_cases import tiny

from core.model.cache import Cache
from core.model.config import ModelConfig
from core.model.transformer import Transformer, initialise
from core.types import Family, MaskKind, Stack

CAUSAL = (MaskKind.CAUSAL,)


def test_a_config_comes_back_from_its_json() -> None:
    config = ModelConfig(
        Family.ENCODER_DECODER, (MaskKind.DECODER_SELF,), layers=3, encoder_layers=2, kv_heads=2
    )
    assert ModelConfig.from_json(config.to_json()) == config
    assert config.to_json()["family"] == "encoder-decoder"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"norm": "batchnorm"}, "norm is 'batchnorm', but must be one of layernorm"),
        ({"position": "none"}, "position is 'none', but must be one of learned"),
        ({"mlp": "relu"}, "mlp is 'relu', but must be one of gelu"),
        ({"width": 130}, "width is 130, but must be a multiple of heads=4"),
        ({"kv_heads": 3}, "kv_heads is 3, but must divide heads=4"),
        ({"encoder_layers": 1}, "encoder_layers is 1, but must be above 0 for an encoder-decoder"),
    ],
)
def test_a_config_that_cannot_be_built_is_refused(changes: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        ModelConfig(Family.DECODER, CAUSAL, **changes)  # type: ignore[arg-type]


def test_an_encoder_decoder_needs_encoder_layers() -> None:
    with pytest.raises(ValueError, match="encoder_layers is 0"):
        ModelConfig(Family.ENCODER_DECODER, (MaskKind.DECODER_SELF,))


@pytest.mark.parametrize("change", [{"colour": 3}, {"family": "cat"}, {"kinds": ["sideways"]}])
def test_json_of_something_else_is_refused(change: dict[str, object]) -> None:
    plain = ModelConfig(Family.DECODER, CAUSAL).to_json()
    with pytest.raises(ValueError, match=r"colour|cat|sideways"):
        ModelConfig.from_json(plain | change)


def test_weights_begin_narrow_and_the_branches_narrower() -> None:
    model = Transformer(ModelConfig(Family.DECODER, CAUSAL))
    initialise(model, 0)
    for name, weight in model.named_parameters():
        if name.endswith("bias"):
            assert (weight == 0).all()
        elif "norm" in name:
            assert (weight == 1).all()
        elif not name.endswith("positions.weight"):
            branch = name.endswith(("out.weight", "down.weight"))
            assert weight.std().item() == pytest.approx(0.02 / (8**0.5 if branch else 1), rel=0.05)


def test_positions_begin_so_that_a_distance_looks_the_same_everywhere() -> None:
    model = Transformer(ModelConfig(Family.DECODER, CAUSAL, positions=40))
    initialise(model, 0)
    places = model.body.embedding.positions.weight.detach()
    likeness = places @ places.T
    for distance in range(40):
        along = likeness.diagonal(distance)
        torch.testing.assert_close(along, along[:1].expand_as(along), atol=1e-5, rtol=0)
    assert likeness[0, 0] > likeness[0, 1] > likeness[0, 2]
    assert places.pow(2).mean().sqrt().item() == pytest.approx(0.02)


def test_a_seed_gives_the_same_weights_and_another_seed_others() -> None:
    def weights(seed: int) -> torch.Tensor:
        model = Transformer(ModelConfig(Family.DECODER, CAUSAL, vocabulary=30, width=8, ffn=8))
        initialise(model, seed)
        return torch.cat([p.flatten() for p in model.parameters()])

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


def test_the_cache_of_a_model_has_the_bytes_of_the_formula() -> None:
    """2 B L T D s: B=1, L=24, T=2048, D=1024, s=2 is 192 MiB."""
    cache = Cache()
    with torch.device("meta"):
        for layer in range(24):
            keys, values = (torch.empty(1, 16, 2047, 64, dtype=torch.float16) for _ in range(2))
            cache.extend(layer, keys, values)
            cache.extend(layer, keys[:, :, :1], values[:, :, :1])
    assert cache.length == 2048
    assert cache.bytes == 201_326_592


def test_a_cache_grows_at_its_end_and_leaves_the_cross_part_alone() -> None:
    cross = (torch.ones(1, 2, 3, 4), torch.zeros(1, 2, 3, 4))
    cache = Cache(cross=[cross])
    assert cache.length == 0
    first, second = torch.rand(1, 2, 5, 4), torch.rand(1, 2, 1, 4)
    cache.extend(0, first, -first)
    keys, values = cache.extend(0, second, -second)
    assert torch.equal(keys, torch.cat((first, second), dim=2))
    assert torch.equal(values, -keys)
    assert cache.length == 6
    assert cache.cross == [cross]
    assert cache.bytes == 4 * (2 * 2 * 6 * 4 + 2 * 2 * 3 * 4)


@pytest.mark.parametrize("family", Family)
def test_the_output_matrix_is_the_token_embedding(family: Family) -> None:
    model = tiny(family)
    shapes = [tuple(p.shape) for p in model.parameters()]
    assert shapes.count((30, 12)) == 1


def test_the_reference_decoder_has_as_many_parameters_as_counted_by_hand() -> None:
    """V=1000, D=128, 4 layers, 512 positions: 984 832, and the biases that ours has besides.

    Attention has biases of 3 D and D a layer, the output matrix has one of V.
    """
    model = Transformer(ModelConfig(Family.DECODER, CAUSAL, vocabulary=1000))
    assert sum(p.numel() for p in model.parameters()) == 984_832 + 4 * 4 * 128 + 1000


def test_stacks_of_each_family() -> None:
    found = {
        family: {m.stack for m in tiny(family).modules() if hasattr(m, "stack")}
        for family in Family
    }
    assert found[Family.ENCODER] == {Stack.ENCODER}
    assert found[Family.DECODER] == found[Family.PREFIX] == {Stack.DECODER}
    assert found[Family.ENCODER_DECODER] == {Stack.ENCODER, Stack.DECODER}
