"""Transactions and what they know: a snapshot is true, or it is not kept."""

import sqlite3
import sys

import pytest

import rpac
from rpac.ledger.entries import Account
from rpac.ledger.sqlite import SqliteStore
from rpac.ledger.store import Snapshot


def test_what_others_write_is_seen_at_once(where):
    """A ledger takes from memory only what nobody else has changed since."""
    with rpac.Ledger(where, budget=1.0) as ledger, rpac.Ledger(where) as other:
        for _ in range(3):
            ledger.spend(0.1)
            other.spend(0.1)
        assert ledger.spent == other.spent == 0.6
        other.cap(0.65)
        with pytest.raises(rpac.BudgetSpent, match=r"at most 0\.050000000 nats"):
            ledger.spend(0.1)
        with pytest.raises(ZeroDivisionError):
            ledger.spend(0.01, draw=lambda: 1 / 0)
        ledger.spend(0.05)
        assert ledger.verify() == 8


def test_a_balance_that_another_program_changes_is_refused_at_the_next_spend(folder):
    ledger = rpac.Ledger(f"{folder}/l.db", budget=1.0)
    ledger.spend(0.1)
    with sqlite3.connect(f"{folder}/l.db") as raw:
        raw.execute("UPDATE rpac_accounts SET spent = 0 WHERE kind = 'ledger'")
    raw.close()
    with pytest.raises(rpac.LedgerError, match="a balance that was changed"):
        ledger.spend(0.1)
    ledger.close()


def test_a_database_that_cannot_be_durable_or_reached_is_refused(folder, monkeypatch):
    with pytest.raises(rpac.LedgerError, match="got a OSError|got a OperationalError"):
        rpac.Ledger(":memory:", budget=1.0, anchor=f"{folder}/head")
    with pytest.raises(rpac.LedgerError, match="got a OperationalError"):
        rpac.Ledger("postgresql://rpac@127.0.0.1:1/none", budget=1.0)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(rpac.LedgerError, match="Expected the `postgres` extra; got none"):
        rpac.Ledger("postgresql://rpac@127.0.0.1/none", budget=1.0)


# --- the snapshot: what a transaction knows without asking again ----------------------------------


@pytest.fixture
def store(folder):
    made = SqliteStore(f"{folder}/rows.db")
    with made.exclusive():
        made.create()
    yield made
    made.close()


def counting(store, monkeypatch):
    """Return the statements that a store runs from here on."""
    seen, real = [], store.rows
    monkeypatch.setattr(store, "rows", lambda sql, *v: seen.append(sql) or real(sql, *v))
    return seen


def test_a_snapshot_begins_empty_for_whoever_reads_without_the_lock(store):
    with store.exclusive():
        store.put(Account("ledger", "", 9, 1, ""))
        assert store.seen.accounts
    with store.reading():
        assert store.seen == Snapshot()


def test_what_was_committed_is_known_to_the_next_transaction(store, monkeypatch):
    with store.exclusive():
        store.put(Account("ledger", "", 9, 1, ""))
        assert store.lines() == 1
    said = counting(store, monkeypatch)
    with store.exclusive():
        assert store.account("ledger", "").spent == 1
        assert store.lines() == 1
    assert not [sql for sql in said if sql.startswith("SELECT")]


def test_what_failed_is_not_known(store):
    with store.exclusive():
        store.put(Account("ledger", "", 9, 1, ""))

    def fail():
        with store.exclusive():
            store.put(Account("ledger", "", 9, 5, ""))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with store.exclusive():
        assert store.account("ledger", "").spent == 1


def test_what_others_wrote_is_not_taken_from_memory(store, folder):
    with store.exclusive():
        store.put(Account("ledger", "", 9, 1, ""))
    other = SqliteStore(f"{folder}/rows.db")
    with other.exclusive():
        other.put(Account("ledger", "", 9, 2, ""), Account("dataset", "d", None, 2, ""))
    other.close()
    with store.exclusive():
        assert store.account("ledger", "").spent == 2
        assert store.lines() == 2


def test_a_new_account_is_counted(store):
    with store.exclusive():
        store.put(Account("ledger", "", 9, 1, ""))
        assert store.lines() == 1
        store.put(Account("dataset", "d", None, 0, ""))
        assert store.lines() == 2
        store.put(Account("dataset", "d", None, 3, ""))
        assert store.lines() == 2
        assert store.names() == [("dataset", "d"), ("ledger", "")]


def test_what_is_stored_can_be_looked_at_anew(store):
    with store.exclusive():
        store.put(Account("ledger", "", 9, 1, ""))
        store.forget()
        assert store.seen == Snapshot()
        assert store.account("ledger", "").spent == 1


def test_a_changed_balance_is_found_by_its_seal(store, folder):
    with store.exclusive():
        store.put(Account("ledger", "", 9, 1, ""))
    raw = sqlite3.connect(f"{folder}/rows.db", isolation_level=None)
    raw.execute("UPDATE rpac_accounts SET spent = 0")
    raw.close()
    with pytest.raises(rpac.LedgerError, match="a balance that was changed"), store.exclusive():
        store.account("ledger", "")


def test_states_are_kept_with_sessions_only(store):
    with store.exclusive():
        store.put(Account("session", "s", 9, 0, "m"), Account("dataset", "d", None, 0, ""),
                  state=b"state")  # fmt: skip
        assert store.state("session", "s") == b"state"
        assert store.state("dataset", "d") == b""
        assert store.state("session", "none") == b""
