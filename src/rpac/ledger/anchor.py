"""The anchor: the position that books have reached, kept in a second place.

It remembers the head of a ledger; the sealed store of a session remembers that session's last
charge in the same way. Whatever is restored alone, books or anchor, no longer fits the other.

Protocol. An anchor says (c, i): position c is confirmed, i is intended or none. Whoever holds the
books' lock and finds them at position h accepts h if h = c or h = i, writes the intent (h, n)
before the commit that moves the books to n, and the confirmation (n, none) after it. An answer is
revealed only after its confirmation.

Proof that no answer is forgotten. Let n be the books' last commit. Before it the intent (h, n) was
written, so from then on the anchor says (h, n), or (n, none), or (n, m) with an intent m whose
commit failed or is under way. (A confirmation waits for the disk, so this holds after a power cut
for every n whose answer was revealed; what the cut may take is an intent, or a confirmation after
which nothing was revealed yet.) In the first case h is accepted too; but then no confirmation of n
was written, so n's answer was never revealed, and books that were put back to h have lost nothing
that anybody has seen. In all others h is refused, as is every earlier position. A crash leaves
(h, n) with the books at h or at n: both are accepted, and nothing is stuck. Books ahead of what the
anchor accepts mean that the anchor was put back: refused as well, see `Anchor.place`.

Two slots of fixed size are written in turn, each with a number and a checksum: a torn write spoils
one of them, and the other holds what was said before it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, final

from rpac._base.checks import refuse
from rpac.errors import LedgerError

SLOT = 512
_BOOT = "/proc/sys/kernel/random/boot_id"

Place: TypeAlias = Literal["none", "here", "behind", "ahead", "cut"]


class Position(NamedTuple):
    """Where books stand: how many steps they have taken, and the hash of the last."""

    seq: int
    mark: str


NOWHERE = Position(-1, "-")
"""Before the first step."""


class Said(NamedTuple):
    """What an anchor says: the number of its write, both positions, and the boot it was made in."""

    number: int
    confirmed: Position
    intended: Position
    boot: str


@final
class Anchor:
    """A file whose first bytes remember a position.

    Args:
        path: The file.
        alone: Whether all who write the books write this anchor. Where others write too, as to a
            server, books ahead of it are nothing strange.
    """

    def __init__(self, path: str | Path, *, alone: bool = True) -> None:
        self._path, self._alone = str(path), alone

    def read(self) -> Said | None:
        """Return what the anchor says; None if there is none."""
        try:
            with self._opened(os.O_RDONLY, fcntl.LOCK_SH) as file:
                return _latest(os.pread(file, 2 * SLOT, 0))
        except FileNotFoundError:
            return None

    def place(self, at: Position) -> Place:
        """Return how books at a position stand to the anchor.

        "here" is accepted. "behind": they were rolled back. "ahead": the anchor was put back.
        "cut": ahead too, but the anchor is of an earlier boot, and a power cut may have taken an
        intent and the confirmation after it, whose answer was then never revealed. To accept that
        gives nothing away: the books hold all that the anchor knew and more, so no charge is
        forgotten; only that somebody put an old anchor back before the machine was started again
        goes unnoticed.
        """
        said = self.read()
        if said is None:
            return "none"
        if at in (said.confirmed, said.intended):
            return "here"
        if at.seq <= said.confirmed.seq:
            return "behind"
        return "ahead" if said.boot == boot() else "cut"

    def intend(self, at: Position, then: Position) -> None:
        """Say that books at a position, which was accepted, are about to move."""
        with self._opened(os.O_RDWR | os.O_CREAT, fcntl.LOCK_EX) as file:
            _write(file, at, then)

    def confirm(self, at: Position) -> None:
        """Say that books have moved to a position; an earlier one was confirmed by others.

        Raises:
            LedgerError: If nobody intended to move there, and nobody else writes these books.
        """
        with self._opened(os.O_RDWR, fcntl.LOCK_EX) as file:
            said = _latest(os.pread(file, 2 * SLOT, 0))
            if said is not None and said.confirmed.seq >= at.seq:
                return
            if self._alone and (said is None or said.intended != at):
                move = "It was put back or replaced: find out by whom, then trust_head=True."
                raise refuse("an anchor that knows the last step", "another", move, LedgerError)
            _write(file, at, NOWHERE)

    def reset(self, at: Position) -> None:
        """Say that a position is confirmed, whatever was said before."""
        with self._opened(os.O_RDWR | os.O_CREAT, fcntl.LOCK_EX) as file:
            _write(file, at, NOWHERE)

    @contextlib.contextmanager
    def _opened(self, flags: int, lock: int) -> Iterator[int]:
        file = os.open(self._path, flags | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, lock)
            yield file
        finally:
            os.close(file)


def state_place(name: str) -> Path:
    """Return the user's own place for the anchor of a ledger, known by its identity.

    It lies elsewhere than the ledger, so that a folder that is restored as a whole shows.
    """
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    folder = Path(state).expanduser() / "rpac" / "anchors"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise refuse(
            "a state folder for the anchor ($XDG_STATE_HOME, or ~/.local/state)",
            f"{error.strerror}",
            "Or name a file for it: Ledger(..., anchor=PATH).",
            LedgerError,
        ) from None
    return folder / f"{name}.head"


@cache
def boot() -> str:
    """Return the identity of this start of the machine; "-" where it has none."""
    with contextlib.suppress(OSError):
        return Path(_BOOT).read_text(encoding="ascii").strip()
    return "-"


def first_slots(at: Position) -> bytes:
    """Return the content of a new anchor: a confirmed position."""
    return _slot(Said(0, at, NOWHERE, boot())).ljust(2 * SLOT, b"\0")


def _write(file: int, confirmed: Position, intended: Position) -> None:
    """Write the older slot; a confirmation waits for the disk."""
    content = os.pread(file, 2 * SLOT, 0)
    said = _latest(content, strict=False)
    count = 0 if said is None else said.number + 1
    if len(content) < 2 * SLOT:
        os.pwrite(file, bytes(2 * SLOT), 0)
    os.pwrite(file, _slot(Said(count, confirmed, intended, boot())), SLOT * (count % 2))
    if intended == NOWHERE or boot() == "-":  # nothing else would explain an anchor behind
        os.fdatasync(file)


def _slot(said: Said) -> bytes:
    text = " ".join(map(str, (said.number, *said.confirmed, *said.intended, said.boot)))
    return f"{text} {sha256(text.encode()).hexdigest()}\n".encode().ljust(SLOT)


def _latest(content: bytes, *, strict: bool = True) -> Said | None:
    """Return what the later slot says; None if nothing was ever written."""
    found = [said for at in (0, SLOT) if (said := _said(content[at : at + SLOT]))]
    if not found and strict and content.strip(b"\0"):
        raise refuse(
            "an anchor with a head",
            "a damaged one",
            "Restore it, or trust what the ledger says: trust_head=True.",
            LedgerError,
        )
    return max(found, default=None)


def _said(slot: bytes) -> Said | None:
    words = slot.decode("ascii", "replace").split()
    if len(words) != 7 or words[6] != sha256(" ".join(words[:6]).encode()).hexdigest():
        return None
    return Said(
        int(words[0]),
        Position(int(words[1]), words[2]),
        Position(int(words[3]), words[4]),
        words[5],
    )
