"""The small parts of a block: norms, position embeddings, MLPs and heads."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from core.model.config import ModelConfig


def make_norm(config: ModelConfig) -> nn.Module:
    """The normalisation that the config names, over the last axis."""
    return nn.LayerNorm(config.width)


class Mlp(nn.Module):
    """Two linear layers with GELU between, applied to each position alone."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.up = nn.Linear(config.width, config.ffn)
        self.down = nn.Linear(config.ffn, config.width)

    def forward(self, x: Tensor) -> Tensor:
        """``[..., width]`` to ``[..., width]``."""
        out: Tensor = self.down(functional.gelu(self.up(x)))
        return out


class Embedding(nn.Module):
    """Token embedding plus a learned embedding of the position id."""

    def __init__(self, config: ModelConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        self.tokens = tokens
        self.positions = nn.Embedding(config.positions, config.width)

    def forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        """``ids`` ``[B, T]`` and ``positions`` ``[B or 1, T]`` to ``[B, T, width]``."""
        out: Tensor = self.tokens(ids) + self.positions(positions)
        return out


class MaskedTokenHead(nn.Module):
    """BERT's prediction head before the tied output matrix: linear, GELU, norm."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.width, config.width)
        self.norm = make_norm(config)

    def forward(self, x: Tensor) -> Tensor:
        """``[..., width]`` to ``[..., width]``."""
        out: Tensor = self.norm(functional.gelu(self.dense(x)))
        return out
