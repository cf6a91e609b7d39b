"""The sealed store of a session: which world was drawn, for its owner's eyes alone.

Its first bytes remember the session's last charge as an anchor remembers a ledger's head: a store
that is put back alone, from before later answers, no longer fits the books.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import final

from rpac._base.checks import refuse
from rpac._base.sealed import publish
from rpac._base.types import Json
from rpac.errors import LedgerError
from rpac.ledger.anchor import SLOT, Anchor, Position, first_slots


@final
class SealedStore:
    """A file that keeps the drawn world of a session, so that it survives a restart.

    Attributes:
        anchor: Remembers how many charges the session has made, and the mark of its state.
    """

    def __init__(self, path: str | Path) -> None:
        self._path, self.anchor = Path(path), Anchor(path)

    def exists(self) -> bool:
        """Whether there is a session in it."""
        return self._path.exists()

    def read(self) -> Json:
        """Return what was written."""
        kept: Json = json.loads(self._path.read_bytes()[2 * SLOT :])
        return kept

    def write(self, body: Json, at: Position) -> None:
        """Write it, for its owner's eyes, and to the disk before anything is asked."""
        half = self._path.with_name(f"{self._path.name}.new")  # a crash leaves no half of a store
        half.unlink(missing_ok=True)
        file = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(file, first_slots(at) + publish(body).encode())
            os.fsync(file)
        finally:
            os.close(file)
        try:
            os.link(half, self._path)  # refuses where there is one
        finally:
            half.unlink()

    def hold(self, at: Position) -> None:
        """Refuse to go on from books whose last charge is not the one that the store knows."""
        place = self.anchor.place(at)
        if place not in ("here", "cut"):
            raise refuse(
                "a sealed store that knows the session's last charge",
                "one of another moment",
                "It or the books were put back: nothing is answered from it. Open a new session.",
                LedgerError,
            )
        (self.anchor.confirm if place == "here" else self.anchor.reset)(at)

    def confirm(self, at: Position) -> None:
        """Remember a charge that is on record; its answer is revealed after."""
        try:
            self.anchor.confirm(at)
        except OSError as error:
            raise refuse(
                "a sealed store that can be written",
                f"{error.strerror}",
                "The charge is on record, its answer under its key. Look at the disk, then resume.",
                LedgerError,
            ) from None

    def erase(self) -> None:
        """Overwrite and remove it."""
        if not self.exists():
            return
        with open(self._path, "r+b") as file:
            file.write(bytes(os.path.getsize(self._path)))
            file.flush()
            os.fsync(file.fileno())
        self._path.unlink()
