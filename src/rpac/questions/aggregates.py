"""Aggregates of SQL as sums over single people, and columns of an answer made of released ones.

What an aggregate adds up is public; what is made of it after noise is post-processing. Neither
looks at a row, so nothing here decides the guarantee: `rpac.sql.rows` reads the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sqlglot import exp

from rpac._base.checks import number, refuse
from rpac._base.types import Floats
from rpac.person.contributions import Linear, Quantile, Term
from rpac.person.mechanism import Drawn
from rpac.questions.contributed import BESIDE, BESIDE_GROUPS, grid_in_words, grid_of, moments
from rpac.schema import Column, Declared

Formula = Callable[[Drawn], Any]
"""From a release to (groups,) numbers."""
Node = Any
EXTREME = 0.005
"""How far from the ends the quantiles are that stand for MIN and MAX."""
_POSSIBLE = (
    "Use count, sum, avg, min, max, median, quantile_cont, quantile_disc, var_pop, var_samp, "
    "stddev_pop, stddev_samp, covar_pop, covar_samp, corr or count_if, with FILTER."
)
_QUANTILES = {exp.PercentileCont: "expression", exp.PercentileDisc: "expression",
              exp.Quantile: "quantile", exp.Median: "", exp.Min: "", exp.Max: ""}  # fmt: skip
_SPREADS = (exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevSamp, exp.StddevPop)
_PAIRED = (exp.CovarPop, exp.CovarSamp, exp.Corr)
COUNTS = (exp.Count, exp.CountIf)


@final
@dataclass(frozen=True)
class _Sum:
    """One sum: powers of columns by place, and columns that must be there."""

    powers: tuple[tuple[int, int], ...]
    present: tuple[int, ...]
    once: bool = False


class Sums:
    """What the aggregates of a question add up, each sum once.

    Args:
        declared: What is declared of an argument, and its name.

    Attributes:
        arguments: For every column of numbers, what it is in a row.
        ids: Arguments of COUNT(DISTINCT ...): these must be the unit's own id.
        notes: What a reader should know.
    """

    def __init__(self, declared: Callable[[Node], tuple[str, Declared]]) -> None:
        self._declared = declared
        self._columns: dict[tuple[str, bool], Column] = {}
        self._sums: dict[_Sum, int] = {}
        self._quantiles: list[tuple[int, float, Floats]] = []
        self.arguments: list[Node] = []
        self.ids: list[Node] = []
        self.notes: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing is added up or ranked."""
        return not self._sums and not self._quantiles

    def question(self, groups: int, *, grouped: bool, rows: float | None, moves: int) -> Linear:
        """Return all that is added up as a public question."""
        columns = tuple(self._columns.values())
        alone = not any(one.powers for one in self._sums)
        beside = BESIDE_GROUPS if grouped else BESIDE
        terms = tuple(
            Term(
                self._in_words(one),
                tuple(dict(one.powers).get(j, 0) for j in range(len(columns))),
                one.present,
                one.once,
                1.0 if one.powers or alone else beside,
            )
            for one in self._sums
        )
        quantiles = tuple(Quantile(*given) for given in self._quantiles)
        return Linear(columns, terms, groups, quantiles, rows, 1, moves)

    def _in_words(self, one: _Sum) -> str:
        names = [column.name for column in self._columns.values()]
        parts = [names[j] + ("^2" if power == 2 else "") for j, power in one.powers]
        if parts:
            return f"sum of {' x '.join(parts)}"
        # A column that a condition made has no name of its own.
        there = [names[j] for j in one.present if not isinstance(self.arguments[j], exp.Case)]
        having = f" with {' and '.join(there)}" if there else " that count" * bool(one.present)
        return f"number of {'units' if one.once else 'rows'}{having}"

    # --- one aggregate ----------------------------------------------------------------------------

    def formula(self, node: Node) -> Formula:
        """Return how an aggregate is made of what is released; what it adds up is noted."""
        kept: Node | None = None
        if isinstance(node, exp.Filter):
            node, kept = node.this, node.expression.this
        if isinstance(node, COUNTS):
            return self._count(node, kept)
        if type(node) in _QUANTILES:
            return self._quantile(node, kept)
        if isinstance(node, exp.Sum):
            at = self._add(Counter([self._column(node.this, kept, centred=False)]))
            return lambda drawn: drawn.sums[:, at]
        if isinstance(node, exp.Avg):
            return self._average(self._column(node.this, kept, centred=True))
        if isinstance(node, _SPREADS):
            return self._spread(node, self._column(node.this, kept, centred=True))
        if isinstance(node, _PAIRED):
            pair = [self._column(n, kept, centred=True) for n in (node.this, node.expression)]
            return self._paired(node, *pair)
        text = node.sql("duckdb").replace('"', "")[:80]
        raise refuse("aggregates that are sums over single people", text, _POSSIBLE)

    def _count(self, node: Node, kept: Node | None) -> Formula:
        inner, once = node.this, isinstance(node.this, exp.Distinct)
        if once:
            inner = inner.expressions[0]
            self.ids.append(node.this)
        conditions = [] if kept is None else [kept]
        if isinstance(node, exp.CountIf):
            conditions.append(inner)
        elif inner is not None and not isinstance(inner, exp.Star):
            conditions.append(exp.Not(this=exp.Is(this=inner, expression=exp.null())))
        there: tuple[int, ...] = ()
        if conditions:
            met = exp.and_(*(c.copy() for c in conditions))
            one = exp.Case().when(met, exp.Literal.number(1))
            there = (self._column(one, None, centred=False),)
        at = self._place(_Sum((), there, once))
        return lambda drawn: np.rint(drawn.sums[:, at])

    def _quantile(self, node: Node, kept: Node | None) -> Formula:
        where = _QUANTILES[type(node)]
        given = node.args.get(where) if where else None
        levels = {exp.Min: EXTREME, exp.Max: 1 - EXTREME, exp.Median: 0.5}
        level = levels.get(type(node), 0.5)
        plain = isinstance(given, exp.Literal) and not given.is_string
        if where and not (plain and 0 <= float(given.name) <= 1):  # type: ignore[union-attr]
            text = node.sql("duckdb").replace('"', "")[:80]
            raise refuse("a level between 0 and 1 in a quantile", text, "Write it as a number.")
        level = float(given.name) if given is not None else level
        if type(node) in (exp.Min, exp.Max):
            self._note("MIN and MAX are the quantiles at 0.5 % and 99.5 %.")
        name, declared = self._declared(node.this)
        self._note(grid_in_words(name, declared))
        j = self._column(node.this, kept, centred=False)
        part = (j, level, grid_of(declared, list(self._columns.values())[j]))
        at = len(self._quantiles)
        self._quantiles.append(part)
        return lambda drawn: drawn.quantiles[:, at]

    def _note(self, text: str) -> None:
        self.notes = tuple(dict.fromkeys((*self.notes, text)))

    def _average(self, j: int) -> Formula:
        at, rows = self._add(Counter([j])), self._place(_Sum((), (j,)))
        return lambda drawn: drawn.middles[j] + drawn.sums[:, at] / _some(drawn.sums[:, rows])

    def _spread(self, node: Node, j: int) -> Formula:
        places = [self._add(Counter([j, j])), self._add(Counter([j])), self._place(_Sum((), (j,)))]
        whole = isinstance(node, exp.VariancePop | exp.StddevPop)
        root = isinstance(node, exp.Stddev | exp.StddevSamp | exp.StddevPop)

        def formula(drawn: Drawn) -> Floats:
            sums = drawn.sums[:, places]
            found = moments(sums)[0] * (1.0 if whole else _unbiased(sums[:, 2]))
            return np.sqrt(found) if root else found

        return formula

    def _paired(self, node: Node, i: int, j: int) -> Formula:
        both = (i, j)
        powers = [(i, j), (i,), (j,), (i, i), (j, j), ()]
        if not isinstance(node, exp.Corr):
            powers = [(i, j), (i,), (j,), ()]
        places = [self._add(Counter(p), both) for p in powers]

        def formula(drawn: Drawn) -> Any:
            sums = drawn.sums[:, places]
            people = _some(sums[:, -1])
            cross = sums[:, 0] / people - sums[:, 1] * sums[:, 2] / people**2
            if isinstance(node, exp.CovarPop):
                return cross
            if isinstance(node, exp.CovarSamp):
                return cross * _unbiased(sums[:, -1])
            squares = [moments(sums[:, [a, b, 5]])[0] for a, b in ((3, 1), (4, 2))]
            scale = np.sqrt(squares[0] * squares[1])
            return np.clip(cross / np.where(scale > 0, scale, np.inf), -1, 1)

        return formula

    # --- columns and sums -------------------------------------------------------------------------

    def _column(self, node: Node, kept: Node | None, *, centred: bool) -> int:
        """Return the place of a column of numbers: an argument, where a condition is met."""
        made = node.copy() if kept is None else exp.Case().when(kept.copy(), node.copy())
        key = (made.sql(), centred)
        if key not in self._columns:
            name, declared = self._declared(node)
            around = declared.around_middle if centred else declared.around_zero
            self._columns[key] = around(name)
            self.arguments.append(made)
        return list(self._columns).index(key)

    def _add(self, powers: Counter[int], present: Sequence[int] = ()) -> int:
        there = tuple(sorted({*powers, *present}))
        return self._place(_Sum(tuple(sorted(powers.items())), there))

    def _place(self, one: _Sum) -> int:
        return self._sums.setdefault(one, len(self._sums))


