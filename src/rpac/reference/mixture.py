"""The mixture of noise kernels at the worlds: for ideal noise the law of Y itself.

Coordinates are in units of the noise's scale, so every kernel is exp(-|y - u|^2 / 2). Writing

    g_i(b) = log q(b) - log w(u_i + b) = -log sum_j p_j exp(-|u_i - u_j|^2 / 2 - (u_i - u_j) . b)

for the information density of world i at noise b: g_i is concave, so the mean of g_i(b) and
g_i(-b) is at most g_i(0), the *height* of world i, which is itself at most log(1 / p_i).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, final

import numpy as np

from rpac._checks import array, probabilities, refuse
from rpac._types import Floats, Ints
from rpac.reference.base import Reference

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


@final
class MixtureReference(Reference):
    """The density sum_j p_j N(points_j, I).

    Args:
        points: (m, r) worlds in units of the noise's scale.
        weights: (m,) positive, summing to 1.

    Attributes:
        rounding: Bound on the floating-point error of any log density computed here.
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
