"""Meet a budget by scale from the safe side: the last step of every Gaussian calibrator.

Leakage falls with the scale of Gaussian noise, so a bracket on log scale is safe. The search uses
draws of its own, never a certificate's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rpac._base.types import Floats, Ints
from rpac.certificate.confidence import MOST_STAKE
from rpac.certificate.controls import Controls
from rpac.certificate.evidence import grid_leakage
from rpac.certificate.kernel import grid_kernel, ideal_kernel
from rpac.certificate.log_det import log_det
from rpac.certificate.open import box_bound, code_box, fit_reference, open_bound
from rpac.certificate.references import MixtureReference
from rpac.certificate.sampled import control_slopes, default_draws
from rpac.noise.base import TOTAL, integer_table, look_up, study_uniforms
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import GridNoise, tabulate
from rpac.worlds.outputs import Outputs

DELTA = 5e-7
"""Error that the search plans for: the first attempt at the default confidence."""
_LATER = 1e-6 / 20 / 2 / 2
"""Error of a statistical bound at the fourth attempt, its half beside a lower bound and units'."""
_OPEN_MARGIN = 0.97
_SMOOTH = 1e-6
"""How little a lattice may differ from a continuum for what holds there to be used here."""
_FIRST_LOOK = 4
"""A search begins with one draw in so many: the last steps need them all, the first do not."""
_LEAST_PLANNED = 8_000
_MANY = 1_000
"""Worlds beyond which a look takes its time, and rounding on the grid no longer shows in it."""
_FAR, _NEAR = 0.05, 0.01
"""A change of log power beyond which intervals are looked at again; a share of the budget within
which, for many worlds, the last step is not looked at."""


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


class Expected(NamedTuple):
    """What a certificate will very likely say at most, and how that falls with log power."""

    bound: float
    slope: float


class Beside(NamedTuple):
    """What changes little with the scale of noise, to be worked out once for many scales.

    Attributes:
        heights: (m,) heights of distinct worlds.
        width: Of a certificate's interval.
        variance: Of what it judges.
    """

    heights: Floats
    width: float
    variance: float

    @classmethod
    def of(cls, outputs: Outputs, noise: GaussianNoise, seed: int) -> Beside:
        """Return what goes with several directions of noise."""
        law = tabulate(outputs, noise)
        codes, p = _distinct_codes(outputs, law)
        mixture = _mixture(codes, p, law)
        return cls(mixture.heights(), *_interval_of_few(mixture, law, np.random.default_rng(seed)))


def expected_bound(outputs: Outputs, noise: GaussianNoise, seed: int) -> float:
    """Return what a certificate of finite worlds will very likely say at most.

    The mean comes from draws of its own; its error, the certificate's interval and the
    certificate's own scatter (three standard errors together) are added. The ideal and the
    tabulated law must both stay below.
    """
    if noise.variances.size == 1:
        return proved_bound(outputs, noise)
    return expected(outputs, noise, seed, beside=Beside.of(outputs, noise, seed)).bound


