"""SQL under the promise *person*: answers, refusals, and what one person can change."""

import datetime
import os
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.person.mechanism import Drawn, draw
from rpac.person.split import split
from tests.sql.presences import answered, exact, plainly

RNG = np.random.default_rng(8)
N = 400
STAFF = pd.DataFrame({
    "id": np.arange(N),
    "dept": RNG.choice(["ops", "lab", "law"], N),
    "salary": np.round(RNG.lognormal(10, 0.4, N), 2),
    "age": RNG.integers(20, 65, N),
    "zip": RNG.choice(["01234", "02345"], N),
    "smoker": RNG.random(N) < 0.3,
    "since": [datetime.date(2000, 1, 1) + datetime.timedelta(days=int(d))
              for d in RNG.integers(0, 9000, N)],
})  # fmt: skip
VISIT = pd.DataFrame({
    "visitor": RNG.integers(0, N, 1500),
    "cost": np.round(RNG.gamma(2.0, 20.0, 1500), 2),
    "code": RNG.choice(["a", "b"], 1500),
})  # fmt: skip
CODES = pd.DataFrame({"code": ["a", "b"], "label": ["alpha", "beta"], "weight": [2, 3]})
TABLES = {"staff": STAFF, "visit": VISIT, "codes": CODES}


def database(tables=TABLES, **options):
    settings = {
        "links": {"visit.visitor": "staff.id"},
        "public": ["codes"],
        "keys": {
            "dept": ["lab", "law", "ops"],
            "zip": ["01234", "02345"],
            "y": list(range(2000, 2025)),
        },
        "schema": {"since": {"type": "date"}},
    }
    return rpac.Database(tables, "staff.id", **settings | options)


DB = database()

# --- answers --------------------------------------------------------------------------------------

