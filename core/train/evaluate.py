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
from core.run.step import begin, chunk, to_device
from core.text.objectives import IGNORE, Example, Ids, causal, prefix_lm, span_corruption
from core.text.special import FIRST_PIECE, MASK
from core.text.tokenizer import VOCABULARY
from core.train.baselines import KneserNey, Neighbours
from core.train.corpus import TokenisedCorpus
from core.train.recipes import KINDS, Objective, Recipe
from core.types import Inputs, MaskKind, MaskSpec

SEED = 7
SHARE = 0.15
Values = dict[str, NDArray[np.float64]]


def inputs_of(example: Example, kind: MaskKind) -> Inputs:
    """One example, unpadded, as a model reads it."""
    length, row = len(example.inputs), tuple(example.inputs.tolist())
    spec = MaskSpec(kind, length, prefix=example.prefix if kind is MaskKind.PREFIX else 0)
    if not len(example.source):
        return Inputs((row,), spec)
    source = tuple(example.source.tolist())
    return Inputs(
        (row,),
        spec,
        (source,),
        MaskSpec(MaskKind.ENCODER_SELF, len(source)),
        MaskSpec(MaskKind.CROSS, length, source=len(source)),
    )


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


def score(model: Transformer, example: Example, objective: Objective) -> NDArray[np.float64]:
    """One value a judged position: nats for the next token, else 1 where the top token is right."""
    logits = logits_of(model, example, KINDS[objective])
    labels = torch.from_numpy(example.labels[example.loss_mask])
    if objective in (Objective.CAUSAL, Objective.PREFIX):
        values = functional.cross_entropy(logits, labels, reduction="none")
    else:
        values = (logits.argmax(-1) == labels).float()
    scored: NDArray[np.float64] = values.numpy().astype(np.float64)
    return scored[judged(example, objective)]


class Judge:
    """Fits the baselines once, then gives a model's figures beside theirs."""

    def __init__(self, corpus: TokenisedCorpus, held: TokenisedCorpus) -> None:
        self._corpus = corpus
        self._held = held
        self._baseline: dict[Objective, Values] = {}

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
        """
        found: dict[str, float] = {}
        for objective in dict.fromkeys(recipe.objectives):
            found |= self._objective(model, objective)
        return {name: round(value, 4) for name, value in found.items()}

    def _objective(self, model: Transformer, objective: Objective) -> dict[str, float]:
        if objective not in self._baseline:
            self._baseline[objective] = self._parts(objective, None)
        mine, theirs = self._parts(objective, model), self._baseline[objective]
        likely = objective in (Objective.CAUSAL, Objective.PREFIX)
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

    def _parts(self, objective: Objective, model: Transformer | None) -> Values:
        parts = {}
        for part, real in (("grammar", False), ("real", True)):
            scores = []
            documents = self._held.only(real=real)
            kept = self._documents(objective, documents)
            for example, document in zip(held_out(objective, self._held, real), kept, strict=True):
                if model is None:
                    scores.append(self._counted(example, document, objective))
                else:
                    scores.append(score(model, example, objective))
            parts[part] = np.concatenate(scores)
        return parts | {"mixed": np.concatenate(list(parts.values()))}

    def _documents(self, objective: Objective, documents: TokenisedCorpus) -> list[Ids]:
        """The documents behind `held_out`'s examples, in the same order."""
        rng = np.random.default_rng(SEED)
        rows = [documents.document(i).astype(np.int64) for i in range(len(documents))]
        if objective is not Objective.MASKED:
            return rows
        return [row for row in rows if all_masked(row, rng).denominator]

    def _counted(
        self, example: Example, document: Ids, objective: Objective
    ) -> NDArray[np.float64]:
        """What `score` is for a model, for the counting model on the same positions."""
        if objective in (Objective.CAUSAL, Objective.PREFIX):
            nats = self._trigram.nll(document)
            return nats[len(nats) - example.denominator :]
        if objective is Objective.MASKED:
            at = np.flatnonzero(example.loss_mask)
            guesses = [self._neighbours.predict(*document[[i - 1, i + 1]]) for i in at]
        else:
            at = spans_of(example, document)
            guesses = [self._trigram.trigram_top1(*document[[max(i - 2, 0), i - 1]]) for i in at]
        return (np.array(guesses) == document[at]).astype(np.float64)


def spans_of(example: Example, document: Ids) -> Ids:
    """Where in the document the cut-out tokens of a span-corrupted example stand, in order."""
    kept = [int(i) for i in example.source if i >= FIRST_PIECE or i < MASK]
    position, found, target = 0, [], iter(example.labels.tolist())
    next(target)
    for token in example.source.tolist():
        if token >= FIRST_PIECE or token < MASK:
            position += 1
            continue
        for label in target:
            if label < FIRST_PIECE:
                break
            found.append(position)
            position += 1
    assert position == len(document) == len(kept) + len(found)
    return np.array(found, np.int64)
