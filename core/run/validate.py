"""Whether a model can run the inputs that are asked for, and what is said if not."""

from __future__ import annotations

from typing import Protocol

from core.mask.spec import prefix_end
from core.model.config import ModelConfig
from core.types import Family, Inputs, MaskKind, MaskSpec

_SAME_RULE = {
    MaskKind.ENCODER_SELF: MaskKind.BIDIRECTIONAL,
    MaskKind.DECODER_SELF: MaskKind.CAUSAL,
}


MOST_COLUMNS = 2048
"""Columns of a row, pads included, that are run of a model with fewer positions."""


class Model(Protocol):
    """Whatever runs a model: all that is asked of it here is its config."""

    @property
    def config(self) -> ModelConfig:
        """Sizes and family of the model."""


def check(model: Model, inputs: Inputs, row: int = 0) -> None:
    """Raise ValueError with a sentence if the model cannot run these inputs and show ``row``."""
    config, spec = model.config, inputs.mask
    check_row(inputs, row)
    two = config.family is Family.ENCODER_DECODER
    if two != (inputs.source_mask is not None and inputs.cross_mask is not None):
        needs = "needs source tokens" if two else "reads one text and takes no source tokens"
        raise ValueError(f"This model {needs}.")
    for name, rows in (("text", inputs.rows), ("source", inputs.source)):
        for ids in rows:
            odd = min(ids) if min(ids) < 0 else max(ids)
            if not 0 <= odd < config.vocabulary:
                raise ValueError(
                    f"The {name} holds token id {odd}, but the"
                    f" model knows ids from 0 to {config.vocabulary - 1}."
                )
    longest = max(s.real_tokens(b) for s in (spec, inputs.source_mask) if s for b in range(s.rows))
    if longest > config.positions:
        raise ValueError(
            f"The text has {longest} tokens, but the model has {config.positions} positions:"
            f" shorten it by {longest - config.positions}."
        )
    most = max(config.positions, MOST_COLUMNS)
    widest = max(s.filled for s in (spec, inputs.source_mask) if s)
    if widest > most:
        raise ValueError(
            f"The rows have {widest} columns with their pads, but at most {most} are run: take"
            f" {widest - most} pads away."
        )
    check_past(spec)


def check_row(inputs: Inputs, row: int) -> None:
    """Raise ValueError if there is no such batch row."""
    if not 0 <= row < inputs.mask.rows:
        raise ValueError(f"row is {row}, but must be between 0 and {inputs.mask.rows - 1}.")


def check_past(spec: MaskSpec) -> None:
    """Raise ValueError if a cache at ``past`` would not hold what the whole row computes."""
    if not spec.past:
        return
    if not spec.kind.is_causal:
        raise ValueError(
            f"past is {spec.past}, but must be 0: under a {spec.kind.value} mask every state"
            " changes with every new token, so nothing can be cached."
        )
    if spec.kind is MaskKind.PREFIX:
        end = max(prefix_end(spec, b) for b in range(spec.rows))
        if spec.past < end and spec.prefix > 1:
            raise ValueError(
                f"past is {spec.past}, but must be 0 or at least {end}: a prefix is prefilled in"
                " one piece, since a token appended to it would change what is cached."
            )


def check_generates(model: Model, spec: MaskSpec) -> None:
    """Raise ValueError with the reason if this model under this mask cannot generate."""
    reason = why_no_generation(model.config.family, spec.kind)
    if reason:
        raise ValueError(reason)


def room(model: Model, spec: MaskSpec) -> int:
    """Tokens that can follow the only row of ``spec`` and still be read; ValueError for none."""
    positions = model.config.positions
    if spec.real_tokens(0) >= positions:
        raise ValueError(
            f"The text fills the {positions} positions of the model: there is no room for another"
            " token; shorten it."
        )
    return positions - spec.real_tokens(0)


def why_no_generation(family: Family, kind: MaskKind) -> str:
    """A sentence if a model of this family under such a mask cannot generate, else empty."""
    if family is not Family.ENCODER and kind.is_causal:
        return ""
    who = "An encoder" if family is Family.ENCODER else "A bidirectional mask"
    return (
        f"{who} cannot generate: every position reads what comes after it, so there is no"
        " order in which tokens could follow each other. Put [MASK] into the text and it"
        " fills the gaps instead."
    )


def out_of_training(model: Model, spec: MaskSpec) -> str:
    """A sentence if the model never saw such a mask in training, else an empty string."""
    kinds = model.config.kinds
    if _rule_of(spec) in {_SAME_RULE.get(kind, kind) for kind in kinds}:
        return ""
    if _rule_of(spec) is MaskKind.CAUSAL and MaskKind.PREFIX in kinds:
        return ""
    seen = " or ".join(kind.value for kind in kinds)
    return f"trained under a {seen} mask only: what it says under this one is out of its training"


def _rule_of(spec: MaskSpec) -> MaskKind:
    """The kind under its plainest name: a prefix of one token is a causal mask."""
    if spec.kind is MaskKind.PREFIX and spec.prefix <= 1:
        return MaskKind.CAUSAL
    return _SAME_RULE.get(spec.kind, spec.kind)
