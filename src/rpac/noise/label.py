"""Noise for labels: a channel from the true label to the released one."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from rpac._base.checks import array, count, in_range, probabilities, refuse
from rpac._base.hashing import digest
from rpac._base.types import Floats, Ints, Json, Table
from rpac.noise.base import (
    TOTAL,
    Releasable,
    integer_table,
    look_up,
    study_uniforms,
    system_uniforms,
)


@final
class LabelChannel(Releasable):
    """A row-stochastic matrix P(released label | true label), held as integer tables.

    Args:
        matrix: (k, k) with rows that sum to 1. Rows are rounded to multiples of 2**-63, and
            the rounded rows are the law.
    """

    def __init__(self, matrix: Any) -> None:
        rows = array(matrix, "matrix", 2)
        size = rows.shape[1]
        if len(rows) != size:
            raise refuse("a square `matrix`", f"shape {rows.shape}", "Give each label a row.")
        self.tables: Table = np.stack(
            [integer_table(probabilities(row, "matrix row", size=size)) for row in rows]
        )
        self.freeze("tables")

    @classmethod
    def randomized_response(cls, classes: int, keep: float) -> LabelChannel:
        """Return the channel that keeps a label with probability `keep`, else another evenly."""
        k, stay = count(classes, "classes", least=2), in_range(keep, "keep", 0.0, 1.0)
        other = (1 - stay) / (k - 1)
        return cls(np.full((k, k), other) + (stay - other) * np.eye(k))

    @property
    def matrix(self) -> Floats:
        """The released law, (k, k)."""
        return np.asarray(self.tables / float(TOTAL))

    @property
    def power(self) -> float:
        """Probability of a changed label, labels equally likely."""
        return float(1.0 - np.trace(self.matrix) / len(self.tables))

    def at(self, labels: Ints, uniforms: Table) -> Ints:
        """Return the released labels for (n,) true labels and (n,) uniform integers."""
        out = np.empty(len(labels), np.int64)
        for label in np.unique(labels):
            here = labels == label
            out[here] = look_up(self.tables[label], uniforms[here])
        return out

    @property
    def rank(self) -> int:
        """One integer: the label's number."""
        return 1

    def encode(self, values: Floats) -> Ints:
        """Return the (n, 1) numbers of (n, 1) labels."""
        return values.astype(np.int64)

    def noisy(self, codes: Ints) -> Ints:
        """Return the (1,) released label of one true label, drawn by the operating system."""
        return self.at(codes, system_uniforms(1))

    def decode(self, codes: Ints) -> Floats:
        """Return the (1,) number of a released label."""
        return codes.astype(np.float64)

    def log_likelihood(self, codes: Ints, released: Ints) -> Floats:
        """Return log P(released | world), (m,), for the (m, 1) labels of the worlds."""
        return self.log_density(codes[:, 0], np.broadcast_to(released, codes[:, 0].shape))

    def error(self) -> dict[str, Floats]:
        """Return nothing: a label has no interval around it."""
        return {}

    def sample(self, labels: Ints, rng: np.random.Generator) -> Ints:
        """Return released labels for study."""
        return self.at(labels, study_uniforms(rng, len(labels)))

    def applied(self, values: Floats, rng: np.random.Generator) -> Floats:
        """Return (n, 1) labels as they might be released, for study."""
        return self.sample(values[:, 0].astype(np.int64), rng)[:, None].astype(np.float64)

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
