"""A product of one-dimensional tables on the released grid: the reference of open distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from rpac._checks import array, refuse
from rpac._types import Floats
from rpac.noise.lattice import LatticeNoise
from rpac.reference.base import Reference


def convolve(a: Floats, b: Floats) -> Floats:
    """Return the full convolution of two one-dimensional arrays, by FFT."""
    size = a.size + b.size - 1
    fast = 1 << (size - 1).bit_length()
    return np.asarray(np.fft.irfft(np.fft.rfft(a, fast) * np.fft.rfft(b, fast), fast)[:size])


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
