"""The embedded DuckDB: tables are loaded into it, and its errors quote no entry."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import duckdb

from rpac._base.checks import refuse
from rpac.errors import MechanismError, RpacError
from rpac.worlds import tables as frames

_UNREAD = (
    duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException,
    duckdb.PermissionException,
)  # fmt: skip
"""Errors in the text of a query, whatever the rows."""
_NESTED = re.compile(r"\b(STRUCT|ENUM|UNION|MAP|ROW)\(", re.IGNORECASE)
_BRACKETS = re.compile(r"\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*'|[()]")
"""What opens and closes, outside of names and entries in quotes."""
_FRAMES = frozenset({"pandas", "polars", "pyarrow", "duckdb"})


def connect() -> Any:
    """Return a database in memory: `pool` for all rows, `world` for those of one world."""
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA pool")
    connection.execute("CREATE SCHEMA world")
    return connection


def quoted(name: str) -> str:
    """Return an SQL identifier.

    >>> quoted("year")
    '"year"'
    """
    return '"' + name.replace('"', '""') + '"'


def load(connection: Any, name: str, data: Any) -> dict[str, str]:
    """Copy one table into the schema `pool`; return the SQL types of its columns by name."""
    at = f"pool.{quoted(name.lower())}"
    try:
        if isinstance(data, str | Path):
            connection.execute(f"CREATE TABLE {at} AS FROM {_file(Path(data))}")
        else:
            connection.register("__loading", frames.table(data).to_arrow())
            connection.execute(f"CREATE TABLE {at} AS FROM __loading")
            connection.unregister("__loading")
    except RpacError:
        raise
    except Exception as error:  # each kind of table has errors of its own, and they may quote rows
        kind = f"a {type(error).__name__}"
        raise refuse(f"rows in table {name!r}", kind, "Check its format.") from None
    rows = connection.execute(f"DESCRIBE {at}").fetchall()
    return {row[0].lower(): row[1] for row in rows}


def _file(file: Path) -> str:
    """Return a file that can be read, as an SQL literal."""
    if not file.name.lower().endswith((".csv", ".csv.gz", ".parquet")):
        raise refuse("a .csv or .parquet file", repr(file.name), "Convert it first.")
    if not file.is_file():
        raise refuse("a file that exists", repr(file.name), "Check the path.")
    return "'" + str(file).replace("'", "''") + "'"


def kind_of(data: Any) -> str:
    """Return the kind of table that answers come back as; "rows" are dicts.

    >>> kind_of("staff.csv")
    'rows'
    """
    module = type(data).__module__.split(".")[0].lstrip("_")
    return module if module in _FRAMES else "rows"


def show(connection: Any, name: str, columns: Mapping[str, Any]) -> None:
    """Let arrays be read as a table of this name, until it is unregistered."""
    try:
        connection.register(name, dict(columns))
    except duckdb.Error as error:  # a database that an earlier query broke
        kind, move = f"a {type(error).__name__}", "Load the tables anew."
        raise refuse("a database that answers", kind, move, MechanismError) from None


def execute(connection: Any, sql: str, form: str = "fetchall") -> Any:
    """Return all rows of a statement that reads entries; whatever fails is a fact of the rows.

    The class of an error tells nothing of its cause: a function may raise a parser's error for an
    entry, and a driver errors of Python for what it cannot convert. So none is read here.

    Args:
        connection: Where it runs.
        sql: One statement.
        form: "fetchall" for tuples, "fetchnumpy" for arrays by column.

    Raises:
        MechanismError: If it fails, in words that are the same for every entry.
    """
    try:
        return getattr(connection.execute(sql), form)()  # rows are computed as they are fetched
    except Exception as error:  # its message may quote an entry
        kind, move = f"a {type(error).__name__}", "Guard casts with TRY."
        raise refuse("a query that runs on every world", kind, move, MechanismError) from None


def describe(
    connection: Any, sql: str, columns: Mapping[str, Mapping[str, str]]
) -> list[tuple[str, str]]:
    """Return the names and SQL types of a SELECT's columns; no row is read for it.

    Args:
        connection: Where it would run.
        sql: One SELECT.
        columns: The SQL types of all columns, to name those that hold text.

    Raises:
        InputError: If DuckDB cannot read the statement: a fact of its text and of the schema.
    """
    try:
        kinds = [one.type for one in connection.extract_statements(sql)]
        if kinds != [duckdb.StatementType.SELECT]:  # a second one would be run, not described
            got = f"{len(kinds)} statements, or one of another kind"
            raise refuse("one SELECT", got, "Ask one question.")
        text = sql.strip().rstrip(";").rstrip()
        found = connection.execute(f"DESCRIBE {text}\n").fetchall()
    except duckdb.Error as error:
        raise _unread(error, sql, columns) from None
    return [(row[0], row[1]) for row in found]


def _unread(error: Exception, sql: str, columns: Mapping[str, Mapping[str, str]]) -> RpacError:
    """Return the refusal of a text that DuckDB cannot read; no name in it is made by an entry."""
    if not isinstance(error, _UNREAD):  # a constant that cannot be folded, say
        kind = f"a {type(error).__name__}"
        return refuse("a query that DuckDB can run", kind, "Check names and types.")
    words = set(re.findall(r"\w+", sql.lower()))
    pairs = [pair for inside in columns.values() for pair in inside.items()]
    reason = without_fields(str(error).splitlines()[0])
    if "No function matches" in reason and "VARCHAR" in reason:
        text = [repr(name) for name, kind in pairs if kind == "VARCHAR" and name in words]
        return refuse(
            "numbers where the query computes",
            f"text in {', '.join(text) or 'an expression'}",
            "Count it, group by it, or CAST it to a number.",
        )
    known = words | {*columns} | {name for name, _ in pairs}
    reason = _told(reason, known)[:200].rstrip(".")
    return refuse("a query that DuckDB can run", reason, "Check names and types.")


def without_fields(text: str) -> str:
    """Return a text with types that have named parts cut to their first word.

    One person's row makes a field of a STRUCT, or an entry of an ENUM.

        >>> without_fields("sum(STRUCT(a DOUBLE, hiv DOUBLE)[])")
        'sum(STRUCT[])'
    """
    found = _NESTED.search(text)
    if found is None:
        return text
    depth, end = 1, len(text)
    for part in _BRACKETS.finditer(text, found.end()):
        depth += {"(": 1, ")": -1}.get(part[0], 0)
        if not depth:
            end = part.end()
            break
    return text[: found.end() - 1] + without_fields(text[end:])


def _told(reason: str, known: Collection[str]) -> str:
    """Return a reason without words in quotes that are neither the text's nor the schema's."""

    def shown(found: re.Match[str]) -> str:
        words = [word for word in re.findall(r"\w+", found[0]) if not word.isupper()]
        return found[0] if all(word.lower() in known for word in words) else '"..."'

    return re.sub(r"\"[^\"]*\"|'[^']*'", shown, reason)
