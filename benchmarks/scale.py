"""Time and memory against rows, groups, worlds, numbers and workers, with fitted exponents.

    OMP_NUM_THREADS=1 python -m benchmarks.scale [rows groups worlds numbers hundred tpch plots]

A question is `sum, count, average by group` over a generated Parquet file, asked of the embedded
DuckDB with a limit of 2 GB of memory; each point is a process of its own, whose peak is its own.
*Plain* is the same question once, without privacy, in the same process. Figures go to
`benchmarks/scale.json`, from which `plots` draws docs/scale.svg and `cost` the page's estimate.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import dimension, tpch

SQL = "SELECT g, sum(x) AS s, count(*) AS n, avg(x) AS a FROM t GROUP BY g"
KEPT = Path(__file__).with_suffix(".json")
FOLDER = Path(os.environ.get("RPAC_SCALE", tempfile.gettempdir())) / "rpac-scale"
SERIES = {
    "rows": [(10**k, 10 ** (k - 1), 100, 128) for k in (5, 6, 7)],
    "groups": [(10**6, 10**5, groups, 128) for groups in (10, 100, 1_000)],
    "worlds": [(10**6, 10**5, 100, worlds) for worlds in (32, 128, 512)],
}
AXIS = {"rows": 0, "groups": 2, "worlds": 3}


def generated(rows, people, groups):
    """Return the path of a Parquet file of so many rows, people and groups."""
    import duckdb

    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{rows}-{people}-{groups}.parquet"
    if not path.exists():
        with duckdb.connect() as con:
            con.execute(
                f"COPY (SELECT (hash(i) % {people})::BIGINT AS id, "
                f"(hash(i + 1) % {groups})::INTEGER AS g, "
                f"(hash(i + 2) % 100000) / 7.0 AS x FROM range({rows}) AS r(i)) "
                f"TO '{path}' (FORMAT parquet)"
            )
    return path


def one(rows, people, groups, worlds):
    """Return seconds and gigabytes of one question, and of the plain one."""
    import duckdb

    import rpac

    path = generated(rows, people, groups)
    with duckdb.connect() as con:
        plain = least(lambda: con.execute(SQL.replace("FROM t", f"FROM '{path}'")).fetchall(), 3)
    start = time.perf_counter()
    db = rpac.Database({"t": path}, "id", public=["g"], worlds=worlds, memory_limit="2GB")
    db.source  # noqa: B018
    opened = time.perf_counter() - start
    asked = least(lambda: rpac.simulate(db.source, db.query(SQL)), 1 if rows > 10**7 else 3)
    start = time.perf_counter()
    rpac.privatize(db.query(SQL), db.source, 0.5, method="auto-pac")
    released = time.perf_counter() - start
    return {
        "rows": rows, "people": people, "groups": groups, "worlds": worlds, "plain": plain,
        "opened": opened, "seconds": asked, "released": released,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }  # fmt: skip


def least(call, times):
    """Return the least seconds of some calls."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def apart(*words):
    """Return what one point prints, from a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale", "one", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def exponent(points, name, figure="seconds"):
    """Return the slope of the logarithm of a figure in that of a size, by least squares."""
    x, y = (np.log([point[key] for point in points]) for key in (name, figure))
    return float(np.polyfit(x, y, 1)[0])


def series(name):
    points = [apart(*point) for point in SERIES[name]]
    print(f"\n{name}: {'size':>11} {'plain s':>9} {'opened':>8} {'all worlds':>11} {'ratio':>6} "
          f"{'released':>9} {'peak GB':>8}")  # fmt: skip
    for p in points:
        print(f"{p[name]:>{len(name) + 13}} {p['plain']:>9.3f} {p['opened']:>8.2f} "
              f"{p['seconds']:>11.2f} {p['seconds'] / p['plain']:>6.1f} {p['released']:>9.2f} "
              f"{p['peak_gb']:>8.2f}", flush=True)  # fmt: skip
    print(f"fitted exponent: {exponent(points, name):.2f}")
    keep(name, points)


def hundred():
    """Print what 10^8 rows of 10^7 people take, to the end."""
    p = apart(10**8, 10**7, 100, 128)
    print(f"10^8 rows, 10^7 people, 100 groups, 128 worlds: opened {p['opened']:.1f} s, all worlds "
          f"{p['seconds']:.1f} s ({p['seconds'] / p['plain']:.1f} x plain), released "
          f"{p['released']:.1f} s, peak {p['peak_gb']:.2f} GB")  # fmt: skip
    keep("hundred", [p])


def tpch_ratios(scale=1.0):
    """Print TPC-H's one-pass questions, all worlds against the plain question."""
    import duckdb

    import rpac

    folder = FOLDER / f"tpch-{scale:g}"
    if not tpch.generate(folder, scale):
        raise SystemExit("tpchgen-cli is not installed: pip install tpchgen-cli")
    db, con, ratios = tpch.database(folder, worlds=128), duckdb.connect(), []
    for name in tpch.TABLES:
        con.execute(f"CREATE VIEW {name} AS FROM '{folder}/{name}.parquet'")
    for number, sql in tpch.QUERIES.items():
        try:
            if not db.query(sql).one_pass:
                continue
        except rpac.InputError:
            continue
        pairs = [
            (least(lambda q=sql: con.execute(q).fetchall(), 2),
             least(lambda q=sql: rpac.simulate(db.source, db.query(q)), 1)) for _ in range(3)
        ]  # fmt: skip
        plain, asked = (min(side) for side in zip(*pairs, strict=True))
        ratios.append(asked / plain)
        print(f"{number:>3} plain {plain:7.3f} s, 128 worlds {asked:7.3f} s, {ratios[-1]:5.1f} x",
              flush=True)  # fmt: skip
    print(f"median {np.median(ratios):.1f} x, worst {max(ratios):.1f} x")
    keep("tpch", [{"median": float(np.median(ratios)), "worst": max(ratios)}])


