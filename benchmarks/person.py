"""What one person's membership costs to state, at every size; prices against charges; noise.

Each part of `adult` runs in a process of its own, whose peak memory is reported. Run some of it
with `python -m benchmarks.person name ...`; times are with the OMP_NUM_THREADS that is printed.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import rpac
from rpac.report.plan import plan

SHARED = Path(os.environ.get("RPAC_SHARED", Path(__file__).resolve().parents[2] / "shared"))
ADULT = SHARED / "data" / "adult.csv.gz"
Rows = list[list[object]]


def figure(units: int = 100_000, worlds: int = 512) -> Rows:
    """Time a certificate with the membership figure: numbers, seconds, figure, nats."""
    data = np.random.default_rng(0).lognormal(10.0, 1.0, size=(units, 10))
    source = rpac.Subsets(data, worlds=worlds)
    rows: Rows = []
    for numbers in (1, 10):
        outputs = rpac.simulate(source, lambda x, k=numbers: x[:, :k].mean(axis=0))
        law = rpac.tabulate(outputs, rpac.calibrate(outputs, 0.1, "auto-pac"))
        start = time.perf_counter()
        made = rpac.certify(outputs, law)
        seconds = time.perf_counter() - start
        rows.append([f"{numbers} numbers", seconds, made.worst_unit_success, made.bound])
    return rows


def _question() -> tuple[rpac.Subsets, rpac.statistics.Statistic]:
    frame = pd.read_csv(ADULT)
    return rpac.Subsets(frame, unit="rows"), rpac.statistics.mean("hours_per_week")


def adult_part(name: str) -> str:
    """Run one part here, and return its result in words."""
    source, mean = _question()
    if name == "plan":
        made = plan(rpac.simulate(source, mean), rpac.SuccessRate(0.55))
        return f"{made.nats:.4g} nats planned, membership {made.membership}"
    if name == "audit":
        return rpac.audit(rpac.privatize(mean, source, 0.1)).verdict.split(":")[0]
    released = rpac.privatize(mean, source, rpac.SuccessRate(0.55)).certificate
    return f"{released.bound:.4g} nats, membership {released.worst_unit_success:.5f}"


def sealed_part() -> str:
    """Release on the command line with a sealed report."""
    from rpac.cli.program import main

    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "adult.csv"
        pd.read_csv(ADULT).to_csv(table, index=False)
        report = Path(folder) / "sealed.html"
        asked = ["release", str(table), "--unit", "rows", "--statistic", "mean(hours_per_week)"]
        code = main([*asked, "--budget", "0.1", "--sealed-report", str(report)])
        return f"exit code {code}, {report.stat().st_size} bytes"


def adult() -> Rows:
    """Time plan, release, audit and sealed report of Adult's mean, each in a fresh process."""
    rows: Rows = []
    for name in ("plan", "release", "audit", "sealed"):
        start = time.perf_counter()
        run = [sys.executable, "-m", "benchmarks.person", "--part", name]
        out = subprocess.run(run, capture_output=True, text=True, check=True).stdout  # noqa: S603
        *_, said, memory = out.strip().split("\n")
        rows.append([name, time.perf_counter() - start, f"{float(memory):.2f} GB", said])
    return rows


def _random_question(rng: np.random.Generator) -> tuple[rpac.Subsets, object]:
    columns, n = int(rng.integers(1, 3)), int(rng.integers(30, 300))
    table = rng.lognormal(sigma=rng.uniform(0.2, 1.2), size=(n, columns))
    source = rpac.Subsets(table, worlds=int(rng.choice([16, 32, 64])))
    kinds = (
        lambda x: x.mean(axis=0),
        lambda x: np.median(x, axis=0),
        lambda x: (x > 1).sum(axis=0),
    )
    return source, kinds[rng.integers(3)]


def prices(questions: int = 500) -> Rows:
    """Hold plans against what releases were charged in the books.

    Kind of budget, releases, plans below the charge, median and largest ratio, and how many were
    withheld because of data.
    """
    budgets = {
        "nats": lambda rng, h: rpac.Nats(10 ** rng.uniform(-2, 0)),
        "bits": lambda rng, h: rpac.Bits(10 ** rng.uniform(-2, 0)),
        "residual entropy": lambda rng, h: rpac.ResidualEntropy(h - 10 ** rng.uniform(-2, 0)),
        "success rate": lambda rng, h: rpac.SuccessRate(rng.uniform(0.53, 0.8)),
    }
    rows: Rows = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder
        ledger = rpac.Ledger(f"{folder}/l.db", budget=1e6)
        for kind, make in budgets.items():
            rng, ratios, refused = np.random.default_rng(len(kind)), [], 0
            for i in range(questions):
                source, ask = _random_question(rng)
                outputs = rpac.simulate(source, ask)
                budget = make(rng, outputs.entropy)
                planned = plan(outputs, budget, "auto-pac").nats
                books = ledger.under(dataset=f"{kind} {i}")
                try:
                    made = rpac.privatize(ask, source, budget, ledger=books, method="auto-pac")
                    ratios.append(planned / max(made.receipt.nats, 1e-12))
                except rpac.Withheld:
                    refused += 1
            below = sum(ratio < 1 for ratio in ratios)
            row = [kind, len(ratios), below, float(np.median(ratios)), float(max(ratios)), refused]
            rows.append(row)
            print("prices", *row, flush=True)
    return rows


def noise(seeds: int = 5) -> Rows:
    """Mean log power of the noise on Adult, for the same promise: compare with another version."""
    frame = pd.read_csv(ADULT)[["hours_per_week", "age", "capital_gain"]].to_numpy(float)[:20_000]
    asked = {
        "mean hours": lambda x: x[:, 0].mean(),
        "mean age": lambda x: x[:, 1].mean(),
        "sum of gains": lambda x: x[:, 2].sum(),
        "count over 40": lambda x: int((x[:, 0] > 40).sum()),
        "two means": lambda x: x[:, :2].mean(axis=0),
    }
    rows: Rows = []
    for budget in (rpac.Nats(0.1), rpac.Nats(1.0)):
        for name, ask in asked.items():
            logs = []
            for seed in range(seeds):
                outputs = rpac.simulate(rpac.Subsets(frame, seed=seed), ask)
                logs.append(np.log(rpac.calibrate(outputs, budget).power))
            rows.append([repr(budget), name, float(np.exp(np.mean(logs))), float(np.std(logs))])
    return rows


PARTS = {"figure": figure, "adult": adult, "prices": prices, "noise": noise}


def main(names: list[str]) -> None:
    """Print the parts that are named; all of them by default."""
    warnings.simplefilter("ignore")
    if names[:1] == ["--part"]:
        print(sealed_part() if names[1] == "sealed" else adult_part(names[1]))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
        return
    print(f"OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS', 'unset')}")
    for name in names or list(PARTS):
        for row in PARTS[name]():
            print(name, *(f"{v:.5g}" if isinstance(v, float) else v for v in row), sep="  ")


if __name__ == "__main__":
    main(sys.argv[1:])
