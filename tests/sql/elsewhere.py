"""One made-up database in several engines, for tests that all of them answer alike."""

import datetime

import duckdb
import numpy as np
import pandas as pd

import rpac

RNG = np.random.default_rng(8)
N, PEOPLE = 400, 60
PERSON = pd.DataFrame({
    "id": np.arange(PEOPLE) * 7 + 3,
    "town": RNG.choice(["Aue", "Bonn", None], PEOPLE, p=[0.5, 0.4, 0.1]),
    "born": [datetime.date(1950, 1, 1) + datetime.timedelta(days=int(d))
             for d in RNG.integers(0, 18_000, PEOPLE)],
})  # fmt: skip
BILL = pd.DataFrame({
    "number": np.arange(N),
    "payer": RNG.choice(PERSON["id"], N),
    "kind": RNG.choice(["gas", "oil"], N),
    "sum": np.round(RNG.gamma(2.0, 50.0, N), 2),
})  # fmt: skip
BILL.loc[RNG.random(N) < 0.05, "sum"] = np.nan
BILL.loc[3, "sum"] = np.inf
ITEM = pd.DataFrame({
    "bill": RNG.integers(0, N, 900), "count": RNG.integers(0, 9, 900),
    "code": RNG.choice([1, 2], 900),
})  # fmt: skip
CODE = pd.DataFrame({"code": [1, 2], "label": ["one", "two"]})
TABLES = {"person": PERSON, "bill": BILL, "item": ITEM, "code": CODE}
SAID = {
    "unit": "person.id",
    "links": {"bill.payer": "person.id", "item.bill": "bill.number"},
    "public": ("code", "person.town", "bill.kind", "item.code"),
    "worlds": 64,
}
COLUMNS = {
    "person": "id bigint, town text, born date",
    "bill": 'number bigint, payer bigint, kind text, "sum" double precision',
    "item": 'bill bigint, "count" integer, code bigint',
    "code": "code bigint, label text",
}

ASKED = {
    "sum, count and average": 'SELECT kind, sum("sum") AS s, count(*) AS n, avg("sum") AS a, '
    'count("sum") AS c FROM bill GROUP BY kind',
    "whole numbers by a chain of keys": "SELECT sum(count) AS n, avg(count) AS a FROM item",
    "a public table's names": "SELECT label, count(*) AS n FROM item JOIN code "
    "ON item.code = code.code GROUP BY label",
    "groups without a name": "SELECT town, count(*) AS n FROM person GROUP BY town",
    "extremes": "SELECT kind, min(count) AS l, max(count) AS h FROM item "
    "JOIN bill ON bill = number GROUP BY kind",
    "dates": "SELECT min(born) AS l, max(born) AS h FROM person",
    "parts of dates": "SELECT count(*) AS n FROM person WHERE extract(year FROM born) < 1975",
    "a ratio": 'SELECT sum("sum" / count) AS r FROM bill JOIN item ON bill = number',
    "a condition on sums": 'SELECT kind, avg("sum") AS a FROM bill GROUP BY kind '
    'HAVING avg("sum") > 60',
    "rows of the unit inside": "SELECT avg(n) AS a, max(n) AS m FROM (SELECT payer, count(*) AS n "
    "FROM bill GROUP BY payer) AS b",
    "an outer join": "SELECT count(*) AS n FROM person LEFT JOIN bill ON payer = id",
    "exists": "SELECT count(*) AS n FROM person WHERE EXISTS (SELECT 1 FROM bill WHERE payer = id "
    'AND "sum" > 200)',
    "a case": "SELECT sum(CASE WHEN kind = 'gas' THEN 1 ELSE 0 END) AS g FROM bill",
}


def here(**options):
    """Return the database in the embedded DuckDB."""
    return rpac.Database(TABLES, **SAID | options)


def there(engine, **options):
    """Return the same database elsewhere."""
    return rpac.Database(list(TABLES), engine=engine, **SAID | options)


def rows_of(name):
    """Return the rows of a table as plain values, None for what is missing."""
    with duckdb.connect() as con:
        con.register("t", TABLES[name])
        return con.execute("FROM t").fetchall()


def fill_postgres(url):
    """Make the tables on a PostgreSQL server."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as db:
        for name, columns in COLUMNS.items():
            db.execute(f"CREATE TABLE {name} ({columns})")
            rows = rows_of(name)
            marks = ", ".join(["%s"] * len(rows[0]))
            db.cursor().executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
    return url
