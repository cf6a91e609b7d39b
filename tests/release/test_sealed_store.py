"""The sealed store: for its owner's eyes, written once, erased for good."""

import os
from pathlib import Path

import pytest

import rpac
from rpac.ledger import anchor as anchors
from rpac.ledger.anchor import Position
from rpac.release.sealed_store import SealedStore


def test_it_is_its_owners_and_is_written_once(folder):
    path = f"{folder}/session"
    store = SealedStore(path)
    assert not store.exists()
    store.write({"session": "a", "world": 3}, Position(0, "m"))
    assert store.exists()
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert store.read() == {"session": "a", "world": 3}
    with pytest.raises(FileExistsError):
        store.write({"session": "b"}, Position(0, "m"))


def test_it_is_overwritten_before_it_is_removed(folder):
    path = Path(folder) / "session"
    store = SealedStore(path)
    store.write({"world": 3}, Position(0, "m"))
    link = Path(folder) / "link"
    os.link(path, link)  # who holds the file still reads zeros
    store.erase()
    assert not path.exists()
    assert set(link.read_bytes()) == {0}
    store.erase()  # nothing is left to erase


def test_it_knows_the_last_charge(folder, monkeypatch):
    store = SealedStore(f"{folder}/session")
    store.write({"world": 3}, Position(0, "m0"))
    store.hold(Position(0, "m0"))
    store.anchor.intend(Position(0, "m0"), Position(1, "m1"))
    store.hold(Position(0, "m0"))  # the charge was never made
    store.hold(Position(1, "m1"))  # or it was
    assert store.read() == {"world": 3}
    for wrong in (Position(0, "m0"), Position(2, "m2"), Position(1, "x")):
        with pytest.raises(rpac.LedgerError, match="a sealed store that knows the session's last"):
            store.hold(wrong)
    monkeypatch.setattr(anchors, "boot", lambda: "next")
    store.hold(Position(2, "m2"))  # a power cut may have taken the last write
    store.hold(Position(2, "m2"))
    os.unlink(f"{folder}/session")
    with pytest.raises(rpac.LedgerError, match="a sealed store that can be written; got No such"):
        store.confirm(Position(3, "m3"))
