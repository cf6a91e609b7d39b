"""How long a fresh process takes: to import, to print help, to a first release.

`python -m benchmarks.start`: the least of ten runs, wall and processor seconds; Python alone and
NumPy alone beside them.
"""

import os
import resource
import subprocess
import sys
import time

FIRST = """
import rpac
rows = [{"id": i, "pay": 1000.0 + i} for i in range(1_000)]
people = rpac.Presence(rows, unit="id")
rpac.privatize(rpac.statistics.mean("pay"), people, rpac.SuccessRate(0.55))
"""
RUNS = {
    "python alone": (["-c", "pass"], None),
    "import numpy": (["-c", "import numpy"], None),
    "import rpac": (["-c", "import rpac"], 0.06),
    "rpac --help": (["-m", "rpac", "--help"], 0.2),
    "first release": (["-c", FIRST], 2.0),
}
"""What is run, and the most seconds that it may take."""


def best(words, runs=10):
    """Return the least wall and processor seconds of a few runs of Python."""
    found = []
    for _ in range(runs):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(
            [sys.executable, *words], check=True, stdout=subprocess.DEVNULL, env=os.environ
        )
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found.append((wall, cpu))
    return tuple(min(column) for column in zip(*found, strict=True))


if __name__ == "__main__":
    late = 0
    for name, (words, most) in RUNS.items():
        wall, cpu = best(words)
        bound = f"  at most {most} s" if most else ""
        print(f"{name:>14}: {wall:.3f} s, processor {cpu:.3f} s{bound}")
        late += most is not None and wall > most
    sys.exit(late)