ASKED = [
    "SELECT count(*) AS n, count(age) AS m, count(DISTINCT id) AS u FROM staff",
    "SELECT dept, count(*) AS n, sum(age) AS s, avg(salary) AS a FROM staff GROUP BY dept ORDER BY 1",  # noqa: E501
    "SELECT zip, count(*) AS n FROM staff WHERE zip <> '02345' OR age > 0 GROUP BY zip ORDER BY zip",  # noqa: E501
    "SELECT var_pop(age) AS a, var_samp(age) AS b, variance(age) AS c, stddev(age) AS d, "
    "stddev_pop(age) AS e, stddev_samp(age) AS f FROM staff",
    "SELECT covar_pop(age, salary) AS a, covar_samp(age, salary) AS b, corr(age, salary) AS c, "
    "corr(age, age) AS d FROM staff",
    "SELECT dept, median(age) AS m, quantile_cont(salary, 0.25) AS q FROM staff GROUP BY 1 ORDER BY 1",  # noqa: E501
    "SELECT count_if(age > 40) AS a, count(*) FILTER (WHERE smoker) AS b, "
    "avg(salary) FILTER (WHERE dept = 'lab') AS c, count(age) FILTER (age < 30) AS d FROM staff",
    "SELECT sum(salary) / sum(age) AS r, round(100 * avg(age), 1) AS p, "
    "CASE WHEN count(*) > 9 THEN count(*) ELSE -1 END AS c, coalesce(NULL, sum(age)) AS d, "
    "nullif(count(*), 5) AS e, greatest(count(*), 3) AS f, CAST(avg(age) AS INT) AS g, "
    "sqrt(count(*)) AS h, log(count(*)) AS i, log(2, count(*)) AS j FROM staff",
    "SELECT dept, count(*) AS n FROM staff GROUP BY dept HAVING count(*) > 130 ORDER BY n DESC LIMIT 2",  # noqa: E501
    "SELECT dept, avg(age) AS a FROM staff GROUP BY dept HAVING avg(age) BETWEEN 1 AND 99 AND NOT "
    "sum(age) IS NULL ORDER BY dept",
    "SELECT smoker AND age > 30 AS old, count(*) AS n FROM staff GROUP BY old ORDER BY old",
    "SELECT CASE WHEN age < 40 THEN 'young' WHEN age < 50 THEN 'mid' END AS c, count(*) AS n "
    "FROM staff GROUP BY c ORDER BY c",
    "SELECT year(since) AS y, count(*) AS n FROM staff GROUP BY y ORDER BY y",
    "SELECT count(*) AS n FROM staff WHERE since >= '2010-01-01' AND extract(month FROM since) < 7 "
    "AND date_diff('day', since, DATE '2024-12-31') > 100 AND date_trunc('month', since) IS NOT NULL",  # noqa: E501
    "SELECT count(*) AS n FROM staff WHERE upper(dept) LIKE 'L%' AND length(dept) = 3 AND "
    "dept || zip <> concat('a', 'b') AND substring(dept, 1, 1) IN ('l', 'o') AND "
    "replace(trim(lower(dept)), 'l', 'x') <> 'y' AND starts_with(dept, 'la')",
    "SELECT sum(abs(age - 40)) AS a, sum(ln(age)) AS b, avg(sqrt(age) + exp(age / 100)) AS c, "
    "sum(age // 10) AS d, sum(age % 7) AS e, sum(power(age, 2)) AS f, sum(-floor(age / 3)) AS g, "
    "sum(ceil(sign(age) * round(age / 7, 1))) AS h, sum(least(age, 30)) AS i FROM staff",
    "SELECT sum(CASE dept WHEN 'lab' THEN age ELSE 0 END) AS a, sum(CAST(smoker AS INT)) AS b, "
    "sum(CAST(age AS DOUBLE) / 2) AS c, count(CAST(age AS VARCHAR)) AS d FROM staff",
    "SELECT count(*) AS n FROM staff WHERE smoker IS TRUE OR smoker = FALSE AND age IS DISTINCT FROM 30",  # noqa: E501
    "SELECT c.label, sum(v.cost * c.weight) AS t, count(DISTINCT v.visitor) AS u FROM visit AS v "
    "JOIN codes AS c ON v.code = c.code GROUP BY c.label ORDER BY 1",
    "SELECT dept, count(*) AS n, sum(cost) AS s FROM staff LEFT JOIN visit ON id = visitor "
    "GROUP BY dept ORDER BY dept",
    "SELECT dept, sum(cost) AS s FROM staff, visit WHERE id = visitor GROUP BY 1 ORDER BY 1",
    "SELECT avg(s) AS a, max(m) - max(m) AS z FROM (SELECT visitor, sum(cost) AS s, max(cost) AS m "
    "FROM visit GROUP BY visitor) AS t",
    "WITH t AS (SELECT visitor, count(*) AS n, avg(cost) AS c FROM visit WHERE code = 'a' GROUP BY "
    "visitor) SELECT dept, avg(n) AS a, avg(c) AS b FROM staff JOIN t ON id = visitor GROUP BY dept "  # noqa: E501
    "ORDER BY dept",
    "SELECT avg(x) AS a FROM (SELECT age + 1 AS x, dept FROM staff) AS t WHERE dept = 'lab'",
    "SELECT sum(w) AS s FROM visit JOIN (SELECT code AS k, weight * 2 AS w FROM codes) AS c ON code = k",  # noqa: E501
]  # fmt: skip


@pytest.mark.parametrize("sql", ASKED)
def test_without_noise_answers_are_the_query_s_own(sql):
    mine, truth = answered(DB, sql), plainly(TABLES, sql)
    assert [list(row) for row in mine] == [list(row) for row in truth]
    for row, other in zip(mine, truth, strict=True):
        for name, value in other.items():
            if isinstance(value, float):
                assert row[name] == pytest.approx(value, rel=1e-6), name
            else:
                assert (None if pd.isna(row[name]) else row[name]) == value, name


def test_noise_is_small_where_budgets_are_large():
    db = database(caps={"age": (0, 100), "salary": (0, 2e5), "rows": 1})
    sql = "SELECT dept, count(*) AS n, sum(age) AS s, avg(salary) AS a, median(age) AS m FROM staff GROUP BY 1"  # noqa: E501
    asked = db.query(sql).asked(db.presence)
    drawn = draw(asked.question, asked.rows(), split(1000.0, asked.question))
    value = asked.form.rebuild(asked.numbers(drawn)).set_index("dept")
    truth = STAFF.groupby("dept").agg(
        n=("id", "size"), s=("age", "sum"), a=("salary", "mean"), m=("age", "median")
    )
    assert (value.index == truth.index).all()
    assert np.allclose(value, truth, rtol=0.02)
    assert asked.question.rows == 1.0
    assert str(value.n.dtype) == "int64"


