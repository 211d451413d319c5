"""Costs as curves on log axes, where the ticks stand, and the units that they are written in."""

from __future__ import annotations

from math import ceil, floor, log2, log10

import numpy as np
from numpy.typing import NDArray

from core.types.cost import CostCurves, Measured, figure

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]
"""x and y, each ``[n]``, all above 0."""


def cost_lines(curves: CostCurves) -> dict[str, Curve]:
    """The parts that are nowhere 0, by name; of two or more also their "total"."""
    x = curves.values.astype(np.float64)
    lines: dict[str, Curve] = {
        name: (x, y) for name, y in curves.parts.items() if bool((y > 0).all())
    }
    if len(lines) > 1:
        lines["total"] = (x, curves.total)
    return lines


def timed_lines(
    measured: Measured, *, rates: bool
) -> tuple[dict[str, Curve], dict[str, Curve], str]:
    """Lines, points and unit of what was timed against the length: seconds, or FLOP a second.

    The line of seconds is a prefill that is always at its best rate.
    """
    points = measured.points
    steps = [(p.length, p.decode_flops, p.decode) for p in points if p.decode is not None]
    timed = {"prefill": np.array([(p.length, p.prefill_flops, p.prefill) for p in points]).T}
    if steps:
        timed["decode step"] = np.array(steps, np.float64).T
    if rates:
        return {}, {name: (x, work / taken) for name, (x, work, taken) in timed.items()}, "FLOP/s"
    x, flops, seconds = timed["prefill"]
    best = {"prefill at its best rate": (x, flops / float((flops / seconds).max()))}
    return best, {name: (x, taken) for name, (x, _, taken) in timed.items()}, "seconds"


_FINE = ((1.0, 2.0, 5.0), tuple(map(float, range(1, 10))), tuple(n / 2 for n in range(2, 20)))
"""Digits that ticks stand at, from few to many."""


def log_ticks(
    low: float, high: float, unit: str, most: float, *, fine: bool = False
) -> list[float]:
    """Where ticks stand from ``low`` to ``high``, in log10 of the value; at most about ``most``.

    They are powers of ten, or of two where ``unit`` is "bytes"; ``fine`` puts them at 1, 2 and 5 of
    every power of ten instead, and at every half or whole number where those are hardly any.
    """
    if fine and unit != "bytes":
        found: list[float] = []
        for digits in _FINE:
            every = [power + log10(n) for power in range(floor(low), ceil(high)) for n in digits]
            found = [at for at in every if low <= at <= high]
            if len(found) > 2:
                break
        return found
    step = log10(2.0) if unit == "bytes" else 1.0
    skip = max(1, ceil((high - low) / step / most))
    return [n * step for n in range(ceil(low / step), floor(high / step) + 1) if n % skip == 0]


def tick_text(value: float, unit: str) -> str:
    """What stands at a tick, such as ``64 KiB`` or ``1,000``; "" is a plain number."""
    if unit == "bytes":
        value = 2.0 ** round(log2(value), 6)  # 2 to the 30 is a GiB, and not nearly one.
    if unit:
        return figure(value, unit).removesuffix(" parameters")
    return f"{value:,.0f}"
