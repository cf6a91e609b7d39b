"""What a query adds up, row by row: one number a row and argument, and whose row it is.

Whole and decimal numbers are added as they are. Floats are put on a grid first, a power of two so
fine that a group's sum keeps all digits of a float, and added as integers: the sum of a world is
the same in whatever order it is added, on however many machines.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from sqlglot import exp

from rpac._base.checks import refuse
from rpac._base.types import Floats, Ints
from rpac.errors import MechanismError
from rpac.sql.domain import Groups
from rpac.sql.engine import show
from rpac.sql.measures import LARGEST, as_number, is_time, whole_type
from rpac.sql.owners import RAW, owned
from rpac.sql.question import Question
from rpac.sql.slices import Part, by_bit, by_byte, unfolded
from rpac.sql.syntax import Node, group_keys, snippet
from rpac.sql.tables import UNIT, described, put_in_schema, run

_BITS = 60
"""Bits of a group's largest number, on its grid; its sum may have as many more as it likes."""
_LEAST = -900
"""Exponent below which a grid would leave the numbers of float64."""


def owned_tree(question: Question, *, bare: bool = False) -> tuple[Node, Node]:
    """Return the query over tables that carry owners, without HAVING, and the owner's column.

    With `bare` only those tables carry them that an owner is read from.
    """
    analysis = question.analysis
    tree = question.tree.copy()
    twins = dict(zip((id(node) for node in question.tree.walk()), tree.walk(), strict=True))
    put_in_schema(tree, question.tables, "pool")
    if bare:
        _bare(question, tree, twins)
    for scope in analysis.root.traverse():
        facts = analysis.of(scope)
        if facts.local and scope is not analysis.root and not scope.is_subquery:
            twin = twins[id(scope.expression)]
            owner = exp.column(UNIT, facts.owner, quoted=True)
            twin.select(exp.alias_(owner.copy(), UNIT, quoted=True), copy=False)
            if twin.args.get("group"):
                twin.group_by(owner, copy=False)
    tree.set("having", None)
    return tree, exp.column(UNIT, analysis.facts.owner, quoted=True)


def _bare(question: Question, tree: Node, twins: dict[int, Node]) -> None:
    """Let tables that no owner is read from stand as they are: their owner need not be found."""
    analysis = question.analysis
    kept = set()
    for scope in analysis.root.traverse():
        source = scope.sources.get(analysis.of(scope).owner or "")
        if isinstance(source, exp.Table) and not scope.is_subquery:
            kept.add(id(twins[id(source)]))
    for table in tree.find_all(exp.Table):
        if table.db == "pool" and id(table) not in kept:
            table.set("db", exp.to_identifier(RAW))


