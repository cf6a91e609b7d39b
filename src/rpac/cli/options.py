"""The options of the command line, as records; typer reads them, commands receive them."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer


@dataclass
class Question:
    """What is asked, about which data, for how much."""

    data: Annotated[
        list[Path] | None,
        typer.Argument(help="CSV or Parquet files; staff.csv is the table `staff` in SQL."),
    ] = None
    unit: Annotated[
        str | None,
        typer.Option(help="Column that says whose row it is ('table.column'), or 'rows'."),
    ] = None
    sql: Annotated[str | None, typer.Option(help="A SELECT that aggregates.")] = None
    statistic: Annotated[
        str | None, typer.Option(help="Such as 'mean(salary)' or 'group_by(dept, count(), a, b)'.")
    ] = None
    command: Annotated[
        str | None, typer.Option(help="A shell command that reads {file} and prints numbers.")
    ] = None
    budget: Annotated[
        float | None, typer.Option(help="Nats the answer may leak; 0.1 by default.")
    ] = None
    success: Annotated[
        float | None,
        typer.Option(
            help="Budget as the highest success of guessing a person's membership, 0.5 to 1."
        ),
    ] = None
    public: Annotated[
        list[str] | None, typer.Option(help="A public table, or a column whose groups are public.")
    ] = None
    keys: Annotated[
        list[str] | None, typer.Option(help="Declared groups: COLUMN=a,b,c; the rest is 'other'.")
    ] = None
    link: Annotated[
        list[str] | None, typer.Option(help="Foreign key: child.column=parent.column.")
    ] = None
    project: Annotated[Path | None, typer.Option(help="Project file (TOML).")] = None
    ledger: Annotated[
        str | None, typer.Option(help="Ledger of what is spent: a file or postgresql:// URL.")
    ] = None
    cap: Annotated[float | None, typer.Option(help="Nats in all, for a new ledger.")] = None
    dataset: Annotated[str | None, typer.Option(help="Name of the data in the ledger.")] = None
    analyst: Annotated[str | None, typer.Option(help="Who asks, in the ledger.")] = None
    worlds: Annotated[int | None, typer.Option(help="Number of half-samples.")] = None
    seed: Annotated[int | None, typer.Option(help="Which half-samples; never the noise.")] = None
    method: Annotated[str, typer.Option(help="Calibrator of the noise.")] = "equilibrium"
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@dataclass
class Releasing(Question):
    """What a release writes besides the answer."""

    key: Annotated[
        str | None, typer.Option(help="Idempotency key: a retry returns the same answer, free.")
    ] = None
    out: Annotated[Path | None, typer.Option(help="Write the public record (JSON).")] = None
    report: Annotated[Path | None, typer.Option(help="Write the report (HTML).")] = None
    sealed_report: Annotated[
        Path | None,
        typer.Option(help="Write the owner's report, mode 0600: exposure, plan, attacks."),
    ] = None
    audit: Annotated[
        bool, typer.Option(help="Run all attacks for the sealed report, not the quick ones.")
    ] = False


@dataclass
class Comparing(Question):
    """Which methods and budgets are compared."""

    methods: Annotated[str, typer.Option(help="Names, with commas.")] = "equilibrium,auto-pac"
    budgets: Annotated[str, typer.Option(help="Nats, with commas.")] = "0.03,0.1,0.3,1"


@dataclass
class Attacking(Question):
    """How hard to attack."""

    games: Annotated[int, typer.Option(help="Number of games.")] = 20_000


@dataclass
class Reading:
    """A file to read."""

    file: Annotated[Path, typer.Argument(help="A record, a certificate or a ledger.")]
    ledger: Annotated[
        str | None, typer.Option(help="Ledger that must hold the record's receipt.")
    ] = None
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@dataclass
class Accounting:
    """What to do with a ledger."""

    ledger: Annotated[str, typer.Argument(help="A file or postgresql:// URL.")]
    cap: Annotated[float | None, typer.Option(help="Set a cap in nats, on the record.")] = None
    dataset: Annotated[str | None, typer.Option(help="The cap is this dataset's.")] = None
    analyst: Annotated[str | None, typer.Option(help="The cap is this analyst's.")] = None
    export: Annotated[
        Path | None, typer.Option(help="Write all entries as JSON, for the owner.")
    ] = None
    trust_head: Annotated[
        bool,
        typer.Option("--trust-head", help="Make a new anchor, on the record: after a move."),
    ] = False
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@dataclass
class Rendering:
    """Which record becomes which report."""

    record: Annotated[Path, typer.Argument(help="A record that `release --out` wrote.")]
    out: Annotated[Path, typer.Option(help="The report to write.")] = Path("report.html")
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@dataclass
class Reproducing:
    """Which experiment of the paper, from which data, how much of it."""

    dataset: Annotated[
        str, typer.Argument(help="iris, rice, mnist, cifar10, cifar100, ag_news, or all.")
    ]
    data: Annotated[Path, typer.Option(help="Folder of the datasets.")] = Path("data")
    out: Annotated[Path, typer.Option(help="Folder for tables and panels.")] = Path("results")
    cache: Annotated[
        Path | None, typer.Option(help="Folder of trained classifiers; in your cache by default.")
    ] = None
    download: Annotated[
        bool, typer.Option("--download", help="Fetch missing data from its publisher.")
    ] = False
    full: Annotated[
        bool, typer.Option("--full", help="Train SR-PAC at every budget, not at three.")
    ] = False
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version, in seconds: for a first look.")
    ] = False
    seed: Annotated[int, typer.Option(help="Study randomness.")] = 0
    jobs: Annotated[int, typer.Option(help="Processes; -1: one a core.")] = -1
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


def takes(options: type[Any], function: Callable[[Any], int]) -> Callable[..., int]:
    """Return a function of one options record as one with a parameter for each of its fields."""

    def run(**given: Any) -> int:
        return function(options(**given))

    run.__annotations__ = {f.name: f.type for f in fields(options)}
    run.__signature__ = inspect.Signature([  # type: ignore[attr-defined]
        inspect.Parameter(
            f.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if f.default is MISSING else f.default,
            annotation=f.type,
        )
        for f in fields(options)
    ])  # fmt: skip
    return run
