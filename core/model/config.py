"""The shape of a model, and the small choices its layers are made from."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from core.types import Family, MaskKind

NORMS = ("layernorm",)
POSITIONS = ("learned",)
MLPS = ("gelu",)


@dataclass(frozen=True)
class ModelConfig:
    """Sizes and choices of one model; saved as ``config.json`` beside its weights.

    Attributes
    ----------
    family : which assembly the block is built into.
    kinds : the self-attention masks it is trained under, the usual one first.
    vocabulary, width, heads, ffn, positions : sizes in entries, features, heads, features, tokens.
    kv_heads : key/value heads; fewer than ``heads`` shares each among ``heads / kv_heads`` queries.
    layers : decoder layers, or the only layers there are.
    encoder_layers : encoder layers of an encoder-decoder, 0 otherwise.
    norm, position, mlp : choices of the block; see ``NORMS``, ``POSITIONS``, ``MLPS``.

    Raises
    ------
    ValueError
        naming the field, the value and what is allowed.
    """

    family: Family
    kinds: tuple[MaskKind, ...]
    vocabulary: int = 2048
    width: int = 128
    layers: int = 4
    encoder_layers: int = 0
    heads: int = 4
    kv_heads: int = 4
    ffn: int = 512
    positions: int = 512
    norm: str = "layernorm"
    position: str = "learned"
    mlp: str = "gelu"

    def __post_init__(self) -> None:
        for name, allowed in (("norm", NORMS), ("position", POSITIONS), ("mlp", MLPS)):
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(f"{name} is {value!r}, but must be one of {', '.join(allowed)}.")
        if self.width % self.heads:
            raise ValueError(
                f"width is {self.width}, but must be a multiple of heads={self.heads}."
            )
        if self.heads % self.kv_heads:
            raise ValueError(f"kv_heads is {self.kv_heads}, but must divide heads={self.heads}.")
        if (self.encoder_layers > 0) != (self.family is Family.ENCODER_DECODER):
            raise ValueError(
                f"encoder_layers is {self.encoder_layers}, but must be above 0 for an"
                " encoder-decoder and 0 for every other family."
            )

    @property
    def head_width(self) -> int:
        """Features of one head."""
        return self.width // self.heads

    def to_json(self) -> dict[str, Any]:
        """Plain values for ``config.json``."""
        plain = asdict(self)
        plain["family"] = self.family.value
        plain["kinds"] = [kind.value for kind in self.kinds]
        return plain

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> ModelConfig:
        """Read what ``to_json`` wrote; raises ValueError on an unknown value or field."""
        try:
            return cls(
                **{
                    **plain,
                    "family": Family(plain["family"]),
                    "kinds": tuple(MaskKind(kind) for kind in plain["kinds"]),
                }
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"This is no model config of maskscope: {error}.") from error
