"""The sealed store: for its owner's eyes, written once, erased for good."""

import os
from pathlib import Path

import pytest

from rpac.release.sealed_store import SealedStore


def test_it_is_its_owners_and_is_written_once(folder):
    path = f"{folder}/session"
    store = SealedStore(path)
    assert not store.exists()
    store.write({"session": "a", "world": 3})
    assert store.exists()
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert store.read() == {"session": "a", "world": 3}
    with pytest.raises(FileExistsError):
        store.write({"session": "b"})


def test_it_is_overwritten_before_it_is_removed(folder):
    path = Path(folder) / "session"
    store = SealedStore(path)
    store.write({"world": 3})
    link = Path(folder) / "link"
    os.link(path, link)  # who holds the file still reads zeros
    store.erase()
    assert not path.exists()
    assert set(link.read_bytes()) == {0}
    store.erase()  # nothing is left to erase
