"""Privatizers in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from rpac._checks import refuse
from rpac._types import Floats
from rpac.calibrate.base import Calibrator
from rpac.noise.gaussian import GaussianNoise
from rpac.outputs import Outputs


def principal(outputs: Outputs) -> tuple[Floats, Floats]:
    """Return (basis, variances), (d, r) and (r,): the directions in which outputs differ."""
    plan = outputs.planning
    shifted = plan.values - plan.weights @ plan.values
    _, scales, rows = np.linalg.svd(shifted * np.sqrt(plan.weights)[:, None], full_matrices=False)
    keep = scales > max(shifted.shape) * np.finfo(float).eps * np.abs(plan.values).max()
    if not keep.any():
        raise refuse(
            "outputs that differ between worlds",
            "the same output in all",
            "Publish it: it says nothing about which world was drawn.",
        )
    return rows[keep].T, np.square(scales[keep])


def auto_pac_variances(spectrum: Floats, nats: float) -> Floats:
    """Return the noise variances of least sum with (1/2) sum log(1 + r_i / l_i) = nats.

    Args:
        spectrum: (r,) positive eigenvalues r_i of Cov(Z).
        nats: The budget.

    Guarantees:
        The log-determinant is met from below, to 1e-12 relative.
    """
    top = spectrum.max()
    r = spectrum / top

    def noise(log_multiplier: float) -> Floats:
        twice = math.exp(log_multiplier)
        # (-r + sqrt(r^2 + 2 lambda r)) / 2, written so that it keeps its digits for small lambda
        return np.asarray(twice * r / (r + np.sqrt(r * r + 2 * twice * r)))

    low, high = -700.0, 700.0
    for _ in range(200):
        middle = (low + high) / 2
        if 0.5 * np.log1p(r / noise(middle)).sum() > nats:
            low = middle
        else:
            high = middle
    return np.asarray(noise(high) * top)


@final
@dataclass(frozen=True)
class AutoPAC(Calibrator):
    """Exact Auto-PAC: the Gaussian noise of least power whose log-determinant meets the budget."""

    def propose(self, outputs: Outputs, nats: float) -> GaussianNoise:
        """Return Gaussian noise along the principal directions of the outputs."""
        if outputs.kind == "label":
            raise refuse(
                "numeric outputs for auto-pac",
                "labels",
                "Pass a Calibrator that proposes a LabelChannel.",
            )
        basis, spectrum = principal(outputs)
        return GaussianNoise.on(basis, auto_pac_variances(spectrum, nats))
