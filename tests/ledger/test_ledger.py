"""The books: what is acknowledged is recorded, what is recorded fits the cap, damage shows."""

import contextlib
import itertools
import json
import math
import os
import sqlite3
import sys
import threading
import time
from fractions import Fraction

import numpy as np
import pytest
from benchmarks import ledger as long_run  # with smaller counts
from hypothesis import given
from hypothesis import strategies as st

import rpac
from rpac.ledger.anchor import Anchor
from rpac.ledger.entries import Line, exact_nano, nats_text
from rpac.ledger.fair_lock import Turns

NUMBER = itertools.count()


@pytest.fixture(params=["sqlite", "postgres"])
def where(request, folder):
    """The same contract for both: a place for a new ledger."""
    if request.param == "sqlite":
        return f"{folder}/ledger.db"
    return request.getfixturevalue("database")(f"ledger{next(NUMBER)}")


def test_a_ledger_adds_up_and_survives_reopening(where):
    with rpac.Ledger(where, budget=1.0, dataset="people", analyst="ann") as ledger:
        for _ in range(3):
            ledger.spend(0.1)
        ledger.spend(rpac.Bits(0.1))
        assert ledger.spent == pytest.approx(0.3 + 0.1 * math.log(2), abs=1e-9)
        assert ledger.remaining == pytest.approx(1 - ledger.spent)
        assert ledger.verify() == 4
        assert "ledger" in str(ledger)
        assert "people" in ledger._repr_html_()
    with rpac.Ledger(where) as again:
        assert again.spent == ledger.spent
        kinds = [entry["kind"] for entry in again.entries()]
        assert kinds == ["open"] + ["spend"] * 4
        assert [entry["seq"] for entry in again.entries(2)] == [2, 3, 4]
        assert again.id == ledger.id
        ledger.close()


def test_the_cap_is_met_to_the_nano_nat_and_the_refusal_says_what_is_left(where):
    with rpac.Ledger(where, budget=0.5) as ledger:
        for _ in range(5):
            ledger.check(0.1)
            ledger.spend(0.1)
        with pytest.raises(
            rpac.BudgetSpent,
            match=r"at most 0\.000000000 nats, what is left for the ledger; got 0\.000000001 nats",
        ) as caught:  # noqa: E501
            ledger.spend(1e-12)
        assert caught.value.remaining == 0
        with pytest.raises(rpac.BudgetSpent):
            ledger.check(1e-9)
        ledger.spend(0)
        assert ledger.spent == 0.5


def test_one_key_is_charged_once_and_has_one_answer(where):
    with rpac.Ledger(where, budget=1.0) as ledger:
        draws = iter(range(100))
        spend = lambda r="r": ledger.spend(  # noqa: E731
            0.25, key="k", request=r, draw=lambda: ({"value": next(draws)}, b"")
        )
        receipts = [spend() for _ in range(50)]
        assert all(r == receipts[0] for r in receipts)
        assert receipts[0].answer == {"value": 0}
        assert receipts[0].nats == 0.25
        assert "0.250000000 nats" in str(receipts[0])
        assert ledger.spent == 0.25
        with pytest.raises(rpac.InputError, match="Expected the request that key 'k' was first"):
            spend("another")
        assert ledger.find("k") == receipts[0]
        assert ledger.find("unknown") is None


def test_two_processes_with_one_key_share_one_answer(where, monkeypatch):
    with rpac.Ledger(where, budget=1.0) as ledger, rpac.Ledger(where) as other:
        first = other.spend(0.1, key="k", draw=lambda: ("first", b""))
        real = ledger._entry_of
        looks = iter([None])  # the look before the lock came too early
        monkeypatch.setattr(ledger, "_entry_of", lambda *a: next(looks, None) or real(*a))
        monkeypatch.setattr(ledger, "find", lambda *a: None)
        assert ledger.spend(0.1, key="k", draw=lambda: ("second", b"")) == first
        assert ledger.spent == 0.1


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


