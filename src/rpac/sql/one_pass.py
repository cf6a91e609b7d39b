"""All worlds from one query: aggregate by (group, unit), then multiply by the world matrix."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sqlglot import exp

from rpac._base.types import Bools, Floats, Ints
from rpac.errors import MechanismError
from rpac.sql.domain import Groups
from rpac.sql.engine import show
from rpac.sql.measures import as_number, bounded, whole_type
from rpac.sql.question import Question
from rpac.sql.syntax import Node, group_keys, own_aggregates, snippet
from rpac.sql.tables import UNIT, put_in_schema, run
from rpac.sql.totals import extremes, on_grid, ranked, totals

PROBES = 64
"""Worlds that show how answers spread, before all are answered."""
_MOST_BITS = 1 << 25
"""Worlds times units whose membership is unpacked at a time."""
_ADDED = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
_ODD = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.Window, exp.GroupingSets, exp.Rollup,
        exp.Cube)  # fmt: skip


def serves(question: Question) -> bool:
    """Whether every aggregate is a COUNT, SUM, AVG, MIN or MAX over rows of one unit each.

    The rows that it reads must be local (`roles`), and every private table in it read by a scope
    that was looked at.
    """
    tree, analysis = question.tree, question.analysis
    if not isinstance(tree, exp.Select) or tree.find(*_ODD) or tree.args.get("distinct"):
        return False
    if analysis.facts.owner is None or not all_seen(question):
        return False
    found = own_aggregates(tree)
    return bool(found) and all(
        isinstance(node, _ADDED) and not node.find(exp.Distinct, exp.Order) for node in found
    )


def all_seen(question: Question) -> bool:
    """Whether the analysis saw every private table: one it missed would show all of its rows."""
    named = [t for t in question.tree.find_all(exp.Table) if t.name in question.tables.private]
    return {id(table) for table in named} <= {id(table) for table in _private_sources(question)}


def _private_sources(question: Question) -> list[Node]:
    """Return the private tables that scopes of the query read."""
    scopes = question.analysis.root.traverse()
    sources = [source for scope in scopes for source in scope.sources.values()]
    private = question.tables.private
    return [s for s in sources if isinstance(s, exp.Table) and s.name in private]


@dataclass(frozen=True)
class Cells:
    """What every unit adds to every group: a fact of the pool.

    Attributes:
        kinds: SQL type of every aggregate.
        size: Number of groups.
        groups: (n,) rising group of every cell.
        units: (n,) unit of every cell.
        summed: Names of what is added up: rows (n), entries (c0, c1, ...), values (v0, v1, ...).
        added: (n, len(summed)) what the unit adds to the group.
        least: (n,) values of each MIN and MAX, by aggregate; those of MAX with their sign changed.
        ranks: For these, the cells of every group by rising value.
    """

    kinds: list[str]
    size: int
    groups: Ints
    units: Ints
    summed: list[str]
    added: Floats
    least: dict[int, Floats]
    ranks: dict[int, list[Ints]]


class OnePass:
    """The answers of one question on any worlds, from one aggregation."""

    def __init__(self, question: Question) -> None:
        self.question, self.tables = question, question.tables
        self.aggregates = list({n.sql(): n for n in own_aggregates(question.tree)}.values())
        self.keys = group_keys(question.tree)
        self.groups = Groups(question)

    def study(self) -> tuple[list[tuple[Any, ...]], Floats]:
        """Return the keys of the rows, and answers that show how they spread.

        These are (k + 1, rows, measures) numbers, of the first worlds and, last, of the pool; NaN
        for NULL.
        """
        members = self.tables.source.members
        masks = members.rows(range(min(PROBES, len(members))))
        values = self._values(np.append(masks, np.ones_like(masks[:1]), axis=0))
        return self.groups.rows, values

    def answers(self, worlds: Ints) -> Floats:
        """Return the (k, rows, measures) numbers of these worlds; NaN for NULL."""
        members = self.tables.source.members
        size = max(1, _MOST_BITS // members.units)
        parts = [worlds[a : a + size] for a in range(0, len(worlds), size)]
        return np.concatenate([self._values(members.rows(part)) for part in parts])

    @cached_property
    def _cells(self) -> Cells:
        """Aggregate by (group, unit), and number the groups."""
        tree, owner = owned_tree(self.question)
        size = len(self.groups.rows)
        parts = [exp.alias_(key.copy(), f"k{i}") for i, key in enumerate(group_keys(tree))]
        parts.append(exp.alias_(owner.copy(), "u"))
        parts.append(exp.alias_(exp.Count(this=exp.Star()), "n"))
        for i, node in enumerate(self.aggregates):
            parts += _partials(i, node)
        tree.set("expressions", parts)
        tree.group_by(owner, copy=False)
        run(self.tables, f"CREATE OR REPLACE TEMP TABLE __cells AS {tree.sql('duckdb')}")
        types = {row[0]: row[1] for row in run(self.tables, "DESCRIBE __cells")}
        kinds = [types[f"v{i}"] for i in range(len(self.aggregates))]
        found = self._fetched(kinds)
        run(self.tables, "DROP TABLE __cells")
        return self._collected(kinds, found, size)

    def _fetched(self, kinds: list[str]) -> dict[str, Any]:
        """Return the cells as numbers, with that of their group, group by group."""
        same = [f"c.k{i} IS NOT DISTINCT FROM g.k{i}" for i in range(len(self.keys))]
        listed = ["g", "u", "CAST(n AS DOUBLE) AS n"]
        for i, node in enumerate(self.aggregates):
            sign = "-" if isinstance(node, exp.Max) else ""
            listed.append(f"{sign}{as_number(f'v{i}', kinds[i], snippet(node))} AS v{i}")
            listed.append(f"CAST(c{i} AS DOUBLE) AS c{i}")
        found: dict[str, Any] = run(
            self.tables,
            f"SELECT {', '.join(listed)} FROM __cells AS c "
            f"JOIN {self.groups.table} AS g ON {' AND '.join(same) or 'true'} ORDER BY g, u",
            "fetchnumpy",
        )
        return found

    def _collected(self, kinds: list[str], found: dict[str, Any], size: int) -> Cells:
        extreme = [i for i, node in enumerate(self.aggregates) if _is_extreme(node)]
        summed = ["n", *(f"c{i}" for i in range(len(kinds)))]
        summed += [f"v{i}" for i in range(len(kinds)) if i not in extreme]
        groups, units = (np.asarray(found[name], np.int64) for name in ("g", "u"))
        table = np.stack([np.nan_to_num(bounded(found[name])) for name in summed], axis=1)
        least = {i: bounded(found[f"v{i}"]) for i in extreme}
        ranks = {i: ranked(groups, values, size) for i, values in least.items()}
        added = on_grid(groups, table, size)
        return Cells(kinds, size, groups, units, summed, added, least, ranks)

    def _values(self, masks: Bools) -> Floats:
        """Put every aggregate together for every world and group, and compute the measures."""
        cells, m, members = self._cells, len(masks), np.ascontiguousarray(masks.T)
        found = totals(cells.groups, cells.units, cells.added, members, cells.size)
        table = {name: found[:, :, j].ravel() for j, name in enumerate(cells.summed)}
        table["w"] = np.repeat(np.arange(m), cells.size)
        table["g"] = np.tile(np.arange(cells.size), m)
        for i, values in cells.least.items():
            least = extremes(cells.ranks[i], cells.units, values, members).ravel()
            table[f"v{i}"] = -least if isinstance(self.aggregates[i], exp.Max) else least
        return self._measured(table, m)

    def _measured(self, table: dict[str, Any], m: int) -> Floats:
        """Compute the measures of m worlds; a world on which one fails has none."""
        size = self._cells.size
        out = np.full((m, size, len(self.question.measures)), np.nan)
        show(self.tables.connection, "__sums", table)
        try:
            measures = run(self.tables, self._projection, "fetchnumpy")
        except MechanismError:
            alone = [{k: v[w * size : (w + 1) * size] for k, v in table.items()} for w in range(m)]
            one = [{**part, "w": np.zeros(size, np.int64)} for part in alone]
            return np.concatenate([self._measured(part, 1) for part in one]) if m > 1 else out
        finally:
            self.tables.connection.unregister("__sums")
        for j in range(out.shape[2]):
            out[measures["w"], measures["g"], j] = bounded(measures[f"m{j}"])
        return out

    @cached_property
    def _projection(self) -> str:
        """The measures in SQL, over the table of sums and, where they name keys, of groups."""
        tree, kinds = self.question.tree, self._cells.kinds
        values = [f"{_value(i, node, kinds[i])} AS a{i}" for i, node in enumerate(self.aggregates)]
        nodes = [tree.selects[m.place].unalias() for m in self.question.measures]
        made = ", ".join(["w", "g", *(f"{self._over(n)} AS x{j}" for j, n in enumerate(nodes))])
        having = tree.args.get("having")
        kept = f" WHERE {self._over(having.this)}" if having else ""
        keyed = re.search(r"\bk\d", made + kept)
        inside = "__sums AS s" + (f" JOIN {self.groups.table} AS g USING (g)" if keyed else "")
        there = " WHERE s.n > 0" if self.keys else ""
        shown = ", ".join(["s.w", "g.*" if keyed else "s.g", *values])
        read = [as_number(f"x{j}", m.kind, "") for j, m in enumerate(self.question.measures)]
        listed = ", ".join(["w", "g", *(f"{text} AS m{j}" for j, text in enumerate(read))])
        rows = f"SELECT {made} FROM (SELECT {shown} FROM {inside}{there}){kept}"
        return f"SELECT {listed} FROM ({rows})"

    def _over(self, node: Node) -> str:
        """Return an output expression over the tables of sums and groups; NULL where it fails."""
        text = self.groups.over(node, {a.sql(): f"a{i}" for i, a in enumerate(self.aggregates)})
        return text if node.find(exp.Query) else f"TRY({text})"


def owned_tree(question: Question) -> tuple[Node, Node]:
    """Return the query over tables that carry owners, without HAVING, and the owner's column."""
    analysis = question.analysis
    tree = question.tree.copy()
    twins = dict(zip((id(node) for node in question.tree.walk()), tree.walk(), strict=True))
    put_in_schema(tree, question.tables, "pool")
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


