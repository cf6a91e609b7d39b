"""Named statistics as contributions of single people: sums, and how answers are made of them.

What a statistic adds up is public; how its answer is put together from released sums is
post-processing. Neither looks at a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from rpac._base.checks import refuse
from rpac._base.types import Floats, Ints
from rpac.person.contributions import Linear, Quantile, Rows, Term
from rpac.person.level import grid_of_middles
from rpac.person.mechanism import Drawn
from rpac.person.source import Asked, Presence
from rpac.schema import Declared
from rpac.worlds.flatten import Form

POINTS = 4096
"""Points of a grid of quantiles between declared caps."""
A_DOUBLING = 64
"""Points of such a grid in a doubling, where no caps are declared."""
BESIDE, BESIDE_GROUPS = 0.03, 0.1
"""Share of a count beside sums: alone, and in groups."""

Formula = Callable[[Floats, Floats], Any]
"""From (columns,) middles and (groups, terms) sums to (groups,) numbers."""


@final
@dataclass(frozen=True, eq=False)
class Adds:
    """How a statistic is made of sums over people.

    Attributes:
        columns: The columns it reads, each with whether it is counted from a middle.
        terms: Powers of the columns in each sum; all 0 for counts of rows that have them all.
        formula: From middles and sums to the number of each group.
        level: For quantiles: which; then there are no terms.
    """

    columns: tuple[tuple[str, bool], ...] = ()
    terms: tuple[tuple[int, ...], ...] = ()
    formula: Formula = lambda middles, sums: sums[:, 0]
    level: float | None = None


@final
@dataclass(frozen=True, eq=False)
class Cells:
    """Public groups of rows: how many there are, and which one the entries of a row name.

    Attributes:
        column: The column that names them.
        size: Number of groups.
        of: From the source to (rows,) groups, from 0; it reads rows.
    """

    column: str
    size: int
    of: Callable[[Presence], Ints]


def mean(column: str) -> Adds:
    """Return b + S / N, around a middle b."""
    return Adds(((column, True),), ((1,), (0,)), lambda b, s: b[0] + s[:, 0] / _people(s[:, 1]))


def total(column: str) -> Adds:
    """Return the sum of a column."""
    return Adds(((column, False),), ((1,),))


def size(column: str | None) -> Adds:
    """Return the number of rows, or of entries in a column."""
    return Adds(() if column is None else ((column, False),), ((0,) * (column is not None),))


def quantile(column: str, level: float) -> Adds:
    """Return a quantile, from noisy counts down a public grid."""
    return Adds(((column, False),), level=level)


def variance(column: str) -> Adds:
    """Return the variance from moments around a middle."""
    return Adds(((column, True),), ((2,), (1,), (0,)), lambda b, s: moments(s)[0])


def covariance(first: str, second: str) -> Adds:
    """Return the covariance of two columns from moments around middles."""
    terms = ((1, 1), (1, 0), (0, 1), (0, 0))
    return Adds(((first, True), (second, True)), terms, lambda b, s: _product(s, (0, 1, 2, 3)))


def correlation(first: str, second: str) -> Adds:
    """Return Pearson's correlation from moments around middles, within -1 and 1."""
    terms = ((1, 1), (1, 0), (0, 1), (2, 0), (0, 2), (0, 0))

    def formula(b: Floats, s: Floats) -> Floats:
        cross = _product(s, (0, 1, 2, 5))
        x, y = (moments(s[:, [square, sum_, 5]])[0] for square, sum_ in ((3, 1), (4, 2)))
        scale = np.sqrt(x * y)
        return np.where(scale > 0, np.clip(cross / np.where(scale > 0, scale, 1), -1, 1), 0.0)

    return Adds(((first, True), (second, True)), terms, formula)


def ratio(first: str, second: str) -> Adds:
    """Return the sum of a column over the sum of another."""
    columns = ((first, False), (second, False))
    return Adds(columns, ((1, 0), (0, 1)), lambda b, s: s[:, 0] / _away(s[:, 1]))


def moments(s: Floats) -> tuple[Floats, Floats]:
    """Return variance and mean from (groups, 3) sums of squares, of entries, and counts."""
    people = _people(s[:, 2])
    average = s[:, 1] / people
    return np.maximum(s[:, 0] / people - average**2, 0.0), average


def _product(s: Floats, at: Sequence[int]) -> Floats:
    cross, first, second, rows = (s[:, i] for i in at)
    people = _people(rows)
    return np.asarray(cross / people - (first / people) * (second / people))


def _people(noisy: Floats) -> Floats:
    return np.maximum(noisy, 1.0)


def _away(noisy: Floats) -> Floats:
    """Return a divisor that is not 0, of the same sign."""
    return np.where(noisy == 0, 1.0, noisy)


