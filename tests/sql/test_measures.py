"""SQL types as numbers, and numbers in SQL types."""

import datetime
import re

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import rpac
from rpac.sql.measures import Measure, as_number, bounded, whole_type
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


KINDS = (
    "BOOLEAN", "TINYINT", "UBIGINT", "HUGEINT", "DECIMAL(38,10)", "DECIMAL(18,0)", "FLOAT",
    "DOUBLE", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS", "TIMESTAMP_S",
)  # fmt: skip


@given(value=st.floats(allow_nan=False, allow_infinity=False), kind=st.sampled_from(KINDS))
@example(value=1e300, kind="DATE")
@example(value=-1e300, kind="TIMESTAMP")
@example(value=253402300799.9999999, kind="TIMESTAMP_NS")
def test_every_finite_number_has_a_nearest_entry_of_every_type(value, kind):
    """After the charge nothing may fail: noise may lead anywhere."""
    entry = Measure(0, kind, 0, counts=False).typed(value)
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        assert len(make({"x": [entry, entry]})) == 2


def test_numbers_that_no_square_could_hold_count_as_missing():
    found = bounded(
        np.ma.array([1.0, np.inf, -np.inf, np.nan, 1e101, 1e-200, 5.0], mask=[0] * 6 + [1])
    )
    assert np.array_equal(found, [1.0, np.nan, np.nan, np.nan, np.nan, 0.0, np.nan], equal_nan=True)
