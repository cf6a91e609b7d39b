"""The one SELECT in a text: its tables known, its columns named in full, its order taken off."""

from __future__ import annotations

import re
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify

from rpac._base.checks import refuse
from rpac.sql.engine import without_fields
from rpac.sql.syntax import Node, snippet
from rpac.sql.tables import Tables

_WORD = re.compile(r"[A-Za-z_]+")


def parsed(tables: Tables, sql: str) -> Node:
    """Return the one SELECT in a text, every column with its table."""
    try:
        tree = _uncommented(_one_select(sql))
        _refuse_other_tables(tree, tables)
        _refuse_names_from_rows(tree)
        _refuse_hidden_names(tree)
        tree = _spelled_out(qualify(tree, schema=_schema(tables), dialect="duckdb"))
        _refuse_twins(tree)
        return as_written(tree, tables)
    except (SqlglotError, RecursionError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200].rstrip(".")
        move = "Check its syntax and names."
        if "could not be resolved" in reason:
            known = [f"{t}.{c}" for t, inside in tables.columns.items() for c in inside]
            move = f"Check the spelling. Columns: {', '.join(known)}."
        raise refuse("a SELECT that parses", reason, move) from None


def _one_select(sql: str) -> Node:
    """Return the only statement of a text, out of its parentheses."""
    statements: list[Any] = sqlglot.parse(sql, dialect="duckdb")
    if len(statements) != 1:
        raise refuse("one SELECT", f"{len(statements)} statements", "Ask one question.")
    tree = statements[0]
    while isinstance(tree, exp.Subquery) and tree.is_wrapper:
        tree = tree.this
    if not isinstance(tree, exp.Select | exp.SetOperation):
        got = "nothing" if tree is None else repr(snippet(tree))
        raise refuse("one SELECT", got, "Ask one question.")
    return tree


def _uncommented(tree: Node) -> Node:
    """Return a query without comments and hints: the parser takes orders from both.

    `/* sqlglot.meta case_sensitive */` keeps a name from being lower-cased, for one.
    """
    for node in tree.walk():
        node.comments = None
        node._meta = None
        node.args.pop("hint", None)
    return tree


def _schema(tables: Tables) -> dict[str, object]:
    """Return the columns by table; a type without its fields, which entries may have named."""
    return {
        table: {name: without_fields(kind) for name, kind in inside.items()}
        for table, inside in tables.columns.items()
    }


def _refuse_other_tables(tree: Node, tables: Tables) -> None:
    """Let a query name tables of the database only: each of them is filtered by world."""
    known = {name.lower() for name in tables.columns}
    made = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    if known & made:  # what a name means would depend on where it stands
        got = repr(sorted(known & made)[0])
        raise refuse("names in WITH that no table has", got, "Choose another name.")
    known |= made
    for table in tree.find_all(exp.Table):
        plain = isinstance(table.this, exp.Identifier) and not table.db and not table.catalog
        if not plain or table.name.lower() not in known:
            raise refuse(
                f"tables among {sorted(tables.columns)}, without a schema",
                table.sql("duckdb")[:80],
                "Name one of them: functions and other schemas are not read.",
            )


def _refuse_names_from_rows(tree: Node) -> None:
    """Let the text alone name the columns: a PIVOT makes names of entries, COLUMNS of names."""
    found = tree.find(exp.Pivot, exp.Columns)
    if found is not None:
        got, move = repr(snippet(found)), "Write one aggregate for each column, with FILTER."
        raise refuse("columns that the query names itself", got, move)


def _refuse_hidden_names(tree: Node) -> None:
    """Keep names that begin with __ for the library: whose row it is has such a name."""
    for name in tree.find_all(exp.Identifier):
        if name.name.startswith("__"):
            raise refuse("names that do not begin with __", repr(name.name), "Rename it with AS.")


