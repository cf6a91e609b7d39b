"""The embedded DuckDB: tables are loaded into it, and its errors quote no entry."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
    if file.suffix.lower() not in {".csv", ".parquet"}:
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


def execute(
    connection: Any, sql: str, columns: Mapping[str, Mapping[str, str]], form: str = "fetchall"
) -> Any:
    """Return all rows of a statement; an error has its kind and names of the query, no entry.

    Args:
        connection: Where it runs.
        sql: One statement.
        columns: The SQL types of all columns, to name those that hold text.
        form: "fetchall" for tuples, "fetchnumpy" for arrays by column.

    Raises:
        InputError: If DuckDB cannot read the statement: a fact of its text and of the schema.
        MechanismError: If it fails as it runs: a fact of the rows.
    """
    try:
        return getattr(connection.execute(sql), form)()  # rows are computed as they are fetched
    except _UNREAD as error:
        reason = str(error).splitlines()[0][:200].rstrip(".")
        if "No function matches" in reason and "VARCHAR" in reason:
            words = set(re.findall(r"\w+", sql.lower()))
            pairs = [pair for inside in columns.values() for pair in inside.items()]
            text = [repr(name) for name, kind in pairs if kind == "VARCHAR" and name in words]
            raise refuse(
                "numbers where the query computes",
                f"text in {', '.join(text) or 'an expression'}",
                "Count it, group by it, or CAST it to a number.",
            ) from None
        raise refuse("a query that DuckDB can run", reason, "Check names and types.") from None
    except duckdb.Error as error:  # its message may quote an entry
        kind, move = f"a {type(error).__name__}", "Guard casts with TRY."
        raise refuse("a query that runs on every world", kind, move, MechanismError) from None
