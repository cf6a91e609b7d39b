"""A million people under the promise *sample*: time and peak memory of each command.

Run it with `python -m benchmarks.people [people] [part ...]`; every part is a process of its own,
so that its peak of memory (`ru_maxrss`) is its own too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GROUPS = 10
SECONDS, GIGABYTES = 120.0, 4.0
"""What each part may take."""
_MAKE = """
import sys, numpy as np, polars
n, folder = int(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(0)
table = polars.DataFrame({
    "id": rng.permutation(n) + 10_000_000,
    "place": rng.choice([f"p{i}" for i in range(10)], n),
    "value": rng.lognormal(3.0, 1.0, n).round(2),
})
table.write_csv(f"{folder}/people.csv")
table.write_parquet(f"{folder}/people.parquet")
table.with_columns(polars.col("id").cast(polars.String)).write_parquet(f"{folder}/named.parquet")
"""
_PYTHON = {
    "python subsets": """
source = rpac.Subsets(f"{folder}/people.parquet", unit="id")
release = rpac.privatize(rpac.statistics.mean("value"), source, rpac.SuccessRate(0.55))
print(rpac.audit(release).verdict)
""",
    "python text ids": """
source = rpac.Subsets(f"{folder}/named.parquet", unit="id")
release = rpac.privatize(rpac.statistics.mean("value"), source, rpac.SuccessRate(0.55))
print(rpac.audit(release).verdict)
""",
    "python function": """
source = rpac.Subsets(f"{folder}/people.parquet", unit="id")
release = rpac.privatize(lambda frame: frame["value"].mean(), source, rpac.SuccessRate(0.55))
print(rpac.audit(release).verdict)
""",
    "python pandas": """
import pandas as pd
frame = pd.read_parquet(f"{folder}/people.parquet")
source = rpac.Subsets(frame, unit="id")
release = rpac.privatize(lambda frame: frame["value"].mean(), source, rpac.SuccessRate(0.55))
print(rpac.audit(release).verdict)
""",
    "python array": """
import numpy as np
values = np.random.default_rng(0).lognormal(3.0, 1.0, n)
release = rpac.privatize(np.mean, rpac.Subsets(values), rpac.SuccessRate(0.55))
print(rpac.audit(release).verdict)
""",
    "python database": """
db = rpac.Database({"people": f"{folder}/people.parquet"}, unit="id", public=["place"])
query = db.query("SELECT place, avg(value) AS v FROM people GROUP BY place ORDER BY place")
release = rpac.privatize(query, db.source, rpac.SuccessRate(0.55))
print(rpac.audit(release).verdict)
""",
}
_TEXT = "SELECT place, avg(value) AS v, count(*) AS n FROM people GROUP BY place ORDER BY place"
_ASKED = {
    "mean": ["--statistic", "mean(value)"],
    "groups": ["--statistic", "group_by(place, mean(value), p0, p1, p2, p3, p4)"],
    "sql": ["--public", "place", "--sql", _TEXT],
}
_DONE = {
    "audit": ["audit"],
    "sealed": ["release", "--sealed-report", "sealed.html", "--out", "record.json"],
    "success": ["release", "--success", "0.55", "--out", "record.json"],
    "full": ["release", "--success", "0.55", "--audit", "--sealed-report", "sealed.html",
             "--report", "report.html", "--ledger", "books.db", "--cap", "5"],
}  # fmt: skip


def commands() -> dict[str, list[str]]:
    """Return the words of every part by its name."""
    found = {}
    for asked, question in _ASKED.items():
        for done, (verb, *more) in _DONE.items():
            file = "people.csv" if done == "audit" else "people.parquet"
            words = [verb, file, "--protect", "sample", "--unit", "id", *question, *more]
            found[f"{done} {asked}"] = ["-m", "rpac", *words]
    for name, code in _PYTHON.items():
        head = "import sys, rpac\nn, folder = int(sys.argv[1]), '.'\n"
        found[name] = ["-c", head + code]
    return found


def measured(words: list[str], folder: str, people: int) -> tuple[float, float, float, int]:
    """Run one part; return seconds, processor seconds, its peak in GB, and its exit code."""
    state = {"XDG_STATE_HOME": f"{folder}/state", "OMP_NUM_THREADS": "1"}
    for books in Path(folder).glob("books.db*"):
        books.unlink()
    start = time.perf_counter()
    with open(f"{folder}/said", "wb") as said:
        words = [*words, str(people)] if words[0] == "-c" else words
        child = subprocess.Popen(
            [sys.executable, *words], cwd=folder, env=os.environ | state, stdout=said, stderr=said
        )
        _, status, used = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20, status


def main(people: int, wanted: list[str]) -> None:
    """Print a table: a line for each part."""
    print(f"{people:,} people; one thread\n\n| part | s | processor s | peak GB | |")
    print("| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", _MAKE, str(people), folder], check=True)
        for name, words in commands().items():
            if wanted and name not in wanted:
                continue
            seconds, busy, peak, status = measured(words, folder, people)
            fine = status == 0 and seconds <= SECONDS and peak <= GIGABYTES
            note = "" if fine else f"MISSED (status {status})"
            print(f"| {name} | {seconds:.1f} | {busy:.1f} | {peak:.2f} | {note} |", flush=True)
            if status:
                print(Path(f"{folder}/said").read_text()[-800:], file=sys.stderr)


if __name__ == "__main__":
    given = sys.argv[1:]
    size = int(given.pop(0)) if given and given[0].isdigit() else 1_000_000
    main(size, given)
