"""The anchor: what is put back alone shows, torn writes and crashes lose nothing."""

import os
import shutil
from pathlib import Path

import pytest
from benchmarks import ledger as long_run  # with smaller counts

import rpac
from rpac.ledger import anchor as anchors
from rpac.ledger.anchor import NOWHERE, Anchor, Position, state_place


def at(seq):
    return Position(seq, f"{seq}" * 64)


def place_of(ledger):
    return state_place(ledger.id)


def test_the_anchor_refuses_a_rolled_back_ledger(folder):
    assert long_run.rollbacks(folder, 20) == 20


@pytest.mark.parametrize("part", long_run.PARTS)
def test_what_is_put_back_alone_is_refused(folder, part):
    assert long_run.restored(folder, part, 10) == 10


def test_the_anchor_lies_in_the_users_state_folder_by_the_ledgers_id(folder):
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as ledger:
        place = place_of(ledger)
        assert ledger.anchored
    assert place == Path(os.environ["XDG_STATE_HOME"]) / "rpac" / "anchors" / f"{ledger.id}.head"
    assert place.stat().st_mode & 0o777 == 0o600
    assert place.parent.stat().st_mode & 0o777 == 0o700
    assert sorted(os.listdir(folder)) == ["l.db", "l.db.lock"]


def test_without_xdg_the_state_folder_is_the_homes(folder, monkeypatch):
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", folder)
    assert state_place("x") == Path(folder) / ".local" / "state" / "rpac" / "anchors" / "x.head"
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/none")
    with pytest.raises(rpac.LedgerError, match=r"a state folder for the anchor .*anchor=PATH"):
        state_place("x")


def test_a_move_to_another_folder_needs_nothing(folder):
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as ledger:
        ledger.spend(0.1)
    os.makedirs(f"{folder}/new")
    shutil.move(f"{folder}/l.db", f"{folder}/new/books.db")
    with rpac.Ledger(f"{folder}/new/books.db") as again:
        again.spend(0.1)
        assert again.spent == 0.2


def test_a_move_to_another_machine_is_trusted_on_the_record(folder, monkeypatch):
    path = f"{folder}/l.db"
    with rpac.Ledger(path, budget=1.0) as ledger:
        ledger.spend(0.1)
    monkeypatch.setenv("XDG_STATE_HOME", f"{folder}/elsewhere")
    with pytest.raises(rpac.LedgerError, match=r"no anchor \(`rpac ledger LEDGER --trust-head`"):
        rpac.Ledger(path)
    rpac.Ledger(path, trust_head=True).close()
    with rpac.Ledger(path) as again:
        again.spend(0.1)
        assert [e["kind"] for e in again.entries()] == ["open", "spend", "anchor", "spend"]
        again.verify()


def test_trust_does_not_undo_a_rollback(folder):
    path = f"{folder}/l.db"
    with rpac.Ledger(path, budget=1.0) as ledger:
        ledger.spend(0.1)
    shutil.copy(path, f"{folder}/old.db")
    with rpac.Ledger(path) as ledger:
        ledger.spend(0.1)
    shutil.copy(f"{folder}/old.db", path)
    for trust in (False, True):
        with pytest.raises(rpac.LedgerError, match="a head before its anchor: it was rolled back"):
            rpac.Ledger(path, trust_head=trust)


def test_trust_is_on_the_record_before_the_anchor_is_made(folder, monkeypatch):
    """Should it fail in between, the ledger is refused until it is trusted again."""
    path = f"{folder}/l.db"
    with rpac.Ledger(path, budget=1.0) as ledger:
        os.unlink(place_of(ledger))
    monkeypatch.setattr(Anchor, "reset", lambda *_: (_ for _ in ()).throw(OSError("gone")))
    with pytest.raises(rpac.LedgerError, match="Nothing was released"):
        rpac.Ledger(path, trust_head=True)
    monkeypatch.undo()
    with pytest.raises(rpac.LedgerError, match="no anchor"):
        rpac.Ledger(path)
    with rpac.Ledger(path, trust_head=True) as again:
        assert [e["kind"] for e in again.entries()] == ["open", "anchor", "anchor"]


def test_an_anchor_elsewhere_serves_postgres_too(database, folder):
    url, place = database("anchored"), f"{folder}/head"
    with rpac.Ledger(url, budget=1.0, anchor=place) as ledger, rpac.Ledger(url) as other:
        ledger.spend(0.1)
        assert (ledger.anchored, other.anchored) == (True, False)
        other.spend(0.1)  # others write too: books ahead of this anchor are nothing strange
        ledger.spend(0.1)
        other.spend(0.1, key="k")
        assert ledger.find("k") is not None
        Anchor(place).reset(Position(99, "f" * 64))
        with pytest.raises(rpac.LedgerError, match="rolled back"):
            ledger.spend(0.1)
    with rpac.Ledger(url, trust_head=True) as bare:
        assert [e["kind"] for e in bare.entries()].count("anchor") == 0  # there is none to make


