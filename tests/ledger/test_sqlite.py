"""The SQLite file: durable commits, entries that stay, forks."""

import os
import sqlite3
import threading

import pytest
from benchmarks import ledger as long_run  # with smaller counts

import rpac
from rpac.ledger.sqlite import SqliteStore


def test_a_file_that_finds_itself_broken_is_refused(folder, monkeypatch):
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as ledger:
        monkeypatch.setattr(ledger._store, "sound", lambda: False)
        with pytest.raises(rpac.LedgerError, match="a broken file"):
            ledger.verify()


def test_threads_and_forks_share_a_ledger(folder):
    ledger = rpac.Ledger(f"{folder}/l.db", budget=1.0)
    spend = lambda: [ledger.spend(0.001) for _ in range(20)]  # noqa: E731
    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert os.waitpid(long_run.fork(spend), 0)[1] == 0
    assert ledger.spent == pytest.approx(0.18)
    ledger.verify()
    ledger.close()


def test_a_child_keeps_what_it_wrote_when_its_parent_leaves(folder):
    """The parent, last to know of the file, must not take the child's log away with it."""
    ledger = rpac.Ledger(f"{folder}/l.db", budget=1.0)
    ledger.spend(0.1)
    go, gone = os.pipe(), os.pipe()

    def spend_late():
        ledger.spend(0.2)
        os.write(gone[1], b"x")
        os.read(go[0], 1)  # the parent has closed its ledger by now
        ledger.spend(0.2)

    child = long_run.fork(spend_late)
    os.read(gone[0], 1)
    ledger.close()
    os.write(go[1], b"x")
    assert os.waitpid(child, 0)[1] == 0
    with rpac.Ledger(f"{folder}/l.db") as again:
        assert again.spent == pytest.approx(0.5)
        again.verify()


def test_a_fork_in_the_middle_of_a_transaction_leaves_it_whole(folder):
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as ledger:

        def draw():
            os.waitpid(long_run.fork(lambda: None), 0)
            return {"numbers": [1.0]}, b""

        ledger.spend(0.1, key="a", request="r", draw=draw)
        assert ledger.spent == pytest.approx(0.1)
        ledger.verify()


def test_the_file_is_what_it_says(folder):
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as ledger:
        assert ledger._store.rows("PRAGMA journal_mode")[0][0] == "wal"
        assert ledger._store.rows("PRAGMA synchronous")[0][0] == 2
        modes = {f"l.db{end}": 0o600 for end in ("", "-wal", "-shm", ".lock")}
        assert {n: os.stat(f"{folder}/{n}").st_mode & 0o777 for n in modes} == modes
    assert sqlite3.sqlite_version_info >= (3, 24)


def test_a_place_without_a_write_ahead_log_is_refused():
    """In memory there is no log, and nothing would be durable."""
    with pytest.raises(rpac.LedgerError, match="got a OSError"), SqliteStore(":memory:").reading():
        pass


def test_versions_belong_to_their_connection(folder):
    one, two = (SqliteStore(f"{folder}/rows.db") for _ in range(2))
    with one.exclusive():
        one.create()
        before = one.version()
    with one.exclusive():
        assert one.version() == before  # its own commits change nothing
        assert one.sound()
    with two.exclusive():
        two.rows("CREATE TABLE other (x INTEGER)")
    with one.exclusive():
        assert one.version() != before
    one.close()
    two.close()
