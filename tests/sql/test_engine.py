"""The embedded DuckDB: what it loads, and what its errors do not say."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rpac
from rpac.sql.engine import connect, describe, execute, kind_of, load, quoted, show, without_fields
from tests.sql.people import frame


@pytest.fixture
def con():
    with connect() as found:
        yield found


def test_names_are_quoted_so_that_none_of_them_is_syntax(con):
    for name in ("year", 'a "b"', "x; DROP TABLE y", "Ünït"):
        found = con.execute(f"SELECT 1 AS {quoted(name)}").description
        assert found[0][0] == name


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, "relation"])
def test_tables_of_every_kind_are_loaded_with_the_types_of_their_columns(con, make):
    data = {"Id": [1, 2, 2], "pay": [1.5, None, 3.0], "name": ["a", "b", None]}
    table = duckdb.from_arrow(pa.table(data)) if make == "relation" else make(data)
    assert load(con, "Staff", table) == {"id": "BIGINT", "pay": "DOUBLE", "name": "VARCHAR"}
    rows = con.execute("FROM raw.staff").fetchall()
    assert [(row[0], row[2]) for row in rows] == [(1, "a"), (2, "b"), (2, None)]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_are_loaded_whatever_they_are_called(con, tmp_path, suffix):
    path = tmp_path / f"it's 'a' file.{suffix}"
    table = frame(x=[1, 2, 3])
    table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
    assert load(con, "t", path) == {"x": "BIGINT"}
    assert con.execute("SELECT sum(x) FROM raw.t").fetchall() == [(6,)]


def test_files_that_are_not_there_or_no_tables_are_refused(con, tmp_path):
    with pytest.raises(
        rpac.InputError, match=r"Expected a \.csv, \.parquet or \.duckdb file; got 'a\.txt'"
    ):
        load(con, "t", "somewhere/a.txt")
    with pytest.raises(rpac.InputError, match=r"Expected a file that exists; got 'a\.csv'"):
        load(con, "t", tmp_path / "a.csv")


def test_what_cannot_be_loaded_is_refused_without_a_word_of_its_rows(con, tmp_path):
    path = tmp_path / "broken.parquet"
    path.write_bytes(b"PAR1 secret of somebody")
    mixed = pd.DataFrame({"x": [1, "the secret", 2.5]}, dtype=object)
    for data in (path, mixed):
        with pytest.raises(rpac.InputError) as caught:
            load(con, "staff", data)
        text = str(caught.value)
        assert text.startswith("Expected rows in table 'staff'; got a ")
        assert "secret" not in text
    with pytest.raises(rpac.InputError, match="Expected a table; got int"):
        load(con, "staff", 3)


def test_answers_come_back_as_what_the_first_table_is():
    found = {kind_of(make({"x": [1]})) for make in (pd.DataFrame, pl.DataFrame, pa.table)}
    assert found == {"pandas", "polars", "pyarrow"}
    assert kind_of(duckdb.from_arrow(pa.table({"x": [1]}))) == "duckdb"
    assert kind_of("staff.csv") == "rows"


COLUMNS = {"t": {"name": "VARCHAR", "x": "BIGINT"}}


def test_errors_of_names_and_types_are_told_and_errors_of_entries_are_not(con):
    load(con, "t", frame(name=["secret"], x=[1]))
    for sql, message in {
        "SELECT y FROM raw.t": 'a query that DuckDB can run; got Binder Error: .*"y"',
        "SELECT x FROM raw.u": "a query that DuckDB can run; got Catalog Error: .* u ",
        "SELEC": "a query that DuckDB can run; got Parser Error",
        "SELECT avg(name) FROM raw.t": "numbers where the query computes; got text in 'name'",
        "SELECT avg('a' || 'b')": "computes; got text in an expression. Count it",
    }.items():
        with pytest.raises(rpac.InputError, match=message) as caught:
            describe(con, sql, COLUMNS)
        assert "secret" not in str(caught.value)
    with pytest.raises(
        rpac.MechanismError, match="every world; got a ConversionException. Guard"
    ) as e:
        execute(con, "SELECT name::INT FROM raw.t")
    assert "secret" not in str(e.value)
    assert execute(con, "SELECT x FROM raw.t") == [(1,)]
    assert execute(con, "SELECT x FROM raw.t", "fetchnumpy")["x"].tolist() == [1]


def test_a_database_that_broke_says_so_in_the_one_way(con):
    con.close()
    with pytest.raises(
        rpac.MechanismError, match="a database that answers; got a Connection.* anew"
    ):
        show(con, "x", {"u": np.arange(3)})


def test_no_class_of_error_makes_a_failure_on_rows_a_fact_of_the_text(con):
    """A function may raise a parser's error for an entry, and quote it, through TRY."""
    said = set()
    for pay in (12345, 54321):
        load(con, f"t{pay}", frame(pay=[pay]))
        text = """'{"error":true,"error_type":"x","error_message":"' || pay || '"}'"""
        with pytest.raises(rpac.MechanismError) as caught:
            execute(con, f"SELECT TRY(json_deserialize_sql({text})) FROM raw.t{pay}")
        said.add(str(caught.value))
    assert said == {"Expected a query that runs on every world; got a ParserException. "
                    "Guard casts with TRY."}  # fmt: skip


def test_an_error_of_python_is_told_like_one_of_the_database():
    class Broken:
        def execute(self, sql):
            raise UnicodeDecodeError("utf-8", b"secret", 0, 1, "secret")

    with pytest.raises(rpac.MechanismError, match="got a UnicodeDecodeError. Guard") as caught:
        execute(Broken(), "SELECT 1")
    assert "secret" not in str(caught.value)


