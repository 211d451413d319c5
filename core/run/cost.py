"""What a model costs, as formulas with the numbers in: parameters, FLOPs, bytes.

Pure arithmetic after Kaplan et al. 2020 and Pope et al. 2022, from the shapes of the block in
`core.model.transformer`. FLOPs are of a dense forward pass, a multiplication and an addition
counted as two; a causal mask saves nothing there. Norms, softmax, activations, biases and the
look-up of embeddings are left out. Whatever is cached is computed once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import CodeType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.model.config import ModelConfig
from core.types import Cost, CostCurves, Family, ModelSizes, Quantity, Tally, Term, Workload

_UNITS = {
    Quantity.PARAMETERS: "parameters",
    Quantity.FLOPS: "FLOP",
    Quantity.GENERATION_FLOPS: "FLOP",
}
_AXES = {
    Quantity.PARAMETERS: "LFV",
    Quantity.FLOPS: "TBS",
    Quantity.SCORE_BYTES: "TBS",
    Quantity.KV_CACHE_BYTES: "TB",
    Quantity.CROSS_CACHE_BYTES: "SB",
    Quantity.GENERATION_FLOPS: "GPBS",
    Quantity.GENERATION_BYTES: "GPBS",
}
AXES = tuple(dict.fromkeys("".join(_AXES.values())))
"""Every letter that some quantity may be drawn against."""


def sizes_of(config: ModelConfig) -> ModelSizes:
    """The sizes of one of the house's own models."""
    return ModelSizes(
        layers=config.layers,
        width=config.width,
        heads=config.heads,
        kv_heads=config.kv_heads,
        ffn=config.ffn,
        vocabulary=config.vocabulary,
        positions=config.positions,
        encoder_layers=config.encoder_layers,
        encoder=config.family is Family.ENCODER,
    )


def cost(model: ModelSizes, load: Workload) -> Cost:
    """Every term of what ``model`` costs under ``load``."""
    letters = _letters(model, load)
    past = load.past > 0
    formulas = {
        Quantity.PARAMETERS: _parameters(model),
        Quantity.FLOPS: _forward(model, past),
        Quantity.SCORE_BYTES: _scores(model, past),
        Quantity.KV_CACHE_BYTES: {} if model.encoder else _cache("(past + T)" if past else "T"),
        Quantity.CROSS_CACHE_BYTES: _cache("S") if model.encoder_layers else {},
        Quantity.GENERATION_FLOPS: {} if model.encoder else _generation(model),
        Quantity.GENERATION_BYTES: {} if model.encoder else _reading(model),
    }
    tallies = {}
    for quantity, named in formulas.items():
        unit = _UNITS.get(quantity, "bytes")
        terms = tuple(_term(name, formula, letters, unit) for name, formula in named.items())
        tallies[quantity] = Tally(quantity, unit, terms)
        if quantity is Quantity.PARAMETERS:
            letters["W"] = tallies[quantity].total
            letters["R"] = value(_read_by_a_step(model), letters)
    prefill = formulas[Quantity.FLOPS] if model.encoder else _prefill(model)
    letters["X"] = sum(value(formula, letters) for formula in prefill.values())
    letters["Y"] = value(_step(model), letters)
    facts = tuple(_term(name, formula, letters, unit) for name, formula, unit in _facts(model))
    return Cost(model, load, letters, tallies, facts)


def axes(quantity: Quantity, model: ModelSizes) -> str:
    """The letters that a quantity may be drawn against, the most telling first."""
    return _AXES[quantity].replace("S", "S" if model.encoder_layers else "")


def around(size: int, points: int = 61) -> NDArray[np.int64]:
    """Whole numbers at even paces on a log axis around ``size``, which is one of them."""
    low, high = max(1.0, size / 64), 64.0 * max(1, size)
    spread = np.geomspace(low, high, points).round().astype(np.int64)
    return np.unique(np.append(spread, max(1, size)))


