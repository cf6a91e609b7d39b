"""The rows that an answer has: a domain that is computed from public things alone.

Which groups *occur* is a fact of private rows: that somebody meets a condition, that two public
entries meet in somebody's row. So the rows of an answer are all that public things allow. Keys are
public expressions (rule 9 in `analysis`) over

    public tables, whole;
    columns declared public: their entries in the whole pool, each column apart;
    conditions (WHERE, inner joins) over such columns and constants alone, which cut them down;
    NULL, where an outer join, ROLLUP or CUBE may put one.

Every row that some world has is among them, by induction over scopes: `listed` returns a superset
of what its expressions are in any row of the scope. A row that a world lacks counts there like a
group without anybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import pyarrow as pa
from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from rpac._base.checks import refuse
from rpac._base.hashing import digest
from rpac.sql.analysis import Analysis
from rpac.sql.engine import quoted
from rpac.sql.joins import merge
from rpac.sql.question import Question
from rpac.sql.syntax import (
    Node,
    conjuncts,
    group_keys,
    has_sets,
    is_one_row,
    is_own,
    joined,
    outward,
)
from rpac.sql.tables import described, run

_ZONED = "WITH TIME ZONE"
LARGEST = 100_000
"""Rows that an answer may have."""
Items: TypeAlias = Sequence[tuple[str, Node]]
Atom: TypeAlias = tuple[str, str]
"""What is listed on its own: (source, ""), or one column of a private table."""


def listed(analysis: Analysis, scope: Scope, items: Items) -> str:
    """Return SQL for all that public expressions of a SELECT may be together, in any world.

    Args:
        analysis: What is known of scopes.
        scope: The SELECT.
        items: Expressions in it, each with its name.
    """
    one = is_one_row(scope.expression)
    inside = _Sources(analysis, scope)
    cuts = [] if one or inside.torn else _cuts(analysis, scope)
    atoms = {name: inside.atoms(node) for name, node in items}
    groups = merge([found for found in (*atoms.values(), *map(inside.atoms, cuts)) if found])
    parts = []
    constants = [(name, node) for name, node in items if not atoms[name]]
    if constants:
        parts.append(f"SELECT {_named(constants)}")
    for group in groups:
        mine = [(name, node) for name, node in items if atoms[name] and atoms[name] <= group]
        if mine:
            kept = [cut for cut in cuts if inside.atoms(cut) and inside.atoms(cut) <= group]
            rows = ", ".join(inside.relation(name, group) for name in _in_order(group))
            cut_down = " AND ".join(f"({cut.sql('duckdb')})" for cut in kept)
            met = f" WHERE {cut_down}" if kept else ""
            parts.append(f"SELECT DISTINCT {_named(mine)} FROM {rows}{met}")
    names = ", ".join(quoted(name) for name, _ in items)
    return f"SELECT {names} FROM {' CROSS JOIN '.join(f'({part})' for part in parts)}"


def _named(items: Items) -> str:
    return ", ".join(f"{node.sql('duckdb')} AS {quoted(name)}" for name, node in items)


def _in_order(group: set[Atom]) -> list[str]:
    return sorted({name for name, _ in group})


def _cuts(analysis: Analysis, scope: Scope) -> list[Node]:
    """Return the public conditions that every row of a SELECT meets."""
    where = scope.expression.args.get("where")
    roots = [where.this] if where else []
    if not _fills_up(scope.expression):
        joins = [join for _, join in joined(scope.expression) if join is not None]
        roots += [j.args["on"] for j in joins if j.args.get("on") and not j.side and _inner(j)]
    parts = [part for root in roots for part in conjuncts(root)]
    return [part for part in parts if analysis.role(scope, part) == "public"]


def _inner(join: Node) -> bool:
    return f"{join.kind} {join.method}".strip().upper() in {"", "INNER", "CROSS"}


def _fills_up(select: Node) -> bool:
    """Whether some join may put NULL into the sources before it."""
    joins = [join for _, join in joined(select) if join is not None]
    return any(join.side.upper() in {"RIGHT", "FULL"} or join.method for join in joins)


class _Sources:
    """The sources of a SELECT, as relations over public things.

    Attributes:
        torn: Whether columns are set to NULL one by one (ROLLUP, CUBE, GROUPING SETS), after all
            conditions were met.
    """

    def __init__(self, analysis: Analysis, scope: Scope) -> None:
        self.analysis, self.scope = analysis, scope
        self.torn = has_sets(scope.expression)
        self.needed: dict[Atom, set[str]] = {}
        hollow = self.torn or _fills_up(scope.expression)
        self.hollow = {name for name, join in joined(scope.expression)
                       if hollow or (join is not None and join.side)}  # fmt: skip

    def atoms(self, node: Node) -> set[Atom]:
        """Return what an expression is made of; what its sources must list is noted."""
        found = set()
        for column in node.find_all(exp.Column):
            if outward(column, node):
                atom = (column.table, column.name if self._apart(column.table) else "")
                self.needed.setdefault(atom, set()).add(column.name)
                found.add(atom)
        return found

    def _apart(self, name: str) -> bool:
        source: Node = self.scope.sources[name]
        private = self.analysis.tables.private
        return self.torn or (isinstance(source, exp.Table) and source.name in private)

    def relation(self, name: str, group: set[Atom]) -> str:
        """Return SQL for the part of a source that a group of atoms needs, under its own name."""
        atoms = sorted(atom for atom in group if atom[0] == name)
        parts = [f"({self._entries(name, sorted(self.needed[atom]))})" for atom in atoms]
        return f"(SELECT * FROM {' CROSS JOIN '.join(parts)}) AS {quoted(name)}"

    def _entries(self, name: str, columns: list[str]) -> str:
        """Return SQL for all that these columns of a source are together."""
        source = self.scope.sources[name]
        if isinstance(source, Scope):
            rows = _listed_scope(self.analysis, source, columns)
        else:
            shown = ", ".join(map(quoted, columns))
            rows = f"SELECT DISTINCT {shown} FROM {self.analysis.tables.home}.{quoted(source.name)}"
        if name not in self.hollow:
            return rows
        return f"{rows} UNION SELECT {', '.join(f'NULL AS {quoted(c)}' for c in columns)}"


def _listed_scope(analysis: Analysis, scope: Scope, columns: Sequence[str]) -> str:
    """Return SQL for all that columns of a scope are together, union by union."""
    names = [name for name, _ in analysis.of(scope).columns]
    return listed_places(analysis, scope, [names.index(c) for c in columns], columns)


def listed_places(
    analysis: Analysis, scope: Scope, places: Sequence[int], names: Sequence[str]
) -> str:
    """Return SQL for all that the columns in these places are together, of a SELECT or a union."""
    if isinstance(scope.expression, exp.Select):
        nodes = [scope.expression.selects[i].unalias() for i in places]
        return listed(analysis, scope, list(zip(names, nodes, strict=True)))
    parts = [listed_places(analysis, part, places, names) for part in scope.set_operation_scopes]
    return " UNION ".join(f"({part})" for part in parts)


class Groups:
    """The rows of one question's answer, numbered, in a table of their own.

    Attributes:
        keys: Expressions that tell rows apart: what it groups by, or else its public columns.
        table: Name of the table, with columns k0, k1, ... for the keys and g for the number.
    """

    def __init__(self, question: Question) -> None:
        self.question, tree = question, question.tree
        shown = [tree.selects[i].unalias() for i in question.keys]
        self.grouped = bool(group_keys(tree)) and not has_sets(tree)
        self.keys = group_keys(tree) if self.grouped else shown
        self.table = f"temp.__groups_{digest(question.sql)[:16]}"

    @cached_property
    def rows(self) -> list[tuple[Any, ...]]:
        """The public columns of every row, by number; the table is made on the way.

        Raises:
            InputError: If there are more than `LARGEST`, which public things alone decide.
        """
        tables, names = self.question.tables, [f"k{j}" for j in range(len(self.keys))]
        listed = ", ".join(names)
        number = f"row_number() OVER (ORDER BY {listed}) - 1" if names else "0"
        inside = (
            f" FROM (SELECT DISTINCT * FROM {self._every()} LIMIT {LARGEST + 1})" if names else ""
        )
        shown = ", ".join([*names, f"{number} AS g"])
        run(tables, f"CREATE OR REPLACE TEMP TABLE {self.table[5:]} AS SELECT {shown}{inside}")
        asked = ", ".join(["g", *map(self._shown, self.question.keys)])
        found = run(tables, f"SELECT {asked} FROM {self.table} ORDER BY g")
        if len(found) > LARGEST:
            raise refuse(
                f"an answer of at most {LARGEST} rows",
                f"more for the groups {[self.question.labels[i] for i in self.question.keys]}",
                "Name the groups that you want (keys), or group by less.",
            )
        return [row[1:] for row in found]

    def _shown(self, place: int) -> str:
        """Return a public column in SQL; as text if its type needs a zone that may not be known."""
        text = self.over(self.question.tree.selects[place].unalias())
        return f"CAST({text} AS VARCHAR)" if _ZONED in self.question.kinds[place] else text

    def over(self, node: Node, also: Mapping[str, str] | None = None) -> str:
        """Return an output expression in SQL over the table's columns.

        Args:
            node: The expression.
            also: Columns that stand for other parts of it, by their text.
        """
        top, other = node.copy(), also or {}
        names = {key.sql(): f"k{j}" for j, key in enumerate(self.keys)}

        def swap(part: Node) -> Node:
            text = part.sql()
            if text in other and is_own(part, top):
                return exp.column(other[text])
            return exp.column(names[text]) if text in names else part

        return str(top.transform(swap, copy=False).sql("duckdb"))

    def _every(self) -> str:
        """Return SQL for all combinations of free keys with declared ones."""
        question, declared = self.question, self._declared()
        free = [j for j in range(len(self.keys)) if j not in declared]
        parts = []
        if free:
            names, root = [f"k{j}" for j in free], question.analysis.root
            if isinstance(question.tree, exp.Select):
                items = [(f"k{j}", self.keys[j]) for j in free]
                rows = listed(question.analysis, root, items)
            else:
                places = [question.keys[j] for j in free]
                rows = listed_places(question.analysis, root, places, names)
            parts.append(f"({self._fetched(rows, names)})")
        for j, entries in declared.items():
            values = exp.Array(expressions=[exp.convert(e) for e in entries]).sql("duckdb")
            parts.append(f"(SELECT unnest({values}) AS k{j})")
        return " CROSS JOIN ".join(parts)

    def _fetched(self, rows: str, names: list[str]) -> str:
        """Return SQL for what a query lists; what is listed elsewhere is fetched first."""
        tables = self.question.tables
        if tables.engine is None:
            return rows
        kinds = described(tables, rows)
        cut = f"SELECT * FROM ({rows}) AS every LIMIT {LARGEST + 1}"
        found = tables.engine.fetch(tables.engine.placed(cut, tables.places))
        columns = zip(*found, strict=True) if found else [[] for _ in names]
        made = {name: pa.array(list(c)) for name, c in zip(names, columns, strict=True)}
        at = f"__listed_{self.table[14:]}"
        tables.connection.register("__listing", pa.table(made))
        shown = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in kinds)
        run(tables, f"CREATE OR REPLACE TEMP TABLE {at} AS SELECT {shown} FROM __listing")
        tables.connection.unregister("__listing")
        return f"SELECT * FROM {at}"

    @cached_property
    def places(self) -> dict[tuple[Any, ...], int]:
        """The number of every row of the answer, by its keys."""
        names = [f"k{j}" for j in range(len(self.keys))]
        found = run(self.question.tables, f"SELECT {', '.join([*names, 'g'])} FROM {self.table}")
        return {row[:-1]: row[-1] for row in found}

    def _declared(self) -> dict[int, list[Any]]:
        """Return declared entries by the place of their key."""
        tree, declared = self.question.tree, self.question.declared
        nodes = {i: tree.selects[i].unalias() for i in declared}
        return {
            j: declared[i]
            for j, key in enumerate(self.keys)
            for i, node in nodes.items()
            if key == node
        }
