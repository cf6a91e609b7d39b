"""Two workers against one process, what simulate costs over a bare loop, and half-sample means.

Run it with `OMP_NUM_THREADS=1 python -m benchmarks.cluster [speed | overhead | means ...]`. Ratios
are within one run, one after the other; each line is the best of a few.
"""

from __future__ import annotations

import os
import sys
import time
from functools import partial

import numpy as np
import pandas as pd

import rpac

CALLS = ((128, 0.020), (4_096, 0.001))
KINDS = ("joblib", "dask", "ray")


def busy(x, seconds):
    """Compute for so many seconds of the process's own time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(500))
    return float(x.mean())


def waiting(x, seconds):
    """Wait: for a disk, a service, another program."""
    time.sleep(seconds)
    return float(x.mean())


def simulated(source, asked, executor=None):
    """Return the seconds that it took, and the outputs."""
    start = time.perf_counter()
    found = rpac.simulate(source, asked, executor=executor)
    return time.perf_counter() - start, found


def looped(worlds, function):
    """Return the seconds that a bare loop takes."""
    start = time.perf_counter()
    for world in worlds:
        function(world)
    return time.perf_counter() - start


def speed(rounds=3):
    for kind in KINDS:
        with rpac.Executor(kind, workers=2) as executor:
            warm = rpac.Subsets(np.arange(1_000.0), worlds=8)
            start, _ = simulated(warm, partial(busy, seconds=0.01), executor)
            print(f"{kind}: start-up and imports {start:.1f} s, not counted below")
            for function in (busy, waiting):
                for worlds, seconds in CALLS:
                    report(executor, partial(function, seconds=seconds), worlds, rounds)


def report(executor, asked, worlds, rounds):
    source, ratios, same = rpac.Subsets(np.arange(1_000.0), worlds=worlds), [], True
    for _ in range(rounds):
        (one, here), (two, there) = simulated(source, asked), simulated(source, asked, executor)
        ratios.append(one / two)
        same &= here.digest == there.digest
    name, each = f"{executor.kind} {asked.func.__name__}", 1e3 * asked.keywords["seconds"]
    listed = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"  {name:15} {worlds:5} calls of {each:3.0f} ms: "
          f"best {max(ratios):.2f} x serial ({listed}), identical: {same}", flush=True)  # fmt: skip


def overhead():
    floats, arrays = rpac.Worlds(np.arange(10_000.0).tolist()), rpac.Worlds(np.ones((10_000, 10)))
    table = rpac.Subsets(np.random.default_rng(0).normal(size=(150, 4)), worlds=10_000)
    for name, source, function in (
        ("floats", floats, lambda x: x * 2.0),
        ("arrays of 10", arrays, lambda x: x * 2.0),
        ("lists", floats, lambda x: [x, 2 * x]),
        ("dicts", floats, lambda x: {"a": x, "b": 2 * x}),
        ("half-samples of 150 x 4", table, lambda x: x.mean(axis=0)),
    ):
        worlds = list(source.worlds(0))
        bare = min(looped(worlds, function) for _ in range(7))
        whole = min(simulated(source, function)[0] for _ in range(7))
        each = 1e6 * (whole - bare) / len(worlds)
        print(f"{name:24} bare {1e6 * bare / len(worlds):6.2f} us, over it {each:6.2f} us a world")


def means():
    data = np.random.default_rng(0).normal(size=(150, 4))
    frame = pd.DataFrame(data, columns=list("abcd"))
    for worlds in (512, 10_000, 100_000):
        sources = rpac.Subsets(data, worlds=worlds), rpac.Subsets(frame, "rows", worlds=worlds)
        stacked = rpac.vectorized(lambda stack: stack.mean(axis=1))
        for name, source, asked in (
            ("vectorized, 4 columns", sources[0], stacked),
            ("statistics.mean", sources[1], rpac.statistics.mean("a")),
        ):
            took = min(simulated(source, asked)[0] for _ in range(7))
            print(f"{name:22} {worlds:7} worlds: {worlds / took:12,.0f} half-sample means a second")


PARTS = {"speed": speed, "overhead": overhead, "means": means}

if __name__ == "__main__":
    print(f"threads {os.environ.get('OMP_NUM_THREADS')}, cores {os.cpu_count()}")
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
