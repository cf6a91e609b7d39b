"""The rows of single units that a query adds up: what may be asked, by its shape, and what is run.

A query that may be asked is a SELECT from tables and from such SELECTs, each of them *local*
(`roles`): a row depends on rows of one unit and on public rows alone. Its expressions are made of
the nodes that are listed here, each a function of its arguments that nothing else can change:
neither other rows, nor the clock, the session, a file or the order of rows. What could fail on some
row stands in TRY, and is NULL there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, final

import numpy as np
from sqlglot import exp
from sqlglot.optimizer.scope import Scope, build_scope

from rpac._base.checks import refuse
from rpac.errors import InputError, MechanismError
from rpac.person.contributions import Rows, Units
from rpac.questions.kinds import BEYOND, LONGEST, SHORT, snippet
from rpac.sql.added import owned_tree
from rpac.sql.analysis import Analysis
from rpac.sql.contributed import Contributed
from rpac.sql.domain import Groups
from rpac.sql.owned import Owned
from rpac.sql.parsing import as_written
from rpac.sql.question import Question
from rpac.sql.relations import relation
from rpac.sql.syntax import Node, conjuncts, joined
from rpac.sql.tables import UNIT, described, run

_SHAPES: Mapping[type, str] = MappingProxyType({
    exp.Select: "expressions from_ from joins where group with_ with", exp.With: "expressions",
    exp.CTE: "this alias", exp.Subquery: "this alias", exp.Table: "this alias",
    exp.TableAlias: "this", exp.Join: "this on side kind", exp.Group: "expressions",
})  # fmt: skip
_LISTED = (
    "From Where Alias Identifier Column Literal Null Boolean Star Paren TryCast DataType "
    "DataTypeParam Case If And Or Not Is EQ NEQ GT GTE LT LTE In NullSafeEQ NullSafeNEQ Between "
    "Like ILike StartsWith Contains Add Sub Mul Div Mod Neg Abs Round Trunc Floor Ceil Ln Log Exp "
    "Sqrt Cbrt Pow Sign Coalesce Nullif Greatest Least Upper Lower Trim Length Left Year Month Day "
    "Quarter Hour DayOfWeek Extract DateDiff TimestampTrunc Count Min Max"
)
_ROWWISE = frozenset(getattr(exp, name) for name in _LISTED.split())
_UNITS = "year quarter month week day hour minute second dow isodow doy dayofweek decade century"
"""Parts of dates that have no error of their own."""
_KEPT = "temp.__kept"
"""The rows of the question that is asked, as numbers."""
_READ = MappingProxyType({"__number": "DOUBLE", "__spelled": "TEXT"})
_AROUND = (exp.Alias, exp.Identifier, exp.TryCast, exp.DataType, exp.DataTypeParam, exp.Div)
"""What may stand around an aggregate, where TRY cannot: none of it fails on numbers."""


@final
class Contributions:
    """The rows of a query over rows, with all groups that there may be.

    Args:
        tables: What is asked.
        tree: Selects keys k0, k1, ... and numbers a0, a1, ... of every row.
        keys: Names of the keys.
        entries: For each key all that it may be, as declared; None: as public tables list it.

    Attributes:
        groups: Of public things alone.

    Guarantees:
        What is refused depends on the arguments, on declarations and on public tables. Every row
        that `rows` returns is a function of its unit's own rows and of public tables.
    """

    def __init__(
        self, tables: Owned, tree: Node, keys: Sequence[str], entries: Sequence[list[Any] | None]
    ) -> None:
        self.tables, self.tree = tables, as_written(tree, tables)
        _check(self.tree)
        self.analysis = self._analysed()
        self.free = [j for j, found in enumerate(entries) if found is None]
        lost = [name for name in tables.keys if not tables.has(name)]
        for j in self.free:
            if self.analysis.role(self.analysis.root, self.tree.selects[j].unalias()) != "public":
                raise refuse(
                    f"declared groups in {keys[j]!r}", "entries of single people",
                    f"Say which there are: keys={{{keys[j]!r}: [...]}}, or "
                    f"join a public table that lists them.{tables.lost_in_words(lost)}",
                )  # fmt: skip
        declared = {j: found for j, found in enumerate(entries) if found is not None}
        self.question = Question(
            tables, f"{self.tree.sql()}{declared}", self.tree, self.analysis, [], [""] * len(keys),
            list(range(len(keys))), [], declared, [], [], None,
        )  # fmt: skip
        self.groups = Groups(self.question)
        self.size = len(self.groups.rows)
        for scope in self.analysis.root.traverse():
            if not tables.typed:
                self._try(scope)
            self._tie(scope)
        names = [item.alias_or_name for item in self.tree.selects]
        self.numbers = [name for name in names if name.startswith("a")]
        self._check_text()

    def _check_text(self) -> None:
        """Refuse what the database cannot read: a fact of the text, before a row is read."""
        if self.tables.engine is None:
            described(self.tables, self._relation() if self.tables.typed else self._written())
            return
        try:
            self.tables.engine.fetch(f"SELECT * FROM ({self._relation()}) AS r WHERE 1 = 0")
        except MechanismError:
            got, move = "one that it refuses", "Compare columns of one type, and name them in full."
            raise refuse("a query that the database can run", got, move) from None

    def _analysed(self) -> Analysis:
        """Return what is known of the query's scopes; refuse rows that are not of single units."""
        root = build_scope(self.tree)
        assert root is not None
        try:
            analysis = Analysis(self.tables, root)
        except InputError:  # an inner SELECT over several units, in the words of samples
            analysis = None
        seen = {id(scope.expression) for scope in root.traverse()}
        every = all(id(select) in seen for select in self.tree.find_all(exp.Select))
        if analysis is None or not (every and analysis.facts.local):
            got = repr(snippet(self.tree))
            raise refuse("rows of single people, joined by the unit's id", got, BEYOND)
        return analysis

    def _try(self, scope: Scope) -> None:
        """Put TRY around what could fail on some row of a SELECT."""
        select: Node = scope.expression
        for item in select.selects:
            found = [agg.this for agg in item.find_all(exp.AggFunc)] or [item.unalias()]
            for node in found:
                if not isinstance(node, exp.Column | exp.Star):
                    node.replace(exp.Try(this=node.copy()))
        joins = [join for _, join in joined(select) if join is not None]
        for holder, name in ((select.args.get("where"), "this"), *((j, "on") for j in joins)):
            if holder is not None and holder.args.get(name):
                parts = conjuncts(holder.args[name])
                made = [p if self._same(scope, p) else exp.Try(this=p.copy()) for p in parts]
                holder.set(name, exp.and_(*made))

    def _same(self, scope: Scope, part: Node) -> bool:
        """Whether a condition compares two entries of one type: that cannot fail."""

        def kind(node: Node) -> str | None:
            if isinstance(node, exp.Column):
                return "TEXT" if self.analysis.column(scope, node).entity else None
            plain = isinstance(node, exp.Anonymous) and isinstance(node.expressions[0], exp.Column)
            cast = isinstance(node, exp.TryCast) and isinstance(node.this, exp.Column)
            return _READ[node.name.lower()] if plain else node.to.sql("duckdb") if cast else None

        return isinstance(part, exp.EQ) and kind(part.left) == kind(part.right) is not None

    def _tie(self, scope: Scope) -> None:
        """Let joined rows be of one owner, and no other: a key may have several."""
        first = self.analysis.of(scope).owner
        for name, join in joined(scope.expression):
            if first is None or name == first or not self.analysis.source(scope, name).owned:
                continue
            same = exp.column(UNIT, first, quoted=True).eq(exp.column(UNIT, name, quoted=True))
            if join is not None and join.side:
                join.on(same, copy=False)
            else:
                scope.expression.where(same, copy=False)  # type: ignore[attr-defined]

    def _written(self, schema: str = "pool") -> str:
        """Return the query that is run: whose row, in which group, and its numbers."""
        tree, owner = owned_tree(self.question)
        for table in tree.find_all(exp.Table):
            if table.name in self.tables.private:
                table.set("db", exp.to_identifier(schema))
        tree.select(exp.alias_(owner, UNIT, quoted=True), copy=False)
        met = [
            f"r.k{j} IS NOT DISTINCT FROM g.k{j}" if j in self.free else
            f"__key(r.k{j}::VARCHAR) IS NOT DISTINCT FROM __key(g.k{j}::VARCHAR)"
            for j in range(len(self.groups.keys))
        ]  # fmt: skip
        shown = ", ".join([f"r.{UNIT}::BIGINT AS u", "g.g::BIGINT AS g", *self.numbers])
        on = f"{self.groups.table} AS g ON {' AND '.join(met) or 'true'}"
        return f"SELECT {shown} FROM ({tree.sql('duckdb')}) AS r JOIN {on}"

    def _relation(self) -> str:
        """Return the same over tables of declared types, in the dialect of who has them."""
        tree, owner = owned_tree(self.question)
        return relation(self.tables, tree, owner, list(self.groups.places.items()))

    def units(self) -> Units:
        """Return what units add, asked of the database that has the rows. Sealed.

        Where entries are text the rows are read once, into a table of numbers: adding these up
        cannot fail.
        """
        engine, fetch = self.tables.engine, lambda sql: run(self.tables, sql)
        if engine is not None:
            return Contributed(self._relation(), engine.dialect, engine.fetch, _stay)
        if self.tables.typed:
            return Contributed(self._relation(), "duckdb", fetch, self.rows)
        self._keep()
        return Contributed(f"SELECT * FROM {_KEPT}", "duckdb", fetch, self.rows)

    def _keep(self) -> None:
        """Put the rows of all units that are in a group into a table, as finite numbers."""
        named = [f"CAST({n} AS DOUBLE) AS {n}" for n in self.numbers]
        held = [f"CASE WHEN isfinite({n}) THEN {n} END AS {n}" for n in self.numbers]

        def numbers(schema: str) -> str:
            rows = f"SELECT {', '.join(['u', 'g', *named])} FROM ({self._written(schema)}) AS r"
            return f"SELECT {', '.join(['u', 'g', *held])} FROM ({rows}) AS n"

        empty = ", ".join(["u BIGINT", "g BIGINT", *(f"{n} DOUBLE" for n in self.numbers)])
        run(self.tables, f"CREATE OR REPLACE TEMP TABLE {_KEPT[5:]} ({empty})")
        put = f"INSERT INTO {_KEPT} "
        try:
            run(self.tables, put + numbers("pool"))
        except MechanismError:
            self._apart(0, len(self.tables.units), lambda: run(self.tables, put + numbers("part")))

    def rows(self) -> Rows:
        """Return the rows of all units that are in a group, by unit in this process. Sealed."""
        if self.tables.typed:
            found = run(self.tables, self._numbered(self._relation()), "fetchnumpy")
        else:
            self._keep()
            found = run(self.tables, f"SELECT * FROM {_KEPT}", "fetchnumpy")
        units, groups = (np.asarray(found[name], np.int64) for name in ("u", "g"))
        values = [np.ma.filled(np.ma.asarray(found[n], np.float64), np.nan) for n in self.numbers]
        table = np.stack(values, axis=1) if values else np.zeros((len(units), 0))
        return Rows(units, groups, table)

    def _numbered(self, rows: str) -> str:
        """Return rows whose units are numbers, from ids of any type."""
        return f"SELECT * REPLACE (dense_rank() OVER (ORDER BY u) - 1 AS u) FROM ({rows}) AS r"

    def _apart(self, low: int, high: int, put: Callable[[], Any]) -> None:
        """Put the rows of units from `low` to below `high`, without units that fail alone.

        TRY does not catch all that can fail (no memory is left, say). A unit whose own rows fail,
        with nobody else's beside them, has none; it takes nobody else's with it.
        """
        if high <= low:
            return
        try:
            self.tables.take(low, high)
            put()
        except MechanismError:
            middle = (low + high + 1) // 2
            for half in [] if middle == high else [(low, middle), (middle, high)]:
                self._apart(*half, put)