def test_a_release_by_the_front_door():
    sql = "SELECT dept, count(*) AS n, avg(age) AS a FROM staff GROUP BY dept HAVING count(*) > 0 ORDER BY n"  # noqa: E501
    release = rpac.privatize(DB.query(sql), DB.presence, rpac.SuccessRate(0.9))
    assert list(release.value.columns) == ["dept", "n", "a"]
    assert release.certificate.promise == "person"
    assert (release.value.n.diff().dropna() >= 0).all()


def test_extremes_are_quantiles_and_said_to_be():
    asked = DB.query("SELECT min(age) AS a, max(age) AS b FROM staff").asked(DB.presence)
    assert [q.level for q in asked.question.quantiles] == [0.005, 0.995]
    first, second = asked.notes
    assert first == "MIN and MAX are the quantiles at 0.5 % and 99.5 %."
    assert second.startswith("A quantile of age is a point of a public grid, about 1 % apart.")


def test_having_leaves_rows_out_by_released_numbers_and_bounds_follow():
    sql = (
        "SELECT dept, count(*) AS n FROM staff GROUP BY dept HAVING count(*) >= 20 ORDER BY n DESC"
    )
    asked = DB.query(sql).asked(DB.presence)
    drawn = exact(asked.question, asked.rows().held())
    sums = np.array([[30.0], [10.0], [40.0]])
    numbers = asked.numbers(type(drawn)(**vars(drawn) | {"sums": sums}))
    assert asked.form.labels == ("lab: n", "law: n", "ops: n")
    assert list(asked.form.rebuild(numbers).dept) == ["ops", "lab"]
    ends = asked.form.settle(numbers)(np.array([50.0, 1.0, 5.0]))
    assert list(ends.n) == [5, 50]


@pytest.mark.parametrize(
    ("sql", "rows", "shares"),
    [
        ("SELECT count(*) FROM staff", None, [1.0]),
        ("SELECT avg(age) FROM staff", None, [1.0, 0.03]),
        ("SELECT dept, avg(age), count(*) FROM staff GROUP BY dept", None, [1.0, 0.1, 0.1]),
        ("SELECT sum(age), avg(age), var_pop(age) FROM staff", None, [1.0, 1.0, 0.03, 1.0]),
    ],
)
def test_every_sum_is_added_up_once(sql, rows, shares):
    question = DB.query(sql).asked(DB.presence).question
    assert [term.share for term in question.terms] == shares
    assert question.rows == rows


def test_rows_of_one_person_are_one_only_where_no_join_can_make_more():
    single = rpac.Database(
        {"staff": STAFF, "codes": CODES}, "staff.id", public=["codes"], caps={"rows": 1}
    )
    assert single.query("SELECT count(*) FROM staff").asked(single.presence).question.rows == 1
    joined = "SELECT count(*) FROM staff, codes"
    assert single.query(joined).asked(single.presence).question.rows is None
    inner = "SELECT count(*) FROM (SELECT age FROM staff) AS t"
    assert single.query(inner).asked(single.presence).question.rows is None
    five = rpac.Database(
        {"staff": STAFF, "codes": CODES}, "staff.id", public=["codes"], caps={"rows": 5}
    )
    assert five.query(joined).asked(five.presence).question.rows == 5
    rows = rpac.Database({"staff": STAFF}, "rows")
    assert rows.query("SELECT count(*) FROM staff").asked(rows.presence).question.rows == 1
    assert answered(rows, "SELECT count(*) AS n FROM staff") == [{"n": N}]


def test_declared_columns_reach_the_question():
    db = database(
        caps={"age": (0, 100)}, middle={"staff.salary": 2e4}, schema={"Salary": {"floor": 100.0}}
    )
    question = (
        db.query("SELECT avg(salary), sum(age), median(age) FROM staff").asked(db.presence).question
    )
    salary, age = question.columns
    assert (salary.name, age.cap, age.middle) == ("salary", 100.0, 0.0)
    assert question.quantiles[0].grid[[0, -1]].tolist() == [0.0, 100.0]
    assert len(question.quantiles[0].grid) == 4096


