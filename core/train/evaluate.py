"""How good a model is on held-out documents, beside what counting alone can do.

Every figure comes three times: for the grammar's stories, for the real ones, and mixed (all tokens
of both). Chance (which tokens are masked, which spans are cut) is fixed by a seed, so that a figure
can be computed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from core.model.transformer import Transformer
from core.run.objectives import inputs_of
from core.run.step import begin, chunk, to_device
from core.text.objectives import IGNORE, Example, Ids, causal, prefix_lm, span_corruption
from core.text.special import FIRST_PIECE, FIRST_SENTINEL, MASK
from core.text.tokenizer import VOCABULARY
from core.train.baselines import KneserNey, Neighbours
from core.train.corpus import TokenisedCorpus
from core.train.recipes import KINDS, Objective, Recipe
from core.types import MaskKind

SEED = 7
SHARE = 0.15
LIKELY = (Objective.CAUSAL, Objective.PREFIX)
"""Judged by nats; the others by whether the top token is right."""
Values = NDArray[np.float64]


def logits_of(model: Transformer, example: Example, kind: MaskKind) -> torch.Tensor:
    """Float ``[n, V]`` at the ``n`` positions of an example that carry loss, on the CPU."""
    with torch.inference_mode():
        tensors = to_device(inputs_of(example, kind), torch.device("cpu"))
        logits = chunk(model, tensors, begin(model, tensors), len(example.inputs))[0]
    return logits[torch.from_numpy(example.labels != IGNORE)].float()


def all_masked(document: Ids, rng: np.random.Generator) -> Example:
    """A held-out document with 15 % of its text behind ``[MASK]``."""
    chosen = (document >= FIRST_PIECE) & (rng.random(len(document)) < SHARE)
    return Example(np.where(chosen, MASK, document), np.where(chosen, document, IGNORE))


def held_out(objective: Objective, held: TokenisedCorpus, real: bool) -> Iterator[Example]:
    """The held-out documents of one part as the objective's examples; always the same ones."""
    rng = np.random.default_rng(SEED)
    part = held.only(real=real)
    for index in range(len(part)):
        document = part.document(index).astype(np.int64)
        match objective:
            case Objective.CAUSAL:
                yield causal(document)
            case Objective.PREFIX:
                yield prefix_lm(document, len(document) // 3)
            case Objective.MASKED:
                example = all_masked(document, rng)
                if example.denominator:
                    yield example
            case Objective.SPANS:
                yield span_corruption(document, rng)


def judged(example: Example, objective: Objective) -> NDArray[np.bool_]:
    """Which of the positions with loss count: a sentinel in a target is no guess."""
    labels = example.labels[example.loss_mask]
    return (labels >= FIRST_PIECE) | (objective is not Objective.SPANS)


def _answers(
    model: Transformer, example: Example, objective: Objective
) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits ``[n, V]`` and labels ``[n]`` of the judged positions."""
    chosen = torch.from_numpy(judged(example, objective))
    labels = torch.from_numpy(example.labels[example.loss_mask])
    return logits_of(model, example, KINDS[objective])[chosen], labels[chosen]


def nats(model: Transformer, example: Example, objective: Objective) -> Values:
    """Surprise at each judged position, float64 ``[n]``."""
    logits, labels = _answers(model, example, objective)
    surprise: Values = functional.cross_entropy(logits, labels, reduction="none").double().numpy()
    return surprise


def hits(model: Transformer, example: Example, objective: Objective) -> Values:
    """1 at each judged position where the top token is right, else 0, float64 ``[n]``."""
    logits, labels = _answers(model, example, objective)
    right: Values = (logits.argmax(-1) == labels).double().numpy()
    return right


def excerpt(held: TokenisedCorpus, each: int = 12) -> TokenisedCorpus:
    """A few documents of each part, evenly spread: small enough to lie beside the tests."""
    parts = [np.flatnonzero(held.real == real) for real in (False, True)]
    chosen = [int(i) for part in parts for i in part[:: max(1, len(part) // each)][:each]]
    rows = [held.document(i) for i in chosen]
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return TokenisedCorpus(np.concatenate(rows), offsets, held.real[chosen])


def figure(model: Transformer, objective: Objective, held: TokenisedCorpus) -> float:
    """Mean nats over all judged positions of the held-out documents, both parts together."""
    examples = (e for real in (False, True) for e in held_out(objective, held, real))
    return float(np.concatenate([nats(model, e, objective) for e in examples]).mean())


def check_name(objective: Objective) -> str:
    """Under which name a card holds the `figure` of an objective on the `excerpt`."""
    return f"check_{objective.name.lower()}_nats"


class Judge:
    """Fits the baselines once, then gives a model's figures beside theirs."""

    def __init__(self, corpus: TokenisedCorpus, held: TokenisedCorpus) -> None:
        self._corpus = corpus
        self._held = held
        self._excerpt = excerpt(held)
        self._baseline: dict[Objective, dict[str, Values]] = {}

    @cached_property
    def _trigram(self) -> KneserNey:
        return KneserNey.fit(self._corpus, vocabulary=VOCABULARY)

    @cached_property
    def _neighbours(self) -> Neighbours:
        return Neighbours.fit(self._corpus, vocabulary=VOCABULARY)

    def figures(self, model: Transformer, recipe: Recipe) -> dict[str, float]:
        """Figures for every objective of a recipe, rounded to four digits.

        ``*_nats`` are per token and ``*_perplexity_ratio`` is the model's perplexity over the
        trigram's (mixed); ``*_top1`` are shares and ``*_top1_ratio`` is over the counting model.
        ``check_*_nats`` are those of the `excerpt`, for a test to compute again.
        """
        found: dict[str, float] = {}
        for objective in dict.fromkeys(recipe.objectives):
            found |= self._objective(model, objective)
            found[check_name(objective)] = figure(model, objective, self._excerpt)
        return {name: round(value, 4) for name, value in found.items()}

    def _objective(self, model: Transformer, objective: Objective) -> dict[str, float]:
        if objective not in self._baseline:
            self._baseline[objective] = self._parts(objective, None)
        mine, theirs = self._parts(objective, model), self._baseline[objective]
        likely = objective in LIKELY
        unit = "nats" if likely else "top1"
        rival = "neighbours" if objective is Objective.MASKED else "trigram"
        name = objective.name.lower()
        means = {}
        for part in mine:
            means[f"{name}_{part}_{unit}"] = float(mine[part].mean())
            means[f"{name}_{part}_{rival}_{unit}"] = float(theirs[part].mean())
        ours, others = float(mine["mixed"].mean()), float(theirs["mixed"].mean())
        if likely:
            means[f"{name}_perplexity_ratio"] = float(np.exp(ours - others))
        else:
            means[f"{name}_top1_ratio"] = ours / others
        return means

    def _parts(self, objective: Objective, model: Transformer | None) -> dict[str, Values]:
        """A value a judged position of each part, of a model or else of the counting one."""
        score = nats if objective in LIKELY else hits
        parts = {}
        for part, real in (("grammar", False), ("real", True)):
            examples = held_out(objective, self._held, real)
            if model is None:
                scores = [self._counted(each, objective) for each in examples]
            else:
                scores = [score(model, each, objective) for each in examples]
            parts[part] = np.concatenate(scores)
        return parts | {"mixed": np.concatenate(list(parts.values()))}

    def _counted(self, example: Example, objective: Objective) -> Values:
        """What `nats` or `hits` is for a model, for the counting model on the same positions.

        It reads what the model reads: a neighbour behind ``[MASK]`` is unknown to both.
        """
        row = example.inputs
        if objective in LIKELY:
            surprise: Values = self._trigram.nll(row)
            return surprise[len(surprise) - example.denominator :]
        if objective is Objective.MASKED:
            at = np.flatnonzero(example.loss_mask)
            known = [None if token == MASK else token for token in row.tolist()]
            guesses = [self._neighbours.predict(known[i - 1], known[i + 1]) for i in at]
            truth = example.labels[at]
        else:
            document, at = restored(example)
            ids = document.tolist()
            guesses = [self._trigram.trigram_top1(ids[max(i - 2, 0)], ids[i - 1]) for i in at]
            truth = document[at]
        right: Values = (np.array(guesses) == truth).astype(np.float64)
        return right


def restored(example: Example) -> tuple[Ids, Ids]:
    """The document of a span-corrupted example, and where its cut-out tokens stood, in order."""

    def is_sentinel(ids: Ids) -> NDArray[np.bool_]:
        return (ids >= FIRST_SENTINEL) & (ids < FIRST_PIECE)

    spans = iter(np.split(example.labels, np.flatnonzero(is_sentinel(example.labels)))[1:])
    document: list[int] = []
    at: list[int] = []
    for token, cut in zip(example.source.tolist(), is_sentinel(example.source), strict=True):
        if not cut:
            document.append(token)
            continue
        span = next(spans)[1:].tolist()
        at += range(len(document), len(document) + len(span))
        document += span
    return np.array(document, np.int64), np.array(at, np.int64)
