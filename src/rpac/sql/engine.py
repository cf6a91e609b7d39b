"""The embedded DuckDB: tables are loaded into it, and its errors quote no entry."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from rpac._base.checks import refuse
from rpac._base.hashing import digest
from rpac.errors import MechanismError, RpacError
from rpac.worlds import tables as frames
from rpac.worlds.files import existing, is_csv, is_warehouse, parquet_files

_UNREAD = (
    duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException,
    duckdb.PermissionException,
)  # fmt: skip
"""Errors in the text of a query, whatever the rows."""
_NESTED = re.compile(r"\b(STRUCT|ENUM|UNION|MAP|ROW)\(", re.IGNORECASE)
_BRACKETS = re.compile(r"\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*'|[()]")
"""What opens and closes, outside of names and entries in quotes."""
_SPILL = "rpac-spill-"
_FRAMES = frozenset({"pandas", "polars", "pyarrow", "duckdb"})


def connect(memory_limit: str | None = None, temp_directory: str | Path | None = None) -> Any:
    """Return a database in memory: `raw` for tables as they are, `pool` for rows with their owner.

    What does not fit in memory goes to a folder that nobody else can read, and which is gone with
    the database.

    Args:
        memory_limit: In DuckDB's words ("2GB"); by default DuckDB's own.
        temp_directory: Where to make that folder; by default where the system has such.
    """
    connection = duckdb.connect()
    for schema in ("raw", "pool", "world"):
        connection.execute(f"CREATE SCHEMA {schema}")
    try:
        _sweep(Path(tempfile.gettempdir() if temp_directory is None else temp_directory))
        spill = tempfile.mkdtemp(prefix=f"{_SPILL}{os.getpid()}-", dir=temp_directory)  # mode 0700
    except OSError as error:
        got, move = f"a {type(error).__name__}", "Name a folder that exists and is yours."
        raise refuse("a folder to write to in `temp_directory`", got, move) from None
    weakref.finalize(connection, shutil.rmtree, spill, ignore_errors=True)
    connection.execute(f"SET temp_directory = {_literal(spill)}")
    connection.execute("SET enable_progress_bar = false")
    if memory_limit is not None:
        try:
            connection.execute(f"SET memory_limit = {_literal(memory_limit)}")
        except duckdb.Error:
            got = repr(memory_limit)
            raise refuse("a memory limit such as '2GB'", got, "Write a number and GB.") from None
    return connection


def _sweep(folder: Path) -> None:
    """Remove what processes that were killed have left behind, of this user's."""
    for found in folder.glob(f"{_SPILL}*"):
        pid = found.name.removeprefix(_SPILL).partition("-")[0]
        dead = pid.isdecimal() and not Path(f"/proc/{pid}").exists()
        if dead and Path("/proc/self").exists() and found.stat().st_uid == os.getuid():
            shutil.rmtree(found, ignore_errors=True)


def close_files(connection: Any, files: Sequence[str]) -> None:
    """Let the database read no file but these, which are its tables, and no network."""
    connection.execute("SET python_enable_replacements = false")
    connection.execute(f"SET allowed_paths = [{', '.join(map(_literal, files))}]")
    connection.execute("SET enable_external_access = false")


def quoted(name: str) -> str:
    """Return an SQL identifier.

    >>> quoted("year")
    '"year"'
    """
    return '"' + name.replace('"', '""') + '"'


def load(connection: Any, name: str, data: Any, schema: str = "raw") -> dict[str, str]:
    """Put one table into a schema; return the SQL types of its columns by name.

    Frames and CSV files are copied. Parquet (a file, a folder, a glob) and DuckDB files stay where
    they are, and are read there by every question.
    """
    at = f"{schema}.{quoted(name.lower())}"
    try:
        if isinstance(data, str | Path):
            connection.execute(f"CREATE {_in_file(connection, name, Path(data), at)}")
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


_TABLES = "SELECT table_name AS name FROM duckdb_tables() WHERE schema_name = 'main'"
_VIEWS = "SELECT view_name FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal"


def tables_in(path: str | Path) -> list[str]:
    """Return the names of the tables in a DuckDB file, views among them."""
    return _listed(path, f"{_TABLES} UNION {_VIEWS} ORDER BY 1")


def views_in(path: str | Path) -> list[str]:
    """Return the names of the views in a DuckDB file."""
    return _listed(path, _VIEWS)


def _listed(path: str | Path, sql: str) -> list[str]:
    file = existing(Path(path))
    try:
        with duckdb.connect(str(file), read_only=True) as connection:
            rows = connection.execute(sql).fetchall()
    except duckdb.Error as error:
        kind = f"a {type(error).__name__}"
        raise refuse("a DuckDB file that can be read", kind, "Check its version.") from None
    return [row[0] for row in rows]


def _in_file(connection: Any, name: str, file: Path, at: str) -> str:
    """Return what makes a table of a file: a view, where it can be read in place."""
    if is_warehouse(file):
        home = "file_" + digest(str(existing(file)))[:16]
        connection.execute(f"ATTACH IF NOT EXISTS {_literal(str(file))} AS {home} (READ_ONLY)")
        return f"VIEW {at} AS FROM {home}.main.{quoted(name)}"
    if not is_csv(file):
        _refuse_other_columns(connection, name, parquet_files(file))
        listed = ", ".join(map(_literal, parquet_files(file)))
        return f"VIEW {at} AS FROM read_parquet([{listed}], hive_partitioning = false)"
    return f"TABLE {at} AS FROM {_literal(str(existing(file)))}"


def _refuse_other_columns(connection: Any, name: str, files: list[str]) -> None:
    """Demand one schema of all files: a cast to the first one's types would fail on some rows."""
    found = {
        str(connection.execute(f"DESCRIBE FROM read_parquet({_literal(one)}, "
                               "hive_partitioning = false)").fetchall())
        for one in files
    }  # fmt: skip
    if len(found) > 1:
        got, move = "others in some", "Write them with one declared schema."
        raise refuse(f"one schema in all files of table {name!r}", got, move)


def _literal(text: str) -> str:
    """Return text as an SQL literal."""
    return "'" + str(text).replace("'", "''") + "'"


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