def test_only_one_select_is_described(con):
    for sql in ("SELECT 1; SELECT 2", "CREATE TABLE x (a INT)", "", "PIVOT t ON a USING sum(b)"):
        with pytest.raises(rpac.InputError, match="Expected one SELECT; got . statements, or one"):
            describe(con, sql, COLUMNS)
    assert describe(con, "SELECT 1 AS a; ", COLUMNS) == [("a", "INTEGER")]
    assert describe(con, "SELECT 1 AS a -- b", COLUMNS) == [("a", "INTEGER")]
    con.close()
    with pytest.raises(rpac.InputError, match="DuckDB can run; got a ConnectionException"):
        describe(con, "SELECT 1", COLUMNS)


def test_no_message_names_what_one_row_made_a_name(con):
    """A field of a STRUCT or an entry of an ENUM is one person's: messages quote their types."""
    for sql in ("sum(x)", "x + 1", "x.b", "abs([x])", "sum(e)", "x.b.c", "struct_extract(x, 'b')",
                "sum(m)", "x::INT + e", "struct_extract(x, 3)"):  # fmt: skip
        said = set()
        for field in ("flu", "hiv", "it's (odd", 'a ""b'):
            entry = field.replace("'", "''")
            con.execute(
                f"CREATE OR REPLACE TABLE pool.s AS SELECT {{'a': 1, \"{field}\": 2}} AS x, "
                f"CAST('{entry}' AS ENUM('{entry}', 'z')) AS e, "
                f"MAP {{'a': {{\"{field}\": 1}}}} AS m"
            )
            try:
                describe(con, f"SELECT {sql} FROM pool.s", COLUMNS)
            except rpac.InputError as error:
                said.add(str(error))
        assert len(said) <= 1
        assert not any(word in text for text in said for word in ("flu", "hiv", "odd", "a b"))


def test_types_are_cut_to_their_first_word():
    for text, short in {
        "DECIMAL(9,2)": "DECIMAL(9,2)",
        "STRUCT(a DOUBLE, b STRUCT(c INT))[]": "STRUCT[]",
        "f(ENUM('a)', 'b'), MAP(VARCHAR, INT), x)": "f(ENUM, MAP, x)",
        'UNION("a)b" INT': "UNION",
    }.items():
        assert without_fields(text) == short


def test_files_of_one_table_have_one_schema_and_folders_name_nothing(con, tmp_path):
    for part, table in (("zip=1", frame(x=[1])), ("zip=n-a", frame(x=[2]))):
        (tmp_path / part).mkdir()
        table.to_parquet(tmp_path / part / "rows.parquet")
    assert load(con, "t", tmp_path) == {"x": "BIGINT"}
    frame(x=["a"]).to_parquet(tmp_path / "zip=1" / "more.parquet")
    with pytest.raises(rpac.InputError, match="one schema in all files"):
        load(con, "u", str(tmp_path / "**" / "*.parquet"))
    with pytest.raises(rpac.InputError, match="Expected Parquet files; got none in"):
        load(con, "v", tmp_path / "nothing*.parquet")


def test_a_warehouse_is_read_in_place(tmp_path):
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE Person AS SELECT range AS id, range % 2 AS g FROM range(40)")
        made.execute("CREATE VIEW old AS FROM person WHERE id > 20")
    said = {"public": ["person.g"], "links": {"old.id": "person.id"}, "worlds": 16}
    db = rpac.Database(path, "person.id", **said)
    outputs = rpac.simulate(db.source, db.query("SELECT g, count(*) AS n FROM person GROUP BY g"))
    assert outputs.values.shape == (16, 2)
    assert sorted(db.columns) == ["old", "person"]
    with pytest.raises(rpac.InputError, match="a table for 'old', which is not public; got a view"):
        _ = db.presence
    alone = rpac.Database({"person": path}, "person.id")
    counted = rpac.privatize(alone.query("SELECT count(*) AS n FROM person"), alone.presence, 4.0)
    assert counted.value[0]["n"] == pytest.approx(40, abs=20)
    broken = tmp_path / "broken.duckdb"
    broken.write_bytes(b"no database of anybody")
    with pytest.raises(rpac.InputError, match="a DuckDB file that can be read; got a"):
        _ = rpac.Database(broken, "person.id").source


def test_what_does_not_fit_goes_to_a_folder_of_ones_own(tmp_path):
    left = tmp_path / "rpac-spill-999999999-x"  # of a process that is not there
    left.mkdir()
    (tmp_path / "rpac-spill-odd").mkdir()
    made = connect("100MB", tmp_path)
    folders = [path for path in tmp_path.iterdir() if "odd" not in path.name]
    assert left not in folders
    assert [path.stat().st_mode & 0o777 for path in folders] == [0o700]
    made.execute(
        "CREATE TABLE t AS SELECT range AS a, hash(range)::VARCHAR AS b FROM range(2000000)"
    )
    made.close()
    del made
    assert [path.name for path in tmp_path.iterdir()] == ["rpac-spill-odd"]
    with pytest.raises(rpac.InputError, match=r"a memory limit such as '2GB'; got 'lots'"):
        connect("lots")
    with pytest.raises(rpac.InputError, match=r"a folder to write to in `temp_directory`; got a"):
        connect(None, tmp_path / "none")