def asked(source: Presence, adds: Adds, form: Form, cells: Cells | None) -> Asked:
    """Return a statistic as a question to a source; refuse columns that it does not have.

    Args:
        source: What is asked.
        adds: What the statistic adds up, in each group.
        form: Of its answers, a number for each group.
        cells: Its groups; None for one.
    """
    if source.entries is None:
        got, move = "named statistics", "Ask the database in SQL: db.query(...)."
        raise refuse("a query for db.presence", got, move)
    for name in (*(name for name, _ in adds.columns), *([cells.column] if cells else [])):
        source.entries.check(name)
    columns = tuple(_column(source.declared(name), name, c) for name, c in adds.columns)
    question = Linear(
        columns, _terms(adds, grouped=cells is not None), 1 if cells is None else cells.size,
        _quantiles(adds, columns, source), source.rows_cap, 1, source.moves,
    )  # fmt: skip
    numbers = lambda drawn: _numbers(adds, drawn, whole=form.whole)  # noqa: E731
    name = adds.columns[0][0] if adds.columns else ""
    notes = () if adds.level is None else (grid_in_words(str(name), source.declared(name)),)
    return Asked(question, lambda: _rows(source, adds, cells), numbers, form, notes=notes)


def _column(declared: Declared, name: str, centred: bool) -> Any:  # noqa: FBT001
    return declared.around_middle(str(name)) if centred else declared.around_zero(str(name))


def _terms(adds: Adds, *, grouped: bool) -> tuple[Term, ...]:
    """Return the terms; counts beside sums get a small share of the budget."""
    present = tuple(range(len(adds.columns)))
    names = [str(name) for name, _ in adds.columns]
    alone = not any(any(powers) for powers in adds.terms)
    beside = BESIDE_GROUPS if grouped else BESIDE
    return tuple(
        Term(_named(powers, names), powers, present, share=1.0 if any(powers) or alone else beside)
        for powers in adds.terms
    )


def _named(powers: Sequence[int], names: Sequence[str]) -> str:
    """Return what is added up, in words."""
    parts = [name + ("^2" if p == 2 else "") for p, name in zip(powers, names, strict=True) if p]
    return f"sum of {' x '.join(parts)}" if parts else "number of rows"


def _quantiles(adds: Adds, columns: Sequence[Any], source: Presence) -> tuple[Quantile, ...]:
    if adds.level is None:
        return ()
    return (Quantile(0, adds.level, grid_of(source.declared(adds.columns[0][0]), columns[0])),)


def grid_of(declared: Declared, column: Any) -> Floats:
    """Return the public grid of a column's quantiles: between its caps, or by factors of 1 %."""
    if declared.low is None or declared.high is None:
        return grid_of_middles(column.exponent, A_DOUBLING)
    return np.linspace(declared.low, declared.high, POINTS)


def grid_in_words(name: str, declared: Declared) -> str:
    """Return what a reader should know of a column's quantiles; public."""
    apart = "about 1 % apart"
    if declared.low is not None and declared.high is not None:
        apart = f"{(declared.high - declared.low) / (POINTS - 1):.3g} apart, between its caps"
    return (
        f"A quantile of {name} is a point of a public grid, {apart}. Its noise is in its rank, "
        "by as many people as a plan says, so no interval stands beside it: of a group of not many "
        "more it may be any point."
    )


def _rows(source: Presence, adds: Adds, cells: Cells | None) -> Rows:
    assert source.entries is not None
    owners = source.owners()
    groups = np.zeros(len(owners), np.int64) if cells is None else cells.of(source)
    read = [source.entries.numbers(name) for name, _ in adds.columns]
    values = np.stack(read, axis=1) if read else np.zeros((len(owners), 0))
    kept = (owners >= 0) & (groups >= 0)
    return Rows(owners[kept], groups[kept], values[kept])


def _numbers(adds: Adds, drawn: Drawn, *, whole: bool) -> Floats:
    if adds.level is not None:
        return drawn.quantiles[:, 0]
    found = np.asarray(adds.formula(drawn.middles, drawn.sums), np.float64)
    return np.rint(found) if whole else found


def by_key(column: str, keys: Sequence[Any]) -> Cells:
    """Return groups by the entries of a column; all other entries are one more, the last."""
    whole: dict[str | None, int] = {str(key): i for i, key in enumerate(keys) if type(key) is int}
    rest = len(keys)

    def of(source: Presence) -> Ints:
        assert source.entries is not None
        place = whole | {source.entries.spelled(key): i for i, key in enumerate(keys)}
        return np.array([place.get(word, rest) for word in source.entries.texts(column)], np.int64)

    return Cells(column, rest + 1, of)


def by_keys(columns: Sequence[str], keys: Sequence[Sequence[Any]]) -> Cells:
    """Return groups by the entries of several columns; a row with another entry is in the last."""
    each = [by_key(name, listed) for name, listed in zip(columns, keys, strict=True)]
    sizes = [cells.size - 1 for cells in each]
    rest = math.prod(sizes)

    def of(source: Presence) -> Ints:
        found = [cells.of(source) for cells in each]
        known = np.all([at < size for at, size in zip(found, sizes, strict=True)], axis=0)
        inside = [np.where(known, at, 0) for at in found]
        return np.where(known, np.ravel_multi_index(inside, sizes), rest)

    return Cells(columns[0], rest + 1, of)


def by_edges(column: str, edges: Floats) -> Cells:
    """Return groups between edges; what is outside, or missing, is one more, the last."""
    rest = len(edges) - 1

    def of(source: Presence) -> Ints:
        assert source.entries is not None
        values = source.entries.numbers(column)
        cells = np.searchsorted(edges, values, side="right") - 1
        return np.where(np.isnan(values) | (cells < 0) | (cells >= rest), rest, cells)

    return Cells(column, rest + 1, of)
