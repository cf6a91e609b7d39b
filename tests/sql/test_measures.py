"""SQL types as numbers, and numbers in SQL types."""

import datetime
import re

import duckdb
import pytest

import rpac
from rpac.sql.measures import Measure, as_number, whole_type
from tests.sql.people import as_float

ENTRIES = {
    "BOOLEAN": "true", "TINYINT": "7", "UBIGINT": "7", "INTEGER": "-7", "HUGEINT": "70000",
    "FLOAT": "0.5", "DOUBLE": "0.1", "DECIMAL(9,2)": "3.14", "DECIMAL(9,0)": "3",
    "DATE": "'2024-02-29'", "TIMESTAMP": "'2024-02-29 12:34:56'", "TIMESTAMP_S": "'1969-12-31'",
}  # fmt: skip


@pytest.mark.parametrize("kind", ENTRIES)
def test_an_entry_is_read_as_a_number_and_written_as_it_was(kind):
    with duckdb.connect() as con:
        sql = as_number("x", kind, "x")
        found = con.execute(
            f"SELECT {sql}, x, typeof(x) FROM (SELECT CAST({ENTRIES[kind]} AS {kind}) AS x)"
        ).fetchall()
    ((number, entry, called),) = found
    assert called == kind
    assert number == as_float(entry)
    again = Measure(0, kind, 0, counts=False).typed(number)
    assert again == (float(entry) if kind.startswith("DECIMAL") else entry)
    assert isinstance(again, bool) is (kind == "BOOLEAN")


def test_released_numbers_are_rounded_to_the_type():
    made = {kind: Measure(0, kind, 0, counts=False).typed(2.71828) for kind in ENTRIES}
    assert made["BOOLEAN"] is True
    assert made["INTEGER"] == made["DECIMAL(9,0)"] == 3
    assert made["DECIMAL(9,2)"] == 2.72
    assert made["DOUBLE"] == 2.71828
    assert made["DATE"] == datetime.date(1970, 1, 1)
    assert made["TIMESTAMP"] == datetime.datetime(1970, 1, 1, 0, 0, 2, 718280)
    assert Measure(0, "BOOLEAN", 0, counts=True).typed(0.4) is False


def test_which_types_are_whole():
    whole = {kind for kind in ENTRIES if whole_type(kind)}
    assert whole == {"BOOLEAN", "TINYINT", "UBIGINT", "INTEGER", "HUGEINT", "DECIMAL(9,0)"}


@pytest.mark.parametrize("kind", ["VARCHAR", "INTERVAL", "BIGINT[]", "TIME", "BLOB", "INTEGERS"])
def test_what_is_no_number_is_refused_by_name_and_type(kind):
    message = f"Expected numbers or dates in 'pay'; got {kind}. Count it"
    with pytest.raises(rpac.InputError, match=re.escape(message)):
        as_number("x", kind, "pay")
