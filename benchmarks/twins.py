"""Twin runs: the whole command-line release with a person and without, told apart by a reader.

For 30 persons of a table of 2,000 (the ten most influential, ten of the smallest groups, ten
others) `rpac release` runs 300 times on files that have all of the person's rows and 300 times on
files that have none, in pairs of random order. A reader (`twin_reader`) is given everything that is
printed and written for the public, and must not do better than the certificate says. This finds
leaks in text, names, sizes, refusals; exact curves are proved elsewhere.

    python -m benchmarks.twins [--persons 30] [--runs 300] [--each 1] [--jobs 1] [--only faults]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import rpac
from benchmarks.twin_reader import Found, Score, Seen, read, scores

PEOPLE, SUCCESS, ALARM = 2_000, 0.55, 1e-3
DEPTS = ("lab", "ops", "sales", "legal", "it", "care", "works", "board")
REGIONS = ("north", "south", "east", "west", "island", "sea")
DATA = ("staff.csv", "visits.csv")
OWNED = ("books.db", "state", *DATA)
"""What only the owner of the data has: not shown to the reader."""
ODD = ("n/a", "=1+1", "1e999", "'; --", 'say "x",\nor y', "\u00fc\u2603", "NaN", "0x10", "x" * 3000)

Files = dict[str, bytes]


# --- the table ------------------------------------------------------------------------------------


@cache
def frames(people: int = PEOPLE) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return staff and their visits, made up; some rows are nobody's, some entries are odd."""
    rng = np.random.default_rng(16)
    dept = rng.choice(DEPTS[:-1], people, p=(0.3, 0.2, 0.2, 0.1, 0.1, 0.07, 0.03)).astype(object)
    region = rng.choice(REGIONS[:4], people).astype(object)
    dept[:3], region[2:6], dept[6], region[7] = "board", "island", "secret", "sea"
    salary = rng.lognormal(10.6, 0.5, people).round(2)
    salary[[0, 10, 11, 12, 13]] = 9e6, 4e6, -2e6, 1.5e6, 8e5
    staff = pd.DataFrame({
        "id": [f"p{i}" for i in range(people)],
        "name": [f"Name {i}" for i in range(people)],
        "dept": dept, "region": region, "salary": salary,
        "hours": rng.normal(38, 6, people).round(1),
        "bonus": np.where(rng.random(people) < 0.7, None, rng.exponential(2e3, people).round()),
        "note": rng.integers(0, 100, people).astype(str).astype(object),
        "joined": pd.Timestamp("2005-01-01") + pd.to_timedelta(rng.integers(0, 7000, people), "D"),
    })  # fmt: skip
    staff["joined"] = staff["joined"].dt.strftime("%Y-%m-%d")
    staff.loc[14, ["hours", "joined"]] = [900.0, "unknown"]
    staff.loc[15, "bonus"], staff.loc[25, "bonus"] = 3e6, "pending"
    staff.loc[20:28, "note"] = list(ODD)
    staff.loc[29, "id"] = None
    return staff, _visits(rng, people)


def _visits(rng: np.random.Generator, people: int) -> pd.DataFrame:
    times = rng.poisson(3, people)
    times[[16, 17]] = 400, 60
    owner = np.repeat(np.arange(people), times)
    visits = pd.DataFrame({
        "id": [f"p{i}" for i in owner],
        "day": np.where(owner == 16, np.arange(len(owner)), rng.integers(0, 365, len(owner))) % 365,
        "cost": rng.gamma(2.0, 50.0, len(owner)).round(2),
    })  # fmt: skip
    visits.loc[owner == 18, "cost"] = 1e6
    visits.loc[owner == 19, "cost"] = None
    visits.loc[rng.integers(0, len(owner), 20), "id"] = None
    return visits