def keep(name, points):
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    KEPT.write_text(json.dumps(kept | {name: points}, indent=1) + "\n")


def plots():
    """Draw time against each size, on logarithmic axes, for the page on scale."""
    import matplotlib.pyplot as plt

    kept = json.loads(KEPT.read_text())
    names = [name for name in ("rows", "groups", "worlds", "numbers") if name in kept]
    figure, axes = plt.subplots(1, len(names), figsize=(3.2 * len(names), 2.9), sharey=True)
    for axis, name in zip(np.atleast_1d(axes), names, strict=True):
        points = kept[name]
        sizes = [p[name] for p in points]
        axis.loglog(sizes, [p["seconds"] for p in points], "o-", label="private")
        if "plain" in points[0]:
            axis.loglog(sizes, [p["plain"] for p in points], "s--", label="plain")
        axis.set_xticks(sizes, labels=[f"{n:,}" if n < 10_000 else f"{n:.0e}" for n in sizes])
        axis.minorticks_off()
        axis.set_xlabel(f"{name} (exponent {exponent(points, name):.2f})")
        axis.grid(alpha=0.3)
        axis.legend(frameon=False)
    np.atleast_1d(axes)[0].set_ylabel("seconds")
    figure.tight_layout()
    figure.savefig(Path("docs") / "scale.svg", metadata={"Date": None})


def cost(rows=10**9, groups=10**4, worlds=512):
    """Print what a question about a national table would take on a Spark cluster.

    Measured: seconds a row and byte of membership, here. Extrapolated: everything else.
    """
    kept = json.loads(KEPT.read_text())
    large = kept["rows"][-1]
    bytes_here, bytes_there = large["worlds"] / 16, worlds / 16
    each = 2 * large["seconds"] / large["rows"] / bytes_here  # two cores
    hours = each * rows * bytes_there / 3600
    cells = groups * 256 * bytes_there * 3 * 8
    left = worlds * groups * 3 * 8
    print(f"measured here: {1e9 * each:.2f} ns of a core a row and byte of membership")
    print(
        f"{rows:.0e} rows x {groups} groups x {worlds} worlds: {hours:.1f} core hours at "
        f"DuckDB's speed, {3 * hours:.1f} to {10 * hours:.1f} at a third to a tenth of it"
    )
    print(
        f"partial sums in each task at most {cells / 1e9:.2f} GB; shuffled at most that times "
        f"the tasks; what leaves {left / 1e6:.0f} MB"
    )
    print(f"at $0.05 a core hour: ${0.05 * 3 * hours:.2f} to ${0.05 * 10 * hours:.2f}")


def numbers():
    """Keep the figures of `benchmarks.dimension`: one release against the numbers in it."""
    keep("numbers", dimension.measured())


PARTS = {
    **{name: (lambda n=name: series(n)) for name in SERIES},
    "numbers": numbers, "hundred": hundred, "tpch": tpch_ratios, "plots": plots, "cost": cost,
}  # fmt: skip


def main():
    words = sys.argv[1:]
    if words[:1] == ["one"]:
        print(json.dumps(one(*map(int, words[1:]))))
        return
    print(f"OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS')}, {os.cpu_count()} cores")
    for name in words or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main()