class AddedRows:
    """The rows of a query, and what the aggregates over them need.

    Attributes:
        kinds: SQL type of every aggregate.
        parts: What is added up in every group and world.
        columns: For every aggregate i the names n, v{i} and c{i} (sum or extreme, and count), with
            the place of its part and the sign that it has there.
    """

    def __init__(self, question: Question, aggregates: list[Node]) -> None:
        self.question, self.tables = question, question.tables
        self.keys = [f"k{i}" for i in range(len(group_keys(question.tree)))]
        given = {node.this.sql(): node.this for node in aggregates if not _bare_count(node)}
        self._arguments = dict(enumerate(given.values()))
        self._rows = self._selected()
        places = {text: j for j, text in enumerate(given)}
        found = described(self.tables, self._rows.sql("duckdb"))
        self._types = {int(name[1:]): kind for name, kind in found if name.startswith("x")}
        self.parts: list[Part] = [Part("n", "count(*)")]
        self.columns: list[tuple[str, int, float]] = [("n", 0, 1.0)]
        for i, node in enumerate(aggregates):
            self._add(i, node, None if _bare_count(node) else places[node.this.sql()])
        whole = [f"{self._over(node, places)} AS v{i}" for i, node in enumerate(aggregates)]
        rows = self._rows.sql("duckdb")
        told = described(self.tables, f"SELECT {', '.join(whole)} FROM ({rows})")
        self.kinds = [kind for _, kind in told]

    def _selected(self) -> Node:
        """Return the rows that are added up: keys k0, ..., the owner k and arguments x0, ..."""
        tree, owner = owned_tree(self.question, bare=True)
        named = zip(self.keys, group_keys(tree), strict=True)
        parts = [exp.alias_(key.copy(), name) for name, key in named]
        parts.append(exp.alias_(owner.copy(), "k"))
        parts += [exp.alias_(node.copy(), f"x{j}") for j, node in self._arguments.items()]
        tree.set("expressions", parts)
        tree.set("group", None)
        return tree if self.tables.engine is None else self._inlined(tree)

    def _inlined(self, tree: Node) -> Node:
        """Return a query with every table that carries owners written out."""
        for table in list(tree.find_all(exp.Table)):
            if table.db == "pool":
                rows = owned(self.tables.unit, self.tables.private, table.name)
                table.replace(rows.subquery(table.alias or table.name))
        return tree

    def _over(self, node: Node, places: dict[str, int]) -> str:
        """Return an aggregate over the columns of rows."""
        return "count(*)" if _bare_count(node) else f"{node.key}(x{places[node.this.sql()]})"

    def _add(self, i: int, node: Node, j: int | None) -> None:
        """Note what an aggregate needs: its value, and how many entries it is of."""
        if j is None:
            self.columns += [(f"v{i}", 0, 1.0), (f"c{i}", 0, 1.0)]
            return
        counted = self._part(f"c{j}", f"count(y{j})")
        value = counted
        if isinstance(node, exp.Sum | exp.Avg):
            value = self._part(f"v{j}", f"sum({self._wide(j)})")
        elif isinstance(node, exp.Min):
            value = self._part(f"l{j}", f"min(e{j})")
        elif isinstance(node, exp.Max):
            value = self._part(f"h{j}", f"min(-e{j})")
        sign = -1.0 if isinstance(node, exp.Max) else 1.0
        self.columns += [(f"v{i}", value, sign), (f"c{i}", counted, 1.0)]

    def _part(self, name: str, sql: str) -> int:
        part = Part(name, sql)
        if part not in self.parts:
            self.parts.append(part)
        return self.parts.index(part)

    def _wide(self, j: int) -> str:
        """Return a number to add up, in a type whose sums do not overflow everywhere."""
        whole = whole_type(self._types[j]) or not self._exact(j)
        away = self.tables.engine is not None
        return f"CAST(y{j} AS DECIMAL(38, 0))" if away and whole else f"y{j}"

    def _exact(self, j: int) -> bool:
        return whole_type(self._types[j]) or self._types[j].startswith("DECIMAL")

    @cached_property
    def _summed(self) -> list[int]:
        """Arguments that are added up."""
        return [j for j in self._arguments if any(part.name == f"v{j}" for part in self.parts)]

    @cached_property
    def _floats(self) -> list[int]:
        """Arguments that are added up on a grid."""
        return [j for j in self._summed if not self._exact(j)]

    def _float(self, j: int) -> str:
        """Return an argument as a float in SQL; NULL for what no square could hold."""
        read = as_number(f"r.x{j}", self._types[j], snippet(self._arguments[j]))
        small = f"abs({read}) < {1 / LARGEST!r}"
        return f"CASE WHEN {small} THEN 0.0 WHEN abs({read}) <= {LARGEST!r} THEN {read} END"

    def _numbers(self, steps: dict[int, str]) -> list[str]:
        """Return the columns that parts need: y to add up or count, e for extremes.

        Args:
            steps: The grid of floats, in SQL, by argument.
        """
        found = []
        for j in self._arguments:
            if j in steps:
                y = f"CAST(round(({self._float(j)}) / {steps[j]}) AS BIGINT)"
            elif j in self._summed:
                kind = "INTEGER" if self._types[j] == "BOOLEAN" else self._types[j]
                y = f"CAST(r.x{j} AS {kind})"
            else:
                y = f"CASE WHEN r.x{j} IS NOT NULL THEN 1 END"
            found.append(f"{y} AS y{j}")
            if any(part.name in (f"l{j}", f"h{j}") for part in self.parts):
                found.append(f"{self._float(j)} AS e{j}")
        return found

    def summed(self, groups: Groups, size: int) -> Floats:
        """Return the (worlds, groups, parts) sums, in one pass over the rows; NaN for NULL.

        Raises:
            MechanismError: If it fails, or times are averaged: a query a world serves these.
        """
        times = [self._arguments[j] for j in self._summed if is_time(self._types[j])]
        if times:
            move = "Sum or average numbers."
            raise refuse("numbers to add up", repr(snippet(times[0])), move, MechanismError)
        if self.tables.engine is not None:
            return self._summed_elsewhere(groups, size)
        rows, people = self._rows.sql("duckdb"), self.tables.people
        met = " AND ".join(f"r.{key} IS NOT DISTINCT FROM g.{key}" for key in self.keys) or "true"
        scales = self._group_scales(f"{groups.table} AS g ON {met}", size)
        steps = {j: f"g.s{j}" for j in self._floats}
        grid = {f"s{j}": scales[:, n] for n, j in enumerate(self._floats)}
        show(self.tables.connection, "__steps", {"g": np.arange(size)} | grid)
        group = f"CAST(g.g AS {_small(size)}) AS g"
        numbers = ", ".join([group, *people.words, *self._numbers(steps)])
        try:
            run(self.tables, "SET perfect_ht_threshold = 24")
            listed = f"SELECT * FROM {groups.table} JOIN __steps USING (g)"  # few: joined at once
            run(self.tables, f"CREATE OR REPLACE TEMP TABLE __grid AS {listed}")
            run(
                self.tables,
                f"CREATE OR REPLACE TEMP TABLE __rows AS SELECT {numbers} FROM ({rows}) AS r "
                f"JOIN __grid AS g ON {met} JOIN pool.__units AS u ON r.k = u.k",
            )
            parts = self._simplest()
            cells = by_byte("__rows", ["g"], parts, people.pairs)
            found = run(self.tables, by_bit(cells, ["g"], parts, "DOUBLE"), "fetchnumpy")
            run(self.tables, "DROP TABLE __rows")
        finally:
            run(self.tables, "RESET perfect_ht_threshold")
            self.tables.connection.unregister("__steps")
        columns = [np.ma.filled(np.ma.asarray(found[f"x{i}"], np.float64), np.nan)
                   for i in range(16 * len(self.parts))]  # fmt: skip
        shape = (people.worlds, size, len(self.parts))
        sums = unfolded(found["g"], found["i"], np.stack(columns, axis=1), shape)
        return self._unscaled(sums, scales)

    def _simplest(self) -> list[Part]:
        """Return the parts, counts of what is never missing as counts of rows: one for all."""
        listed = ", ".join(["count(*)", *(f"count(y{j})" for j in self._arguments)])
        ((rows, *there),) = run(self.tables, f"SELECT {listed} FROM __rows")
        whole = {f"c{j}" for j, n in zip(self._arguments, there, strict=True) if n == rows}
        return [Part(p.name, "count(*)") if p.name in whole else p for p in self.parts]

    def _group_scales(self, groups: str, size: int) -> Floats:
        """Return (groups, floats) steps: powers of two that hold a group's largest in `_BITS`."""
        most = np.zeros((size, len(self._floats)))
        if self._floats:
            largest = [f"max(abs({self._float(j)})) AS t{j}" for j in self._floats]
            by = f" GROUP BY {', '.join(self.keys)}" if self.keys else ""
            rows = (
                f"SELECT {', '.join([*self.keys, *largest])} FROM ({self._rows.sql('duckdb')}) AS r"
            )
            listed = ", ".join(["g.g AS g", *(f"r.t{j}" for j in self._floats)])
            found = run(
                self.tables, f"SELECT {listed} FROM ({rows}{by}) AS r JOIN {groups}", "fetchnumpy"
            )
            for n, j in enumerate(self._floats):
                most[found["g"], n] = np.ma.filled(np.ma.asarray(found[f"t{j}"], np.float64), 0.0)
        return _steps(most)

    def _unscaled(self, sums: Floats, scales: Floats) -> Floats:
        """Return sums in their own units; `scales` (groups or 1, floats)."""
        for n, j in enumerate(self._floats):
            at = next(i for i, part in enumerate(self.parts) if part.name == f"v{j}")
            sums[:, :, at] *= scales[:, n]
        return sums

    def _summed_elsewhere(self, groups: Groups, size: int) -> Floats:
        """Return the sums that a database elsewhere worked out; groups are matched here."""
        engine, people = self.tables.engine, self.tables.people
        assert engine is not None
        rows = self._rows.sql("duckdb")
        most = np.zeros((1, len(self._floats)))
        if self._floats:
            listed = ", ".join(f"max(abs({self._float(j)}))" for j in self._floats)
            told = engine.fetch(engine.placed(f"SELECT {listed} FROM ({rows}) AS r", self._places))
            most = np.array([[0.0 if x is None else float(x) for x in told[0]]])
        scales = _steps(most)
        steps = {j: repr(float(scales[0, n])) for n, j in enumerate(self._floats)}
        shown = ", ".join([*(f"r.{key}" for key in self.keys), "r.k", *self._numbers(steps)])
        asked = f"SELECT {shown} FROM ({rows}) AS r"
        who = (people.pairs, people.salts)
        found = engine.sums(asked, self.keys, self.parts, who, self._places)
        known, k = groups.places, len(self.keys)
        kept = [(known[row[:k]], row[k], row[k + 1 :]) for row in found if row[:k] in known]
        numbers = np.array([row for *_, row in kept], np.float64).reshape(-1, 16 * len(self.parts))
        at: Ints = np.array([pair[:2] for pair in kept], np.int64).reshape(-1, 2)
        shape = (people.worlds, size, len(self.parts))
        return self._unscaled(unfolded(at[:, 0], at[:, 1], numbers, shape), scales)

    @property
    def _places(self) -> dict[str, str]:
        return self.tables.places


def _steps(most: Floats) -> Floats:
    return np.asarray(np.ldexp(1.0, np.maximum(np.frexp(most)[1], _LEAST) - _BITS))


def _small(size: int) -> str:
    """Return the smallest type that numbers so many groups: sums by few bits are faster."""
    return "USMALLINT" if size < 1 << 16 else "UINTEGER"


def _bare_count(node: Node) -> bool:
    return node.this is None or isinstance(node.this, exp.Star)