def _partials(i: int, node: Node) -> list[Node]:
    """Return the columns from which an aggregate is put together: its value and its count."""
    bare = node.this is None or isinstance(node.this, exp.Star)
    counted = exp.Count(this=exp.Star() if bare else node.this.copy())
    value = exp.Sum(this=node.this.copy()) if isinstance(node, exp.Avg) else node.copy()
    return [exp.alias_(value, f"v{i}"), exp.alias_(counted, f"c{i}")]


def _value(i: int, node: Node, kind: str) -> str:
    """Return SQL for an aggregate from its parts, in its own type."""
    if isinstance(node, exp.Count):
        return f"CAST(s.v{i} AS BIGINT)"
    if isinstance(node, exp.Avg):
        return f"CASE WHEN s.c{i} > 0 THEN s.v{i} / s.c{i} END"
    value = f"round(s.v{i})" if whole_type(kind) else f"s.v{i}"
    if kind.startswith(("DATE", "TIMESTAMP")):
        value = f"make_timestamp(CAST(s.v{i} * 1e6 AS BIGINT))"
    return f"CASE WHEN s.c{i} > 0 THEN TRY(CAST({value} AS {kind})) END"


def _is_extreme(node: Node) -> bool:
    return isinstance(node, exp.Min | exp.Max)