def test_caps_of_datasets_and_analysts(where):
    with rpac.Ledger(where, budget=1.0) as ledger:
        ledger.cap(0.3, dataset="people")
        ledger.cap(0.2, analyst="ann")
        ann = ledger.under(dataset="people", analyst="ann")
        bob = ledger.under(dataset="people", analyst="bob")
        ann.spend(0.2)
        with pytest.raises(rpac.BudgetSpent, match=r"what is left for analyst 'ann'"):
            ann.spend(0.01)
        assert bob.remaining == pytest.approx(0.1)
        bob.spend(0.1)
        with pytest.raises(rpac.BudgetSpent, match=r"what is left for dataset 'people'"):
            bob.spend(0.01)
        with pytest.raises(rpac.InputError, match="a cap of at least what is spent, 0.200000000"):
            ledger.cap(0.1, analyst="ann")
        for named in ({"analyst": ""}, {"dataset": ""}, {"dataset": "people", "analyst": "ann"}):
            with pytest.raises(rpac.InputError, match="the name of one dataset or one analyst; "):
                ledger.cap(0.1, **named)
        ledger.cap(2.0)
        assert ledger.under(dataset="other").remaining == pytest.approx(1.7)
        ledger.spend(0.1)  # nameless: on no line but the ledger's and the data's
        nameless = [a for a in ledger.accounts() if not a["name"]]
        assert [(a["kind"], a["spent"]) for a in nameless] == [("ledger", pytest.approx(0.4))]
        ledger.verify()
    with pytest.raises(rpac.InputError, match="Expected the budget of this ledger, 2.000000000"):
        rpac.Ledger(where, budget=1.0)


def test_names_and_keys_are_text(where):
    """The books would hold a text, and their hashes something else."""
    with rpac.Ledger(where, budget=1.0) as ledger:
        wrong = [
            ("dataset", lambda: rpac.Ledger(where, dataset=None)),
            ("dataset", lambda: ledger.cap(0.1, dataset=0)),
            ("analyst", lambda: ledger.under(analyst=7)),
            ("analyst", lambda: ledger.under(analyst="a\nb")),
            ("key", lambda: ledger.spend(0.1, key=7)),
        ]
        for name, call in wrong:
            with pytest.raises(rpac.InputError, match=f"Expected printable text for `{name}`; "):
                call()
        ledger.under(analyst=np.str_("eve")).spend(0.0, key=np.str_("k"))
        ledger.under(analyst="山田\u3000太郎").spend(0.0)
        ledger.verify()


def test_a_line_of_the_books_has_one_secret_and_new_data_a_new_line(where):
    with rpac.Ledger(where, budget=1.0, dataset="people") as ledger:
        ledger.spend(0.1, line=Line("v1", "halves by person"))
        with pytest.raises(rpac.InputError, match="Expected charges about one secret on a line"):
            ledger.spend(0.1, line=Line("v1", "halves by row"))
        ledger.spend(0.2, line=Line("v2", "halves by row"))
        lines = {a["name"]: a["spent"] for a in ledger.accounts() if a["kind"] == "version"}
        assert lines == {"people@v1": 0.1, "people@v2": 0.2}


def test_a_draw_that_fails_charges_nothing(where):
    with rpac.Ledger(where, budget=1.0) as ledger:
        with pytest.raises(ZeroDivisionError):
            ledger.spend(0.1, key="k", draw=lambda: 1 / 0)
        with pytest.raises(rpac.InputError, match="Expected public values; got sealed Outputs"):
            ledger.spend(0.1, key="k", draw=lambda: (rpac.Outputs([0.0, 1.0]), b""))
        assert ledger.spent == 0
        assert ledger.find("k") is None


def test_nothing_is_drawn_before_the_check_and_nothing_revealed_before_the_write(where):
    with rpac.Ledger(where, budget=1.0) as ledger:
        order = []
        with pytest.raises(rpac.BudgetSpent):
            ledger.spend(2.0, draw=lambda: order.append("draw"))
        assert order == []
        real = ledger._store.rows

        def rows(sql, *values):
            if sql == "COMMIT" or sql.startswith("INSERT INTO rpac_entries"):
                order.append(sql.split()[0])
            return real(sql, *values)

        ledger._store.rows = rows
        ledger.spend(0.1, draw=lambda: (order.append("draw"), b""))
        assert order == ["draw", "INSERT", "COMMIT"]


