"""How numbers grow: rules against a pool in which every unit is there three times."""

import numpy as np
import pandas as pd
import pytest
import sqlglot

import rpac
from rpac.sql.degrees import At, check_comparisons, check_union, degree
from rpac.sql.roles import Column, Facts
from tests.sql.people import CODES, STAFF, VISITS, database, run_on

DB = database()


def cloned(times):
    """Return the tables with every unit `times` over, each copy under an id of its own."""
    staff, visit = pd.DataFrame(STAFF), pd.DataFrame(VISITS)
    shifts = [1_000 * i for i in range(times)]
    return {
        "staff": pd.concat([staff.assign(id=staff.id + s) for s in shifts]),
        "visit": pd.concat([visit.assign(visitor=visit.visitor + s) for s in shifts]),
        "codes": pd.DataFrame(CODES),
    }


GROWING = {
    "count(*)": 1,
    "count(age)": 1,
    "count_if(age > 40)": 1,
    "sum(salary)": 1,
    "sum(salary) FILTER (WHERE age > 30)": 1,
    "count(DISTINCT id)": 1,
    "count(DISTINCT dept)": 0,
    "sum(DISTINCT age)": 0,
    "avg(salary)": 0,
    "min(age)": 0,
    "max(since)": 0,
    "median(salary)": 0,
    "stddev_pop(salary)": 0,
    "quantile_disc(age, 0.25)": 0,
    "bool_or(age > 60)": 0,
    "bool_or(dept = 'ops')": 0,
    "sum(salary) / count(*)": 0,
    "avg(age) / count(*)": -1,
    "sum(age) * count(*)": 2,
    "sum(age) * count(*) / sum(salary)": 1,
    "sum(salary) * (SELECT count(*) FROM visit)": 2,
    "sum(age) - count(*)": 1,
    "sum(age) + 0": 1,
    "-(sum(age))": 1,
    "abs(sum(age) - count(*))": 1,
    "round(sum(age))": 1,
    "CAST(sum(age) AS DOUBLE)": 1,
    "coalesce(sum(age), 0)": 1,
    "coalesce(avg(age), 1)": 0,
    "sqrt(avg(age)) + 1": 0,
    "CASE WHEN avg(age) > 30 THEN sum(age) ELSE count(*) END": 1,
    "CASE WHEN avg(age) > 30 THEN sum(age) END": 1,
    "CASE WHEN avg(age) > 30 THEN 1 ELSE 2 END": 0,
    "sum(CASE WHEN age > 40 THEN salary ELSE 0 END)": 1,
    "(SELECT count(*) FROM codes) * count(*)": 1,
    "sum(age > 30)": 1,
}


@pytest.mark.parametrize("expression", GROWING)
def test_a_number_of_degree_k_grows_like_the_kth_power_of_the_units(expression):
    sql = f"SELECT {expression} AS x FROM staff"
    (measure,) = DB.query(sql).measures
    assert measure.degree == GROWING[expression]
    once, thrice = (_number(run_on(cloned(times), sql)[0][0]) for times in (1, 3))
    assert thrice == pytest.approx(once * 3.0**measure.degree, rel=1e-9)


def _number(value):
    return float(value.toordinal() if hasattr(value, "toordinal") else value)


NESTED = {
    "SELECT max(t) FROM (SELECT dept, sum(salary) AS t FROM staff GROUP BY dept)": 1,
    "SELECT count(*) FROM (SELECT dept, sum(salary) AS t FROM staff GROUP BY dept)": 0,
    "SELECT sum(t) FROM (SELECT dept, sum(salary) AS t FROM staff GROUP BY dept)": 1,
    "SELECT sum(n) FROM (SELECT visitor, count(*) AS n FROM visit GROUP BY visitor)": 1,
    "SELECT avg(n) FROM (SELECT visitor, count(*) AS n FROM visit GROUP BY visitor)": 0,
    "SELECT sum(n) FROM (SELECT count(*) AS n FROM staff UNION ALL SELECT count(*) FROM visit)": 1,
    "SELECT count(*) FROM visit v JOIN visit w ON v.visitor = w.visitor": 1,
    "SELECT count(*) FROM staff JOIN codes ON true": 1,
    "SELECT (SELECT sum(cost) FROM visit) / (SELECT count(*) FROM staff)": 0,
    "SELECT sum(salary) / (SELECT sum(salary) FROM staff) FROM staff WHERE age > 40": 0,
    "SELECT avg(a.age - b.age) FROM staff a, staff b": 0,
}


@pytest.mark.parametrize("sql", NESTED)
def test_degrees_pass_from_scope_to_scope(sql):
    (measure,) = DB.query(sql).measures
    assert measure.degree == NESTED[sql]
    once, thrice = (run_on(cloned(times), sql)[0][0] for times in (1, 3))
    assert float(thrice) == pytest.approx(float(once) * 3.0**measure.degree, rel=1e-9, abs=1e-9)


MIXED = {
    "count(*) + 1": r"a total beside a constant or an average in COUNT\(\*\) \+ 1",
    "sum(age) - avg(age)": "a total beside a constant or an average in SUM",
    "coalesce(sum(age), 1)": "a total beside a constant or an average in COALESCE",
    "CASE WHEN avg(age) > 3 THEN count(*) ELSE 1 END": "a total beside a constant .* in CASE",
    "sqrt(count(*))": r"a function of totals in SQRT\(COUNT\(\*\)\)",
    "greatest(count(*), 3)": "a function of totals in GREATEST",
    "sum(age) OVER ()": "a function of totals in SUM",
}


