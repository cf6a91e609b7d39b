"""Columns of numbers: how an SQL type is read as a number, and written again."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpac._base.checks import refuse
from rpac._base.types import Floats

_WHOLE = re.compile(r"^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|BOOLEAN)$")
_REAL = re.compile(r"^(FLOAT|DOUBLE|DECIMAL\((\d+),(\d+)\))$")
_TIME = re.compile(r"^(DATE|TIMESTAMP.*)$")
_FIRST, _LAST = -62_135_596_800.0, 253_402_214_400.0
"""The years 1 and 9999 in seconds of the epoch: noise may lead further, and is cut off there."""
_FAR = float(2**63 - 1024)
"""Whole numbers beyond it fit in no column of a frame, and are cut off there."""
LARGEST = 1e100
"""What is larger counts as NULL: squares of answers, and sums of these, must be numbers."""


@dataclass(frozen=True)
class Measure:
    """A column of numbers to privatize.

    Attributes:
        place: Its place among the query's columns.
        kind: Its SQL type.
        degree: How it grows with the units: the released number is multiplied by 2^degree.
        counts: Whether it is released on the lattice of whole numbers.
    """

    place: int
    kind: str
    degree: int
    counts: bool

    def typed(self, value: float) -> Any:
        """Return a released number in the type that the query gives, or its nearest to it.

        >>> Measure(0, "DECIMAL(9,2)", 1, counts=False).typed(3.14159)
        3.14
        """
        if self.kind == "BOOLEAN":
            return value > 0.5
        if whole_type(self.kind):
            return round(min(max(value, -_FAR), _FAR))
        if _TIME.match(self.kind):
            inside = datetime.timedelta(seconds=min(max(value, _FIRST), _LAST))
            moment = datetime.datetime(1970, 1, 1) + inside
            return moment.date() if self.kind == "DATE" else moment
        found = _REAL.match(self.kind)
        return round(value, int(found[3])) if found and found[3] else float(value)


def whole_type(kind: str) -> bool:
    """Whether an SQL type holds whole numbers."""
    return bool(_WHOLE.match(kind)) or (kind.startswith("DECIMAL") and kind.endswith(",0)"))


def is_time(kind: str) -> bool:
    """Whether an SQL type holds dates or times."""
    return bool(_TIME.match(kind))


def as_number(column: str, kind: str, label: str) -> str:
    """Return SQL that reads a column as DOUBLE; text is refused.

    Args:
        column: The column, in SQL.
        kind: Its SQL type.
        label: Its name in the answer.
    """
    if _TIME.match(kind):
        return f"TRY(epoch({column}))"
    if not (_WHOLE.match(kind) or _REAL.match(kind)):
        raise refuse(
            f"numbers or dates in {label!r}", kind.partition("(")[0], "Count it, or group by it."
        )
    return f"CAST({column} AS DOUBLE)"  # no number of these types fails to be one


def bounded(values: Any) -> Floats:
    """Return a column of DuckDB as floats: NaN for NULL and for what no square could hold."""
    found = np.ma.filled(np.ma.asarray(values, dtype=np.float64), np.nan)
    return np.where(
        np.abs(found) <= LARGEST, np.where(np.abs(found) < 1 / LARGEST, 0, found), np.nan
    )