# --- what is refused ------------------------------------------------------------------------------

REFUSED = {
    "SELECT dept, count(*) FROM staff GROUP BY age": "arithmetic of aggregates .*; got staff.dept",
    "SELECT age, count(*) FROM staff GROUP BY age": "declared groups in 'age'; .*keys={'age': ",
    "SELECT dept FROM staff GROUP BY dept": "at least one aggregate; got columns",
    "SELECT age FROM staff": "arithmetic of aggregates",
    "SELECT count(*) AS n, sum(age) AS n FROM staff": "unique names of columns; got 'n' twice",
    "SELECT count(*) FROM codes": "rows of single people",
    "SELECT count(DISTINCT dept) FROM staff": r"unit's id in COUNT\(DISTINCT",
    "SELECT count(DISTINCT age + 1) FROM staff": r"unit's id in COUNT\(DISTINCT",
    "SELECT mode(age) FROM staff": "arithmetic of aggregates|sums over single",
    "SELECT string_agg(dept, ',') FROM staff": "sums over single people",
    "SELECT any_value(age) FROM staff": "sums over single people",
    "SELECT first(age) FROM staff": "sums over single people",
    "SELECT quantile_cont(age, 2) FROM staff": "a level between 0 and 1",
    "SELECT quantile_cont(age, age) FROM staff": "a level between 0 and 1",
    "SELECT sum(random() * age) FROM staff": r"one row's entries.*got 'RANDOM\(\)'",
    "SELECT count(*) FROM staff WHERE since < now()": "one row's entries",
    "SELECT count(*) FROM staff WHERE since < current_date": "one row's entries",
    "SELECT sum(rowid) FROM staff": "could not be resolved",
    "SELECT sum(__unit) FROM staff": "names that do not begin with __; got '__unit'",
    'SELECT count(*) FROM (SELECT age AS "__UNIT" FROM staff) AS s': "names that do not begin with",
    "SELECT v, count(*) FROM (SELECT dept AS v, 'x' AS V FROM staff) AS s GROUP BY v":
        "unique names in a sub-query; got 'v'",
    "WITH s AS (SELECT dept AS v, 'x' AS v FROM staff) SELECT v, count(*) FROM s GROUP BY v":
        "unique names in a sub-query; got 'v'",
    "SELECT sum(date_diff('timezone', dept, dept)) FROM staff": "functions of one row; got 'TIMEZ",
    "SELECT sum(date_diff('era', dept, dept)) FROM staff": "functions of one row; got 'ERA",
    "SELECT sum(substring(dept, 9223372036854775807, 2)) FROM staff": "functions of one row",
    "SELECT count(*) FROM staff WHERE EXISTS (SELECT 1 FROM codes)": "plain SELECTs; got 'EXISTS",
    "SELECT count(*) FROM staff, LATERAL (SELECT staff.age AS c) AS q": "plain SELECTs; got 'LAT",
    "WITH RECURSIVE r AS (SELECT 1 AS x) SELECT count(*) FROM staff": "plain SELECTs; got 'WITH",
    "SELECT 1 AS x FROM staff": "at least one aggregate",
    "SELECT avg(r) FROM (SELECT row_number() OVER (ORDER BY age) AS r FROM staff) AS t":
        "one row's entries",
    "SELECT sum(age) OVER () FROM staff": "arithmetic of aggregates|sums over single",
    "SELECT count(*) FROM read_csv('x.csv')": "tables among",
    "SELECT count(*) FROM range(10)": "tables among",
    "SELECT count(*) FROM pool.staff": "tables among",
    "SELECT sum(hash(age)) FROM staff": "one row's entries",
    "SELECT sum(getenv('HOME')) FROM staff": "one row's entries",
    "SELECT sum(current_setting('threads')) FROM staff": "one row's entries",
    "SELECT sum(regexp_matches(dept, 'a')) FROM staff": "one row's entries",
    "SELECT sum(round(age, CAST(random() AS INT))) FROM staff": "a plain number as decimals",
    "SELECT sum(CAST(age AS TIME)) FROM staff": "CAST to numbers, text, dates or truths",
    "SELECT DISTINCT count(*) FROM staff": "plain SELECTs",
    "SELECT count(*) FROM staff UNION ALL SELECT count(*) FROM staff": "one SELECT",
    "SELECT count(*) FROM (SELECT id FROM staff UNION ALL SELECT id FROM staff) AS t": "plain SELECTs",  # noqa: E501
    "SELECT count(*) FROM (SELECT age FROM staff LIMIT 3) AS t": "plain SELECTs",
    "SELECT count(*) FROM (SELECT DISTINCT age FROM staff) AS t": "plain SELECTs",
    "SELECT count(*) FROM (SELECT visitor, count(*) AS n FROM visit GROUP BY visitor HAVING "
    "count(*) > 2) AS t": "plain SELECTs",
    "SELECT avg(n) FROM (SELECT dept, count(*) AS n FROM staff GROUP BY dept) AS t": "single people",  # noqa: E501
    "SELECT avg(m) FROM (SELECT visitor, median(cost) AS m FROM visit GROUP BY visitor) AS t":
        "count, sum, avg, min or max in a sub-query",
    "SELECT avg(m) FROM (SELECT visitor, count(DISTINCT code) AS m FROM visit GROUP BY visitor) AS t":  # noqa: E501
        "count, sum, avg, min or max in a sub-query",
    "SELECT avg(m) FROM (SELECT visitor, 1 + sum(cost) AS m FROM visit GROUP BY visitor) AS t":
        "columns and aggregates in a grouped sub-query",
    "SELECT count(*) FROM staff WHERE age > (SELECT avg(age) FROM staff)": "in FROM or WITH alone",
    "SELECT count(*) FROM staff WHERE id IN (SELECT visitor FROM visit)": "in FROM or WITH alone",
    "SELECT count(*) FROM staff AS a, staff AS b": "rows of single people",
    "SELECT count(*) FROM staff AS a JOIN staff AS b ON a.age = b.age": "rows of single people",
    "SELECT count(*) FROM codes LEFT JOIN visit USING (code)": "rows of single people",
    "SELECT count(*) FROM staff FULL JOIN visit ON id = visitor": "rows of single people",
    "SELECT dept, count(*) FROM staff GROUP BY ROLLUP (dept)": "plain keys in GROUP BY",
    "SELECT count(*) FROM staff TABLESAMPLE 10%": "plain SELECTs",
    "SELECT count(*) FROM staff QUALIFY row_number() OVER () = 1": "plain SELECTs",
    "SELECT upper(dept), count(*) FROM staff GROUP BY dept": "Select each key as it stands",
    "SELECT count(*) || 'x' FROM staff": "arithmetic of aggregates",
    "WITH unused AS (SELECT visitor FROM visit), t AS (SELECT age FROM staff) SELECT avg(w) FROM "
    "(SELECT weight AS w FROM codes) AS c": "rows of single people",
}  # fmt: skip


