"""The training loop: AdamW, warm-up and cosine decay, a checkpoint every few minutes."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from core.model.transformer import Transformer, initialise, start_from
from core.text.objectives import IGNORE, Ids
from core.train.batches import Batch, packed, packed_mask, shuffled
from core.train.corpus import TokenisedCorpus
from core.train.recipes import KINDS, Objective, Recipe, example
from core.types import MaskKind

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Budget:
    """How long to train, and how.

    ``tokens`` counts the slots of full rows: those of the body, or those of the source where there
    is one; ``real_share`` is the share of documents that are real ones; ``precision`` of the
    matrix products is "bfloat16" or "float32".
    """

    tokens: int
    real_share: float = 0.35
    precision: str = "bfloat16"
    checkpoint_minutes: float = 5.0


def batch_loss(model: Transformer, batch: Batch, kind: MaskKind) -> Tensor:
    """Mean cross-entropy in nats over the positions that carry loss."""
    body, source = batch.body, batch.source
    cache, cross_mask = None, None
    if source is not None:
        own = packed_mask(source, source, MaskKind.BIDIRECTIONAL)
        cache = model.encode(source.ids, source.positions, own)
        cross_mask = packed_mask(body, source, MaskKind.CROSS)
    mask = packed_mask(body, body, kind)
    hidden = model.body(body.ids, body.positions, mask, cache, cross_mask)
    chosen = body.labels != IGNORE
    logits = model.head(hidden[chosen])
    return functional.cross_entropy(logits.float(), body.labels[chosen])


def rate(step: int, steps: int, recipe: Recipe) -> float:
    """Learning rate: linear warm-up, then a cosine down to a twentieth of the peak."""
    if step < recipe.warmup_steps:
        return recipe.peak_rate * (step + 1) / recipe.warmup_steps
    done = (step - recipe.warmup_steps) / max(1, steps - recipe.warmup_steps)
    return recipe.peak_rate * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))


def _optimiser(model: Transformer, recipe: Recipe) -> torch.optim.Optimizer:
    """AdamW; matrices decay, embeddings, norms and biases do not."""
    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and "embedding" not in n]
    matrices = [p for p in matrices if p is not model.tokens.weight]
    known = {id(p) for p in matrices}
    rest = [p for p in model.parameters() if id(p) not in known]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=recipe.peak_rate, betas=(0.9, 0.98), fused=True)


def _batches(
    recipe: Recipe, corpus: TokenisedCorpus, real_share: float, rng: np.random.Generator
) -> Iterator[tuple[Objective, Batch]]:
    pools: list[list[Ids]] = [
        [part.document(i).astype(np.int64) for i in range(len(part))]
        for part in (corpus.only(real=True), corpus.only(real=False))
    ]
    documents = shuffled(pools, [real_share, 1 - real_share], rng)
    while True:
        for objective in recipe.objectives:
            batch = packed(
                documents,
                partial(example, objective, rng=rng),
                rows=recipe.batch_rows,
                width=recipe.row_tokens,
                positions=recipe.config.positions,
                rng=rng,
            )
            yield objective, batch


def train(
    recipe: Recipe,
    corpus: TokenisedCorpus,
    budget: Budget,
    checkpoint: Callable[[Transformer, int], None],
    resume: Path | None = None,
    begin: Sequence[Transformer] = (),
) -> Transformer:
    """Train one model; ``checkpoint(model, tokens_seen)`` is called now and then and at the end.

    ``resume`` is a file for the optimiser's state: read if it is there, written beside each
    checkpoint, so that a run that was stopped goes on where it was. ``begin`` are the models
    whose weights the recipe starts with.
    """
    model = Transformer(recipe.config)
    initialise(model, recipe.seed)
    start_from(model, *begin)
    optimiser = _optimiser(model, recipe)
    per_step = recipe.batch_rows * recipe.row_tokens
    steps = max(1, budget.tokens // per_step)
    first = 0
    if resume is not None and resume.exists():
        state = torch.load(resume, weights_only=True)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        first = state["step"]
        log.info("%s: going on at step %d of %d", recipe.name, first, steps)
    rng = np.random.default_rng((recipe.seed, first))
    batches = _batches(recipe, corpus, budget.real_share, rng)
    started = saved = time.monotonic()
    recent: dict[Objective, float] = {}
    for step in range(first, steps):
        objective, batch = next(batches)
        for group in optimiser.param_groups:
            group["lr"] = rate(step, steps, recipe)
        with torch.autocast("cpu", torch.bfloat16, enabled=budget.precision == "bfloat16"):
            loss = batch_loss(model, batch, KINDS[objective])
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        recent[objective] = 0.98 * recent.get(objective, loss.item()) + 0.02 * loss.item()
        if step % 50 == 0:
            speed = (step - first + 1) * per_step / (time.monotonic() - started)
            losses = ", ".join(f"{o.value} {v:.3f}" for o, v in recent.items())
            log.info("%s %d/%d: %s; %.0f tokens/s", recipe.name, step, steps, losses, speed)
        if time.monotonic() - saved > 60 * budget.checkpoint_minutes or step == steps - 1:
            saved = time.monotonic()
            if resume is not None:
                resume.parent.mkdir(parents=True, exist_ok=True)
                state = {
                    "model": model.state_dict(),
                    "optimiser": optimiser.state_dict(),
                    "step": step + 1,
                }
                torch.save(state, resume.with_suffix(".new"))
                os.replace(resume.with_suffix(".new"), resume)
            checkpoint(model.eval(), (step + 1) * per_step)
            model.train()
    return model.eval()