@pytest.mark.parametrize("expression", MIXED)
def test_what_mixes_degrees_is_refused_and_does_not_grow_by_a_power(expression):
    with pytest.raises(
        rpac.InputError, match=f"grow alike with the sample; got {MIXED[expression]}"
    ):
        _ = DB.query(f"SELECT {expression} FROM staff").measures


REFUSED = {
    "SELECT corr(t, 1) FROM (SELECT sum(age) AS t FROM staff GROUP BY dept)": "aggregate of totals",
    "SELECT count(*) FROM staff a, staff b": r"a join of several units in COUNT\(\*\). Join on",
    "SELECT sum(a.age) FROM staff a, staff b": r"of several units in SUM\(a.age\)",
    "SELECT dept, avg(age) FROM staff GROUP BY dept HAVING count(*) > 5": r"in COUNT\(\*\) > 5",
    "SELECT avg(age) FROM staff WHERE age < (SELECT count(*) FROM staff)": "in staff.age < ",
    "SELECT avg(t) FROM (SELECT sum(age) AS t FROM staff GROUP BY dept) WHERE t BETWEEN 3 AND 9":
        "BETWEEN 3 AND 9",
    "SELECT avg(age) FROM (SELECT count(*) AS n FROM visit) JOIN staff ON age = n":
        "in staff.age =",
    "SELECT avg(s.age) FROM staff s, staff t WHERE EXISTS (SELECT 1 FROM visit) AND EXISTS "
    "(SELECT count(*) FROM visit GROUP BY code HAVING count(*) > 9)": r"in COUNT\(\*\) > 9",
    "SELECT count(*) AS n FROM staff UNION ALL SELECT avg(age) FROM staff":
        "a union of totals with something else in SELECT",
}  # fmt: skip


@pytest.mark.parametrize("sql", REFUSED)
def test_what_has_no_degree_is_refused(sql):
    with pytest.raises(rpac.InputError, match=REFUSED[sql]):
        _ = DB.query(sql).measures


def test_equal_degrees_may_be_compared():
    for sql in (
        "SELECT dept, avg(age) FROM staff GROUP BY dept HAVING sum(age) > 2 * sum(salary)",
        "SELECT dept, avg(age) FROM staff GROUP BY dept HAVING count(*) > 0",
        "SELECT count(*) FROM staff WHERE salary > (SELECT avg(salary) FROM staff)",
        "SELECT avg(n) FROM (SELECT visitor, count(*) AS n FROM visit GROUP BY visitor) "
        "WHERE n > 3",  # a number of one unit does not grow
    ):
        assert DB.query(sql).measures


def at(rows, **columns):
    """Return a scope in which these columns are known, and a subquery is of degree 2."""
    inner = Facts(columns=(("n", Column("measure", 2)),))
    return At(rows, lambda node: columns[node.name], lambda _: inner)


def parsed(text):
    return sqlglot.parse_one(text, dialect="duckdb")


def test_the_rules_ask_the_scope_alone():
    here = at(1, t=Column("measure", 1), x=Column("private"), k=Column("private", 0, "key"))
    for text, found in {
        "t": 1, "x": 0, "0": 0, "NULL": 0, "1": 0, "TRUE": 0, "t * t": 2, "t / x": 1, "x / t": -1,
        "t + 0": 1, "t - NULL": 1, "SUM(t)": 2, "COUNT(t)": 1, "MAX(t)": 1, "COUNT(DISTINCT k)": 1,
        "COUNT(DISTINCT x)": 0, "(SELECT n)": 2, "t AS y": 1, "(t)": 1, "x + 1": 0,
    }.items():  # fmt: skip
        assert degree(here, parsed(text)) == found, text
    assert degree(at(0, t=Column("measure", 1)), parsed("SUM(t)")) == 1
    assert degree(at(None, x=Column("private")), parsed("AVG(x)")) == 0
    with pytest.raises(rpac.InputError, match="a join of several units"):
        degree(at(None, x=Column("private")), parsed("SUM(x)"))


def test_comparisons_and_unions_of_what_is_known():
    here = at(1, t=Column("measure", 1), x=Column("private"))
    check_comparisons(here, parsed("SELECT 1 FROM a JOIN b ON t = 2 * t WHERE x > 3 HAVING t > 0"))
    for part in ("JOIN b ON t = x", "WHERE t > 3", "HAVING NOT t <= 3"):
        with pytest.raises(rpac.InputError, match="a total beside a constant"):
            check_comparisons(here, parsed(f"SELECT 1 FROM a {part}"))
    total, mean = (Facts(columns=(("n", Column("measure", k)),)) for k in (1, 0))
    check_union([total, total], parsed("SELECT 1 UNION SELECT 2"))
    check_union([], parsed("SELECT 1"))
    with pytest.raises(rpac.InputError, match="a union of totals with something else"):
        check_union([total, mean], parsed("SELECT 1 UNION SELECT 2"))


def test_a_release_is_of_all_units_whatever_the_degree():
    """The mean over worlds, times 2^degree, is about the pool's number."""
    db = database(worlds=256)
    for sql in ("SELECT sum(salary) FROM staff", "SELECT avg(age) FROM staff",
                "SELECT sum(age) * count(*) FROM staff"):  # fmt: skip
        query = db.query(sql)
        form = query.announce(db.source)
        mean = (query(np.arange(256)) * form.scale).mean()
        assert mean == pytest.approx(query.full[0, 0], rel=0.02)
