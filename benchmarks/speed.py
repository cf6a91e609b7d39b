"""Seconds of calibrations and certificates, and coverage of bounds that stop early.

Times are of the process on one thread. Logits come from the cache of `rpac paper`, Adult from the
shared data; where they are missing, clustered outputs and a pool of normals stand in.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import binomtest

import rpac
from benchmarks.run import SHARED, clustered, table
from rpac.certificate import sampled
from rpac.certificate.confidence import lower_mean
from rpac.certificate.kernel import ideal_kernel
from rpac.oracles import sign_cube

T = TypeVar("T")
CACHE = Path.home() / ".cache" / "rpac"
REPEATS, DELTA = 2_000, 0.1


def timed(call: Callable[[], T]) -> tuple[float, T]:
    start = time.process_time()
    found = call()
    return time.process_time() - start, found


def logits() -> tuple[str, rpac.Outputs]:
    files = sorted(CACHE.glob("mnist-*.npz"))
    if not files:
        return "clustered", clustered(10_000, 10)
    return "MNIST logits", rpac.Outputs(np.load(files[0])["values"].astype(float))


def equilibrium() -> None:
    """10,000 worlds of 10 numbers: calibration, and certificates with and without a budget."""
    name, outputs = logits()
    rows: list[list[object]] = []
    for nats in (5.0, 3.0, 1.0, 0.25):
        search, noise = timed(lambda nats=nats: rpac.calibrate(outputs, nats))
        closed = rpac.calibrate(outputs, nats, method="auto-pac")
        law = rpac.tabulate(outputs, noise)
        early, held = timed(lambda law=law, nats=nats: rpac.certify(outputs, law, budget=nats))
        whole, full = timed(lambda law=law: rpac.certify(outputs, law))
        rows.append([nats, search, early, whole, noise.power, noise.power / closed.power,
                     held.bound, full.lower, full.bound])  # fmt: skip
    table(f"Equilibrium on {name}, {outputs.values.shape} (seconds)",
          ["nats", "calibrate", "certify, budget", "certify", "power", "power / Auto-PAC",
           "bound at the stop", "lower", "bound"], rows)  # fmt: skip


def halves() -> dict[str, rpac.Outputs]:
    """One count and one mean of 512 half-samples."""
    path = SHARED / "data" / "adult.csv.gz"
    if path.exists():
        frame = __import__("pandas").read_csv(path)
        rich = frame["income"].str.strip().str.startswith(">50K").to_numpy()
        ages = frame["age"].to_numpy(float)
    else:
        rng = np.random.default_rng(1)
        rich, ages = rng.random(48_842) < 0.24, rng.normal(38, 13, 48_842)
    rng, counts, means = np.random.default_rng(0), [], []
    for _ in range(256):
        order = rng.permutation(len(rich))
        for half in (order[: len(order) // 2], order[len(order) // 2 :]):
            counts.append(int(rich[half].sum()))
            means.append(float(ages[half].mean()))
    return {"count": rpac.Outputs(np.array(counts)), "mean": rpac.Outputs(np.array(means))}


def one_number() -> None:
    """The default method against Auto-PAC on one number."""
    rows: list[list[object]] = []
    for name, outputs in halves().items():
        for nats in (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 4.5):
            search, noise = timed(lambda o=outputs, nats=nats: rpac.calibrate(o, nats))
            closed, plain = timed(lambda o=outputs, nats=nats: rpac.calibrate(o, nats, "auto-pac"))
            ratio = noise.power / plain.power
            rows.append([name, nats, search, closed, noise.power, ratio])
    table("One number of 512 half-samples (seconds)",
          ["number", "nats", "equilibrium", "Auto-PAC", "power", "power / Auto-PAC"],
          rows)  # fmt: skip


LOOKS = np.unique(np.geomspace(4, 4_000, 200).astype(int))
LAWS: dict[str, tuple[Callable[[np.random.Generator], np.ndarray], float]] = {
    "coin": (lambda rng: rng.integers(0, 2, 4_000) * 1.0, 0.5),
    "rare": (lambda rng: (rng.random(4_000) < 0.02) * 1.0, 0.02),
    "even": (lambda rng: rng.random(4_000), 0.5),
    "skewed": (lambda rng: rng.beta(0.1, 2.0, 4_000), 0.1 / 2.1),
}


def ruled_out(name: str, seed: int) -> bool:
    """Whether the true mean is ever ruled out, by one who looks 200 times."""
    draw, mean = LAWS[name]
    x = draw(np.random.default_rng(seed))
    return any(lower_mean(x[:t], 0.0, 1.0, DELTA, 4_000) > mean for t in LOOKS)


def wrong_stops(dim: int, sigma: float, repeats: int) -> list[tuple[bool, bool]]:
    """Whether upper and lower bound are wrong, for draws that stop once the upper one is."""
    cube = sign_cube(dim, sigma)
    kernel = ideal_kernel(rpac.GaussianNoise(np.eye(dim)))
    points, limit = cube.outputs.values / sigma, cube.nats - 1e-12
    found = [
        sampled.kernel_bounds(points, cube.outputs.weights, kernel, 2 * DELTA, 4_000, limit)
        for _ in range(repeats)
    ]
    return [(one.upper < cube.nats, one.lower > cube.nats) for one in found]


def stopping() -> None:
    """Coverage of bounds that may be looked at: stop as soon as they are wrong, or never."""
    rows: list[list[object]] = []
    for name in LAWS:
        misses = sum(Parallel(n_jobs=2)(delayed(ruled_out)(name, s) for s in range(REPEATS)))
        p = binomtest(int(misses), REPEATS, DELTA, "greater").pvalue
        rows.append([name, "mean", f"{misses} / {REPEATS}", p])
    for dim, sigma in ((2, 0.5), (2, 2.0), (3, 1.0), (5, 1.0)):
        pairs = np.array(wrong_stops(dim, sigma, REPEATS))
        for side, misses in zip(("upper", "lower"), pairs.sum(axis=0), strict=True):
            p = binomtest(int(misses), REPEATS, DELTA, "greater").pvalue
            rows.append([f"sign cube, {dim} axes, {sigma}", side, f"{misses} / {REPEATS}", p])
    table(f"Stopping as soon as a bound is wrong, error {DELTA}",
          ["law", "bound of", "wrong", "p (binomial)"], rows)  # fmt: skip


if __name__ == "__main__":
    equilibrium()
    one_number()
    stopping()
