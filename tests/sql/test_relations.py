"""Rows where they are: owners, groups, and TPC-H alike in DuckDB, PostgreSQL and Spark."""

import datetime as dt

import duckdb
import numpy as np
import pytest
from benchmarks import tpch

import rpac
from rpac.person import level, mechanism
from rpac.person.split import split
from rpac.sql import relations
from tests.sql import engines

TABLES = {
    "staff": "SELECT * FROM (VALUES (1, 7, 'a', 1.5), (2, 7, 'b', 2.5), (2, 8, 'c', 4.5), "
    "(NULL, 9, 'a', 9.5), (3, NULL, NULL, 0.5)) AS t(id, house, dept, pay)",
    "bill": "SELECT * FROM (VALUES (7, 10, DATE '2020-01-02', true), (8, 20, NULL, false), "
    "(9, 40, DATE '2020-01-03', true), (NULL, 80, NULL, NULL)) AS t(house, euro, due, paid)",
    "codes": "SELECT * FROM (VALUES ('a', 1), ('b', 2), ('z', 3)) AS t(code, n)",
}
SAID = {"links": {"bill.house": "staff.house"}, "public": ["codes"]}


@pytest.fixture(scope="module")
def both(tmp_path_factory, database):
    """The tables in Parquet files and on a server."""
    tables = {name: engines.relation(sql) for name, sql in TABLES.items()}
    paths = engines.in_files(tmp_path_factory.mktemp("staff"), tables)
    url = database("staff")
    places = engines.in_postgres(url, tables)

    def made(**said):
        return [engines.database(paths, "staff.id", **SAID | said),
                engines.database(places, "staff.id", url, **SAID | said)]  # fmt: skip

    return made


def exactly(monkeypatch, db, sql):
    """Return the numbers of an answer, with all that is drawn without noise."""
    for module in (level, mechanism):
        monkeypatch.setattr(module, "rounded_gaussian", lambda sigma: 0)
    asked = db.query(sql).asked(db.presence)
    drawn = mechanism.draw(asked.question, asked.rows(), split(0.25, asked.question))
    return asked.numbers(drawn), drawn


def added(db, sql):
    """Return what the relation of a question has: units, groups and numbers."""
    units = db.query(sql).asked(db.presence).rows()
    found = units.fetch(f"SELECT * FROM ({units.relation}) AS r")
    if db.owned.engine is not None:
        engines.close(db)
    return sorted(tuple(None if x is None else float(x) for x in row) for row in found)


