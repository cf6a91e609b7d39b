"""A progress bar for long work; silent where nobody looks."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any


def progress(items: Iterable[Any], total: int, what: str = "simulating") -> Iterator[Any]:
    """Yield the items under a progress bar; silent where nobody looks."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(items, what, total, console=Console(stderr=True), transient=True)
