"""Expressions that no row can make fail, alike in every engine; all others are refused."""

import math

import numpy as np
import pytest
import sqlglot
from sqlglot import exp

import rpac
from rpac.errors import InputError
from rpac.sql.known import UNKNOWN, Known
from rpac.sql.typed import Typed
from tests.sql import engines

ODD = """
SELECT * FROM (VALUES
  (1, 1.5::DOUBLE, 2::BIGINT, 10.25::DECIMAL(12, 2), 'lab', DATE '2020-02-29', TIMESTAMP '2020-02-29 13:14:15', true),
  (2, 'nan'::DOUBLE, 9223372036854775807, -9999999999.99, ' 12 ', DATE '0001-01-01', TIMESTAMP '0001-01-01', false),
  (3, 'inf'::DOUBLE, -9223372036854775807, 0.01, '1e99', DATE '9999-12-31', TIMESTAMP '9999-12-31', NULL),
  (4, '-inf'::DOUBLE, 0, 0.0, '1e999', NULL, NULL, true),
  (5, 1.7976931348623157e308, 1, 1.0, '-.5e-3', DATE '1969-12-31', TIMESTAMP '1969-12-31 23:59:59', true),
  (6, -1.7976931348623157e308, -1, -1.0, '', DATE '2000-01-01', TIMESTAMP '2000-01-01', false),
  (7, 5e-324, 3, 3.0, NULL, DATE '2000-01-01', TIMESTAMP '2000-01-01', false),
  (8, -2.5, NULL, NULL, 'x''; DROP', DATE '2020-12-31', TIMESTAMP '2020-12-31', true),
  (8, 0.0, 7, 0.07, '3.25', DATE '2020-06-30', TIMESTAMP '2020-06-30', true),
  (9, 1e100, 5, 7.77, 'LAB', DATE '2020-06-30', TIMESTAMP '2020-06-30', true),
  (10, 9e99, 5, 7.77, 'LAB', DATE '2020-06-30', TIMESTAMP '2020-06-30', true),
  (11, 2e-100, 5, 7.77, 'LAB', DATE '2020-06-30', TIMESTAMP '2020-06-30', true),
  (NULL, 5.0, 5, 5.0, 'lab', DATE '2020-06-30', TIMESTAMP '2020-06-30', true)
) AS t(id, f, n, d, s, born, stamp, yes)
"""  # noqa: E501
BEYOND = """
INSERT INTO odd VALUES
  (20, 'NaN', 1, 'NaN', repeat('9', 2000), 'infinity', 'infinity', NULL),
  (21, 1, 1, 1, '1' || chr(160), '5874897-12-31', '294276-12-31', NULL),
  (22, 1, 1, 1, '-', '4713-01-01 BC', '4713-01-01 BC', NULL), (23, 1, 1, 1, '1e+', '-infinity', '-infinity', true)
"""  # noqa: E501
TERMS = [
    "f", "n", "d", "s", "f * f", "f * f * f * f * f", "f / d", "d / n", "n / f / f / f / f / f", "-f + d - n",  # noqa: E501
    "abs(f)", "floor(f)", "ceil(f)", "round(f)", "f // 2", "sign(f)", "sqrt(f)", "ln(f)", "ln(d) * 1000",  # noqa: E501
    "CAST(f AS INTEGER)", "d * (1 - d) * (1 + d)", "n * n * n * n * n * n * n * n * n * n * n * n * n * n * n * n",  # noqa: E501
    "CASE WHEN s = 'lab' THEN d WHEN yes THEN 1 ELSE NULL END", "coalesce(f, d, 7)", "nullif(d, 1)",
    "greatest(d, n)", "least(d, n)", "length(s)", "CASE s WHEN 'lab' THEN 1 END", "CAST(s AS DOUBLE) * 2",  # noqa: E501
    "year(born)", "extract(month FROM stamp)", "extract(quarter FROM born)", "CASE WHEN NOT yes THEN 1 ELSE 2 END",  # noqa: E501
]  # fmt: skip
CONDITIONS = [
    "f > 1", "n = 3", "d BETWEEN 1 AND 8", "s LIKE 'l%'", "s NOT LIKE '%a%'", "s ILIKE 'lab'", "upper(s) = 'LAB'",  # noqa: E501
    "substring(s, 1, 1) IN ('l', 'L')", "substring(trim(s), 1, 2) <> 'la'", "born >= DATE '2020-01-01' - INTERVAL '1' MONTH",  # noqa: E501
    "stamp < TIMESTAMP '2020-02-29 13:14:16'", "CAST(stamp AS DATE) = DATE '2020-02-29'", "yes", "yes IS NOT TRUE",  # noqa: E501
    "s IS NULL OR f IS NOT NULL", "f IS DISTINCT FROM d", "n = n", "lower(s) NOT IN ('lab', 'x')", "s > 5",  # noqa: E501
    "yes = (d > 0)",
]  # fmt: skip


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory, database):
    """The odd rows in a Parquet file, as a frame, and on a server with odder ones beside them."""
    import psycopg

    rows = engines.relation(ODD)
    paths = engines.in_files(tmp_path_factory.mktemp("odd"), {"odd": rows})
    url = database("odd")
    engines.in_postgres(url, {"odd": rows})
    made = [engines.database(paths, "id"), engines.database(["odd"], "odd.id", url),
            engines.database({"odd": rows.to_arrow_table()}, "id")]  # fmt: skip
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(
            "CREATE TABLE odder AS SELECT id, f, n, CAST(d AS NUMERIC) AS d, s, born, stamp, yes FROM odd"  # noqa: E501
        )
        db.execute(BEYOND.replace("INTO odd ", "INTO odder "))
        db.execute("INSERT INTO odder SELECT 30, 1, 1, 1e1000, s FROM odd")
        db.execute("INSERT INTO odder SELECT 31, 1, 1, 1e-1000, s FROM odd")
    made.append(engines.database({"odd": "odder"}, "odd.id", url))
    yield made
    for db in (made[1], made[3]):
        engines.close(db)


