"""What units add, in the database that has their rows: only sums over units leave it.

The rows of a question are a relation with the unit's id u, the number g of a group, and numbers a0,
a1, ... that are finite or NULL. From it, for everything that a release needs (`Units`), one query:

    cells   what a unit adds to a group: each row's term rounded to its step, then added as integers
    places  the level's m, of the histogram of l over units: min over v of v + B #{units with l > v}
    sums    squares of lengths as integers by unit, the joint clip, and integer sums by group

They are the numbers that `person.mechanism.Held` computes in this process, but for a last bit where
an engine rounds a large integer to a float in its own way: floating point is used row by row and
unit by unit, in one order of operations, and whatever is added up is integers.
l is taken by a logarithm: a fixed function of what the unit adds, which is all that `person.level`
asks for, and the menu's index but where an entry is within rounding of one. No expression here can
fail: magnitudes are held to 1e-100 .. 1e100 before the first product (`FAR`, `NEAR`), and whatever
becomes an integer is within 2^62.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, final

import numpy as np

from rpac._base.sealed import Sealed
from rpac._base.types import Floats, Ints
from rpac.person.contributions import (
    FAR,
    FINE,
    LARGEST,
    NEAR,
    VOTE,
    Linear,
    Quantile,
    Rows,
    Term,
)
from rpac.person.level import PER_BETA, last_entry
from rpac.person.mechanism import MOST, SQUARE, clip_at, menu_of

_WORDS: Mapping[str, tuple[str, str, str]] = MappingProxyType({
    "duckdb": ("DOUBLE", "round_even({}, 0)", "sum({})"),
    "postgres": ("DOUBLE PRECISION", "round({})", "sum({})"),
    "spark": ("DOUBLE", "rint({})", "sum(CAST({} AS DECIMAL(38, 0)))"),
})  # fmt: skip
"""For each dialect its floats, the nearest integer (ties to even), and a sum of integers."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class Contributed(Sealed):
    """What units add, asked of a database. Sealed: it leads to the data.

    Attributes:
        relation: SQL of the rows, in the database's dialect.
        dialect: "duckdb", "postgres" or "spark".
        fetch: Returns the rows of a SELECT.
        held: Returns the rows of the relation, for an audit; refuses where they stay.

    Guarantees:
        What is returned is sums over units of functions of each unit's own rows.
    """

    relation: str
    dialect: str
    fetch: Callable[[str], list[tuple[Any, ...]]]
    held: Callable[[], Rows]
    _places: dict[Any, list[int]] = field(default_factory=dict, init=False)

    # --- what a release asks for ------------------------------------------------------------------

    def averages(self, question: Linear, j: int, grid: Floats) -> Ints:
        """Return (grid + 1,) units by the first entry of a grid that their average is within."""
        powers = tuple(int(i == j) for i in range(len(question.columns)))
        terms = Term("", powers), Term("", (0,) * len(powers), (j,))
        flat = self._cells(Linear(question.columns, terms), terms, np.zeros(len(powers)), ("u",))
        scale = math.ldexp(1.0, question.columns[j].exponent)
        mine = f"{self._float('s0')} / {self._float('s1')} * {self._number(scale)}"
        units = f"SELECT {mine} AS x FROM ({flat}) AS c WHERE s1 > 0"
        cell = self._within("x", grid, 0, len(grid))
        found = self.fetch(
            f"SELECT k, count(*) FROM (SELECT {cell} AS k FROM ({units}) AS a) AS b GROUP BY k"
        )
        counts = np.zeros(len(grid) + 1, np.int64)
        for k, n in found:
            counts[int(k)] = int(n)
        return counts

    def votes(self, question: Linear, part: Quantile, at: Floats) -> list[int]:
        """Return (groups,) votes at one entry a group, in steps of 2^-VOTE."""
        column = f"a{part.column}"
        points = ", ".join(f"({g}, {self._number(x)})" for g, x in enumerate(at))
        rows = (
            f"SELECT r.u AS u, r.g AS g, CASE WHEN r.{column} <= t.x THEN 1 ELSE 0 END AS b "
            f"FROM ({self.relation}) AS r JOIN (VALUES {points}) AS t(h, x) ON r.g = t.h "
            f"WHERE r.{column} IS NOT NULL"
        )
        lines = f"SELECT u, g, count(*) AS n, sum(b) AS b FROM ({rows}) AS q GROUP BY u, g"
        share = f"({self._float('l.b')} - {self._number(part.level)} * {self._float('l.n')})"
        cast = f"{share} / {self._float('w.n')} * {self._number(2.0**VOTE)}"
        whole = "CAST(floor(abs(x)) * sign(x) AS BIGINT)"
        found = self.fetch(
            f"WITH lines AS ({lines}), own AS (SELECT u, sum(n) AS n FROM lines GROUP BY u), "
            f"cast_votes AS (SELECT l.g AS g, {cast} AS x FROM lines AS l JOIN own AS w "
            f"ON l.u = w.u) SELECT g, {self._sum(whole)} FROM cast_votes GROUP BY g"
        )
        return _by_group(found, question.groups)[0]

    def place(self, question: Linear, level: int | None, middles: Floats, beta: float) -> int:
        """Return m of a level on its menu; all levels of a question are found at once."""
        asked = (question, middles.tobytes(), beta)
        if asked not in self._places:
            self._places[asked] = self._every_place(question, middles, beta)
        return self._places[asked][question.levels.index(level)]

    def _every_place(self, question: Linear, middles: Floats, beta: float) -> list[int]:
        terms = [
            Term("", tuple(int(i == j) for i in range(len(question.columns))))
            for j in question.levels
        ]
        cells = self._cells(question, terms, middles, ("u", "g"))
        most = ", ".join(f"max(abs(s{i})) AS x{i}" for i in range(len(terms)))
        floors = [menu_of(question, j)[0] for j in question.levels]
        each = [
            f"SELECT {i} AS j, {self._index(f'x{i}', floor, beta)} AS l FROM units"
            for i, floor in enumerate(floors)
        ]
        counted = "SELECT j, l, count(*) AS n FROM (" + " UNION ALL ".join(each) + ") AS e"
        none = [f"SELECT {i}, 0, 0" for i in range(len(terms))]
        counted = " UNION ALL ".join([f"{counted} GROUP BY j, l", *none])
        higher = (
            "sum(n) OVER (PARTITION BY j ORDER BY l DESC ROWS BETWEEN UNBOUNDED PRECEDING "
            "AND 1 PRECEDING)"
        )
        found = self.fetch(
            f"WITH units AS (SELECT u, {most} FROM ({cells}) AS c GROUP BY u) "
            f"SELECT j, min(m) FROM (SELECT j, l + {PER_BETA} * coalesce({higher}, 0) AS m "
            f"FROM ({counted}) AS h) AS y GROUP BY j"
        )
        return [int(m) for _, m in sorted(found)]

    def _index(self, x: str, floor: float, beta: float) -> str:
        """Return SQL for l: the least place on the menu whose entry is at least x."""
        away = f"ln({self._float(f'{x} - 1')} / {self._number(floor)}) * "
        above = f"CAST(floor({away}{self._number(PER_BETA / beta)}) AS BIGINT) + 1"
        last = last_entry(floor, beta)
        return f"CASE WHEN {x} <= {math.ceil(floor)} THEN 0 ELSE least({above}, {last}) END"

    def sums(self, question: Linear, middles: Floats, scales: Floats, c: float) -> list[list[int]]:
        """Return (terms, groups) sums of what units add, in steps, after the joint clip."""
        cells = self._cells(question, question.terms, middles, ("u", "g"))
        held, parts, kept = [], [], []
        for i, term in enumerate(question.terms):
            unit = question.step(term) / scales[i] / clip_at(question, c)
            most = self._number(min(math.floor(MOST / unit), LARGEST))
            held.append(f"greatest(least({self._float(f's{i}')}, {most}), -{most}) AS h{i}")
            length = f"(h{i} * {self._number(unit)})"
            parts.append(f"CAST(ceil({length} * {length} * {self._number(SQUARE)}) AS BIGINT)")
            short = f"CAST(floor(abs(k.h{i}) * f) * sign(k.h{i}) AS BIGINT)"
            kept.append(self._sum(f"CASE WHEN f < 1 THEN {short} ELSE k.s{i} END"))
        total = " + ".join(self._sum(part) for part in parts)
        squares = f"greatest({self._float(total)} / {self._number(SQUARE)}, {self._number(1.0)})"
        found = self.fetch(
            f"WITH kept AS (SELECT c.*, {', '.join(held)} FROM ({cells}) AS c), "
            f"own AS (SELECT u, 1 / sqrt({squares}) AS f FROM kept GROUP BY u) "
            f"SELECT k.g, {', '.join(kept)} FROM kept AS k JOIN own AS o ON k.u = o.u GROUP BY k.g"
        )
        return _by_group(found, question.groups, len(question.terms))

    # --- parts of queries -------------------------------------------------------------------------

    def _cells(
        self, question: Linear, terms: Sequence[Term], middles: Floats, keys: tuple[str, ...]
    ) -> str:
        """Return SQL for what units add to terms, s0, s1, ..., by these keys."""
        columns = range(len(question.columns))
        away = [f"a{j} - {self._number(middles[j])} AS d{j}" for j in columns]
        far, near = self._number(FAR), self._number(NEAR)
        held = [
            f"CASE WHEN abs(d{j}) < {near} THEN 0 WHEN d{j} > {far} THEN {far} "
            f"WHEN d{j} < -{far} THEN -{far} ELSE d{j} END AS d{j}"
            for j in columns
        ]
        rows = f"SELECT {', '.join(['u', 'g', *away])} FROM ({self.relation}) AS r"
        rows = f"SELECT {', '.join(['u', 'g', *held])} FROM ({rows}) AS v"
        added = [f"{self._added(question, term)} AS s{i}" for i, term in enumerate(terms)]
        by = ", ".join(keys)
        return f"SELECT {by}, {', '.join(added)} FROM ({rows}) AS w GROUP BY {by}"

    def _added(self, question: Linear, term: Term) -> str:
        """Return SQL for the sum of a term over rows, in steps."""
        factors = [f"d{j}" for j, power in enumerate(term.powers) for _ in range(power)]
        used = sorted({j for j, power in enumerate(term.powers) if power} | {*term.present})
        inverse = 1 / question.step(term)
        steps = str(round(inverse))
        if factors:
            whole = self._rint(f"{' * '.join(factors)} * {self._number(inverse)}")
            steps = f"CAST(greatest(least({whole}, {self._number(LARGEST)}), "
            steps += f"-{self._number(LARGEST)}) AS BIGINT)"
        met = " AND ".join(f"d{j} IS NOT NULL" for j in used)
        total = self._sum(f"CASE WHEN {met} THEN {steps} ELSE 0 END" if used else steps)
        most = 1 << FINE if term.once else int(LARGEST)
        return f"CAST(greatest(least({total}, {most}), -{LARGEST:.0f}) AS BIGINT)"

    def _within(self, x: str, grid: Floats, low: int, high: int) -> str:
        """Return SQL for the first place from `low` to `high` whose entry is at least x."""
        if low == high:
            return str(low)
        middle = (low + high) // 2
        left, right = self._within(x, grid, low, middle), self._within(x, grid, middle + 1, high)
        return f"CASE WHEN {x} <= {self._number(grid[middle])} THEN {left} ELSE {right} END"

    def _number(self, x: float) -> str:
        """Return a public number, to the last bit."""
        return f"CAST('{float(x)!r}' AS {_WORDS[self.dialect][0]})"

    def _float(self, text: str) -> str:
        return f"CAST({text} AS {_WORDS[self.dialect][0]})"

    def _rint(self, text: str) -> str:
        return _WORDS[self.dialect][1].format(text)

    def _sum(self, text: str) -> str:
        return _WORDS[self.dialect][2].format(text)


def _by_group(found: Sequence[tuple[Any, ...]], groups: int, size: int = 1) -> list[list[int]]:
    """Return (size, groups) sums of rows that begin with their group; 0 for groups without."""
    sums = [[0] * groups for _ in range(size)]
    for g, *totals in found:
        for i, total in enumerate(totals):
            sums[i][int(g)] = int(total)
    return sums