def persons(people: int = PEOPLE) -> dict[str, list[int]]:
    """Return ten of each kind, as rows of staff: influential, of small groups, others."""
    staff, visits = frames(people)
    share = np.zeros(people)
    sums = visits.groupby("id")["cost"].agg(["sum", "size"]).reindex(staff["id"]).fillna(0)
    columns = [pd.to_numeric(staff[c], "coerce").fillna(0) for c in ("salary", "hours", "bonus")]
    for column in (*columns, sums["sum"], sums["size"]):
        away = np.abs(column.to_numpy() - np.median(column))
        share = np.maximum(share, away / away.sum())
    top = np.argsort(-share, kind="stable")[:10].tolist()
    size = staff.groupby(["dept", "region"])["name"].transform("size").to_numpy()
    small = [i for i in np.argsort(size, kind="stable").tolist() if i not in top][:10]
    odd = [29, 20, 22, 25, 28, 19]
    more = [i for i in np.random.default_rng(1).permutation(people).tolist() if i > 40]
    others = [i for i in [*odd, *more] if i not in top and i not in small][:10]
    return {"influential": top, "small groups": small, "others": others}


def files(without: int | None = None, people: int = PEOPLE) -> Files:
    """Return the data files; without all rows of one person, if one is named."""
    staff, visits = frames(people)
    if without is not None:
        gone = staff["id"][without]
        staff = staff.drop(index=without)
        visits = visits[visits["id"] != gone] if isinstance(gone, str) else visits
    return {
        name: frame.to_csv(index=False).encode()
        for name, frame in zip(DATA, (staff, visits), strict=True)
    }


# --- questions ------------------------------------------------------------------------------------

KEYS = ("--keys", "dept=" + ",".join(DEPTS), "--keys", "region=" + ",".join(REGIONS))
SQL = (*DATA, "--unit", "staff.id", "--link", "visits.id=staff.id", *KEYS, "--sql")
QUESTIONS: dict[str, tuple[str, ...]] = {
    "mean": ("staff.csv", "--unit", "id", "--statistic", "mean(salary)"),
    "sums": (*SQL, "SELECT sum(salary) AS pay, sum(bonus) AS bonus, sum(note) AS notes,"
             " sum(hours) AS hours FROM staff WHERE joined >= DATE '2006-01-01'"),
    "counts": (*SQL, "SELECT count(*) AS people, count(bonus) AS bonuses,"
               " count(*) FILTER (WHERE salary > 100000) AS rich FROM staff"),
    "groups": (*SQL, "SELECT dept, region, count(*) AS n, avg(hours) AS hours, sum(salary) AS pay"
               " FROM staff GROUP BY dept, region"),
    "join": (*SQL, "SELECT s.dept, sum(v.cost) AS cost, count(*) AS visits"
             " FROM visits v JOIN staff s ON v.id = s.id GROUP BY s.dept"),
}  # fmt: skip
"""Words of the command line; each is a release of its own, at its own price."""
DAYS, TOP = ",".join(map(str, range(100))), "salary=0:9000000"
NARROW: dict[str, tuple[str, ...]] = {
    "sum": ("staff.csv", "--unit", "id", "--statistic", "sum(salary)"),
    "capped sum": ("staff.csv", "--unit", "id", "--caps", TOP, "--statistic", "sum(salary)"),
    "bonuses": ("staff.csv", "--unit", "id", "--statistic", "sum(bonus)"),
    "regions": ("staff.csv", "--unit", "id", "--statistic",
                f"group_by(region, count(), {','.join(REGIONS)})"),
    "days": ("visits.csv", "--unit", "id", "--caps", "rows=1", "--statistic",
             f"group_by(day, count(), {DAYS})"),
}  # fmt: skip
"""Questions in which one person weighs as much as the promise lets them: for planted faults."""


@dataclass(frozen=True)
class Cell:
    """One person and one question: what is told apart.

    Attributes:
        person: Row of staff.
        question: Name of the question.
        runs: How many with the person, and how many without.
        json: Whether the answer is printed for programs.
        success: What is certified.
    """

    person: int
    question: str
    runs: int
    json: bool = False
    success: float = SUCCESS
    people: int = PEOPLE

    @property
    def words(self) -> list[str]:
        """The command line."""
        written = ("--ledger", "books.db", "--cap", "9", "--out", "record.json")
        asked = ("release", *(QUESTIONS | NARROW)[self.question], "--success", f"{self.success:g}")
        return [*asked, *written, "--report", "report.html", *(["--json"] if self.json else [])]


