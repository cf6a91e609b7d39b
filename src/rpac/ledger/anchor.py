"""The anchored head: the last entry a ledger has had, kept in a second place.

A restored backup or a lost journal shows, because the ledger then ends before its anchor. Two
slots of fixed size are written in turn, each with a checksum: a torn write spoils one of them.
"""

from __future__ import annotations

import fcntl
import os
from hashlib import sha256
from pathlib import Path
from typing import final

from rpac._base.checks import refuse
from rpac.errors import LedgerError

_SLOT, _SYNC = 512, 64


@final
class Anchor:
    """The file that remembers the head of a ledger: (sequence number, hash)."""

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        self._heads: dict[bytes, tuple[int, str]] = {}  # of the slots as last seen: parsed once

    def read(self) -> tuple[int, str] | None:
        """Return the latest head; None if there is no anchor."""
        try:
            file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            content = os.pread(file, 2 * _SLOT, 0)
            if not content.strip(b"\0"):  # just being made, or its maker died: wait and see
                fcntl.flock(file, fcntl.LOCK_SH)
                content = os.pread(file, 2 * _SLOT, 0)
            return self._latest(content) if content.strip(b"\0") else None
        finally:
            os.close(file)

    def write(self, seq: int, head: str) -> None:
        """Remember a later head; an earlier one is left alone.

        It outlives the process at once and a power cut from time to time: an anchor that is a few
        entries behind refuses a little less, and never anything that is right.
        """
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            content = os.pread(file, 2 * _SLOT, 0)
            if not content.strip(b"\0"):
                os.pwrite(file, bytes(2 * _SLOT), 0)
            elif self._latest(content)[0] >= seq:
                return
            text = f"{seq} {head}"
            line = f"{text} {sha256(text.encode()).hexdigest()}\n".encode().ljust(_SLOT)
            os.pwrite(file, line, _SLOT * (seq % 2))
            self._heads[line] = seq, head
            if seq % _SYNC == 0:
                os.fdatasync(file)
        finally:
            os.close(file)

    def _latest(self, content: bytes) -> tuple[int, str]:
        slots, seen = (content[:_SLOT], content[_SLOT:]), self._heads
        self._heads = {slot: head for slot in slots if (head := seen.get(slot) or _head_in(slot))}
        if not self._heads:
            raise refuse("an anchor with a head", "a damaged one", "Restore it.", LedgerError)
        return max(self._heads.values())


def _head_in(slot: bytes) -> tuple[int, str] | None:
    words = slot.decode("ascii", "replace").split()
    whole = len(words) == 3 and words[2] == sha256(" ".join(words[:2]).encode()).hexdigest()
    return (int(words[0]), words[1]) if whole else None
