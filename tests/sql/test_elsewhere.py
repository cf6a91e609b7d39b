"""Databases elsewhere: what is written in their dialect, what is refused, what they say."""

import pytest
from sqlglot import parse_one

import rpac
from rpac.sql.elsewhere import Elsewhere
from rpac.sql.postgres import Postgres
from rpac.sql.spark import Spark
from tests.sql.elsewhere import SAID, TABLES, fill_postgres, there


@pytest.fixture(scope="session")
def url(database):
    return fill_postgres(database("elsewhere"))


def test_what_may_fail_is_null_where_the_dialect_has_a_way(url):
    engine = Postgres(url)
    tree = parse_one(
        "SELECT TRY(TRY(a / b) % c), a / 2, CASE WHEN isfinite(x) THEN x END FROM t", read="duckdb"
    )
    text = engine.written(tree)
    assert "TRY" not in text.upper().replace("ENTRY", "")
    assert text.count("NULLIF") == 2
    assert "BETWEEN -1e308 AND 1e308" in text
    assert "TRY" in tree.sql("duckdb")  # the query itself stays as it was


def test_types_that_have_no_counterpart_are_text():
    engine = object.__new__(Postgres)
    kinds = ["integer", "numeric(12,2)", "numeric", "character varying(9)", "jsonb", "date"]
    found = [engine.duckdb_type(kind) for kind in kinds]
    assert found == ["INTEGER", "DECIMAL(12,2)", "DECIMAL", "VARCHAR", "VARCHAR", "DATE"]


def test_errors_there_say_nothing_of_rows(url):
    engine = Postgres(url)
    with pytest.raises(rpac.MechanismError) as caught:
        engine.fetch("SELECT CAST(town AS integer) FROM person")
    assert "Aue" not in str(caught.value)
    assert "Bonn" not in str(caught.value)
    with pytest.raises(rpac.InputError, match="a table 'no.such.thing' that can be read; got a"):
        engine.columns("no.such.thing")


def test_only_sums_are_received(url):
    db = there(url)
    db.query("SELECT kind, avg(sum) AS a, count(*) AS n FROM bill GROUP BY kind").announce(
        db.source
    )
    numbers = 3 * 64 * 2  # parts, worlds, groups
    assert db.engine.received < 30 * (numbers + 64 + 20)


REFUSED = {
    "several rows of one": (
        "SELECT count(generate_series(1, 2)) AS n FROM item",
        "functions of one row that are one entry, elsewhere",
    ),
    "a query a world": ("SELECT median(count) AS m FROM item", "that one pass serves, elsewhere"),
    "a sub-query over sums": (
        "SELECT count(*) * (SELECT max(code) FROM code) AS n FROM item",
        "columns without sub-queries, elsewhere",
    ),
    "a sub-query in HAVING": (
        "SELECT kind, count(*) AS n FROM bill GROUP BY kind "
        "HAVING avg(number) > (SELECT max(code) FROM code)",
        "columns without sub-queries, elsewhere",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_asked_elsewhere_is_refused(url, name):
    db = there(url)
    sql, message = REFUSED[name]
    with pytest.raises(rpac.InputError, match=message):
        db.query(sql).announce(db.source)


def test_a_query_that_fails_there_is_not_run_by_world(url):
    db = there(url)
    query = db.query("SELECT sum(CAST(town AS INTEGER)) AS s FROM person")
    with pytest.raises(rpac.MechanismError, match="on every world; got a InvalidTextRepresent"):
        query.announce(db.source)


def test_the_books_have_one_line_for_all_versions(url):
    first, again = there(url), there(url)
    assert first.source.version == again.source.version
    other = rpac.Database({name: f"public.{name}" for name in TABLES}, engine=url, **SAID)
    assert other.source.version != first.source.version


def test_engines_by_address_session_or_themselves(url):
    engine = Postgres(url)
    assert isinstance(engine, Elsewhere)
    assert there(engine).engine is engine

    class Session:
        sql = table = conf = None

    made = rpac.Database(["t"], "x", engine=Session())
    assert isinstance(made._said["engine"], Spark)
    with pytest.raises(rpac.InputError, match=r"or a Spark session; got 'mysql'\. Or leave"):
        rpac.Database(["t"], "x", engine="mysql://here")
    with pytest.raises(rpac.InputError, match=r"or a Spark session; got int\. Or leave"):
        rpac.Database(["t"], "x", engine=3)


def test_rows_that_are_units_need_a_column_elsewhere(url):
    with pytest.raises(rpac.InputError, match="a column of ids, in a database elsewhere"):
        _ = rpac.Database(["code"], "rows", engine=url).source


def test_links_and_ids_are_of_one_kind_elsewhere(url):
    """Equal entries of other types may be spelled otherwise: one person would be several."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as other:
        other.execute("CREATE TABLE IF NOT EXISTS odd (who numeric, name text, x double precision)")
    said = SAID | {"links": SAID["links"] | {"odd.who": "person.id"}}
    with pytest.raises(
        rpac.InputError, match=r"links between ids of one kind; got odd.who DECIMAL"
    ):
        _ = rpac.Database([*TABLES, "odd"], engine=url, **said).source
    with pytest.raises(
        rpac.InputError, match=r"ids of one kind; got odd.x DOUBLE and odd.x DOUBLE"
    ):
        _ = rpac.Database(["odd"], "x", engine=url).source


def test_tables_elsewhere_are_names_and_no_row_is_printed(url):
    with pytest.raises(rpac.InputError, match=r"names of tables elsewhere; got dict\. Pass"):
        _ = rpac.Database(TABLES, engine=url, **SAID).source


def test_decimals_that_duckdb_cannot_hold_are_floats():
    engine = object.__new__(Postgres)
    kinds = ["numeric(38,2)", "numeric(100,2)", "numeric(3,-5)", "numeric(4)"]
    found = [engine.duckdb_type(kind) for kind in kinds]
    assert found == ["DECIMAL(38,2)", "DOUBLE", "DOUBLE", "DECIMAL(4,0)"]