def rows_of(db, sql):
    """Return the numbers of all rows of a question, by unit, as the engine has them."""
    units = db.query(sql).asked(db.presence).rows()
    found = units.fetch(f"SELECT * FROM ({units.relation}) AS r")
    as_float = lambda x: math.nan if x is None else float(x)  # noqa: E731
    return sorted((int(u), *map(as_float, numbers)) for u, _, *numbers in found)


@pytest.mark.parametrize("term", TERMS)
def test_terms_are_alike_in_files_and_on_a_server(everywhere, term):
    sql = f"SELECT sum({term}) AS s FROM odd"
    one, two = (np.array(rows_of(db, sql)) for db in everywhere[:2])
    assert np.array_equal(one, two, equal_nan=True)
    assert len(one) == 12  # nobody's row is not there


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_are_alike_in_files_and_on_a_server(everywhere, condition):
    sql = f"SELECT sum(1) AS s FROM odd WHERE {condition}"
    one, two = (rows_of(db, sql) for db in everywhere[:2])
    assert one == two


ALIKE = ["n = 3", "d BETWEEN 1 AND 8", "s LIKE 'l%'", "s ILIKE 'lab'", "upper(s) = 'LAB'", "yes",
         "born >= DATE '2020-01-01'", "stamp < TIMESTAMP '2020-02-29 13:14:16'"]  # fmt: skip


@pytest.mark.parametrize("condition", ALIKE)
def test_conditions_are_those_of_frames(everywhere, condition):
    """But for what is declared by types: there an empty text is one, and 1e300 is beyond."""
    sql = f"SELECT count(*) AS n FROM odd WHERE {condition}"
    here, there = (
        db.query(sql).asked(db.presence).rows().held() for db in (everywhere[2], everywhere[0])
    )
    assert len(here.units) == len(there.units)


def test_no_row_makes_postgres_fail(everywhere):
    """Entries beyond all numbers, days and texts are read, each as NULL or 0, and nobody fails."""
    for i, condition in enumerate(("1 = 1", *CONDITIONS)):  # all terms, then some by turns
        terms = ", ".join(
            f"sum({t}) AS t{j}" for j, t in enumerate(TERMS) if not i or i % 7 == j % 7
        )
        found = rows_of(everywhere[3], f"SELECT {terms} FROM odd WHERE {condition}")
        values = np.array(found)[:, 1:]
        assert not np.isinf(values).any()


@pytest.mark.parametrize("term", TERMS)
def test_odd_people_change_nobody_else(everywhere, term):
    """With them the column has no digits of its own, infinities, and days beyond the calendar."""
    sql = f"SELECT sum({term}) AS s FROM odd"
    alone, beside = (np.array(rows_of(db, sql)) for db in (everywhere[1], everywhere[3]))
    assert np.array_equal(alone, beside[beside[:, 0] < 20], equal_nan=True)


def test_the_order_of_rows_and_numbers_of_units_do_not_matter(everywhere):
    asked = (
        everywhere[0]
        .query("SELECT sum(d) AS s, count(*) AS n FROM odd")
        .asked(everywhere[0].presence)
    )
    held = asked.rows().held()
    assert sorted(held.units.tolist()) == [0, 1, 2, 3, 4, 5, 6, 7, 7, 8, 9, 10]
    with pytest.raises(InputError, match="rows in this process, to audit; got rows that stay"):
        everywhere[1].query("SELECT count(*) AS n FROM odd").asked(
            everywhere[1].presence
        ).rows().held()


