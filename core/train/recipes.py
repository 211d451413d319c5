"""The five models: what each is built as, and which objectives it is trained with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from core.model.config import ModelConfig
from core.text.objectives import (
    Example,
    Ids,
    causal,
    masked,
    prefix_lm,
    sample_prefix,
    span_corruption,
)
from core.text.tokenizer import VOCABULARY
from core.types import Family, MaskKind


class Objective(str, Enum):
    """A training task; each batch follows one."""

    MASKED = "masked tokens"
    CAUSAL = "next token"
    PREFIX = "next token after a prefix"
    SPANS = "span corruption"


KINDS = {
    Objective.MASKED: MaskKind.BIDIRECTIONAL,
    Objective.CAUSAL: MaskKind.CAUSAL,
    Objective.PREFIX: MaskKind.PREFIX,
    Objective.SPANS: MaskKind.DECODER_SELF,
}
"""The self-attention mask of the body under each objective."""


MASK_RATE = 0.4
"""Share of the text that is masked in training: more positions learn from a row (Wettig et al.
2023). Models are judged at the usual 15 %."""

SPAN_DENSITY = 0.3
"""Share of the text that is cut out in training, for the same reason; judged at 15 % as well."""


def example(objective: Objective, document: Ids, rng: np.random.Generator) -> Example:
    """One document, int64 ``[T]`` from BOS to EOS, as the objective sees it."""
    match objective:
        case Objective.MASKED:
            return masked(document, rng, vocabulary=VOCABULARY, rate=MASK_RATE)
        case Objective.CAUSAL:
            return causal(document)
        case Objective.PREFIX:
            return prefix_lm(document, sample_prefix(document, rng))
        case Objective.SPANS:
            return span_corruption(document, rng, density=SPAN_DENSITY)


@dataclass(frozen=True)
class Recipe:
    """One model to train.

    ``objectives`` are taken in turn, a batch each. ``start`` names the model whose weights it
    begins with wherever a parameter of the same name and shape exists; a decoder knows words and
    neighbours that every family needs (as in Rothe et al. 2020 and LLM2Vec). ``start_encoder``
    does the same for the encoder of an encoder-decoder.
    """

    name: str
    title: str
    config: ModelConfig
    objectives: tuple[Objective, ...]
    start: str | None = None
    start_encoder: str | None = None
    seed: int = 0
    peak_rate: float = 3e-3
    warmup_steps: int = 200
    row_tokens: int = 192
    batch_rows: int = 16


_CAUSAL_KINDS = (MaskKind.CAUSAL,)

RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            "encoder",
            "Encoder, trained to fill masked tokens",
            ModelConfig(Family.ENCODER, (MaskKind.BIDIRECTIONAL,)),
            (Objective.MASKED,),
            start="decoder",
        ),
        Recipe(
            "decoder",
            "Decoder, trained to say the next token",
            ModelConfig(Family.DECODER, _CAUSAL_KINDS),
            (Objective.CAUSAL,),
        ),
        Recipe(
            "prefix",
            "Prefix-LM, trained to continue a prefix read in both directions",
            ModelConfig(Family.PREFIX, (MaskKind.PREFIX,)),
            (Objective.PREFIX,),
            start="decoder",
        ),
        Recipe(
            "encdec",
            "Encoder–decoder, trained to fill spans",
            ModelConfig(
                Family.ENCODER_DECODER, (MaskKind.DECODER_SELF,), layers=3, encoder_layers=3
            ),
            (Objective.SPANS,),
            start="decoder",
            start_encoder="encoder",
        ),
        Recipe(
            "unified",
            "One set of weights, trained under three masks",
            ModelConfig(Family.PREFIX, (MaskKind.PREFIX, MaskKind.CAUSAL, MaskKind.BIDIRECTIONAL)),
            (
                Objective.MASKED,
                Objective.CAUSAL,
                Objective.MASKED,
                Objective.PREFIX,
                Objective.MASKED,
            ),  # A masked row teaches a third of what a causal one does.
            start="decoder",
        ),
    )
}
