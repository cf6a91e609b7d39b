"""Leakage as a finite sum: integer worlds under a table on one axis, and labels under a channel.

On one axis MI(X; Y) = H(Y) - H(B), because given the world Y is the noise, shifted. Both entropies
are finite sums over tables, so nothing is left to chance but the rounding of float64, which is
bounded and added.
"""

from __future__ import annotations

import math

import numpy as np

from rpac._base.entropy import ROUNDING, entropy
from rpac._base.types import Floats, Ints
from rpac.noise.label import LabelChannel
from rpac.noise.lattice import LatticeNoise

_EPS = float(np.finfo(float).eps)
_MOST_CELLS = 1 << 26


def lattice_law(codes: Ints, weights: Floats, axis: LatticeNoise) -> tuple[Ints, Floats]:
    """Return where each world's noise window starts, and the mass of Y, for integer worlds.

    Gaps wider than the noise are shut first: windows that do not overlap stay apart. The mass
    is empty where it would take more than 2**26 cells.
    """
    dense, order = axis.dense, np.argsort(codes)
    starts = np.zeros(codes.size, np.int64)
    starts[order[1:]] = np.cumsum(np.minimum(np.diff(codes[order]), dense.size))
    cells = int(starts.max()) + dense.size
    law = np.zeros(cells if cells <= _MOST_CELLS else 0)
    for start, weight in zip(starts, weights, strict=True) if law.size else ():
        law[start : start + dense.size] += weight * dense
    return starts, law


def lattice_leakage(codes: Ints, weights: Floats, axis: LatticeNoise) -> float:
    """Return MI(X; Y) = H(Y) - H(B) for (m,) integer worlds, as a finite sum.

    Infinite where the sum would have more than 2**26 terms; other bounds then apply.
    """
    law = lattice_law(codes, weights, axis)[1]
    mass = law[law > 0]
    return max(0.0, entropy(mass) - axis.entropy) if mass.size else math.inf


def sum_rounding(worlds: int, leakage: float, axis: LatticeNoise) -> float:
    """Return a bound on the float64 error of `lattice_leakage`: masses are sums over worlds."""
    return ROUNDING + _EPS * (worlds + 100) * (1.0 + leakage + 2.0 * axis.entropy)


def label_law(weights: Floats, channel: LabelChannel) -> tuple[Floats, Floats]:
    """Return P(label, released) where it is positive, and the information density there.

    The density is log P(released | label) - log P(released); its mean is the leakage.
    """
    joint = weights[:, None] * channel.matrix
    i, j = np.nonzero(joint)
    return joint[i, j], np.log(channel.matrix[i, j] / joint.sum(axis=0)[j])


def label_leakage(weights: Floats, channel: LabelChannel) -> float:
    """Return MI(label; released label) for labels with these probabilities, as a finite sum."""
    mass, densities = label_law(weights, channel)
    return max(0.0, float(mass @ densities))
