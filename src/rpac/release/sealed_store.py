"""The sealed store of a session: which world was drawn, for its owner's eyes alone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import final

from rpac._base.sealed import publish
from rpac._base.types import Json


@final
class SealedStore:
    """A file that keeps the drawn world of a session, so that it survives a restart."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def exists(self) -> bool:
        """Whether there is a session in it."""
        return self._path.exists()

    def read(self) -> Json:
        """Return what was written."""
        kept: Json = json.loads(self._path.read_text(encoding="utf-8"))
        return kept

    def write(self, body: Json) -> None:
        """Write it, for its owner's eyes, and to the disk before anything is asked."""
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(file, publish(body).encode())
            os.fsync(file)
        finally:
            os.close(file)

    def erase(self) -> None:
        """Overwrite and remove it."""
        if not self.exists():
            return
        with open(self._path, "r+b") as file:
            file.write(bytes(os.path.getsize(self._path)))
            file.flush()
            os.fsync(file.fileno())
        self._path.unlink()
