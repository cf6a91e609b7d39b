"""The chain: what was changed is found, whoever sealed it anew."""

import contextlib
import json
import sqlite3
from hashlib import sha256

import pytest

import rpac
from rpac.ledger.anchor import NOWHERE, Anchor, Position
from rpac.ledger.entries import Line, chain_hash


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
        entry = ledger._chain.append("spend", json.loads(store.entry(1)[1]), ledger._chain.head())
        ledger._chain.anchor.reset(Position(entry["seq"], entry["hash"]))  # forged as well

    forge(ledger, overspend)
    with pytest.raises(rpac.LedgerError, match="entry 2, which exceeds a cap"):
        ledger.verify()
    ledger.close()


def test_long_ledgers_are_read_by_the_page(folder, monkeypatch):
    monkeypatch.setattr("rpac.ledger.chain._PAGE", 7)
    monkeypatch.setattr("rpac.ledger.ledger._SOON", 10)
    monkeypatch.setattr("rpac.ledger.ledger._LAST", 7)
    ledger = rpac.Ledger(f"{folder}/l.db", budget=1.0)
    for _ in range(30):
        ledger.spend(0.01)
    assert ledger.verify() == 30
    ledger.close()
    with rpac.Ledger(f"{folder}/l.db") as again:
        assert again.remaining == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("rpac-ledger/5", "rpac-ledger/4", "a ledger of schema rpac-ledger/5; got another one"),
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


def test_an_entry_under_a_key_is_ours_or_it_is_not(folder):
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as ledger:
        first = ledger.charge(0.1, key="k", draw=lambda: ("first", b"state"))
        second = ledger.charge(0.1, key="k", draw=lambda: ("second", b"other"))
        assert first.state == b"state"
        assert second == (first.receipt, None)
        assert ledger.charge(0.1).state == b""
        entry, ours = ledger._chain.record("seal", lambda: {"of": "x"})
        assert ours
        assert entry["seq"] == 3


def test_an_anchor_without_entries_is_refused(folder):
    Anchor(f"{folder}/head").reset(Position(5, "f" * 64))
    with pytest.raises(rpac.LedgerError, match="an anchor without entries"):
        rpac.Ledger(f"{folder}/l.db", budget=1.0, anchor=f"{folder}/head")
    Anchor(f"{folder}/head").intend(NOWHERE, Position(0, "f" * 64))  # whose maker died
    with rpac.Ledger(f"{folder}/l.db", budget=1.0, anchor=f"{folder}/head") as ledger:
        ledger.spend(0.1)


def test_the_key_stays_in_the_ledger(where):
    """No hash of data without it leaves, and it is in nothing that does."""
    with rpac.Ledger(where, budget=1.0, dataset="people") as ledger:
        receipt = ledger.spend(0.1, key="k", request="r" * 64, line=Line("v" * 64, "s" * 64))
        ledger.attempt("o" * 64)
        ledger.judge("d" * 64, "l" * 64)
        key = ledger._store.state("key", "")
        public = json.dumps([*ledger.entries(), *ledger.accounts()]) + repr(receipt) + str(ledger)
        for mark in "rsvodl":
            assert mark * 64 not in public
        assert len(key) == 32
        assert key.hex() not in public
        assert repr(key)[2:-1] not in public + repr(ledger) + repr(vars(ledger._chain))
        assert receipt.version == ledger.fingerprint("v" * 64) in public
        assert ledger.fingerprint("") == ""
    with rpac.Ledger(where) as again:
        assert again.fingerprint("v" * 64) == receipt.version


def test_another_key_is_refused(folder):
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as ledger:
        key = ledger._store.account("key", "")
        forge(ledger, lambda store: store.put(key, state=b"x" * 32))
        with pytest.raises(rpac.LedgerError, match="a key that was changed"):
            ledger.verify()
        mark = sha256(b"x" * 32).hexdigest()
        forge(ledger, lambda store: store.put(key._replace(note=mark), state=b"x" * 32))
        with pytest.raises(rpac.LedgerError, match="a key that was changed"):
            ledger.verify()


def test_other_entries_than_the_anchor_knows_are_refused(folder, monkeypatch):
    """After a power cut books may be ahead of their anchor, but not beside it."""
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as ledger:
        ledger.spend(0.1)
        ledger._chain.anchor.reset(Position(1, "f" * 64))
        ledger._chain.store.forget()
        monkeypatch.setattr("rpac.ledger.anchor.boot", lambda: "another")
        with pytest.raises(rpac.LedgerError, match="a head before its anchor"):
            ledger.spend(0.1)
        ledger._chain.anchor.reset(Position(0, "f" * 64))
        monkeypatch.setattr("rpac.ledger.anchor.boot", lambda: "third")
        with pytest.raises(rpac.LedgerError, match="other entries than its anchor knows"):
            ledger.spend(0.1)


def test_every_entry_follows_from_the_one_before(folder):
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as ledger:
        for _ in range(5):
            ledger.spend(0.01)
        before = ""
        rows = [ledger._store.entry(seq) for seq in range(6)]
        for seq, text, own in rows:
            assert chain_hash(seq, before, text) == own
            before = own
        assert ledger.verify(3) == 5
