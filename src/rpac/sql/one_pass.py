"""All worlds from one query: aggregate by (group, unit), then multiply by the world matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from rpac._base.types import Bools, Floats
from rpac.sql.analysis import ONE_PASS, Analysis, group_keys
from rpac.sql.database import UNIT
from rpac.sql.table import as_number, whole_type
from rpac.sql.totals import extremes, totals

if TYPE_CHECKING:
    from rpac.sql.query import Query

_ODD = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.Window, exp.GroupingSets, exp.Rollup,
        exp.Cube)  # fmt: skip


def serves(analysis: Analysis, tree: Any) -> bool:
    """Whether every aggregate is a COUNT, SUM, AVG, MIN or MAX over rows of one unit each."""
    if not isinstance(tree, exp.Select) or tree.find(*_ODD) or tree.args.get("distinct"):
        return False
    if analysis.facts.owner is None:
        return False
    found = _aggregates(tree)
    return bool(found) and all(
        isinstance(node, ONE_PASS) and not node.find(exp.Distinct, exp.Order) for node in found
    )


def _aggregates(tree: exp.Select) -> list[Any]:
    """Return the different aggregates of the outermost SELECT."""
    having = tree.args.get("having")
    items = [*tree.selects, *([having] if having else [])]
    inner = {id(node) for item in items for sub in item.find_all(exp.Subquery, exp.Exists)
             for node in sub.find_all(exp.AggFunc)}  # fmt: skip
    found = [node for item in items for node in item.find_all(exp.AggFunc) if id(node) not in inner]
    return list({node.sql(): node for node in found}.values())


class OnePass:
    """The answers of one query on all worlds."""

    def __init__(self, query: Query) -> None:
        self.query, self.connection = query, query.database.connection
        self.tree = query._tree.copy()
        self.aggregates = _aggregates(self.tree)
        self.keys = group_keys(self.tree)

    def answers(self, members: Bools) -> tuple[list[tuple[Any, ...]], Floats]:
        """Return the keys of the rows, and (worlds, rows, measures) numbers; NaN for NULL."""
        self._cells()
        self._groups()
        self._aggregate(np.ascontiguousarray(members.T))
        rows = self._rows()
        return rows, self._project(len(members), len(rows))

    def _owned_tree(self) -> tuple[exp.Select, exp.Expression]:
        """Return the query over tables that carry owners, and the column of the owner."""
        analysis = self.query._analysis
        tree = self.query._tree.copy()
        twins = dict(zip((id(n) for n in self.query._tree.walk()), tree.walk(), strict=True))
        for scope in analysis.root.traverse():
            for source in scope.sources.values():
                if isinstance(source, exp.Table) and source.name in self.query.database.private:
                    twins[id(source)].set("db", exp.to_identifier("pool"))
            facts = analysis.of(scope)
            if facts.local and facts.owner and scope is not analysis.root:
                twin = twins[id(scope.expression)]
                owner = exp.column(UNIT, facts.owner, quoted=True)
                twin.select(exp.alias_(owner.copy(), UNIT, quoted=True), copy=False)
                if twin.args.get("group"):
                    twin.group_by(owner, copy=False)
        assert analysis.facts.owner is not None
        return tree, exp.column(UNIT, analysis.facts.owner, quoted=True)

    def _cells(self) -> None:
        """Make one row a (group, unit), with what the unit adds to every aggregate."""
        tree, owner = self._owned_tree()
        keys = group_keys(tree)
        tree.set("having", None)
        types = tree.copy()
        types.set(
            "expressions", [exp.alias_(a.copy(), f"a{i}") for i, a in enumerate(self.aggregates)]
        )
        self.types = [r[1] for r in self._run(f"DESCRIBE {types.sql('duckdb')}").fetchall()]
        parts: list[Any] = [exp.alias_(key.copy(), f"k{i}") for i, key in enumerate(keys)]
        parts.append(exp.alias_(owner.copy(), "u"))
        parts.append(exp.alias_(exp.Count(this=exp.Star()), "n"))
        for i, node in enumerate(self.aggregates):
            parts += self._partials(i, node)
        tree.set("expressions", parts)
        tree.group_by(owner, copy=False)
        self._run(f"CREATE OR REPLACE TEMP TABLE __cells AS {tree.sql('duckdb')}")

    def _partials(self, i: int, node: Any) -> list[Any]:
        """Return the columns from which an aggregate is put together: its value and its count."""
        bare = isinstance(node.this, exp.Star) or node.this is None
        counted = exp.Count(this=exp.Star() if bare else node.this.copy())
        if isinstance(node, exp.Count):
            if len(node.expressions):
                counted = node.copy()
            value: Any = counted.copy()
        elif isinstance(node, exp.Min | exp.Max):
            value = node.copy()
        else:
            value = exp.Sum(this=node.this.copy())
        number = exp.cast(value, "DOUBLE")
        if isinstance(node, exp.Min | exp.Max):
            read = as_number(value.sql("duckdb"), self.types[i], node.sql())
            sign = "-" if isinstance(node, exp.Max) else ""
            number = exp.maybe_parse(f"{sign}{read}", dialect="duckdb")
        return [exp.alias_(number, f"v{i}"), exp.alias_(exp.cast(counted, "DOUBLE"), f"c{i}")]

    def _groups(self) -> None:
        """Number the groups: those that occur, and those that were declared."""
        places = self._declared_keys()
        free = [f"k{i}" for i in range(len(self.keys)) if i not in places]
        parts = [f"(SELECT DISTINCT {', '.join(free)} FROM __cells)"] if free else []
        for i, entries in places.items():
            values = exp.Array(expressions=[exp.convert(e) for e in entries]).sql("duckdb")
            parts.append(f"(SELECT unnest({values}) AS k{i})")
        if not self.keys:
            parts = ["(SELECT 0)"]
        listed = ", ".join(f"k{i}" for i in range(len(self.keys))) or "0 AS nothing"
        order = f"ORDER BY {listed}" if self.keys else ""
        self._run(
            f"CREATE OR REPLACE TEMP TABLE __groups AS SELECT {listed}, "
            f"row_number() OVER ({order}) - 1 AS g FROM {' CROSS JOIN '.join(parts)}"
        )

    def _declared_keys(self) -> dict[int, list[Any]]:
        """Return declared entries by the place of their key in GROUP BY."""
        nodes = {i: self.query._tree.selects[i].unalias() for i in self.query.declared}
        return {
            j: self.query.declared[i]
            for j, key in enumerate(self.keys)
            for i, node in nodes.items()
            if key == node
        }

    def _aggregate(self, members: Bools) -> None:
        """Put every aggregate together for every world and group; a table of them."""
        same = " AND ".join(
            f"c.k{i} IS NOT DISTINCT FROM g.k{i}" for i in range(len(self.keys))
        ) or "true"  # fmt: skip
        columns = ", ".join(f"v{i}, c{i}" for i in range(len(self.aggregates)))
        cells = self._run(
            f"SELECT g, u, CAST(n AS DOUBLE) AS n, {columns} "
            f"FROM __cells AS c JOIN __groups AS g ON {same} ORDER BY g, u"
        ).fetchnumpy()
        groups, units = (np.asarray(cells[name], np.int64) for name in ("g", "u"))
        size = int(self._run("SELECT count(*) FROM __groups").fetchall()[0][0])
        extreme = [isinstance(a, exp.Min | exp.Max) for a in self.aggregates]
        summed = ["n"] + [f"c{i}" for i in range(len(extreme))]
        summed += [f"v{i}" for i, e in enumerate(extreme) if not e]
        added = np.stack([_filled(cells[name], 0.0) for name in summed], axis=1)
        found = totals(groups, units, added, members, size)
        m = members.shape[1]
        table = {name: found[:, :, j].ravel() for j, name in enumerate(summed)}
        table |= {"w": np.repeat(np.arange(m), size), "g": np.tile(np.arange(size), m)}
        for i, node in enumerate(self.aggregates):
            if extreme[i]:
                least = extremes(groups, units, _filled(cells[f"v{i}"], np.nan), members, size)
                table[f"v{i}"] = -least.ravel() if isinstance(node, exp.Max) else least.ravel()
        self.connection.register("__sums", table)

    def _run(self, sql: str) -> Any:
        from rpac.sql.query import _run

        return _run(self.query.database, sql)

    def _value(self, i: int, node: Any) -> str:
        """Return SQL for an aggregate from its parts, in its own type."""
        if isinstance(node, exp.Count):
            return f"CAST(s.v{i} AS BIGINT)"
        if isinstance(node, exp.Avg):
            return f"CASE WHEN s.c{i} > 0 THEN s.v{i} / s.c{i} END"
        whole = whole_type(self.types[i])
        value = f"round(s.v{i})" if whole else f"s.v{i}"
        if self.types[i].startswith(("DATE", "TIMESTAMP")):
            value = f"make_timestamp(CAST(s.v{i} * 1e6 AS BIGINT))"
        return f"CASE WHEN s.c{i} > 0 THEN CAST({value} AS {self.types[i]}) END"

    def _rewritten(self, node: Any) -> str:
        """Return an output expression over the tables of sums and groups."""
        made = {a.sql(): f"a{i}" for i, a in enumerate(self.aggregates)}
        made |= {key.sql(): f"k{i}" for i, key in enumerate(self.keys)}

        def swap(part: Any) -> Any:
            return exp.column(made[part.sql()]) if part.sql() in made else part

        return str(node.copy().transform(swap).sql("duckdb"))

    def _rows(self) -> list[tuple[Any, ...]]:
        listed = ", ".join(self._rewritten(self.tree.selects[i].unalias()) for i in self.query.keys)
        return (
            list(self._run(f"SELECT {listed or 'g'} FROM __groups ORDER BY g").fetchall())
            if (self.query.keys)
            else [()] * int(self._run("SELECT count(*) FROM __groups").fetchall()[0][0])
        )

    def _project(self, worlds: int, rows: int) -> Floats:
        values = ", ".join(f"{self._value(i, a)} AS a{i}" for i, a in enumerate(self.aggregates))
        listed = ", ".join(
            as_number(f"({self._rewritten(self.tree.selects[m.place].unalias())})", m.kind, "")
            + f" AS m{j}"
            for j, m in enumerate(self.query.measures)
        )
        having = self.tree.args.get("having")
        kept = f"WHERE {self._rewritten(having.this)}" if having else ""
        there = "WHERE s.n > 0" if self.keys else ""
        found = self._run(
            f"SELECT w, g, {listed} FROM (SELECT s.w, g.*, {values} FROM __sums AS s "
            f"JOIN __groups AS g USING (g) {there}) {kept}"
        ).fetchnumpy()
        self.connection.unregister("__sums")
        out = np.full((worlds, rows, len(self.query.measures)), np.nan)
        for j in range(out.shape[2]):
            out[found["w"], found["g"], j] = _filled(found[f"m{j}"], np.nan)
        return out


def _filled(values: Any, empty: float) -> Floats:
    """Return a column of DuckDB as floats, NULL as `empty`."""
    return np.ma.filled(np.ma.asarray(values, dtype=np.float64), empty)
