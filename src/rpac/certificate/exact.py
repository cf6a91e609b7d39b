"""Leakage as a finite sum: integer worlds under a table on one axis, and worlds under a channel.

MI(X; Y) = H(Y) - H(Y | X). On one axis H(Y | X) = H(B), because given the world Y is the noise,
shifted; under a channel it is the mean entropy of the rows. All are finite sums over tables, so
nothing is left to chance but the rounding of float64, which is bounded and added.
"""

from __future__ import annotations

import math

import numpy as np

from rpac._base.entropy import ROUNDING, entropy
from rpac._base.types import Floats, Ints
from rpac.noise.base import TOTAL
from rpac.noise.channel import Channel
from rpac.noise.lattice import LatticeNoise

_EPS = float(np.finfo(float).eps)
_MOST_CELLS = 1 << 26
_BLOCK = 1 << 20
"""Entries of a channel that are looked at together."""


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


def channel_entropies(prior: Floats, channel: Channel) -> tuple[Floats, float]:
    """Return the mass of all that may be released, (K,), and H(Y | X) in nats.

    Args:
        prior: (rows,) probabilities of the channel's rows.
        channel: The law; its tables are read a block at a time.
    """
    rows, k = channel.tables.shape
    released, within = np.zeros(k), np.zeros(rows)
    size = max(1, _BLOCK // k)
    for a in range(0, rows, size):
        part = slice(a, a + size)
        matrix = channel.tables[part] / float(TOTAL)
        released += prior[part] @ matrix
        logs = np.log(matrix, out=np.zeros_like(matrix), where=matrix > 0)
        within[part] = -(matrix * logs).sum(axis=1)
    return released, float(prior @ within)


def channel_leakage(prior: Floats, channel: Channel) -> float:
    """Return MI(row; released) = H(Y) - H(Y | X) for rows with these probabilities."""
    released, within = channel_entropies(prior, channel)
    return max(0.0, entropy(released[released > 0]) - within)


def channel_rounding(leakage: float, channel: Channel) -> float:
    """Return a bound on the float64 error of `channel_leakage`.

    Masses are sums over rows, of positive terms: relative errors of at most eps for each row. The
    entropies, at most log K each, are sums over entries and rows, likewise.
    """
    rows, k = channel.tables.shape
    return ROUNDING + _EPS * float(rows + k + 100) * (2.0 + leakage + 2.0 * math.log(k))