def expected(
    outputs: Outputs, noise: GaussianNoise, seed: int, *, beside: Beside, share: int = 1
) -> Expected:
    """Return `expected_bound` of noise in several directions.

    Args:
        outputs: Finite worlds.
        noise: To be judged.
        seed: Study randomness.
        beside: `Beside` of noise like this one.
        share: For a first look: the mean comes from one draw in so many, its error left as it is.
    """
    law = tabulate(outputs, noise)
    codes, p = _distinct_codes(outputs, law)
    ideal = noise.whiten(outputs.values, outputs.center)
    proved = log_det(codes / law.scales, p, grid_kernel(law.laws))
    # Where the grid brings a few worlds nearer together, the ideal law leaks a little more.
    nearer = max(0.0, log_det(ideal, outputs.weights, ideal_kernel(noise)) - proved)
    judging = default_draws(*codes.shape)
    planned = min(int(np.clip(2e7 // len(codes), _LEAST_PLANNED, 2_000_000)), judging)
    rng = np.random.default_rng(seed)
    mixture = _mixture(codes, p, law)
    mean, variance, slope = _mean_density(
        mixture, law, rng, n=planned // share, heights=beside.heights
    )
    width = beside.width + 3.0 * math.sqrt(variance / planned + beside.variance / judging)
    return Expected(nearer + min(proved, mean + width + 2 * mixture.rounding), slope)


def _distinct_codes(outputs: Outputs, law: GridNoise) -> tuple[Ints, Floats]:
    """Return distinct worlds as integers, and their weights.

    In one order whatever the scale or the coordinates: equal draws pick equal worlds along it.
    """
    first, p = _first_of_each(outputs)
    return np.asarray(law.encode(outputs.values)[first]), p


def _first_of_each(outputs: Outputs) -> tuple[Ints, Floats]:
    """Return the places of distinct worlds, in their own order, and their total weights."""
    _, first, inverse = np.unique(outputs.values, axis=0, return_index=True, return_inverse=True)
    order, weights = np.argsort(first), np.bincount(inverse.ravel(), outputs.weights)
    return first[order], np.asarray(weights[order], np.float64)


def _mixture(codes: Ints, p: Floats, law: GridNoise) -> MixtureReference:
    points = codes / law.scales
    return MixtureReference(points - p @ points, p)


def spread_out(rng: np.random.Generator, p: Floats, n: int) -> Ints:
    """Return n worlds by systematic sampling: each within 1 of its expected number."""
    places = (np.arange(n) + rng.random()) / n
    return look_up(integer_table(p), (places * TOTAL).astype(np.uint64))


def _interval_of_few(
    mixture: MixtureReference, law: GridNoise, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the width of a certificate's interval, and the variance of what it judges."""
    kernel, judging = grid_kernel(law.laws), default_draws(*mixture.points.shape)
    n = int(np.clip(1e7 // len(mixture.points), 1_000, 20_000))
    drawn, local = np.unique(spread_out(rng, mixture.weights, n), return_inverse=True)
    known = Controls.of(mixture, kernel, drawn, np.bincount(local) / n)
    noise = law.at(study_uniforms(rng, n, len(law.axes))) / law.scales
    plus, minus = mixture.densities(drawn[local], noise)
    deficits = known.heights[local] - 0.5 * (plus + minus)
    low, high = known.means
    controls = known.at(kernel, local, noise) - low
    slopes = control_slopes(deficits, controls)
    judged = deficits - controls @ slopes
    reach = float((known.ends[1] - low) @ slopes)
    width = expected_interval(judged, reach, judging)
    return width + float((high - low) @ slopes), float(judged.var())


def _mean_density(
    mixture: MixtureReference,
    law: GridNoise,
    rng: np.random.Generator,
    *,
    n: int,
    heights: Floats,
) -> tuple[float, float, float]:
    """Return an estimate of E[g_X(B)], the leakage, from n pairs of draws; its variance times n.

    And how it falls with the log of the noise's power. Gaussian noise has E[B . f(B)] =
    E[div f(B)]; for f the gradient of g this makes (u_i - E[u | y]) . b + tr Cov(u | y) a number of
    mean 0 that explains most of g, at the price of a few columns. `heights` explain how worlds
    differ.
    """
    worlds, kernel = spread_out(rng, mixture.weights, n), grid_kernel(law.laws)
    noise = law.at(study_uniforms(rng, n, len(law.axes))) / law.scales
    points, dim = mixture.points, mixture.points.shape[1]
    columns = np.column_stack([np.ones(len(points)), points, np.square(points).sum(axis=1)])
    density, zero, spread = np.zeros(n), np.zeros(n), 0.0
    for sign in (0.5, -0.5):
        for rows, terms, top in mixture.kernels(worlds, 2 * sign * noise):
            sums = terms @ columns
            means = sums[:, 1 : dim + 1] / sums[:, :1]
            density[rows] -= 0.5 * (top + np.log(sums[:, 0]))
            zero[rows] += sign * np.einsum("nr,nr->n", noise[rows], points[worlds[rows]] - means)
            unsure = sums[:, -1] / sums[:, 0] - np.square(means).sum(axis=1)
            zero[rows] += 0.5 * unsure
            spread += 0.25 * float(unsure.sum()) / n
    powers = heights[:, None] ** np.arange(1, 4)
    powers -= mixture.weights @ powers
    known = [np.ones(n), np.square(noise) - kernel.variances, powers[worlds]]
    if kernel.log_theta < _SMOOTH:
        known.append(zero)
    design = np.column_stack(known)
    fit = np.linalg.lstsq(design, density, rcond=None)[0]
    return float(fit[0]) + kernel.excess, float((density - design @ fit).var()), spread


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
    if noise.variances.size == 1:
        return meet(
            lambda t: proved_bound(outputs, noise.scaled(math.exp(t))) - nats,
            3e-4 * nats, width=1e-3, slope=slope, most=most,
        )  # fmt: skip
    beside = Beside.of(outputs, noise, seed)

    def gap(t: float, share: int = 1) -> float:
        return look(t, share).bound - nats

    def look(t: float, share: int = 1) -> Expected:
        at = noise.scaled(math.exp(t))
        return expected(outputs, at, seed, beside=beside, share=share)

    many = len(outputs.values) > _MANY
    tolerance = nats * (1e-3 if many else 3e-4)  # well inside the interval
    near = meet(lambda t: gap(t, _FIRST_LOOK), tolerance, width=1e-3, slope=slope, most=most)
    if near > most:
        return near
    if abs(near) > _FAR:
        beside = Beside.of(outputs, noise.scaled(math.exp(near)), seed)
    found = look(near)
    over = found.bound - nats
    if many and abs(over) <= _NEAR * nats:  # a last step, known well, from its safe side
        return near + (over + tolerance / 2) / (found.slope * (0.9 if over > 0 else 1.1))
    return near + meet(lambda t: gap(near + t), tolerance, width=1e-3, slope=found.slope)


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
