"""Rows of an answer: attacks by name, and that a domain holds all that may be and no more."""

import numpy as np
import pandas as pd
import pytest
from benchmarks import queries

import rpac
from rpac.sql import domain
from rpac.sql.domain import Groups
from rpac.sql.question import read
from tests.sql.people import STAFF, database, frame, run_on, tables_of


def staff_of(**changes):
    """Return people of whom the last, alone in law at s, has some other values."""
    table = {
        "id": range(12), "dept": ["ops", "lab", "law"] * 4, "site": list("nsnsnn" "nsnsns"),
        "salary": [1000.0 * i for i in range(12)], "age": list(range(30, 42)), "note": ["1"] * 12,
    }  # fmt: skip
    found = pd.DataFrame(table)
    for column, entry in changes.items():
        found[column] = found[column].astype(object)
        found.loc[11, column] = entry
    return found.astype({"salary": float, "age": "Int64"})


def secret(**changes):
    staff = staff_of(**changes)
    visit = frame(who=[0, 1, 2, 3] * 3, code=["a", "b", "a"] * 4, cost=np.arange(12.0))
    if changes:
        visit = pd.concat([visit, frame(who=[11], code=["b"], cost=[99.0])])
    codes = frame(code=["a", "b", "c"], label=["alpha", "beta", "gamma"])
    return rpac.Database(
        {"staff": staff, "visit": visit, "codes": codes}, "staff.id", {"visit.who": "staff.id"},
        public=["codes", "staff.dept", "staff.site", "visit.code"], worlds=16,
    )  # fmt: skip


def seen(db, sql):
    """Return what somebody sees beside the numbers."""
    try:
        query = db.query(sql)
        outputs = rpac.simulate(db.source, query)
    except rpac.MechanismError:
        return "withheld"
    except rpac.InputError as error:
        return str(error)
    form = query.announce(db.source)
    return form.layout, form.labels, outputs.values.shape, outputs.values.dtype