def _stay() -> Rows:
    move = "Audit the same question on a frame, or on a sample of the table in a file."
    raise refuse("rows in this process, to audit", "rows that stay in their database", move)


def _check(tree: Node) -> None:
    """Refuse every node that is not listed, and every part of one that its shape does not have."""
    for node in tree.walk():
        fits = type(node) in _ROWWISE or _fitting(node)
        if type(node) in _SHAPES:
            shape = _SHAPES[type(node)].split()
            fits = all(name in shape for name, part in node.args.items() if part)
        if isinstance(node, exp.Select | exp.Subquery) and node is not tree:
            fits &= isinstance(node.parent, exp.CTE | exp.From | exp.Join | exp.Subquery)
        if isinstance(node, exp.Alias) and node.find(exp.AggFunc):
            outside = node.walk(prune=lambda part: isinstance(part, exp.AggFunc))
            fits = all(isinstance(part, (*_AROUND, exp.AggFunc)) for part in outside)
        if not fits:
            raise refuse("plain SELECTs, and functions of one row", repr(snippet(node)), BEYOND)


def _fitting(node: Node) -> bool:
    """Whether a node is one that may be run with certain arguments alone."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _READ
    if isinstance(node, exp.Var):
        return node.name.lower() in _UNITS.split()
    if isinstance(node, exp.Substring):
        return all(_small(node.args.get(name)) for name in ("start", "length"))
    if isinstance(node, exp.Concat | exp.DPipe | exp.Replace):  # what makes text longer is cut off
        put = node.args.get("replacement")
        cut = [_cut(part, SHORT if part is put else LONGEST) for part in node.iter_expressions()]
        return all(cut) and _cut(node.parent, LONGEST)
    if isinstance(node, exp.Sum):  # of numbers whose sum has no order
        return isinstance(node.this, exp.TryCast) and bool(node.this.to.is_type("decimal"))
    return False


def _cut(node: Node | None, most: int) -> bool:
    """Whether text is cut off after `most` characters, or fewer."""
    return isinstance(node, exp.Left) and _small(node.expression, most)


def _small(node: Node | None, most: int = LONGEST) -> bool:
    """Whether a place in a text, or its length, is a plain number of a size that cannot fail."""
    return node is None or (node.is_number and abs(float(node.to_py())) <= most)
