"""What each unit adds to each number, on integers: the only thing that noise has to cover.

A question is *linear*: each of its numbers is a sum over rows of a term that is a function of that
row and of public things alone. So what a unit adds is a function of its own rows, whoever else is
there. A term is rounded to a public step before the first addition and added as an integer: the
order of rows, which others may decide, cannot tell anything.

Everything that is missing, not a number, infinite, or of a group that was not declared adds 0.
Names, floors, steps, groups and middles are declared, or follow from the question's own text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np

from rpac._base.sealed import Sealed
from rpac._base.types import Floats, Ints
from rpac.schema import FINE as FINE
from rpac.schema import Column as Column

LARGEST = 2.0**60
"""Steps of one row at most, and of a unit's sum, which is cut off there."""
FAR, NEAR = 1e100, 1e-100
"""How far an entry is taken to be from its middle: at most, and at least if it is not there.

Products of two such numbers, in steps, are ordinary numbers in every database.
"""
VOTE = 30
"""Votes are on steps of 2^-30."""
_LOW = 30
_BITS = (1 << _LOW) - 1


@final
@dataclass(frozen=True)
class Term:
    """One number a group: the sum over rows of a product of powers of (entry - middle).

    Attributes:
        name: As people call it.
        powers: (columns,) exponents; all 0 for a count of rows.
        present: Columns whose entries must be there for a row to count.
        once: Count units in place of rows: each adds 1 to a group at most.
        share: Its share of the budget, beside those of other terms.
    """

    name: str
    powers: tuple[int, ...]
    present: tuple[int, ...] = ()
    once: bool = False
    share: float = 1.0


@final
@dataclass(frozen=True, eq=False)
class Quantile:
    """A quantile of a column in every group, on a public rising grid.

    Attributes:
        column: Place of the column.
        level: Between 0 and 1.
        grid: (n,) what the answer may be.
        share: Its share of the budget.
    """

    column: int
    level: float
    grid: Floats
    share: float = 1.0


@final
@dataclass(frozen=True, eq=False)
class Linear:
    """A question that is contributions of single units; public.

    Attributes:
        columns: The columns of numbers it reads.
        terms: The sums it needs a group.
        groups: How many groups there are.
        quantiles: The quantiles it needs a group.
        rows: Rows of one unit at most: 1 if one row a unit is declared, None: a private level.
        touches: Groups that one unit may touch, for scales; the joint clip holds whatever it is.
        moves: 1 if the secret is whether a unit is there; 2 if it is what the unit's entries are
            (one leaves and another comes).
        beta: How fast levels fall with the number of units above them; None: from the budget.
        joint: Levels are of the length of all that a unit adds, over groups, not of the largest.
    """

    columns: tuple[Column, ...]
    terms: tuple[Term, ...]
    groups: int = 1
    quantiles: tuple[Quantile, ...] = ()
    rows: float | None = 1.0
    touches: int = 1
    moves: int = 1
    beta: float | None = None
    joint: bool = False

    @property
    def levels(self) -> tuple[int | None, ...]:
        """Columns whose level is drawn; None stands for the number of rows."""
        used = [j for j in range(len(self.columns)) if any(t.powers[j] for t in self.terms)]
        counted = any(not any(t.powers) and not t.once for t in self.terms)
        rows: list[int | None] = [None] if self.rows is None and counted else []
        return (*rows, *(j for j in used if self.columns[j].cap is None))

    @property
    def sought(self) -> tuple[int, ...]:
        """Columns whose middle is found privately."""
        return tuple(j for j, column in enumerate(self.columns) if column.middle is None)

    def step(self, term: Term) -> float:
        """Return the value of the integer 1 in a term: a power of two."""
        pairs = zip(term.powers, self.columns, strict=True)
        return math.ldexp(1.0, sum(p * column.exponent for p, column in pairs) - FINE)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Rows(Sealed):
    """Rows of a private table, as a question reads them. Sealed: it is the data.

    Attributes:
        units: (n,) whose row it is; rows of nobody are not here.
        groups: (n,) its group, from 0; rows of no declared group are not here.
        values: (n, columns) entries; NaN for what is missing or no number.
    """

    units: Ints
    groups: Ints
    values: Floats

    def held(self) -> Rows:
        """Return these rows: they are in this process."""
        return self


