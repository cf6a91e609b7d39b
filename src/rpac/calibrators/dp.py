"""Differential-privacy baselines, matched to a budget at equal posterior success.

They need what the others do not: a radius to which every record's contribution is clipped. Matched,
not implied: see `rpac.advantage`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from rpac._base.checks import in_range, number, refuse
from rpac._base.limits import hold_in_memory
from rpac.advantage import nats_to_epsilon
from rpac.calibrators.base import Calibrator
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import GridNoise
from rpac.noise.lattice import LatticeNoise
from rpac.numerics import log_normal_tail
from rpac.worlds.outputs import Outputs

_LAPLACE_STEPS = 256


def analytic_gaussian_sigma(epsilon: float, delta: float) -> float:
    """Return the least sigma, for sensitivity 1, of an (epsilon, delta) Gaussian mechanism."""

    def spent(sigma: float) -> float:
        a, b = 0.5 / sigma, epsilon * sigma
        inside, outside = log_normal_tail([a - b, -a - b]).tolist()
        return math.exp(inside) - math.exp(min(epsilon + outside, 0.0))

    low, high = 1e-6, 1e9
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if spent(middle) > delta else (low, middle)
    return high


@final
@dataclass(frozen=True)
class DPGaussian(Calibrator):
    """The Gaussian mechanism of differential privacy.

    Args:
        sensitivity: l2 distance of the answers on two data sets that differ in one record.
        delta: Of (epsilon, delta); epsilon follows from the budget at equal success.
        analytic: The exact calibration, or the classical formula (for epsilon below 1).
        prior: Membership prior at which success is matched.
    """

    sensitivity: float
    delta: float = 1e-5
    analytic: bool = True
    prior: float = 0.5

    def __post_init__(self) -> None:
        _positive(self.sensitivity)
        in_range(self.delta, "delta", 0.0, 1.0)

    def propose(self, outputs: Outputs, nats: float) -> GaussianNoise:
        """Return isotropic noise in all d coordinates."""
        epsilon = _matched(nats, self.delta, self.prior)
        if self.analytic:
            sigma = analytic_gaussian_sigma(epsilon, self.delta)
        else:
            sigma = math.sqrt(2 * math.log(1.25 / self.delta)) / epsilon
        _hold_all(outputs.dim)
        return GaussianNoise((sigma * self.sensitivity) ** 2 * np.eye(outputs.dim))


@final
@dataclass(frozen=True)
class DPLaplace(Calibrator):
    """The Laplace mechanism of differential privacy, as a discrete Laplace on a fine grid.

    Args:
        sensitivity: l1 distance of the answers on two data sets that differ in one record.
        prior: Membership prior at which success is matched.
    """

    sensitivity: float
    prior: float = 0.5

    def __post_init__(self) -> None:
        _positive(self.sensitivity)

    def propose(self, outputs: Outputs, nats: float) -> GridNoise:
        """Return independent noise of scale sensitivity / epsilon on every coordinate."""
        _hold_all(outputs.dim)
        scale = self.sensitivity / _matched(nats, 0.0, self.prior)
        k = np.arange(-45 * _LAPLACE_STEPS, 45 * _LAPLACE_STEPS + 1)
        mass = np.exp(-np.abs(k) / _LAPLACE_STEPS)
        axis = LatticeNoise(scale / _LAPLACE_STEPS, k, mass / mass.sum())
        return GridNoise(np.eye(outputs.dim), outputs.center, (axis,) * outputs.dim)


def _hold_all(dim: int) -> None:
    """Refuse more numbers than have room for noise in every one: these baselines know no span."""
    move = "Other methods add noise where worlds differ alone."
    hold_in_memory(4 * dim * dim, f"noise in all of {dim} numbers that fits into memory", move)


def _positive(sensitivity: float) -> None:
    if number(sensitivity, "sensitivity") <= 0:
        raise refuse("a positive `sensitivity`", sensitivity, "Clip records to a public radius.")


def _matched(nats: float, delta: float, prior: float) -> float:
    epsilon = nats_to_epsilon(nats, delta, prior)
    if not 0 < epsilon < math.inf:
        less = f"At prior {prior} stay below {-math.log(prior):.3g} nats."
        more = f"At prior {prior} a blind guess succeeds as often: allow more nats."
        raise refuse(
            "a budget that matches a finite epsilon above 0",
            f"{nats} nats, which match {epsilon:g}",
            less if epsilon > 0 else more,
        )
    return epsilon
