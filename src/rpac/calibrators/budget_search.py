"""Meet a budget by scale from the safe side: the last step of every Gaussian calibrator.

Leakage falls with the scale of Gaussian noise, so a bracket on log scale is safe. The search uses
draws of its own, never a certificate's.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from rpac._base.types import Floats, Ints
from rpac.certificate.confidence import MOST_STAKE
from rpac.certificate.evidence import grid_leakage
from rpac.certificate.kernel import grid_kernel, ideal_kernel
from rpac.certificate.log_det import log_det
from rpac.certificate.open import box_bound, code_box, fit_reference, open_bound
from rpac.certificate.references import MixtureReference
from rpac.certificate.sampled import control_slopes, default_draws
from rpac.noise.base import integer_table, look_up, study_uniforms
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import GridNoise, tabulate
from rpac.worlds.outputs import Outputs

DELTA = 5e-7
"""Error that the search plans for: the first attempt at the default confidence."""
_LATER = 1e-6 / 20 / 2 / 2
"""Error of a statistical bound at the fourth attempt, its half beside a lower bound and units'."""
_OPEN_MARGIN = 0.97
_FIRST_LOOK = 4
"""A search begins with one draw in so many: the last steps need them all, the first do not."""


def proved_bound(outputs: Outputs, noise: GaussianNoise) -> float:
    """Return the least proved bound of the tabulated noise; for draws an estimate of the bound.

    The estimate comes from the planning half alone, and leaves the judging half untouched.
    """
    law = tabulate(outputs, noise)
    if outputs.exact:
        codes = law.encode(outputs.values)
        found = grid_leakage(codes, outputs.weights, law, delta=DELTA, draws=0).proved
        return min(found.values())
    codes = law.encode_rows(outputs.planning.values)
    half, box = len(codes) // 2, code_box(outputs, law)
    reference = fit_reference(codes[:half], law, box, DELTA)
    judged = open_bound(codes[half:], law, reference, box, DELTA) / _OPEN_MARGIN
    return min(judged, box_bound(law, box))


def expected_bound(outputs: Outputs, noise: GaussianNoise, seed: int, share: int = 1) -> float:
    """Return what a certificate of finite worlds will very likely say at most.

    The mean comes from draws of its own; its error, the certificate's interval and the
    certificate's own scatter (three standard errors together) are added. The ideal and the
    tabulated law must both stay below.

    Args:
        outputs: Finite worlds.
        noise: To be judged.
        seed: Study randomness.
        share: For a first look: the mean comes from one draw in so many, its error left as it is.
    """
    law = tabulate(outputs, noise)
    if len(law.axes) == 1:
        return proved_bound(outputs, noise)
    first, p = _first_of_each(outputs)  # in one order whatever the scale or the coordinates, so
    codes = law.encode(outputs.values)[first]  # that equal draws pick equal worlds along it
    ideal = noise.whiten(outputs.values, outputs.center)
    proved = log_det(codes / law.scales, p, grid_kernel(law.laws))
    # Where the grid brings a few worlds nearer together, the ideal law leaks a little more.
    nearer = max(0.0, log_det(ideal, outputs.weights, ideal_kernel(noise)) - proved)
    return nearer + min(proved, _sampled_bound(codes / law.scales, p, law, seed, share))


def _first_of_each(outputs: Outputs) -> tuple[Ints, Floats]:
    """Return the places of distinct worlds, in their own order, and their total weights."""
    _, first, inverse = np.unique(outputs.values, axis=0, return_index=True, return_inverse=True)
    order, weights = np.argsort(first), np.bincount(inverse.ravel(), outputs.weights)
    return first[order], np.asarray(weights[order], np.float64)


