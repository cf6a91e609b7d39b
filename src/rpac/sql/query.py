"""A question in SQL as a mechanism: its answer on every world, and the form it is released in."""

from __future__ import annotations

import itertools
import re
from typing import Any, final

import numpy as np
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import build_scope

from rpac._base.checks import refuse
from rpac._base.types import Floats
from rpac.sql.analysis import Analysis, group_keys
from rpac.sql.database import Database
from rpac.sql.one_pass import OnePass, serves
from rpac.sql.table import Measure, Table, as_number, whole_type
from rpac.worlds.flatten import Form
from rpac.worlds.source import Source

OTHER = "other"


@final
class Query:
    """One SELECT over the tables of a database; made by `Database.query`.

    Sums and counts are scaled to all units by the public inclusion rate. What is NULL in a world
    counts 0 there, so that a missing group does not show, and noise covers whoever makes it up.

    Attributes:
        one_pass: Whether one aggregation a (group, unit) serves all worlds; else a query a world.
        measures: The numbers it returns a row; all other columns are public keys.
        lost_keys: Names in the database's `keys` that are neither a column nor in this query.
        full: (rows, measures) answers on the whole table, after `announce`. Sealed: never print it.
    """

    takes_stack = True

    def __init__(self, database: Database, sql: str) -> None:
        self.database, self.sql = database, sql
        tree = _parsed(database, sql)
        self.order, self.limit = _ordering(tree)
        self.labels, types = self._described()
        root = build_scope(tree)
        assert root is not None
        analysis = Analysis(database, root)
        self._refuse_rows(analysis)
        self.declared = self._declare(tree)
        self.keys, self.measures = self._columns(analysis, tree, types)
        self.one_pass = serves(analysis, tree)
        self._tree, self._analysis = tree, analysis
        self.full: Floats = np.zeros((0, 0))
        self._answers: Any = np.zeros((0, 0))

    def announce(self, source: Source) -> Form:
        """Answer the question on every world, and return the form of the answers."""
        if source is not self.database.source:
            raise refuse("the source of the query's own database", repr(source), "Use db.source.")
        members = np.concatenate([source.masks, np.ones((1, len(self.database.units)), bool)])
        if self.one_pass:
            rows, values = OnePass(self).answers(members)
        else:
            rows, values = self._world_by_world(members)
        if not rows:
            raise refuse("at least one row in the answer", "none", "Ask for groups that occur.")
        return self._keep(rows, values)

    def __call__(self, worlds: Any) -> Any:
        """Return the answers on these worlds, (k, d), by their numbers."""
        return self._answers[worlds]

    def _keep(self, rows: list[tuple[Any, ...]], values: Floats) -> Form:
        """Store (m, d) answers in public units; return how to show them. (m + 1, rows, k) in."""
        degrees = np.array([measure.degree for measure in self.measures])
        empty = np.isnan(values).all(axis=0) & (degrees == 0)
        filled = np.where(np.isnan(values), 0.0, values)  # a public number: never one of the pool
        spread = np.sqrt(np.square(filled - filled.mean(axis=0)).mean(axis=(0, 1)))
        spread = np.where(spread > 1e-9 * np.abs(filled).max(axis=(0, 1)), spread, 0.0)
        whole = all(measure.counts for measure in self.measures)
        units = np.exp2(np.rint(np.log2(np.where(spread > 0, spread, 1.0))))
        units = np.ones_like(units) if whole else units
        self.full = filled[-1]
        answers = (filled[:-1] / units).reshape(len(filled) - 1, -1)
        self._answers = np.rint(answers).astype(np.int64) if whole else answers
        scale = np.tile(units * 2.0**degrees, len(rows))
        table = Table(self, rows, empty)
        return Form(
            "table",
            (tuple(self.labels), tuple(rows)),
            whole=whole,
            rebuild=lambda v: table.build(v * scale),
            scale=scale,
            labels=table.names,
            settle=lambda v: table.ordered(v * scale, scale),
        )

    def _described(self) -> tuple[list[str], list[str]]:
        rows = _run(self.database, f"DESCRIBE {self.sql.strip().rstrip(';')}").fetchall()
        return [row[0] for row in rows], [row[1] for row in rows]

    def _refuse_rows(self, analysis: Analysis) -> None:
        if not analysis.facts.private:
            raise refuse(
                "a query that reads a private table",
                "public tables only",
                "Just run it: no secret.",
            )
        if analysis.facts.owned:
            raise refuse(
                "a query that aggregates over units",
                "rows of single units",
                "Count, sum or average them, by groups that are not the unit's.",
            )

    def _declare(self, tree: Any) -> dict[int, list[Any]]:
        """Rewrite declared groups to their entries or "other"; return the entries by column."""
        found: dict[int, list[Any]] = {}
        self.lost_keys: list[str] = []
        if not isinstance(tree, exp.Select):
            return found
        groups = group_keys(tree)
        named = {name for t, inside in self.database.columns.items() for c in inside
                 for name in (c, f"{t}.{c}")}  # fmt: skip
        for i, item in enumerate(tree.selects):
            node = item.unalias()
            names = {self.labels[i].lower(), node.name.lower(), node.sql().replace('"', "").lower()}
            name = next((key for key in self.database.keys if key.lower() in names), None)
            named |= names
            if name is None or node not in groups:
                continue
            entries = list(self.database.keys[name])
            text = all(isinstance(entry, str) for entry in entries)
            rest = exp.Literal.string(OTHER) if text else exp.null()
            case = exp.Case().when(node.copy().isin(*entries), node.copy()).else_(rest)
            for place in [p for p in groups if p == node]:
                place.replace(case.copy())
            node.replace(case)
            found[i] = [*entries, OTHER if text else None]
        self.lost_keys = [key for key in self.database.keys if key.lower() not in named]
        return found

    def _columns(
        self, analysis: Analysis, tree: Any, types: list[str]
    ) -> tuple[list[int], list[Measure]]:
        keys: list[int] = []
        measures: list[Measure] = []
        nodes = tree.selects
        for i, (facts, kind) in enumerate(zip(analysis.facts.columns.values(), types, strict=True)):
            if i in self.declared or facts.role == "public":
                keys.append(i)
            elif facts.role == "private":
                move = "Say which groups there are (keys), or that their names are public (public)."
                if self.lost_keys:
                    move += f" No column is named {self.lost_keys[0]!r}, as in `keys`."
                raise refuse(
                    f"groups in {self.labels[i]!r} that are public or declared",
                    "a private column",
                    move,
                )
            else:
                as_number("x", kind, self.labels[i])
                counted = whole_type(kind) and (
                    len(nodes) - len(keys) == 1 or isinstance(nodes[i].unalias(), exp.Count)
                )
                measures.append(Measure(i, kind, facts.degree, counts=counted))
        if not measures:
            raise refuse("at least one number to privatize", "public columns only", "Ask for one.")
        return keys, measures

    def _world_by_world(self, members: Any) -> tuple[list[tuple[Any, ...]], Floats]:
        """Run the query once a world; the last one is the whole table."""
        from rpac._base.progress import progress

        names = [exp.to_identifier(f"__c{i}", quoted=True) for i in range(len(self.labels))]
        inner = self._tree.copy()
        for item, name in zip(inner.selects, names, strict=True):
            item.replace(exp.alias_(item.unalias().copy(), name))
        listed = [f'"__c{i}"' for i in self.keys]
        listed += [as_number(f'"__c{m.place}"', m.kind, "") for m in self.measures]
        sql = f"SELECT {', '.join(listed)} FROM ({inner.sql('duckdb')})"
        found: list[dict[tuple[Any, ...], list[Any]]] = []
        self.database.connection.execute("SET schema = 'world'")
        try:
            for row in progress(members[::-1], len(members)):
                self.database.enter(np.flatnonzero(row))
                found.append(self._one_world(sql))
        finally:
            self.database.connection.execute("SET schema = 'main'")
        return self._aligned(found[::-1])

    def _one_world(self, sql: str) -> dict[tuple[Any, ...], list[Any]]:
        k = len(self.keys)
        answers: dict[tuple[Any, ...], list[Any]] = {}
        for row in _run(self.database, sql).fetchall():
            if row[:k] in answers:
                raise refuse(
                    "keys that tell the rows of an answer apart", "rows with equal keys",
                    "Select every column that the query groups by.",
                )  # fmt: skip
            answers[row[:k]] = [np.nan if v is None else v for v in row[k:]]
        return answers

    def _aligned(self, found: list[Any]) -> tuple[list[tuple[Any, ...]], Floats]:
        seen = dict.fromkeys(key for answers in reversed(found) for key in answers)
        rows = self._product(list(seen))
        blank = [np.nan] * len(self.measures)
        table = [[answers.get(key, blank) for key in rows] for answers in found]
        return rows, np.array(table, np.float64).reshape(len(found), len(rows), len(blank))

    def _product(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Return rows for every declared group, whether it occurs or not."""
        if not self.declared:
            return rows
        free = [j for j, i in enumerate(self.keys) if i not in self.declared]
        others = dict.fromkeys(tuple(row[j] for j in free) for row in rows) or {(): None}
        sets = [self.declared[i] for i in self.keys if i in self.declared]
        made = []
        for other, chosen in itertools.product(others, itertools.product(*sets)):
            parts, picks = iter(other), iter(chosen)
            made.append(tuple(next(picks if i in self.declared else parts) for i in self.keys))
        return made

    def __repr__(self) -> str:
        return self.sql


def _run(database: Database, sql: str) -> Any:
    """Run SQL; an error tells its kind, and names of the query, never an entry."""
    import duckdb

    try:
        return database.connection.execute(sql)
    except (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException) as error:
        reason = str(error).splitlines()[0][:200].rstrip(".")
        if "No function matches" in reason and "VARCHAR" in reason:
            words = set(re.findall(r"\w+", sql.lower()))
            kinds = [pair for inside in database.columns.values() for pair in inside.items()]
            text = ", ".join(repr(name) for name, kind in kinds
                             if kind == "VARCHAR" and name in words) or "text"  # fmt: skip
            reason, move = f"text in {text}", "Count it, group by it, or CAST it to a number."
            raise refuse("numbers where the query computes", reason, move) from None
        raise refuse("a query that DuckDB can run", reason, "Check names and types.") from None
    except duckdb.Error as error:
        kind = f"a {type(error).__name__}"
        raise refuse("a query that runs on every world", kind, "Guard casts with TRY.") from None


def _parsed(database: Database, sql: str) -> Any:
    """Return the one SELECT in a text, every column with its table."""
    try:
        statements = sqlglot.parse(sql, dialect="duckdb")
        if len(statements) != 1 or not isinstance(statements[0], exp.Query):
            raise refuse("one SELECT", f"{len(statements)} statement(s)", "Ask one question.")
        _refuse_other_tables(statements[0], database)
        schema: dict[str, object] = dict(database.columns)
        return _spelled_out(qualify(statements[0], schema=schema, dialect="duckdb"))
    except (SqlglotError, RecursionError) as error:
        reason = (str(error).splitlines() or [""])[0][:200].rstrip(".")
        move = "Check its syntax and names."
        if "could not be resolved" in reason:
            known = [f"{t}.{c}" for t, inside in database.columns.items() for c in inside]
            move = f"Columns: {', '.join(known[:24])}{' ...' if len(known) > 24 else ''}."
        raise refuse("a SELECT that parses", reason, move) from None


def _refuse_other_tables(tree: Any, database: Database) -> None:
    """Let a query name tables of the database only: each of them is filtered by world."""
    known = {name.lower() for name in database.columns}
    known |= {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        plain = isinstance(table.this, exp.Identifier) and not table.db and not table.catalog
        if not plain or table.name.lower() not in known:
            raise refuse(
                f"tables among {sorted(database.columns)}, without a schema",
                table.sql("duckdb")[:80],
                "Functions and other schemas would read past the drawn sample.",
            )


def _spelled_out(tree: Any) -> Any:
    """Return the query with every GROUP BY ALL written as the columns it means."""
    for select in tree.find_all(exp.Select):
        group = select.args.get("group")
        if group is not None and group.args.get("all"):
            plain = [item.unalias() for item in select.selects if not item.find(exp.AggFunc)]
            select.set("group", exp.Group(expressions=[node.copy() for node in plain]))
    return tree


def _ordering(tree: Any) -> tuple[list[tuple[int, bool]], int | None]:
    """Take ORDER BY and LIMIT off a query; they are applied to the released rows."""
    if tree.args.get("offset") is not None:
        raise refuse("no OFFSET in the outermost SELECT", "one", "Drop it.")
    order, limit = tree.args.pop("order", None), tree.args.pop("limit", None)
    names = {item.alias_or_name: i for i, item in enumerate(tree.selects)}
    places = []
    for term in order.expressions if order else []:
        same = [i for i, item in enumerate(tree.selects) if item.unalias() == term.this]
        place = names.get(term.this.name) if isinstance(term.this, exp.Column) else None
        place = same[0] if same else place
        if place is not None:
            places.append((place, bool(term.args.get("desc"))))
    if limit is None:
        return places, None
    if not isinstance(limit.expression, exp.Literal) or not limit.expression.is_int:
        raise refuse("a plain number in LIMIT", "an expression", "Write the number.")
    return places, int(limit.expression.name)
