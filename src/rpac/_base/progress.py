"""A progress bar with the time left, and a word before long work; silent where nobody looks."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

PATIENCE = 2.0
"""Seconds that people wait without a bar."""
LONG = 5.0
"""Seconds of work that are announced."""


def progress(items: Iterable[Any], total: int, what: str = "simulating") -> Iterator[Any]:
    """Yield the items; after two seconds under a progress bar, on a terminal or in a notebook."""
    if not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        yield from items
        return
    from rich.console import Console
    from rich.errors import LiveError
    from rich.progress import Progress

    began, bar = time.monotonic(), Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=total, visible=False)
    try:
        bar.start()
    except LiveError:  # work inside of other work that has a bar already
        yield from items
        return
    try:
        for item in items:
            bar.update(task, visible=time.monotonic() - began >= PATIENCE)
            yield item
            bar.advance(task)
    finally:
        bar.stop()


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