def _some(noisy: Floats) -> Floats:
    return np.maximum(noisy, 1.0)


def _unbiased(noisy: Floats) -> Floats:
    people = np.maximum(noisy, 2.0)
    return np.asarray(people / (people - 1))


# --- columns of an answer -------------------------------------------------------------------------


def _rounded(x: Any, decimals: Any = 0.0) -> Any:
    scale = 10.0 ** np.rint(decimals)
    return np.rint(x * scale) / scale


def _logarithm(x: Any, y: Any = None) -> Any:
    return np.log10(x) if y is None else np.log(y) / np.log(x)


def _first(*values: Any) -> Any:
    found = values[0]
    for value in values[1:]:
        found = np.where(np.isnan(found), value, found)
    return found


_RELEASED: Mapping[type, Callable[..., Any]] = {
    exp.Add: np.add, exp.Sub: np.subtract, exp.Mul: np.multiply, exp.Div: np.divide,
    exp.Mod: np.fmod, exp.IntDiv: lambda a, b: np.trunc(a / b), exp.Pow: np.power,
    exp.Neg: np.negative, exp.Abs: np.abs, exp.Round: _rounded, exp.Floor: np.floor,
    exp.Ceil: np.ceil, exp.Sqrt: np.sqrt, exp.Ln: np.log, exp.Exp: np.exp, exp.Log: _logarithm,
    exp.Sign: np.sign, exp.Coalesce: _first, exp.Paren: lambda x: x,
    exp.Nullif: lambda a, b: np.where(a == b, np.nan, a),
    exp.Greatest: lambda *v: np.fmax.reduce(np.broadcast_arrays(*v)),
    exp.Least: lambda *v: np.fmin.reduce(np.broadcast_arrays(*v)),
    exp.EQ: np.equal, exp.NEQ: np.not_equal, exp.GT: np.greater, exp.GTE: np.greater_equal,
    exp.LT: np.less, exp.LTE: np.less_equal, exp.And: np.logical_and, exp.Or: np.logical_or,
    exp.Not: np.logical_not, exp.Between: lambda x, low, high: (x >= low) & (x <= high),
    exp.Is: lambda x, _: np.isnan(x),
}  # fmt: skip


