"""A SELECT under the promise *person*, taken apart: its groups, what it adds up, its columns.

All of it is read from the text and from declarations: there is no row here to look at. What is
added up in a row becomes a query of its own, over rows in place of groups, which `rpac.sql.rows`
checks and runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from sqlglot import exp

from rpac._base.checks import refuse
from rpac.person.contributions import Rows, Units
from rpac.person.source import ROWS, Asked, Presence
from rpac.questions.aggregates import COUNTS, Finish, Formula, Sums, compiled
from rpac.questions.dates import folded
from rpac.questions.kinds import BEYOND, Node, is_truth, rewrite, snippet
from rpac.schema import Declared
from rpac.worlds.flatten import Form


@final
@dataclass(frozen=True, eq=False)
class Said:
    """What is said of tables, in public.

    Attributes:
        columns: For every table whether it is public, and the SQL types of its columns.
        keys: Declared groups, by the name of a column or label.
        schema: What is declared of columns, by "column" or "table.column".
        ids: Columns of private tables, with their table, that hold the unit's own id.
        typed: Whether columns of private tables are of declared types; else they are text.
    """

    columns: Mapping[str, tuple[bool, Mapping[str, str]]]
    keys: Mapping[str, Sequence[Any]]
    schema: Mapping[str, Declared]
    ids: frozenset[tuple[str, str]] = frozenset()
    typed: bool = False

    def __post_init__(self) -> None:
        every = [(table, c) for table, (_, inside) in self.columns.items() for c in inside]
        known = {name for table, c in every for name in (c, f"{table}.{c}")}
        lost = [name for name in self.schema if name.lower() not in known]
        if lost:
            listed = ", ".join(dict.fromkeys(c for _, c in every))
            move = f"Columns: {listed}."
            raise refuse("known columns in caps, middle and schema", repr(lost[0]), move)

    def declared(self, table: str, column: str) -> Declared:
        """Return what is declared of a column of a private table."""
        named = {name.lower(): found for name, found in self.schema.items()}
        return named.get(f"{table}.{column}", named.get(column, Declared()))

    def of(self, tree: Node, node: Node) -> Declared:
        """Return what is declared of an expression: nothing, if it is no column of a table."""
        at = _home(tree, node)
        public = at is None or self.columns[at[0]][0]
        return Declared() if public or at is None else self.declared(*at)


@final
@dataclass(frozen=True, eq=False)
class Selected:
    """A query taken apart.

    Attributes:
        labels: Names of its columns.
        keys: What it groups by, as the author wrote it.
        entries: For each of these all that it may be; None: as a public table lists them.
        places: Places of keys among the columns, with their number among the keys.
        kinds: SQL types of all other columns, by their places.
        sums: What is added up.
        finish: How numbers are made of that.
        rows: The keys k0, ... and then the numbers a0, ... of every row, as a query.
        alone: Whether it reads one table, as it stands.
    """

    labels: list[str]
    keys: list[str]
    entries: list[list[Any] | None]
    places: dict[int, int]
    kinds: dict[int, str]
    sums: Sums
    finish: Finish
    rows: Node
    alone: bool

    @classmethod
    def of(cls, tree: Node, said: Said) -> Selected:
        """Take a query apart; its tree is used up."""
        if not isinstance(tree, exp.Select):
            raise refuse("one SELECT", repr(snippet(tree)), BEYOND)
        having = tree.args.pop("having", None)
        labels = [_label(item) for item in tree.selects]
        _refuse_twice(labels)
        group = tree.args.get("group")
        keys = list(group.expressions) if group else []
        if group and group.find(exp.Rollup, exp.Cube, exp.GroupingSets):
            move = "Ask for totals in a query of their own."
            raise refuse("plain keys in GROUP BY", repr(snippet(group).strip()), move)
        items = [item.unalias() for item in tree.selects]
        places = {i: keys.index(node) for i, node in enumerate(items) if node in keys}
        kinds = {i: _type(node) for i, node in enumerate(items) if i not in places}
        sums = Sums(lambda node: (words(node), said.of(tree, node)))
        parts = [items[i] for i in kinds] + ([having.this] if having else [])
        made = _formulas(parts, sums)
        if not kinds or sums.empty:
            raise refuse("at least one aggregate", f"columns {labels}", "Count, sum or average.")
        _check_ids(sums.ids, said, tree)
        named = [{words(key), *(labels[i] for i, at in places.items() if at == j)}
                 for j, key in enumerate(keys)]  # fmt: skip
        entries = [_entries(said, tree, key, named[j]) for j, key in enumerate(keys)]
        finish = Finish(made[: len(kinds)], made[-1] if having else None)
        alone = len(list(tree.find_all(exp.Table))) == 1 and not tree.find(exp.Subquery, exp.With)
        rows = _rows(tree, keys, sums.arguments, said)
        return cls(
            labels, [words(key) for key in keys], entries, places, kinds, sums, finish, rows,
            alone,
        )  # fmt: skip

    def lines(self, rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Return the keys that are shown, of every group."""
        return [tuple(row[j] for j in self.places.values()) for row in rows]

    def asked(
        self, source: Presence, table: Any, rows: Callable[[], Rows | Units], groups: int
    ) -> Asked:
        """Return the question, with what builds its answers.

        Args:
            source: What is asked.
            table: Builds the answer of released numbers.
            rows: Reads the rows.
            groups: How many groups there are.
        """
        form = Form(
            "table", (tuple(self.labels), tuple(table.rows)), rebuild=table.build,
            whole=all(kind == "BIGINT" for kind in self.kinds.values()), labels=table.names,
            settle=lambda like: lambda values: table.build(values, like),
        )  # fmt: skip
        cap = source.rows_cap  # a join may make several rows of one
        cap = None if not self.alone and (cap == 1 or source.unit == ROWS) else cap
        grouped = bool(self.keys)
        question = self.sums.question(groups, grouped=grouped, rows=cap, moves=source.moves)
        return Asked(question, rows, self.finish, form, notes=self.sums.notes)


