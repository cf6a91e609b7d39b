"""The Gaussian reference; with the moments of Y it gives the log-determinant bound."""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from rpac._checks import array, positive_definite, refuse
from rpac._types import Floats
from rpac.reference.base import Reference


@final
class GaussianReference(Reference):
    """The density N(mean, cov).

    Args:
        mean: (r,).
        cov: (r, r) positive definite.
    """

    def __init__(self, mean: Any, cov: Any) -> None:
        self.mean, self.cov = array(mean, "mean", 1), positive_definite(cov, "cov")
        if self.cov.shape != (self.mean.size,) * 2:
            raise refuse(f"a {self.mean.size} x {self.mean.size} `cov`", self.cov.shape, "Match.")
        self.precision = np.linalg.inv(self.cov)
        self._log_sum = 0.5 * float(np.linalg.slogdet(2.0 * math.pi * self.cov)[1])

    def log_density(self, points: Any) -> Floats:
        """Return log w at (n, r) points."""
        return -self.loss(points, np.zeros(self.mean.size))

    def loss(self, points: Floats, variances: Floats) -> Floats:
        """Return E[-log w(z + B)] at (n, r) points z, for centred B with these variances."""
        shift = np.asarray(points) - self.mean
        quadratic = np.einsum("ni,ij,nj->n", shift, self.precision, shift, optimize=True)
        spread = float(variances @ np.diag(self.precision))
        return np.asarray(self._log_sum + 0.5 * (spread + quadratic))

    def loss_range(self, low: Floats, high: Floats, variances: Floats) -> tuple[float, float]:
        """Return bounds on `loss` over the box [low, high]."""
        reach = np.maximum(np.abs(low - self.mean), np.abs(high - self.mean))
        least = float(self.loss(self.mean[None], variances)[0])
        return least, least + 0.5 * float(reach @ np.abs(self.precision) @ reach)