def compiled(node: Node, found: Mapping[str, Formula]) -> Formula:
    """Return an expression over released aggregates as a function of a release.

    Args:
        node: The expression.
        found: Aggregates, by their text.
    """
    text = node.sql()
    if text in found:
        return found[text]
    if isinstance(node, exp.Literal) and not node.is_string:
        constant = number(float(node.name), "a number")
        return lambda drawn: np.float64(constant)
    if isinstance(node, exp.Null):
        return lambda drawn: np.float64(np.nan)
    if isinstance(node, exp.Cast):
        inner, whole = compiled(node.this, found), node.to.this in exp.DataType.INTEGER_TYPES
        return lambda drawn: np.rint(inner(drawn)) if whole else inner(drawn)
    if isinstance(node, exp.Case) and node.this is None:
        return _chosen(node, found)
    if type(node) not in _RELEASED:
        raise refuse(
            "groups, aggregates, and arithmetic of aggregates in the outermost SELECT",
            text.replace('"', "")[:80], "Select each key as it stands in GROUP BY.",
        )  # fmt: skip
    act, parts = _RELEASED[type(node)], [compiled(n, found) for n in node.iter_expressions()]
    return lambda drawn: act(*(part(drawn) for part in parts))


def _chosen(node: Node, found: Mapping[str, Formula]) -> Formula:
    branches = [(part.this, part.args["true"]) for part in node.args["ifs"]]
    pairs = [(compiled(met, found), compiled(then, found)) for met, then in branches]
    rest = compiled(node.args.get("default") or exp.null(), found)

    def formula(drawn: Drawn) -> Any:
        value = rest(drawn)
        for met, then in reversed(pairs):
            value = np.where(met(drawn), then(drawn), value)
        return value

    return formula


@final
@dataclass(frozen=True, eq=False)
class Finish:
    """How the numbers of an answer are made of a release: public post-processing.

    Attributes:
        columns: One formula for each column of numbers.
        having: Which rows stay; None for all. What goes has NaN in every column.
    """

    columns: Sequence[Formula]
    having: Formula | None = None

    def __call__(self, drawn: Drawn) -> Floats:
        """Return (groups x columns,) numbers, row by row; NaN for NULL."""
        with np.errstate(all="ignore"):
            found = [np.broadcast_to(one(drawn), len(drawn.sums)) for one in self.columns]
            values = np.stack(found, axis=1).astype(np.float64)
            values = np.where(np.isfinite(values), values, np.nan)
            if self.having is not None:
                kept = np.broadcast_to(self.having(drawn), len(drawn.sums))
                values = np.where(kept[:, None].astype(bool), values, np.nan)
        return np.asarray(values.ravel())