def sweep(found: Cost, quantity: Quantity, axis: str) -> CostCurves:
    """How a quantity grows with one size, everything else as it was found.

    ``axis`` is one of `axes`. The terms of a pass are united over the stacks, those of a generation
    over prefill and over decode.
    """
    values = around(found.letters[axis])
    letters = {**found.letters, axis: values.astype(np.float64)}
    parts: dict[str, NDArray[np.float64]] = {}
    for term in found.tallies[quantity].terms:
        name = _united(quantity, term.name)
        parts[name] = parts.get(name, np.zeros(len(values))) + value(term.formula, letters)
    return CostCurves(quantity, axis, values, parts)


def _united(quantity: Quantity, name: str) -> str:
    if quantity is Quantity.GENERATION_FLOPS:
        return name.split()[0]
    if quantity is Quantity.FLOPS:
        return name.removeprefix("encoder ").removeprefix("cross ")
    return name


def value(formula: str, letters: Mapping[str, Any]) -> Any:
    """What a formula of this module comes to; letters may be arrays."""
    return eval(_code(formula), {"__builtins__": {}}, dict(letters))


@cache
def _code(formula: str) -> CodeType:
    plain = formula.replace("·", "*").replace("²", "**2").replace(")/2", ")//2")
    return compile(plain, "<formula>", "eval")


def _term(name: str, formula: str, letters: Mapping[str, int], unit: str) -> Term:
    numbers = re.sub(r"[A-Za-z]+", lambda found: f"{letters[found[0]]:,}", formula)
    return Term(name, formula, numbers, value(formula, letters), unit)


def _letters(model: ModelSizes, load: Workload) -> dict[str, int]:
    return {
        "B": load.batch,
        "T": load.length,
        "past": load.past,
        "S": load.source,
        "P": load.prompt,
        "G": load.generate,
        "D": model.width,
        "A": model.query_width,
        "K": model.key_width,
        "F": model.ffn_width,
        "M": 3 if model.gated else 2,
        "V": model.vocabulary,
        "N": model.positions,
        "H": model.heads,
        "L": model.layers,
        "E": model.encoder_layers,
        "s": load.bytes,
    }


# -- parameters


def _attention(model: ModelSizes) -> str:
    biases = " + A + 2·K + D" if model.attention_bias else ""
    return f"(2·D·A + 2·D·K{biases})"


_FFN = "(M·D·F + (M - 1)·F + D)"


def _parameters(model: ModelSizes) -> dict[str, str]:
    """Norms have a weight and a bias; the output matrix is the token embedding."""
    two = model.encoder_layers > 0
    blocks = "(L + E)" if two else "L"
    norms = "3·L + 2·E + 2" if two else "2·L + 2" if model.encoder else "2·L + 1"
    named = {}
    if model.vocabulary:
        named["token embedding"] = "V·D"
    if model.positions:
        named["position embedding"] = "2·N·D" if two else "N·D"
    named["attention"] = f"{blocks}·{_attention(model)}"
    if two:
        named["cross-attention"] = f"L·{_attention(model)}"
    named["FFN"] = f"{blocks}·{_FFN}"
    named["norms"] = f"2·D·({norms})"
    bias = ["V"] if model.output_bias and model.vocabulary else []
    head = ["D² + D", *bias] if model.encoder else bias
    if head:
        named["output"] = " + ".join(head)
    return named


def _read_by_a_step(model: ModelSizes) -> str:
    """All parameters, without an encoder and without what makes the cross cache."""
    if not model.encoder_layers:
        return "W"
    biases = " + 2·K" if model.attention_bias else ""
    encoder = f"E·({_attention(model)} + {_FFN} + 4·D) + 2·D + N·D"
    return f"W - ({encoder}) - L·(2·D·K{biases})"


# -- one pass


def _forward(model: ModelSizes, past: bool) -> dict[str, str]:
    return _pass(model, "T", "T·(past + T)" if past else "T²", past)


def _prefill(model: ModelSizes) -> dict[str, str]:
    return _pass(model, "P", "P²", past=False)


