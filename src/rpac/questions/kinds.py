"""What an entry is read as, from the text of a query alone: a number, text, a date or a truth.

Columns of private tables are text, entry by entry. What one is read as is declared, or follows from
where it stands: `x + 1` and `x > 3` read a number, `x = 'a'` text. A function or operator that has
no rule here is refused. `rpac.sql.rows` checks what comes out, so no guarantee rests on this.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, build_scope

from rpac._base.checks import refuse
from rpac.person.entries import text

Node: TypeAlias = Any
Kind: TypeAlias = str | None
"""None: an entry of a private table that nothing is declared of."""
TYPES = {"number": "DOUBLE", "text": "VARCHAR", "date": "TIMESTAMP", "bool": "BOOLEAN"}
_NUMBERS = frozenset({
    "TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT", "HUGEINT", "INT128", "UTINYINT", "USMALLINT",
    "UINTEGER", "UBIGINT", "UHUGEINT", "REAL", "FLOAT", "DOUBLE",
})  # fmt: skip
_STRENGTH = ("number", "date", "bool", "text", None)
_NUMERIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.Abs, exp.Round,
            exp.Floor, exp.Ceil, exp.Ln, exp.Log, exp.Exp, exp.Sqrt, exp.Cbrt, exp.Pow,
            exp.Sign)  # fmt: skip
_TEXTUAL = (exp.Upper, exp.Lower, exp.Trim, exp.Substring, exp.Concat, exp.DPipe, exp.Replace)
_MATCHING = (exp.Like, exp.ILike, exp.StartsWith, exp.Contains)
_COMPARING = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ,
              exp.Between, exp.In)  # fmt: skip
_LOGIC = (exp.And, exp.Or, exp.Not)
_CHOOSING = (exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least, exp.Paren)
_DATES = (exp.Year, exp.Month, exp.Day, exp.Quarter, exp.Hour, exp.DayOfWeek, exp.Extract,
          exp.DateDiff)  # fmt: skip
_RULES: Mapping[type, tuple[str, Kind]] = {
    **dict.fromkeys(_NUMERIC, ("number", "number")), **dict.fromkeys(_TEXTUAL, ("text", "text")),
    **dict.fromkeys(_MATCHING, ("text", "bool")), **dict.fromkeys(_LOGIC, ("bool", "bool")),
    **dict.fromkeys(_DATES, ("date", "number")), exp.Length: ("text", "number"),
    exp.TimestampTrunc: ("date", "date"), **dict.fromkeys(_COMPARING, ("same", "bool")),
    **dict.fromkeys(_CHOOSING, ("same", "same")),
}  # fmt: skip
"""What arguments are read as, and what comes out; "same": what the strongest of them is."""
_GROWING = (exp.Concat, exp.DPipe, exp.Replace)
LONGEST, SHORT = 1024, 32
"""Text that a query makes longer is cut off there, before and after, what it puts in place of other
text more so: nobody's entries may fill the memory."""
_CAST = "CAST it to one of these before it is loaded."
BEYOND = (
    "Ask a function by blocks (rpac.Presence(..., way='blocks')), or of half-samples (db.source)."
)
_APART = "Join it in FROM, by the unit's id, or ask it first and write its answer."
_INNER = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
_SETTINGS = ("start", "length", "decimals", "unit")
_EQUAL = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)
_GIVEN = re.compile(r"(_col_|a|k)\d+")
"""Names of columns that no author wrote."""
_EXACT = "DECIMAL(28, 8)"
"""Sums within a unit are of decimals: the order of rows cannot tell."""