def test_entries_cannot_be_changed_or_deleted(where):
    with rpac.Ledger(where, budget=1.0) as ledger:
        ledger.spend(0.1)
        for change in ("UPDATE rpac_entries SET body = '{}'", "DELETE FROM rpac_entries"):
            with pytest.raises(rpac.LedgerError), ledger._store.exclusive():
                ledger._store.rows(change)
        ledger.verify()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("UPDATE rpac_accounts SET spent = 1 WHERE kind = 'ledger'", "a balance that was changed"),
        ("DELETE FROM rpac_accounts WHERE kind = 'analyst'", "accounts that were added or removed"),
        (
            "UPDATE rpac_entries SET body = replace(body, '0', '1') WHERE seq = 1",
            "an altered entry",
        ),
        ("DELETE FROM rpac_entries WHERE seq = 1", "a gap before entry 2"),
        ("DELETE FROM rpac_entries WHERE seq = 0", "a gap|no entry 0"),
        ("DELETE FROM rpac_entries WHERE seq = 3", "rolled back|no entry|differs"),
    ],
)
def test_verify_finds_what_was_changed(folder, damage, message):
    ledger = rpac.Ledger(f"{folder}/l.db", budget=1.0, analyst="ann")
    for _ in range(3):
        ledger.spend(0.1)
    for trigger in ("rpac_no_UPDATE", "rpac_no_DELETE"):
        ledger._store.rows(f"DROP TRIGGER {trigger}")
    ledger._store.rows(damage)
    with pytest.raises(rpac.LedgerError, match=message):
        ledger.verify()
    ledger.close()
    with pytest.raises(rpac.LedgerError):
        rpac.Ledger(f"{folder}/l.db")


def test_a_file_that_finds_itself_broken_is_refused(folder, monkeypatch):
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as ledger:
        monkeypatch.setattr(ledger._store, "sound", lambda: False)
        with pytest.raises(rpac.LedgerError, match="a broken file"):
            ledger.verify()


def forge(ledger, change):
    """Alter the books and seal them anew, as somebody with the code could."""
    with ledger._store.exclusive():
        change(ledger._store)


def test_balances_are_recomputed_from_the_entries(folder):
    ledger = rpac.Ledger(f"{folder}/l.db", budget=1.0, dataset="staff")
    ledger.spend(0.3)
    other = ledger._store.account("dataset", "staff")
    forge(ledger, lambda store: store.put(other._replace(spent=5)))
    with pytest.raises(rpac.LedgerError, match="accounts that differ from the sum"):
        ledger.verify()
    whole = ledger._store.account("ledger", "")
    forge(ledger, lambda store: store.put(type(whole)("ledger", "", 10**9, 5, "")))
    with pytest.raises(rpac.LedgerError, match="a balance that differs from the last entry's"):
        ledger.spend(0.1)
    ledger.close()


def test_an_entry_beyond_its_cap_is_found(folder):
    ledger = rpac.Ledger(f"{folder}/l.db", budget=1.0)
    ledger.spend(0.9)

    def overspend(store):
        ledger._append("spend", json.loads(store.entry(1)[1]), ledger._head(), None)

    forge(ledger, overspend)
    with pytest.raises(rpac.LedgerError, match="entry 2, which exceeds a cap"):
        ledger.verify()
    ledger.close()


def test_long_ledgers_are_read_by_the_page(folder, monkeypatch):
    monkeypatch.setattr("rpac.ledger._PAGE", 7)
    monkeypatch.setattr("rpac.ledger._SOON", 10)
    ledger = rpac.Ledger(f"{folder}/l.db", budget=1.0)
    for _ in range(30):
        ledger.spend(0.01)
    assert ledger.verify() == 30
    ledger.close()
    with rpac.Ledger(f"{folder}/l.db") as again:
        assert again.remaining == pytest.approx(0.7)


def test_a_new_ledger_needs_a_budget(folder):
    with pytest.raises(rpac.InputError, match="Expected a budget for a new ledger; got none"):
        rpac.Ledger(f"{folder}/none.db")


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("rpac-ledger/2", "rpac-ledger/1", "a ledger of schema rpac-ledger/2; got another one"),
        ("{", "z", "an altered entry 0"),  # no JSON
        ('"ledger":', '"lodger":', "an altered entry 0"),
    ],
)
def test_the_opening_entry_is_read_with_care(folder, old, new, found):
    """Another schema has other hashes: it is not called altered, and damage is no schema."""
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as ledger:
        ledger.spend(0.1)
        ledger.spend(0.1)
    with contextlib.closing(sqlite3.connect(f"{folder}/l.db")) as raw, raw:
        raw.execute("DROP TRIGGER rpac_no_UPDATE")
        change = "UPDATE rpac_entries SET body = replace(body, ?, ?) WHERE seq = 0"
        assert raw.execute(change, (old, new)).rowcount == 1
    with pytest.raises(rpac.LedgerError, match=f"Expected .*{found}"):
        rpac.Ledger(f"{folder}/l.db")


