"""Tables that the promise *person* reads: text in one spelling, and owners whoever they are."""

import datetime
import gzip
import math

import numpy as np
import pandas as pd
import pytest

import rpac
from rpac.person.entries import text
from rpac.sql.owned import Owned
from tests.sql.people import frame

ENTRIES = [
    "1", "01", " 1.50 ", "1e3", "1e16", "1e-7", "123456789012345678901", "-0", "0.1", "1e400",
    "true", "False", " TRUE ", "lab", " lab ", "", " ", "inf", "nan", "-inf", "9223372036854775807",
    "0.30000000000000004", "9.3e18", "-9.3e18", "+05", "5e-324",
    "1.7976931348623157e308", "a b", "NULL", "é", "12345678.9",
]  # fmt: skip


def owned(**columns):
    return Owned({"t": frame(**columns)}, "id")


def column(tables, name="x", table="t"):
    rows = tables.connection.execute(f'SELECT "{name}" FROM pool."{table}" ORDER BY __unit')
    return [row[0] for row in rows.fetchall()]


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_database_spells_text_as_entries_do(entry):
    connection = owned(id=[1], x=[1]).connection
    word, value = connection.execute(
        "SELECT __spelled(?), __number(__spelled(?))", [entry] * 2
    ).fetchone()
    assert word == text(entry)
    truth = {"true": 1.0, "false": 0.0}.get(text(entry))
    if truth is None and text(entry) is not None:
        try:
            truth = float(text(entry))
        except ValueError:
            truth = None
    truth = truth if truth is not None and math.isfinite(truth) else None
    assert value == truth


def test_one_entry_changes_no_other():
    plain = owned(id=[1, 2, 3], x=[1, 2, 3])
    mixed = owned(id=[1, 2, 3, 4, 5], x=pd.Series([1, 2.0, "03", None, "word"], dtype=object))
    gaps = owned(id=[1, 2, 3, 4], x=[1, 2, 3, np.nan])
    assert column(plain) == column(mixed)[:3] == column(gaps)[:3] == ["1", "2", "3"]
    assert column(mixed)[3:] == [None, "word"]
    assert (
        plain.columns == mixed.columns == gaps.columns == {"t": {"id": "VARCHAR", "x": "VARCHAR"}}
    )


def test_dates_and_truths_are_text_too():
    tables = owned(id=[1, 2], x=[datetime.date(2020, 1, 2), None], y=[True, False])
    assert column(tables) == ["2020-01-02", None]
    assert column(tables, "y") == ["true", "false"]


def test_characters_that_are_none_do_not_stop_the_reading():
    words = pd.Series(["a\ud800", "b"], dtype=object)
    assert column(owned(id=[1, 2], x=words)) == ["a?", "b"]


def test_files_are_read_as_text(tmp_path):
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wt") as file:
        file.write("ID,x\n1,007\n2,x\n,5\n3\n")
    tables = Owned(path, "id")
    assert tables.columns == {"t": {"id": "VARCHAR", "x": "VARCHAR"}}
    assert column(tables) == ["7", "x", None]


def test_public_tables_keep_their_types_and_private_columns_are_never_public():
    tables = Owned(
        {"t": frame(id=[1], c=["a"]), "p": frame(c=["a"], n=[2])}, "t.id", public=["p", "t.c"]
    )
    assert tables.columns["p"] == {"c": "VARCHAR", "n": "BIGINT"}
    assert tables.public == ("p",)
    assert Owned({"t": frame(id=[1]), "p": frame(c=[1])}, "t.id", public="p").public == ("p",)


def test_rows_of_nobody_are_left_out_and_shared_ones_have_several_owners():
    tables = Owned(
        {"t": frame(id=[1, None, 2], house=[7, 7, 7]), "bill": frame(house=[7, 8], x=[1, 2])},
        "t.id", {"bill.house": "t.house"},
    )  # fmt: skip
    assert len(tables.units) == 2
    assert column(tables, "x", "bill") == ["1", "1"]


def test_each_row_may_be_a_unit():
    tables = Owned({"t": frame(x=[5, 5, None])}, "rows")
    assert column(tables) == ["5", "5", None]


@pytest.mark.parametrize("columns", [{"A": [1], "a": [2]}, {"__unit": [1]}])
def test_names_must_be_unique_and_free(columns):
    with pytest.raises(rpac.InputError, match="unique names of columns, none __unit; got"):
        Owned({"t": pd.DataFrame({"id": [1]} | columns)}, "id")


def test_lists_name_no_columns_and_are_refused():
    for rows in ([], [{"id": 1, "x": 2}]):
        with pytest.raises(rpac.InputError, match="a path for table 't'; got a list. Make a frame"):
            Owned({"t": rows}, "t.id")
