"""SQL: every world as if it were run by hand; what is refused; how answers look."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from benchmarks import tpch
from benchmarks.sql import by_hand, enter, hand_connection

import rpac

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


def database(**options):
    tables = {"staff": pd.DataFrame(STAFF), "visit": pd.DataFrame(VISITS)}
    settings = {
        "links": {"visit.visitor": "staff.id"},
        "public": ("codes", "staff.dept"),
        "worlds": 32,
    }
    return rpac.Database(tables | {"codes": pd.DataFrame(CODES)}, "staff.id", **settings | options)


def world_tables(db, world):
    """Return the tables of one world, filtered with pandas."""
    chosen = np.unique(STAFF["id"])[db.source.masks[world]]
    staff, visit = pd.DataFrame(STAFF), pd.DataFrame(VISITS)
    return {
        "staff": staff[staff.id.isin(chosen)],
        "visit": visit[visit.visitor.isin(chosen)],
        "codes": pd.DataFrame(CODES),
    }


def hand(db, sql, world):
    import duckdb

    with duckdb.connect() as con:
        for name, frame in world_tables(db, world).items():
            con.register(name, frame)
        return con.execute(sql).fetchall()


SINGLE = {
    "count": ("SELECT count(*) FROM staff WHERE age > 40", True, [1]),
    "three kinds": ("SELECT sum(salary), avg(age), count(age) FROM staff", True, [1, 0, 1]),
    "extremes": ("SELECT min(salary), max(age) FROM staff WHERE age > 30", True, [0, 0]),
    "ratio": ("SELECT sum(salary) / count(*) AS r FROM staff", True, [0]),
    "product": ("SELECT sum(salary) * count(*) AS r FROM staff", True, [2]),
    "join": ("SELECT sum(cost) FROM visit JOIN staff ON visitor = id WHERE age > 30", True, [1]),
    "using a CTE": (
        "WITH v AS (SELECT visitor, sum(cost) AS c FROM visit GROUP BY visitor) "
        "SELECT avg(c), count(*), max(c) FROM v",
        True,
        [0, 1, 0],
    ),
    "same unit twice": (
        "SELECT count(*) FROM visit v JOIN visit w ON v.visitor = w.visitor WHERE v.cost > w.cost",
        True,
        [1],
    ),
    "exists": (
        "SELECT count(*) FROM staff WHERE EXISTS "
        "(SELECT 1 FROM visit WHERE visitor = id AND cost > 60)",
        True,
        [1],
    ),
    "public subquery": (
        "SELECT count(*) FROM visit WHERE code IN (SELECT code FROM codes WHERE label > 'b')",
        True,
        [1],
    ),
    "against the average": (
        "SELECT count(*) FROM staff WHERE salary > (SELECT avg(salary) FROM staff)",
        False,
        [1],
    ),
    "in others' codes": (
        "SELECT count(*) FROM staff WHERE age IN (SELECT age + 1 FROM staff)",
        False,
        [1],
    ),
    "median": ("SELECT median(salary) FROM staff", False, [0]),
    "distinct": ("SELECT count(DISTINCT dept), count(DISTINCT id) FROM staff", False, [0, 1]),
    "of groups": (
        "SELECT max(t), count(*) FROM (SELECT dept, sum(salary) AS t FROM staff GROUP BY dept)",
        False,
        [1, 0],
    ),
    "pairs of units": ("SELECT avg(a.age - b.age) FROM staff a, staff b", False, [0]),
    "public left join": (
        "SELECT avg(cost) FROM codes LEFT JOIN visit ON codes.code = visit.code",
        False,
        [0],
    ),
    "filter": ("SELECT count(*) FILTER (WHERE age > 40) FROM staff", False, [1]),
    "dates": ("SELECT max(since), min(since) FROM staff WHERE age < 50", True, [0, 0]),
    "whole sums": ("SELECT sum(age) FROM staff WHERE age > 30", True, [1]),
    "an outer join's condition ties only its own table": (
        "SELECT avg(v.cost) FROM staff s CROSS JOIN visit v "
        "LEFT JOIN codes c ON c.code = v.code AND s.id = v.visitor",
        False,
        [0],
    ),
    "a key that may be missing names no unit": (
        "SELECT avg(n) FROM (SELECT v.visitor, count(*) AS n FROM staff s "
        "LEFT JOIN visit v ON s.id = v.visitor AND v.cost > 90 GROUP BY v.visitor)",
        False,
        [1],
    ),
    "left join of the same unit": (
        "SELECT count(*), count(cost) FROM staff LEFT JOIN visit ON id = visitor AND cost > 30",
        True,
        [1, 1],
    ),
    "a union of totals": (
        "SELECT sum(n) FROM (SELECT count(*) AS n FROM staff UNION ALL SELECT count(*) FROM visit)",
        False,
        [1],
    ),
    "limited": (
        "SELECT sum(salary) FROM (SELECT salary FROM staff ORDER BY salary, id LIMIT 5)",
        False,
        [0],
    ),
}


def as_float(value):
    if isinstance(value, datetime.date):
        return (value - datetime.date(1970, 1, 1)).days * 86400.0
    return 0.0 if value is None else float(value)  # NULL counts 0


@pytest.mark.parametrize("name", SINGLE)
def test_single_answers_are_those_of_each_world_run_by_hand(name):
    sql, one_pass, degrees = SINGLE[name]
    db = database()
    query = db.query(sql)
    assert query.one_pass is one_pass
    assert [m.degree for m in query.measures] == degrees
    form = query.announce(db.source)
    for world in (0, 9, 31):
        found = query(np.array([world]))[0] * form.scale
        expected = [as_float(v) for v in hand(db, sql, world)[0]]
        assert found == pytest.approx(np.array(expected) * 2.0 ** np.array(degrees), rel=1e-9)


GROUPED = {
    "one pass": "SELECT dept, count(*) AS n, avg(salary) FROM staff GROUP BY dept",
    "having": "SELECT dept, sum(salary) AS s, avg(age) AS a FROM staff GROUP BY dept "
    "HAVING avg(age) > 42",
    "expression": "SELECT upper(dept) AS d, sum(salary) / count(*) AS m FROM staff GROUP BY dept",
    "a query a world": "SELECT dept, median(salary) AS m, count(*) AS n FROM staff GROUP BY dept",
    "public table": "SELECT label, sum(cost) AS s, min(cost) AS l FROM visit "
    "JOIN codes USING (code) GROUP BY label",
}


@pytest.mark.parametrize("name", GROUPED)
def test_grouped_answers_are_those_of_each_world_run_by_hand(name):
    sql = GROUPED[name]
    db = database()
    query = db.query(sql)
    form = query.announce(db.source)
    rows, degrees = form.layout[1], [m.degree for m in query.measures]
    for world in range(0, 32, 4):
        table = (query(np.array([world]))[0] * form.scale).reshape(len(rows), -1)
        by_key = {row[:1]: row[1:] for row in hand(db, sql, world)}
        assert set(by_key) <= set(rows)
        for key, found in zip(rows, table, strict=True):
            expected = [as_float(v) for v in by_key.get(key, [None] * len(degrees))]
            assert found == pytest.approx(np.array(expected) * 2.0 ** np.array(degrees), rel=1e-9)


def test_declared_groups_are_all_there_and_the_rest_is_other():
    for sql, kind in [
        ("SELECT dept, count(*) AS n FROM staff GROUP BY dept", True),
        ("SELECT dept, count(*) AS n, median(age) AS m FROM staff GROUP BY dept", False),
    ]:
        db = database(public=("codes",), keys={"dept": ["ops", "zoo"]})
        query = db.query(sql)
        assert query.one_pass is kind
        form = query.announce(db.source)
        assert sorted(form.layout[1]) == [("ops",), ("other",), ("zoo",)]
        table = form.rebuild(query(np.array([0]))[0])
        assert table.set_index("dept")["n"].to_dict()["zoo"] == 0
        assert table["n"].sum() == 2 * db.source.masks[0].sum() * 2  # two rows a person
    db = database(public=("codes",), keys={"age": [30, 31], "dept": ["ops"]})
    query = db.query("SELECT age, dept, count(*) FROM staff GROUP BY ALL")
    assert len(query.announce(db.source).layout[1]) == 3 * 2


def test_releases_are_typed_rounded_ordered_and_labelled_like_the_query():
    sql = (
        'SELECT dept AS "Département", count(*) AS n, avg(salary) AS "mean pay", '
        "max(since) AS last, sum(age) AS years FROM staff GROUP BY dept ORDER BY n DESC LIMIT 2"
    )
    db = database()
    query = db.query(sql)
    form = query.announce(db.source)
    value = form.rebuild(query(np.array([3]))[0])
    assert isinstance(value, pd.DataFrame)
    assert list(value.columns) == ["Département", "n", "mean pay", "last", "years"]
    assert len(value) == 2
    assert value["n"].is_monotonic_decreasing
    assert value["n"].dtype.kind == "i"
    assert isinstance(value["last"][0], datetime.date)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pd", "pl", "pa"])
def test_the_same_kind_of_table_comes_back(make):
    db = rpac.Database({"staff": make(STAFF)}, "id", worlds=32)
    release = rpac.privatize(
        db.query("SELECT count(*) AS n FROM staff WHERE age < 40"), db.source, 1
    )
    assert type(release.value) is type(make(STAFF))
    assert release.certificate.outputs["kind"] == "count"


def test_files_are_named_after_themselves_and_give_rows(tmp_path):
    path = tmp_path / "Staff.csv"
    pd.DataFrame(STAFF).to_csv(path, index=False)
    db = rpac.Database(path, "rows", worlds=32)
    assert len(db.units) == N
    value = rpac.privatize(db.query("select avg(salary) a from staff"), db.source, 1).value
    assert list(value[0]) == ["a"]
    assert "60 units" in repr(db)
    same, other = pd.DataFrame(STAFF), pd.DataFrame(STAFF | {"age": STAFF["age"] + 1})
    assert rpac.Database({"staff": same}, "rows", worlds=32).version() == db.version()
    assert rpac.Database({"staff": other}, "rows", worlds=32).version() != db.version()


def test_a_relation_comes_back_as_a_relation():
    import duckdb

    db = rpac.Database({"staff": duckdb.from_df(pd.DataFrame(STAFF))}, "id", worlds=32)
    value = rpac.privatize(db.query("SELECT avg(age) AS a FROM staff"), db.source, 1).value
    assert value.columns == ["a"]


REFUSED = {
    "rows": ("SELECT salary FROM staff", "that aggregates over units; got rows of single units"),
    "by unit": ("SELECT id, sum(salary) FROM staff GROUP BY id", "rows of single units"),
    "private groups": (
        "SELECT age, count(*) FROM staff GROUP BY age",
        "groups in 'age' that are public or declared; got a private column",
    ),
    "public only": ("SELECT count(*) FROM codes", "that reads a private table; got public tables"),
    "two statements": ("SELECT 1; SELECT 2", "Expected one SELECT; got 2"),
    "a change": ("DROP TABLE staff", "Expected one SELECT"),
    "nonsense": ("SELEC", "Expected"),
    "too deep": (
        f"SELECT avg({'(' * 3000}age{')' * 3000}) FROM staff",
        "Expected a SELECT that pars",
    ),
    "unknown column": ("SELECT avg(wage) FROM staff", "Expected a"),
    "unknown table": ("SELECT avg(wage) FROM payroll", "Expected tables among .*; got payroll"),
    "text": ("SELECT min(dept || 'x') FROM staff", "Expected numbers or dates in .*; got VARCHAR"),
    "pairs": (
        "SELECT count(*) FROM staff a, staff b WHERE a.age = b.age",
        "rows that belong to one unit each; got a join of several units",
    ),
    "threshold": (
        "SELECT dept, avg(age) FROM staff GROUP BY dept HAVING count(*) > 5",
        "numbers that grow alike with the sample; got a total beside a constant",
    ),
    "plus one": ("SELECT count(*) + 1 FROM staff", "numbers that grow alike with the sample"),
    "root": ("SELECT sqrt(count(*)) FROM staff", "grow alike .* a function of totals"),
    "string of totals": (
        "SELECT sum(t) + string_agg(t, '') FROM (SELECT count(*) t FROM staff GROUP BY dept)",
        "Expected",
    ),
    "union of rows": (
        "SELECT count(*) FROM (SELECT id FROM staff UNION ALL SELECT visitor FROM visit)",
        "rows that belong to one unit each",
    ),
    "distinct rows": (
        "SELECT count(*) FROM (SELECT DISTINCT age, dept FROM staff)",
        "rows that belong to one unit each",
    ),
    "mixed union": (
        "SELECT count(*) AS n FROM staff UNION ALL SELECT avg(age) FROM staff",
        "a union of totals with something else",
    ),
    "tied by an outer join": (
        "SELECT count(*) FROM staff s CROSS JOIN visit v "
        "LEFT JOIN codes c ON c.code = v.code AND s.id = v.visitor",
        "got a join of several units",
    ),
    "recursion": (
        "WITH RECURSIVE t AS (SELECT age AS n FROM staff UNION ALL SELECT n - 1 FROM t "
        "WHERE n > 60) SELECT count(n) FROM t",
        "rows that belong to one unit each",
    ),
    "offset": ("SELECT avg(age) FROM staff LIMIT 1 OFFSET 1", "Expected no OFFSET"),
    "limit": ("SELECT avg(age) FROM staff LIMIT 1 + 1", "Expected a plain number in LIMIT"),
    "no number": ("SELECT DISTINCT dept FROM staff", "Expected at least one number"),
    "a schema": (
        "SELECT avg(age) + (SELECT salary FROM pool.staff WHERE id = 17) FROM staff",
        "tables among .*, without a schema; got pool.staff",
    ),
    "a function of tables": (
        "SELECT avg(age) FROM staff, query('SELECT 1 AS x')",
        "without a schema; got .*QUERY",
    ),
    "the catalog": ("SELECT count(*) FROM staff, duckdb_tables()", "without a schema; got"),
    "nope": ("SELECT avg(nope) FROM staff", r"Col: 15\. Columns: staff.id, .*codes.label"),
    "mean of text": ("SELECT avg(dept) FROM staff", r"computes; got text in 'dept'\. Count"),
    "files": ("SELECT avg(a) FROM 'other.csv'", "Expected tables among"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_queries(name):
    sql, message = REFUSED[name]
    with pytest.raises(rpac.InputError, match=message):
        database().query(sql)


def test_queries_that_fail_when_they_run():
    db = database()
    with pytest.raises(rpac.InputError, match="runs on every world; got a ConversionException"):
        db.query("SELECT avg(CAST(dept AS INTEGER)) FROM staff").announce(db.source)
    with pytest.raises(rpac.InputError, match="keys that tell the rows of an answer apart"):
        db.query("SELECT median(age) FROM staff GROUP BY dept").announce(db.source)
    with pytest.raises(rpac.InputError, match="Expected at least one row in the answer; got none"):
        db.query("SELECT dept, avg(age) FROM staff WHERE age > 99 GROUP BY dept").announce(
            db.source
        )
    with pytest.raises(rpac.InputError, match="Expected the source of the query's own database"):
        db.query("SELECT avg(age) FROM staff").announce(rpac.Subsets(range(9)))


def frame(**columns):
    return pd.DataFrame(columns)


BAD = {
    "no tables": (lambda: rpac.Database({}, "a.b"), "Expected tables by name"),
    "unlinked": (lambda: database(links={}), "a link from table 'visit' to the unit, or its name"),
    "both": (lambda: database(public=("codes", "visit")), "'visit' public or linked; got both"),
    "public": (lambda: database(public=("codes", "dpt")), "in `public`; got 'dpt'"),
    "public column": (lambda: database(public=("codes", "staff.dpt")), "in `public`; got 'dpt'"),
    "public of two": (
        lambda: rpac.Database(
            {"a": frame(x=[1]), "b": frame(x=[1])}, "a.x", {"b.x": "a.x"}, public=["x"]
        ),
        "Expected one of a.x, b.x in `public`; got 'x'",
    ),
    "unit table": (lambda: rpac.Database({"a": frame(x=[1]), "b": frame(x=[1])}, "c.x"), "a table"),
    "unit column": (lambda: rpac.Database({"a": frame(x=[1])}, "y"), "a column among"),
    "no dot": (lambda: database(links={"visitor": "staff.id"}), 'Expected "table.column"'),
    "missing unit": (
        lambda: rpac.Database({"a": frame(x=[1.0, None, 2.0])}, "x"),
        "Expected a unit in every row; got missing",
    ),
    "orphans": (
        lambda: rpac.Database({"a": frame(x=[1, 2]), "b": frame(y=[1, 3])}, "a.x", {"b.y": "a.x"}),
        "an owner for every row of 'b'; got rows without",
    ),
    "shared key": (
        lambda: rpac.Database(
            {"a": frame(x=[1, 2], k=[7, 7]), "b": frame(y=[7])}, "a.x", {"b.y": "a.k"}
        ),
        "keys a.k that belong to one unit each; got some with several",
    ),
    "hidden name": (
        lambda: rpac.Database({"a": frame(x=[1, 2], __unit=[1, 2])}, "x"),
        "Expected no column __unit",
    ),
    "file": (lambda: rpac.Database("none.csv", "x"), "Expected a file that exists"),
    "suffix": (lambda: rpac.Database("none.txt", "x"), "Expected a .csv or .parquet file"),
    "no table": (lambda: rpac.Database({"a": 3}, "x"), "Expected a table; got int"),
}


def test_a_column_is_public_by_its_bare_name_where_one_private_table_has_it():
    db = database(public=("codes", "Dept", "code"))
    assert db.public == ("codes", "staff.dept", "visit.code")
    db = database(public=("codes",), keys={"dpt": ["ops"]})
    with pytest.raises(rpac.InputError, match="No column is named 'dpt', as in `keys`"):
        db.query("SELECT dept, avg(age) FROM staff GROUP BY dept")


@pytest.mark.parametrize("name", BAD)
def test_refused_databases(name):
    call, message = BAD[name]
    with pytest.raises(rpac.InputError, match=message):
        call()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tpch")
    if not tpch.generate(folder):
        pytest.skip("tpchgen-cli is not installed: TPC-H is not tested")
    return folder


def test_tpch_answers_are_those_of_each_world_run_by_hand(folder):
    db = tpch.database(folder, worlds=128)
    connection = hand_connection(folder)
    made = {}
    for number, one_pass in [(1, True), (13, True), (22, False)]:
        query = db.query(tpch.QUERIES[number])
        assert query.one_pass is one_pass
        made[number] = (query, query.announce(db.source))
    for world in (0, 63, 127):
        enter(connection, db, world)
        for query, form in made.values():
            by_hand(connection, query, form, world)


def test_at_least_fifteen_of_the_tpch_questions_are_taken(folder):
    db = tpch.database(folder, worlds=128)
    taken = []
    for number, sql in tpch.QUERIES.items():
        try:
            taken.append((number, db.query(sql).one_pass))
        except rpac.InputError:
            continue
    assert [n for n, _ in taken] == [1, 4, 5, 6, 7, 8, 9, 12, 13, 14, 15, 17, 19, 21, 22]
    assert [n for n, one_pass in taken if not one_pass] == [15, 17, 22]


def test_a_group_of_one_gets_noise_that_hides_the_person():
    """What is empty in a world counts a public number there, never the person's own."""
    rng = np.random.default_rng(3)
    staff = pd.DataFrame({"id": range(200), "dept": ["crew"] * 199 + ["chief"],
                          "pay": rng.normal(50.0, 5.0, 200)})  # fmt: skip
    db = rpac.Database({"staff": staff}, unit="id", public=["staff.dept"], worlds=64)
    for sql, column in (
        ("SELECT dept, avg(pay) AS pay FROM staff GROUP BY dept", "chief"),
        ("SELECT avg(pay) AS crew, max(CASE WHEN id = 199 THEN pay END) AS chief FROM staff", ""),
    ):
        outputs = rpac.simulate(db.source, db.query(sql))
        spread = outputs.values.std(axis=0)
        assert (spread > 0).all(), column
        release = rpac.privatize(db.query(sql), db.source, 0.1)
        low, high = (side.iloc[-1, -1] for side in release.noise_interval)
        assert high - low > 0.5 * staff["pay"].iloc[-1]
