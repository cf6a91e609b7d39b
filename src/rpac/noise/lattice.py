"""Noise on a one-dimensional lattice, held as an integer table: the form that is released.

Both a law of its own (counts, the exact equilibrium) and the axis of a `GridNoise`.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import Any, final

import numpy as np

from rpac._base.checks import array, in_range, number, probabilities, refuse
from rpac._base.frozen import Frozen, fixed
from rpac._base.hashing import digest
from rpac._base.types import Floats, Ints, Json, Table
from rpac.noise.base import TOTAL, Noise, integer_table, study_uniforms

_GUIDE = 18
"""Leading bits of a uniform that mostly settle what it selects."""
_MANY = 1 << 16
"""Uniforms from which a guide by leading bits is worth making."""


@final
class TableLaw(Frozen):
    """A table and all that follows from it, in steps: computed once, shared by every axis."""

    def __init__(self, offsets: Ints, table: Table, scale: float | None = None, log_sum: float = 0):
        self.scale = scale
        self.offsets, self.table = offsets[table > 0], table[table > 0]
        k = self.offsets.astype(np.float64)
        self.weights: Floats = self.table / float(TOTAL)
        self.dense = np.zeros(int(k[-1] - k[0]) + 1)
        self.dense[self.offsets - self.offsets[0]] = self.weights
        self.cumulative = np.cumsum(self.table, dtype=np.uint64)
        self.mean = 0.0 if scale else float(self.weights @ k)  # Gaussians are even
        self.power = float(self.weights @ np.square(k))
        self.variance = float(self.weights @ np.square(k - self.mean))
        self.entropy = float(-(self.weights @ np.log(self.weights)))
        ideal = -0.5 * np.square(k / (scale or 1.0)) - log_sum
        self.excess = max(0.0, -self.entropy - float(self.weights @ ideal))
        self.freeze("offsets", "table", "weights", "dense", "cumulative")

    @cached_property
    def log_mass(self) -> tuple[int, Floats]:
        """(First offset, log mass of every integer from there), a cell of no mass at either end."""
        with np.errstate(divide="ignore"):
            return int(self.offsets[0]) - 1, fixed(np.log(np.pad(self.dense, 1)))

    def at(self, uniforms: Table) -> Ints:
        """Return the integer k that each uniform integer in [0, 2**63) selects."""
        if uniforms.size < _MANY:
            return np.asarray(self.offsets[self.cumulative.searchsorted(uniforms, side="right")])
        places = self._guide[(uniforms >> np.uint64(63 - _GUIDE)).astype(np.int64)]
        split = places < 0
        places[split] = self.cumulative.searchsorted(uniforms[split], side="right")
        return np.asarray(self.offsets[places])

    @cached_property
    def _guide(self) -> Ints:
        """(2**18,) the place that all uniforms with these leading bits select; -1 if several."""
        edges = np.arange(1 << _GUIDE, dtype=np.uint64) << np.uint64(63 - _GUIDE)
        last = edges + np.uint64((1 << (63 - _GUIDE)) - 1)
        low, high = (self.cumulative.searchsorted(at, side="right") for at in (edges, last))
        found: Ints = fixed(np.where(low == high, low, -1))
        return found

    def _anew(self) -> TableLaw:
        """Return the law of this table alone, with all that follows worked out again."""
        self.unhidden()
        table, offsets = np.array(self.table), np.array(self.offsets)
        if self.scale is not None:
            genuine = gaussian_law(self.scale)
            if np.array_equal(offsets, genuine.offsets) and np.array_equal(table, genuine.table):
                return genuine
        rising = offsets.dtype == np.int64 and bool((np.diff(offsets) > 0).all())
        if not rising or table.dtype != np.uint64 or sum(table.tolist()) != TOTAL:
            expected = "rising offsets, and integers that sum to 2**63"
            raise refuse(expected, "others", "Make it anew.")
        return TableLaw(offsets, table)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the table."""
        return digest(self.offsets, self.table)


def gaussian_law(scale: float) -> TableLaw:
    """Return the discrete Gaussian exp(-k^2 / 2 scale^2), with its log normaliser."""
    return _gaussian_law(in_range(scale, "scale", 0.0, 1e7))


@lru_cache(maxsize=64)
def _gaussian_law(scale: float) -> TableLaw:
    reach = math.ceil(12.0 * scale) + 12  # what lies beyond is below 1e-31 of the whole
    k = np.arange(-reach, reach + 1)
    kernel = np.exp(-0.5 * np.square(k / scale))
    return TableLaw(k, integer_table(kernel), scale, math.log(float(kernel.sum())))


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
            raise refuse(
                "distinct whole `offsets`", f"{k.tolist()[:8]}", "Give multiples of `step`."
            )
        order = np.argsort(k)
        law = TableLaw(k[order].astype(np.int64), integer_table(q[order]))
        self.step, self.scale, self.law = float(step), law.scale, law
        self.freeze()

    @classmethod
    def gaussian(cls, step: float, scale: float) -> LatticeNoise:
        """Return the discrete Gaussian on multiples of `step`, of scale `scale` in steps."""
        return cls.of(in_range(step, "step", 0.0, math.inf), gaussian_law(scale))

    @classmethod
    def of(cls, step: float, law: TableLaw) -> LatticeNoise:
        """Return the noise of a table on multiples of `step`."""
        noise = object.__new__(cls)
        noise.step, noise.scale, noise.law = step, law.scale, law
        noise.freeze()
        return noise

    def _anew(self) -> LatticeNoise:
        """Return the same noise, made of plain copies of its parts."""
        return LatticeNoise.of(float(self.step), self.law._anew())

    @property
    def offsets(self) -> Ints:
        """The integers k that have mass, (n,)."""
        return self.law.offsets

    @property
    def table(self) -> Table:
        """Their integer weights, (n,); they sum to 2**63."""
        return self.law.table

    @property
    def dim(self) -> int:
        """One coordinate."""
        return 1

    @property
    def weights(self) -> Floats:
        """The probabilities of `offsets`, (n,)."""
        return self.law.weights

    @property
    def dense(self) -> Floats:
        """The probabilities of every integer from the least offset to the largest."""
        return self.law.dense

    @property
    def log_mass(self) -> tuple[int, Floats]:
        """(First offset, log mass of every integer from there), a cell of no mass at either end."""
        return self.law.log_mass

    @property
    def cov(self) -> Floats:
        """Variance, (1, 1)."""
        return np.array([[self.step**2 * self.law.variance]])

    @property
    def power(self) -> float:
        """E B^2."""
        return self.step**2 * self.law.power

    @property
    def entropy(self) -> float:
        """Entropy of the table in nats."""
        return self.law.entropy

    @property
    def excess(self) -> float:
        """KL(table || ideal, untruncated discrete Gaussian) in nats: the price of tabulating."""
        if self.scale is None:
            raise refuse("a discrete Gaussian", repr(self), "Use LatticeNoise.gaussian.")
        return self.law.excess

    def at(self, uniforms: Table) -> Ints:
        """Return the integer k that each uniform integer in [0, 2**63) selects."""
        return self.law.at(uniforms)

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
        key = digest(self.step, self.law.digest, str(self.scale))
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
