"""Noise for labels: a channel from the true label to the released one."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from rpac._checks import array, count, digest, in_range, probabilities, refuse
from rpac._types import Floats, Ints, Json, Table
from rpac.noise.base import TOTAL, Frozen, integer_table, look_up, study_uniforms


@final
class LabelChannel(Frozen):
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

    def sample(self, labels: Ints, rng: np.random.Generator) -> Ints:
        """Return released labels for study."""
        return self.at(labels, study_uniforms(rng, len(labels)))

    def log_density(self, labels: Ints, released: Ints) -> Floats:
        """Return log P(released | label), elementwise."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.matrix[labels, released]))

    def describe(self) -> Json:
        """Return the public description."""
        return {
            "family": "label",
            "classes": len(self.tables),
            "power": self.power,
            "digest": digest(self.tables),
        }

    def __repr__(self) -> str:
        return f"LabelChannel(classes={len(self.tables)}, power={self.power:.6g})"
