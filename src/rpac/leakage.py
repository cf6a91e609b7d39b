"""How much a release leaks: exact sums, deterministic bounds and one Monte-Carlo bound, in nats.

Every function that returns an upper bound evaluates L(q, w) of `rpac.reference` for some
reference w, in units of the noise's own scale. Proofs are in docs/mathematics.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from rpac._checks import refuse
from rpac._types import Floats, Ints
from rpac.confidence import lower_mean, upper_mean
from rpac.density import lattice_densities, open_densities
from rpac.joint import ROUNDING, centred, entropy, least_deficit, table_bound
from rpac.noise.base import integer_table, look_up, system_uniforms
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import GridNoise, Laws
from rpac.noise.label import LabelChannel
from rpac.noise.lattice import LatticeNoise
from rpac.reference.gaussian import GaussianReference
from rpac.reference.mixture import MixtureReference
from rpac.reference.table import TableReference

LOSS_ERROR = 1e-9
"""Added per axis where a sum is taken by FFT."""
MERGED = 1e-7
"""Total weight of the worlds that the Monte-Carlo bound merges; fixed in advance."""
TAIL = 1e-4
"""Most that E|B|^2 loses where |B|^2 is clipped."""
FLOOR = 0.01
"""Share of the prior in the decoder behind a lower bound; it keeps log posteriors bounded."""
_EPS = float(np.finfo(float).eps)
_MOST_CELLS = 1 << 26
_MOST_HEIGHTS = 20_000
_MOST_SCORES = 1_000_000


@dataclass(frozen=True)
class Evidence:
    """What is known about a leakage.

    Attributes:
        proved: Upper bounds without sampling error, by name.
        statistical: At most one upper bound that holds with the confidence asked for.
        lower: A lower bound with that confidence.
        densities: Draws of the information density, for its quantiles (estimates); may be empty.
    """

    proved: dict[str, float]
    statistical: dict[str, float] = field(default_factory=dict)
    lower: float = 0.0
    densities: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class Kernel:
    """Gaussian noise in units of its own scale: ideal, or on a grid.

    Attributes:
        entropy: Entropy of B with respect to volume.
        variances: (r,) variances of its coordinates; 1 for ideal noise.
        excess: KL(B || ideal kernel), the price of tabulating.
        log_theta: Log of the most by which a Gaussian density, no narrower than B, can exceed 1
            when summed over the grid (Poisson summation); 0 for ideal noise.
        draw: n judging draws, (n, r).
    """

    entropy: float
    variances: Floats
    excess: float
    log_theta: float
    draw: Callable[[int], Floats]

    def lengths(self, noise: Floats) -> tuple[Floats, float, float]:
        """Return min(|b|^2, most) of (n, r) noise, a lower bound of its mean, and `most`.

        E(|B|^2 - most)+ <= (4 / e) E exp((|B|^2 - most) / 4), E exp(|B|^2 / 4) <= 2^(r / 2) for
        Gaussians on grids too, and `most` makes this `TAIL`.
        """
        most = 2.0 * self.variances.size * math.log(2.0) + 4.0 * math.log(4.0 / math.e / TAIL)
        squares = np.einsum("nr,nr->n", noise, noise)
        return np.minimum(squares, most), float(self.variances.sum()) - 1.01 * TAIL, most


def ideal_kernel(noise: GaussianNoise) -> Kernel:
    """Return the kernel of ideal Gaussian noise."""
    rank = noise.variances.size
    rng = np.random.default_rng()  # seeded by the operating system, afresh for every certificate
    entropy = 0.5 * rank * math.log(2.0 * math.pi * math.e)
    return Kernel(entropy, np.ones(rank), 0.0, 0.0, lambda n: rng.standard_normal((n, rank)))


@lru_cache(maxsize=16)
def grid_kernel(laws: Laws) -> Kernel:
    """Return the kernel of tabulated Gaussian noise, by its tables."""
    scales, rank = laws.scales, len(laws.each)
    decay = math.exp(-2.0 * math.pi**2 * float(laws.variances.min()))
    theta = 1.0 + 2.0 * decay / (1.0 - decay) if decay < 1 else math.inf  # exp(-a k^2) <= exp(-a k)
    variances = laws.variances / scales**2
    variances.setflags(write=False)
    return Kernel(
        entropy=sum(law.entropy for law in laws.each) - float(np.log(scales).sum()),
        variances=variances,
        excess=sum(law.excess for law in laws.each),
        log_theta=rank * math.log(theta),
        draw=lambda n: laws.at(system_uniforms(n, rank)) / scales,
    )


def distinct(points: Any, weights: Floats) -> tuple[Any, Floats]:
    """Return the distinct rows and their total weights: equal outputs are one world."""
    rows, inverse = np.unique(points, axis=0, return_inverse=True)
    return rows, np.asarray(np.bincount(inverse.ravel(), weights, len(rows)), np.float64)


def log_det(points: Floats, weights: Floats, kernel: Kernel) -> float:
    """Return the bound of the Gaussian reference with Y's moments: Auto-PAC's, on the grid too."""
    mean = weights @ points
    shifted = (points - mean) * np.sqrt(weights)[:, None]
    cov = shifted.T @ shifted + np.diag(kernel.variances)
    total, least = float(np.trace(cov)), float(kernel.variances.min())
    if total > 1e12 * least:
        return math.inf  # float64 cannot hold this determinant; H(X) is smaller anyway
    # With Y's own moments E[-log w(Y)] is the Gaussian entropy; sums over worlds round it.
    loss = 0.5 * (mean.size * math.log(2.0 * math.pi * math.e) + float(np.linalg.slogdet(cov)[1]))
    rounding = _determinant_rounding(mean.size, total / least * (1 + len(points) / 8))
    return loss - kernel.entropy + kernel.log_theta + rounding


def axis_log_det(points: Floats, weights: Floats, kernel: Kernel) -> float:
    """Return the log-determinant bound of the diagonal alone: never below `log_det` (Hadamard).

    It is the same for points around 0 (moments about it are no less than about the mean) on axes
    along which they are uncorrelated, such as Auto-PAC's.
    """
    variances = (kernel.variances + weights @ np.square(points)).tolist()
    rank, total, least = len(variances), sum(variances), min(kernel.variances.tolist())
    if not total <= 1e12 * least:
        return math.inf
    loss = 0.5 * (rank * math.log(2.0 * math.pi * math.e) + math.fsum(map(math.log, variances)))
    rounding = _determinant_rounding(rank, total / least * (1 + len(points) / 8))
    return loss - kernel.entropy + kernel.log_theta + rounding


def _determinant_rounding(rank: int, condition: float) -> float:
    return ROUNDING * (1 + rank) + 8 * _EPS * rank * condition


def lattice_law(codes: Ints, weights: Floats, axis: LatticeNoise) -> tuple[Ints, Floats]:
    """Return where each world's noise window starts, and the mass of Y, for integer worlds.

    Gaps wider than the noise are shut first: windows that do not overlap stay apart. The mass
    is empty where it would take more than 2**26 cells.
    """
    dense, order = axis.dense, np.argsort(codes)
    starts = np.zeros(codes.size, np.int64)
    starts[order[1:]] = np.cumsum(np.minimum(np.diff(codes[order]), dense.size))
    cells = int(starts.max()) + dense.size
    law = np.zeros(cells if cells <= _MOST_CELLS else 0)
    for start, weight in zip(starts, weights, strict=True) if law.size else ():
        law[start : start + dense.size] += weight * dense
    return starts, law


def lattice_leakage(codes: Ints, weights: Floats, axis: LatticeNoise) -> float:
    """Return MI(X; Y) = H(Y) - H(B) for (m,) integer worlds, as a finite sum.

    Infinite where the sum would have more than 2**26 terms; other bounds then apply.
    """
    law = lattice_law(codes, weights, axis)[1]
    mass = law[law > 0]
    return max(0.0, entropy(mass) - axis.entropy) if mass.size else math.inf


def _sum_rounding(worlds: int, leakage: float, axis: LatticeNoise) -> float:
    """Return a bound on the float64 error of `lattice_leakage`: masses are sums over worlds."""
    return ROUNDING + _EPS * (worlds + 100) * (1.0 + leakage + 2.0 * axis.entropy)


def label_leakage(weights: Floats, channel: LabelChannel) -> Evidence:
    """Return the exact leakage of a label with these probabilities through a channel."""
    joint = weights[:, None] * channel.matrix
    law = joint.sum(axis=0)
    i, j = np.nonzero(joint)
    densities = np.log(channel.matrix[i, j] / law[j])
    exact = max(0.0, float(joint[i, j] @ densities))
    picks = look_up(integer_table(joint[i, j]), system_uniforms(20_000))
    return Evidence(
        {"exact sum": exact + ROUNDING},
        lower=max(0.0, exact - ROUNDING),
        densities=densities[picks],
    )


def ideal_leakage(
    points: Floats, weights: Floats, noise: GaussianNoise, *, delta: float, draws: int | None
) -> Evidence:
    """Return the evidence for (m, r) worlds under ideal Gaussian noise of unit scale."""
    return _kernel_evidence(points, weights, ideal_kernel(noise), delta, draws)


def grid_leakage(
    codes: Ints, weights: Floats, noise: GridNoise, *, delta: float, draws: int | None
) -> Evidence:
    """Return the evidence for (m, r) integer worlds under the noise that is really released."""
    if noise.gaussian and len(noise.steps) > 1:
        points = centred(codes, weights) / noise.scales
        return _kernel_evidence(points, weights, grid_kernel(noise.laws), delta, draws)
    rows, p = distinct(codes, weights)
    proved = {"entropy": entropy(p) + ROUNDING}
    each = [lattice_leakage(rows[:, c], p, axis) for c, axis in enumerate(noise.axes)]
    errors = [_sum_rounding(p.size, mi, axis) for mi, axis in zip(each, noise.axes, strict=True)]
    proved["exact sum"] = sum(each) + sum(errors)  # an upper bound for several axes
    if len(each) > 1 and draws != 0:
        statistical, densities = table_bound(rows, p, noise, delta, draws)
        return Evidence(proved, {"mixture": statistical}, densities=densities)
    if len(each) > 1 or not math.isfinite(each[0]):
        return Evidence(proved)
    law = lattice_law(rows[:, 0], p, noise.axes[0])
    densities = lattice_densities(*law, p, noise.axes[0])
    return Evidence(proved, lower=max(0.0, each[0] - errors[0]), densities=densities)


def proved_leakage(codes: Ints, weights: Floats, noise: GridNoise, h: float) -> float:
    """Return the least bound without sampling error for (m, r) integer worlds, cheaply.

    `h` is the entropy of the weights.
    """
    if noise.gaussian and len(noise.steps) > 1:
        kernel = grid_kernel(noise.laws)
        return min(axis_log_det(codes / noise.scales, weights, kernel), h + ROUNDING)
    found = grid_leakage(codes, weights, noise, delta=0.5, draws=0)
    return min(found.proved.values())


def default_draws(worlds: int) -> int:
    """Return how many judging draws a certificate makes unless told: a second's worth or more."""
    return int(np.clip(4e7 // worlds, 60_000, 2_000_000))


def _kernel_evidence(
    points: Floats, weights: Floats, kernel: Kernel, delta: float, draws: int | None
) -> Evidence:
    """Return every bound for Gaussian kernels; `draws=0` leaves out the statistical one."""
    points, weights = distinct(points - weights @ points, weights)
    known = {
        "entropy": entropy(weights) + ROUNDING,
        "log-det": log_det(points, weights, kernel),
    }
    if draws == 0:
        return Evidence(known)
    n = draws or default_draws(len(points))
    # Upper and lower bound share the error, so that both hold together.
    pairwise, sampled, low, densities = _sampled(points, weights, kernel, delta / 2, n)
    return Evidence(known | {"pairwise": pairwise}, {"mixture": sampled}, low, densities)


def _sampled(
    points: Floats, weights: Floats, kernel: Kernel, delta: float, draws: int
) -> tuple[float, float, float, Floats]:
    """Return (pairwise bound, Monte-Carlo upper bound, lower bound, density draws).

    Noise comes in pairs +-b. A world's mean over a pair lies below its height, so the deficit
    D = height - mean is non-negative. Deficits are of the order of the leakage, and so is the
    interval of the bound E[height] - E[D].
    """
    main, merge = _merge_tail(weights)
    p = weights[main] / weights[main].sum()
    mixture = MixtureReference(points[main], p)
    heights = mixture.heights() if p.size <= _MOST_HEIGHTS else -np.log(p)
    worlds = look_up(integer_table(p), system_uniforms(draws))
    noise = kernel.draw(draws)
    plus, minus = mixture.densities(worlds, noise)
    deficits = np.maximum(heights[worlds] - 0.5 * (plus + minus), 0.0)
    lengths, mean_length, most = kernel.lengths(noise)
    known = np.stack([lengths, -heights[worlds]], axis=1)
    limits = np.array([[mean_length, -(p @ heights)], [most, -heights.min()]])
    base = float(p @ heights) + kernel.excess + 2 * mixture.rounding + ROUNDING
    sampled = base - least_deficit(deficits, known, limits, delta)
    # A floored posterior is a decoder, and a decoder's log score is a lower bound.
    score = 0.5 * (_floored(plus[:_MOST_SCORES]) + _floored(minus[:_MOST_SCORES]))
    low = lower_mean(score, math.log(FLOOR), float(-np.log(p.min())) + 1e-9, delta)
    low = max(0.0, weights[main].sum() * (low - mixture.rounding))
    return merge(base), merge(sampled), low, plus[:_MOST_SCORES]


def _floored(densities: Floats) -> Floats:
    return np.asarray(np.logaddexp(densities + math.log1p(-FLOOR), math.log(FLOOR)))


def _merge_tail(weights: Floats) -> tuple[Ints, Callable[[float], float]]:
    """Return the worlds to keep, and how a bound on them becomes one on all.

    With T the event of total weight e that a merged world was drawn,
    MI <= MI(T; Y) + MI(X; Y | T) <= h(e) + (1 - e) MI_main + e H(X | T).
    """
    order = np.argsort(weights)
    tail = order[: np.searchsorted(np.cumsum(weights[order]), MERGED, side="right")]
    mass = float(weights[tail].sum())
    if mass == 0.0:
        return np.arange(weights.size), lambda bound: bound
    price = entropy(np.array([mass, 1 - mass])) + mass * entropy(weights[tail] / mass)
    return np.sort(order[tail.size :]), lambda bound: price + (1 - mass) * bound


def open_bound(
    codes: Ints,
    noise: GridNoise,
    reference: GaussianReference | TableReference,
    box: tuple[Ints, Ints],
    delta: float,
) -> float:
    """Return an upper bound for i.i.d. draws of an unknown law on a public box.

    Args:
        codes: (n, r) integer outputs, none of which the noise or the reference has seen.
        noise: The tabulated noise, discrete Gaussian on every axis.
        reference: Gaussian in units of the noise's scale, or a product of tables.
        box: The least and largest integers on each axis, (r,) and (r,).
        delta: Probability of error.
    """
    if (codes < box[0]).any() or (codes > box[1]).any():
        raise refuse("codes inside the public box", "codes outside", "Clip the outputs to it.")
    if isinstance(reference, GaussianReference):
        kernel, scales = grid_kernel(noise.laws), noise.scales
        losses = reference.loss(codes / scales, kernel.variances)
        limits = reference.loss_range(box[0] / scales, box[1] / scales, kernel.variances)
        condition = float(np.trace(reference.cov) / kernel.variances.min())
        base = kernel.log_theta - kernel.entropy + _determinant_rounding(scales.size, condition)
    else:
        tables = [
            reference.loss_table(c, axis, box[0][c], box[1][c]) for c, axis in enumerate(noise.axes)
        ]
        losses = np.sum([t[codes[:, c] - box[0][c]] for c, t in enumerate(tables)], axis=0)
        limits = float(sum(t.min() for t in tables)), float(sum(t.max() for t in tables))
        base = sum(LOSS_ERROR - axis.entropy for axis in noise.axes)
    return max(0.0, base + upper_mean(losses, *limits, delta))


def box_bound(noise: GridNoise, box: tuple[Ints, Ints]) -> float:
    """Return a bound for every law on the box: none has more variance than its two ends."""
    kernel = grid_kernel(noise.laws)
    wide = kernel.variances + np.square((box[1] - box[0]) / 2 / noise.scales)
    gaussian = 0.5 * float(np.log(2 * math.pi * math.e * wide).sum())
    return gaussian - kernel.entropy + kernel.log_theta + ROUNDING * (1 + wide.size)


def open_leakage(
    codes: Ints,
    noise: GridNoise,
    reference: GaussianReference | TableReference,
    box: tuple[Ints, Ints],
    delta: float,
) -> Evidence:
    """Return the evidence for draws; arguments as in `open_bound`."""
    return Evidence(
        proved={"box": box_bound(noise, box)},
        statistical={"reference": open_bound(codes, noise, reference, box, delta)},
        densities=open_densities(codes, noise, reference),
    )
