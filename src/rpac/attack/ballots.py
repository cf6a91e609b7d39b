"""What the way down a grid of noisy votes tells: middles and quantiles under the promise *person*.

A vote at an entry of a public grid is noisy; whether it is below 0 says which half is searched
next. Of all this only the last entry is published, and it says how every vote came out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from rpac._base.types import Bools, Floats, Ints
from rpac.numerics import log_normal_tail
from rpac.person.contributions import Linear, Rows, Term, added

Normal = Callable[[int], Floats]
"""Returns so many normal numbers, for study games."""


@final
@dataclass(frozen=True, eq=False)
class Ballot:
    """Votes on one grid, as they are without and with a person.

    Attributes:
        totals: (2, grid) votes before noise at every entry: without them, with them.
        sigma: Deviation of the noise of one vote.
    """

    totals: Floats
    sigma: float

    def walk(self, coins: Ints, normal: Normal) -> Ints:
        """Return (n,) places on the grid where searches end, one for each coin: study games."""
        low, high = np.zeros_like(coins), np.full_like(coins, self.totals.shape[1] - 1)
        for _ in range(rounds(self.totals.shape[1])):
            at = (low + high) // 2
            noisy = self.totals[coins, at] + self.sigma * normal(len(coins))
            right = (noisy < 0) & (low < high)
            low, high = np.where(right, at + 1, low), np.where(right, high, at)
        return low

    def read(self, places: Ints) -> Floats:
        """Return (n,) log likelihood ratios, with over without, of searches that ended there."""
        told = np.zeros(len(places))
        for at, right, cast in way(self.totals.shape[1], places):
            sign = np.where(right, -1.0, 1.0) / self.sigma
            without, with_ = (log_normal_tail(sign * side[at]) for side in self.totals)
            told += np.where(cast, with_ - without, 0.0)
        return told


def way(size: int, places: Ints) -> Iterator[tuple[Ints, Bools, Bools]]:
    """Yield, round by round, the entries voted on, which went right, and which votes counted."""
    low, high = np.zeros_like(places), np.full_like(places, size - 1)
    for _ in range(rounds(size)):
        at, cast = (low + high) // 2, low < high
        right = (places > at) & cast
        yield at, right, cast
        low, high = np.where(right, at + 1, low), np.where(right, high, at)


def rounds(size: int) -> int:
    """Return how many votes it takes to find an entry of a grid."""
    return max(1, (size - 1).bit_length())


def deviation(level: float, size: int, moves: int, c: float) -> float:
    """Return the declared noise of one vote on a grid, all votes together at distance c."""
    weight = max(level, 1 - level)
    moved = weight if moves == 1 else max(1.0, math.sqrt(2) * weight)
    return moved * math.sqrt(rounds(size)) / c


def votes(values: Floats, weights: Floats, level: float, grid: Floats) -> Floats:
    """Return (grid,) votes at every entry: the weight of values up to it, less its due share."""
    order = np.argsort(values, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(weights[order])])
    at = np.searchsorted(values[order], grid, side="right")
    return np.asarray(below[at] - level * weights.sum())


def averages(question: Linear, j: int, rows: Rows) -> tuple[Floats, Ints]:
    """Return the average entry of every unit that has one in a column, and the units."""
    powers = tuple(int(i == j) for i in range(len(question.columns)))
    terms = Term("", powers), Term("", (0,) * len(powers), (j,))
    flat = Rows(rows.units, np.zeros_like(rows.units), rows.values)
    found = added(Linear(question.columns, terms), flat, np.zeros(len(powers)))
    there = found.steps[:, 1] > 0
    total, count = found.steps[there].T
    return np.ldexp(total / count, question.columns[j].exponent), found.units[there]


def shares_of_rows(rows: Rows, column: int) -> tuple[Rows, Floats]:
    """Return the rows with an entry in a column, and (n,) their shares of their units' one vote."""
    there = np.isfinite(rows.values[:, column])
    kept = Rows(rows.units[there], rows.groups[there], rows.values[there])
    _, own, size = np.unique(kept.units, return_inverse=True, return_counts=True)
    return kept, 1.0 / size[own] if len(own) else np.zeros(0)
