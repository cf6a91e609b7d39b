"""Rigorous bounds on a mean from independent draws (Maurer and Pontil's empirical Bernstein)."""

from __future__ import annotations

import math

import numpy as np

from rpac._checks import refuse
from rpac._types import Floats


def upper_mean(draws: Floats, low: float, high: float, delta: float) -> float:
    """Return a number that is below the true mean with probability at most `delta`.

    Args:
        draws: (n,) independent draws of one law on [low, high].
        low: Least value the law can take; fixed before the draws were seen.
        high: Largest value the law can take; fixed before the draws were seen.
        delta: Probability of error, in (0, 1).

    Guarantees:
        Holds for every law on [low, high]; nothing is assumed of its shape. Values outside
        are refused, because the interval would be void.
    """
    x = np.asarray(draws, dtype=np.float64)
    n = x.size
    if n < 2 or x.min() < low - 1e-12 or x.max() > high + 1e-12:
        raise refuse(f"at least 2 draws in [{low}, {high}]", f"{n} draws", "Clip them first.")
    log_term = math.log(2.0 / delta)
    spread = math.sqrt(2.0 * float(x.var(ddof=1)) * log_term / n)
    width = 7.0 * (high - low) * log_term / (3.0 * (n - 1))
    return float(min(high, x.mean() + spread + width))


def lower_mean(draws: Floats, low: float, high: float, delta: float) -> float:
    """Return a number that is above the true mean with probability at most `delta`.

    The mirror image of `upper_mean`, with the same arguments and guarantees.
    """
    return -upper_mean(-np.asarray(draws, dtype=np.float64), -high, -low, delta)
