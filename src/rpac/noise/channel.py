"""The noun Channel: a law that releases one of K entries, by the integer table of a row."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from rpac._base.checks import array, refuse
from rpac._base.types import Floats, Ints, Table
from rpac.noise.base import TOTAL, Releasable, integer_table, study_uniforms, system_uniforms
from rpac.worlds.outputs import Outputs

_CELLS = 1 << 20
"""Entries of tables that are summed up together."""


class Channel(Releasable):
    """A row-stochastic matrix P(released | row), held as integer tables; rows stand for outputs.

    Attributes:
        tables: (rows, K) integers, each row of which sums to 2**63: they are the law.
    """

    tables: Table

    @property
    @abstractmethod
    def words(self) -> Floats:
        """All that may be released, (K, d)."""

    @staticmethod
    def tables_of(matrix: Any) -> Table:
        """Return the integer tables of (rows, K) probabilities, rounded to multiples of 2**-63."""
        rows = array(matrix, "matrix", 2)
        if rows.min() < 0:
            raise refuse("probabilities in `matrix`", f"{rows.min():g}", "Drop what is negative.")
        sums = rows.sum(axis=1)
        worst = float(sums[np.abs(sums - 1.0).argmax()])
        if abs(worst - 1.0) > 1e-6:
            raise refuse("rows of `matrix` that sum to 1", f"{worst:.9g}", "Divide by their sums.")
        return integer_table(rows)

    def whole(self) -> None:
        """Refuse tables that are no longer a law: rows of integers that sum to 2**63.

        Halves of the integers are summed apart, so that no sum wraps around.
        """
        tables = self.tables
        plain = type(tables) is np.ndarray and tables.dtype == np.uint64 and tables.ndim == 2
        if plain:
            high = (tables >> np.uint64(32)).sum(axis=1, dtype=np.uint64)
            low = (tables & np.uint64(2**32 - 1)).sum(axis=1, dtype=np.uint64)
            carried = high + (low >> np.uint64(32))
            exact = (carried == TOTAL >> 32) & (low & np.uint64(2**32 - 1) == 0)
        if not plain or not exact.all() or int(tables.max()) > TOTAL:
            raise refuse("rows of integers that sum to 2**63", "other tables", "Make it anew.")

    @property
    def matrix(self) -> Floats:
        """The released law, (rows, K)."""
        return np.asarray(self.tables / float(TOTAL))

    @property
    def rank(self) -> int:
        """One integer: the number of a row, and of what is released."""
        return 1

    def at(self, labels: Ints, uniforms: Table) -> Ints:
        """Return what is released of (n,) rows, by number, for (n,) uniforms in [0, 2**63)."""
        out = np.empty(len(labels), np.int64)
        size = max(1, _CELLS // self.tables.shape[1])
        for a in range(0, len(labels), size):
            part = slice(a, a + size)
            cumulative = np.cumsum(self.tables[labels[part]], axis=1, dtype=np.uint64)
            out[part] = (cumulative <= uniforms[part, None]).sum(axis=1)
        return out

    def noisy(self, codes: Ints) -> Ints:
        """Return the (1,) released entry of one row, drawn by the operating system."""
        return self.at(codes, system_uniforms(1))

    def log_likelihood(self, codes: Ints, released: Ints) -> Floats:
        """Return log P(released | world), (m,), for the (m, 1) rows of the worlds."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.tables[codes[:, 0], released[0]] / float(TOTAL)))

    def applied(self, outputs: Outputs, worlds: Ints, rng: np.random.Generator) -> Floats:
        """Return (n,) worlds as they might be released, (n, d), for study."""
        rows = outputs.codes(self)[worlds, 0]
        return np.array(self.words[self.at(rows, study_uniforms(rng, len(rows)))])

    def decode(self, codes: Ints) -> Floats:
        """Return the (d,) numbers of a released entry: public post-processing."""
        return np.array(self.words[codes[0]])
