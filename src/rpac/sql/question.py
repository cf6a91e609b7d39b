"""A question in SQL, read and found fit: its columns, what is public of them, what are numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, build_scope

from rpac._base.checks import refuse
from rpac.errors import InputError
from rpac.questions.aggregates import compiled
from rpac.questions.selected import written_labels
from rpac.sql.analysis import Analysis
from rpac.sql.functions import check_functions
from rpac.sql.guard import guard
from rpac.sql.measures import Measure, as_number, whole_type
from rpac.sql.parsing import parsed, take_order
from rpac.sql.syntax import (
    Node,
    column_pairs,
    every_key,
    group_keys,
    has_sets,
    is_one_row,
    snippet,
    source_names,
)
from rpac.sql.tables import Tables, described

OTHER = "other"


@dataclass(frozen=True, eq=False)
class Question:
    """One SELECT that may be asked.

    Attributes:
        tables: What it is asked of.
        sql: Its text.
        tree: Its syntax, every column with its table, declared groups written out.
        analysis: What is known of its scopes.
        labels: Names of its columns.
        kinds: Their SQL types.
        keys: Places of its public columns.
        measures: Its other columns, numbers to privatize.
        declared: All entries of declared groups, by place of the column.
        lost_keys: Names of declared groups that are neither a column nor in this query.
        order: Places to order by, each with whether it falls.
        limit: Number of rows to show; None for all.
        having: From (rows, columns) released numbers to which rows stay; None for all.
    """

    tables: Tables
    sql: str
    tree: Node
    analysis: Analysis
    labels: list[str]
    kinds: list[str]
    keys: list[int]
    measures: list[Measure]
    declared: Mapping[int, list[Any]]
    lost_keys: list[str]
    order: list[tuple[int, bool]]
    limit: int | None
    having: Any = None


def read(tables: Tables, sql: str) -> Question:
    """Return a text as a question; one that is of single units, or of none, is refused."""
    tree = parsed(tables, sql)
    check_functions(tree)
    labels, kinds = _described(tables, sql, tree)
    order, limit = take_order(tree)
    having = _take_having(tree)
    root = build_scope(tree)
    assert root is not None
    analysis = Analysis(tables, root)
    _refuse_rows(analysis, labels)
    declared, lost = _declare(tables, tree, labels)
    declared |= _labelled(analysis, tree)
    keys = _keys(analysis, labels, declared, lost)
    _refuse_groups(analysis, tree, [tree.selects[i].unalias() for i in declared])
    places = [i for i in range(len(labels)) if i not in keys]
    measures = []
    for i in places:
        as_number("x", kinds[i], labels[i])
        alone = len(places) == 1 or isinstance(tree.selects[i].unalias(), exp.Count)
        counts = whole_type(kinds[i]) and alone
        measures.append(Measure(i, kinds[i], analysis.facts.listed[i].degree, counts=counts))
    if not measures:
        raise refuse("at least one number to privatize", f"public columns {labels}", "Ask for one.")
    _refuse_alike(analysis, keys)
    guard(tree, tables)
    return Question(
        tables, sql, tree, analysis, labels, kinds, keys, measures, declared, lost, order, limit,
        having,
    )  # fmt: skip


def _take_having(tree: Node) -> Any:
    """Take a HAVING off that compares selected numbers: released ones decide, for nothing.

    Any other stays, and is decided in every world.
    """
    having = tree.args.get("having")
    named = {item.unalias().sql(): i for i, item in enumerate(tree.selects)}
    if having is None:
        return None
    if not having.find(exp.AggFunc):
        got = repr(snippet(having.this))
        raise refuse("aggregates in HAVING", got, "Write conditions on rows and keys in WHERE.")
    try:
        kept = compiled(having.this, {text: _column_at(i) for text, i in named.items()})
    except InputError:
        return None
    tree.set("having", None)
    return kept


def _column_at(place: int) -> Any:
    return lambda rows: rows[:, place]


def _described(tables: Tables, sql: str, tree: Node) -> tuple[list[str], list[str]]:
    """Return the names and SQL types of the answer's columns.

    Those of the text that was asked, and they must be those of the text that is run.
    """
    asked, run = described(tables, sql), described(tables, tree.sql("duckdb"))
    if len(asked) != len(tree.selects):  # a star over a struct, say: its names are not in the text
        got = f"{len(tree.selects)} columns that stand for others"
        raise refuse("columns that the query names itself", got, "Write them one by one.")
    labels, kinds = [name for name, _ in asked], [kind for _, kind in asked]
    same = len(run) == len(asked) and all(map(_alike, asked, run))
    if not same:
        got, move = "others when it is written out", "Write it with plainer functions."
        raise refuse("columns of the same names and types", got, move)
    twice = [label for label, times in Counter(labels).items() if times > 1]
    if twice:
        raise refuse("unique names of columns", f"{twice[0]!r} twice", "Rename one with AS.")
    return labels, kinds


def _alike(asked: tuple[str, str], run: tuple[str, str]) -> bool:
    """Whether a column is of one type in both texts, and of one name where the first has one."""
    named = not re.fullmatch(r"_col_\d+", run[0])
    return asked[1] == run[1] and (not named or asked[0].lower() == run[0].lower())


def _refuse_rows(analysis: Analysis, labels: list[str]) -> None:
    if not analysis.facts.private:
        found = sorted({table.name for table in analysis.root.expression.find_all(exp.Table)})
        move = "Just run it: no secret."
        raise refuse("a query that reads a private table", f"public tables only: {found}", move)
    if analysis.facts.owned:
        raise refuse(
            "a query that aggregates over units",
            f"rows of single units, with columns {labels}",
            "Count, sum or average them, by groups that are not the unit's.",
        )


def _declare(
    tables: Tables, tree: Node, labels: list[str]
) -> tuple[dict[int, list[Any]], list[str]]:
    """Rewrite declared groups to their entries or "other".

    Returns:
        The entries by place of the column, and the declared names that nothing has.
    """
    groups = group_keys(tree)
    columns = [(t, c) for t, inside in tables.columns.items() for c in inside]
    named = {name for t, c in columns for name in (c, f"{t}.{c}")}
    found: dict[int, list[Any]] = {}
    for i, item in enumerate(tree.selects):
        node = item.unalias()
        names = {labels[i].lower(), node.name.lower(), node.sql().replace('"', "").lower()}
        named |= names
        name = next((key for key in tables.keys if key.lower() in names), None)
        if name is not None and node in groups:
            found[i] = _written_out(node, groups, list(tables.keys[name]))
    return found, [key for key in tables.keys if key.lower() not in named]


def _labelled(analysis: Analysis, tree: Node) -> dict[int, list[Any]]:
    """Return the labels of groups by a CASE that writes them all itself, by place of the column.

    They are words of the query, and all of them are rows of the answer, whoever is in them.
    """
    groups, found = group_keys(tree), {}
    for i, column in enumerate(analysis.facts.listed):
        node = tree.selects[i].unalias()
        own = node in groups and column.role == "private" and not node.find(exp.Query)
        labels = (written_labels(node) if own else None) or []
        if len({isinstance(label, str) for label in labels if label is not None}) == 1:
            found[i] = labels
    return found


def _written_out(node: Node, groups: list[Node], entries: list[Any]) -> list[Any]:
    """Put the entries, or "other", in place of a column; return all that it can be."""
    text = all(isinstance(entry, str) for entry in entries)
    rest = exp.Literal.string(OTHER) if text else exp.null()
    case = exp.Case().when(node.copy().isin(*entries), node.copy()).else_(rest)
    for place in [group for group in groups if group == node]:
        place.replace(case.copy())
    node.replace(case)
    return [*entries, OTHER if text else None]


def _keys(
    analysis: Analysis, labels: list[str], declared: Mapping[int, list[Any]], lost: list[str]
) -> list[int]:
    """Return the places of public columns; private ones, if not declared, are refused."""
    keys = []
    for i, column in enumerate(analysis.facts.listed):
        if i in declared or column.role == "public":
            keys.append(i)
        elif column.role == "private":
            move = "Say which groups there are (keys), or that their names are public (public)."
            raise refuse(
                f"groups in {labels[i]!r} that are public or declared", "a private column",
                move + analysis.tables.lost_in_words(lost),
            )  # fmt: skip
    return keys


def _refuse_groups(analysis: Analysis, tree: Node, declared: list[Node]) -> None:
    """Refuse groups that are not shown and private: how many there are would tell."""
    for key in every_key(tree):
        if key in declared or analysis.role(analysis.root, key) == "public":
            continue
        raise refuse(
            f"groups in {snippet(key)!r} that are public or declared",
            "a private expression",
            "Say which groups there are (keys), or that their names are public (public).",
        )


def _refuse_alike(analysis: Analysis, keys: list[int]) -> None:
    """Refuse rows that keys cannot tell apart, whatever the data: those of a world must line up."""
    tree: Node = analysis.root.expression
    if not isinstance(tree, exp.Select):
        alike = not keys
    elif has_sets(tree):
        shown = [tree.selects[i].unalias() for i in keys]
        alike = any(key not in shown for key in every_key(tree))
    else:
        free = not group_keys(tree) and not is_one_row(tree)
        alike = free and any(not _told(analysis, name, keys) for name in source_names(tree))
    if alike:
        names = [tree.selects[i].alias_or_name for i in keys]
        raise refuse(
            "keys that tell the rows of an answer apart",
            f"several rows with equal {names}" if names else "several rows and no key",
            "Select every column that the query groups by.",
        )


def _told(analysis: Analysis, name: str, keys: list[int]) -> bool:
    """Whether the rows of a source in an ungrouped SELECT are told apart by what is shown.

    Those of a table are taken to be if any of its columns is shown or held equal to another;
    those of groups if all their keys are. A source of one row needs neither.
    """
    tree: Node = analysis.root.expression
    source = analysis.root.sources.get(name)
    shown = [tree.selects[i].unalias() for i in keys]
    columns = {(c.table, c.name) for node in shown for c in node.find_all(exp.Column)}
    columns |= {(c.table, c.name) for pair in column_pairs(tree) for c in pair}
    if isinstance(source, Scope) and isinstance(source.expression, exp.Select):
        inner = source.expression
        if is_one_row(inner):
            return True
        if every_key(inner):
            names = {item.unalias().sql(): item.alias_or_name for item in inner.selects}
            return all((name, names.get(key.sql())) in columns for key in every_key(inner))
        if analysis.of(source).private:
            return False
    alone = len(source_names(tree)) == 1
    return not analysis.source(analysis.root, name).owned and (
        alone or any(table == name for table, _ in columns)
    )