ATTACKS = {
    "names by EXISTS": [
        "SELECT EXISTS (SELECT 1 FROM staff WHERE salary > 50000) AS k, avg(age) AS a FROM staff",
        "SELECT CASE WHEN EXISTS (SELECT 1 FROM staff WHERE age = 99) THEN 'y' ELSE 'n' END AS k, "
        "count(*) AS n FROM staff GROUP BY k",
        "SELECT 7 IN (SELECT length(note) FROM staff) AS k, count(*) AS n FROM visit",
    ],
    "names by a scalar subquery": [
        "SELECT (SELECT max(dept) FROM staff WHERE salary > 50000) AS k, count(*) AS n FROM staff",
        "SELECT (SELECT 'rich' FROM staff WHERE salary > 50000) AS k, count(*) AS n FROM staff",
        "SELECT label, count(*) AS n FROM codes, staff WHERE label = (SELECT max(label) FROM codes "
        "WHERE length(label) > (SELECT count(*) FROM staff WHERE age = 99)) GROUP BY label",
    ],
    "names behind a private WHERE": [
        "SELECT dept, count(*) AS n FROM staff WHERE salary > 50000 GROUP BY dept",
        "SELECT label, count(*) AS n FROM visit JOIN codes USING (code) WHERE cost > 90 "
        "GROUP BY label",
        "SELECT dept, median(age) AS m FROM staff WHERE age = 99 OR dept = 'lab' GROUP BY dept",
    ],
    "a cast that fails, to bisect": [
        "SELECT avg(CASE WHEN salary > 50000 THEN CAST('x' || note AS INTEGER) ELSE 1 END) AS a "
        "FROM staff",
        "SELECT count(*) AS n FROM staff WHERE 1 // (CASE WHEN age = 99 THEN 0 ELSE 1 END) = 1",
        "SELECT CAST(max(salary) AS SMALLINT) AS m, median(age) AS a FROM staff",
    ],
    "an overflow, to bisect": [
        "SELECT sum(age * 9000000000000000000) AS s FROM staff WHERE age > 90",
        "SELECT median(exp(salary)) AS m, sum(pow(salary, 90)) AS s FROM staff",
        "SELECT CAST(sum(salary) AS TINYINT) AS s, stddev(salary * 1e300) AS d FROM staff",
    ],
    "labels of a CASE": [
        "SELECT CASE WHEN salary > 50000 THEN 'rich' ELSE 'poor' END AS k, count(*) AS n "
        "FROM staff GROUP BY k",
        "SELECT CASE WHEN age = 99 THEN 1 WHEN age > 30 THEN 2 END AS k, median(salary) AS m "
        "FROM staff GROUP BY 1",
        "SELECT dept, CASE note WHEN '1234567' THEN true ELSE false END AS k, avg(age) AS a "
        "FROM staff GROUP BY ALL",
        "SELECT CASE WHEN CAST(note AS INTEGER) > 3 THEN 'a' ELSE 'b' END AS k, count(*) AS n "
        "FROM staff WHERE age < 90 GROUP BY k",
        "SELECT CASE WHEN age < 50 THEN note ELSE 'old' END AS k, count(*) AS n FROM staff "
        "GROUP BY k",
    ],
    "HAVING of what is shown": [
        "SELECT dept, count(*) AS n FROM staff GROUP BY dept HAVING count(*) > 3 ORDER BY n DESC",
        "SELECT dept, max(salary) AS m FROM staff GROUP BY dept HAVING max(salary) > 50000",
        "SELECT dept, median(age) AS m FROM staff GROUP BY dept HAVING m = 99 OR m IS NULL LIMIT 1",
    ],
    "HAVING": [
        "SELECT dept, count(*) AS n FROM staff GROUP BY dept HAVING max(salary) > 50000",
        "SELECT dept, median(age) AS m FROM staff GROUP BY dept HAVING max(age) = 99",
        "SELECT label, avg(cost) AS c FROM visit JOIN codes USING (code) GROUP BY label "
        "HAVING 10 // CAST(max(cost) - 99 AS INTEGER) < 0",
    ],
    "pairs of public entries": [
        "SELECT dept, site, count(*) AS n FROM staff GROUP BY dept, site",
        "SELECT dept || site AS both, count(*) AS n FROM staff GROUP BY both",
        "SELECT dept, code, median(cost) AS m FROM staff JOIN visit ON id = who GROUP BY ALL",
    ],
    "a count of each unit's rows": [
        "SELECT n, count(*) AS m FROM (SELECT who, count(*) AS n FROM visit GROUP BY who) "
        "GROUP BY n",
        "SELECT n > 3 AS k, avg(n) AS m FROM (SELECT who, count(*) AS n FROM visit GROUP BY who) "
        "GROUP BY k",
        "SELECT count(*) AS m FROM (SELECT who, max(cost) AS c FROM visit GROUP BY who) GROUP BY c",
    ],
    "groups of NULL by an outer join": [
        "SELECT label, count(*) AS n FROM staff LEFT JOIN visit ON id = who AND cost > 90 "
        "LEFT JOIN codes ON visit.code = codes.code GROUP BY label",
        "SELECT code, avg(age) AS a FROM staff LEFT JOIN visit ON id = who GROUP BY code",
        "SELECT label, avg(cost) AS a FROM visit FULL JOIN codes ON visit.code = codes.code "
        "AND cost > 90 GROUP BY label",
    ],
    "order and limit": [
        "SELECT dept, count(*) AS n FROM staff WHERE salary > 50000 GROUP BY dept ORDER BY n "
        "LIMIT 1",
        "SELECT site, avg(age) AS a FROM (SELECT * FROM staff ORDER BY salary DESC LIMIT 1) "
        "GROUP BY site",
        "SELECT dept, max(age) AS a FROM staff GROUP BY dept ORDER BY a DESC LIMIT 2",
    ],
    "a literal behind a private WHERE": [
        "SELECT k, count(*) AS n FROM (SELECT 'rich' AS k FROM staff WHERE salary > 50000) "
        "GROUP BY k",
        "WITH r AS (SELECT 'rich' AS k, age FROM staff WHERE salary > 50000) "
        "SELECT k, median(age) AS m FROM r GROUP BY k",
        "SELECT k, avg(x) AS a FROM (SELECT 'old' AS k, salary AS x FROM staff WHERE age > 90 "
        "UNION ALL SELECT 'young', salary FROM staff WHERE age < 90) GROUP BY k",
    ],
    "how many groups there are": [
        "SELECT count(*) AS n FROM staff GROUP BY age",
        "SELECT avg(age) AS n FROM staff GROUP BY salary > 50000",
        "SELECT label, a FROM codes, (SELECT age, avg(salary) AS a FROM staff GROUP BY age)",
    ],
    "which rows line up": [
        "SELECT 'x' AS k, count(*) AS n FROM staff WHERE age = 99 UNION ALL "
        "SELECT dept, count(*) FROM staff WHERE age = 99 GROUP BY dept",
        "SELECT dept, count(*) AS n FROM staff WHERE age = 99 GROUP BY ROLLUP (dept)",
        "SELECT label, (SELECT avg(cost) FROM visit WHERE visit.code = codes.code AND cost > 90) "
        "AS a FROM codes",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_beside_the_numbers_tells_of_a_person(name):
    one = secret()
    others = [
        secret(salary=90_000.0, age=99, note="1234567"),
        secret(salary=None, age=None, note=None, site="n"),
        secret(salary=float("inf"), age=0, note="no"),
    ]
    for sql in ATTACKS[name]:
        expected = seen(one, sql)
        assert expected != "withheld"
        for other in others:
            assert seen(other, sql) == expected, sql


def test_random_queries_tell_nothing():
    differences, outcomes = queries.run(70, seed=11, fresh=8)
    assert not differences, differences[0]
    assert outcomes["answered"] > 20
    assert not outcomes["withheld"]


# --- what a domain is -----------------------------------------------------------------------------

DB = database(public=("codes", "staff.dept", "visit.code"))


def rows_of(sql, db=DB):
    return Groups(read(db, sql)).rows


DEPTS = [("lab",), ("law",), ("ops",)]
DOMAINS = {
    "SELECT CASE WHEN age < 0 THEN 'none' ELSE 'all' END AS k, count(*) AS n FROM staff "
    "GROUP BY k": [("all",), ("none",)],
    "SELECT CASE WHEN age < 30 THEN 2 END AS k, dept, avg(age) AS a FROM staff "
    "WHERE dept = 'lab' GROUP BY ALL": [(2, "lab"), (None, "lab")],
    "SELECT CASE WHEN dept < 'law' THEN 'x' ELSE 'y' END AS k, avg(age) AS a FROM staff "
    "WHERE dept = 'lab' GROUP BY k": [("x",)],
    "SELECT dept, avg(age) AS a FROM staff GROUP BY dept": DEPTS,
    "SELECT dept, avg(age) AS a FROM staff WHERE dept > 'lab' AND age > 40 GROUP BY dept":
        DEPTS[1:],
    "SELECT dept, avg(age) AS a FROM staff WHERE dept > 'lab' OR age > 40 GROUP BY dept": DEPTS,
    "SELECT label, avg(cost) AS a FROM visit JOIN codes USING (code) WHERE visit.code = 'b' "
    "GROUP BY label": [("beta",)],
    "SELECT c.label, avg(cost) AS a FROM visit v JOIN codes c ON v.code = c.code AND "
    "c.label LIKE 'a%' AND v.cost > 9 GROUP BY c.label": [("alpha",)],
    "SELECT c.label, avg(cost) AS a FROM visit v LEFT JOIN codes c ON v.code = c.code AND "
    "c.label LIKE 'a%' GROUP BY c.label": [("alpha",), ("beta",), (None,)],
    "SELECT code, avg(age) AS a FROM codes RIGHT JOIN staff ON length(label) > age GROUP BY code":
        [("a",), ("b",), (None,)],
    "SELECT 'all' AS k, avg(age) AS a FROM staff WHERE dept = 'zoo'": [("all",)],
    "SELECT k, avg(age) AS a FROM (SELECT dept AS k, age FROM staff WHERE dept <> 'law') "
    "GROUP BY k":
        [("lab",), ("ops",)],
    "SELECT k, avg(x) AS a FROM (SELECT dept AS k, age AS x FROM staff UNION ALL "
    "SELECT code, cost FROM visit WHERE code = 'a') GROUP BY k":
        [("a",), *DEPTS],
    "SELECT c.label, d.label AS other, (SELECT avg(age) FROM staff) AS a FROM codes c, codes d "
    "WHERE c.code < d.code": [("alpha", "beta")],
    "SELECT dept, code, avg(cost) AS a FROM staff JOIN visit ON id = visitor "
    "WHERE dept || code IN ('opsa', 'lawb') GROUP BY ALL": [("law", "b"), ("ops", "a")],
    "SELECT dept, avg(age) AS a FROM staff GROUP BY ROLLUP (dept)": [*DEPTS, (None,)],
    "SELECT dept, label, avg(age) AS a FROM staff, codes WHERE label < 'b' "
    "GROUP BY GROUPING SETS ((dept), (label))":
        [(d, c) for (d,) in [*DEPTS, (None,)] for c in ("alpha", "beta", None)],
    "SELECT CAST(code AS INTEGER) AS k, avg(cost) AS a FROM visit GROUP BY k": [(None,)],
    "SELECT label, avg(cost) AS a FROM visit JOIN codes USING (code) WHERE label IN "
    "(SELECT max(label) FROM codes) GROUP BY label": [("beta",)],
    "SELECT upper(dept) AS d, sum(age) AS s FROM staff GROUP BY dept":
        [("LAB",), ("LAW",), ("OPS",)],
    "SELECT sum(age) AS s FROM staff GROUP BY dept": [(), (), ()],
    "SELECT median(age) AS s FROM staff GROUP BY dept": [(), (), ()],
}  # fmt: skip


@pytest.mark.parametrize("sql", DOMAINS)
def test_the_rows_are_what_public_things_allow(sql):
    assert rows_of(sql) == DOMAINS[sql]


def test_every_row_that_occurs_is_there():
    """Of random queries, on the whole pool: a row that is left out would be a wrong answer."""
    people, visits = queries.rows(5)
    db, writer, checked = queries.database(people, visits), queries.Writer(6), 0
    for _ in range(150):
        sql = writer.query()
        try:
            question = read(db, sql)
            found = db.connection.execute(sql.partition(" ORDER BY 1")[0]).fetchall()
        except Exception:
            continue
        if not question.declared and question.limit is None:
            occurring = {tuple(row[i] for i in question.keys) for row in found}
            assert occurring <= {*Groups(question).rows}, sql
            checked += len(occurring)
    assert checked > 50


def test_a_domain_that_is_too_large_is_refused_by_public_things_alone(monkeypatch):
    monkeypatch.setattr(domain, "LARGEST", 5)
    with pytest.raises(
        rpac.InputError, match=r"at most 5 rows; got more for the groups \['dept', 'c"
    ):
        rows_of(
            "SELECT dept, code, avg(cost) AS a FROM staff JOIN visit ON id = visitor GROUP BY ALL"
        )
    assert len(rows_of("SELECT dept, avg(age) AS a FROM staff GROUP BY dept")) == 3


def test_rows_that_are_never_there_do_not_change_the_noise():
    tables = {"staff": staff_of(), "dept": frame(name=["ops", "lab", "law", *map(str, range(40))])}
    db = rpac.Database(tables, "staff.id", public=["dept", "staff.dept"], worlds=64)
    plain = "SELECT dept AS k, avg(salary) AS s, count(*) AS n FROM staff GROUP BY dept"
    wide = ("SELECT dept.name AS k, avg(salary) AS s, count(*) AS n FROM staff JOIN dept "
            "ON upper(dept.name) = upper(staff.dept || left(note, 0)) GROUP BY ALL")  # fmt: skip
    few, many = (rpac.simulate(db.source, db.query(sql)) for sql in (plain, wide))
    assert (few.dim, many.dim) == (6, 86)
    assert np.array_equal(np.unique(few.scale), np.unique(many.scale))


def test_a_recursion_and_a_lateral_source_are_no_names():
    for sql in (
        "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < (SELECT "
        "avg(age) FROM staff)) SELECT n, (SELECT avg(age) FROM staff) AS a FROM t",
        "SELECT l.x, count(*) AS n FROM staff, LATERAL (SELECT dept AS x) AS l GROUP BY l.x",
        "SELECT u.x, count(*) AS n FROM staff, unnest([1, 2]) AS u(x) GROUP BY u.x",
    ):
        with pytest.raises(rpac.InputError, match="that are public or declared; got a private"):
            read(DB, sql)


def test_an_inner_name_is_not_taken_for_an_outer_one():
    """The name `v` is a private table outside, and a public one in the innermost subquery."""
    sql = (
        "SELECT (SELECT max(c.label) FROM codes c WHERE c.label = v.code OR EXISTS "
        "(SELECT 1 FROM codes v WHERE v.label > c.label)) AS k, avg(v.cost) AS a FROM visit v "
        "GROUP BY k"
    )
    assert len(rows_of(sql)) == 1
    private = sql.replace("= v.code", "> v.cost::VARCHAR")
    with pytest.raises(rpac.InputError, match="that are public or declared; got a private"):
        read(DB, private)


def test_the_answer_of_a_plain_run_is_kept():
    sql = "SELECT dept, code, sum(cost) AS s FROM staff JOIN visit ON id = visitor GROUP BY ALL"
    query = DB.query(sql)
    form = query.announce(DB.source)
    by_key = {row[:2]: row[2] for row in run_on(tables_of(np.unique(STAFF["id"])), sql)}
    for key, numbers in zip(form.layout[1], query.full, strict=True):
        assert numbers[0] == pytest.approx(by_key.get(key, 0.0))
