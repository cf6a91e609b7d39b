"""The rows of a question over tables of declared types, as one relation where they are.

Every expression is written by `typed`, so that no row can make it fail; every private table is read
with its owner's id (`owners`); keys are compared with the public entries of groups, which are sent
along. Nothing is copied, and nobody's row leaves.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, build_scope

from rpac._base.checks import refuse
from rpac.person.entries import number as as_number
from rpac.person.entries import text
from rpac.sql.known import Known, column, day, number
from rpac.sql.owned import Owned
from rpac.sql.owners import RAW, UNIT, owned
from rpac.sql.syntax import Node
from rpac.sql.typed import Typed

LONGEST = 1 << 20
"""Characters of a query at most: guards repeat what they guard."""
Entry = tuple[tuple[Any, ...], int]
"""The keys of a group, and its number."""


def relation(tables: Owned, tree: Node, owner: Node, groups: Sequence[Entry]) -> str:
    """Return SQL for the rows: u, g, and the numbers a0, a1, ..., finite or NULL.

    Args:
        tables: Whose columns have types.
        tree: The query over tables of the schema `pool`, which carry owners; it is used up.
        owner: The column of the owner's id in it.
        groups: The keys k0, k1, ... of every group.
    """
    dialect = "duckdb" if tables.engine is None else tables.engine.dialect
    kinds = _write(tables, tree, dialect)
    tree.select(exp.alias_(owner, UNIT, quoted=True), copy=False)
    if tables.engine is None:
        rows = str(tree.sql("duckdb"))
    else:
        _put_there(tables, tree)
        rows = tables.engine.placed(tree, tables.places)
    numbers = [name for name in kinds if name.startswith("a")]
    keys = [kinds[f"k{j}"].kind for j in range(len(groups[0][0]) if groups else 0)]
    made = _grouped(rows, numbers, keys, (groups, dialect))
    if len(made) > LONGEST:
        got, move = f"{len(made)}", "Name fewer groups, or compute less in one question."
        raise refuse(f"at most {LONGEST} characters of SQL", got, move)
    return made


def _write(tables: Owned, tree: Node, dialect: str) -> dict[str, Known]:
    """Write all expressions of a query as they cannot fail; return the kinds of its columns."""
    root = build_scope(tree)
    assert root is not None
    found: dict[int, dict[str, Known]] = {}
    for scope in root.traverse():
        typed = Typed(_sources(tables, scope, found), dialect)
        found[id(scope.expression)] = _write_scope(typed, scope.expression, top=scope is root)
    return found[id(tree)]


def _sources(
    tables: Owned, scope: Scope, found: dict[int, dict[str, Known]]
) -> dict[tuple[str, str], Known]:
    columns: dict[tuple[str, str], Known] = {}
    for name, source in scope.sources.items():
        if isinstance(source, Scope):
            inner = found[id(source.expression)]
        else:
            inner = {c: column(kind) for c, kind in tables.columns[source.name].items()}
        columns |= {(name, c): known for c, known in {**inner, UNIT: Known("id", raw="id")}.items()}
    return columns


def _write_scope(typed: Typed, select: Node, *, top: bool) -> dict[str, Known]:
    """Write the expressions of one SELECT; return what is known of its columns."""
    kinds: dict[str, Known] = {}
    items = []
    for item in select.selects:
        name, node = item.alias_or_name, item.unalias()
        if name == UNIT or (isinstance(node, exp.Column) and not top):
            made, known = node, typed.columns[(node.table, node.name)]
        else:
            made, known = typed.read(node, "number" if top and name.startswith("a") else None)
        kinds[name] = known
        items.append(exp.alias_(made, name, quoted=True))
    select.set("expressions", items)
    where = select.args.get("where")
    holders = [(where, "this")] if where else []
    holders += [(join, "on") for join in select.args.get("joins") or [] if join.args.get("on")]
    for holder, name in holders:
        holder.set(name, typed.read(holder.args[name], "bool")[0])
    return kinds


def _put_there(tables: Owned, tree: Node) -> None:
    """Let tables with owners be what they are made of, in the schema `raw`."""
    for table in list(tree.find_all(exp.Table)):
        if table.db != "pool":
            continue
        if table.name in tables.private:
            made = owned(tables.unit, tables.private, table.name)
            table.replace(made.subquery(exp.to_identifier(table.alias_or_name, quoted=True)))
        else:
            table.set("db", exp.to_identifier(RAW))


def _grouped(
    rows: str, numbers: Sequence[str], keys: Sequence[str], into: tuple[Sequence[Entry], str]
) -> str:
    """Return the rows that are in a group, with its number.

    A key that may be NULL is compared as two: whether it is, and what it is otherwise.
    """
    groups, dialect = into
    plain = [f"r.{name} AS {name}" for name in numbers]
    shown = ", ".join([f"r.{UNIT} AS u", "{} AS g", *plain])
    if not keys:
        return f"SELECT {shown.format(0)} FROM ({rows}) AS r"
    lines = [_line(entries, keys, dialect) for entries, _ in groups]
    listed = [f"({line}, {g})" for line, (_, g) in zip(lines, groups, strict=True) if line]
    if not listed:
        return f"SELECT {shown.format(0)} FROM ({rows}) AS r WHERE 1 = 0"
    names, met = [], []
    for j, kind in enumerate(keys):
        other = _default(kind).sql(dialect)
        names += [f"n{j}", f"e{j}"]
        met.append(f"CASE WHEN r.k{j} IS NULL THEN 1 ELSE 0 END = g.n{j}")
        met.append(f"coalesce(r.k{j}, {other}) = g.e{j}")
    if dialect == "postgres":  # planned by themselves: nothing is known of how keys are spread
        rows = f"{rows} OFFSET 0"
    entries = f"(VALUES {', '.join(listed)}) AS g({', '.join(names)}, g)"
    return f"SELECT {shown.format('g.g')} FROM ({rows}) AS r JOIN {entries} ON {' AND '.join(met)}"


def _line(entries: Sequence[Any], keys: Sequence[str], dialect: str) -> str:
    """Return the keys of a group as SQL; nothing if one of them is none of its kind."""
    found = []
    for entry, kind in zip(entries, keys, strict=True):
        made = _default(kind) if entry is None else _entry(entry, kind)
        if made is None:
            return ""
        found += ["1" if entry is None else "0", made.sql(dialect)]
    return ", ".join(found)


def _default(kind: str) -> Node:
    """Return what a key is compared as where it is NULL."""
    if kind == "date":
        return day("2000-01-01", "TIMESTAMP")
    plain = {"number": number(0.0), "text": exp.Literal.string(""), "bool": exp.false()}
    return plain.get(kind, exp.null())


def _entry(entry: Any, kind: str) -> Node | None:
    """Return a public entry as the kind of its key."""
    if kind == "number":
        value = as_number(entry)
        return None if value != value else number(value)
    if kind == "bool":
        truth = {"true": exp.true(), "false": exp.false()}
        return truth.get(str(entry).strip().lower())
    if kind == "date":
        try:
            found = dt.datetime.fromisoformat(str(entry))
        except ValueError:
            return None
        return day(found.isoformat(" "), "TIMESTAMP")
    return exp.Literal.string(entry if isinstance(entry, str) else text(entry) or "")
