"""Turns at a file, first come, first served, across processes. Fairness only: never a safeguard.

A plain file lock wakes all who wait, and some wait long. Here everybody holds a lock on their own
ticket and waits for the ticket before it. The kernel drops the locks of the dead, so nobody is
waited for in vain; should two ever hold a turn, the database's own lock still keeps them apart.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from typing import final

_ROOM, _DOOR, _TICKETS = 0, 8, 16


@final
class FairLock:
    """Turns at the file `path`, one at a time, in the order of arrival."""

    def __init__(self, path: str | Path) -> None:
        self._path, self._file, self._pid = path, -1, -1

    def __enter__(self) -> None:
        """Wait for a turn; hold it while the block runs."""
        with contextlib.suppress(OSError):
            self._wait()

    def __exit__(self, *exc: object) -> None:
        with contextlib.suppress(OSError, ValueError):
            fcntl.lockf(self._file, fcntl.LOCK_UN)

    def _wait(self) -> None:
        if self._pid != os.getpid():
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._pid = os.getpid()
        if self._alone():
            return
        fcntl.lockf(self._file, fcntl.LOCK_EX, 8, _DOOR)
        ticket = 1 + int.from_bytes(os.pread(self._file, 8, _DOOR), "little") % 2**40
        os.pwrite(self._file, ticket.to_bytes(8, "little"), _DOOR)
        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, _TICKETS + ticket)
        fcntl.lockf(self._file, fcntl.LOCK_UN, 8, _DOOR)
        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, _TICKETS + ticket - 1)
        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, _ROOM)

    def _alone(self) -> bool:
        """Take the room without a ticket, where nobody is in it, at the door or waiting.

        All of the file is free only then. What is not the room is given back at once, so that
        whoever comes next takes a ticket, and whoever comes after them sees that it is held.
        """
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        fcntl.lockf(self._file, fcntl.LOCK_UN, 0, _DOOR)
        return True

    def close(self) -> None:
        """Let go of the file."""
        if self._pid == os.getpid():
            os.close(self._file)
        self._pid = -1
