"""Rigorous bounds on a mean from independent draws, by betting (Waudby-Smith and Ramdas, 2024).

A gambler stakes against every smaller mean. If m is the true mean, the capital
prod_t (1 + stake_t (x_t - m)) is a fair game as long as a stake looks back only, and passes
1 / delta with probability at most delta (Ville). Whatever mean it passes for is ruled out. A bet
loses at most `MOST_STAKE` of the capital, which therefore stays positive; and it falls as the mean
grows, because each factor does.

One may stop at any time. The capital at the true mean is a martingale from 1, of which Ville says
that it *ever* reaches 1 / delta with probability at most delta: looking at it after every draw, and
stopping for whatever reason, costs nothing. All it takes is that a stake is the same whenever one
will have stopped; hence the horizon that stakes are made for is fixed in advance.
"""

from __future__ import annotations

import math

import numpy as np

from rpac._base.checks import refuse
from rpac._base.types import Floats

MOST_STAKE = 0.75
"""Share of the capital that one bet may lose at most."""
_CLOSE = 1e-3
"""Share of the interval at which to stop looking for a larger mean (by false position)."""


def lower_mean(draws: Floats, low: float, high: float, delta: float, horizon: int = 0) -> float:
    """Return a number that is above the true mean with probability at most `delta`.

    Args:
        draws: (n,) independent draws of one law on [low, high], in the order they were made:
            sorted ones would void the bound.
        low: Least value the law can take; fixed before the draws were seen.
        high: Largest value the law can take; fixed before the draws were seen.
        delta: Probability of error, in (0, 1).
        horizon: How many draws there may be in the end, fixed before the first; those given are
            the first of them. By default they are all.

    Guarantees:
        Holds for every law on [low, high]; nothing is assumed of its shape. Values outside
        are refused, because the interval would be void. With one horizon the bounds of all first
        n draws hold together, so that one may stop at any of them.
    """
    x = np.asarray(draws, np.float64)
    if x.size < 2 or not -math.inf < low - 1e-12 <= x.min() <= x.max() <= high + 1e-12 < math.inf:
        raise refuse(f"at least 2 draws in [{low}, {high}]", f"{x.size} draws", "Clip them first.")
    unit = np.clip((x - low) / (high - low or 1.0), 0.0, 1.0)
    goal = math.log(1.0 / delta) + 1e-6  # sums of logarithms round by far less
    return low + (high - low) * _ruled_out(unit, goal, horizon or x.size)


def upper_mean(draws: Floats, low: float, high: float, delta: float) -> float:
    """Return a number that is below the true mean with probability at most `delta`.

    The mirror image of `lower_mean`, with the same arguments and guarantees.
    """
    return -lower_mean(-np.asarray(draws, np.float64), -high, -low, delta)


def _stakes(x: Floats, goal: float, horizon: int) -> Floats:
    """Return stakes that are best for the spread of the draws before; none sees its own draw."""
    count = np.arange(2, x.size + 2)
    spread = np.cumsum(np.square(x - (0.5 + np.cumsum(x)) / count)) + 1e-4
    return np.sqrt(2.0 * goal / horizon / np.append(0.25, (spread / count)[:-1]))


def _ruled_out(x: Floats, goal: float, horizon: int) -> float:
    """Return about the largest mean of (n,) draws on [0, 1] whose log capital reaches the goal.

    The capital falls as the mean grows, so every smaller mean is ruled out too.
    """
    stakes, low, high = _stakes(x, goal, horizon), 0.0, float(x.mean())

    def missing(mean: float) -> float:
        bets = np.minimum(stakes, MOST_STAKE / max(mean, 1e-300))
        return goal - float(np.log1p(bets * (x - mean)).sum())

    left, right = missing(low), missing(high)
    while left <= 0 < right and high - low > _CLOSE * (x.mean() - low) + 1e-12:
        at = low + min(max(left / (left - right), 0.01), 0.99) * (high - low)
        here = missing(at)
        if here <= 0:
            low, left = at, here
        else:
            high, right = at, here
    return low if right > 0 else high
