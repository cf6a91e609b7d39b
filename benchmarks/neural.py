"""Stackelberg SR-PAC, sliced SR-PAC and gap corrections, measured; `make bench` calls `PARTS`."""

from __future__ import annotations

import json
import os
import resource
import time
from pathlib import Path

import numpy as np

import rpac
from rpac.oracles import quadrature_nats
from rpac.paper.corrections import donsker_varadhan, negentropy, sliced_wasserstein

SHARED = Path(os.environ.get("RPAC_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def table(title: str, head: list[str], rows: list[list[object]]) -> None:
    print(f"\n## {title}\n\n| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    for row in rows:
        cells = (f"{v:.5g}" if isinstance(v, float) else str(v) for v in row)
        print(f"| {' | '.join(cells)} |", flush=True)


def known_truths() -> None:
    """Closed form in ten dimensions, independent optima in two, a mixture on two points."""
    rows: list[list[object]] = []
    rng = np.random.default_rng(0)
    outputs = rpac.Outputs(rng.normal(size=(4_000, 10)) * 0.7 ** np.arange(10))
    closed = rpac.calibrate(outputs, 1.0, method="auto-pac").power
    play = rpac.Stackelberg().play(outputs, 1.0)
    bound = rpac.certify(outputs, rpac.tabulate(outputs, play.noise), budget=1.0).bound
    rows.append(
        ["normal, d = 10, 4,000 worlds", 1.0, play.noise.power / closed, play.attack.nats, bound]
    )
    truths = json.loads((SHARED / "oracles" / "truths.json").read_text())
    for case in truths["gaussian_equilibrium_2d"]:
        outputs = rpac.Outputs(np.array(case["atoms"]), case["p"])
        play = rpac.Stackelberg().play(outputs, case["budget"])
        law = rpac.tabulate(outputs, play.noise)
        bound = rpac.certify(outputs, law, budget=case["budget"]).bound
        ratio = play.noise.power / case["power"]
        rows.append([f"{case['name']}", case["budget"], ratio, play.attack.nats, bound])
    table("SR-PAC, Gaussian family, against known optima",
          ["problem", "budget", "power / optimum", "attack", "certificate"], rows)  # fmt: skip


def mixtures() -> None:
    """Two points at +-1, 0.6 nats: every family against the best Gaussian."""
    low, high = 0.1, 2.0
    for _ in range(60):
        middle = (low + high) / 2
        over = quadrature_nats([-1, 1], [0.5, 0.5], middle) > 0.6
        low, high = (middle, high) if over else (low, middle)
    outputs = rpac.Outputs([-1.0, 1.0])
    rows: list[list[object]] = []
    for family in ("gaussian", "laplace", "generalized-normal", "flow", "mixture"):
        play = rpac.Stackelberg(family=family).play(outputs, 0.6)
        law = rpac.tabulate(outputs, play.noise)
        bound = rpac.certify(outputs, law, budget=0.6).bound
        rows.append([family, play.noise.power / high**2, play.attack.nats, bound])
    optimum = rpac.calibrate(outputs, 0.6)
    rows.append(["best law on a lattice", optimum.power / high**2, "-", 0.6])
    table("Two points at +-1, 0.6 nats", ["family", "power / best Gaussian", "attack",
                                          "certificate"], rows)  # fmt: skip


def problems() -> list[tuple[str, rpac.Outputs, float, str]]:
    rng = np.random.default_rng(4)
    clusters = np.repeat([-3.0, 0.0, 4.0], 10) + 0.1 * rng.normal(size=30)
    corners = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]] * 16) + 0.05 * rng.normal(size=(64, 2))
    angle = rng.uniform(0, 2 * np.pi, 64)
    ring = np.stack([2 * np.cos(angle), np.sin(angle)], axis=1)
    people = rng.exponential(size=(40, 3)) ** 2
    means = rpac.simulate(rpac.Subsets(people, worlds=128), lambda w: w.mean(axis=0))
    return [
        ("two points", rpac.Outputs([-1.0, 1.0]), 0.6, "mixture"),
        ("rare event", rpac.Outputs([0.0, 4.0], [0.95, 0.05]), 0.1, "gaussian"),
        ("three clusters", rpac.Outputs(clusters), 0.8, "mixture"),
        ("exponential", rpac.Outputs(rng.exponential(size=64)), 0.5, "gaussian"),
        ("counts", rpac.Outputs(rng.poisson(3.0, size=50)), 0.5, "laplace"),
        ("four corners", rpac.Outputs(corners), 1.0, "gaussian"),
        ("ring", rpac.Outputs(ring), 1.5, "gaussian"),
        ("half-sample means, d = 3", means, 0.5, "gaussian"),
    ]


