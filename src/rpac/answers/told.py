"""What a record tells of a release by itself, as plain data: the answer row by row, and the value.

With a ledger it is written beside the charge, in one transaction, so that a process that dies
before its record is on the disk has lost nothing: `rpac.recover` makes the record of the entry.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from rpac._base.types import Json
from rpac.answers.release import Release
from rpac.certificate.certificate import FACT
from rpac.worlds import tables

MOST_ROWS = 10_000
"""Numbers of an array that have a row of their own, with their intervals."""
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


def plain(value: Any) -> Any:
    """Return a released value as plain JSON: tables as lists of rows, what is missing as None."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float | Decimal | datetime.date | datetime.time):
        return _scalar(value)
    if isinstance(value, dict):
        found = {str(key): plain(item) for key, item in value.items()}
        alike = len(found) < len(value)  # 1 and "1" are two keys
        return [[repr(k), plain(item)] for k, item in value.items()] if alike else found
    if isinstance(value, np.ndarray):
        whole = value.dtype.kind in "biu" or (value.dtype.kind == "f" and np.isfinite(value).all())
        return value.tolist() if whole else plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "to_dict") and np.ndim(value) == 1:
        return {str(key): plain(item) for key, item in value.to_dict().items()}
    if tables.is_table(value):
        return [plain(row) for row in tables.table(value).rows(named=True)]
    return str(value)  # a group may be named by anything: a duration, a UUID


def _scalar(value: float | Decimal | datetime.date | datetime.time) -> float | str | None:
    if value != value:  # NaN, and what pandas has for a date that is missing
        return None
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else str(value)  # a group's name, say
    return value.isoformat()


def rows_of(value: Any, name: str) -> list[Json]:
    """Return any plain answer as rows with named columns."""
    if isinstance(value, dict):
        return [{"": str(key), name: plain(item)} for key, item in value.items()]
    found = plain(value)
    if isinstance(found, list) and found and all(isinstance(row, dict) for row in found):
        return found
    if isinstance(found, dict):  # a series
        return [{"": key, name: item} for key, item in found.items()]
    if isinstance(found, list):
        return [{"": i + 1, name: item} for i, item in enumerate(np.ravel(found).tolist())]
    return [{name: found}]


def answer_rows(release: Release, name: str) -> list[Json]:
    """Return the answer row by row; each number with its two 95 % intervals, low and high.

    A number on which all worlds agree is named a fact of the pool instead. Of arrays of very many
    numbers the first `MOST_ROWS` have rows; all of them are in the value.
    """
    if release.certificate.promise != "sample":
        return _noisy_rows(release, name)
    pairs = [release.noise_interval, release.sampling_interval, release.facts]
    sides = [[rows_of(_first(side), name) for side in pair] if pair else None for pair in pairs]
    found = []
    for i, row in enumerate(rows_of(_first(release.value), name)):
        cells: Json = {}
        for column, value in row.items():
            ends = [
                [side[i][column] for side in both] if both is not None else None for both in sides
            ]
            cells[column] = _cell(value, *ends)
        found.append(cells)
    return found


def _first(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.size > MOST_ROWS:
        return value.ravel()[:MOST_ROWS]
    return value


def _noisy_rows(release: Release, name: str) -> list[Json]:
    """Return the answer about presence: numbers with the interval of their noise, if they have one.

    Which cells are numbers follows from the interval's ends; without one it is those that are
    no names: every number.
    """
    pair = release.noise_interval
    sides = None if pair is None else [rows_of(side, name) for side in pair]
    found = []
    for i, row in enumerate(rows_of(release.value, name)):
        cells: Json = {}
        for column, value in row.items():
            ends = None if sides is None else [side[i][column] for side in sides]
            bare = ends is None and isinstance(value, float)
            moved = ends is not None and ends[0] != ends[1]
            open_ = ends == [None, None] and value is not None  # a quantile: noise in its rank
            noise = None if open_ else ends
            cells[column] = {"value": value, "noise": noise} if bare or moved or open_ else value
        found.append(cells)
    return found


def _cell(value: Any, noise: Any, sampling: Any, fact: Any) -> Any:
    """Return one cell: a number with its intervals, a fact of the pool, or a name as it is."""
    if fact is not None and fact[0] != fact[1]:
        return {"value": value, "fact": FACT}
    moved = any(end is not None and end[0] != end[1] for end in (noise, sampling))
    return {"value": value, "noise": noise, "sampling": sampling} if moved else value