class Units(Protocol):
    """What units add, to whoever draws a release: sums over units, each of its own rows alone.

    `mechanism.Held` has the rows in this process; a database keeps them, and sends these sums.
    """

    def averages(self, question: Linear, j: int, grid: Floats) -> Ints:
        """Return (grid + 1,) units by the first entry of a grid that their own average is within.

        The last are those beyond the grid; units without an entry in column j are nowhere.
        """

    def votes(self, question: Linear, part: Quantile, at: Floats) -> list[int]:
        """Return (groups,) votes at one entry a group, (groups,) `at`, in steps of 2^-VOTE."""

    def place(self, question: Linear, level: int | None, middles: Floats, beta: float) -> int:
        """Return m of a level on its menu: it moves by at most `level.PER_BETA`."""

    def sums(self, question: Linear, middles: Floats, scales: Floats, c: float) -> list[list[int]]:
        """Return (terms, groups) sums of what units add, in steps, after the joint clip."""

    def held(self) -> Rows:
        """Return the rows, for an audit of one's own release. Sealed."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class Added(Sealed):
    """What units add: one line for each unit and group that meet. Sealed.

    Attributes:
        units: (n,) rising.
        groups: (n,)
        steps: (n, terms) integers.
    """

    units: Ints
    groups: Ints
    steps: Ints


def inside(question: Linear, rows: Rows) -> Rows:
    """Return the rows that are somebody's and in a group; others would count as a neighbour's."""
    kept = (rows.units >= 0) & (rows.groups >= 0) & (rows.groups < question.groups)
    return Rows(rows.units[kept], rows.groups[kept], rows.values[kept])


def added(question: Linear, rows: Rows, middles: Floats) -> Added:
    """Return what every unit adds to every number of its groups, around public middles."""
    pairs, place = np.unique(rows.units * question.groups + rows.groups, return_inverse=True)
    steps = np.zeros((len(pairs), len(question.terms)), np.int64)
    for i, term in enumerate(question.terms):
        steps[:, i] = add_up(place, _steps(question, term, rows, middles), len(pairs))
        if term.once:
            steps[:, i] = np.minimum(steps[:, i], 1 << FINE)
    return Added(pairs // question.groups, pairs % question.groups, steps)


def reach(question: Linear, level: int | None, rows: Rows, middles: Floats) -> Ints:
    """Return (units,) the most that each unit adds to one group: of a column, or rows for None.

    Of a joint question it is the length of what the unit adds to all groups. Either is a function
    of the unit's own rows.
    """
    powers = tuple(int(j == level) for j in range(len(question.columns)))
    found = added(Linear(question.columns, (Term("", powers),), question.groups), rows, middles)
    size = np.abs(found.steps[:, 0])
    starts = np.flatnonzero(np.diff(found.units, prepend=-1))
    if question.joint and len(starts):
        squares = np.add.reduceat(np.square(size.astype(np.float64)), starts)
        return np.ceil(np.minimum(np.sqrt(squares), 2.0**60)).astype(np.int64)
    return np.maximum.reduceat(size, starts) if len(starts) else size


def _steps(question: Linear, term: Term, rows: Rows, middles: Floats) -> Ints:
    """Return (n,) the term of every row in steps; 0 where it has none."""
    product = np.ones(len(rows.units))
    with np.errstate(all="ignore"):
        for j, power in enumerate(term.powers):
            for _ in range(power):  # products are the same wherever a row stands, pow may not be
                product *= ordinary(rows.values[:, j] - middles[j])
        for j in term.present:
            product = np.where(np.isfinite(rows.values[:, j]), product, 0.0)
        whole = np.rint(product / question.step(term))
    whole = np.where(np.isfinite(whole), whole, 0.0)
    return np.clip(whole, -LARGEST, LARGEST).astype(np.int64)


def ordinary(away: Floats) -> Floats:
    """Return distances from a middle as no product of them is out of range."""
    size = np.abs(away)
    far = (size > FAR) & (size < math.inf)
    return np.where(size < NEAR, 0.0, np.where(far, np.copysign(FAR, away), away))


def add_up(place: Ints, steps: Ints, size: int) -> Ints:
    """Return (size,) sums of integers by place; beyond 2^60 they are cut off there."""
    high, low = _halves(place, steps, size)
    most = int(LARGEST) >> _LOW
    high = np.clip(high + (low >> _LOW), -most - 1, most)
    return np.clip((high << _LOW) + (low & _BITS), -(most << _LOW), most << _LOW)


def sums(place: Ints, steps: Ints, size: int) -> list[int]:
    """Return (size,) exact sums of integers within 2^60 by place, themselves without limit."""
    high, low = _halves(place, steps, size)
    return [(h << _LOW) + w for h, w in zip(high.tolist(), low.tolist(), strict=True)]


def lengths(place: Ints, squares: Ints, size: int) -> Floats:
    """Return (size,) sums of integers by place, as numbers rounded once."""
    high, low = _halves(place, squares, size)
    return np.asarray(high * 2.0**_LOW + low, np.float64)


def _halves(place: Ints, steps: Ints, size: int) -> tuple[Ints, Ints]:
    """Add high and low bits apart: fewer than 2^32 integers cannot overflow."""
    high, low = np.zeros(size, np.int64), np.zeros(size, np.int64)
    np.add.at(high, place, steps >> _LOW)
    np.add.at(low, place, steps & _BITS)
    return high, low
