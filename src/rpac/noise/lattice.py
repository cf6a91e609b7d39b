"""Noise on a one-dimensional lattice, held as an integer table: the form that is released.

Both a law of its own (counts, the exact equilibrium) and the axis of a `GridNoise`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, final

import numpy as np

from rpac._checks import array, digest, in_range, number, probabilities, refuse
from rpac._types import Floats, Ints, Json, Table
from rpac.noise.base import TOTAL, Noise, integer_table, look_up, study_uniforms


@lru_cache(maxsize=64)
def _gaussian_table(scale: float) -> tuple[Ints, Table, float]:
    """Return (offsets, table, log normaliser) of the discrete Gaussian exp(-k^2 / 2 scale^2)."""
    reach = math.ceil(12.0 * scale) + 12  # what lies beyond is below 1e-31 of the whole
    k = np.arange(-reach, reach + 1)
    kernel = np.exp(-0.5 * np.square(k / scale))
    table = integer_table(kernel)
    keep = table > 0
    return k[keep], table[keep], math.log(float(kernel.sum()))


@final
class LatticeNoise(Noise):
    """Noise step * k, where the integer k follows a table.

    Args:
        step: Spacing of the lattice, positive.
        offsets: (n,) distinct integers k.
        weights: (n,) their probabilities. They are rounded to multiples of 2**-63, and the
            rounded integers are the law: entries below that are dropped.

    Attributes:
        scale: For discrete Gaussians the scale in steps, else None.

    >>> LatticeNoise(1.0, [-1, 0, 1], [0.25, 0.5, 0.25]).power
    0.5
    """

    def __init__(self, step: float, offsets: Any, weights: Any) -> None:
        if number(step, "step") <= 0:
            raise refuse("a positive `step`", repr(step), "Counts have step 1.")
        k = array(offsets, "offsets", 1)
        q = probabilities(weights, "weights", size=k.size)
        if (k != np.rint(k)).any() or np.unique(k).size != k.size or np.abs(k).max() > 2**31:
            raise refuse("distinct whole `offsets`", "others", "Give multiples of `step`.")
        order = np.argsort(k)
        table = integer_table(q[order])
        self.step, self.scale, self._log_sum = float(step), None, 0.0
        self.offsets, self.table = k[order].astype(np.int64)[table > 0], table[table > 0]
        self.freeze("offsets", "table")

    scale: float | None

    @classmethod
    def gaussian(cls, step: float, scale: float) -> LatticeNoise:
        """Return the discrete Gaussian on multiples of `step`, of scale `scale` in steps."""
        noise = object.__new__(cls)
        noise.step = in_range(step, "step", 0.0, math.inf)
        noise.scale = in_range(scale, "scale", 0.0, 1e7)
        noise.offsets, noise.table, noise._log_sum = _gaussian_table(noise.scale)
        noise.freeze("offsets", "table")
        return noise

    @property
    def dim(self) -> int:
        """One coordinate."""
        return 1

    @property
    def weights(self) -> Floats:
        """The probabilities of `offsets`, (n,)."""
        return np.asarray(self.table / float(TOTAL))

    @property
    def dense(self) -> Floats:
        """The probabilities of every integer from the least offset to the largest."""
        out = np.zeros(int(self.offsets[-1] - self.offsets[0]) + 1)
        out[self.offsets - self.offsets[0]] = self.weights
        return out

    @property
    def mean(self) -> float:
        """E B."""
        return self.step * float(self.weights @ self.offsets)

    @property
    def cov(self) -> Floats:
        """Variance, (1, 1)."""
        mean = self.mean / self.step
        return np.array([[self.step**2 * float(self.weights @ np.square(self.offsets - mean))]])

    @property
    def power(self) -> float:
        """E B^2."""
        return self.step**2 * float(self.weights @ np.square(self.offsets.astype(np.float64)))

    @property
    def entropy(self) -> float:
        """Entropy of the table in nats."""
        q = self.weights
        return float(-(q @ np.log(q)))

    @property
    def excess(self) -> float:
        """KL(table || ideal, untruncated discrete Gaussian) in nats: the price of tabulating."""
        if self.scale is None:
            raise refuse("a discrete Gaussian", "another table", "Use LatticeNoise.gaussian.")
        ideal = -0.5 * np.square(self.offsets / self.scale) - self._log_sum
        return max(0.0, -self.entropy - float(self.weights @ ideal))

    def at(self, uniforms: Table) -> Ints:
        """Return the integer k that each uniform integer in [0, 2**63) selects."""
        return np.asarray(self.offsets[look_up(self.table, uniforms)])

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Return (n, 1) draws for study."""
        return np.asarray(self.step * self.at(study_uniforms(rng, n, 1)))

    def log_density(self, points: Floats) -> Floats:
        """Return the log mass at (n, 1) points; -inf off the lattice."""
        k = np.asarray(points, np.float64)[:, 0] / self.step
        where = np.minimum(np.searchsorted(self.offsets, np.rint(k)), self.offsets.size - 1)
        hit = np.abs(k - self.offsets[where]) <= 1e-9 * np.maximum(1.0, np.abs(k))
        return np.asarray(np.where(hit, np.log(self.weights)[where], -np.inf))

    def describe(self) -> Json:
        """Return the public description."""
        key = digest(self.step, self.offsets, self.table, str(self.scale))
        return {
            "family": "lattice",
            "dim": 1,
            "step": self.step,
            "scale": self.scale,
            "power": self.power,
            "digest": key,
        }

    def __repr__(self) -> str:
        return f"LatticeNoise(step={self.step:.6g}, power={self.power:.6g})"
