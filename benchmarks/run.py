"""The long statistical runs. `make bench` prints Markdown; RESULTS.md keeps what it printed.

Run some of it with `python -m benchmarks.run name ...`.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import brentq
from scipy.stats import binomtest

import rpac
from benchmarks import neural
from rpac.oracles import laws, quadrature_nats, sign_cube

SHARED = Path(os.environ.get("RPAC_SHARED", Path(__file__).resolve().parents[2] / "shared"))
CONFIDENCE = 0.9


def table(title: str, head: list[str], rows: list[list[object]]) -> None:
    print(f"\n## {title}\n\n| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    for row in rows:
        cells = (f"{v:.5g}" if isinstance(v, float) else str(v) for v in row)
        print(f"| {' | '.join(cells)} |")


def planning() -> None:
    """Point 1: the planning figure against quadrature."""
    truths = json.loads((SHARED / "oracles" / "truths.json").read_text())
    rows: list[list[object]] = []
    for case in truths["mi_gaussian_1d"] + truths["mi_gaussian_2d"]:
        cov = case.get("cov", [[case.get("sigma", 0) ** 2]])
        outputs = rpac.Outputs(np.asarray(case["atoms"], float), case["p"])
        noise = rpac.GaussianNoise(cov)
        start = time.perf_counter()
        ideal = rpac.certify(outputs, noise)
        seconds = time.perf_counter() - start
        released = rpac.certify(outputs, rpac.tabulate(outputs, noise))
        name = f"{case.get('name', 'qpsk')} {case.get('sigma', cov)}"
        rows.append([name, ideal.lower, case["mi"], ideal.bound, ideal.bound / case["mi"],
                     released.bound, released.bound / ideal.bound - 1, seconds])  # fmt: skip
    table("Planning figure and released law against quadrature (nats)",
          ["case", "lower", "truth", "bound", "bound / truth", "released", "released / ideal - 1",
           "s"], rows)  # fmt: skip


@rpac.vectorized
def identity(stack: np.ndarray) -> np.ndarray:
    return stack


def open_bounds(name: str, dim: int, sigma: float, seeds: range) -> list[float]:
    law = next(law for law in laws() if law.name == name)
    noise = rpac.GaussianNoise(sigma**2 * np.eye(dim))
    source = law.source(dim)
    return [rpac.certify(rpac.simulate(source, identity, seed=s), noise, CONFIDENCE).bound
            for s in seeds]  # fmt: skip


def open_distributions(repeats: int = 2_000) -> None:
    """Point 3: coverage and tightness for twelve laws; rows appear as they are done."""
    table(
        f"Open distributions: {repeats} repeats of 10,000 draws, confidence {CONFIDENCE}",
        ["d", "law", "truth", "median bound", "ratio", "violations", "p", "<= 1.25 truth + 0.01"],
        [],
    )
    chunks = [range(a, min(a + 100, repeats)) for a in range(0, repeats, 100)]
    for dim in (1, 3, 10):
        for law in laws():
            truth = dim * law.nats(1.0)
            parts = Parallel(n_jobs=2)(delayed(open_bounds)(law.name, dim, 1.0, c) for c in chunks)
            found = np.concatenate(parts)
            misses = int((found < truth).sum())
            p = float(binomtest(misses, repeats, 1 - CONFIDENCE, "greater").pvalue)
            median = float(np.median(found))
            tight = ("yes" if median <= 1.25 * truth + 0.01 else "NO") if law.light else "-"
            cells = f"{truth:.5g} | {median:.5g} | {median / truth:.4g} | {misses} | {p:.3g}"
            print(f"| {dim} | {law.name} | {cells} | {tight} |", flush=True)


def needed_sigma(dim: int, nats: float) -> float:
    return float(brentq(lambda s: dim * quadrature_nats([-1, 1], [0.5, 0.5], s) - nats, 0.2, 40))


def sabotage(runs: int = 100) -> None:
    """Point 4: noise at 0.97 and 1.03 of the power that exact MI = budget needs."""
    rows: list[list[object]] = []
    for dim, budget in ((2, 0.5), (3, 1.0), (5, 2.0)):
        sigma = needed_sigma(dim, budget)
        cube = sign_cube(dim, sigma)
        for share in (0.97, 1.03):
            refused = 0
            noise = rpac.GaussianNoise(share * sigma**2 * np.eye(dim))
            for _ in range(runs):
                outputs = rpac.Outputs(cube.outputs.values)
                law = rpac.tabulate(outputs, noise)
                try:
                    rpac.certify(outputs, law, budget=budget, draws=200_000)
                except rpac.BudgetExceeded:
                    refused += 1
            rows.append([dim, budget, share, f"{refused} / {runs}"])
    table("Sabotage: sign cubes, released law, 200,000 judging draws, confidence 1 - 1e-6",
          ["d", "budget", "share of the needed power", "refused"], rows)  # fmt: skip


def start_up() -> None:
    """Point 6: import time."""
    probe = "import time; t = time.perf_counter(); import rpac; print(time.perf_counter() - t)"
    runs = [float(subprocess.check_output([sys.executable, "-c", probe])) for _ in range(11)]
    bare = [float(subprocess.check_output([sys.executable, "-c", probe.replace("rpac", "numpy")]))
            for _ in range(11)]  # fmt: skip
    table("Start-up (median of 11, ms)", ["import rpac (loads on first use)", "import numpy alone"],
          [[1e3 * statistics.median(runs), 1e3 * statistics.median(bare)]])  # fmt: skip


def speed() -> None:
    """Seconds for a certificate, and draws a second of the release kernel."""
    rows: list[list[object]] = []
    rng = np.random.default_rng(0)
    for m, dim in ((512, 1), (512, 10), (512, 1_000), (4_096, 10), (10_000, 10)):
        outputs = rpac.Outputs(rng.normal(size=(m, dim)))
        start = time.perf_counter()
        noise = rpac.calibrate(outputs, 0.5)
        middle = time.perf_counter()
        certificate = rpac.certify(outputs, rpac.tabulate(outputs, noise))
        end = time.perf_counter()
        rows.append([m, dim, middle - start, end - middle, certificate.bound, certificate.grade])
    table("Auto-PAC at 0.5 nats on normal outputs (seconds)",
          ["worlds", "d", "calibrate", "certify", "bound", "grade"], rows)  # fmt: skip
    axis = rpac.LatticeNoise.gaussian(1.0, 1024.0)
    start = time.perf_counter()
    axis.at(rpac.noise.base.system_uniforms(10_000_000))
    rate = 10_000_000 / (time.perf_counter() - start)
    table("Release kernel", ["table draws a second"], [[f"{rate:,.0f}"]])


def equilibria() -> None:
    """Least noise against independent optima, and against exact Auto-PAC."""
    truths = json.loads((SHARED / "oracles" / "truths.json").read_text())
    rows: list[list[object]] = []
    for key in ("lattice_optimum", "gaussian_equilibrium_2d"):
        for case in truths[key]:
            outputs = rpac.Outputs(np.array(case["atoms"]), case["p"])
            start = time.perf_counter()
            noise = rpac.calibrate(outputs, case["budget"])
            seconds = time.perf_counter() - start
            closed = rpac.calibrate(outputs, case["budget"], method="auto-pac")
            bound = rpac.certify(outputs, noise).bound
            against = [noise.power / case["power"], noise.power / closed.power]
            within = bound <= case["budget"]
            rows.append([case["name"], case["budget"], *against, bound, within, seconds])
    table("Equilibrium against independent optima",
          ["case", "budget", "power / optimum", "power / Auto-PAC", "bound", "within", "s"],
          rows)  # fmt: skip


def clustered(m: int, d: int) -> rpac.Outputs:
    rng = np.random.default_rng(0)
    centres = 3 * rng.normal(size=(10, d))
    return rpac.Outputs(rng.normal(size=(m, d)) * np.linspace(1, 0.2, d)
                        + centres[rng.integers(0, 10, m)])  # fmt: skip


def calibration_cost() -> None:
    """Time and memory of the equilibrium, calibration only."""
    rows: list[list[object]] = []
    for m, d, budget in ((5_000, 10, 3.0), (5_000, 10, 0.5), (10_000, 100, 3.0)):
        outputs = clustered(m, d)
        start = time.perf_counter()
        noise = rpac.calibrate(outputs, budget)
        seconds = time.perf_counter() - start
        closed = rpac.calibrate(outputs, budget, method="auto-pac")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        rows.append([m, d, budget, seconds, noise.power / closed.power, f"{peak:.2f} GiB"])
    head = ["worlds", "d", "budget", "s", "power / Auto-PAC", "peak memory so far"]
    table("Equilibrium on clustered outputs, calibration only", head, rows)
    outputs = clustered(5_000, 10)
    budgets = np.geomspace(0.25, 6.0, 20).tolist()
    start = time.perf_counter()
    rpac.calibrate(outputs, budgets[13])
    single = time.perf_counter() - start
    start = time.perf_counter()
    noises = rpac.curve(outputs, budgets)
    whole = time.perf_counter() - start
    kept = sum(rpac.certify(outputs, rpac.tabulate(outputs, noise)).bound <= b
               for b, noise in zip(budgets, noises, strict=True))  # fmt: skip
    table("A curve of 20 budgets, d = 10, 5,000 worlds (seconds)",
          ["one budget (2.2 nats)", "20 budgets", "ratio", "certified within budget"],
          [[single, whole, whole / single, f"{kept} / 20"]])  # fmt: skip


ALL = {"planning": planning, "sabotage": sabotage, "start_up": start_up, "speed": speed,
       "equilibria": equilibria, "calibration_cost": calibration_cost,
       "open": open_distributions} | neural.PARTS  # fmt: skip


def main() -> None:
    names = sys.argv[1:] or list(ALL)
    print("# Benchmark results\n")
    print(f"Command: `make bench`; OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS', 'unset')}; "
          f"{os.cpu_count()} cores; Python {platform.python_version()}, NumPy {np.__version__}, "
          f"rpac {rpac.__version__}.")  # fmt: skip
    for name in names:
        start = time.perf_counter()
        ALL[name]()
        print(f"\n({name}: {time.perf_counter() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
