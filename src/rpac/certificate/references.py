"""References: densities w on the output space. Each gives an upper bound L(q, w) on leakage.

For any density w that integrates to at most 1, and noise B with density q,

    MI(X; Y) <= L(q, w) = E[log q(B) - log w(Z + B)],    with equality iff w is the law of Y.

Proof: E[log q(B)] - E[log w(Y)] = MI(X; Y) + KL(law of Y || w), since the noise is independent of
the secret and log q(B) = log P(Y | X); the divergence is not negative if w integrates to at most 1.
So a reference costs tightness when it is poor, never soundness, provided it is normalised.

The mixture of noise kernels at the worlds is for ideal noise the law of Y itself. Coordinates are
in units of the noise's scale, so every kernel is exp(-|y - u|^2 / 2). Writing

    g_i(b) = log q(b) - log w(u_i + b) = -log sum_j p_j exp(-|u_i - u_j|^2 / 2 - (u_i - u_j) . b)

for the information density of world i at noise b: g_i is concave (minus a log-sum-exp of linear
functions), so the mean of g_i(b) and g_i(-b) is at most g_i(0), the *height* of world i, which is
itself at most log(1 / p_i) (keep the term j = i alone).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, final

import numpy as np

from rpac._base.checks import array, positive_definite, probabilities, refuse
from rpac._base.types import Floats, Ints
from rpac.noise.lattice import LatticeNoise

_BLOCK = 1 << 20
"""Entries of a block of the kernel matrix; never is an m x m x d array built."""


def blocks(rows: int, columns: int) -> Iterator[slice]:
    """Yield slices of rows such that a block of rows x columns fits the cache."""
    size = max(1, _BLOCK // columns)
    return (slice(a, a + size) for a in range(0, rows, size))


def log_sum_exp(exponents: Floats) -> Floats:
    """Return log sum exp over the first axis, overwriting its argument."""
    top = exponents.max(axis=0)
    exponents -= top
    return np.asarray(top + np.log(np.exp(exponents, out=exponents).sum(axis=0)))


def convolve(a: Floats, b: Floats) -> Floats:
    """Return the full convolution of two one-dimensional arrays, by FFT."""
    size = a.size + b.size - 1
    fast = 1 << (size - 1).bit_length()
    return np.asarray(np.fft.irfft(np.fft.rfft(a, fast) * np.fft.rfft(b, fast), fast)[:size])


class Reference(ABC):
    """A normalised density on the output space, in units of the noise's own scale.

    Guarantees:
        Subclasses are final and normalised by construction; `certify` builds its own.
    """

    @abstractmethod
    def log_density(self, points: Any) -> Floats:
        """Return log w at (n, r) points."""


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
        """Return bounds on `loss` over a box: it is least at the mean, and x'Px <= |x|'|P||x|."""
        reach = np.maximum(np.abs(low - self.mean), np.abs(high - self.mean))
        least = float(self.loss(self.mean[None], variances)[0])
        return least, least + 0.5 * float(reach @ np.abs(self.precision) @ reach)


@final
class MixtureReference(Reference):
    """The density sum_j p_j N(points_j, I).

    Args:
        points: (m, r) worlds in units of the noise's scale.
        weights: (m,) positive, summing to 1.

    Attributes:
        rounding: Bound on the floating-point error of any log density computed here: eps times the
            largest exponent (noise of ten deviations on every axis included) for each of about
            16 (dim + 8) operations behind it; log-sum-exp over worlds keeps relative errors.
    """

    def __init__(self, points: Any, weights: Any) -> None:
        self.points = array(points, "points", 2)
        self.weights = probabilities(weights, "weights", size=len(self.points), positive=True)
        self._half = 0.5 * np.square(self.points).sum(axis=1)
        self._log_weights = np.log(self.weights)
        dim = self.points.shape[1]
        largest = 50.0 * dim + 4.0 * float(self._half.max())  # of any exponent, noise included
        self.rounding = 16 * (dim + 8) * np.finfo(float).eps * largest

    def log_density(self, points: Any) -> Floats:
        """Return log w at (n, r) points."""
        y, (m, dim) = np.asarray(points, np.float64), self.points.shape
        out = np.empty(len(y))
        for rows in blocks(len(y), m):
            cross = self.points @ y[rows].T + (self._log_weights - self._half)[:, None]
            out[rows] = log_sum_exp(cross) - 0.5 * np.square(y[rows]).sum(axis=1)
        return np.asarray(out - 0.5 * dim * math.log(2.0 * math.pi))

    def heights(self) -> Floats:
        """Return g_i(0) for every world, (m,): m^2 kernel evaluations, in blocks."""
        m = len(self.points)
        out = np.empty(m)
        for rows in blocks(m, m):
            out[rows] = -log_sum_exp(self._log_kernel(np.arange(m)[rows]))
        return np.minimum(out, -self._log_weights)

    def densities(self, worlds: Ints, noise: Floats) -> tuple[Floats, Floats]:
        """Return g_i(b) and g_i(-b) for (n,) worlds i and (n, r) noise b."""
        if len(worlds) != len(noise):
            raise refuse("one noise for each world", len(noise), "Give equal lengths.")
        plus, minus = np.empty(len(worlds)), np.empty(len(worlds))
        for rows in blocks(len(worlds), len(self.points)):
            kernel = self._log_kernel(worlds[rows])
            tilt = self.points @ noise[rows].T
            tilt -= np.einsum("nr,nr->n", noise[rows], self.points[worlds[rows]])
            plus[rows] = -log_sum_exp(kernel + tilt)
            kernel -= tilt
            minus[rows] = -log_sum_exp(kernel)
        return plus, minus

    def _log_kernel(self, worlds: Ints) -> Floats:
        """Return log p_j - |u_i - u_j|^2 / 2 for all j against (n,) worlds i, (m, n)."""
        cross = self.points @ self.points[worlds].T
        cross -= self._half[worlds]
        cross += (self._log_weights - self._half)[:, None]
        return np.asarray(cross)


@final
class TableReference(Reference):
    """The mass w(y) = prod_c masses_c[y_c - lows_c] on integer points.

    Args:
        lows: The least integer of each axis.
        masses: One array of positive masses for each axis. Each is divided by its own sum here,
            so the reference is normalised whatever proposed it.
    """

    def __init__(self, lows: Sequence[int], masses: Sequence[Floats]) -> None:
        tables = [array(mass, "masses", 1) for mass in masses]
        if len(tables) != len(lows) or any((t <= 0).any() for t in tables):
            raise refuse("one table of positive masses per axis", "others", "Mix in a floor.")
        self.lows = [int(low) for low in lows]
        self.logs = [np.log(t) - np.log(t.sum()) for t in tables]

    def log_density(self, points: Any) -> Floats:
        """Return log w at (n, r) integer points inside the tables."""
        pairs = zip(self.lows, self.logs, strict=True)
        return np.asarray(sum(log[points[:, c] - low] for c, (low, log) in enumerate(pairs)))

    def loss_table(self, axis: int, noise: LatticeNoise, low: int, high: int) -> Floats:
        """Return E[-log w_c(z + B)] for every integer z from low to high on one axis."""
        start = low + int(noise.offsets[0]) - self.lows[axis]
        stop = high + int(noise.offsets[-1]) - self.lows[axis] + 1
        if start < 0 or stop > self.logs[axis].size:
            raise refuse("a reference that covers the box and the noise", "less", "Widen it.")
        # Positive mass everywhere makes the sum finite; FFT error is below 1e-10 (see LOSS_ERROR).
        reach = noise.dense.size - 1
        full = convolve(-self.logs[axis][start:stop], noise.dense[::-1])
        return np.asarray(full[reach : full.size - reach])