@pytest.mark.parametrize("sql", REFUSED)
def test_what_is_not_contributions_of_single_people_is_refused_by_shape(sql):
    with pytest.raises(rpac.InputError, match=f"(?s){REFUSED[sql]}") as caught:
        DB.query(sql).asked(DB.presence)
    empty = database(
        {name: table.head(0) if name != "codes" else table for name, table in TABLES.items()}
    )
    with pytest.raises(rpac.InputError) as other:
        empty.query(sql).asked(empty.presence)
    assert str(other.value) == str(caught.value)


def test_a_public_column_of_a_private_table_is_no_domain():
    db = database(public=["codes", "staff.age"])
    with pytest.raises(rpac.InputError, match="declared groups in 'age'"):
        db.query("SELECT age, count(*) FROM staff GROUP BY age").asked(db.presence)


def test_the_source_must_be_the_query_s_own():
    with pytest.raises(
        rpac.InputError, match="the query's own database; got another. Use db.presence"
    ):
        DB.query("SELECT count(*) FROM staff").asked(database().presence)


def test_declarations_name_columns_that_are_there():
    with pytest.raises(
        rpac.InputError, match="known columns in caps, middle and schema; got 'agee'"
    ):
        _ = database(middle={"agee": 3}).presence


# --- what one person can change -------------------------------------------------------------------


