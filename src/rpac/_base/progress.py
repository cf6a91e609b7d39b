"""A progress bar for long work, and a word before it; silent where nobody looks."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

LONG = 5.0
"""Seconds of work that are announced."""


def progress(items: Iterable[Any], total: int, what: str = "simulating") -> Iterator[Any]:
    """Yield the items under a progress bar; silent where nobody looks."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(items, what, total, console=Console(stderr=True), transient=True)


def foresee(worlds: int, each: float, workers: int = 1) -> None:
    """Say what so many worlds of `each` seconds will take, if it is long and somebody looks."""
    whole = worlds * each / workers
    if whole >= LONG and sys.stderr.isatty():
        shared = f" / {workers} processes" if workers > 1 else ""
        said = f"{worlds} worlds x {in_words(each)}{shared} = about {in_words(whole)}"
        print(said, file=sys.stderr)


def in_words(seconds: float) -> str:
    """Return a time in words.

    >>> in_words(0.0123), in_words(0.8), in_words(410), in_words(9000)
    ('12 ms', '0.8 s', '7 minutes', '2.5 hours')
    """
    if seconds < 0.1:
        return f"{1000 * seconds:.2g} ms"
    if seconds < 100:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 6000 else f"{seconds / 3600:.2g} hours"
