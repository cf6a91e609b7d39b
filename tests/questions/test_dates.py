"""Days that are written as another day and an interval."""

import duckdb
import pytest
import sqlglot

from rpac.questions.dates import folded


def day(text):
    return sqlglot.parse_one(text, dialect="duckdb").transform(folded).sql("duckdb")


@pytest.mark.parametrize("text", [
    "date '1998-12-01' - interval '90' day", "date '1994-01-01' + interval '1' year",
    "date '1996-02-29' + interval 1 year", "date '2020-01-31' + interval '1' month",
    "date '2020-03-31' - interval '1' month", "date '2020-01-31' + interval '13' months",
    "date '1995-09-01' + interval '2' weeks", "(date '1995-09-01') + interval '1' quarter",
    "date '1995-09-01' + interval '1' month + interval '1' day",
])  # fmt: skip
def test_they_are_the_days_that_duckdb_finds(text):
    assert "INTERVAL" not in day(text)
    (same,) = duckdb.sql(f"SELECT ({day(text)}) = ({text})").fetchall()[0]
    assert same


@pytest.mark.parametrize("text", [
    "1 + 2", "date '1998-12-01' + 3", "date '1998-13-01' + interval '1' day",
    "date '1998-12-01' + interval '1' hour", "date '9999-12-01' + interval '1' month",
    "x + interval '1' day", "date '1998-12-01' + interval '1.5' day",
    "CAST(x AS DATE) + interval '1' day",
    "date '9999-12-31' + interval '1' day",
])  # fmt: skip
def test_what_is_no_such_day_stays(text):
    plain = sqlglot.parse_one(text, dialect="duckdb")
    assert day(text) == plain.sql("duckdb")
