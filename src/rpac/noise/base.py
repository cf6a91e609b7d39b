"""The nouns Law, Noise and Releasable, and the integer tables everything released is drawn from."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod

import numpy as np

from rpac._base.frozen import Frozen
from rpac._base.types import Floats, Ints, Json, Table
from rpac.worlds.outputs import Outputs

TOTAL = 1 << 63
"""A table's weights are integers that sum to exactly this; they *are* the law."""


def integer_table(weights: Floats) -> Table:
    """Return integer weights that sum to 2**63: rounded down, the rest to the likeliest entry.

    Of (n,) weights, or of each row of (m, n) ones.
    """
    shares = weights / weights.sum(axis=-1, keepdims=True)
    table: Table = np.floor(shares * TOTAL).astype(np.uint64)
    top = np.argmax(weights, axis=-1)[..., None]
    missing = np.uint64(TOTAL) - table.sum(axis=-1, dtype=np.uint64, keepdims=True)  # modulo 2**64
    np.put_along_axis(table, top, np.take_along_axis(table, top, -1) + missing, -1)
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


class Law(Frozen, ABC):
    """How an output is randomised before it is released: by additive noise, or by a channel."""

    @property
    @abstractmethod
    def power(self) -> float:
        """What it costs: E ||B||^2; for labels the probability of a change."""

    @abstractmethod
    def applied(self, outputs: Outputs, worlds: Ints, rng: np.random.Generator) -> Floats:
        """Return (n,) worlds as they might be released, (n, d): for study, never for a release."""

    @abstractmethod
    def describe(self) -> Json:
        """Return the public description that goes into a certificate."""


class Releasable(Law):
    """A law on integers, which is really released: tables on a grid, or a channel.

    Guarantees:
        `noisy` draws once, from the operating system, the law whose masses `log_likelihood`
        returns. Subclasses are final.
    """

    @property
    @abstractmethod
    def digest(self) -> str:
        """SHA-256 of all that decides what is released."""

    @property
    @abstractmethod
    def rank(self) -> int:
        """Number of integers of an output, r."""

    @abstractmethod
    def encode(self, values: Floats) -> Ints:
        """Return the (n, r) integers of (n, d) values."""

    @abstractmethod
    def noisy(self, codes: Ints) -> Ints:
        """Return the (r,) released integers of one output's (r,) integers."""

    @abstractmethod
    def decode(self, codes: Ints) -> Floats:
        """Return the (d,) released numbers of (r,) integers: public post-processing."""

    @abstractmethod
    def log_likelihood(self, codes: Ints, released: Ints) -> Floats:
        """Return log P(released | world), (m,), for (m, r) worlds and the (r,) released."""

    @abstractmethod
    def error(self) -> dict[str, Floats]:
        """Return "noise", the (d,) standard deviations, and "bias" where the mean is not 0.

        "both" beside them, where that is no sum of two: deviations of what is released from the
        mean of all worlds. Empty for labels.
        """


class Noise(Law):
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
    def variances_of_numbers(self) -> Floats:
        """Variance of each coordinate of B, (d,)."""
        return np.diag(self.cov).copy()

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Return (n, d) draws for study; a release never calls this."""

    def applied(self, outputs: Outputs, worlds: Ints, rng: np.random.Generator) -> Floats:
        """Return (n, d) outputs with noise, for study."""
        return np.asarray(outputs.values[worlds] + self.sample(len(worlds), rng))

    @abstractmethod
    def log_density(self, points: Floats) -> Floats:
        """Return log q at (n, d) points: a density, or a mass on the noise's own lattice."""
