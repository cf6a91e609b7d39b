"""All worlds from one query: sums by (group, byte of membership), put together to answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from sqlglot import exp

from rpac._base.checks import refuse
from rpac._base.types import Floats, Ints
from rpac.errors import MechanismError
from rpac.sql.added import AddedRows
from rpac.sql.domain import Groups
from rpac.sql.engine import show
from rpac.sql.measures import as_number, bounded, whole_type
from rpac.sql.question import Question
from rpac.sql.syntax import Node, group_keys, own_aggregates, snippet
from rpac.sql.tables import run

_MOST_ROWS = 1 << 20
"""Worlds times groups whose answers are put together at a time."""
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


class OnePass:
    """The answers of one question on all worlds, from one aggregation in the engine.

    Attributes:
        groups: The rows of the answer.
        rows: What it adds up, row by row.
    """

    def __init__(self, question: Question) -> None:
        self.question, self.tables = question, question.tables
        self.aggregates = list({n.sql(): n for n in own_aggregates(question.tree)}.values())
        self.keys = group_keys(question.tree)
        self.groups = Groups(question)
        self.rows = AddedRows(question, self.aggregates)
        if self.tables.engine is not None:
            self._refuse_inner_queries()

    def _refuse_inner_queries(self) -> None:
        """Refuse what is computed from sums by looking at tables again: they are elsewhere.

        So is what makes several rows of one, which engines do not agree on.
        """
        tree = self.question.tree
        several = tree.find(exp.GenerateSeries, exp.Unnest, exp.Explode)
        if several is not None:
            got, move = repr(snippet(several)), "Count or sum rows as they are."
            raise refuse("functions of one row that are one entry, elsewhere", got, move)
        nodes = [tree.selects[m.place] for m in self.question.measures]
        nodes += [tree.args["having"]] if tree.args.get("having") else []
        found = [node for node in nodes if node.find(exp.Query)]
        if found:
            got, move = repr(snippet(found[0])), "Ask for it in a query of its own."
            raise refuse("columns without sub-queries, elsewhere", got, move)

    def study(self) -> tuple[list[tuple[Any, ...]], Floats]:
        """Return the keys of the rows, and the answers of all worlds and, last, of the pool.

        These are (worlds + 1, rows, measures) numbers; NaN for NULL.
        """
        return self.groups.rows, self._values(range(len(self._sums)))

    def answers(self, worlds: Ints) -> Floats:
        """Return the (k, rows, measures) numbers of these worlds; NaN for NULL."""
        return self._values([int(world) for world in worlds])

    @cached_property
    def _sums(self) -> Floats:
        """(worlds + 1, groups, parts) what the engine added up; the pool's last."""
        size = len(self.groups.rows)
        found = self.rows.summed(self.groups, size)
        pair = found[:: len(found) // 2][:2]  # a world, and all that is not in it
        least = np.array([part.again == "min" for part in self.rows.parts])
        with np.errstate(all="ignore"):
            whole = np.where(least, np.fmin(*pair), np.nan_to_num(pair).sum(axis=0))
        found = np.concatenate([found, whole[None]])
        return np.where(least, found, np.nan_to_num(found))

    def _values(self, worlds: Sequence[int]) -> Floats:
        """Put every aggregate together for every world and group, and compute the measures."""
        size = max(1, _MOST_ROWS // len(self.groups.rows))
        parts = [worlds[a : a + size] for a in range(0, len(worlds), size)]
        return np.concatenate([self._measured(self._table(part), len(part)) for part in parts])

    def _table(self, worlds: Sequence[int]) -> dict[str, Any]:
        size, sums = len(self.groups.rows), self._sums[list(worlds)]
        table: dict[str, Any] = {"w": np.repeat(np.arange(len(worlds)), size)}
        table["g"] = np.tile(np.arange(size), len(worlds))
        for name, place, sign in self.rows.columns:
            table[name] = sign * sums[:, :, place].ravel()
        return table

    def _measured(self, table: dict[str, Any], m: int) -> Floats:
        """Compute the measures of m worlds; a world on which one fails has none."""
        size = len(self.groups.rows)
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
        tree, kinds = self.question.tree, self.rows.kinds
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
