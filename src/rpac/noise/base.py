"""The noun Noise, and the integer tables from which everything released is drawn."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod

import numpy as np

from rpac._checks import refuse
from rpac._types import Floats, Ints, Json, Table

TOTAL = 1 << 63
"""A table's weights are integers that sum to exactly this; they *are* the law."""


def integer_table(weights: Floats) -> Table:
    """Return integer weights that sum to 2**63: rounded down, the rest to the likeliest entry."""
    table: Table = np.floor(weights / weights.sum() * TOTAL).astype(np.uint64)
    top = int(np.argmax(table))
    table[top] = int(table[top]) + TOTAL - int(table.sum(dtype=np.uint64))
    return table


def system_uniforms(*shape: int) -> Table:
    """Return integers uniform on [0, 2**63) from the operating system: release randomness."""
    size = math.prod(shape)
    return (np.frombuffer(os.urandom(8 * size), np.uint64) >> np.uint64(1)).reshape(shape)


def study_uniforms(rng: np.random.Generator, *shape: int) -> Table:
    """Return integers uniform on [0, 2**63) from a generator: study randomness, never released."""
    return rng.integers(0, TOTAL, size=shape, dtype=np.uint64)


def look_up(table: Table, uniforms: Table) -> Ints:
    """Return the index each uniform integer selects: inverse cumulative weights, exactly."""
    return np.searchsorted(np.cumsum(table, dtype=np.uint64), uniforms, side="right")


class Frozen:
    """An object that stays as it was certified: no attribute changes once `freeze` was called."""

    def freeze(self, *arrays: str) -> None:
        """Make the named arrays read-only, and the object with them."""
        for name in arrays:
            kept = np.array(getattr(self, name))
            kept.setflags(write=False)
            object.__setattr__(self, name, kept)
        object.__setattr__(self, "_frozen", True)

    def __setattr__(self, name: str, value: object) -> None:
        if getattr(self, "_frozen", False):
            raise refuse("noise that stays as certified", f"a new `{name}`", "Make another noise.")
        object.__setattr__(self, name, value)

    def __setstate__(self, state: dict[str, object]) -> None:
        for kept in state.values():  # a copy's arrays are as read-only as the original's
            if isinstance(kept, np.ndarray):
                kept.setflags(write=False)
        self.__dict__.update(state)


class Noise(Frozen, ABC):
    """Additive noise B, independent of the secret.

    Guarantees:
        `log_density` is the law that `sample` draws from. Subclasses are final, so that nobody
        can change the density a certificate was computed with.
    """

    @property
    @abstractmethod
    def dim(self) -> int:
        """Number of output coordinates, d."""

    @property
    @abstractmethod
    def cov(self) -> Floats:
        """Covariance of B, (d, d)."""

    @property
    @abstractmethod
    def power(self) -> float:
        """E ||B||^2."""

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Return (n, d) draws for study; a release never calls this."""

    @abstractmethod
    def log_density(self, points: Floats) -> Floats:
        """Return log q at (n, d) points: a density, or a mass on the noise's own lattice."""

    @abstractmethod
    def describe(self) -> Json:
        """Return the public description that goes into a certificate."""
