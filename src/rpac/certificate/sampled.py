"""The one statistical bound for finite worlds: a mean of deficits, with control variates.

Both bounds here have the form

    MI(X; Y) <= base - E[D],    D >= 0,    base a finite sum,                                  (1)

so what is needed is a number that is above E[D] with probability at most delta.

*Gaussian kernels.* MI <= KL(B || ideal kernel) + E[g_X(B)] with g of `references` (split log q into
the ideal kernel and the rest). The noise is even, so E[g_X(B)] is the mean over a pair +-B, and by
concavity that mean lies below the height h_X = g_X(0). Hence (1) with the deficit
D = h_X - (g_X(B) + g_X(-B)) / 2 and base = KL + sum_i p_i h_i. Deficits are of the order of the
leakage, and so is the interval.

*Tables of any shape.* MI = H(X) - E[-log P(X | Y)]: (1) with D = -log P(X | Y) and base = H(X).

*The lower bound of E[D]* (`mean_at_least`). Let K_1..K_k be control variates: numbers that come
with each draw, each at most `most` and with E[K] >= `means`, both known beforehand. For slopes
s >= 0 the rest R = D - s . (K - means) has

    E[R] <= E[D],    R >= low = -s . (most - means),    E[min(R, cap)] <= E[R].

Slopes and cap come from pilot draws that the bound leaves out, so given the pilot the remaining
min(R, cap) are independent draws of one law on [low, cap], and `lower_mean` of them is above
E[min(R, cap)] <= E[D] with probability at most delta. QED.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rpac._base.entropy import ROUNDING, entropy
from rpac._base.types import Floats, Ints
from rpac.certificate.atoms import merge_tail
from rpac.certificate.confidence import lower_mean
from rpac.certificate.kernel import Kernel
from rpac.certificate.references import MixtureReference, blocks, log_sum_exp
from rpac.noise.base import integer_table, look_up, system_uniforms
from rpac.noise.grid import GridNoise

FLOOR = 0.01
"""Share of the prior in the decoder behind a lower bound; it keeps log posteriors bounded."""
_MOST_HEIGHTS = 20_000
_MOST_NOISE, _LEAST_DRAWS = 6_000_000, 20_000
"""Numbers of noise that are drawn unless told, at most; and draws at least."""
_MOST_SCORES = 1_000_000


class Sampled(NamedTuple):
    """What the draws say.

    Attributes:
        pairwise: The base of (1): an upper bound without sampling error.
        upper: The base minus a lower bound of the mean deficit.
        lower: A lower bound of the leakage.
        densities: Draws of the information density.
    """

    pairwise: float
    upper: float
    lower: float
    densities: Floats


def mean_at_least(
    deficits: Floats, controls: Floats, means: Floats, most: Floats, delta: float
) -> float:
    """Return a number that is above the mean of a deficit with probability at most `delta`.

    Args:
        deficits: (n,) independent draws, not negative.
        controls: (n, k) control variates that came with each draw.
        means: (k,) lower bounds of their means.
        most: (k,) the largest values they can take.
        delta: Probability of error.
    """
    pilot = max(2, len(deficits) // 16)
    slopes = control_slopes(deficits[:pilot], controls[:pilot])
    rest = deficits - (controls - means) @ slopes
    low = -float((most - means) @ slopes)
    cap = max(low, float(rest[:pilot].max()))
    return max(0.0, lower_mean(np.minimum(rest[pilot:], cap), low, cap, delta))


def control_slopes(deficits: Floats, controls: Floats) -> Floats:
    """Return slopes of deficits on control variates, (k,), that leave little variance.

    Not negative, because the controls' means are bounded from below only; at most 1, so that
    rounding stays rounding where a control hardly varies.
    """
    fit = np.linalg.lstsq(controls - controls.mean(axis=0), deficits - deficits.mean(), rcond=None)
    return np.asarray(np.clip(fit[0], 0.0, 1.0))


def default_draws(worlds: int, rank: int) -> int:
    """Return how many judging draws a certificate makes unless told: a second's worth or more."""
    many = np.clip(4e7 // worlds, 60_000, 2_000_000)
    return int(min(many, max(_MOST_NOISE // rank, _LEAST_DRAWS)))


def kernel_bounds(
    points: Floats, weights: Floats, kernel: Kernel, delta: float, draws: int
) -> Sampled:
    """Return the bounds for (m, r) worlds under Gaussian noise; proof at the top.

    Upper and lower bound share the error `delta`, so that both hold together.
    """
    main, merged = merge_tail(weights)
    p = weights[main] / weights[main].sum()
    mixture = MixtureReference(points[main], p)
    heights = mixture.heights() if p.size <= _MOST_HEIGHTS else -np.log(p)
    worlds = look_up(integer_table(p), system_uniforms(draws))
    noise = kernel.draw(draws)
    plus, minus = mixture.densities(worlds, noise)
    deficits = np.maximum(heights[worlds] - 0.5 * (plus + minus), 0.0)
    lengths, mean_length, longest = kernel.lengths(noise)
    controls = np.stack([lengths, -heights[worlds]], axis=1)
    means = np.array([mean_length, -(p @ heights)])
    most = np.array([longest, -heights.min()])
    base = float(p @ heights) + kernel.excess + 2 * mixture.rounding + ROUNDING
    upper = base - mean_at_least(deficits, controls, means, most, delta / 2)
    lower = _decoder_score(plus, minus, p, delta / 2) - mixture.rounding
    lower = max(0.0, float(weights[main].sum()) * lower)
    return Sampled(merged(base), merged(upper), lower, plus[:_MOST_SCORES])


def _decoder_score(plus: Floats, minus: Floats, p: Floats, delta: float) -> float:
    """Return a lower bound of MI from draws of the density: a decoder's mean log score.

    The posterior, mixed with `FLOOR` of the prior, is a decoder pi; E[log pi(X | Y) / p(X)] is at
    most MI for every decoder (by E[KL(posterior || pi)] >= 0), and the floor bounds its terms from
    below. With rare worlds merged, MI(X; Y) >= (1 - e) MI of the main ones, by conditioning on T.
    """
    floored = [
        np.logaddexp(side[:_MOST_SCORES] + math.log1p(-FLOOR), math.log(FLOOR))
        for side in (plus, minus)
    ]
    low, high = math.log(FLOOR), float(-np.log(p.min())) + 1e-9
    score = np.clip(0.5 * (floored[0] + floored[1]), low, high)  # from above: only lowers the mean
    return lower_mean(score, low, high, delta)


def table_bound(
    codes: Ints, weights: Floats, noise: GridNoise, delta: float, draws: int | None
) -> tuple[float, Floats]:
    """Return the bound for independent tables of any shape, and density draws; proof at the top."""
    n = draws or int(np.clip(4e7 // codes.size, 5_000, 400_000))
    worlds = look_up(integer_table(weights), system_uniforms(n))
    deficits = log_posterior_loss(
        codes, weights, noise, worlds, noise.at(system_uniforms(n, len(noise.steps)))
    )
    surprise, whole = -np.log(weights), entropy(weights)
    means, most = np.array([whole]), np.array([surprise.max()])
    remains = mean_at_least(deficits, surprise[worlds, None], means, most, delta)
    rounding = ROUNDING * (1 + codes.shape[1] + codes.shape[0])
    return whole - remains + rounding, surprise[worlds] - deficits


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
