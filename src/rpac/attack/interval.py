"""Limits for what attacks achieve: sharp, and valid for every law. Not part of any certificate.

A mean's limits come from a bet against every smaller (larger) mean: with stakes that look back
only, the gambler's capital prod(1 + stake_t (x_t - mean)) is a martingale, and passes 1 / delta
with probability at most delta. At the small leakages that audits look for, such limits are
several times closer than those of `rpac.confidence`, which pay for the whole range.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from rpac._checks import refuse
from rpac._types import Floats

_MOST_STAKE = 0.75
"""Share of the capital that one bet may lose at most."""


def mean_limits(draws: Floats, low: float, high: float, delta: float) -> tuple[float, float]:
    """Return limits that miss the true mean with probability at most `delta`, half on each side.

    Args:
        draws: (n,) independent draws of one law on [low, high].
        low: Least value of the law, fixed before the draws were seen.
        high: Largest value, likewise.
        delta: Probability of error, in (0, 1).
    """
    x = np.asarray(draws, np.float64)
    if x.size < 2 or not (x.min() >= low - 1e-9 and x.max() <= high + 1e-9):
        raise refuse(f"at least 2 draws in [{low}, {high}]", f"{x.size} draws", "Clip them first.")
    unit = np.clip((x - low) / (high - low), 0.0, 1.0)
    floor, ceiling = _least_mean(unit, delta / 2), 1.0 - _least_mean(1.0 - unit, delta / 2)
    return low + (high - low) * floor, low + (high - low) * ceiling


def _least_mean(x: Floats, delta: float) -> float:
    """Return the least mean of (n,) draws on [0, 1] that the bet does not rule out."""
    before = np.arange(1, x.size + 1)
    mean = (0.5 + np.cumsum(x)) / (before + 1)
    spread = (1e-4 + np.cumsum(np.square(x - mean))) / (before + 1)
    past = np.concatenate([[0.25], spread[:-1]])  # the bet on a draw never sees it
    stakes = np.sqrt(2.0 * math.log(1.0 / delta) / (x.size * past))
    goal, low, high = math.log(1.0 / delta), 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        bet = np.minimum(stakes, _MOST_STAKE / middle)
        ruled_out = float(np.log1p(bet * (x - middle)).sum()) >= goal
        low, high = (middle, high) if ruled_out else (low, middle)
    return low


def clopper_pearson(hits: ArrayLike, trials: ArrayLike, delta: float) -> tuple[Floats, Floats]:
    """Return exact binomial limits, each missed with probability at most delta / 2, elementwise.

    >>> low, high = clopper_pearson(8, 10, 0.05)
    >>> round(float(low), 4), round(float(high), 4)
    (0.4439, 0.9748)
    """
    from scipy.special import betaincinv

    k, n = np.broadcast_arrays(np.asarray(hits, np.float64), np.asarray(trials, np.float64))
    if not ((k >= 0) & (k <= n) & (n >= 1)).all():
        raise refuse("hits between 0 and trials >= 1", f"{k} of {n}", "Count again.")
    low = betaincinv(np.maximum(k, 1), n - np.maximum(k, 1) + 1, delta / 2)
    high = betaincinv(np.minimum(k, n - 1) + 1, n - np.minimum(k, n - 1), 1 - delta / 2)
    return np.where(k == 0, 0.0, low), np.where(k == n, 1.0, high)
