"""From a project to a question under the promise *person*: what is declared, and whose rows.

Plans and comparisons are made of names alone (`column_names`): of private tables they read the
first line, or what files declare, so that whatever they print would be printed for any rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rpac._base.checks import refuse
from rpac._base.types import Json
from rpac.cli.project import Project
from rpac.cli.schema import ANSWER
from rpac.errors import InputError
from rpac.front.presence import ask
from rpac.person.entries import FIRST
from rpac.person.source import Presence
from rpac.questions import statistics
from rpac.questions.programs import Command
from rpac.release.refusal import withheld
from rpac.schema import declared
from rpac.worlds.files import column_names, reader


def public_tables(project: Project) -> list[str]:
    """Return the public tables; refuse columns whose groups would be read off rows."""
    for name in project.public:
        if name not in project.tables:
            move = f"Declare its groups with --keys {name}=a,b,c, or use --protect sample."
            raise refuse("public tables under the promise person", repr(name), move)
    return project.public


def asked(project: Project, kind: str, text: str, *, rows: bool) -> tuple[Presence, Any]:
    """Return source and mechanism of a question.

    Args:
        project: What was declared.
        kind: "sql", "statistic" or "command".
        text: The question.
        rows: Whether private rows are read; otherwise their tables are taken to be empty.
    """
    if rows:  # what was mistyped is said before rows are read
        asked(project, kind, text, rows=False)
    public = public_tables(project)
    tables = {
        name: path if rows or name in public else _empty(path)
        for name, path in project.tables.items()
    }
    read = _sql if kind == "sql" else _table
    with withheld(static=(InputError,)):
        source, mechanism = read(project, tables, kind, text)
        ask(mechanism, source)  # refused by its shape before a ledger is made
    return source, mechanism


def _empty(path: str) -> Any:
    """Return a table without rows, of the same columns; a DuckDB file declares its own."""
    import narwhals as nw

    names = column_names(path)
    if names is None:
        return path
    if not names or len(set(names)) != len(names):
        none = f"none in {Path(path).name!r}", FIRST
        got, move = (names[:12], "Rename them.") if names else none
        raise refuse("at least one column, with unique names", got, move)
    nothing: dict[str, list[str]] = {name: [] for name in names}
    types = dict.fromkeys(names, nw.String())
    backend: Any = reader()
    return nw.from_dict(nothing, types, backend=backend).to_native()


def _sql(project: Project, tables: Json, kind: str, text: str) -> tuple[Presence, Any]:
    from rpac.sql import Database  # an optional extra: whoever lacks it is told by name

    if project.way not in ("auto", "contributions") or project.blocks is not None:
        move = "Leave --way and --blocks out: SQL is asked by contributions."
        raise refuse(f"--{kind} without blocks", f"--way {project.way}", move)
    made = Database(
        tables, project.unit, project.links, public=project.public, keys=project.keys,
        caps=project.caps, middle=project.middle, schema=_schema(project), size=project.size,
    )  # fmt: skip
    query = made.query(text)
    for name in project.keys:
        if not made.owned.has(name) and name not in text:
            known = dict.fromkeys(c for inside in made.owned.columns.values() for c in inside)
            expected = "a column, or a name in the query, before = in --keys"
            raise refuse(expected, repr(name), f"Columns: {', '.join(known)}.")
    return made.presence, query


def _table(project: Project, tables: Json, kind: str, text: str) -> tuple[Presence, Any]:
    if len(tables) != 1:
        raise refuse(f"one table for --{kind}", ", ".join(tables), "Join them with --sql.")
    (data,) = tables.values()
    middle = project.middle
    if kind == "command":
        middle = _form(project)
    schema = _schema(project)
    for name, entries in project.keys.items():
        schema.setdefault(name, {})["domain"] = tuple(entries)
    source = Presence(
        data, project.unit.split(".")[-1], caps=project.caps, middle=middle, way=project.way,
        blocks=project.blocks, schema=schema, size=project.size,
    )  # fmt: skip
    return source, named(project, text) if kind == "statistic" else Command(text)


def named(project: Project, text: str) -> statistics.Statistic:
    """Return the statistic that a text names; groups that it does not list are those declared."""
    listed = {name: c.domain for name, c in project.columns.items() if c.domain is not None}
    return statistics.parse(text, {**listed, **project.keys})


def _form(project: Project) -> Any:
    """Return the form of what a command prints."""
    if set(project.middle) != {ANSWER}:
        got = ", ".join(project.middle) or "none"
        move = "Say what it prints: --middle answer=0, or answer=0,0,0 for three numbers."
        raise refuse("--middle answer=... for --command", got, move)
    return project.middle[ANSWER]


def _schema(project: Project) -> dict[str, Json]:
    """Return the schema as plain data; what is wrong in it is refused here."""
    found = {name: column.model_dump() for name, column in project.columns.items()}
    for given in found.values():
        given["domain"] = None if given["domain"] is None else tuple(given["domain"])
    declared({}, {}, found)
    return found
