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
    if not spec.kind.is_causal:
        return np.full(spec.length, np.nan, np.float32)
    ids, real = np.array(inputs.rows)[row : row + 1], real_tokens(spec)[row : row + 1]
    labels = shifted_labels(ids, real, IGNORE)[0, spec.past :]
    ends = np.array([start - 1 - spec.past for start in document_starts(spec, row)], np.int64)
    labels[ends[ends >= 0]] = IGNORE
    return cross_entropy(logits, labels)


def cross_entropy(logits: NDArray[np.float32], labels: NDArray[np.integer]) -> NDArray[np.float32]:
    """Nats of each label, float32 ``[T]``: the logarithm of the sum of powers, less the logit.

    Parameters
    ----------
    logits : float ``[T, V]``.
    labels : integer ``[T]``; where `IGNORE` stands there is NaN.
    """
    nats = np.full(len(labels), np.nan, np.float32)
    chosen = np.flatnonzero(labels != IGNORE)
    shifted = logits[chosen].astype(np.float64)
    shifted -= shifted.max(axis=1, keepdims=True, initial=-np.inf)
    said = shifted[np.arange(len(chosen)), labels[chosen]]
    nats[chosen] = np.log(np.exp(shifted).sum(axis=1)) - said
    return nats