# --- runs -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Work in a new folder, in memory where there is one; anchors of ledgers lie in it too."""
    fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    before, state = Path.cwd(), os.environ.get("XDG_STATE_HOME")
    made = Path(tempfile.mkdtemp(dir=fast))
    try:
        yield made
    finally:
        os.chdir(before)
        os.environ.pop("XDG_STATE_HOME", None)
        if state is not None:
            os.environ["XDG_STATE_HOME"] = state
        shutil.rmtree(made)


def inside(words: Sequence[str]) -> tuple[int, str, str]:
    """Run a command line in this process; return code, output and errors."""
    from rpac.cli.program import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    return code, out.getvalue(), err.getvalue()


def process(words: Sequence[str]) -> tuple[int, str, str]:
    """Run a command line as a process of its own, of the same source."""
    source = os.environ | {"PYTHONPATH": str(Path(rpac.__file__).resolve().parents[1])}
    command = [sys.executable, "-m", "rpac", *words]
    ran = subprocess.run(command, capture_output=True, check=False, env=source)  # noqa: S603
    return ran.returncode, ran.stdout.decode(), ran.stderr.decode()


def release(words: Sequence[str], data: Files, place: Path, run: Any = inside) -> Seen:
    """Release once in an empty folder of a fixed name; return what an outsider sees of it."""
    work = place / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    os.chdir(work)
    os.environ["XDG_STATE_HOME"] = str(work / "state")
    for name, content in data.items():
        Path(name).write_bytes(content)
    code, out, err = run(words)
    found = {p.name: p for p in sorted(work.iterdir()) if not p.name.startswith(OWNED)}
    texts = {name: p.read_text() for name, p in found.items()}
    sizes = {name: p.stat().st_size for name, p in found.items()}
    return Seen(code, {"stdout": out, "stderr": err} | texts, sizes)


def secrets_of(runs: int, seed: int) -> Any:
    """Return (2 runs,) whether the person is there: pairs, each in random order."""
    first = np.random.default_rng(seed).random(runs) < 0.5
    return np.stack([first, ~first], axis=1).ravel()


def told(cell: Cell, run: Any = inside) -> tuple[list[Found], Any]:
    """Run a cell; return the features of every run, and whether the person was there."""
    data = {True: files(people=cell.people), False: files(cell.person, cell.people)}
    secret = secrets_of(cell.runs, cell.person)
    with folder() as place:
        found = [read(release(cell.words, data[bool(there)], place, run)) for there in secret]
    return found, secret


def judged(cell: Cell, run: Any = inside) -> dict[str, Score]:
    """Run a cell, and return how well each way of guessing does."""
    found, secret = told(cell, run)
    failed = sum(run.numbers["exit code"] != 0 for run in found)
    if failed == len(found):
        raise RuntimeError(f"every release of {cell} failed")
    return scores(found, secret)


# --- the study ------------------------------------------------------------------------------------


FITTING = (
    (18, "join"), (16, "join"), (17, "join"), (0, "groups"), (14, "groups"), (2, "groups"),
    (7, "groups"), (0, "mean"), (11, "mean"), (12, "mean"), (13, "sums"),
)  # fmt: skip
"""Persons beside a question in which they weigh most: to whom the turn gives another."""


def fitting(runs: int) -> list[tuple[str, Cell]]:
    """Return cells of persons and the questions that fit them, beside those by turn."""
    return [("fitting", Cell(*pair, runs, bool(i % 2))) for i, pair in enumerate(FITTING)]


