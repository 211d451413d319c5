"""An invented comparison to show `widgets.compare_view` with: random weights under two masks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.mask.reasons import reasons
from core.types import MOVED, Comparison, HeadRef, Levels, MaskKind, MaskSpec, Place, Stack
from widgets.demo import WORDS

_SIZE, _SOURCE, _LAYERS, _HEADS = 13, 9, 4, 4


def demo_comparison(two: bool = False) -> tuple[Comparison, Callable[[int], str]]:
    """Return causal beside prefix 6, or one cross-attention beside another; how ids are written."""
    random = np.random.default_rng(5)
    keys = _SOURCE if two else _SIZE
    if two:
        specs = [MaskSpec(MaskKind.CROSS, _SIZE, source=keys)] * 2
    else:
        prefix = MaskSpec(MaskKind.PREFIX, _SIZE, prefix=6)
        specs = [MaskSpec(MaskKind.CAUSAL, _SIZE), prefix]
    why = np.stack([reasons(spec) for spec in specs])
    raw = np.exp(1.5 * random.gumbel(size=(2, _SIZE, keys))) * (why == 0)
    weights = (raw / raw.sum(axis=2, keepdims=True)).astype(np.float32)
    stacks = tuple(Stack) if two else (Stack.DECODER,)
    shown = Stack.CROSS if two else Stack.DECODER
    attention = {s: random.random((_LAYERS, _HEADS)).astype(np.float32) ** 3 for s in stacks}
    moved = np.sort(random.random((2, _SIZE, MOVED)).astype(np.float32) ** 2)[:, :, ::-1]
    apart = np.linspace(0, 0.5, _LAYERS + 1, dtype=np.float32)[:, None] * random.random(_SIZE)
    levels = Levels((1 - apart**2).astype(np.float32), apart.astype(np.float32))
    positions = np.stack([np.arange(_SIZE, dtype=np.int32)] * 2)
    source = np.stack([np.arange(keys if two else 0, dtype=np.int32)] * 2)
    found = Comparison(
        generation=1,
        titles=("causal", "prefix 6"),
        tokens=positions,
        source_tokens=source,
        positions=positions,
        source_positions=source,
        head=HeadRef(shown, 1, 2),
        patterns=weights,
        reasons=why,
        attention=attention,
        total_variation=(random.random(_SIZE) ** 2).astype(np.float32),
        divergence=random.random(_SIZE).astype(np.float32),
        moved_ids=random.integers(0, 15, (_SIZE, MOVED)).astype(np.int32),
        moved=moved,
        levels={Stack.DECODER: levels},
        tolerance=2e-4,
        first=Place(0, shown, 0, 1),
    )
    return found, _word


def _word(token: int) -> str:
    return WORDS[token + 2]