REFUSED = {
    "exp(f)": "cannot fail, from the list", "pow(f, 2)": "cannot fail", "f % 2": "cannot fail",
    "round(f, 2)": "cannot fail", "trim(s, 'x')": "plain whole numbers in text|cannot fail",
    "length(s || s)": "cannot fail", "CASE WHEN s LIKE s THEN 1 END": "plain text after LIKE",
    "CASE WHEN s LIKE 'a\\' THEN 1 END": "plain text after LIKE",
    "length(substring(s, -1, 2))": "plain whole numbers in text",
    "CASE WHEN s = born THEN 1 END": "a date where the query computes",
    "CASE WHEN yes = s THEN 1 END": "a bool where", "f + 1e200": "numbers from 1e-100 to 1e100",
    "extract(dow FROM born)": "cannot fail", "CASE WHEN born > '2020-13-01' THEN 1 END": "a day such as",  # noqa: E501
    "datediff('day', born, stamp)": "cannot fail", "CAST(s AS DATE) - born": "a date where|number where|cannot fail",  # noqa: E501
    "CASE WHEN born = CAST(s AS DATE) THEN 1 END": "a date where", "CAST(CAST(f AS VARCHAR) AS DOUBLE)": "a text where",  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize("term", REFUSED)
def test_what_could_fail_is_refused_by_its_shape(everywhere, term):
    for db in everywhere[1 if term in TRIED else 0 : 2]:
        with pytest.raises(rpac.InputError, match=REFUSED[term]):
            db.query(f"SELECT sum({term}) AS s FROM odd").asked(db.presence)


TRIED = ("exp(f)", "pow(f, 2)", "f % 2", "round(f, 2)", "extract(dow FROM born)", "length(s || s)",
         "datediff('day', born, stamp)", "length(replace(s, 'a', 'b'))", "dayofweek(born)",
         "CASE WHEN starts_with(s, 'l') THEN 1 END", "CASE WHEN contains(s, 'a') THEN 1 END",
         "CASE WHEN date_trunc('month', born) = DATE '2020-06-01' THEN 1 END",
         "cbrt(f)", "log(f)")  # fmt: skip


@pytest.mark.parametrize("term", TRIED)
def test_what_fails_on_a_row_is_missing_there_in_files(everywhere, term):
    """DuckDB has TRY: what it alone can run is the same as of frames, but for what is beyond."""
    sql = f"SELECT sum({term}) AS s FROM odd WHERE id IN (1, 5, 8) AND abs(d) < 20 AND abs(f) < 1e9"
    here, there = (
        db.query(sql).asked(db.presence).rows().held() for db in (everywhere[2], everywhere[0])
    )
    assert np.array_equal(
        np.sort(here.values.ravel()), np.sort(there.values.ravel()), equal_nan=True
    )
    every = everywhere[0].query(f"SELECT sum({term}) AS s FROM odd").asked(everywhere[0].presence)
    assert not np.isinf(every.rows().held().values).any()


ALONE = Typed({("t", "x"): Known(UNKNOWN), ("t", "y"): Known("number", 0, 1)}, "duckdb")


@pytest.mark.parametrize(("text", "refused"), [
    ("t.x", "columns of numbers, text, dates or truths"), ("TRY_CAST(t.y AS TIME)", "cannot fail"),
    ("t.y IS DISTINCT", "cannot fail"), ("CASE t.y WHEN 1 THEN 2 END", "cannot fail"),
    ("max(t.y, 2)", "cannot fail"), ("random()", "cannot fail"),
])  # fmt: skip
def test_what_others_let_through_is_refused_all_the_same(text, refused):
    node = exp.Is(this=exp.column("y", "t"), expression=exp.column("y", "t"))
    node = node if "DISTINCT" in text else sqlglot.parse_one(text, dialect="duckdb")
    with pytest.raises(rpac.InputError, match=refused):
        ALONE.read(node)


def test_divisors_are_not_zero():
    made, _ = ALONE.read(sqlglot.parse_one("t.y / t.y", dialect="duckdb"))
    assert made.sql("postgres").endswith("/ NULLIF(t.y, CAST('0.0' AS DOUBLE PRECISION))")


def test_the_largest_few_are_not_one_number():
    with pytest.raises(rpac.InputError, match="cannot fail"):
        ALONE.read(exp.Max(this=exp.column("y", "t"), expressions=[exp.Literal.number(2)]))


def test_what_is_listed_together_is_of_one_kind():
    made, known = ALONE.read(sqlglot.parse_one("t.y IN ('1', 2)", dialect="duckdb"))
    assert known.kind == "bool"
    assert "REGEXP_MATCHES(TRIM('1')" in made.sql("duckdb")