def test_the_anchor_refuses_a_rolled_back_ledger(folder):
    assert long_run.rollbacks(folder, 20) == 20


def test_a_lost_anchor_must_be_trusted_anew(folder):
    path = f"{folder}/l.db"
    with rpac.Ledger(path, budget=1.0) as ledger:
        ledger.spend(0.1)
    os.unlink(f"{path}.head")
    with pytest.raises(rpac.LedgerError, match="no anchor"):
        rpac.Ledger(path)
    rpac.Ledger(path, trust_head=True).close()
    rpac.Ledger(path).close()
    os.unlink(path)
    with pytest.raises(rpac.LedgerError, match="an anchor without entries"):
        rpac.Ledger(path, budget=1.0)


def test_an_anchor_elsewhere_serves_postgres_too(database, folder):
    url, place = database("anchored"), f"{folder}/head"
    with rpac.Ledger(url, budget=1.0, anchor=place) as ledger:
        ledger.spend(0.1)
        Anchor(place).write(99, "f" * 64)
        with pytest.raises(rpac.LedgerError, match="rolled back"):
            ledger.spend(0.1)


def test_an_anchor_keeps_the_latest_head_through_torn_writes(folder):
    anchor = Anchor(f"{folder}/head")
    assert anchor.read() is None
    open(f"{folder}/head", "w").close()
    assert anchor.read() is None
    for seq in (3, 4, 2):
        anchor.write(seq, f"{seq}" * 64)
    assert anchor.read() == (4, "4" * 64)
    with open(f"{folder}/head", "r+b") as file:
        file.write(b"torn")
    assert anchor.read() == (3, "3" * 64)
    with open(f"{folder}/head", "r+b") as file:
        file.write(b"x" * 1024)
    with pytest.raises(rpac.LedgerError, match="Expected an anchor with a head; got a damaged one"):
        anchor.read()


def test_many_processes_spend_to_the_exact_cap(folder):
    found = long_run.load(f"{folder}/l.db", 64, 25)
    assert found["granted"] == found["recorded"] == found["cap"] == 64 * 25
    assert found["left"] == found["failed"] == 0


def test_many_clients_of_postgres_spend_to_the_exact_cap(database):
    found = long_run.load(database("load"), 50, 20)
    assert found["granted"] == found["recorded"] == found["cap"] == 1_000
    assert found["left"] == found["failed"] == 0


def test_kill_9_loses_nothing_that_was_acknowledged(folder):
    found = long_run.kills(f"{folder}/l.db", 100, cap=2_000)
    assert found["lost"] == 0
    assert 0 < found["acknowledged"] <= found["recorded"] <= found["cap"]


def test_kill_9_at_every_named_point(folder):
    assert not any(long_run.crash_points(f"{folder}/l.db", 5).values())


def test_flipped_bytes_are_refused_or_harmless(folder):
    found = long_run.flips(folder, 100)
    assert found["wrong"] == 0
    assert found["refused"] > 10


def test_no_room_and_no_right_to_write_release_nothing(folder):
    assert long_run.disk_full(folder, 10) == (10, 0)
    assert long_run.file_limit(folder, 5) == (5, 0)
    os.makedirs(f"{folder}/only")
    assert long_run.read_only(f"{folder}/only")


def test_ten_thousand_retries(folder):
    assert long_run.retries(f"{folder}/l.db", 1_000) == (1, 1)


def test_a_failing_anchor_withholds_the_answer(folder, monkeypatch):
    ledger = rpac.Ledger(f"{folder}/l.db", budget=1.0)

    def broken(*_):
        raise OSError("gone")

    monkeypatch.setattr(ledger._anchor, "write", broken)
    with pytest.raises(rpac.LedgerError, match="Nothing was released"):
        ledger.spend(0.1, key="k", draw=lambda: ("answer", b""))
    monkeypatch.undo()
    assert ledger.spent == 0.1  # charged, not released: the safe side
    assert ledger.spend(0.1, key="k").answer == "answer"
    ledger.close()


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


def test_turns_are_taken_in_the_order_of_arrival(folder):
    path, (seen, told) = f"{folder}/lock", os.pipe()
    turns = Turns(path)

    def come(name):
        with Turns(path):
            os.write(told, name)

    with turns:
        assert os.pread(turns._file, 16, 0) == b""  # nobody else is there: no ticket
        children = []
        for ticket, name in enumerate((b"a", b"b"), 1):
            children.append(long_run.fork(come, name))
            while os.pread(turns._file, 8, 8) != ticket.to_bytes(8, "little"):
                time.sleep(0.001)
    with turns:  # back at once, but after those who wait
        os.write(told, b"c")
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    assert os.read(seen, 3) == b"abc"
    turns.close()


