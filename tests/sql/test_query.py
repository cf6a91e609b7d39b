"""A question as a mechanism: its form, its answers on worlds, and the release of both."""

import datetime

import numpy as np
import pandas as pd
import pytest
from benchmarks import tpch
from benchmarks.sql import by_hand, enter, hand_connection

import rpac
from rpac.sql.query import Query
from tests.sql.people import as_float, database, factor, frame, hand

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
        times = factor(db, world) ** np.array(degrees)
        assert found == pytest.approx(np.array(expected) * times, rel=1e-9, abs=_rounding(query))


def _rounding(query):
    """Counts are whole numbers of a world, doubled: off by 1 at most."""
    return 1.0 if all(m.counts for m in query.measures) else 0.0


GROUPED = {
    "one pass": "SELECT dept, count(*) AS n, avg(salary) FROM staff GROUP BY dept",
    "having": "SELECT dept, sum(salary) AS s, avg(age) AS a FROM staff GROUP BY dept "
    "HAVING max(age) > 62",
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
            times = factor(db, world) ** np.array(degrees)
            whole = _rounding(query)
            assert found == pytest.approx(np.array(expected) * times, rel=1e-9, abs=whole)


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
        assert abs(table["n"].sum() - 2 * db.source.units.size) <= 2  # two rows a person, rounded
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


def test_queries_that_fail_when_they_run():
    db = database()
    nobody = "SELECT dept, avg(age) AS m FROM staff WHERE {} GROUP BY dept"
    with pytest.raises(
        rpac.InputError, match=r"at least one row in the answer; got none of \['dept', 'm'\]"
    ):
        db.query(nobody.format("dept = 'zoo'")).announce(db.source)
    assert len(db.query(nobody.format("age > 99")).announce(db.source).layout[1]) == 3
    with pytest.raises(rpac.InputError, match="Expected the source of the query's own database"):
        db.query("SELECT avg(age) FROM staff").announce(rpac.Subsets(range(9)))


# --- form and answers ---------------------------------------------------------------------------

BOTH = {
    "one pass": "SELECT dept, count(*) AS n, avg(salary) AS s FROM staff GROUP BY dept",
    "by world": "SELECT dept, count(*) AS n, median(salary) AS s FROM staff GROUP BY dept",
}


@pytest.mark.parametrize("name", BOTH)
def test_a_query_is_a_mechanism_of_worlds_by_number(name):
    db = database()
    query = Query(db, BOTH[name])
    assert query.one_pass is (name == "one pass")
    assert repr(query) == query.sql == BOTH[name]
    assert query.full.size == 0
    all_at_once = query(np.arange(32))  # announced on the way
    assert all_at_once.shape == (32, 6)
    form = query.announce(db.source)
    assert form.labels == tuple(f"{d}: {m}" for d in ("lab", "law", "ops") for m in ("n", "s"))
    for worlds in ([31], [3, 3, 0], list(range(31, -1, -1))):
        assert np.array_equal(query(worlds), all_at_once[worlds])
    outputs = rpac.simulate(db.source, db.query(BOTH[name]))
    assert np.array_equal(outputs.values, all_at_once)
    assert np.array_equal(outputs.scale, form.scale)


@pytest.mark.parametrize("name", BOTH)
def test_the_full_answer_is_that_of_all_units(name):
    db = database()
    query = db.query(BOTH[name])
    form = query.announce(db.source)
    expected = {row[0]: row[1:] for row in db.connection.execute(BOTH[name]).fetchall()}
    for (dept,), numbers in zip(form.layout[1], query.full, strict=True):
        assert numbers == pytest.approx(expected[dept], rel=1e-12)


def test_a_query_that_answers_otherwise_on_a_second_run_is_refused():
    db = database()
    query = db.query("SELECT median(salary) AS m FROM staff")
    run = query._runs.answers
    query._runs.answers = lambda worlds: run(worlds) + np.random.default_rng().normal()
    with pytest.raises(rpac.MechanismError, match="depends on its secret alone; got other"):
        rpac.simulate(db.source, query)


def test_what_cannot_be_aggregated_at_once_is_run_by_world():
    """A sum of wide numbers overflows inside a unit's own rows: its worlds have no answer."""
    table = frame(id=[1, 1, 2, 3, 4], x=[1, 2, 3, 4, 5])
    db = rpac.Database({"t": table}, "id", worlds=6)
    big = "(x * 1e37)::DECIMAL(38, 0) * (x < 3)::INTEGER"
    sql = f"SELECT avg(s) AS a FROM (SELECT id, sum({big}) * 9 AS s FROM t GROUP BY id)"
    query = db.query(sql)
    assert query.one_pass
    outputs = rpac.simulate(db.source, query)
    assert np.isfinite(outputs.values).all()


@pytest.mark.parametrize("name", BOTH)
def test_every_call_computes_and_one_aggregation_serves_them_all(name):
    """The tables change behind the query's back, between the first call and the second."""
    db = rpac.Database(
        {"staff": frame(id=range(9), dept=["a"] * 9, salary=np.arange(9.0))}, "id",
        public=["dept"], worlds=16,
    )  # fmt: skip
    query = db.query(BOTH[name])
    query.announce(db.source)
    first = query(np.arange(16))
    db.connection.execute("UPDATE raw.staff SET salary = 1000 - salary")
    again = query(np.arange(16))
    assert np.array_equal(first, again) is query.one_pass
    assert not np.shares_memory(first, again)


def test_columns_are_in_units_of_their_own_spread_which_are_powers_of_two():
    for worlds in (32, 256):
        db = database(worlds=worlds)
        query = db.query(
            "SELECT sum(salary) AS s, avg(age) AS a, max(salary) / 1e9 AS m FROM staff"
        )
        form = query.announce(db.source)
        units = form.scale / 2.0 ** np.array([1, 0, 0])
        assert np.array_equal(np.log2(units), np.rint(np.log2(units)))
        values = np.append(query(np.arange(worlds)) * units, query.full.reshape(1, -1), axis=0)
        spread = values.std(axis=0)
        assert (np.abs(np.log2(units / spread)) < 0.8).all()  # rounded, and seen on some worlds


def test_constants_and_counts_are_in_units_of_one():
    db = database()
    still = db.query("SELECT avg(age) AS a, min(0.5) AS c FROM staff").announce(db.source)
    assert still.scale[1] == 1.0
    counts = db.query("SELECT dept, count(*) AS n FROM staff GROUP BY dept")
    assert counts.announce(db.source).scale.tolist() == [2.0] * 3
    assert counts(np.arange(4)).dtype == np.int64


@pytest.mark.parametrize("method", ["auto-pac", "isotropic"])
def test_a_certificate_states_the_power_of_the_noise_in_the_units_of_the_answer(method):
    """Measures of very different sizes: the power is of the numbers that are released."""
    db = database(worlds=64)
    query = db.query(
        "SELECT sum(salary) AS s, avg(age) AS a, count(cost) AS n, avg(cost) / 1e6 AS c "
        "FROM staff JOIN visit ON id = visitor"
    )
    release = rpac.privatize(query, db.source, 1.0, method=method)
    outputs, law = release.sealed
    deviations = law.error()["noise"] * outputs.scale
    assert (outputs.scale / outputs.scale.min()).max() > 1e6
    power = release.certificate.noise["power"]
    assert power == pytest.approx(np.square(deviations).sum(), rel=1e-9)
    drawn = law.sample(20_000, np.random.default_rng(0)) * outputs.scale
    assert np.square(drawn).sum(axis=1).mean() == pytest.approx(power, rel=0.05)


# --- benchmarks ---------------------------------------------------------------------------------


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
        assert high - low > 0.4 * staff["pay"].iloc[-1]
