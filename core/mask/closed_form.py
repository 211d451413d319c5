"""Allowed pairs by formula: the number beside the picture, explained and not only counted.

Without pads these are the textbook ones: bidirectional ``T**2``, cross ``U * S``, causal
``T * (T + 1) / 2``, prefix ``+ p * (p - 1) / 2``, a chunk of ``t`` rows on ``past`` cached keys
``t * past + t * (t + 1) / 2``.
"""

from __future__ import annotations

from core.mask.intervals import row_intervals
from core.types import MaskSpec


def allowed_pairs(spec: MaskSpec, b: int = 0) -> int:
    """(query, key) pairs that batch row ``b`` may read.

    By formula, pads included, unless a window or documents ask for the interval count.
    """
    if spec.window is not None or len(spec.documents) > 1:
        return row_intervals(spec, b).count()
    real, left = spec.real_tokens(b), spec.left_pad[b]
    if not spec.kind.is_causal:
        return spec.length * real
    # Sums over the absolute positions past .. past + length - 1, as differences of sums from 0.
    return _up_to(spec.filled, left, real, spec.prefix) - _up_to(spec.past, left, real, spec.prefix)


def _up_to(n: int, left: int, real: int, prefix: int) -> int:
    """Pairs of the queries at positions below ``n``."""
    tokens = _between(n - left, 0, real)
    right_pads = max(n - left - real, 0)
    causal = tokens * (tokens + 1) // 2 + right_pads * real
    # Query i of the prefix gains the prefix - 1 - i tokens after it, a left pad all of them.
    inside = _between(n - left, 0, prefix)
    gained = inside * (prefix - 1) - inside * (inside - 1) // 2
    return causal + gained + min(n, left) * prefix


def _between(n: int, low: int, high: int) -> int:
    return max(low, min(n, high))
