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

*When to stop.* Draws are made in batches, and end once the bound lies at or below a limit. The
pilot is a share of all draws that are planned, so its slopes and cap, and every stake after it, are
the same whenever one stops; `lower_mean` of the draws so far then holds at all times together, with
one delta, hence at the time that was chosen by looking at it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rpac._base.entropy import ROUNDING, entropy
from rpac._base.types import Floats, Ints
from rpac.certificate.atoms import merge_tail
from rpac.certificate.confidence import lower_mean
from rpac.certificate.controls import MOST_AXES, MOST_FORMS, Controls
from rpac.certificate.kernel import Kernel
from rpac.certificate.references import MixtureReference, blocks, log_sum_exp
from rpac.noise.base import integer_table, look_up, system_uniforms
from rpac.noise.grid import GridNoise

FLOOR = 0.01
"""Share of the prior in the decoder behind a lower bound; it keeps log posteriors bounded."""
_MOST_NOISE, _LEAST_DRAWS = 6_000_000, 20_000
"""Numbers of noise that are drawn unless told, at most; and draws at least."""
_LOOKS = 8
"""Batches of the draws that are planned: the first two at once, then a look after each."""
_MOST_SCORES = 1_000_000
_TURNS = 100
"""Rounds in which slopes are bettered, one control after another."""
NEVER = -math.inf
"""The limit of draws that end with the last of them."""


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
    deficits: Floats, controls: Floats, means: Floats, most: Floats, delta: float, planned: int = 0
) -> float:
    """Return a number that is above the mean of a deficit with probability at most `delta`.

    Args:
        deficits: (n,) independent draws, not negative.
        controls: (n, k) control variates that came with each draw.
        means: (k,) lower bounds of their means.
        most: (k,) the largest values they can take.
        delta: Probability of error, for all n up to `planned` together.
        planned: How many draws there may be in the end, fixed before the first; by default n.
    """
    planned = planned or len(deficits)
    pilot = max(2, planned // 16)
    slopes = control_slopes(deficits[:pilot], controls[:pilot])
    rest = deficits - (controls - means) @ slopes
    low = -float((most - means) @ slopes)
    cap = max(low, float(rest[:pilot].max()))
    return max(0.0, lower_mean(np.minimum(rest[pilot:], cap), low, cap, delta, planned - pilot))


def judged(
    draw: Callable[[int], Floats], bound: Callable[[Floats], float], planned: int, limit: float
) -> tuple[Floats, float]:
    """Return draws as rows, and the bound that follows from them, once it is at most `limit`.

    One look at all of the planned draws where there is no limit, or they are few.
    """
    looks = range(2, _LOOKS) if limit > NEVER and planned >= 2 * _LOOKS else ()
    rows = draw(0)
    for stop in (*(planned * k // _LOOKS for k in looks), planned):
        rows = np.concatenate([rows, draw(stop - len(rows))])
        if (found := bound(rows)) <= limit:
            break
    return rows, found


def control_slopes(deficits: Floats, controls: Floats) -> Floats:
    """Return slopes of deficits on control variates, (k,), that leave little variance.

    Not negative, because the controls' means are bounded from below only; at most 1, so that
    rounding stays rounding where a control hardly varies. The best such slopes, one after another
    in turns: controls that are all but equal would have opposite ones without the limits, and
    cutting those off leaves more variance than there was.
    """
    away = controls - controls.mean(axis=0)
    gram, cross = away.T @ away, away.T @ (deficits - deficits.mean())
    own, slopes = np.diagonal(gram), np.zeros(len(cross))
    moving = np.flatnonzero(own > 1e-12 * own.max(initial=0.0))
    for _ in range(_TURNS):
        for j in moving:
            step = (cross[j] - gram[j] @ slopes) / own[j]
            slopes[j] = min(max(slopes[j] + step, 0.0), 1.0)
    return slopes


def default_draws(worlds: int, rank: int) -> int:
    """Return how many judging draws a certificate makes unless told: a second's worth or more."""
    least = 30_000 if rank <= MOST_AXES and worlds <= MOST_FORMS else 60_000
    many = np.clip(4e7 // worlds, least, 2_000_000)
    return int(min(many, max(_MOST_NOISE // rank, _LEAST_DRAWS)))


def kernel_bounds(
    points: Floats, weights: Floats, kernel: Kernel, delta: float, draws: int, limit: float = NEVER
) -> Sampled:
    """Return the bounds for (m, r) worlds under Gaussian noise; proof at the top.

    Upper and lower bound share the error `delta`, so that both hold together. Draws end early
    where the upper bound is at or below `limit`.
    """
    main, merged = merge_tail(weights)
    p = weights[main] / weights[main].sum()
    mixture, table = MixtureReference(points[main], p), integer_table(p)
    known = Controls.of(mixture, kernel, np.arange(p.size), p)
    base = float(p @ known.heights) + kernel.excess + 2 * mixture.rounding + ROUNDING
    (low, high), (least, most) = known.means, known.ends

    def draw(n: int) -> Floats:
        worlds, noise = look_up(table, system_uniforms(n)), kernel.draw(n)
        sides, controls = mixture.densities(worlds, noise), known.at(kernel, worlds, noise)
        deficits = np.maximum(known.heights[worlds] - 0.5 * (sides[0] + sides[1]), 0.0)
        return np.column_stack([*sides, deficits, controls])

    def bound(rows: Floats) -> float:
        return merged(base - mean_at_least(rows[:, 2], rows[:, 3:], low, most, delta / 2, draws))

    rows, upper = judged(draw, bound, draws, limit)
    scores = 0.5 * (_floored(rows[:, 0]) + _floored(rows[:, 1]))
    score = mean_at_least(scores, -rows[:, 3:], -high, -least, delta / 2, draws) + math.log(FLOOR)
    lower = max(0.0, float(weights[main].sum()) * (score - mixture.rounding))
    return Sampled(merged(base), upper, lower, rows[:_MOST_SCORES, 0])


def _floored(densities: Floats) -> Floats:
    """Return log scores of a decoder, from -log `FLOOR` up: their mean bounds MI from below.

    The posterior, mixed with `FLOOR` of the prior, is a decoder pi; E[log pi(X | Y) / p(X)] is at
    most MI for every decoder (by E[KL(posterior || pi)] >= 0), and the floor bounds its terms from
    below. With rare worlds merged, MI(X; Y) >= (1 - e) MI of the main ones, by conditioning on T.
    """
    kept = np.logaddexp(densities + math.log1p(-FLOOR), math.log(FLOOR))
    return np.asarray(np.maximum(kept - math.log(FLOOR), 0.0))


def table_bound(
    codes: Ints, weights: Floats, noise: GridNoise, delta: float, draws: int | None,
    limit: float = NEVER,
) -> tuple[float, Floats]:  # fmt: skip
    """Return the bound for independent tables of any shape, and density draws; proof at the top.

    Draws end early where the bound is at or below `limit`.
    """
    n = draws or int(np.clip(4e7 // codes.size, 5_000, 400_000))
    surprise, whole, table = -np.log(weights), entropy(weights), integer_table(weights)
    means, most = np.array([whole]), np.array([surprise.max()])
    rounding = ROUNDING * (1 + codes.shape[1] + codes.shape[0])

    def draw(n: int) -> Floats:
        worlds, shifts = look_up(table, system_uniforms(n)), system_uniforms(n, len(noise.steps))
        loss = log_posterior_loss(codes, weights, noise, worlds, noise.at(shifts))
        return np.column_stack([loss, surprise[worlds]])

    def bound(rows: Floats) -> float:
        remains = mean_at_least(rows[:, 0], rows[:, 1:], means, most, delta, n)
        return float(whole - remains + rounding)

    rows, found = judged(draw, bound, n, limit)
    return found, rows[:, 1] - rows[:, 0]


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