def _pass(model: ModelSizes, rows: str, pairs: str, past: bool) -> dict[str, str]:
    """A pass of ``rows`` tokens that look at ``pairs`` of cells; a source is read without a past.

    A matrix product of n x m by m x k takes 2·n·m·k; queries and outputs are ``A`` wide, keys and
    values ``K``.
    """
    named = {
        "projections": f"4·L·B·{rows}·D·(A + K)",
        "scores and values": f"4·L·B·{pairs}·A",
        "FFN": f"2·M·L·B·{rows}·D·F",
    }
    if model.encoder_layers:
        memory = "" if past else " + 4·L·B·S·D·K"
        named["cross projections"] = f"4·L·B·{rows}·D·A{memory}"
        named["cross scores and values"] = f"4·L·B·{rows}·S·A"
        if not past:
            named["encoder projections"] = "4·E·B·S·D·(A + K)"
            named["encoder scores and values"] = "4·E·B·S²·A"
            named["encoder FFN"] = "2·M·E·B·S·D·F"
    if model.vocabulary or model.encoder:
        named["head"] = f"2·B·{rows}·D·(D + V)" if model.encoder else f"2·B·{rows}·D·V"
    return named


def _scores(model: ModelSizes, past: bool) -> dict[str, str]:
    """One tensor of scores of each kind, as a dense implementation holds it layer by layer."""
    named = {"scores": "B·H·T·(past + T)·s" if past else "B·H·T²·s"}
    if model.encoder_layers:
        named |= {"cross scores": "B·H·T·S·s", "encoder scores": "B·H·S²·s"}
    return named


def _cache(columns: str) -> dict[str, str]:
    return dict.fromkeys(("keys", "values"), f"L·B·{columns}·K·s")


# -- generation


_READ = "(G·P + G·(G + 1)/2)"


def _generation(model: ModelSizes) -> dict[str, str]:
    """The prefill, and ``G`` passes of one token that each look at one token more."""
    named = {f"prefill {name}": formula for name, formula in _prefill(model).items()}
    named["decode projections"] = "4·L·B·G·D·(A + K)"
    named["decode scores and values"] = f"4·L·B·{_READ}·A"
    named["decode FFN"] = "2·M·L·B·G·D·F"
    if model.encoder_layers:
        named["decode cross"] = "4·L·B·G·A·(D + S)"
    if model.vocabulary:
        named["decode head"] = "2·B·G·D·V"
    return named


def _reading(model: ModelSizes) -> dict[str, str]:
    """Every step reads the weights and the cache anew."""
    named = {
        "weights in prefill": "W·s",
        "weights in decode": "G·R·s",
        "cache in decode": f"2·L·B·{_READ}·K·s",
    }
    if model.encoder_layers:
        named["cross cache in decode"] = "2·L·B·G·S·K·s"
    return named


def _step(model: ModelSizes) -> str:
    """FLOPs of the first token after the prompt."""
    cross = " + 4·L·B·A·(D + S)" if model.encoder_layers else ""
    return f"L·B·(4·D·(A + K) + 4·(P + 1)·A + 2·M·D·F){cross} + 2·B·D·V"


def _facts(model: ModelSizes) -> list[tuple[str, str, str]]:
    """Name, formula and unit of what is no part of a sum."""
    crossing = "tokens where scores cost as much as the rest of a block"
    facts = [(crossing, "D·(A + K + M·F / 2) / A", "tokens")]
    if model.encoder:
        return [*facts, ("intensity of a pass", "X / (s·W)", "FLOP/byte")]
    cross = " + 2·L·B·S·K" if model.encoder_layers else ""
    return [
        ("tokens read while generating", _READ[1:-1], "tokens"),
        ("intensity of the prefill", f"X / (s·(W + 2·L·B·P·K{cross}))", "FLOP/byte"),
        (
            "intensity of a decode step",
            f"Y / (s·(R + 2·L·B·(P + 1)·K{cross}))",
            "FLOP/byte",
        ),
        *facts,
    ]