class Reader:
    """Reads expressions over columns of known kinds.

    Args:
        kinds: By (source, column).
        spelled: Those whose text is in its one spelling: of private tables.
        typed: Whether text is compared as it stands, and columns of one kind as they are.
    """

    def __init__(
        self,
        kinds: Mapping[tuple[str, str], Kind],
        spelled: Collection[tuple[str, str]],
        *,
        typed: bool = False,
    ) -> None:
        self.kinds, self.spelled, self.typed = kinds, spelled, typed

    def read(self, node: Node, want: Kind = None) -> Node:
        """Return an expression that may fail, as a kind; what is not listed is refused."""
        return converted(self._made(node), self.kind(node), want)

    def kind(self, node: Node) -> Kind:
        """Return what an expression is, by its text and by what is declared."""
        if isinstance(node, exp.Column):
            found = self.kinds.get((node.table, node.name), "around")
            if found == "around":
                expected = "sub-queries that stand by themselves, in FROM or WITH"
                raise refuse(expected, f"{snippet(node)!r} of the query around it", _APART)
            if found == "":
                raise refuse(
                    "columns of numbers, text, dates or truths", repr(snippet(node)), _CAST
                )
            return found
        if isinstance(node, exp.Literal):
            return "text" if node.is_string else "number"
        if isinstance(node, exp.Cast):
            return _kind_of_cast(node)
        if isinstance(node, exp.Case):
            return self._strongest(_results(node))
        if isinstance(node, exp.Boolean | exp.Is):
            return "bool"
        found = _RULES.get(type(node), ("", None))[1]
        return self._strongest(_parts(node)) if found == "same" else found

    def _strongest(self, nodes: list[Node]) -> Kind:
        found = {self.kind(node) for node in nodes}
        return next((kind for kind in _STRENGTH if kind in found), None)

    def _made(self, node: Node) -> Node:
        """Return an expression with its parts read as it needs them."""
        if isinstance(node, exp.Column | exp.Boolean | exp.Null):
            entry = self._is_entry(node)
            return converted(node.copy(), None, self.kind(node)) if entry else node.copy()
        if isinstance(node, exp.Literal):
            return node.copy() if node.is_string else _cast(node.copy(), "number")
        if isinstance(node, exp.Cast):
            return self._made_cast(node)
        if isinstance(node, exp.Case):
            return self._made_case(node)
        if isinstance(node, exp.Is):
            want = "bool" if isinstance(node.expression, exp.Boolean) else None
            return exp.Is(this=self.read(node.this, want), expression=self._made(node.expression))
        if isinstance(node, exp.Subquery | exp.Exists | exp.Select):
            raise refuse("sub-queries in FROM or WITH alone", repr(snippet(node)), _APART)
        if type(node) not in _RULES:
            raise refuse(
                "functions and operators of one row's entries, from the list in docs/sql.md",
                repr(snippet(node)), "Write it with plainer ones, or ask by blocks.",
            )  # fmt: skip
        want = _RULES[type(node)][0]
        if want == "same":
            return self._alike(node, isinstance(node, _COMPARING))
        return _safe(_with(node, [self.read(part, want) for part in _parts(node)]))

    def _alike(self, node: Node, compared: bool) -> Node:  # noqa: FBT001
        """Return an expression whose parts are all read as what the strongest of them is."""
        parts = _parts(node)
        kind = self._strongest(parts)
        if isinstance(node, _EQUAL) and (all(map(self._is_entry, parts)) or self._same(parts)):
            return node.copy()  # two entries are equal if their texts are
        made = [self.read(part, kind) for part in parts]
        if compared and kind in ("text", None) and not self.typed:
            made = [_spelled(part) for part in made]
        if compared and kind == "number":
            made = [_cast(p, kind) if isinstance(p, exp.Column) else p for p in made]
        return _with(node, made)

    def _same(self, parts: Sequence[Node]) -> bool:
        plain = self.typed and all(isinstance(part, exp.Column) for part in parts)
        return plain and len({self.kind(part) for part in parts}) == 1

    def _is_entry(self, node: Node) -> bool:
        return isinstance(node, exp.Column) and (node.table, node.name) in self.spelled

    def _made_cast(self, node: Node) -> Node:
        kind = _kind_of_cast(node)
        made = self.read(node.this, kind)
        whole = node.to.this in (*exp.DataType.INTEGER_TYPES, exp.DataType.Type.DATE)
        if whole and kind == "number":
            return exp.Anonymous(this="round", expressions=[made])
        return converted(_cast(made, "DATE"), "text", kind) if whole else made

    def _made_case(self, node: Node) -> Node:
        operand, kind = node.this, self._strongest(_results(node))
        made = exp.Case()
        for part in node.args["ifs"]:
            met = exp.EQ(this=operand.copy(), expression=part.this.copy()) if operand else part.this
            made = made.when(self.read(met, "bool"), self.read(part.args["true"], kind))
        default = node.args.get("default")
        return made.else_(self.read(default, kind)) if default else made


def _left(node: Node, length: int) -> Node:
    return exp.Left(this=node, expression=exp.Literal.number(length))


def _safe(made: Node) -> Node:
    """Return a function as it is run: text that may grow is cut off, whole quotients are cut."""
    if isinstance(made, _GROWING):
        for part in _parts(made):
            put = part.arg_key == "replacement"
            part.replace(_left(part.copy(), SHORT if put else LONGEST))
        return _left(made, LONGEST)
    if isinstance(made, exp.IntDiv):  # of numbers with fractions it is no division by wholes
        return exp.Anonymous(this="trunc", expressions=[exp.Div(**made.args)])
    return made


