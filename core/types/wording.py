"""Counts and names inside of sentences."""

from __future__ import annotations

from core.types.masks import MaskKind


def counted(count: int, noun: str) -> str:
    """A count with its noun, such as ``1 token`` or ``2,048 tokens``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def a_mask(kind: MaskKind) -> str:
    """A mask by its rule, such as ``a causal mask`` or ``an encoder-self mask``."""
    article = "an" if kind.value[0] in "aeiou" else "a"
    return f"{article} {kind.value} mask"
