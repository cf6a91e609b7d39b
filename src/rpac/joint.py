"""The leakage of independent noise on several axes, of any shape: by the adversary's posterior."""

from __future__ import annotations

import numpy as np

from rpac._types import Floats, Ints
from rpac.confidence import lower_mean
from rpac.noise.base import integer_table, look_up, system_uniforms
from rpac.noise.grid import GridNoise
from rpac.reference.mixture import blocks, log_sum_exp

ROUNDING = 4e-13
"""Added to sums of float64 terms (per axis for determinants), so that rounding never lowers one."""


def centred(codes: Ints, weights: Floats) -> Ints:
    """Return integer worlds around 0, so that dividing and squaring them keeps their digits."""
    return np.asarray(codes - np.rint(weights @ codes).astype(np.int64))


def entropy(weights: Floats) -> float:
    """Return the entropy of positive weights, in nats."""
    return float(-(weights @ np.log(weights)))


def table_bound(
    codes: Ints, weights: Floats, noise: GridNoise, delta: float, draws: int | None
) -> tuple[float, Floats]:
    """Return the mixture bound for independent tables of any shape, and density draws.

    The deficit is minus the log posterior of the true world: MI = H(X) - E[-log P(X | Y)].
    """
    n = draws or int(np.clip(4e7 // codes.size, 5_000, 400_000))
    worlds = look_up(integer_table(weights), system_uniforms(n))
    deficits = log_posterior_loss(
        codes, weights, noise, worlds, noise.at(system_uniforms(n, len(noise.steps)))
    )
    surprise, whole = -np.log(weights), entropy(weights)
    limits = np.array([[whole], [surprise.max()]])
    remains = least_deficit(deficits, surprise[worlds, None], limits, delta)
    rounding = ROUNDING * (1 + codes.shape[1] + codes.shape[0])
    return whole - remains + rounding, surprise[worlds] - deficits


def least_deficit(deficits: Floats, known: Floats, limits: Floats, delta: float) -> float:
    """Return a lower bound of the mean of (n,) non-negative deficits.

    Only what known numbers do not explain is left to chance. Clipping from above only lowers the
    mean. Slopes and clip come from pilot draws, which the bound leaves out.

    Args:
        deficits: (n,) independent draws.
        known: (n, k) numbers that came with each draw.
        limits: (2, k) lower bounds of their means, and the largest values they can take.
        delta: Probability of error.
    """
    pilot, (means, most) = max(2, len(deficits) // 16), limits
    slopes = known_slopes(deficits[:pilot], known[:pilot])
    rest = deficits - (known - means) @ slopes
    low = -float((most - means) @ slopes)
    cap = max(low, float(rest[:pilot].max()))
    return max(0.0, lower_mean(np.minimum(rest[pilot:], cap), low, cap, delta))


def known_slopes(deficits: Floats, known: Floats) -> Floats:
    """Return slopes of deficits on known numbers, (k,), that leave little variance.

    Not negative, because means are bounded from below only; at most 1, so that rounding stays
    rounding where a known number hardly varies.
    """
    fit = np.linalg.lstsq(known - known.mean(axis=0), deficits - deficits.mean(), rcond=None)
    return np.asarray(np.clip(fit[0], 0.0, 1.0))


def log_posterior_loss(
    codes: Ints, weights: Floats, noise: GridNoise, worlds: Ints, shifts: Ints
) -> Floats:
    """Return -log P(X = world | Y = code + shift), (n,), for (n,) worlds and (n, r) shifts."""
    out = np.empty(len(worlds))
    logs = [axis.log_mass for axis in noise.axes]
    for rows in blocks(len(worlds), len(codes)):
        y = codes[worlds[rows]] + shifts[rows]
        kernel = np.repeat(np.log(weights)[:, None], len(y), axis=1)
        for c, (low, log_q) in enumerate(logs):
            cell = y[:, c] - codes[:, [c]] - low
            kernel += log_q[np.clip(cell, 0, log_q.size - 1)]
        own = kernel[worlds[rows], np.arange(len(y))].copy()
        out[rows] = log_sum_exp(kernel) - own
    return np.maximum(out, 0.0)