def test_a_turn_without_its_file_is_only_unfair(folder):
    turns = Turns(f"{folder}/none/lock")
    with turns:
        pass
    turns.close()


def test_a_database_that_cannot_be_durable_or_reached_is_refused(folder, monkeypatch):
    with pytest.raises(rpac.LedgerError, match="got a OSError|got a OperationalError"):
        rpac.Ledger(":memory:", budget=1.0, anchor=f"{folder}/head")
    with pytest.raises(rpac.LedgerError, match="got a OperationalError"):
        rpac.Ledger("postgresql://rpac@127.0.0.1:1/none", budget=1.0)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(rpac.LedgerError, match="Expected the `postgres` extra; got none"):
        rpac.Ledger("postgresql://rpac@127.0.0.1/none", budget=1.0)


def test_a_server_that_does_not_synchronise_is_refused(database):
    store = rpac.Ledger(database("unsafe"), budget=1.0)._store
    real = store.rows
    store.rows = lambda sql, *v: [("off",)] if sql == "SHOW fsync" else real(sql, *v)
    store.close()
    with pytest.raises(rpac.LedgerError, match="got a OSError"), store.reading():
        pass


@pytest.mark.parametrize(
    "amount",
    [float("nan"), float("inf"), -1.0, -5e-324, True, "1", None, 1e308, [1.0], 1j],
)
def test_amounts_that_are_none_are_refused(folder, amount):
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as ledger:
        with pytest.raises(rpac.InputError, match="Expected"):
            ledger.spend(amount)
        with pytest.raises(rpac.InputError, match="Expected"):
            ledger.spend(rpac.SuccessRate(0.6))  # books are kept in nats
        assert ledger.spent == 0


@given(st.lists(st.floats(0, 1e3), max_size=50))
def test_nano_nats_are_conserved_exactly(amounts):
    whole = sum(math.ceil(exact_nano(a)) for a in amounts)
    assert whole >= sum(Fraction(repr(a)) * 10**9 for a in amounts)
    assert Fraction(nats_text(whole)) * 10**9 == whole


def test_caps_are_rounded_down(folder):
    with rpac.Ledger(f"{folder}/l.db", budget=2.5e-9) as ledger:
        assert ledger.remaining == 2e-9


def test_small_and_odd_numbers():
    assert math.ceil(exact_nano(5e-324)) == 1
    assert math.ceil(exact_nano(np.float64(0.001))) == 10**6
    assert math.ceil(exact_nano(rpac.Nats(0.1))) == 10**8
    assert math.ceil(exact_nano(np.int64(2))) == 2 * 10**9


def test_attempts_at_certificates_are_counted_across_processes(where):
    with rpac.Ledger(where, budget=1.0) as ledger:
        assert [ledger.attempt("outputs") for _ in range(3)] == [1, 2, 3]
        assert ledger.verify() == 3
        assert all(a["kind"] != "attempts" for a in ledger.accounts())


def test_the_file_is_what_it_says(folder):
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as ledger:
        assert ledger._store.rows("PRAGMA journal_mode")[0][0] == "wal"
        assert ledger._store.rows("PRAGMA synchronous")[0][0] == 2
    assert sqlite3.sqlite_version_info >= (3, 24)


def test_a_key_belongs_to_its_analyst_and_its_entry(folder):
    people = rpac.Worlds([1.0, 2.0, 4.0, 8.0])
    path = f"{folder}/keys.db"
    with rpac.Ledger(path, budget=2.0, analyst="ann") as ann:
        rpac.privatize(float, people, 0.4, ledger=ann, key="k")
        bob = ann.under(analyst="bob")
        bob.cap(0.1, analyst="bob")
        with pytest.raises(rpac.InputError, match="another request"):
            rpac.privatize(float, people, 0.4, ledger=bob, key="k")
    with sqlite3.connect(path) as raw:
        raw.execute("DROP TRIGGER rpac_no_UPDATE")
        raw.execute("UPDATE rpac_entries SET key = NULL")
    raw.close()
    with pytest.raises(rpac.LedgerError, match="under another key"):
        rpac.Ledger(path)
