"""How much memory there is, so that what cannot fit is refused before it is allocated."""

from __future__ import annotations

import os

from rpac._base.checks import refuse
from rpac.errors import TooLarge

SHARE = 0.5
"""Share of the machine's memory that one thing may take."""


def room() -> int:
    """Return the bytes that one thing may take."""
    return int(SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def fit(size: int, what: str, move: str) -> None:
    """Refuse what would take more bytes than one thing may.

    Raises:
        TooLarge: Before anything is allocated.
    """
    most = room()
    if size > most:
        gigabytes = f"{size / 2**30:,.1f} GiB"
        raise refuse(f"{what} within {most / 2**30:,.1f} GiB", gigabytes, move, TooLarge)
