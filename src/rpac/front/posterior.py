"""Noise for the posterior of a session. Proposals: the session computes what they leak itself."""

from __future__ import annotations

import math

import numpy as np

from rpac._base.entropy import entropy
from rpac._base.types import Floats, Ints
from rpac.budget import Nats
from rpac.calibrators.base import Calibrator
from rpac.calibrators.closed_form import auto_pac_numbers, principal
from rpac.calibrators.equilibrium import Equilibrium
from rpac.certificate.atoms import distinct
from rpac.front.methods import calibrate, of_words
from rpac.noise.base import Releasable
from rpac.noise.grid import STEPS_PER_SIGMA, GridNoise, tabulate
from rpac.worlds.outputs import Outputs

_EPS = float(np.finfo(float).eps)
_SLACK = 1 - 2e-5
"""Of the budget, aimed at: room for the floor under the posterior."""


def first_aim(weights: Floats, nats: float) -> float:
    """Return a budget to aim at, such that rounding to the grid rarely lifts the bound above."""
    jitter = math.sqrt(float(weights @ weights) / (2 * nats)) / STEPS_PER_SIGMA
    return nats * _SLACK * (1 - min(0.5, 3 * jitter))


def noise_under(
    outputs: Outputs, weights: Floats, nats: float, method: Calibrator
) -> tuple[Releasable, Ints]:
    """Return noise for outputs under a posterior, and the integers of all worlds."""
    words = of_words(method)
    if outputs.span is not None and not words:
        law, codes = noise_under(outputs.within, weights, nats, method)
        assert isinstance(law, GridNoise)
        return law.lifted(outputs.span), codes
    if outputs.kind != "label" and outputs.dim > 1 and not words:
        return posterior_auto_pac(outputs, weights, nats)
    posterior = outputs.under(weights)
    solver = Equilibrium() if outputs.kind == "label" else method
    noise = calibrate(posterior, Nats(_within(posterior, nats)), solver)
    law = tabulate(posterior, noise)
    return law, law.encode(outputs.values)


def posterior_auto_pac(outputs: Outputs, weights: Floats, nats: float) -> tuple[GridNoise, Ints]:
    """Return tabulated Auto-PAC noise for these weights, and the integers of all worlds.

    What lies outside its basis is not released.
    """
    center = weights @ outputs.columns
    moved = outputs.columns - center
    if outputs.dim <= len(weights):
        spectrum, basis = np.linalg.eigh(moved.T @ (moved * weights[:, None]))
        rounding = len(weights) * _EPS * outputs.reach
        floor = max(1e-13 * float(spectrum[-1]), rounding**2)
        low = int(spectrum.searchsorted(floor, side="right"))
        basis, spectrum = basis[:, low:], spectrum[low:]
    if outputs.dim > len(weights) or not spectrum.size:  # many, or none that differ
        basis, spectrum = principal(outputs.under(weights))
    variances = auto_pac_numbers(spectrum.tolist(), nats)
    steps = [math.sqrt(variance) / STEPS_PER_SIGMA for variance in variances]
    law = GridNoise.gaussians(basis, center, steps, STEPS_PER_SIGMA)
    return law, law.quantise((law.basis.T @ moved.T).T)


def _within(outputs: Outputs, nats: float) -> float:
    """Return a budget that still needs noise: at most half of what the posterior leaves open."""
    return min(nats, 0.5 * entropy(distinct(outputs.values, outputs.weights)[1]))