ASKED = {
    "declared keys, NULL among them": (
        "SELECT dept, sum(pay) AS s FROM staff GROUP BY dept", {"dept": ["a", None, "zz", "b"]},
        [(1, 0, 1.5), (2, 1, 2.5), (3, 3, 0.5)]),
    "keys of a public table": (
        "SELECT n, sum(pay) AS s FROM staff JOIN codes ON dept = code GROUP BY n", {},
        [(1, 0, 1.5), (2, 1, 2.5)]),
    "a house of two is a bill of each": (
        "SELECT sum(euro) AS s FROM bill", {}, [(1, 0, 10), (2, 0, 10), (2, 0, 20)]),
    "joined rows have one owner": (
        "SELECT sum(euro) AS s FROM staff JOIN bill ON staff.house = bill.house", {},
        [(1, 0, 10), (2, 0, 10), (2, 0, 20)]),
    "days as keys": (
        "SELECT due, sum(euro) AS s FROM bill GROUP BY due",
        {"due": ["2020-01-02", "no day", dt.date(2020, 1, 3)]}, [(1, 0, 10), (2, 0, 10)]),
    "truths as keys": (
        "SELECT paid, sum(euro) AS s FROM bill GROUP BY paid", {"paid": [False, True]},
        [(1, 1, 10), (2, 0, 20), (2, 1, 10)]),
    "numbers as keys": (
        "SELECT house, sum(pay) AS s FROM staff GROUP BY house", {"house": ["7", "x"]},
        [(1, 0, 1.5), (2, 0, 2.5)]),
    "aggregates of a unit's own rows": (
        "SELECT c, sum(s) AS s FROM (SELECT id, count(*) AS c, sum(pay) AS s, avg(pay) AS a, max(pay) AS m "  # noqa: E501
        "FROM staff GROUP BY id) AS t GROUP BY c", {"c": [1, 2]}, [(1, 0, 1.5), (2, 1, 7.0), (3, 0, 0.5)]),  # noqa: E501
    "only groups that nobody can be in": (
        "SELECT house, sum(pay) AS s FROM staff GROUP BY house", {"house": ["x"]}, []),
    "with a name": (
        "WITH rich AS (SELECT id, pay * 2 AS p FROM staff WHERE pay > 2) SELECT sum(p) AS s FROM rich", {},  # noqa: E501
        [(2, 0, 5.0), (2, 0, 9.0)]),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_rows_are_those_of_single_people_in_declared_groups(both, name):
    sql, keys, wanted = ASKED[name]
    for db in both(keys=keys):
        assert added(db, sql) == wanted


def test_names_of_people_stay_where_they_are(both):
    """What a server sends does not grow with people: sums by group, one place a level."""
    there = both(keys={"dept": ["a", "b"]})[1]
    released = rpac.privatize(
        there.query("SELECT dept, avg(pay) AS m, count(*) AS n FROM staff GROUP BY dept"),
        there.presence,
        rpac.SuccessRate(0.55),
    )
    assert len(released.value) == 2
    assert there.owned.engine.received < 1_000
    with pytest.raises(rpac.InputError, match="rows in this process, to audit"):
        rpac.audit(released)
    engines.close(there)


def test_who_loses_the_server_is_charged_and_told_nothing(both):
    there = both()[1]
    question = there.query("SELECT count(*) AS n FROM staff")
    question.asked(there.presence)
    there.owned.engine._db.close()
    with pytest.raises(rpac.InputError, match="a query that the database can run; got"):
        rpac.privatize(question, there.presence, rpac.SuccessRate(0.55))


def test_columns_that_cannot_be_compared_are_refused_before_a_row_is_read(both):
    here, there = both(links={"bill.due": "staff.house"})
    with pytest.raises(rpac.InputError, match="links between ids of one kind; got bill.due DATE"):
        there.query("SELECT sum(euro) AS s FROM bill").asked(there.presence)


def test_texts_of_queries_have_an_end(both, monkeypatch):
    monkeypatch.setattr(relations, "LONGEST", 100)
    here, there = both()
    engines.close(there)
    with pytest.raises(rpac.InputError, match="at most 100 characters of SQL; got"):
        here.query("SELECT sum(pay) AS s FROM staff").asked(here.presence)


def test_types_that_are_not_read_are_refused_where_they_are_used(tmp_path):
    paths = engines.in_files(
        tmp_path, {"t": duckdb.sql("SELECT 1 AS id, [1] AS x, TIME '12:00' AS h")}
    )
    db = engines.database(paths, "id")
    for term in ("x", "h"):
        with pytest.raises(rpac.InputError, match="columns of numbers, text, dates or truths"):
            db.query(f"SELECT sum({term}) AS s FROM t").asked(db.presence)


def test_files_of_duckdb_and_globs_are_read_in_place(tmp_path):
    with duckdb.connect(str(tmp_path / "w.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE w AS SELECT range % 5 AS id, range::DOUBLE AS x FROM range(20)"
        )
    for i in range(2):
        sql = f"SELECT range % 5 AS id, range::DOUBLE AS x FROM range({10 * i}, {10 * i + 10})"
        duckdb.sql(sql).write_parquet(str(tmp_path / f"part{i}.parquet"))
    sums = []
    for tables in ({"w": tmp_path / "w.duckdb"}, {"w": f"{tmp_path}/part*.parquet"}):
        db = engines.database(tables, "w.id")
        sums.append(
            sorted(
                db.query("SELECT sum(x) AS s FROM w")
                .asked(db.presence)
                .rows()
                .held()
                .values.ravel()
            )
        )
    assert sums[0] == sums[1] == list(range(20))


# --- TPC-H ----------------------------------------------------------------------------------------

KEYS = {
    **tpch.KEYS, "l_returnflag": ["A", "N", "R"], "l_linestatus": ["F", "O"],
    "l_shipmode": ["MAIL", "SHIP"], "l_year": [1995, 1996], "o_year": list(range(1992, 1999)),
}  # fmt: skip
TAKEN = (1, 5, 6, 7, 8, 9, 12, 13, 14, 19)
ON_A_SERVER = (1, 5, 8, 13, 14)
IN_SPARK = (6, 13)


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tpch")
    if not tpch.generate(folder, 0.01):
        pytest.skip("tpchgen-cli is not installed: TPC-H is not tested")
    return {name: folder / f"{name}.parquet" for name in tpch.TABLES}


def customers(tables, engine=None):
    said = {"links": tpch.LINKS, "public": tpch.PUBLIC_TABLES, "keys": KEYS}
    return engines.database(tables, "customer.c_custkey", engine, **said)


def held_alike(monkeypatch, one, two, numbers):
    """Hold levels, sums and answers without noise, and certificates, of two engines together."""
    for number in numbers:
        sql = tpch.QUERIES[number]
        (a, x), (b, y) = (exactly(monkeypatch, db, sql) for db in (one, two))
        assert np.array_equal(a, b, equal_nan=True), number
        assert (x.levels, x.sums.tolist()) == (y.levels, y.sums.tolist()), number
        assert np.nansum(np.abs(a)) > 0 or number == 8  # of which a small table has none
    certificates = [
        rpac.privatize(
            db.query(tpch.QUERIES[numbers[-1]]), db.presence, rpac.SuccessRate(0.55)
        ).certificate
        for db in (one, two)
    ]
    assert certificates[0].bound == certificates[1].bound
    assert certificates[0].noise == certificates[1].noise  # without noise the levels are the same


def test_tpch_is_answered_alike_on_a_server(monkeypatch, paths, database):
    url = database("tpch_person")
    tables = {name: duckdb.sql(f"FROM '{path}'") for name, path in paths.items()}
    there = customers(engines.in_postgres(url, tables), url)
    held_alike(monkeypatch, customers(paths), there, ON_A_SERVER)
    assert there.owned.engine.received < 20_000
    engines.close(there)


def test_tpch_is_answered_alike_on_a_cluster(monkeypatch, paths, spark):
    there = customers(engines.in_spark(spark, paths), spark)
    held_alike(monkeypatch, customers(paths), there, IN_SPARK)
    assert there.owned.engine.received < 20_000


def test_questions_that_person_refuses_are_refused_alike(paths, spark):
    there, here = customers(engines.in_spark(spark, paths), spark), customers(paths)
    for number in set(tpch.QUERIES) - set(TAKEN):
        said = []
        for db in (here, there):
            with pytest.raises(rpac.InputError) as error:
                db.query(tpch.QUERIES[number]).asked(db.presence)
            said.append(str(error.value))
        assert said[0] == said[1]
