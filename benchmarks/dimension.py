"""Time and memory against the number of numbers: simulate, calibrate, certify and release.

    OMP_NUM_THREADS=1 python -m benchmarks.dimension [worlds] [nats]

Each size runs in a process of its own, so that its peak (`ru_maxrss`) is its own. The function
draws its answer from a seed; its own time, measured alone, is taken off.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import time
from functools import partial

import numpy as np

import rpac

SIZES = (1_000, 10_000, 100_000, 1_000_000)
WORLDS, NATS = 128, 0.1


def answer(world: float, size: int) -> np.ndarray:
    """Return as many numbers as one likes, of which each world has its own."""
    return np.random.default_rng(int(world)).standard_normal(size)


def one(size: int, worlds: int, nats: float) -> dict[str, float]:
    """Return the seconds and gigabytes of one release, and those of its function alone."""
    source, function = rpac.Worlds(list(range(worlds))), partial(answer, size=size)
    rpac.privatize(np.mean, rpac.Worlds([1.0, 2.0]), 0.1)  # imports are not measured
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    for i in range(worlds + 8):  # eight are asked again
        function(i % worlds)
    alone = time.process_time() - started
    started, worked = time.perf_counter(), time.process_time()
    release = rpac.privatize(function, source, nats)
    whole, cpu = time.perf_counter() - started, time.process_time() - worked
    assert release.value.shape == (size,)
    assert release.certificate.bound <= nats
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "numbers": size, "seconds": whole - alone, "cpu": cpu - alone, "function": alone,
        "peak_gb": peak / 2**20, "before_gb": before / 2**20,
        "outputs_gb": 8 * size * worlds / 2**30,
    }  # fmt: skip


def measured(worlds: int = WORLDS, nats: float = NATS) -> list[dict[str, float]]:
    """Return the figures of all sizes, each from a process of its own."""
    rows = []
    for size in SIZES:
        words = ["-m", "benchmarks.dimension", "one", *map(str, (size, worlds, nats))]
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)
        rows.append(json.loads(done.stdout))
    return rows


def exponent(rows: list[dict[str, float]]) -> float:
    """Return the exponent of the CPU time in the number of numbers: the worst pair of sizes."""
    pairs = zip(rows[:-1], rows[1:], strict=True)
    return max(
        math.log(b["cpu"] / a["cpu"]) / math.log(b["numbers"] / a["numbers"]) for a, b in pairs
    )


def main() -> None:
    """Print the table."""
    if sys.argv[1:2] == ["one"]:
        size, worlds, nats = sys.argv[2:]
        print(json.dumps(one(int(size), int(worlds), float(nats))))
        return
    worlds = int(sys.argv[1]) if sys.argv[1:] else WORLDS
    nats = float(sys.argv[2]) if sys.argv[2:] else NATS
    rows = measured(worlds, nats)
    print(f"{worlds} worlds, {nats:g} nats, method equilibrium, threads as in OMP_NUM_THREADS")
    names = ("numbers", "seconds", "cpu", "function", "peak_gb", "outputs_gb")
    print(" ".join(f"{name:>10}" for name in names))
    for row in rows:
        print(f"{row['numbers']:>10}", *(f"{row[name]:>10.2f}" for name in names[1:]))
    print(f"largest exponent between two sizes: {exponent(rows):.2f}")


if __name__ == "__main__":
    main()