def people(extra):
    """Return tables of people, households and notes; with one person more, who is odd throughout."""  # noqa: E501
    rng = np.random.default_rng(5)
    n = 40
    staff = {
        "id": [*range(n)],
        "dept": list(rng.choice(["ops", "lab"], n)),
        "pay": [float(x) for x in np.round(rng.gamma(2, 1000, n), 2)],
        "age": [int(a) for a in rng.integers(20, 60, n)],
        "born": [
            f"19{y}-0{m}-11"
            for y, m in zip(rng.integers(60, 99, n), rng.integers(1, 9, n), strict=True)
        ],
        "house": [int(h) for h in rng.integers(0, 12, n)],
    }
    bill = {
        "house": [int(h) for h in rng.integers(0, 14, 60)],
        "euro": [float(e) for e in rng.integers(1, 500, 60)],
    }
    visit = {"visitor": [int(v) for v in rng.integers(0, n + 5, 120)], "code": list(rng.choice(["a", "b", "01"], 120)),  # noqa: E501
             "cost": [float(c) for c in np.round(rng.gamma(2, 20, 120), 2)]}  # fmt: skip
    if extra:
        odd = [
            ("zoe", "secret", np.inf, "forty", "1990-99-99", 3),
            ("zoe", None, -1e308, None, None, None),
            (None, "lab", 5.0, 30, "x", 3),
            ("zoe", "lab", "abc", 30.5, "1990-01-01", "none"),
            ("zoe", "ops", np.nan, -5, "12:00", 3),
            ("zoe", "lab", 1e308, 0, "99999-01-01", 7),
        ]
        for at, row in zip((0, 9, 17, 20, 33, 40), odd, strict=True):
            for name, value in zip(staff, row, strict=True):
                staff[name].insert(at, value)
        for at, row in (
            (3, ("zoe", "zz", 1e30)),
            (50, ("zoe", None, "free")),
            (60, (None, "a", 3.0)),
        ):
            for name, value in zip(visit, row, strict=True):
                visit[name].insert(at, value)
    codes = pd.DataFrame(
        {
            "code": ["a", "b", "01", "c"],
            "label": ["alpha", "beta", "one", "none"],
            "weight": [1, 2, 3, 4],
        }
    )
    return {
        "staff": pd.DataFrame(staff),
        "bill": pd.DataFrame(bill),
        "visit": pd.DataFrame(visit),
        "codes": codes,
    }


def asked_of(extra, folder=None):
    tables = people(extra)
    if folder is not None:
        for name in ("staff", "bill", "visit"):
            path = folder / f"{name}{int(extra)}.csv.gz"
            tables[name].to_csv(path, index=False)
            tables[name] = path
    return rpac.Database(
        tables, "staff.id", {"visit.visitor": "staff.id", "bill.house": "staff.house"},
        public=["codes"], keys={"dept": ["ops", "lab", "law"], "decade": [20, 30, 40, 50], "h": [1, 3, 7]},  # noqa: E501
        schema={"born": {"type": "date"}, "cost": {"type": "number"}},
    )  # fmt: skip


