"""A real PostgreSQL server, asked in place: the same worlds, sums and certificates as here."""

import numpy as np
import pytest

import rpac
from rpac.sql.postgres import Postgres
from tests.sql.elsewhere import ASKED, fill_postgres, here, there


@pytest.fixture(scope="session")
def url(database):
    return fill_postgres(database("asked"))


@pytest.fixture(scope="module")
def both(url):
    return here(), there(url)


@pytest.mark.parametrize("name", ASKED)
def test_the_answers_on_all_worlds_are_those_of_the_embedded_database(both, name):
    outputs = [rpac.simulate(db.source, db.query(ASKED[name])) for db in both]
    assert outputs[0].form.layout == outputs[1].form.layout
    assert outputs[0].values == pytest.approx(outputs[1].values, rel=1e-12)
    assert outputs[0].kind == outputs[1].kind


def test_the_certificate_is_the_same_and_the_answer_is_a_table(both):
    asked = ASKED["sum, count and average"]
    laws = []
    for db in both:
        outputs = rpac.simulate(db.source, db.query(asked))
        noise = rpac.calibrate(outputs, 0.5, method="auto-pac")
        laws.append((rpac.certify(outputs, noise, draws=0), outputs.members))
    assert laws[0][0].bound == pytest.approx(laws[1][0].bound, rel=1e-9)
    people = [np.unique(members.bits, axis=0) for _, members in laws]
    assert np.array_equal(*people)  # in whatever order
    release = rpac.privatize(both[1].query(asked), both[1].source, 0.5)
    assert [row["kind"] for row in release.value] == ["gas", "oil"]
    assert release.certificate.bound <= 0.5
    assert release.certificate.worst_unit_success is not None


def test_nothing_is_written_and_no_lock_is_held(url):
    import psycopg

    db = there(url)
    sql = "SELECT count(*) AS n FROM code JOIN item ON item.code = code.code WHERE label = 'one'"
    before = rpac.simulate(db.source, db.query(sql)).values
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("SET lock_timeout = '2s'")
        other.execute("ALTER TABLE code ADD COLUMN extra integer")
        other.execute("ALTER TABLE code DROP COLUMN extra")
    assert np.array_equal(before, rpac.simulate(db.source, db.query(sql)).values)
    with pytest.raises(rpac.MechanismError, match="got a ReadOnlySqlTransaction"):
        db.engine.fetch("DELETE FROM bill")
    assert np.array_equal(before, rpac.simulate(db.source, db.query(sql)).values)


def test_an_address_that_nobody_answers_is_refused():
    with pytest.raises(rpac.InputError, match="a server that answers; got .*refused.* Check host"):
        Postgres("postgresql://rpac@127.0.0.1:1/none")


def test_tables_in_schemas_and_tables_that_are_not_there(url):
    import psycopg

    with psycopg.connect(url, autocommit=True) as other:
        other.execute('CREATE SCHEMA IF NOT EXISTS "Ünder"')
        other.execute('CREATE TABLE IF NOT EXISTS "Ünder".pay (who integer, x numeric(9,2))')
        other.execute('INSERT INTO "Ünder".pay VALUES (1, 2.5), (2, 3.5), (3, 1)')
    db = rpac.Database({"pay": "Ünder.pay"}, "who", worlds=8, engine=url)
    assert db.columns == {"pay": {"who": "INTEGER", "x": "DECIMAL(9,2)"}}
    assert rpac.simulate(db.source, db.query("SELECT sum(x) AS s FROM pay")).dim == 1
    with pytest.raises(rpac.InputError, match="a table 'nothing' there; got none"):
        _ = rpac.Database(["nothing"], "x", engine=url).source


def test_without_the_driver_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(rpac.InputError, match="the `postgres` extra; got none"):
        Postgres("postgresql://x/y")


def test_a_table_that_may_not_be_read_is_refused_by_name(url):
    import psycopg

    with psycopg.connect(url, autocommit=True) as other:
        other.execute("CREATE ROLE reader LOGIN")
    with pytest.raises(rpac.InputError, match=r"a right to read table 'bill'; got none\. GRANT"):
        _ = rpac.Database(["bill"], "payer", engine=url.replace("rpac@", "reader@")).source


def test_one_person_cannot_make_sums_leave_the_floats(url):
    """Nested sums that overflow would be an error, and an error would tell."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as other:
        other.execute("CREATE TABLE wide (id bigint, x double precision)")
        other.execute("INSERT INTO wide SELECT i, 1.5 * i FROM generate_series(1, 50) AS i")
    inner = "SELECT id, max(CASE WHEN x > 60 THEN 1e100 * 1e100 * 1e90 ELSE 0 END) AS s FROM wide"
    sql = f"{inner} GROUP BY id"
    for i in range(19):
        sql = f"SELECT id, max({' + '.join(['s'] * 10)}) AS s FROM ({sql}) AS q{i} GROUP BY id"
    db = rpac.Database(["wide"], "id", engine=url)
    asked = db.query(f"SELECT sum(s) AS s FROM ({sql}) AS z")
    assert rpac.privatize(asked, db.presence, rpac.SuccessRate(0.55)).value