def test_an_anchor_keeps_what_it_said_through_torn_writes(folder):
    anchor = Anchor(f"{folder}/head")
    assert anchor.read() is None
    open(f"{folder}/head", "w").close()
    assert anchor.read() is None
    assert anchor.place(at(1)) == "none"
    with pytest.raises(rpac.LedgerError, match="Expected an anchor that knows the last step"):
        anchor.confirm(at(1))
    anchor.reset(at(1))
    anchor.intend(at(1), at(2))
    assert anchor.read()[1:3] == (at(1), at(2))
    anchor.confirm(at(2))
    anchor.confirm(at(1))  # others were later
    assert anchor.read()[1:3] == (at(2), NOWHERE)
    with open(f"{folder}/head", "r+b") as file:
        file.write(b"torn")
    assert anchor.read()[1:3] == (at(1), at(2)), "what was said before"
    with open(f"{folder}/head", "r+b") as file:
        file.write(b"x" * 1024)
    with pytest.raises(rpac.LedgerError, match="Expected an anchor with a head; got a damaged one"):
        anchor.read()
    anchor.reset(at(3))
    assert anchor.place(at(3)) == "here"


def test_only_the_confirmed_or_the_intended_position_is_accepted(folder, monkeypatch):
    anchor = Anchor(f"{folder}/head")
    anchor.reset(at(4))
    assert [anchor.place(at(i)) for i in (3, 4, 5)] == ["behind", "here", "ahead"]
    assert anchor.place(Position(4, "f" * 64)) == "behind", "another history"
    anchor.intend(at(4), at(5))
    assert [anchor.place(at(i)) for i in (3, 4, 5, 6)] == ["behind", "here", "here", "ahead"]
    anchor.confirm(at(5))
    assert [anchor.place(at(i)) for i in (4, 5, 6)] == ["behind", "here", "ahead"]
    monkeypatch.setattr(anchors, "boot", lambda: "next")
    assert [anchor.place(at(i)) for i in (4, 5, 6)] == ["behind", "here", "cut"]


def test_a_machine_without_boots_synchronises_every_write(folder, monkeypatch):
    synced = []
    monkeypatch.setattr(anchors, "_BOOT", f"{folder}/none")
    assert anchors.boot.__wrapped__() == "-"
    monkeypatch.setattr(anchors, "boot", lambda: "-")
    monkeypatch.setattr(os, "fdatasync", synced.append)
    for _ in range(3):
        Anchor(f"{folder}/head").intend(at(1), at(2))
    assert len(synced) == 3


def test_a_confirmation_waits_for_the_disk(folder, monkeypatch):
    """Else a power cut would forget it, and a copy from before its answer would be accepted."""
    synced = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    anchor = Anchor(f"{folder}/head")
    anchor.intend(at(1), at(2))
    assert synced == []
    anchor.confirm(at(2))
    anchor.reset(at(2))
    assert len(synced) == 2


def test_a_power_cut_after_the_first_entry_is_no_damage(folder, monkeypatch):
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as ledger:
        place = place_of(ledger)
        ledger.spend(0.1)
        opening = next(ledger.entries())
    os.unlink(place)
    first = anchors.Position(0, opening["hash"])
    Anchor(place).intend(anchors.NOWHERE, first)  # all that reached the disk
    monkeypatch.setattr(anchors, "boot", lambda: "next")
    with rpac.Ledger(f"{folder}/l.db") as again:
        assert again.spent == 0.1


def test_an_anchor_that_a_power_cut_left_behind_is_brought_up_to_date(folder, monkeypatch):
    with rpac.Ledger(f"{folder}/l.db", budget=1.0) as ledger:
        ledger.spend(0.1)
        place = place_of(ledger)
        shutil.copy(place, f"{folder}/old")
        ledger.spend(0.1)
    shutil.copy(f"{folder}/old", place)
    with pytest.raises(rpac.LedgerError, match="a head beyond its anchor: the anchor was put back"):
        rpac.Ledger(f"{folder}/l.db")
    monkeypatch.setattr(anchors, "boot", lambda: "next")
    with rpac.Ledger(f"{folder}/l.db") as again:
        assert again.spent == 0.2
    monkeypatch.undo()
    monkeypatch.setattr(anchors, "boot", lambda: "later")
    shutil.copy(f"{folder}/old", place)
    rpac.Ledger(f"{folder}/l.db").close()


@pytest.mark.parametrize("name", ["intend", "confirm"])
def test_a_failing_anchor_withholds_the_answer(folder, monkeypatch, name):
    ledger = rpac.Ledger(f"{folder}/l.db", budget=1.0)

    def broken(*_):
        raise OSError("gone")

    monkeypatch.setattr(ledger._chain.anchor, name, broken)
    with pytest.raises(rpac.LedgerError, match="Nothing was released"):
        ledger.spend(0.1, key="k", draw=lambda: ("answer", b""))
    monkeypatch.undo()
    charged = name == "confirm"  # charged, not released: the safe side
    assert ledger.spent == (0.1 if charged else 0.0)
    assert ledger.spend(0.1, key="k", draw=lambda: ("new", b"")).answer == (
        "answer" if charged else "new"
    )
    ledger.close()