SOURCES = {
    "staff AS s": ["s"],
    "visit AS v": ["v"],
    "bill AS b": ["b"],
    "staff AS s JOIN visit AS v ON s.id = v.visitor": ["s", "v"],
    "staff AS s LEFT JOIN visit AS v ON s.id = v.visitor AND v.cost > 10": ["s", "v"],
    "staff AS s, bill AS b WHERE s.house = b.house AND 1 = 1": ["s", "b"],
    "visit AS v JOIN codes AS c ON v.code = c.code": ["v", "c"],
    "visit AS v LEFT JOIN codes AS c ON v.code = c.code": ["v", "c"],
    "staff AS s JOIN codes AS c ON s.age % 4 + 1 = c.weight": ["s", "c"],
    "(SELECT visitor AS id, sum(cost) AS cost, count(*) AS n, max(code) AS code FROM visit GROUP BY visitor) AS v": ["v"],  # noqa: E501
    "staff AS s JOIN (SELECT house, avg(euro) AS euro FROM bill GROUP BY house) AS b ON s.house = b.house": ["s", "b"],  # noqa: E501
    "staff AS s JOIN staff AS t ON s.house = t.house": ["s"],
}  # fmt: skip
VALUES = {
    "s": ["s.pay", "s.age", "s.pay / s.age", "ln(s.age - 25)", "sqrt(s.pay) * 2", "s.pay * s.pay * s.pay",  # noqa: E501
          "CAST(s.age AS INT)", "year(s.born)", "coalesce(s.age, 0)", "1 / (s.age - 30)", "length(s.dept)",  # noqa: E501
          "exp(s.age)", "s.age // 10", "CASE WHEN s.age > 30 THEN s.pay END", "least(s.age, s.pay)"],  # noqa: E501
    "v": ["v.cost", "v.cost - 3", "power(v.cost, 3)", "round(v.cost, 1)", "length(v.code)"],
    "b": ["b.euro", "b.euro % 7", "log(b.euro)"],
    "c": ["c.weight", "c.weight * 2"],
}  # fmt: skip
CONDITIONS = {
    "s": ["s.age > 30", "s.dept = 'lab'", "s.pay BETWEEN 100 AND 2000", "s.born >= '1975-01-01'", "s.dept LIKE 'l%'",  # noqa: E501
          "ln(s.pay) > 3", "s.age IS NOT NULL", "s.dept IN ('lab', 'ops')", "CAST(s.dept AS INT) = 3", "NOT s.age < 40"],  # noqa: E501
    "v": ["v.cost > 20", "v.code = '01'", "upper(v.code) <> 'B'"],
    "b": ["b.euro < 300", "b.house = 3", "b.house <> '7'"],
    "c": ["c.label <> 'beta'", "c.weight > 1"],
}  # fmt: skip
KEYS = {
    "s": ["s.dept", "s.age > 30", "CASE WHEN s.age > 30 THEN 'old' ELSE 'young' END", "floor(s.age / 10) * 10 AS decade",  # noqa: E501
          "s.house AS h", "s.age"],
    "v": ["v.cost > 30", "v.code"],
    "b": ["b.euro > 100 AND b.euro < 400", "b.house AS h"],
    "c": ["c.label", "c.weight", "c.code"],
}  # fmt: skip
NUMBERS = ["sum({})", "avg({})", "count({})", "count(*)", "var_samp({})", "median({})", "max({})", "corr({}, {})",  # noqa: E501
           "sum({}) / count(*)", "count_if({} > 20)", "sum({}) FILTER (WHERE {} > 1)", "stddev({})"]  # fmt: skip  # noqa: E501


def questions(total, seed):
    """Yield random queries, some of which are refused."""
    rng = np.random.default_rng(seed)
    pick = lambda options: options[rng.integers(len(options))]  # noqa: E731
    for _ in range(total):
        source = pick(list(SOURCES))
        aliases = SOURCES[source]
        keys = [pick(KEYS[pick(aliases)]) for _ in range(rng.integers(0, 3))]
        keys = list(dict.fromkeys(keys))
        numbers = [pick(NUMBERS) for _ in range(rng.integers(1, 4))]
        numbers = [n.format(*(pick(VALUES[pick(aliases)]) for _ in range(2))) for n in numbers]
        named = [f"{n} AS m{i}" for i, n in enumerate(numbers)]
        where = [pick(CONDITIONS[pick(aliases)]) for _ in range(rng.integers(0, 3))]
        sql = f"SELECT {', '.join([*keys, *named])} FROM {source}"
        sql += "".join((" AND " if " WHERE " in sql.split(" FROM ", 1)[1] and i + 1 else " WHERE ") + w if i == 0  # noqa: E501
                       else " AND " + w for i, w in enumerate(where))  # fmt: skip
        if keys:
            sql += f" GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}"
            sql += pick(["", " HAVING count(*) > 3", " ORDER BY m0", " ORDER BY m0 DESC LIMIT 2"])
        yield sql


