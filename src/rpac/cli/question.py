"""From the words of a command line to a question: source, mechanism, budget, ledger."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from rpac._base.checks import refuse
from rpac._base.types import Json
from rpac.budget import Budget, Nats, SuccessRate
from rpac.cli.options import Question
from rpac.cli.project import Project
from rpac.front.methods import METHODS
from rpac.ledger.ledger import Ledger
from rpac.questions import statistics
from rpac.questions.programs import Command
from rpac.report import wording
from rpac.worlds.source import Subsets


@dataclass
class Ask:
    """A question ready to be planned, released or attacked."""

    text: str
    source: Subsets
    mechanism: Any
    budget: Budget
    method: str
    ledger: Ledger | None
    unit: str
    cap: float | None = None

    @property
    def left(self) -> float | None:
        """Nats left in the ledger, or in one that is not made yet; None without any."""
        return self.cap if self.ledger is None else self.ledger.remaining

    @property
    def about(self) -> Json:
        """What a record says of the data: nothing of their content."""
        return {"unit": self.unit, "worlds": len(self.source.members)}

    def named(self, worst: list[Json]) -> list[Json]:
        """Return exposed units under their own names; sealed."""
        database = getattr(self.mechanism, "database", None)
        names = self.source.units if database is None else database.unit_names()
        return [row | {"unit": str(names[row["unit"]])} for row in worst]


def prepare(given: Question, *, ledger: Literal["none", "old", "any"]) -> Ask:
    """Return the question that the options of a command ask.

    Args:
        given: The options.
        ledger: Which ledger to open: none, one that exists, or also a new one.
    """
    project = _project(given)
    budget = _budget(given)
    known_method(given.method, "a known --method")
    kinds = {"sql": given.sql, "statistic": given.statistic, "command": given.command}
    asked = {kind: text for kind, text in kinds.items() if text}
    if len(asked) != 1:
        raise refuse(
            "one of --sql, --statistic and --command",
            " and ".join(f"--{kind}" for kind in asked) or "none",
            'Such as --statistic "mean(salary)".',
        )
    ((kind, text),) = asked.items()
    source, mechanism = _sql(project, text) if kind == "sql" else _table(project, kind, text)
    opened = open_ledger(project, new=ledger == "any") if ledger != "none" else None
    if opened is not None and given.cap is not None:
        _same_cap(opened, given.cap, Path(str(project.ledger)).name)
    cap = project.cap if project.ledger is not None else None
    return Ask(text, source, mechanism, budget, given.method, opened, project.unit, cap)


def known_method(name: str, expected: str) -> None:
    """Refuse a name that no calibrator has."""
    if name not in METHODS:
        raise refuse(expected, repr(name), f"Known: {', '.join(METHODS)}.")


def _project(given: Question) -> Project:
    base: Json = {}
    if given.project is not None:
        base = Project.load(given.project).model_dump()
    keys = dict(_split(pair, "--keys") for pair in given.keys or [])
    changes: Json = {
        "tables": {Path(file).stem: str(file) for file in given.data or []} or None,
        "unit": given.unit,
        "links": dict(_split(pair, "--link") for pair in given.link or []) or None,
        "public": given.public or None,
        "keys": {name: entries.split(",") for name, entries in keys.items()} or None,
    }
    same = {"worlds", "seed", "ledger", "cap", "dataset", "analyst"}
    changes |= {f.name: getattr(given, f.name) for f in fields(given) if f.name in same}
    merged = base | {name: value for name, value in changes.items() if value is not None}
    if "tables" not in merged:
        raise refuse("tables of the data", "no file", "Name a .csv or .parquet file.")
    if "unit" not in merged:
        raise refuse("unit of the data", "no --unit", "Pass --unit COLUMN, or --unit rows.")
    merged["dataset"] = merged.get("dataset") or next(iter(merged["tables"]))
    return Project.checked(merged, lambda at: f"--{at}", "See rpac --help.")


def _split(pair: str, option: str) -> tuple[str, str]:
    left, sign, right = pair.partition("=")
    if not sign or not left or not right:
        raise refuse(f"NAME=VALUE after {option}", repr(pair[:80]), "Join them with =.")
    return left, right


def _budget(given: Question) -> Budget:
    if given.budget is not None and given.success is not None:
        got = f"--budget {given.budget:g} and --success {given.success:g}"
        raise refuse("--budget or --success", got, "Choose one.")
    if given.success is not None:
        return SuccessRate(given.success)
    return Nats(wording.DEFAULT_NATS if given.budget is None else given.budget)


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
    source = Subsets(path, project.unit.split(".")[-1], project.worlds, project.seed)
    return source, statistics.parse(text) if kind == "statistic" else Command(text)


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