def _sampled_bound(points: Floats, p: Floats, law: GridNoise, seed: int, share: int) -> float:
    judging = default_draws(*points.shape)
    planned = min(int(np.clip(2e7 // len(points), 10_000, 2_000_000)), judging)
    n = planned // share
    rng = np.random.default_rng(seed)
    mixture = MixtureReference(points - p @ points, p)
    heights = mixture.heights()
    worlds = look_up(integer_table(p), study_uniforms(rng, n))
    noise = law.at(study_uniforms(rng, n, len(law.axes))) / law.scales
    plus, minus = mixture.densities(worlds, noise)
    deficits = heights[worlds] - 0.5 * (plus + minus)
    kernel, tall = grid_kernel(law.laws), heights[worlds] - p @ heights
    lengths, mean_length, most = kernel.lengths(noise)
    known = np.stack([lengths - mean_length, -tall], axis=1)
    slopes = control_slopes(deficits, known)
    judged = deficits - known @ slopes
    reach = np.array([most - mean_length, p @ heights - heights.min()]) @ slopes
    # Draws of its own may be explained further, by all whose mean is known well enough.
    square = np.square(tall) - p @ np.square(heights - p @ heights)
    design = np.column_stack([
        np.ones(n), np.square(noise) - kernel.variances, tall, square, tall * lengths,
    ])  # fmt: skip
    fit = np.linalg.lstsq(design, deficits, rcond=None)[0]
    scatter = 3.0 * math.sqrt((deficits - design @ fit).var() / planned + judged.var() / judging)
    width = expected_interval(judged, float(reach), judging) + scatter
    width += float(2 * mixture.rounding + slopes[0] * (kernel.variances.sum() - mean_length))
    return float(p @ heights - fit[0]) + width


def expected_interval(draws: Floats, reach: float, judging: int) -> float:
    """Return how far from the mean of so many judging draws a certificate will stay.

    Args:
        draws: (n,) draws like them.
        reach: How far below 0 they might lie at most; it limits what a bet may stake.
        judging: How many will be made.
    """
    kept = judging * 15 / 16 / 1.04  # a sixteenth is left out; stakes that learn cost two per cent
    sd, goal = max(float(draws.std()), 1e-12), math.log(1 / _LATER)
    most = MOST_STAKE / max(float(draws.mean()) + reach, 1e-12)
    stake = min(math.sqrt(2 * goal / kept) / sd, most)
    return goal / (kept * stake) + stake * sd**2 / 2


def meet_above(outputs: Outputs, noise: GaussianNoise, nats: float) -> GaussianNoise:
    """Return `noise`, scaled up as little as its proved bound needs; never scaled down."""

    def gap(t: float) -> float:
        return proved_bound(outputs, noise.scaled(math.exp(t))) - nats

    return noise if gap(0.0) <= 0 else noise.scaled(math.exp(meet(gap, 1e-4 * nats, slope=nats)))


def meet_tightly(
    outputs: Outputs,
    noise: GaussianNoise,
    nats: float,
    seed: int,
    *,
    slope: float,
    most: float = math.inf,
) -> float:
    """Return t: `noise` times exp(t), in power, has an expected bound just below the budget.

    Args:
        outputs: Finite worlds.
        noise: To be scaled.
        nats: The budget.
        seed: Study randomness.
        slope: An estimate of -dMI / dt.
        most: A t at which the noise is no longer wanted; where more is needed, some t above it.
    """

    def gap(t: float, share: int = 1) -> float:
        return expected_bound(outputs, noise.scaled(math.exp(t)), seed, share) - nats

    tolerance = 3e-4 if len(outputs.values) <= 1_000 else 1e-3  # well inside the interval
    near = meet(lambda t: gap(t, _FIRST_LOOK), tolerance * nats, width=1e-3, slope=slope, most=most)
    if near > most:
        return near
    return near + meet(lambda t: gap(near + t), tolerance * nats, width=1e-3, slope=slope)


def meet_gaussian(outputs: Outputs, shape: GaussianNoise, nats: float, seed: int) -> GaussianNoise:
    """Return the shape, scaled up or down until a certificate will say the budget."""
    if outputs.exact:
        t = meet_tightly(outputs, shape, nats, seed, slope=min(nats, 0.5 * shape.variances.size))
        return shape.scaled(math.exp(t))

    def gap(t: float) -> float:
        return proved_bound(outputs, shape.scaled(math.exp(t))) - nats

    return shape.scaled(math.exp(meet(gap, 1e-3 * nats, slope=nats)))


def meet(
    gap: Callable[[float], float],
    tolerance: float,
    *,
    width: float = 1e-5,
    slope: float = 1.0,
    most: float = math.inf,
) -> float:
    """Return a t with -tolerance <= gap(t) <= 0, or the safe end of a bracket of that width.

    The gap falls with t, at first by about `slope`. Newton steps by the last slope measured, kept
    well inside the bracket. The answer is a t that was evaluated and found safe: an error of the
    search costs utility, never the budget. A t beyond `most` is returned without evaluation.
    """
    at, longest, slope = 0.0, 1.2, max(slope, 1e-9)
    low, high, before = -math.inf, math.inf, (0.0, math.nan)
    for _ in range(60):
        here = gap(at)
        low, high = (at, high) if here > 0 else (low, at)
        if -tolerance <= here <= 0 or high - low < width:
            break
        if at != before[0]:
            measured = (before[1] - here) / (at - before[0])
            slope = float(np.clip(measured, slope / 4, slope * 4))
        before = (at, here)
        at += float(np.clip((here + tolerance / 2) / slope, -longest, longest))
        longest *= 2
        if math.isfinite(high - low):
            room = 0.05 * (high - low)
            at = min(max(at, low + room), high - room)
        elif at > most:
            return at
    return high
