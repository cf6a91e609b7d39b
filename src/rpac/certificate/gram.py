"""Gram matrices of the laws of Y given each world: how near their signed mixtures are to nothing.

For a signed mixture D = sum_c x_c k_c of kernels k_c(y) = P(y | c), any w > 0 that sums to at
most 1, and the Gram matrix G_cd = sum_y k_c(y) k_d(y) / w(y),

    |D|_1 = sum_y sqrt(w) |D| / sqrt(w) <= sqrt(sum_y D^2 / w) = sqrt(x' G x)    (Cauchy-Schwarz).

Axes are independent given the world, so for a product of references G is the product, entry by
entry, of the axes' own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import final

import numpy as np

from rpac._base.types import Floats, Ints
from rpac.certificate.exact import lattice_law
from rpac.noise.grid import GridNoise, Laws
from rpac.noise.lattice import LatticeNoise

_EPS = float(np.finfo(float).eps)
_CELLS = 2048
"""Outcomes of a block of kernels."""
_WIDE = 4.0
"""Scale in steps from which Poisson sums of Gaussians no narrower than scale / sqrt(2) are
constant to 2 exp(-pi^2 scale^2) < 1e-68."""


@final
class AxisKernels:
    """The laws of Y on one axis, given each of (k,) distinct rising integer worlds.

    Args:
        codes: (k,) the worlds.
        weights: (k,) their probabilities.
        axis: The noise.

    Attributes:
        law: Mass of Y at every outcome; empty where there would be more than 2**26.
    """

    def __init__(self, codes: Ints, weights: Floats, axis: LatticeNoise) -> None:
        self.starts, self.law = lattice_law(codes, weights, axis)
        self._dense = axis.dense
        self._padded = np.pad(axis.dense, _CELLS)

    def norms(self, mixtures: Floats) -> Floats:
        """Return |sum_c x_c k_c|_1 for (n, k) signed mixtures x, (n,)."""
        total = np.zeros(len(mixtures))
        for _, active, kernel in self._blocks():
            total += np.abs(kernel @ mixtures[:, active].T).sum(axis=0)
        return total

    def gram(self) -> Floats:
        """Return G with the law of Y as reference, (k, k)."""
        found = np.zeros((self.starts.size,) * 2)
        for cells, active, kernel in self._blocks():
            mass = self.law[cells, None]  # where it is 0, so is every kernel
            root = kernel / np.sqrt(np.where(mass > 0, mass, 1.0))
            with np.errstate(over="ignore", invalid="ignore"):  # seen to be no number, and refused
                found[active, active] += root.T @ root
        return found

    def _blocks(self) -> Iterator[tuple[slice, slice, Floats]]:
        """Yield outcomes, the worlds whose windows they touch, and the kernels there."""
        size = self._dense.size
        for a in range(0, self.law.size, _CELLS):
            b = min(a + _CELLS, self.law.size)
            first, last = np.searchsorted(self.starts, [a - size + 1, b])
            active = slice(int(first), int(last))
            at = np.arange(a, b)[:, None] - self.starts[active] + _CELLS
            yield slice(a, b), active, self._padded[at]


def product_gram(codes: Ints, weights: Floats, law: GridNoise) -> Floats | None:
    """Return G for (k, r) integer worlds under independent tables of any shape, (k, k).

    The reference is the product of the axes' laws of Y. None where an axis has too many outcomes.
    """
    found = np.ones((len(codes),) * 2)
    for c, axis in enumerate(law.axes):
        own, place = np.unique(codes[:, c], return_inverse=True)
        kernels = AxisKernels(own, np.bincount(place, weights).astype(np.float64), axis)
        if not kernels.law.size:
            return None
        found *= kernels.gram()[np.ix_(place, place)]
    return found


def gaussian_gram(codes: Ints, weights: Floats, laws: Laws) -> tuple[Floats, float]:
    """Return G for discrete Gaussians at (k, r) integer worlds around 0; and its rounding, in eps.

    With s and t worlds in units of the scales, and as reference on an axis a discrete Gaussian of
    V times the variance, b = 2 - 1 / V,

        (y - s)^2 + (y - t)^2 - y^2 / V = b (y - (s + t) / b)^2 + s^2 + t^2 - (s + t)^2 / b,

    and the sum over y of the first term's Gaussian is S(1 / b): so

        G_st = S(V) S(1 / b) / S(1)^2 exp((s + t)^2 / 2 b - (s^2 + t^2) / 2).

    S(v) = sum_k exp(-k^2 / 2 v scale^2) for whole centres. Where V = 1 the centre s + t is whole
    and G_st = exp(s t), exactly. Elsewhere scales are at least `_WIDE` steps, so that by Poisson's
    formula S does not depend on the centre and is sqrt(2 pi v) scale, both far below rounding.

    The exponent is A - B with A = (2 - b) / 4 b (s + t)^2 and B = (s - t)^2 / 4, neither of which
    cancels: differences are of integers. Rounding changes A and B by a few eps of themselves, so an
    entry by at most a few eps (A + B) exp(A - B) <= a few eps (A + 1) exp(A), and by convexity
    exp(A_st) <= sqrt(G_ss G_tt) <= |G|. The second figure bounds the sum over a row of all that.
    """
    points = codes / laws.scales
    wide = np.where(laws.scales >= _WIDE, 1.0 + weights @ np.square(points), 1.0)
    b = 2.0 - 1.0 / wide
    near, far = np.zeros((len(codes),) * 2), np.zeros((len(codes),) * 2)
    for c, scale in enumerate(laws.scales):
        near += (2.0 - b[c]) / (4.0 * b[c]) * np.square(points[:, [c]] + points[:, c])
        far += 0.25 * np.square((codes[:, [c]] - codes[:, c]) / scale)
    rounding = 16.0 * len(codes) * (len(b) + 8.0 + float(near.max()))
    with np.errstate(over="ignore"):  # infinite entries bound nothing, and are seen to be
        return np.asarray(np.exp(near - far + 0.5 * np.log(wide / b).sum())), rounding


@final
class GramBound:
    """Upper bounds on |sum_c x_c k_c|_1 from a Gram matrix and, on one axis, its first directions.

    With eigenvectors v_j and eigenvalues l_j of G, a_j = v_j . x and f_j = sum_c v_jc k_c,

        |D|_1 <= sum_(j < s) |a_j| |f_j|_1 + sqrt(sum_(j >= s) a_j^2 l_j)    for every s,

    by the triangle inequality and Cauchy-Schwarz for what is left. Only the larger eigenvalues
    are kept; the others add at most l x . x to the last sum, with the first l that is left out.

    Args:
        gram: (k, k), of kernels.
        most: Largest x . x of the mixtures that will be asked for.
        terms: Rounding errors of the entries of G, in eps |G|: for sums of positive numbers, how
            many each was added up from.

    Attributes:
        vectors: (k, j) eigenvectors that are kept, the largest eigenvalue first.
        slack: What rounding and the eigenvalues left out add to x' G x at most: computed
            eigenpairs are those of a matrix within 64 k eps |G| (backward stability), and sums
            of positive terms have relative errors below eps for each.
    """

    def __init__(self, gram: Floats, most: float, terms: float) -> None:
        values, vectors = np.linalg.eigh(gram)
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        size = float(np.linalg.norm(values))
        kept = max(1, int((values > 1e-13 * size).sum()))
        self.values, self.vectors = values[:kept], vectors[:, :kept]
        rest = float(values[kept]) if kept < values.size else 0.0
        self.slack = most * (rest + (64 * values.size + terms) * _EPS * size)
        self.lengths = np.zeros(0)

    def along(self, lengths: Floats) -> GramBound:
        """Take in |f_j|_1 of the first directions, (s,)."""
        self.lengths = lengths
        return self

    def mapped(self, slope: Floats, rest: Floats) -> Callable[[Floats], Floats]:
        """Return the function from (n, s) zeros and ones z to the bounds for z @ slope + rest.

        Where there are more directions than s, and nothing but the length of (z, 1) @ W counts, W
        gives way to a triangle: with W' = Q R the length is that of R (z, 1)'. Householder's QR is
        that of a matrix within 64 s j eps |W| of W', and |(z, 1)|^2 is at most s + 1.
        """
        s, j = slope.shape
        if self.lengths.size or j <= s + 1:
            return lambda z: self.of(z @ slope + rest)
        wide = np.vstack([slope, rest]) * np.sqrt(self.values)
        triangle = np.transpose(np.linalg.qr(wide.T, mode="r"))
        error = 64 * s * j * _EPS * float(np.linalg.norm(wide)) * math.sqrt(s + 1)

        def of(z: Floats) -> Floats:
            squares = np.square(z @ triangle[:-1] + triangle[-1]).sum(axis=1)
            return np.asarray(np.sqrt(squares + self.slack) + error)

        return of

    def of(self, coordinates: Floats) -> Floats:
        """Return the bounds for (n, j) coordinates a, (n,)."""
        squares = np.square(coordinates) * self.values
        left = squares.sum(axis=1) + self.slack
        best, first = np.sqrt(left), np.zeros(len(coordinates))
        for j, length in enumerate(self.lengths):
            first += np.abs(coordinates[:, j]) * length
            left = np.maximum(left - squares[:, j], self.slack)
            best = np.minimum(best, first + np.sqrt(left + self.slack))
        return np.asarray(best)


def table_error(laws: Laws) -> float:
    """Return a bound on |table - ideal discrete Gaussian|_1, summed over the axes.

    Tables are rounded down to 2**-63 and lose it to their likeliest entry; exponentials and their
    sum have relative errors of a few eps; what lies beyond twelve scales is below 1e-31.
    """
    cells = sum(law.offsets.size for law in laws.each)
    return math.ldexp(2.0 * cells, -63) + 16 * _EPS * len(laws.each)
