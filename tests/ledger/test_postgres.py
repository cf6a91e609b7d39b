"""A real PostgreSQL server: durable, or refused."""

import sys

import pytest
from benchmarks import ledger as long_run  # with smaller counts

import rpac
from rpac.ledger.postgres import PostgresStore


def test_many_clients_of_postgres_spend_to_the_exact_cap(database):
    found = long_run.load(database("load"), 16, 40)
    assert found["granted"] == found["recorded"] == found["cap"] == 640
    assert found["left"] == found["failed"] == 0


def test_a_server_that_does_not_synchronise_is_refused(database):
    store = rpac.Ledger(database("unsafe"), budget=1.0)._store
    real = store.rows
    store.rows = lambda sql, *v: [("off",)] if sql == "SHOW fsync" else real(sql, *v)
    store.close()
    with pytest.raises(rpac.LedgerError, match="got a OSError"), store.reading():
        pass


def test_the_extra_is_asked_for_kindly(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(rpac.LedgerError, match="Expected the `postgres` extra"):
        PostgresStore("postgresql://nowhere/none")


def test_entries_cannot_be_emptied(database):
    with rpac.Ledger(database("kept"), budget=1.0) as ledger:
        ledger.spend(0.1)
        with pytest.raises(rpac.LedgerError), ledger._store.exclusive():
            ledger._store.rows("TRUNCATE rpac_entries")
        assert ledger.verify() == 1
