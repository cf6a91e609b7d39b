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

_BLOCK = 1 << 18
"""Entries of a block of the kernel matrix, two megabytes; never is an m x m x d array built."""
_DEEP, _HIGH = -700.0, 600.0
"""Exponents between which exp neither underflows, which is slow, nor lets a sum overflow."""


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
        rounding: Bound on the floating-point error of any g computed here. An exponent is a product
            of dim + 2 terms, at most 4 R^2 + |b|^2 + |log p_j| in total for worlds within R and
            noise of up to ten deviations on every axis; so with `largest` = 50 dim + 2 R^2 it is
            off by less than 16 (dim + 8) eps `largest`, a relative error of its exponential. A sum
            of m positive numbers adds m eps; lifting exponents to -700, where sums are at least
            p_i, less than that.
    """

    def __init__(self, points: Any, weights: Any) -> None:
        self.points = array(points, "points", 2)
        self.weights = probabilities(weights, "weights", size=len(self.points), positive=True)
        self._half = 0.5 * np.square(self.points).sum(axis=1)
        m, dim = self.points.shape
        lifted = np.log(self.weights) - self._half
        self._columns = np.column_stack([self.points, lifted, np.ones(m)]).T.copy()
        largest = 50.0 * dim + 4.0 * float(self._half.max())  # of any exponent, noise included
        self.rounding = (16 * (dim + 8) * largest + m) * np.finfo(float).eps
        self._far = math.sqrt(8.0 * float(self._half.max()))  # no two worlds are further apart

    def log_density(self, points: Any) -> Floats:
        """Return log w at (n, r) points."""
        y, (m, dim) = np.asarray(points, np.float64), self.points.shape
        out = np.empty(len(y))
        for rows in blocks(len(y), m):
            cross = self._columns[:-1].T @ np.column_stack([y[rows], np.ones(len(y[rows]))]).T
            out[rows] = log_sum_exp(cross) - 0.5 * np.square(y[rows]).sum(axis=1)
        return np.asarray(out - 0.5 * dim * math.log(2.0 * math.pi))

    def heights(self, worlds: Ints | None = None) -> Floats:
        """Return g_i(0) of (n,) worlds, or of every world: n m kernel evaluations, in blocks."""
        own = np.arange(len(self.points)) if worlds is None else worlds
        found = self._density(own, np.zeros_like(self.points[own]))
        return np.minimum(found, -np.log(self.weights[own]))

    def views(self, worlds: Ints) -> tuple[Floats, Floats]:
        """Return g_i(0) of (n,) worlds, and -g_i''(0), (n, r, r): what is not told apart from them.

        The second is the covariance of all worlds, weighed by their kernels at u_i; enough is added
        to its diagonal, for the rounding of differences of squares, to make it positive
        semi-definite as it stands.
        """
        m, dim = self.points.shape
        i, j = np.triu_indices(dim)
        columns = np.column_stack([np.ones(m), self.points, self.points[:, i] * self.points[:, j]])
        sums, tops = np.empty((len(worlds), columns.shape[1])), np.empty(len(worlds))
        for rows, kernel, top in self.kernels(worlds, np.zeros((len(worlds), dim))):
            sums[rows], tops[rows] = kernel @ columns, top
        heights = np.minimum(-tops - np.log(sums[:, 0]), -np.log(self.weights[worlds]))
        means, forms = sums[:, 1:] / sums[:, :1], np.empty((len(worlds), dim, dim))
        forms[:, i, j] = forms[:, j, i] = means[:, dim:] - means[:, i] * means[:, j]
        forms += (8.0 * (m + 8) * dim * np.finfo(float).eps * float(self._half.max())) * np.eye(dim)
        return heights, forms

    def densities(self, worlds: Ints, noise: Floats) -> tuple[Floats, Floats]:
        """Return g_i(b) and g_i(-b) for (n,) worlds i and (n, r) noise b."""
        if len(worlds) != len(noise):
            raise refuse("one noise for each world", len(noise), "Give equal lengths.")
        return self._density(worlds, noise), self._density(worlds, -noise)

    def _density(self, worlds: Ints, noise: Floats) -> Floats:
        """Return g_i(b) for (n,) worlds i and (n, r) noise b."""
        out = np.empty(len(worlds))
        for rows, kernel, top in self.kernels(worlds, noise):
            out[rows] = -top - np.log(kernel.sum(axis=1))
        return out

    def kernels(self, worlds: Ints, noise: Floats) -> Iterator[tuple[slice, Floats, Floats]]:
        """Yield rows of (n,) worlds i and (n, r) noise b, with the terms behind g_i(b).

        They are (k, m) numbers p_j exp(-|u_i - u_j|^2 / 2 - (u_i - u_j) . b - top_i), and (k,)
        tops. An exponent is at most |b|^2 / 2, and the term j = i is p_i: as long as |b|^2 / 2 is
        below 600, and rounding does not lift it, no sum overflows or is lost, and tops are 0.
        """
        for rows in blocks(len(worlds), len(self.points)):
            own, b = self.points[worlds[rows]], noise[rows]
            shift = -self._half[worlds[rows]] - np.einsum("nr,nr->n", own, b)
            kernel = np.column_stack([own + b, np.ones(len(b)), shift]) @ self._columns
            top, longest = np.zeros(len(b)), math.sqrt(float(np.square(b).sum(axis=1).max()))
            if 0.5 * longest**2 > _HIGH or self.rounding > 1:
                top = kernel.max(axis=1)
                kernel -= top[:, None]
            if 0.5 * (self._far + longest) ** 2 > -_DEEP - 100 and kernel.min() < _DEEP:
                np.maximum(kernel, _DEEP, out=kernel)
            yield rows, np.exp(kernel, out=kernel), top


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
