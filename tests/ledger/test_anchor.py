"""The anchored head: rollback shows, torn writes do not lose it."""

import os

import pytest
from benchmarks import ledger as long_run  # with smaller counts

import rpac
from rpac.ledger.anchor import Anchor


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


def test_a_failing_anchor_withholds_the_answer(folder, monkeypatch):
    ledger = rpac.Ledger(f"{folder}/l.db", budget=1.0)

    def broken(*_):
        raise OSError("gone")

    monkeypatch.setattr(ledger._chain._anchor, "write", broken)
    with pytest.raises(rpac.LedgerError, match="Nothing was released"):
        ledger.spend(0.1, key="k", draw=lambda: ("answer", b""))
    monkeypatch.undo()
    assert ledger.spent == 0.1  # charged, not released: the safe side
    assert ledger.spend(0.1, key="k").answer == "answer"
    ledger.close()