def converted(node: Node, kind: Kind, want: Kind) -> Node:
    """Return an expression of one kind as another; NULL where it is none of that kind."""
    if want in (None, kind) or isinstance(node, exp.Null):
        return node
    if kind not in (None, "text"):
        node = exp.Anonymous(this="__spelled", expressions=[_cast(node, "text")])
    if want == "number":
        return exp.Anonymous(this="__number", expressions=[node])
    return node if want == "text" else _cast(node, want)


def kind_of(kind: str) -> str:
    """Return what a public column of an SQL type is read as; "" for types that are not read."""
    if kind.startswith("DECIMAL") or kind in _NUMBERS:
        return "number"
    return {"VARCHAR": "text", "TEXT": "text", "BOOLEAN": "bool", "DATE": "date",
            "TIMESTAMP": "date"}.get(kind, "")  # fmt: skip


def _kind_of_cast(node: Node) -> str:
    kind = kind_of(node.to.sql("duckdb"))
    if not kind:
        raise refuse("CAST to numbers, text, dates or truths", repr(snippet(node)), "Use one.")
    return kind


def _cast(node: Node, kind: str) -> Node:
    return exp.TryCast(this=node, to=exp.DataType.build(TYPES.get(kind, kind), dialect="duckdb"))


def _spelled(node: Node) -> Node:
    """Return text in its one spelling, where it is the query's own or of a public table."""
    if isinstance(node, exp.Literal):
        word = text(node.name)
        return exp.null() if word is None else exp.Literal.string(word)
    plain = isinstance(node, exp.Column)
    return exp.Anonymous(this="__spelled", expressions=[node]) if plain else node


def _results(node: Node) -> list[Node]:
    default = node.args.get("default")
    return [part.args["true"] for part in node.args["ifs"]] + ([default] if default else [])


def _parts(node: Node) -> list[Node]:
    """Return the arguments that are read; settings must be plain numbers or words."""
    found = []
    for name, part in node.args.items():
        for one in part if isinstance(part, list) else [part]:
            if not isinstance(one, exp.Expression) or isinstance(one, exp.Var):
                continue
            if name in _SETTINGS and not one.is_number:
                raise refuse(f"a plain number as {name}", repr(snippet(node)), "Write it out.")
            if name not in _SETTINGS:
                found.append(one)
    return found


def _with(node: Node, parts: list[Node]) -> Node:
    """Return a node with other arguments in place of those that are read."""
    made, old = node.copy(), iter(parts)
    for part in _parts(made):
        part.replace(next(old))
    return made


def is_truth(node: Node) -> bool:
    """Whether an expression is true or false by its shape."""
    inner = node.unnest()
    return isinstance(inner, exp.Is) or _RULES.get(type(inner), ("", None))[1] == "bool"


def snippet(node: Node) -> str:
    """Return an expression as its author wrote it, about, casts left out: for messages."""
    text = str(node.copy().transform(_unread).sql("duckdb")).replace('"', "")
    return text if len(text) <= 80 else f"{text[:77]}..."


def _unread(node: Node) -> Node:
    """Return a part of a query without what was put around it to read it."""
    if isinstance(node, exp.Try | exp.TryCast):
        return node.this.transform(_unread)
    if isinstance(node, exp.Anonymous) and node.name.lower() in ("__number", "__spelled"):
        return node.expressions[0].transform(_unread)
    if isinstance(node, exp.Alias) and _GIVEN.fullmatch(node.alias):
        return node.this.transform(_unread)
    if isinstance(node, exp.Table) and node.alias == node.name:
        node.set("alias", None)
    if isinstance(node, exp.Div):
        left, right = (side.transform(_unread) for side in (node.left, node.right))
        both = isinstance(left, exp.Sum) and isinstance(right, exp.Count)
        if both and left.this == right.this:
            return exp.Avg(this=left.this)
    return node


# --- all scopes of a query ------------------------------------------------------------------------


