"""Expressions over columns of declared types, written so that no row can make them fail.

A database that is asked in place has no TRY. So what is run there is made of the functions that are
listed here, each guarded by its shape, whatever the entries: numbers are floats whose magnitude is
known to stay within 1e-290 .. 1e290 (columns of floats are held to 1e-100 .. 1e100 when they are
read, and so is what would leave the range), divisors are not 0, text is read as a number where it
is written like one, days are those of the years 1 to 9999. What is missing, infinite or beyond is
NULL. Everything else is refused, by the text of the query and the types of its tables.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from sqlglot import exp

from rpac._base.checks import refuse
from rpac.questions.kinds import kind_of, snippet
from rpac.sql.known import (
    FLOATS,
    HELD,
    RANGE,
    UNKNOWN,
    Known,
    below,
    day,
    held,
    multiplied,
    number,
)
from rpac.sql.syntax import Node

FIRST, LAST = "0001-01-01", "9999-12-31"
"""Days that are read."""
_WRITTEN = "^[+-]?([0-9]{1,15}([.][0-9]{0,15})?|[.][0-9]{1,15})([eE][+-]?[0-9]{1,2})?$"
"""Text that is a number; of at most 1e114."""
_MILLION, _MOST = 1e6, 9e12
"""Sums within a unit are of millionths, and of numbers that these fit in."""
_FURTHEST = 1024
"""Places of a text that a query may name."""
_PARTS = ("year", "quarter", "month", "day", "hour", "minute")
_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_ONE = (exp.Year, exp.Quarter, exp.Month, exp.Day, exp.Hour)
_ARGUMENTS = frozenset({
    "this", "expression", "expressions", "to", "low", "high", "ifs", "default", "start", "length",
    "negate", "table", "is_string", "safe", "big_int", "ignore_nulls",
})  # fmt: skip
"""Parts of a node that its rule looks at, and those that change nothing."""
_TRIED: Mapping[type, str] = MappingProxyType({
    **dict.fromkeys((exp.Exp, exp.Pow, exp.Log, exp.Cbrt, exp.Mod, exp.Round), "number"),
    **dict.fromkeys((exp.DayOfWeek, exp.DateDiff, exp.Extract), "number"),
    **dict.fromkeys((exp.Concat, exp.DPipe, exp.Replace), "text"), exp.TimestampTrunc: "date",
    **dict.fromkeys((exp.StartsWith, exp.Contains), "bool"),
})  # fmt: skip
"""What has an error of its own on some rows, or another meaning elsewhere."""
_MOVE = "Write it with plainer ones, or load the table as a frame."
Read = tuple[Node, Known]
_TRUTH, _TEXT, _DATE = Known("bool"), Known("text"), Known("date")
_COUNT, _LOGARITHM = Known("number", 0.0, 19.0), Known("number", -20.0, 3.0)


class Typed:
    """Writes expressions of one SELECT.

    Args:
        columns: What is known of the columns of its sources, by (source, column).
        dialect: Where they will run.
    """

    def __init__(self, columns: Mapping[tuple[str, str], Known], dialect: str) -> None:
        self.columns, self.dialect = columns, dialect

    def read(self, node: Node, want: str | None = None) -> Read:
        """Return an expression that cannot fail, as a kind; refuse what is not listed."""
        rule = _RULES.get(type(node))
        if rule is None or not all(name in _ARGUMENTS for name, part in node.args.items() if part):
            rule = Typed._tried
        made, known = rule(self, node)
        made = exp.Not(this=_wrapped(made)) if node.args.get("negate") else made
        if want in (None, known.kind) or known.kind == "null":
            return made, known
        if want == "number" and known.kind == "text":
            return self._number_in(made), Known("number", -114.0, 114.0)
        expected = f"a {want} where the query computes with one"
        move = "Compare like with like, or TRY_CAST it where the table is made."
        raise refuse(expected, f"{snippet(node)!r}, a {known.kind}", move)

    # --- entries ----------------------------------------------------------------------------------

    def _column(self, node: Node) -> Read:
        known = self.columns[(node.table, node.name)]
        plain = replace(known, raw="")
        if known.kind == UNKNOWN:
            move = "TRY_CAST it to a number, text or a date where the table is made."
            raise refuse("columns of numbers, text, dates or truths", repr(snippet(node)), move)
        if known.kind == "number" and known.raw:
            return self._read_number(node, known.raw), plain
        if known.kind == "date" and known.raw:
            days = [day(text, known.raw) for text in (FIRST, LAST)]
            inside = exp.Between(this=node.copy(), low=days[0], high=days[1])
            return exp.Case().when(inside, exp.cast(node.copy(), "TIMESTAMP")), plain
        if known.kind == "text" and known.raw:
            most = exp.Literal.number(1 << 20)  # an engine may fail on what is much longer
            return exp.Left(this=exp.cast(node.copy(), "TEXT"), expression=most), plain
        return node.copy(), plain

    def _read_number(self, node: Node, raw: str) -> Node:
        """Return a column of numbers as floats: NULL for what is none, or beyond."""
        read = exp.cast(node.copy(), "DOUBLE")
        if raw in FLOATS:
            return held(node.copy(), read)
        if raw.startswith("DECIMAL("):  # may be NaN in PostgreSQL
            return exp.Case().when(below(node.copy()), read)
        return read

    def _number_in(self, text: Node) -> Node:
        bare = exp.Trim(this=text)
        written = exp.RegexpLike(this=bare, expression=exp.Literal.string(_WRITTEN))
        return exp.Case().when(written, exp.cast(bare.copy(), "DOUBLE"))

    def _literal(self, node: Node) -> Read:
        if node.is_string:
            return node.copy(), _TEXT
        value = abs(float(node.name))
        size = math.log10(value) if value else 0.0
        if not -HELD <= size <= HELD:
            raise refuse("numbers from 1e-100 to 1e100", repr(snippet(node)), "Use other units.")
        return number(float(node.name)), Known("number", size, size)

    def _cast(self, node: Node) -> Read:
        """Return what a cast reads: of a kind to itself, of text to numbers, of texts to days."""
        kind, inner = kind_of(node.to.sql("duckdb")), node.this
        if kind == "date":
            return self._cast_date(node)
        if kind in ("number", "text", "bool"):
            return self.read(inner, kind)
        raise _refused(node)

    def _cast_date(self, node: Node) -> Read:
        inner = node.this
        if isinstance(inner, exp.Literal) and inner.is_string:
            try:
                found = dt.datetime.fromisoformat(inner.name)
            except ValueError:
                raise refuse("a day such as '2020-12-31'", repr(inner.name), "Fix it.") from None
            return day(found.isoformat(" "), "TIMESTAMP"), _DATE
        made, known = self.read(inner, "date")
        if node.to.is_type("date"):
            made = exp.cast(exp.cast(made, "DATE"), "TIMESTAMP")
        return made, known

    def _called(self, node: Node) -> Read:
        """Return what `__number` and `__spelled` read; text has the spelling that it has."""
        want = "number" if node.name.lower() == "__number" else "text"
        return self.read(node.expressions[0], want)

    def _tried(self, node: Node) -> Read:
        """Return what DuckDB runs within TRY; elsewhere it could fail for everybody."""
        kind = _TRIED.get(type(node))
        if kind is None or self.dialect != "duckdb":
            raise _refused(node)
        made = node.copy()
        for part in list(made.iter_expressions()):
            if not isinstance(part, exp.Var | exp.Literal):
                part.replace(self.read(part)[0])
        made = exp.Try(this=made)
        if kind != "number":
            return made, Known(kind)
        made = exp.cast(made, "DOUBLE")
        return held(made, made.copy()), Known(kind, -HELD, HELD)

    # --- numbers ----------------------------------------------------------------------------------

    def _sum(self, node: Node) -> Read:
        (a, x), (b, y) = (self.read(side, "number") for side in (node.left, node.right))
        if x.high + 1 > RANGE:
            a, x = held(a, a.copy()), Known("number", -HELD, HELD)
        if y.high + 1 > RANGE:
            b, y = held(b, b.copy()), Known("number", -HELD, HELD)
        low, high = min(x.low, y.low) - 17, max(x.high, y.high) + 1
        return type(node)(this=_wrapped(a), expression=_wrapped(b)), Known("number", low, high)

    def _product(self, node: Node) -> Read:
        sides = [self.read(side, "number") for side in (node.left, node.right)]
        over = isinstance(node, exp.Div)
        for place in (0, 1):
            known = multiplied(*(known for _, known in sides), over=over)
            if known.low < -RANGE or known.high > RANGE:
                made, _ = sides[place]
                sides[place] = (held(made, made.copy()), Known("number", -HELD, HELD))
        known = multiplied(*(known for _, known in sides), over=over)
        (a, _), (b, _) = sides
        if over:
            b = exp.Nullif(this=b, expression=number(0.0))
        return type(node)(this=_wrapped(a), expression=_wrapped(b)), known

    def _same_number(self, node: Node) -> Read:
        made, known = self.read(node.this, "number")
        return type(node)(this=_wrapped(made)), known

    def _whole(self, node: Node) -> Read:
        """Return floor, ceil, trunc and round, away from 0: by floor alone, which all agree on."""
        made, known = self.read(node.this, "number")
        known = Known("number", 0.0, max(known.high, 0.0) + 1)
        if isinstance(node, exp.Floor | exp.Ceil):
            return exp.cast(type(node)(this=made), "DOUBLE"), known
        size: Node = exp.Abs(this=made)
        if isinstance(node, exp.Round):
            size = exp.Add(this=size, expression=number(0.5))
        sign = exp.Sign(this=made.copy())
        return exp.cast(exp.Mul(this=exp.Floor(this=size), expression=sign), "DOUBLE"), known

    def _sign(self, node: Node) -> Read:
        made, _ = self.read(node.this, "number")
        return exp.cast(exp.Sign(this=made), "DOUBLE"), Known("number")

    def _guarded(self, node: Node) -> Read:
        """Return roots and logarithms, of what has one."""
        made, known = self.read(node.this, "number")
        met = exp.GT if isinstance(node, exp.Ln) else exp.GTE
        case = exp.Case().when(met(this=made, expression=number(0.0)), type(node)(this=made.copy()))
        root = Known("number", known.low / 2, known.high / 2)
        return case, _LOGARITHM if isinstance(node, exp.Ln) else root

    # --- truths -----------------------------------------------------------------------------------

    def _compared(self, node: Node) -> Read:
        left, right = node.left, node.right
        if self._alike(left, right):  # as they stand: ids may have more digits than floats
            return node.copy(), _TRUTH
        a, b = self._together([left, right])[0]
        return type(node)(this=_wrapped(a), expression=_wrapped(b)), _TRUTH

    def _alike(self, left: Node, right: Node) -> bool:
        if not (isinstance(left, exp.Column) and isinstance(right, exp.Column)):
            return False
        a, b = (self.columns[(side.table, side.name)] for side in (left, right))
        return a.raw == b.raw != "" or (a.kind == b.kind and _exact(a.raw) and _exact(b.raw))

    def _between(self, node: Node) -> Read:
        (x, low, high), _ = self._together([node.this, node.args["low"], node.args["high"]])
        return exp.Between(this=_wrapped(x), low=_wrapped(low), high=_wrapped(high)), _TRUTH

    def _in(self, node: Node) -> Read:
        (x, *listed), _ = self._together([node.this, *node.expressions])
        return exp.In(this=_wrapped(x), expressions=listed), _TRUTH

    def _is(self, node: Node) -> Read:
        if not isinstance(node.expression, exp.Null | exp.Boolean):
            raise _refused(node)
        want = "bool" if isinstance(node.expression, exp.Boolean) else None
        made, _ = self.read(node.this, want)
        return exp.Is(this=_wrapped(made), expression=node.expression.copy()), _TRUTH

    def _logic(self, node: Node) -> Read:
        parts = [_wrapped(self.read(part, "bool")[0]) for part in node.iter_expressions()]
        if isinstance(node, exp.Not):
            return exp.Not(this=parts[0]), _TRUTH
        return type(node)(this=parts[0], expression=parts[1]), _TRUTH

    def _like(self, node: Node) -> Read:
        pattern = node.expression
        if not (isinstance(pattern, exp.Literal) and pattern.is_string) or "\\" in pattern.name:
            move = "Write the pattern itself, without backslashes."
            raise refuse("plain text after LIKE", repr(snippet(node)), move)
        made, _ = self.read(node.this, "text")
        return type(node)(this=_wrapped(made), expression=pattern.copy()), _TRUTH

    # --- choices ----------------------------------------------------------------------------------

    def _together(self, nodes: Sequence[Node]) -> tuple[list[Node], Known]:
        """Return expressions that are of one kind, and what is known of whichever is taken."""
        found = [self.read(node) for node in nodes]
        kinds = {known.kind for _, known in found} - {"null"}
        kind = next((k for k in ("number", "date", "bool", "text") if k in kinds), "null")
        if len(kinds) > 1:
            found = [self.read(node, kind) for node in nodes]
        numbers = [known for _, known in found if known.kind == "number"]
        low = min((known.low for known in numbers), default=0.0)
        high = max((known.high for known in numbers), default=0.0)
        return [made for made, _ in found], Known(kind, low, high)

    def _case(self, node: Node) -> Read:
        ifs, default = node.args["ifs"], node.args.get("default")
        if node.this is not None:
            raise _refused(node)
        results = [part.args["true"] for part in ifs] + ([default] if default else [])
        made, known = self._together(results)
        case = exp.Case()
        for part, then in zip(ifs, made, strict=False):
            case = case.when(self.read(part.this, "bool")[0], then, copy=False)
        return (case.else_(made[-1], copy=False) if default else case), known

    def _chosen(self, node: Node) -> Read:
        parts, known = self._together([node.this, *node.expressions])
        return type(node)(this=parts[0], expressions=parts[1:]), known

    def _nullif(self, node: Node) -> Read:
        (a, b), known = self._together([node.this, node.expression])
        return exp.Nullif(this=a, expression=b), known

    def _paren(self, node: Node) -> Read:
        made, known = self.read(node.this)
        return exp.Paren(this=made), known

    def _plain(self, node: Node) -> Read:
        return node.copy(), _TRUTH if isinstance(node, exp.Boolean) else Known("null")

    # --- text and days ----------------------------------------------------------------------------

    def _textual(self, node: Node) -> Read:
        """Return a function of a text and plain numbers, none of them negative."""
        settings = {name: part for name, part in node.args.items() if name != "this" and part}
        for name, part in settings.items():
            whole = isinstance(part, exp.Literal) and part.is_int
            if not whole or not (name == "start") <= int(part.name) <= _FURTHEST:
                raise refuse("plain whole numbers in text functions", repr(snippet(node)), _MOVE)
        made, _ = self.read(node.this, "text")
        found = type(node)(this=made, **{name: part.copy() for name, part in settings.items()})
        length = isinstance(node, exp.Length)
        return (exp.cast(found, "DOUBLE"), _COUNT) if length else (found, _TEXT)

    def _part(self, node: Node) -> Read:
        """Return a part of a day, as a number."""
        plain = isinstance(node, _ONE)
        name = (type(node).__name__ if plain else node.name).lower()
        if name not in _PARTS:
            return self._tried(node)
        made, _ = self.read(node.this if plain else node.expression, "date")
        part = exp.Extract(this=exp.var(name.upper()), expression=made)
        return exp.cast(part, "DOUBLE"), Known("number", 0.0, 4.0)

    # --- aggregates of one unit's rows ------------------------------------------------------------

    def _count(self, node: Node) -> Read:
        star = isinstance(node.this, exp.Star)
        inner = exp.Star() if star else self.read(node.this)[0]
        return exp.cast(exp.Count(this=inner), "DOUBLE"), _COUNT

    def _extreme(self, node: Node) -> Read:
        if node.expressions:
            raise _refused(node)
        made, known = self.read(node.this)
        return type(node)(this=made), known

    def _total(self, node: Node) -> Read:
        """Return a sum of millionths, as integers: the order of rows cannot tell."""
        made, _ = self.read(node.this, "number")
        small = exp.LT(this=exp.Abs(this=made), expression=number(_MOST))
        whole = _rint(
            exp.Mul(this=_wrapped(made.copy()), expression=number(_MILLION)), self.dialect
        )
        steps = exp.cast(exp.Case().when(small, whole), "BIGINT")
        wide = exp.cast(steps, "DECIMAL(38, 0)") if self.dialect == "spark" else steps
        total = exp.cast(exp.Sum(this=wide), "DOUBLE")
        return exp.Div(this=total, expression=number(_MILLION)), Known("number", -6.0, 32.0)


def _rint(node: Node, dialect: str) -> Node:
    """Return the nearest integer, ties to even."""
    name, *more = {"duckdb": ("round_even", "0"), "postgres": ("round",)}.get(dialect, ("rint",))
    return exp.Anonymous(this=name, expressions=[node, *map(exp.Literal.number, more)])


def _refused(node: Node) -> Exception:
    expected = "functions and operators that cannot fail, from the list in docs/sql.md"
    return refuse(expected, repr(snippet(node)), _MOVE)


def _exact(raw: str) -> bool:
    """Whether a type holds numbers that compare exactly, as they stand."""
    return kind_of(raw) == "number" and raw not in FLOATS[:3]


def _wrapped(node: Node) -> Node:
    return node if isinstance(node, exp.Column | exp.Literal | exp.Func) else exp.paren(node)


_RULES: Mapping[type, Callable[[Typed, Any], Read]] = MappingProxyType({
    exp.Column: Typed._column, exp.Literal: Typed._literal, exp.Boolean: Typed._plain,
    exp.Null: Typed._plain, exp.Paren: Typed._paren, exp.TryCast: Typed._cast,
    exp.Anonymous: Typed._called, exp.Add: Typed._sum, exp.Sub: Typed._sum,
    exp.Mul: Typed._product, exp.Div: Typed._product, exp.Neg: Typed._same_number,
    exp.Abs: Typed._same_number, exp.Floor: Typed._whole, exp.Ceil: Typed._whole,
    exp.Round: Typed._whole, exp.Trunc: Typed._whole, exp.Sign: Typed._sign,
    exp.Sqrt: Typed._guarded, exp.Ln: Typed._guarded, exp.Between: Typed._between,
    exp.In: Typed._in, exp.Is: Typed._is, exp.And: Typed._logic, exp.Or: Typed._logic,
    exp.Not: Typed._logic, exp.Like: Typed._like, exp.ILike: Typed._like, exp.Case: Typed._case,
    exp.Coalesce: Typed._chosen, exp.Greatest: Typed._chosen, exp.Least: Typed._chosen,
    exp.Nullif: Typed._nullif, exp.Upper: Typed._textual, exp.Lower: Typed._textual,
    exp.Trim: Typed._textual, exp.Substring: Typed._textual, exp.Left: Typed._textual,
    exp.Length: Typed._textual, exp.Extract: Typed._part, exp.Count: Typed._count,
    exp.Min: Typed._extreme, exp.Max: Typed._extreme, exp.Sum: Typed._total,
    **dict.fromkeys(_COMPARED, Typed._compared), **dict.fromkeys(_ONE, Typed._part),
})  # fmt: skip
