"""All that is known of a leakage: every bound that applies to a law, by name.

Every upper bound is L(q, w) of `references` for some reference w, or the entropy of the secret, in
units of the noise's own scale; each has its proof in the module it comes from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rpac._base.entropy import ROUNDING, entropy
from rpac._base.types import Floats, Ints
from rpac.certificate.atoms import centred, distinct
from rpac.certificate.density import channel_densities, lattice_densities, open_densities
from rpac.certificate.exact import (
    channel_entropies,
    channel_rounding,
    lattice_law,
    lattice_leakage,
    sum_rounding,
)
from rpac.certificate.kernel import Kernel, grid_kernel, ideal_kernel
from rpac.certificate.log_det import axis_log_det, log_det
from rpac.certificate.open import box_bound, open_bound
from rpac.certificate.references import GaussianReference, TableReference
from rpac.certificate.sampled import NEVER, default_draws, kernel_bounds, table_bound
from rpac.noise.base import Releasable
from rpac.noise.channel import Channel
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import GridNoise


class Limit(NamedTuple):
    """Up to where bounds are worth drawing for: a budget in nats, as it will be charged.

    Attributes:
        proved: What a proved bound may be.
        drawn: What one that was drawn may be: a charge adds to it what its error could cost.
    """

    proved: float
    drawn: float


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


def law_leakage(
    codes: Ints, weights: Floats, law: Releasable, *, delta: float, draws: int | None,
    limit: Limit = Limit(NEVER, NEVER),  # noqa: B008  (frozen)
) -> Evidence:  # fmt: skip
    """Return the evidence for (m, r) integer worlds under the law that is really released.

    Draws end early where a bound meets `limit`, here and below.
    """
    if isinstance(law, Channel):
        return channel_evidence(codes, weights, law)
    assert isinstance(law, GridNoise)
    return grid_leakage(codes, weights, law, delta=delta, draws=draws, limit=limit)


def channel_evidence(codes: Ints, weights: Floats, channel: Channel) -> Evidence:
    """Return the exact leakage through a channel of worlds with (m, 1) rows."""
    prior = np.asarray(np.bincount(codes[:, 0], weights, len(channel.tables)), np.float64)
    released, within = channel_entropies(prior, channel)
    exact = max(0.0, entropy(released[released > 0]) - within)
    error = channel_rounding(exact, channel)
    return Evidence(
        {"exact sum": exact + error},
        lower=max(0.0, exact - error),
        densities=channel_densities(prior, released, channel),
    )


def ideal_leakage(
    points: Floats, weights: Floats, noise: GaussianNoise, *, delta: float, draws: int | None,
    limit: Limit = Limit(NEVER, NEVER),  # noqa: B008  (frozen)
) -> Evidence:  # fmt: skip
    """Return the evidence for (m, r) worlds under ideal Gaussian noise of unit scale."""
    return _kernel_evidence(points, weights, ideal_kernel(noise), delta, draws, limit)


def grid_leakage(
    codes: Ints, weights: Floats, noise: GridNoise, *, delta: float, draws: int | None,
    limit: Limit = Limit(NEVER, NEVER),  # noqa: B008  (frozen)
) -> Evidence:  # fmt: skip
    """Return the evidence for (m, r) integer worlds under tables on a grid."""
    if noise.gaussian and noise.rank > 1:
        points = centred(codes, weights) / noise.scales
        return _kernel_evidence(points, weights, grid_kernel(noise.laws), delta, draws, limit)
    rows, p = distinct(codes, weights)
    proved = {"entropy": entropy(p) + ROUNDING}
    each = [lattice_leakage(rows[:, c], p, axis) for c, axis in enumerate(noise.axes)]
    errors = [sum_rounding(p.size, mi, axis) for mi, axis in zip(each, noise.axes, strict=True)]
    # Given the world the axes are independent, so MI(X; Y) <= sum_c MI(X; Y_c): for several axes
    # the sum is an upper bound.
    proved["exact sum"] = sum(each) + sum(errors)
    if len(each) > 1 and draws != 0:
        statistical, densities = table_bound(rows, p, noise, delta, draws, limit.drawn)
        return Evidence(proved, {"mixture": statistical}, densities=densities)
    if len(each) > 1 or not math.isfinite(each[0]):
        return Evidence(proved)
    law = lattice_law(rows[:, 0], p, noise.axes[0])
    densities = lattice_densities(*law, p, noise.axes[0])
    return Evidence(proved, lower=max(0.0, each[0] - errors[0]), densities=densities)


def proved_leakage(codes: Ints, weights: Floats, law: Releasable, h: float) -> float:
    """Return the least bound without sampling error for (m, r) integer worlds, cheaply.

    `h` is the entropy of the weights.
    """
    if isinstance(law, GridNoise) and law.gaussian and law.rank > 1:
        kernel = grid_kernel(law.laws)
        return max(0.0, min(axis_log_det(codes / law.scales, weights, kernel), h + ROUNDING))
    found = law_leakage(codes, weights, law, delta=0.5, draws=0)
    return max(0.0, min(found.proved.values()))


def _kernel_evidence(
    points: Floats, weights: Floats, kernel: Kernel, delta: float, draws: int | None, limit: Limit
) -> Evidence:
    """Return every bound for Gaussian kernels; `draws=0` leaves out the statistical one."""
    points, weights = distinct(points - weights @ points, weights)
    known = {
        "entropy": entropy(weights) + ROUNDING,
        "log-det": log_det(points, weights, kernel),
    }
    if draws == 0:
        return Evidence(known)
    planned = draws or default_draws(*points.shape)
    enough = min(known.values()) <= limit.proved  # one batch, for the lower bound
    stop = math.inf if enough else limit.drawn
    found = kernel_bounds(points, weights, kernel, delta, planned, stop)
    return Evidence(
        known | {"pairwise": found.pairwise}, {"mixture": found.upper}, found.lower, found.densities
    )


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
