"""Noise for labels: a channel from the true label to the released one."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from rpac._base.checks import count, in_range, refuse
from rpac._base.hashing import digest
from rpac._base.types import Floats, Ints, Json
from rpac.noise.base import study_uniforms
from rpac.noise.channel import Channel


@final
class LabelChannel(Channel):
    """A row-stochastic matrix P(released label | true label), held as integer tables.

    Args:
        matrix: (k, k) with rows that sum to 1. Rows are rounded to multiples of 2**-63, and
            the rounded rows are the law.
    """

    def __init__(self, matrix: Any) -> None:
        self.tables = self.tables_of(matrix)
        if len(self.tables) != self.tables.shape[1]:
            got = f"shape {self.tables.shape}"
            raise refuse("a square `matrix`", got, "Give each label a row.")
        self.freeze("tables")

    def _anew(self) -> LabelChannel:
        """Return the same channel, made of a plain copy of its tables."""
        made = object.__new__(LabelChannel)
        made.tables = np.array(self.tables)
        made.freeze("tables")
        return made

    @classmethod
    def randomized_response(cls, classes: int, keep: float) -> LabelChannel:
        """Return the channel that keeps a label with probability `keep`, else another evenly."""
        k, stay = count(classes, "classes", least=2), in_range(keep, "keep", 0.0, 1.0)
        other = (1 - stay) / (k - 1)
        return cls(np.full((k, k), other) + (stay - other) * np.eye(k))

    @property
    def words(self) -> Floats:
        """What may be released: the numbers of the labels, (k, 1)."""
        return np.arange(len(self.tables), dtype=np.float64)[:, None]

    @property
    def power(self) -> float:
        """Probability of a changed label, labels equally likely."""
        return float(1.0 - np.trace(self.matrix) / len(self.tables))

    def encode(self, values: Floats) -> Ints:
        """Return the (n, 1) numbers of (n, 1) labels."""
        return values.astype(np.int64)

    def error(self) -> dict[str, Floats]:
        """Return nothing: a label has no interval around it."""
        return {}

    def sample(self, labels: Ints, rng: np.random.Generator) -> Ints:
        """Return released labels for study."""
        return self.at(labels, study_uniforms(rng, len(labels)))

    def log_density(self, labels: Ints, released: Ints) -> Floats:
        """Return log P(released | label), elementwise."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.matrix[labels, released]))

    @property
    def digest(self) -> str:
        """SHA-256 of the tables."""
        return digest(self.tables)

    def describe(self) -> Json:
        """Return the public description."""
        return {
            "family": "label",
            "classes": len(self.tables),
            "power": self.power,
            "digest": self.digest,
        }

    def __repr__(self) -> str:
        return f"LabelChannel(classes={len(self.tables)}, power={self.power:.6g})"
