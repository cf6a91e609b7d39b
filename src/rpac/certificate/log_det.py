"""The log-determinant bound: the Gaussian reference with the moments of Y. No sampling error.

Proof: L(q, w) of `references` with w = N(mean of Y, Cov(Y)) is the Gaussian entropy of Y's moments
minus the entropy of B. On a grid the sum of w over the cells may exceed 1 by the factor theta of
the kernel (Poisson summation), so log theta is added. For ideal noise it is Auto-PAC's bound.
"""

from __future__ import annotations

import math

import numpy as np

from rpac._base.entropy import ROUNDING
from rpac._base.types import Floats
from rpac.certificate.kernel import Kernel

_EPS = float(np.finfo(float).eps)


def log_det(points: Floats, weights: Floats, kernel: Kernel) -> float:
    """Return the bound of the Gaussian reference with Y's moments, for (m, r) points."""
    mean = weights @ points
    shifted = (points - mean) * np.sqrt(weights)[:, None]
    cov = shifted.T @ shifted + np.diag(kernel.variances)
    total, least = float(np.trace(cov)), float(kernel.variances.min())
    if total > 1e12 * least:
        return math.inf  # float64 cannot hold this determinant; H(X) is smaller anyway
    # With Y's own moments E[-log w(Y)] is the Gaussian entropy; sums over worlds round it.
    loss = 0.5 * (mean.size * math.log(2.0 * math.pi * math.e) + float(np.linalg.slogdet(cov)[1]))
    rounding = determinant_rounding(mean.size, total / least * (1 + len(points) / 8))
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
    rounding = determinant_rounding(rank, total / least * (1 + len(points) / 8))
    return loss - kernel.entropy + kernel.log_theta + rounding


def determinant_rounding(rank: int, condition: float) -> float:
    """Return a bound on the float64 error of a log-determinant of this rank and condition.

    d log det C = tr(C^-1 dC) <= r |dC| / least, with |dC| a few eps of the trace.
    """
    return ROUNDING * (1 + rank) + 8 * _EPS * rank * condition
