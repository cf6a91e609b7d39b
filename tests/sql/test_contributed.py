"""Sums that a database sends are those of rows in this process, to the last step."""

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from rpac.person import level
from rpac.person.contributions import Column, Linear, Quantile, Rows, Term
from rpac.person.level import grid_of_middles
from rpac.person.mechanism import Held, scales_of
from rpac.sql.contributed import Contributed
from rpac.sql.postgres import Postgres
from rpac.sql.spark import Spark

ODD = (0, 1, -3.25, 1e300, -1e300, 1e-320, 1e10, 7.77, 2.0**-15, 4.0)
TERMS = (
    Term("sum", (1, 0)), Term("rows", (0, 0)), Term("y", (0, 1), (1,)),
    Term("squares", (0, 2), (1,)), Term("product", (1, 1)), Term("units", (0, 0), (0,), once=True, share=0.1),  # noqa: E501
)  # fmt: skip


def case(seed):
    """Return a question, rows of several units, groups and magnitudes, and middles."""
    rng = np.random.default_rng(seed)
    n, groups = int(rng.integers(0, 400)), int(rng.integers(1, 5))
    with np.errstate(all="ignore"):
        values = rng.choice(ODD, (n, 2)) * rng.lognormal(0, 3, (n, 2)) ** rng.integers(0, 2, (n, 1))
    values = np.where((rng.random((n, 2)) < 0.1) | ~np.isfinite(values), np.nan, values)
    cap = 100.0 if seed % 3 else None
    columns = Column("x", 1.0, 0.0), Column("y", 0.01, None if seed % 2 else 5.0, cap)
    part = Quantile(0, 0.3, np.linspace(-5, 20, 64))
    question = Linear(columns, TERMS, groups, (part,), None if seed % 4 else 3.0)
    rows = Rows(rng.integers(0, 40, n), rng.integers(0, groups, n), values)
    return question, rows, np.array([0.0, rng.normal() * 5]), rng


def columns(rows):
    """Return rows as an Arrow table, as a relation has them."""
    made = {"u": rows.units, "g": rows.groups}
    made |= {f"a{j}": pa.array(rows.values[:, j], from_pandas=True) for j in range(2)}
    return pa.table(made)


def in_duckdb(rows, name):
    connection = duckdb.connect()
    connection.register(name, columns(rows))
    return "duckdb", lambda sql: connection.execute(sql).fetchall()


@pytest.fixture(scope="session")
def in_postgres(database):
    import psycopg

    url = database("contributed")
    engine = Postgres(url)

    def made(rows, name):
        with psycopg.connect(url, autocommit=True) as db:
            db.execute(f"CREATE TABLE {name} (u INT, g INT, a0 FLOAT8, a1 FLOAT8)")
            listed = [[None if x != x else x for x in line.values()]
                      for line in columns(rows).to_pylist()]  # fmt: skip
            with db.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
                for line in listed:
                    copy.write_row(line)
        engine._db.rollback()  # a snapshot with the table in it
        return "postgres", engine.fetch

    yield made
    engine._db.close()


@pytest.fixture(scope="module")
def in_spark(spark):
    def made(rows, name):
        listed = [tuple(line.values()) for line in columns(rows).to_pylist()]
        schema = "u LONG, g LONG, a0 DOUBLE, a1 DOUBLE"
        spark.createDataFrame(listed, schema).createOrReplaceTempView(name)
        return "spark", Spark(spark).fetch

    return made


def compared(make, seed, betas=(0.1, 0.008, 3e-4)):
    """Hold everything that a release asks for against rows in this process."""
    question, rows, middles, rng = case(seed)
    dialect, fetch = make(rows, f"t{seed}")
    there = Contributed(f"SELECT u, g, a0, a1 FROM t{seed}", dialect, fetch, lambda: rows)
    here = Held(question, rows)
    grid = grid_of_middles(question.columns[1].exponent, 8)
    assert there.averages(question, 1, grid).tolist() == here.averages(question, 1, grid).tolist()
    part = question.quantiles[0]
    at = rng.choice(part.grid, question.groups)
    assert there.votes(question, part, at) == here.votes(question, part, at)
    for beta in betas:
        for j in question.levels:
            wanted = here.place(question, j, middles, beta)
            assert there.place(question, j, middles, beta) == wanted
    levels = {j: 2.0 ** rng.integers(-3, 20) for j in question.levels}
    scales = scales_of(question, levels, 0.23)
    wanted = here.sums(question, middles, scales, 0.23)
    assert there.sums(question, middles, scales, 0.23) == wanted
    assert there.held() is rows


@pytest.mark.parametrize("seed", range(24))
def test_duckdb_adds_up_what_this_process_would(seed):
    compared(in_duckdb, seed)


@pytest.mark.parametrize("seed", range(8))
def test_postgres_adds_up_what_this_process_would(in_postgres, seed):
    compared(in_postgres, seed)


def test_spark_adds_up_what_this_process_would(in_spark):
    compared(in_spark, 5, betas=(0.008,))


def test_levels_by_logarithm_are_the_places_on_the_menu():
    """Around every entry of menus, fine and coarse."""
    connection = duckdb.connect()
    for floor, beta in ((1.0, 0.3), (1.7, 0.01), (1.0, 2e-4)):
        question = Linear((Column("x", floor, 0.0),), (Term("x", (1,)),))
        entries = level.menu(level.floor_steps(floor, 0), beta)
        entries = entries[entries < 2**50][:: max(1, len(entries) // 300)]
        for steps in (entries[::20] - 1, entries[::20], entries[::20] + 1):
            for one in steps.tolist():
                sql = f"SELECT 0 AS u, 0 AS g, {one!r}::DOUBLE / 16384 AS a0"
                there = Contributed(sql, "duckdb", lambda s: connection.execute(s).fetchall(), None)
                here = Held(
                    question, Rows(np.zeros(1, int), np.zeros(1, int), np.array([[one / 2**14]]))
                )
                middles = np.zeros(1)
                assert there.place(question, 0, middles, beta) == here.place(
                    question, 0, middles, beta
                )


def test_nothing_of_it_is_printed():
    assert "SELECT" not in repr(Contributed("SELECT 1", "duckdb", list, list))
