"""Made-up people for the tests of SQL, and their worlds by hand: pandas and plain DuckDB."""

import datetime

import duckdb
import numpy as np
import pandas as pd
from sqlglot.optimizer.scope import build_scope

import rpac
from rpac.sql.analysis import Analysis
from rpac.sql.parsing import parsed

RNG = np.random.default_rng(4)
N = 60
STAFF = {
    "id": np.arange(N) // 2,
    "dept": RNG.choice(["ops", "lab", "law"], N, p=[0.6, 0.35, 0.05]),
    "salary": np.round(RNG.lognormal(10, 0.4, N), 2),
    "age": RNG.integers(20, 65, N),
    "since": [datetime.date(2000, 1, 1) + datetime.timedelta(days=int(d))
              for d in RNG.integers(0, 9000, N)],
}  # fmt: skip
VISITS = {
    "visitor": RNG.integers(0, N // 2, 300),
    "cost": np.round(RNG.gamma(2.0, 20.0, 300), 2),
    "code": RNG.choice(["a", "b"], 300),
}
CODES = {"code": ["a", "b"], "label": ["alpha", "beta"]}


def frame(**columns):
    return pd.DataFrame(columns)


def database(**options):
    """Return people (two rows each) and their visits, with public codes and departments."""
    tables = {"staff": pd.DataFrame(STAFF), "visit": pd.DataFrame(VISITS)}
    settings = {
        "links": {"visit.visitor": "staff.id"},
        "public": ("codes", "staff.dept"),
        "worlds": 32,
    }
    return rpac.Database(tables | {"codes": pd.DataFrame(CODES)}, "staff.id", **settings | options)


def tables_of(units):
    """Return the tables with the rows of these units, filtered with pandas."""
    staff, visit = pd.DataFrame(STAFF), pd.DataFrame(VISITS)
    return {
        "staff": staff[staff.id.isin(units)],
        "visit": visit[visit.visitor.isin(units)],
        "codes": pd.DataFrame(CODES),
    }


def members(db, world):
    """Return the names of the units that are in a world."""
    return np.unique(STAFF["id"])[db.source.masks[world]]


def run_on(tables, sql):
    """Return the rows of a query, run by a DuckDB that knows nothing of units."""
    with duckdb.connect() as con:
        for name, table in tables.items():
            con.register(name, table)
        return con.execute(sql).fetchall()


def hand(db, sql, world):
    return run_on(tables_of(members(db, world)), sql)


def factor(db, world):
    """Return what a total of a world is multiplied by, to speak of everybody."""
    inside = db.source.masks[world]
    return inside.size / inside.sum()


def as_float(value):
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=datetime.UTC).timestamp()
    if isinstance(value, datetime.date):
        return (value - datetime.date(1970, 1, 1)).days * 86400.0
    return 0.0 if value is None else float(value)  # NULL counts 0


def scope_of(db, sql):
    return build_scope(parsed(db, sql))


def analysed(db, sql):
    return Analysis(db, scope_of(db, sql))
