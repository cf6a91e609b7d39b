"""What a record tells of a release by itself, as plain data: the answer row by row, and the value.

With a ledger it is written beside the charge, in one transaction, so that a process that dies
before its record is on the disk has lost nothing: `rpac.recover` makes the record of the entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rpac._base.types import Json
from rpac.answers.release import Release
from rpac.answers.rows import answer_rows, plain

MOST = 100_000
"""Numbers of an answer up to which the books keep it row by row, as its record tells it."""


def told(release: Release, asked: Mapping[str, Any], size: int) -> Json:
    """Return what the books keep for the record of a release of `size` numbers.

    Of a longer answer than `MOST` numbers it is the question alone: the numbers are in the books
    as they were released.

    Args:
        release: As it will be shown.
        asked: The question's text and what it is about, as `question_of` gives them.
        size: How many numbers it has.
    """
    if size > MOST:
        return {"told": dict(asked)}
    rows = {"answer": answer_rows(release, "answer"), "value": plain(release.value)}
    return {"told": dict(asked) | rows}


def question_of(mechanism: Any) -> Json:
    """Return what a record says of a question where nobody has worded it: the mechanism's name.

    Never what it holds: a function may carry data in its arguments.
    """
    return {"question": _name(mechanism), "about": {}}


def _name(mechanism: Any) -> str:
    if isinstance(mechanism, list | tuple):
        return ", ".join(map(_name, mechanism))
    kind = type(mechanism)
    own = kind.__module__.startswith("rpac.")
    worded = [getattr(mechanism, part, None) for part in ("sql", "name", "text")] if own else []
    known = [text for text in worded if isinstance(text, str)]
    return str((*known, getattr(mechanism, "__qualname__", kind.__qualname__))[0])