def public(db, sql):
    """Return all that is seen of a question, and the rows of every unit by its name."""
    try:
        asked = db.query(sql).asked(db.presence)
    except rpac.RpacError as error:
        return ("refused", type(error).__name__, str(error)), {}
    question = asked.question
    rng = np.random.default_rng(1)
    sums = rng.normal(100, 10, (question.groups, len(question.terms)))
    quantiles = rng.normal(100, 10, (question.groups, len(question.quantiles)))
    drawn = Drawn(np.ones(len(question.columns)), (), np.ones(len(question.terms)), sums, quantiles)
    value = asked.form.rebuild(asked.numbers(drawn))
    seen = repr((question.columns, question.terms, question.groups, question.rows, question.touches,
                 [(q.column, q.level, q.grid.tobytes()) for q in question.quantiles])), asked.form.labels, \
        asked.form.layout, asked.form.whole, asked.notes, repr(value), \
        [str(t) for t in value.dtypes] if hasattr(value, "dtypes") else None  # fmt: skip  # noqa: E501
    rows = asked.rows().held()
    names = dict(db.owned.connection.execute("SELECT u, k FROM pool.__units").fetchall())
    found = {}
    for unit, group, values in zip(rows.units, rows.groups, rows.values, strict=True):
        found.setdefault(names[unit], Counter())[(int(group), values.tobytes())] += 1
    return seen, found


@pytest.mark.parametrize("kind", ["frame", "csv"])
def test_one_odd_person_changes_nothing_but_their_own_rows(kind, tmp_path):
    folder = tmp_path if kind == "csv" else None
    without, joined = asked_of(extra=False, folder=folder), asked_of(extra=True, folder=folder)
    outcomes = Counter()
    asked = int(os.environ.get("RPAC_QUESTIONS", "80"))
    for sql in questions(asked, seed=31):
        (seen, rows), (also, more) = public(without, sql), public(joined, sql)
        assert seen == also, sql
        own = more.pop("zoe", Counter())
        assert set(rows) == set(more), sql
        assert rows == more, sql
        outcomes["refused" if seen[0] == "refused" else "answered"] += 1
        outcomes["filled"] += bool(rows)
        outcomes["own"] += bool(own)
    assert outcomes["answered"] >= 0.65 * asked, outcomes
    assert outcomes["filled"] >= 0.55 * asked, outcomes
    assert outcomes["own"] >= 0.35 * asked, outcomes


def test_frames_and_files_are_read_alike(tmp_path):
    frames, files = asked_of(extra=True), asked_of(extra=True, folder=tmp_path)
    for sql in questions(30, seed=7):
        assert public(frames, sql)[1] == public(files, sql)[1], sql


def test_the_order_of_rows_cannot_tell():
    turned = {
        name: table.sample(frac=1, random_state=3) for name, table in people(extra=True).items()
    }
    one, other = asked_of(extra=True), rpac.Database(
        turned, "staff.id", {"visit.visitor": "staff.id", "bill.house": "staff.house"}, public=["codes"],  # noqa: E501
        keys={"dept": ["ops", "lab", "law"], "decade": [20, 30, 40, 50], "h": [1, 3, 7]},
        schema={"born": {"type": "date"}, "cost": {"type": "number"}},
    )  # fmt: skip
    for sql in questions(30, seed=9):
        assert public(one, sql)[1] == public(other, sql)[1], sql


def test_nothing_is_refused_because_of_rows():
    for ids in ([None, None], [1, 1], [1, None], ["a", 2]):
        frame = pd.DataFrame({"id": pd.Series(ids, dtype=object), "x": [1.0, "y"]})
        db = rpac.Database({"t": frame}, "id")
        release = rpac.privatize(
            db.query("SELECT sum(x) AS s, count(*) AS n FROM t"), db.presence, 0.5
        )
        assert list(release.value.columns) == ["s", "n"]
    with pytest.raises(rpac.InputError):
        _ = db.query("SELECT sum(x) AS s FROM t").measures  # half-samples need a column of numbers


def test_a_row_that_several_claim_counts_for_each_and_a_row_of_nobody_for_none():
    staff = pd.DataFrame({"id": [1, 2, 3], "house": [7, 7, 8]})
    bill = pd.DataFrame({"house": [7, 9, None], "euro": [10.0, 20.0, 40.0]})
    db = rpac.Database({"staff": staff, "bill": bill}, "staff.id", {"bill.house": "staff.house"})
    assert answered(db, "SELECT sum(euro) AS s, count(*) AS n FROM bill") == [{"s": 20.0, "n": 2}]
    joined = "SELECT sum(euro) AS s, count(*) AS n FROM staff JOIN bill ON staff.house = bill.house"
    assert answered(db, joined) == [{"s": 20.0, "n": 2}]
