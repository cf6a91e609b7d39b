"""Statistics that are sums over rows: all half-samples at once, by a matrix product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np

from rpac._base.types import Floats, Ints
from rpac.worlds.source import Subsets

Columns: TypeAlias = dict[str, Floats]
"""Numbers of columns, by name; missing entries are NaN."""


@final
@dataclass(frozen=True, eq=False)
class Sums:
    """How a number is made of sums over the rows of a world.

    Attributes:
        terms: From columns and the number of rows to the (rows, k) numbers to add up.
        finish: From (m, k) sums to the (m,) answers of m worlds.
    """

    terms: Callable[[Columns, int], Floats]
    finish: Callable[[Floats], Any]


def mean(column: str, empty: float) -> Sums:
    """Return the mean of a column; `empty` where a world has no entry."""

    def finish(sums: Floats) -> Floats:
        total, entries = sums.T
        return np.where(entries > 0, total / np.maximum(entries, 1.0), empty)

    return Sums(lambda read, rows: _entries(read[column]), finish)


def total(column: str) -> Sums:
    """Return the sum of a column."""
    return Sums(lambda read, rows: _entries(read[column])[:, :1], lambda sums: sums[:, 0])


def size(column: str | None) -> Sums:
    """Return the number of rows, or of entries in a column."""

    def terms(read: Columns, rows: int) -> Floats:
        return np.ones((rows, 1)) if column is None else _entries(read[column])[:, 1:]

    return Sums(terms, lambda sums: np.rint(sums[:, 0]).astype(np.int64))


def _entries(values: Floats) -> Floats:
    """Return what each row adds to the sum of a column, and to the number of its entries."""
    there = ~np.isnan(values)
    return np.stack([np.where(there, values, 0.0), there], axis=1)


def answers(
    sums: Sums, source: Subsets, read: Columns, groups: Ints | None = None, size: int = 1
) -> Any:
    """Return the answers on all half-samples, (m,), or (m, size) by group.

    None where sums exceed float64: then each world says for itself whether it has an answer.

    Args:
        sums: What is added up.
        source: Half-samples of a table.
        read: Its columns.
        groups: (rows,) group of every row; None for one.
        size: Number of groups.
    """
    halves = source.worlds(0)
    terms = sums.terms(read, len(source.frame))
    with np.errstate(all="ignore"):
        if not np.isfinite(np.abs(terms).sum()):
            return None
    if groups is None:
        return sums.finish(halves.totals(terms))
    rows = [np.flatnonzero(groups == i) for i in range(size)]
    return np.stack([sums.finish(halves.totals(terms[own], own)) for own in rows], axis=1)