def cells(count: int, runs: int, each: int) -> list[tuple[str, Cell]]:
    """Return who is asked for by which questions: `each` for a person, all equally often."""
    kinds = [(kind, who) for kind, found in persons().items() for who in found]
    kinds = [kinds[i] for i in np.linspace(0, len(kinds) - 1, count).round().astype(int)]
    names = list(QUESTIONS)
    return [
        (kind, Cell(who, names[(i + 2 * j) % len(names)], runs, bool((i // 5 + j) % 2)))
        for i, (kind, who) in enumerate(kinds)
        for j in range(each)
    ]


def study(chosen: list[tuple[str, Cell]], jobs: int) -> list[dict[str, Score]]:
    """Judge all cells, in some processes; each is told on the error stream when it is done."""
    found = []
    with ProcessPoolExecutor(jobs) as pool:
        for (kind, cell), scored in zip(
            chosen, pool.map(judged, [cell for _, cell in chosen]), strict=True
        ):
            rights = {name: f"{score.right}/{score.runs}" for name, score in scored.items()}
            print(kind, cell, rights, file=sys.stderr, flush=True)
            found.append(scored)
    return found


def pooled(found: Sequence[dict[str, Score]]) -> dict[str, Score]:
    """Return the scores of all cells together."""
    total: dict[str, Score] = {}
    for scored in found:
        for name, score in scored.items():
            total[name] = total.get(name, Score(0, 0)) + score
    return total


def verdict(found: Sequence[dict[str, Score]], success: float = SUCCESS) -> tuple[float, float]:
    """Return the least chance of a cell, times the number of tests; and of the pool, likewise."""
    each = [score.chance(success) for scored in found for score in scored.values()]
    together = [score.chance(success) for score in pooled(found).values()]
    return min(each) * len(each), min(together) * len(together)


def _shown(title: str, found: Sequence[dict[str, Score]]) -> None:
    total = pooled(found)
    for name, score in total.items():
        rates = [scored[name].rate for scored in found if name in scored]
        print(f"| {title} | {name} | {len(rates)} | {score.runs} | {score.rate:.4f} "
              f"| {max(rates):.4f} |")  # fmt: skip


def report(chosen: list[tuple[str, Cell]], found: list[dict[str, Score]]) -> bool:
    """Print the table of a study; return whether everything stays within the certificate."""
    print("| cells | guesser | cells | test runs | pooled success | largest of a cell |")
    print("| --- | --- | --- | --- | --- | --- |")
    _shown("all", found)
    groupings: tuple[Callable[[tuple[str, Cell]], str], ...] = (
        lambda pair: pair[0],
        lambda pair: pair[1].question,
    )
    for of in groupings:
        for name in dict.fromkeys(map(of, chosen)):
            some = [s for pair, s in zip(chosen, found, strict=True) if of(pair) == name]
            _shown(name, some)
    alone, together = verdict(found)
    good = alone > ALARM and together > ALARM
    said = "within" if good else "BEYOND"
    print(f"\nleast chance at {SUCCESS:.0%}, Bonferroni: a cell {min(alone, 1):.3g}, "
          f"pooled {min(together, 1):.3g}: {said} the certificate")  # fmt: skip
    return good


def sample_of_processes(runs: int = 10) -> bool:
    """Run a few cells as processes of their own; pooled, since each has few runs."""
    found = [
        judged(Cell(who[0], question, runs), process)
        for who, question in zip(persons().values(), ("mean", "groups", "join"), strict=True)
    ]
    together = verdict(found)[1]
    rates = {name: f"{s.rate:.3f} of {s.runs}" for name, s in pooled(found).items()}
    print(f"as processes, 3 persons x {2 * runs} runs: {rates}")
    return together > ALARM


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--persons", type=int, default=30)
    given.add_argument("--runs", type=int, default=300)
    given.add_argument("--each", type=int, default=1, help="questions a person")
    given.add_argument("--jobs", type=int, default=1)
    given.add_argument("--only", choices=("study", "faults", "processes"))
    asked = given.parse_args()
    start, good = time.perf_counter(), True
    if asked.only in (None, "study"):
        chosen = cells(asked.persons, asked.runs, asked.each) + fitting(asked.runs)
        good &= report(chosen, study(chosen, asked.jobs))
    if asked.only in (None, "processes"):
        good &= sample_of_processes()
    if asked.only in (None, "faults"):
        from benchmarks.twin_faults import caught

        good &= caught(asked.jobs)
    print(f"(OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS')}, {asked.jobs} processes, "
          f"{time.perf_counter() - start:.0f} s)")  # fmt: skip
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
