"""How surprising the text is to the model that reads it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.mask.padding import real_tokens, shifted_labels
from core.mask.spec import document_starts
from core.text.objectives import IGNORE
from core.types import Inputs


def surprise(logits: NDArray[np.float32], inputs: Inputs, row: int) -> NDArray[np.float32]:
    """Nats of the token that follows each query of one batch row, float32 ``[Tq]``.

    ``logits`` float ``[Tq, V]``. NaN where no real token of the same document follows, and
    everywhere under a bidirectional mask, whose outputs predict no next token.
    """
    spec = inputs.mask
    nats = np.full(spec.length, np.nan, np.float32)
    if not spec.kind.is_causal:
        return nats
    ids, real = np.array(inputs.rows)[row : row + 1], real_tokens(spec)[row : row + 1]
    labels = shifted_labels(ids, real, IGNORE)[0, spec.past :]
    ends = np.array([start - 1 - spec.past for start in document_starts(spec, row)], np.int64)
    labels[ends[ends >= 0]] = IGNORE
    chosen = np.flatnonzero(labels != IGNORE)
    shifted = logits[chosen] - logits[chosen].max(axis=1, keepdims=True, initial=-np.inf)
    said = shifted[np.arange(len(chosen)), labels[chosen]]
    nats[chosen] = np.log(np.exp(shifted).sum(axis=1)) - said
    return nats
