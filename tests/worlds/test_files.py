"""Files of rows: what is one, which files a path means, and what their columns are called."""

import gzip
import re

import duckdb
import pandas as pd
import polars as pl
import pytest

import rpac
from rpac.person.entries import Entries
from rpac.worlds import tables
from rpac.worlds.files import column_names, is_csv, is_warehouse, parquet_files


@pytest.fixture
def parts(tmp_path):
    """Three folders: files side by side, files in folders of their own, and one file alone."""
    for name, at in (("flat", "{}.parquet"), ("deep", "k={}/rows.parquet"), ("one", "x.parquet")):
        for i in range(1 if name == "one" else 3):
            file = tmp_path / name / at.format(i)
            file.parent.mkdir(parents=True, exist_ok=True)
            pl.DataFrame({"id": [2 * i, 2 * i + 1], "x": [0.5, float(i)]}).write_parquet(file)
    return tmp_path


def refused(message):
    return pytest.raises(rpac.InputError, match=re.escape(message))


@pytest.mark.parametrize("at", ["flat", "deep", "flat/*.parquet", "deep/**/*.parquet"])
def test_a_folder_or_a_glob_is_one_table(parts, at):
    assert len(parquet_files(parts / at)) == 3
    assert column_names(parts / at) == ["id", "x"]
    assert tables.read(parts / at).shape == (6, 2)
    found = Entries(parts / at)
    assert (found.columns, found.size) == (["id", "x"], 6)
    assert found.texts("id") == list("012345")
    assert found.numbers("x").tolist() == [0.5, 0.0, 0.5, 1.0, 0.5, 2.0]
    assert rpac.Subsets(parts / at, unit="id", worlds=4).units.tolist() == [*range(6)]
    db = rpac.Database({"t": parts / at}, unit="t.id")
    assert len(db.query("SELECT avg(x) AS x FROM t").asked(db.presence).rows().held().units) == 6


def test_one_file_in_a_folder_is_the_table(parts):
    assert Entries(parts / "one").texts("id") == ["0", "1"]
    assert tables.read(parts / "one").shape == (2, 2)


def test_a_release_from_a_folder_is_that_of_its_rows(parts):
    people = rpac.Presence(parts / "deep", unit="id", caps={"x": (0, 1)})
    made = rpac.privatize(rpac.statistics.sum("x"), people, rpac.SuccessRate(0.99))
    assert made.certificate.promise == "person"
    assert abs(made.value - 3.5) < 5


def test_types_may_differ_between_files_for_a_person_and_names_may_not(parts):
    """A file in which nobody has an entry has a column of nothing."""
    pd.DataFrame({"id": [9], "x": [None]}).to_parquet(parts / "flat" / "z.parquet")
    assert Entries(parts / "flat").texts("x")[-1] is None
    pd.DataFrame({"id": [9], "y": [1.0]}).to_parquet(parts / "flat" / "z.parquet")
    with refused("Expected the same columns in all files of a table; got others in some. Write"):
        Entries(parts / "flat")
    with refused("Expected rows in 'flat'; got a "):
        tables.read(parts / "flat")


def test_a_compressed_csv_is_a_csv(tmp_path):
    with gzip.open(tmp_path / "s.csv.gz", "wt") as file:
        file.write("\ufeffid, a b \n7,1\n8,2\n")
    assert column_names(tmp_path / "s.csv.gz") == ["id", "a b"]
    assert tables.read(tmp_path / "s.csv.gz").shape == (2, 2)
    assert len(rpac.Subsets(tmp_path / "s.csv.gz", unit="id", worlds=2).units) == 2
    assert is_csv(tmp_path / "S.CSV")
    assert not is_csv("s.parquet")


def test_a_glob_means_no_csv_whose_types_one_entry_would_decide(parts):
    """A reader of CSV infers types from the first rows, and fails on a later odd one."""
    (parts / "flat" / "a.csv").write_text("id,x\n7,none\n")
    assert len(parquet_files(parts / "flat" / "*")) == 3
    with refused("Expected Parquet files; got none in 'a*'. Check the path."):
        Entries(parts / "flat" / "a*")


def test_a_file_inside_of_a_folder_is_named_in_no_refusal(parts):
    (parts / "one" / "a_person.parquet").write_bytes(b"4711")
    with refused("Expected rows in 'one'; got a ") as said:
        column_names(parts / "one")
    assert "a_person" not in str(said.value)


def test_names_of_columns_without_a_row():
    frame = pd.DataFrame({"a": [1], 2: [3]})
    assert column_names(frame) == ["a", "2"]
    assert column_names(pl.DataFrame({"a": [1]})) == ["a"]
    assert column_names(pl.DataFrame({"a": [1]}).to_arrow()) == ["a"]
    assert column_names(duckdb.sql("SELECT 1 AS a")) == ["a"]
    for odd in (pl.LazyFrame({"a": [1]}), [1], "shop.duckdb"):
        assert column_names(odd) is None


def test_files_without_names(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    assert column_names(tmp_path / "empty.csv") == []
    (tmp_path / "bad.parquet").write_bytes(b"4711")
    with refused("Expected rows in 'bad.parquet'; got a ") as said:
        column_names(tmp_path / "bad.parquet")
    assert "4711" not in str(said.value)


def test_what_is_no_file_of_rows(tmp_path):
    with refused("Expected a file that exists; got 'no.csv'. Check the path."):
        column_names(tmp_path / "no.csv")
    with refused("Expected a .csv, .parquet or .duckdb file; got 'a.txt'. Convert it first."):
        parquet_files("a.txt")
    with refused("Expected Parquet files; got none in 'empty'. Check the path."):
        (tmp_path / "empty").mkdir()
        parquet_files(tmp_path / "empty")
    with refused("Expected a .csv or .parquet file; got 'shop.duckdb'. Ask it in SQL"):
        tables.read("shop.duckdb")
    assert (parquet_files(3), parquet_files("s.csv"), parquet_files("s.ddb")) == ([], [], [])
    assert is_warehouse("s.ddb")