def fidelity() -> None:
    """Eight problems that are not Gaussian: attack <= truth <= certificate <= budget."""
    rows: list[list[object]] = []
    for name, outputs, budget, family in problems():
        play = rpac.Stackelberg(family=family).play(outputs, budget)
        bound = rpac.certify(outputs, rpac.tabulate(outputs, play.noise), budget=budget).bound
        attack = play.attack
        share = attack.nats / budget
        rows.append([name, family, budget, attack.lower, attack.nats, bound, share])
    table("Budget fidelity of SR-PAC",
          ["problem", "family", "budget", "attack (1 - 1e-6)", "attack", "certificate",
           "attack / budget"], rows)  # fmt: skip


def sliced() -> None:
    """A thousand dimensions, 512 worlds."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(512, 1_000)) * np.linspace(1, 0.05, 1_000)
    outputs = rpac.Outputs(values + 3 * rng.normal(size=(4, 1_000))[rng.integers(0, 4, 512)])
    rows: list[list[object]] = []
    for sides in ("output", "both", "secret"):
        start = time.perf_counter()
        noise = rpac.SlicedStackelberg(sides=sides, meet="sliced").propose(outputs, 0.2)
        seconds = time.perf_counter() - start
        found = rpac.sliced_privacy(outputs, noise, slices=2_048, seed=99)
        bound = rpac.certify(outputs, rpac.tabulate(outputs, noise), draws=2_000).bound
        rows.append([sides, seconds, 0.2, found.leakage, found.error, noise.power, bound])
    table("Sliced SR-PAC, d = 1,000, 512 worlds, sliced budget 0.2 nats",
          ["slices", "s", "budget", "sliced leakage (fresh directions)", "its standard error",
           "power", "full certificate"], rows)  # fmt: skip


def corrections() -> None:
    """Two hundred repeats of each correction at confidence 1 - 1e-6."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression

    x, y = load_digits(return_X_y=True)
    model = LogisticRegression(max_iter=2_000).fit(x[:900] / 16, y[:900])
    logits = rpac.Outputs(model.decision_function(x[900:1300] / 16))
    rng = np.random.default_rng(3)
    centres = 3 * rng.normal(size=(5, 2))
    cases = [
        ("two points", rpac.Outputs([-1.0, 1.0]), rpac.GaussianNoise(0.16)),
        ("clusters", rpac.Outputs(centres[rng.integers(0, 5, 60)] + 0.2 * rng.normal(size=(60, 2))),
         rpac.GaussianNoise(0.25 * np.eye(2))),
        ("digits logits", logits, rpac.calibrate(logits, 3.0, method="auto-pac")),
    ]  # fmt: skip
    rows: list[list[object]] = []
    for name, outputs, noise in cases:
        known = rpac.certify(outputs, noise)
        log_det = known.bounds["log-det"]
        least, most = log_det - known.bound, log_det - known.lower
        for method in (donsker_varadhan, negentropy, sliced_wasserstein):
            found = [method(outputs, noise, draws=40_000, seed=s).nats for s in range(200)]
            over = int(np.sum(np.array(found) > most))
            share = float(np.median(found)) / most
            rows.append([name, method.__name__, least, most, float(np.median(found)), share, over])
    table("Gap corrections, 200 repeats at confidence 1 - 1e-6 (nats)",
          ["outputs", "correction", "gap at least", "gap at most", "median correction", "share",
           "violations"], rows)  # fmt: skip


def speed() -> None:
    """One budget at d = 10, 5,000 worlds; cost against iterations and batch."""
    rng = np.random.default_rng(0)
    centres = 3 * rng.normal(size=(10, 10))
    values = rng.normal(size=(5_000, 10)) * np.linspace(1, 0.2, 10)
    outputs = rpac.Outputs(values + centres[rng.integers(0, 10, 5_000)])
    rows: list[list[object]] = []
    wall, cpu = time.perf_counter(), time.process_time()
    rpac.calibrate(outputs, 3.0, method="sr-pac")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    rows.append(["whole, 600 x 256", time.perf_counter() - wall, time.process_time() - cpu, peak])
    for iterations, batch in ((100, 256), (200, 256), (400, 256), (100, 512), (100, 1024)):
        game = rpac.Stackelberg(training=rpac.Training(iterations=iterations, batch=batch))
        match = game.match(outputs, 3.0)
        match.train()  # compiled here
        wall, cpu = time.perf_counter(), time.process_time()
        match.train()
        seconds = time.perf_counter() - wall
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        rows.append([f"training, {iterations} x {batch}", seconds, time.process_time() - cpu, peak])
    table("SR-PAC at d = 10, 5,000 worlds, 3 nats",
          ["run (iterations x batch)", "s", "CPU s", "peak GiB so far"], rows)  # fmt: skip


PARTS = {"known_truths": known_truths, "mixtures": mixtures, "fidelity": fidelity,
         "sliced": sliced, "corrections": corrections, "neural_speed": speed}  # fmt: skip


def main() -> None:
    import sys

    for name in sys.argv[1:] or list(PARTS):
        start = time.perf_counter()
        PARTS[name]()
        print(f"\n({name}: {time.perf_counter() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
