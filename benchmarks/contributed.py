"""The promise *person* where the rows are: time, memory, and bytes that a database sends.

Run `python -m benchmarks.contributed duckdb|postgres|tpch [people] [rows a person]`. Rows are
generated; sum, count and average of one column in 100 groups are released. The plain query is timed
beside it. The server is one of this run's own; its memory is not in the peak.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

import rpac

PEOPLE, EACH, GROUPS = 1_000_000, 10, 100
SQL = "SELECT g, sum(x) AS s, count(*) AS n, avg(x) AS m FROM t GROUP BY g"


def _rows(people: int, each: int) -> str:
    """Return SQL for rows of people: ids, one of 100 groups, and a number with a tail."""
    return (
        f"SELECT range % {people} AS id, hash(range) % {GROUPS} AS g, "
        f"round(exp(hash(range + 7) / 1.8446744e19 * 6), 2) AS x FROM range({people * each})"
    )


def _answered(db: Any, plain: Any) -> None:
    start = time.perf_counter()
    plain()
    alone = time.perf_counter() - start
    start = time.perf_counter()
    query = db.query(SQL)
    released = rpac.privatize(query, db.presence, rpac.SuccessRate(0.55))
    taken = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    engine = db.owned.engine
    sent = "in this process" if engine is None else f"{engine.received} bytes received"
    times = f"{taken:.1f} s, plain {alone:.2f} s, {taken / alone:.1f} x"
    print(f"{len(released.value)} groups: {times}, peak {peak:.2f} GB, {sent}", flush=True)


def in_duckdb(people: int, each: int) -> None:
    """Release from Parquet, read in place, within 2 GB of DuckDB's."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        duckdb.execute(f"COPY ({_rows(people, each)}) TO '{path}'")
        said: dict[str, Any] = {"keys": {"g": list(range(GROUPS))}, "memory_limit": "2GB"}
        db = rpac.Database({"t": path}, "t.id", **said)
        _answered(db, lambda: duckdb.execute(SQL.replace("FROM t", f"FROM '{path}'")).fetchall())


def in_postgres(people: int, each: int) -> None:
    """Release from a PostgreSQL server, in place."""
    import psycopg

    from benchmarks.ledger import postgres

    with postgres() as make, tempfile.TemporaryDirectory() as folder:
        url, path = make("contributed"), Path(folder) / "t.csv"
        duckdb.execute(f"COPY ({_rows(people, each)}) TO '{path}' (HEADER false)")
        with psycopg.connect(url, autocommit=True) as server:
            server.execute("CREATE TABLE t (id BIGINT, g INTEGER, x DOUBLE PRECISION)")
            copied = server.cursor().copy("COPY t FROM STDIN (FORMAT csv)")
            with path.open("rb") as file, copied as copy:
                while block := file.read(1 << 20):
                    copy.write(block)
            server.execute("ANALYZE")
            db = rpac.Database(["t"], "t.id", keys={"g": list(range(GROUPS))}, engine=url)
            _answered(db, lambda: server.execute(SQL).fetchall())


def tpch_person(scale: float = 1.0) -> None:
    """Time the questions of TPC-H that *person* takes, from Parquet, beside the plain query."""
    from benchmarks import tpch

    folder = Path(tempfile.gettempdir()) / f"tpch-{scale:g}"
    if not tpch.generate(folder, scale):
        return
    keys = {**tpch.KEYS, "l_returnflag": ["A", "N", "R"], "l_linestatus": ["F", "O"],
            "l_shipmode": ["MAIL", "SHIP"], "l_year": [1995, 1996],
            "o_year": list(range(1992, 1999))}  # fmt: skip
    paths = {name: folder / f"{name}.parquet" for name in tpch.TABLES}
    db = rpac.Database(
        paths, "customer.c_custkey", tpch.LINKS, public=tpch.PUBLIC_TABLES, keys=keys
    )
    plain = duckdb.connect()
    for name, path in paths.items():
        plain.execute(f"CREATE VIEW {name} AS FROM '{path}'")
    for number, sql in tpch.QUERIES.items():
        start = time.perf_counter()
        try:
            rpac.privatize(db.query(sql), db.presence, rpac.SuccessRate(0.55))
        except rpac.InputError:
            continue
        taken, start = time.perf_counter() - start, time.perf_counter()
        plain.execute(sql).fetchall()
        alone = time.perf_counter() - start
        print(f"Q{number}: {taken:.2f} s, plain {alone:.2f} s, {taken / alone:.1f} x", flush=True)


def main(arguments: list[str]) -> None:
    """Run one part by name."""
    name, *sizes = arguments or ["duckdb"]
    if name == "tpch":
        tpch_person(*map(float, sizes))
        return
    numbers = [*map(int, sizes), PEOPLE, EACH][:2] if len(sizes) != 1 else [int(sizes[0]), EACH]
    {"duckdb": in_duckdb, "postgres": in_postgres}[name](*numbers)


if __name__ == "__main__":
    main(sys.argv[1:])
