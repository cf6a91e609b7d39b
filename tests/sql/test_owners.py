"""Whose row it is, in SQL: against the owners that pandas finds."""

import duckdb
import pytest

from rpac.sql.owners import UNIT, direct, owned, owners
from tests.sql.people import frame

PERSON = frame(name=["ann", "bob", "cy", None])
ACCOUNT = frame(number=[10, 11, 12, 13, 14], holder=["cy", "ann", "ann", "bob", None])
PAYMENT = frame(account=[10, 10, 11, 13, 13, 12, 99, 14], sum=range(8))
UNITS = ("person", "name")
PRIVATE = {
    "person": None,
    "account": ("holder", "person", "name"),
    "payment": ("account", "account", "number"),
}


@pytest.fixture
def con():
    with duckdb.connect() as found:
        found.execute("CREATE SCHEMA raw")
        for name, table in (("person", PERSON), ("account", ACCOUNT), ("payment", PAYMENT)):
            found.register("t", table)
            found.execute(f"CREATE TABLE raw.{name} AS FROM t")
        yield found


def test_ids_are_in_columns_of_their_own_one_link_away():
    assert [direct(UNITS, name, link) for name, link in PRIVATE.items()] == ["name", "holder", None]
    assert direct(UNITS, "other", None) is None


def test_every_row_has_the_owner_that_its_keys_lead_to_and_rows_of_nobody_are_left_out(con):
    found = con.execute(owned(UNITS, PRIVATE, "payment").sql("duckdb")).fetchall()
    holder = dict(zip(ACCOUNT.number, ACCOUNT.holder, strict=True))
    expected = [
        (a, s, holder[a])
        for a, s in PAYMENT.itertuples(index=False)
        if isinstance(holder.get(a), str)
    ]
    assert sorted(found) == sorted(expected)
    people = con.execute(owned(UNITS, PRIVATE, "person").sql("duckdb")).fetchall()
    assert sorted(people) == [(n, n) for n in ("ann", "bob", "cy")]


def test_a_key_of_several_units_has_each_of_them_once(con):
    con.execute("INSERT INTO raw.account VALUES (10, 'ann'), (10, 'ann')")
    pairs = con.execute(owners(UNITS, PRIVATE, "account", "number").sql("duckdb")).fetchall()
    assert sorted(pairs)[:2] == [(10, "ann"), (10, "cy")]
    rows = con.execute(owned(UNITS, PRIVATE, "payment").sql("duckdb")).fetchall()
    assert sorted(row[2] for row in rows if row[0] == 10) == ["ann", "ann", "cy", "cy"]
    assert UNIT == "__unit"