def rewrite(
    tree: Node,
    columns: Mapping[str, tuple[bool, Mapping[str, str]]],
    declared: Callable[[str, str], Kind],
    *,
    typed: bool = False,
) -> Node:
    """Return a query over rows with all of its parts read as they stand, the innermost first.

    Args:
        tree: A SELECT without aggregates of its own; keys are named k0, ..., numbers a0, ...
        columns: For every table whether it is public, and the SQL types of its columns.
        declared: From a private table and its column to what is declared of it.
        typed: Whether private tables have types as public ones do.
    """
    recursive = [made for made in tree.find_all(exp.With) if made.recursive]
    for odd in (tree.find(exp.Exists, exp.Lateral, exp.Unnest), *recursive):
        if odd is not None:
            raise refuse("plain SELECTs", repr(snippet(odd)), BEYOND)
    root = build_scope(tree)
    made: dict[int, Any] = {}
    assert root is not None
    for scope in root.traverse():
        if not isinstance(scope.expression, exp.Select):
            raise refuse("plain SELECTs", repr(snippet(scope.expression)), BEYOND)
        reader = _reader(scope, made, (columns, declared, typed))
        made[id(scope.expression)] = _outputs(reader, scope.expression)
        _read_scope(reader, scope.expression, outermost=scope is root)
    return tree


def _reader(scope: Scope, made: Mapping[int, Any], said: tuple[Any, Any, bool]) -> Reader:
    columns, declared, typed = said
    kinds: dict[tuple[str, str], Kind] = {}
    spelled: set[tuple[str, str]] = set()
    for name, source in scope.sources.items():
        if isinstance(source, Scope):
            inner, texts = made[id(source.expression)]
        else:
            public, inside = columns[source.name]
            public = public or typed
            inner = {c: kind_of(t) if public else declared(source.name, c)
                     for c, t in inside.items()}  # fmt: skip
            texts = set() if public else set(inside)
        kinds |= {(name, column): kind for column, kind in inner.items()}
        spelled |= {(name, column) for column in texts}
    return Reader(kinds, spelled, typed=typed)


def _outputs(reader: Reader, select: Node) -> tuple[dict[str, Kind], set[str]]:
    """Return the kinds of a SELECT's columns, and those that are entries as they stand."""
    items = {item.alias_or_name: item.unalias() for item in select.selects}
    kinds = {name: _kind(reader, node) for name, node in items.items()}
    plain = {n for n, c in items.items() if isinstance(c, exp.Column)}
    return kinds, {n for n in plain if (items[n].table, items[n].name) in reader.spelled}


def _kind(reader: Reader, node: Node) -> Kind:
    if isinstance(node, exp.Min | exp.Max):
        return reader.kind(node.this) or "number"
    return "number" if isinstance(node, exp.AggFunc) else reader.kind(node)


def _read_scope(reader: Reader, select: Node, *, outermost: bool) -> None:
    """Put what is read in place of what was written, in a SELECT and its joins."""
    items = []
    for item in select.selects:
        node, name = item.unalias(), item.alias_or_name
        number = outermost and name.startswith("a")
        read = reader.read(node, "number") if number else _item(reader, node, select)
        items.append(exp.alias_(read, name, quoted=True))
    select.set("expressions", items)
    where = select.args.get("where")
    parts = [(where, "this")] if where else []
    parts += [(join, "on") for join in select.args.get("joins") or [] if join.args.get("on")]
    for holder, name in parts:
        root = holder.args[name].unnest()
        every = [n.unnest() for n in root.flatten()] if isinstance(root, exp.And) else [root]
        holder.set(name, exp.and_(*(reader.read(part, "bool") for part in every)))


def _item(reader: Reader, node: Node, select: Node) -> Node:
    """Return a column of an inner SELECT, or an aggregate of one unit's rows, as it is read."""
    if not isinstance(node, exp.AggFunc):
        group = select.args.get("group")
        keys = [*group.expressions, node] if group else []
        if not all(isinstance(key, exp.Column) for key in keys):
            move = "Group by columns there, and compute in the SELECT around it."
            raise refuse("columns and aggregates in a grouped sub-query", repr(snippet(node)), move)
        return node.copy() if isinstance(node, exp.Column) else reader.read(node)
    if not isinstance(node, _INNER) or isinstance(node.this, exp.Distinct):
        raise refuse("count, sum, avg, min or max in a sub-query", repr(snippet(node)), BEYOND)
    if isinstance(node, exp.Count):
        star = isinstance(node.this, exp.Star)
        return _cast(exp.Count(this=exp.Star() if star else reader.read(node.this)), "number")
    inner = reader.read(node.this, _kind(reader, node))
    if isinstance(node, exp.Min | exp.Max):
        return type(node)(this=inner)
    exact = _cast(inner, _EXACT)
    total = _cast(exp.Sum(this=exact), "number")
    if isinstance(node, exp.Sum):
        return total
    return exp.Div(this=total, expression=_cast(exp.Count(this=exact.copy()), "number"))
