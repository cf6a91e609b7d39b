"""Limits for what attacks achieve: sharp, and valid for every law. Not part of any certificate."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rpac._base.checks import refuse
from rpac._base.types import Floats
from rpac.certificate.confidence import lower_mean, upper_mean
from rpac.numerics import hit_rate


def mean_limits(draws: Floats, low: float, high: float, delta: float) -> tuple[float, float]:
    """Return limits that miss the true mean with probability at most `delta`, half on each side.

    Args:
        draws: (n,) independent draws of one law on [low, high].
        low: Least value of the law, fixed before the draws were seen.
        high: Largest value, likewise.
        delta: Probability of error, in (0, 1).
    """
    wide = low - 1e-9, high + 1e-9  # logarithms of small priors round
    return lower_mean(draws, *wide, delta / 2), upper_mean(draws, *wide, delta / 2)


def clopper_pearson(hits: ArrayLike, trials: ArrayLike, delta: float) -> tuple[Floats, Floats]:
    """Return exact binomial limits, each missed with probability at most delta / 2, elementwise.

    >>> low, high = clopper_pearson(8, 10, 0.05)
    >>> round(float(low), 4), round(float(high), 4)
    (0.4439, 0.9748)
    """
    k, n = np.broadcast_arrays(np.asarray(hits, np.float64), np.asarray(trials, np.float64))
    if not ((k >= 0) & (k <= n) & (n >= 1)).all():
        raise refuse("hits between 0 and trials >= 1", f"{k} of {n}", "Count again.")
    low = hit_rate(np.maximum(k, 1), n, delta / 2)
    missed = hit_rate(np.maximum(n - k, 1), n, delta / 2)
    return np.where(k == 0, 0.0, low), np.where(k == n, 1.0, 1 - missed)
