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
        typer.Argument(
            help="CSV (.gz), Parquet or DuckDB files, or folders of Parquet; staff.csv is the "
            "table `staff` in SQL."
        ),
    ] = None
    unit: Annotated[
        str | None,
        typer.Option(help="Column that says whose row it is ('table.column'), or 'rows'."),
    ] = None
    protect: Annotated[
        str | None,
        typer.Option(
            help="Whom to protect: person (anybody, in the data or not; the default), or sample "
            "(which half of a pool was drawn; the pool is public)."
        ),
    ] = None
    sql: Annotated[str | None, typer.Option(help="A SELECT that aggregates.")] = None
    statistic: Annotated[
        str | None,
        typer.Option(
            help="Such as 'mean(salary)' or 'group_by(dept, count(), a, b)'; "
            "what is no plain word is quoted: '\"11th\"'."
        ),
    ] = None
    command: Annotated[
        str | None, typer.Option(help="A shell command that reads {file} and prints numbers.")
    ] = None
    budget: Annotated[
        float | None,
        typer.Option(help="Nats the answer may leak; for a sample 0.1 by default."),
    ] = None
    success: Annotated[
        float | None,
        typer.Option(
            help="Budget as the highest success of guessing whether a person is in, above 0.5 and "
            "below 1; for a person 0.55 by default."
        ),
    ] = None
    mu: Annotated[
        float | None, typer.Option(help="Budget as a distance: Gaussian differential privacy.")
    ] = None
    caps: Annotated[
        list[str] | None,
        typer.Option(help="Known limits of a person's entries: COLUMN=low:high, or rows=5."),
    ] = None
    middle: Annotated[
        list[str] | None,
        typer.Option(
            help="What averages are counted from: COLUMN=40; answer=0,0 for a --command that "
            "prints two numbers."
        ),
    ] = None
    schema: Annotated[
        Path | None,
        typer.Option(help="Public CSV: column,type,floor,step,low,high,middle,domain (a|b|c)."),
    ] = None
    size: Annotated[
        int | None, typer.Option(help="About how many people there are, if that is public.")
    ] = None
    way: Annotated[
        str | None,
        typer.Option(help="How it is asked: auto, contributions, blocks or leave-one-out."),
    ] = None
    blocks: Annotated[
        int | None, typer.Option(help="Number of blocks of people, for functions.")
    ] = None
    public: Annotated[
        list[str] | None, typer.Option(help="A public table; for a sample also a column of groups.")
    ] = None
    keys: Annotated[
        list[str] | None, typer.Option(help="Declared groups: COLUMN=a,b,c, each once.")
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
    worlds: Annotated[int | None, typer.Option(help="Number of half-samples of a sample.")] = None
    seed: Annotated[int | None, typer.Option(help="Which half-samples; never the noise.")] = None
    method: Annotated[
        str | None, typer.Option(help="Calibrator of a sample's noise; equilibrium by default.")
    ] = None
    jobs: Annotated[
        int, typer.Option(help="Processes that run a function or command; -1: one a core.")
    ] = 1
    executor: Annotated[
        str | None,
        typer.Option(
            help="For a sample: where they run, in place of --jobs: dask://host:8786, "
            "ray://host:10001, or dask, ray, joblib on this machine."
        ),
    ] = None
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="For a sample: folder for worlds that are done, to go on after a crash. It holds "
            "answers without noise: mode 0700, to be deleted afterwards."
        ),
    ] = None
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
    author: Annotated[str | None, typer.Option(help="Who publishes: named in reports.")] = None
    whole: Annotated[
        bool,
        typer.Option("--whole", help="Print counts not below 0; the record keeps what they were."),
    ] = False
    audit: Annotated[
        bool,
        typer.Option(
            help="Run all attacks. For a person what they reach is in --sealed-report, which must "
            "be given; for a sample the verdict is printed too, in place of two quick attacks."
        ),
    ] = False


@dataclass
class Comparing(Question):
    """Which methods and budgets are compared."""

    methods: Annotated[
        str | None,
        typer.Option(help="For a sample: names, with commas; equilibrium,auto-pac by default."),
    ] = None
    budgets: Annotated[
        str | None,
        typer.Option(
            help="With commas: success rates between 0.5 and 1 for a person, nats for a sample."
        ),
    ] = None


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
    dataset: Annotated[
        str | None, typer.Option(help="The cap, or --export-dp, is this dataset's.")
    ] = None
    analyst: Annotated[str | None, typer.Option(help="The cap is this analyst's.")] = None
    export: Annotated[
        Path | None, typer.Option(help="Write all entries as JSON, for the owner.")
    ] = None
    export_dp: Annotated[
        Path | None,
        typer.Option(help="Write what was spent on presence as events of dp_accounting (JSON)."),
    ] = None
    delta: Annotated[
        float | None, typer.Option(help="Show epsilon at this delta, such as 1e-5, for presence.")
    ] = None
    trust_head: Annotated[
        bool,
        typer.Option("--trust-head", help="Make a new anchor, on the record: after a move."),
    ] = False
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@dataclass
class Recovering:
    """Where charges without a record are, and where their records go."""

    ledger: Annotated[str, typer.Argument(help="A file or postgresql:// URL.")]
    out: Annotated[Path, typer.Option(help="Folder for the records.")] = Path("recovered")
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@dataclass
class Rendering:
    """Which record becomes which report."""

    record: Annotated[Path, typer.Argument(help="A record that `release --out` wrote.")]
    out: Annotated[Path, typer.Option(help="The report to write.")] = Path("report.html")
    author: Annotated[str | None, typer.Option(help="Who publishes: named in it.")] = None
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
