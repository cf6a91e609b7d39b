"""From the words of a command line to a question: source, mechanism, budget, ledger."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from rpac._base.checks import refuse
from rpac._base.types import Json
from rpac.budget import Budget, GaussianDP, Nats, SuccessRate, as_distance, rate_hint
from rpac.cli import presence
from rpac.cli.options import Question
from rpac.cli.project import Project
from rpac.cli.schema import caps, keys, listed_once, middles, pair, read_schema
from rpac.front.methods import METHODS, held_method
from rpac.front.outlook import outlook
from rpac.ledger.ledger import Ledger
from rpac.person.source import ROWS, Presence
from rpac.questions.programs import Command
from rpac.report import wording
from rpac.worlds.files import column_names, is_warehouse, table_name
from rpac.worlds.source import Subsets
from rpac.worlds.tables import known_columns

METHOD = "equilibrium"
"""The calibrator where nothing is said."""
ONLY = {
    "sample": ("worlds", "seed", "method", "methods", "executor", "checkpoint"),
    "person": ("caps", "middle", "schema", "size", "way", "blocks", "mu"),
}
"""Options and entries of a project file that one promise alone knows."""


@dataclass
class Ask:
    """A question ready to be planned, released or attacked; `runs` says where its function runs."""

    text: str
    source: Any
    mechanism: Any
    budget: Budget | GaussianDP
    method: str
    ledger: Ledger | None
    unit: str
    cap: float | None = None
    books: str | None = None
    runs: Json = field(default_factory=dict)

    @property
    def person(self) -> bool:
        """Whether the promise is *person*."""
        return isinstance(self.source, Presence)

    @property
    def left(self) -> float | None:
        """Nats left in the ledger, or in one that is not made yet; None without any."""
        return self.cap if self.ledger is None else self.ledger.remaining

    @property
    def about(self) -> Json:
        """What a record says of the data: nothing of their content.

        Under *person* also what differential privacy would add with the bounds that were declared.
        """
        if self.person:
            figures = outlook(self.mechanism, self.source, self.budget).numbers
            return {"unit": self.unit, "known_bounds": wording.known_bounds(figures)}
        return {"unit": self.unit, "worlds": len(self.source.members)}

    def named(self, worst: list[Json]) -> list[Json]:
        """Return exposed units under their own names; sealed."""
        database = getattr(self.mechanism, "database", None)
        names = self.source.units if database is None else database.unit_names()
        return [row | {"unit": str(names[row["unit"]])} for row in worst]


def prepare(given: Question, *, ledger: Literal["none", "old", "any"], rows: bool = True) -> Ask:
    """Return the question that the options of a command ask.

    Args:
        given: The options.
        ledger: Which ledger to open: none, one that exists, or also a new one.
        rows: Whether private rows are read under the promise *person*; otherwise names alone.
    """
    project = _project(given)
    budget = _budget(given, project.protect)
    method = given.method or METHOD
    known_method(method, "a known --method")
    kind, text = _asked(given)
    source: Any
    if project.protect == "person":
        source, mechanism = presence.asked(project, kind, text, rows=rows)
    elif kind == "sql":
        source, mechanism = _sql(project, text)
    else:
        source, mechanism = _table(project, kind, text)
    if project.protect == "sample":
        held_method(source, method)
    opened = open_ledger(project, new=ledger == "any") if ledger != "none" else None
    if opened is not None and given.cap is not None:
        _same_cap(opened, given.cap, Path(str(project.ledger)).name)
    cap = project.cap if project.ledger is not None else None
    books = None if project.ledger is None else Path(project.ledger).name
    runs: Json = {"n_jobs": given.jobs, "executor": given.executor, "checkpoint": given.checkpoint}
    return Ask(text, source, mechanism, budget, method, opened, project.unit, cap, books, runs)


def protects(given: Question) -> str:
    """Return the promise that the options of a command name."""
    return _project(given).protect


def _asked(given: Question) -> tuple[str, str]:
    """Return which kind of question it is, and its text."""
    kinds = {"sql": given.sql, "statistic": given.statistic, "command": given.command}
    asked = {kind: text for kind, text in kinds.items() if text}
    if len(asked) != 1:
        raise refuse(
            "one of --sql, --statistic and --command",
            " and ".join(f"--{kind}" for kind in asked) or "none",
            'Such as --statistic "mean(salary)".',
        )
    ((kind, text),) = asked.items()
    return kind, text


def known_method(name: str, expected: str) -> None:
    """Refuse a name that no calibrator has."""
    if name not in METHODS:
        raise refuse(expected, repr(name), f"Known: {', '.join(METHODS)}.")


def _project(given: Question) -> Project:
    base: Json = {}
    if given.project is not None:
        base = Project.load(given.project).model_dump(exclude_unset=True, by_alias=True)
    changes: Json = {
        "tables": {name: str(file) for file in given.data or [] for name in _named(file)} or None,
        "links": dict(pair(text, "--link") for text in given.link or []) or None,
        "caps": caps(given.caps or []) or None,
        "middle": middles(given.middle or []) or None,
        "schema": None if given.schema is None else read_schema(given.schema),
        "public": given.public or None,
        "keys": keys(given.keys or []) or None,
    }
    changes |= {f.name: getattr(given, f.name) for f in fields(given) if f.name in _SAME}
    merged = base | {name: value for name, value in changes.items() if value is not None}
    _of_this_promise(merged.get("protect", "person"), [*merged, *_typed(given)])
    if "tables" not in merged:
        raise refuse("tables of the data", "no file", "Name a .csv or .parquet file.")
    if "unit" not in merged:
        raise refuse("unit of the data", "no --unit", "Pass --unit COLUMN, or --unit rows.")
    merged["dataset"] = merged.get("dataset") or next(iter(merged["tables"]))
    made = Project.checked(merged, lambda at: f"--{at}", "See rpac --help.")
    listed_once(made.keys)
    return made


_SAME = {"unit", "protect", "worlds", "seed", "size", "way", "blocks", "ledger", "cap", "dataset",
         "analyst"}  # fmt: skip
"""Options that are entries of a project file, as they are."""


def _named(file: Path) -> list[str]:
    """Return the tables that a path is: those in a DuckDB file, else one of its name."""
    if not is_warehouse(file):
        return [table_name(file)]
    from rpac.sql.engine import tables_in

    return tables_in(file)


def _typed(given: Question) -> Iterable[str]:
    """Yield options that were typed and are no entries of a project file."""
    names = ("method", "methods", "mu", "executor", "checkpoint")
    return (name for name in names if getattr(given, name, None) is not None)


def _of_this_promise(protect: str, names: Iterable[str]) -> None:
    """Refuse what only the other promise knows."""
    other = {"person": "sample", "sample": "person"}.get(protect, "")
    for name in names:
        if name in ONLY.get(other, ()):
            raise refuse(
                f"options of --protect {protect}", f"--{name}", f"It is of --protect {other}."
            )


def _budget(given: Question, protect: str) -> Budget | GaussianDP:
    asked = {"budget": given.budget, "success": given.success, "mu": given.mu}
    named = [f"--{name} {value:g}" for name, value in asked.items() if value is not None]
    if len(named) > 1:
        options = "--budget, --success or --mu" if given.mu is not None else "--budget or --success"
        raise refuse(options, " and ".join(named), "Choose one.")
    if given.mu is not None:
        return GaussianDP(given.mu)
    if given.budget is not None:
        return Nats(given.budget)
    if given.success is None:
        usual = protect == "person"
        return SuccessRate(wording.DEFAULT_SUCCESS) if usual else Nats(wording.DEFAULT_NATS)
    if not 0.5 < given.success < 1:  # what was typed is refused by its own words
        move = rate_hint(given.success)
        raise refuse("--success above 0.5 and below 1", f"{given.success:g}", move)
    limit = SuccessRate(given.success)
    if protect == "person":
        as_distance(limit)
    return limit


def _sql(project: Project, text: str) -> tuple[Subsets, Any]:
    from rpac.sql import Database  # an optional extra: whoever lacks it is told by name

    made = Database(
        dict(project.tables),
        project.unit,
        project.links,
        public=project.public,
        keys=project.keys,
        worlds=project.worlds,
        seed=project.seed,
    )
    query = made.query(text)
    if query.lost_keys:
        known = ", ".join(dict.fromkeys(c for inside in made.columns.values() for c in inside))
        raise refuse(
            "a column, or a name in the query, before = in --keys",
            repr(query.lost_keys[0]),
            f"Columns: {known}.",
        )
    return made.source, query


def _table(project: Project, kind: str, text: str) -> tuple[Subsets, Any]:
    if len(project.tables) != 1:
        got = ", ".join(project.tables)
        raise refuse(f"one table for --{kind}", got, "Join them with --sql.")
    (path,) = project.tables.values()
    unit = project.unit.split(".")[-1]
    mechanism = presence.named(project, text) if kind == "statistic" else Command(text)
    names = [] if unit == ROWS else [unit]  # what was mistyped is said before rows are read
    known_columns(column_names(path) or [], [*names, *getattr(mechanism, "reads", ())])
    return Subsets(path, unit, project.worlds, project.seed), mechanism


def _same_cap(ledger: Ledger, cap: float, name: str) -> None:
    """Refuse a cap that is not the one on record; to the nano-nat."""
    (stored,) = (a["cap"] for a in ledger.accounts() if a["kind"] == "ledger")
    if not abs(stored - cap) <= 1.5e-9:
        raise refuse(
            f"the cap of this ledger, {stored:.9g} nats, or no --cap",
            f"{cap:.9g}",
            f"`rpac ledger {name} --cap {cap:.9g}` changes it, on the record.",
        )


def open_ledger(project: Project, *, new: bool) -> Ledger | None:
    """Return the ledger of a project; a new file is made only on request, and needs a cap."""
    if project.ledger is None:
        return None
    absent = "://" not in project.ledger and not Path(project.ledger).exists()
    if absent and not new:
        return None
    if absent and project.cap is None:
        raise refuse(
            "a cap for a new ledger",
            f"{Path(project.ledger).name!r} without one",
            "Say what all releases together may leak: --cap 1.",
        )
    return Ledger(
        project.ledger,
        project.cap if absent else None,
        dataset=project.dataset,
        analyst=project.analyst,
    )
