"""Tails, quantiles and a descent, by NumPy alone: SciPy would more than double what is installed.

For proposals, attacks and studies; no certificate rests on them. Each is held against SciPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from rpac._base.types import Floats

_erfc = np.frompyfunc(math.erfc, 1, 1)
_lgamma = np.frompyfunc(math.lgamma, 1, 1)
_inverse = np.frompyfunc(NormalDist().inv_cdf, 1, 1)
_CELLS = 4_000_000
"""Entries of a table that sums are worked out on at once."""
_FAR = -30.0
"""Below, the logarithm of the normal tail is a series that errs by less than 1e-13."""


def normal_tail(x: ArrayLike) -> Floats:
    """Return the probability that a standard normal is at most x, elementwise.

    >>> float(normal_tail(0.0)), round(float(normal_tail(1.96)), 4)
    (0.5, 0.975)
    """
    return np.asarray(_erfc(np.asarray(x, np.float64) / -math.sqrt(2)), np.float64) / 2


def log_normal_tail(x: ArrayLike) -> Floats:
    """Return the logarithm of `normal_tail`, with its digits in both tails."""
    x = np.asarray(x, np.float64)
    near, far = normal_tail(-np.abs(np.maximum(x, _FAR))), np.minimum(x, _FAR)
    u = 1 / np.square(far)
    series = np.log1p(u * (-1 + u * (3 + u * (-15 + u * 105))))
    series -= np.square(far) / 2 + np.log(-far) + math.log(2 * math.pi) / 2
    with np.errstate(divide="ignore"):
        return np.where(x > 0, np.log1p(-near), np.where(x < _FAR, series, np.log(near)))


def normal_quantile(p: ArrayLike) -> Floats:
    """Return the place below which a standard normal lies with probability p, elementwise."""
    p = np.asarray(p, np.float64)
    inner = np.asarray(_inverse(np.where((p > 0) & (p < 1), p, 0.5)), np.float64)
    ends = np.where(p == 0, -np.inf, np.where(p == 1, np.inf, np.nan))
    return np.where((p > 0) & (p < 1), inner, ends)


def student_quantile(p: ArrayLike) -> Floats:
    """Return quantiles of Student's law of three degrees of freedom, elementwise.

    With t = sqrt(3) tan(a) its distribution is 1/2 + (a + sin a cos a) / pi.
    """
    p = np.asarray(p, np.float64)
    low, high = np.full(p.shape, -math.pi / 2), np.full(p.shape, math.pi / 2)
    for _ in range(60):
        a = (low + high) / 2
        below = a + np.sin(a) * np.cos(a) < math.pi * (p - 0.5)
        low, high = np.where(below, a, low), np.where(below, high, a)
    return np.asarray(math.sqrt(3) * np.tan((low + high) / 2))


def log_binomial_tail(hits: ArrayLike, trials: ArrayLike, rate: ArrayLike) -> Floats:
    """Return the log probability of at least so many hits in trials of a rate, elementwise.

    Summed away from the mean, where each term is less than the one before.

    >>> round(float(np.exp(log_binomial_tail(8, 10, 0.5))), 4)
    0.0547
    """
    k, n, x = (each.astype(np.float64) for each in np.broadcast_arrays(hits, trials, rate))
    below = k <= n * x  # then the other tail is summed: misses in trials of 1 - x
    k, x = np.where(below, n - k + 1, k), np.where(below, 1 - x, x)
    tail = _log_term(k, n, x) + np.log(_terms(k, n, x))
    with np.errstate(divide="ignore"):
        return np.where(below, np.log(-np.expm1(np.where(below, tail, -1.0))), tail)


def hit_rate(hits: ArrayLike, trials: ArrayLike, share: float) -> Floats:
    """Return the rate at which at least so many hits have probability `share`, elementwise.

    Newton's steps on the logarithm, from Wilson's limit, inside a bracket that only shrinks.

    Args:
        hits: Counts of at least 1.
        trials: Counts of at least `hits`.
        share: At most 1/2.
    """
    k, n = (each.astype(np.float64) for each in np.broadcast_arrays(hits, trials))
    shape = k.shape
    (k, n), back = np.unique(np.stack([k.ravel(), n.ravel()]), axis=1, return_inverse=True)
    z = -float(normal_quantile(share))
    x = (k + z**2 / 2 - z * np.sqrt(z**2 / 4 + k * (n - k) / n)) / (n + z**2)
    low, high = np.zeros(x.shape), k / n
    for _ in range(100):
        terms = _terms(k, n, x)
        gap = _log_term(k, n, x) + np.log(terms) - math.log(share)
        low, high = np.where(gap <= 0, x, low), np.where(gap > 0, x, high)
        new = x - gap * terms * x / k
        new = np.where((new >= low) & (new <= high), new, (low + high) / 2)
        moved, x = np.abs(new - x), new
        if (moved <= 1e-12 * x).all():
            break
    return np.asarray(x[back.ravel()].reshape(shape))


def _log_term(k: Floats, n: Floats, x: Floats) -> Floats:
    """Return the log probability of exactly k hits in n trials of rate x."""
    ways = np.asarray(_lgamma(n + 1) - _lgamma(k + 1) - _lgamma(n - k + 1), np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        misses = np.where(n > k, (n - k) * np.log1p(-x), 0.0)
        return np.asarray(ways + np.where(k > 0, k * np.log(x), 0.0) + misses)


def _terms(k: Floats, n: Floats, x: Floats) -> Floats:
    """Return P(at least k) / P(exactly k) for k at or above the mean n x."""
    many = 5 * math.isqrt(int(n.max(initial=0))) + 50  # the rest is below exp(-50) of it
    if k.size > 1 and k.size * many > _CELLS:
        parts = zip(*(np.array_split(each.ravel(), 2) for each in (k, n, x)), strict=True)
        return np.concatenate([_terms(*part) for part in parts]).reshape(k.shape)
    j = np.arange(1, many)
    left, odds = (n - k)[..., None] - j + 1, (x / np.maximum(1 - x, 1e-300))[..., None]
    ratios = np.maximum(left, 0.0) / (k[..., None] + j) * odds
    return np.asarray(1 + np.cumprod(ratios, axis=-1).sum(axis=-1))


def descend(
    loss: Callable[[Floats], tuple[float, Floats]], start: Floats, *, steps: int = 60
) -> Floats:
    """Return where a convex loss is least, by limited-memory BFGS from a start.

    Args:
        loss: Returns value and slope (d,) at a place (d,).
        start: (d,) where to begin.
        steps: At most so many.
    """
    x, (value, slope) = start, loss(start)
    moves: list[tuple[Floats, Floats]] = []
    for _ in range(steps):
        if np.abs(slope).max(initial=0.0) <= 1e-5:
            break
        way = -_two_loops(slope, moves)
        fall, size = float(slope @ way), 1.0 if moves else min(1.0, 1 / float(np.abs(slope).sum()))
        new, (least, turned) = x + size * way, loss(x + size * way)
        while not least <= value + 1e-4 * size * fall and size > 1e-12:
            size /= 2
            new, (least, turned) = x + size * way, loss(x + size * way)
        if not value - least > 2.2e-9 * max(abs(value), abs(least), 1.0):
            return new if least < value else x
        if float((new - x) @ (turned - slope)) > 0:
            moves = [*moves, (new - x, turned - slope)][-10:]
        x, value, slope = new, least, turned
    return x


def _two_loops(slope: Floats, moves: list[tuple[Floats, Floats]]) -> Floats:
    """Return the inverse Hessian that the last moves tell of, times the slope."""
    way, shares = slope, []
    for move, turn in reversed(moves):
        shares.append(float(move @ way) / float(move @ turn))
        way = way - shares[-1] * turn
    if moves:
        way = way * (float(moves[-1][0] @ moves[-1][1]) / float(np.square(moves[-1][1]).sum()))
    for (move, turn), share in zip(moves, reversed(shares), strict=True):
        way = way + (share - float(turn @ way) / float(move @ turn)) * move
    return way