def words(node: Node) -> str:
    """Return an expression as its author wrote it, about, without tables and quotes."""
    bare = node.copy().transform(
        lambda part: exp.column(part.name) if isinstance(part, exp.Column) else part
    )
    return str(bare.sql("duckdb", normalize_functions="lower")).replace('"', "")


def _label(item: Node) -> str:
    name = item.alias_or_name
    return words(item.unalias()) if not name or name.startswith("_col_") else str(name)


def _refuse_twice(labels: list[str]) -> None:
    twice = [label for label, times in Counter(labels).items() if times > 1]
    if twice:
        raise refuse("unique names of columns", f"{twice[0]!r} twice", "Rename one with AS.")


def _type(node: Node) -> str:
    inner = node.this if isinstance(node, exp.Filter) else node
    return "BIGINT" if isinstance(inner, COUNTS) else "DOUBLE"


def _formulas(parts: Sequence[Node], sums: Sums) -> list[Formula]:
    found: dict[str, Formula] = {}
    for part in parts:
        for inner in part.find_all(exp.AggFunc):
            node = inner.parent if isinstance(inner.parent, exp.Filter) else inner
            if node.sql() not in found:
                found[node.sql()] = sums.formula(node)
    return [compiled(part, found) for part in parts]


def _home(tree: Node, node: Node) -> tuple[str, str] | None:
    """Return the table and column that an expression is; None if it is none."""
    if not isinstance(node, exp.Column):
        return None
    named = {table.alias_or_name: table.name for table in tree.find_all(exp.Table)}
    inner = {cte.alias for cte in tree.find_all(exp.CTE)}
    table = named.get(node.table)
    return None if table is None or table in inner else (table, node.name)


def _check_ids(ids: Sequence[Node], said: Said, tree: Node) -> None:
    """Refuse COUNT(DISTINCT ...) of anything but the unit's own id."""
    for node in ids:
        if len(node.expressions) != 1 or _home(tree, node.expressions[0]) not in said.ids:
            move = "Count rows, or people by the unit's id."
            raise refuse("the unit's id in COUNT(DISTINCT ...)", repr(snippet(node)), move)


def _entries(said: Said, tree: Node, key: Node, names: set[str]) -> list[Any] | None:
    """Return all that a key may be: as declared, or by its shape; None if neither tells."""
    lower = {name.lower() for name in (*names, snippet(key))}
    found = [list(entries) for name, entries in said.keys.items() if name.lower() in lower]
    domain = said.of(tree, key).domain
    found += [] if domain is None else [list(domain)]
    labels = written_labels(key)
    found += [] if labels is None else [labels]
    found += [[False, True]] if is_truth(key) else []
    if not found:
        return None
    kinds = {type(entry) for entry in found[0] if entry is not None}
    mixed = len(kinds) > 1  # one column holds one type
    return [str(e) if mixed and e is not None else e for e in found[0]]


def written_labels(node: Node) -> list[Any] | None:
    """Return all that a CASE may be, if the query itself says so; None if rows have a word in it.

    Without an ELSE it may also be NULL.
    """
    if not isinstance(node, exp.Case):
        return None
    results = [part.args["true"] for part in node.args["ifs"]]
    results.append(node.args.get("default") or exp.null())
    plain = (exp.Literal, exp.Null, exp.Boolean)
    if not all(isinstance(one, plain) or one.is_number for one in results):
        return None
    return list(dict.fromkeys(one.to_py() for one in results))


def _rows(tree: Node, keys: Sequence[Node], arguments: Sequence[Node], said: Said) -> Node:
    named = [(f"k{j}", key) for j, key in enumerate(keys)]
    named += [(f"a{j}", node) for j, node in enumerate(arguments)]
    named = named or [("k", exp.null())]
    tree.set("expressions", [exp.alias_(node.copy(), name) for name, node in named])
    tree.set("group", None)
    declared = lambda table, column: said.declared(table, column).type  # noqa: E731
    return rewrite(tree.transform(folded), said.columns, declared, typed=said.typed)
