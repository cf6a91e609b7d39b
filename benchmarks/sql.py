"""TPC-H at scale 0.1 with customers as units: each world by hand, and what a release costs."""

import datetime
import statistics
import sys
import tempfile
import time

import duckdb
import numpy as np

import rpac
from benchmarks import tpch


def hand_connection(folder):
    """Return a plain DuckDB with the tables, for queries on one world at a time."""
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA base")
    for name in tpch.TABLES:
        path = f"{folder}/{name}.parquet"
        connection.execute(f"CREATE TABLE base.{name} AS FROM '{path}'")
        if name in tpch.PUBLIC_TABLES:
            connection.execute(f"CREATE VIEW {name} AS FROM base.{name}")
    return connection


def enter(connection, db, world):
    """Cut the private tables down to the customers of one world."""
    units = connection.execute("SELECT c_custkey FROM base.customer ORDER BY 1").fetchnumpy()
    connection.register("chosen", {"c": units["c_custkey"][db.source.masks[world]]})
    cuts = {
        "customer": "c_custkey IN (SELECT c FROM chosen)",
        "orders": "o_custkey IN (SELECT c FROM chosen)",
        "lineitem": "l_orderkey IN (SELECT o_orderkey FROM orders)",
    }
    for name, cut in cuts.items():
        rows = f"SELECT * FROM base.{name} WHERE {cut}"
        connection.execute(f"CREATE OR REPLACE TABLE {name} AS {rows}")


def number(value):
    if isinstance(value, datetime.date):
        return (value - datetime.date(1970, 1, 1)).days * 86400.0
    return 0.0 if value is None else float(value)  # NULL counts 0


def by_hand(connection, query, form, world):
    """Compare an answer with the query run on the world that was entered; return the error."""
    sql = query.sql.split(" limit ")[0]
    found = {}
    for row in connection.execute(sql).fetchall():
        key = tuple(row[i] for i in query.keys)
        found[key] = [number(row[m.place]) for m in query.measures]
    rows, degrees = form.layout[1], np.array([m.degree for m in query.measures])
    known = {key for key in rows if "other" not in key}
    assert set(found) <= known, set(found) - known
    table = (query(np.array([world]))[0] * form.scale).reshape(len(rows), -1)
    people = query.database.people
    half = people.units / people.sizes[world]
    worst = 0.0
    for key, answer in zip(rows, table, strict=True):
        if key not in found:
            assert (answer[degrees > 0] == 0).all(), key
            continue
        expected = np.nan_to_num(np.array(found[key])) * half**degrees
        rounding = 1.0 if all(m.counts for m in query.measures) else 0.0
        error = np.maximum(np.abs(answer - expected) - rounding, 0.0)
        error /= np.maximum(np.abs(expected), 1.0)
        worst = max(worst, float(error.max()))
    assert worst < 1e-9, (query.sql, worst)
    return worst


def timed(call, repeats=3):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measured(db, sql):
    """Return a query with its form, and the seconds that it takes plainly and on all worlds."""
    query = db.query(sql)
    plain = timed(lambda: db.connection.execute(sql).fetchall(), 5)
    made = []
    cost = timed(
        lambda: made.append(rpac.simulate(db.source, db.query(sql))), 3 if query.one_pass else 1
    )
    return query, query.announce(db.source), plain, cost


def main():
    """Print one row a query: its way, worst error against hand-run worlds, and costs."""
    worlds = int(sys.argv[1]) if len(sys.argv) > 1 else 128
    with tempfile.TemporaryDirectory() as folder:
        if not tpch.generate(folder):
            raise SystemExit("tpchgen-cli is not installed: pip install tpchgen-cli")
        db, connection = tpch.database(folder, worlds=worlds), hand_connection(folder)
        taken, refused = {}, {}
        for n, sql in tpch.QUERIES.items():
            try:
                taken[n] = measured(db, sql)
            except rpac.InputError as error:
                refused[n] = str(error).split("; ")[1].split(".")[0]
        worst = dict.fromkeys(taken, 0.0)
        for world in range(worlds):
            enter(connection, db, world)
            for n, (query, form, *_) in taken.items():
                worst[n] = max(worst[n], by_hand(connection, query, form, world))
        report(taken, refused, worst)


def report(taken, refused, worst):
    print("| query | way | numbers | worst error | plain ms | all worlds ms | ratio |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    for n in tpch.QUERIES:
        if n in refused:
            print(f"| {n} | refused: {refused[n]} | | | | | |")
            continue
        query, form, plain, cost = taken[n]
        way = "one pass" if query.one_pass else "a query a world"
        print(
            f"| {n} | {way} | {len(form.scale)} | {worst[n]:.1e} | {1e3 * plain:.0f} | "
            f"{1e3 * cost:.0f} | {cost / plain:.1f} |"
        )
    ratios = [cost / plain for query, _, plain, cost in taken.values() if query.one_pass]
    print(f"\nmedian ratio where one aggregation serves: {statistics.median(ratios):.1f}")


if __name__ == "__main__":
    main()