def _refuse_twins(tree: Node) -> None:
    """Let every name of an inner SELECT be one column: two would be looked at, and one be run."""
    for select in tree.find_all(exp.Select):
        names = [item.alias_or_name.lower() for item in select.selects]
        twice = [name for name in names if names.count(name) > 1]
        if twice and select is not tree:
            raise refuse("unique names in a sub-query", repr(twice[0]), "Rename one with AS.")


def _refuse_loose_names(tree: Node, tables: Tables) -> None:
    """Demand that every table is, letter by letter, one of the database or one in WITH in reach.

    A name that is neither is nobody's to the analysis, and DuckDB might still find rows for it.
    """
    for table in tree.find_all(exp.Table):
        if table.name not in tables.columns and not _in_reach(table):
            move = "Write its name as the database has it."
            raise refuse(f"tables among {sorted(tables.columns)}", repr(table.name), move)


def _in_reach(table: Node) -> bool:
    """Whether a query around a table names it in its WITH."""
    at = table.parent
    while at is not None:
        made = at.args.get("with_") or at.args.get("with")
        if made is not None and table.name in {cte.alias for cte in made.expressions}:
            return True
        at = at.parent
    return False


def as_written(tree: Node, tables: Tables) -> Node:
    """Return a query as its own text reads: what is looked at is what is run.

    The parser writes some parts otherwise than it read them: a string as a bare word, say, which
    is then code. So all that is asked of a query is asked of the text that it writes.
    """
    _refuse_odd_words(tree)
    text = tree.sql("duckdb")
    found = _one_select(text)
    _refuse_odd_words(found)
    _refuse_other_tables(found, tables)
    _refuse_loose_names(found, tables)
    _refuse_names_from_rows(found)
    if found.sql("duckdb") != text or len(found.selects) != len(tree.selects):
        got, move = "one that does not", "Write it with plainer functions."
        raise refuse("a query that reads the same when it is written out", got, move)
    return found


def _refuse_odd_words(tree: Node) -> None:
    """Refuse what is written without quotes, and is no word: it would be code."""
    for word in tree.find_all(exp.Var):
        if not _WORD.fullmatch(word.name):
            got, move = repr(snippet(word)), "Write a plain word, or leave that argument out."
            raise refuse("plain words where units and options stand", got, move)


def _spelled_out(tree: Node) -> Node:
    """Return the query with every GROUP BY ALL written as the columns it means."""
    for select in tree.find_all(exp.Select):
        group = select.args.get("group")
        if group is not None and group.args.get("all"):
            plain = [item.unalias() for item in select.selects if not item.find(exp.AggFunc)]
            select.set("group", exp.Group(expressions=[node.copy() for node in plain]))
    return tree


def take_order(tree: Node) -> tuple[list[tuple[int, bool]], int | None]:
    """Take ORDER BY and LIMIT off a query; they are applied to the released rows.

    Returns:
        The columns to order by, each with whether it falls, and the limit.

    Raises:
        InputError: If a term is no column of the answer: nothing of it is released.
    """
    if tree.args.get("offset") is not None:
        got = snippet(tree.args["offset"])
        raise refuse("no OFFSET in the outermost SELECT", got, "Drop it.")
    order, limit = tree.args.pop("order", None), tree.args.pop("limit", None)
    names = {item.alias_or_name: i for i, item in enumerate(tree.selects)}
    places = []
    for term in order.expressions if order else []:
        same = [i for i, item in enumerate(tree.selects) if item.unalias() == term.this]
        named = names.get(term.this.name) if isinstance(term.this, exp.Column) else None
        place = same[0] if same else named
        if place is None:
            got = repr(snippet(term.this))
            raise refuse(
                "columns of the answer in ORDER BY", got, "Select it too, or leave it out."
            )
        places.append((place, bool(term.args.get("desc"))))
    return places, None if limit is None else _limit(limit)


def _limit(limit: Node) -> int:
    options = limit.args.get("limit_options")
    whole = options is None or not options.args.get("percent")
    if not (whole and isinstance(limit.expression, exp.Literal) and limit.expression.is_int):
        raise refuse("a plain number in LIMIT", repr(snippet(limit)), "Write the number.")
    return int(limit.expression.name)
