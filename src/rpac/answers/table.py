"""The released table: typed, rounded and labelled as the query's own answer."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from functools import cached_property
from typing import Any

import duckdb
import narwhals as nw
import numpy as np

from rpac._base.checks import refuse
from rpac._base.types import Floats

_ORDERED = (str, bytes, datetime.datetime, datetime.date, datetime.time, datetime.timedelta)
"""What has an order of its own, beside numbers."""

_PLAIN = (bool, int, str, type(None))


class Table:
    """Rows of public keys that wait for their released numbers.

    Args:
        question: What was asked.
        rows: The keys of every row.
        cut: Whether rows without any number are left out.
    """

    def __init__(self, question: Any, rows: list[tuple[Any, ...]], *, cut: bool = False) -> None:
        self.question, self.rows, self.cut = question, rows, cut

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all numbers, row by row."""
        labels = [self.question.labels[m.place] for m in self.question.measures]
        where = [", ".join(map(str, row)) for row in self.rows]
        return tuple(f"{at}: {label}" if at else label for at in where for label in labels)

    def build(self, values: Floats, like: Floats | None = None) -> Any:
        """Return the table with (d,) numbers, of the kind that the tables are.

        Args:
            values: Numbers row by row.
            like: The numbers that settle order and limit; `values` themselves by default.
        """
        q = self.question
        lines = self._lines(values)
        leading = lines if like is None else self._lines(like)
        places = self._kept(leading)
        for column, falling in reversed(q.order):
            places.sort(key=lambda i: _sortable(leading[i][column]), reverse=falling)
        return self._native([lines[i] for i in places[: q.limit]])

    def _kept(self, lines: list[list[Any]]) -> list[int]:
        """Return the rows that are not left out, by what was released."""
        q, numbers = self.question, [measure.place for measure in self.question.measures]
        if q.having is not None:
            known = [[_float(entry) for entry in line] for line in lines]
            rows = np.array(known, np.float64).reshape(len(lines), len(q.labels))
            with np.errstate(all="ignore"):
                return np.flatnonzero(np.broadcast_to(q.having(rows), len(lines))).tolist()
        return [
            i for i, line in enumerate(lines)
            if not self.cut or any(line[j] is not None for j in numbers)
        ]  # fmt: skip

    def _native(self, lines: list[list[Any]]) -> Any:
        for place in self._as_text:
            lines = [[*line[:place], _text(line[place]), *line[place + 1 :]] for line in lines]
        return _native(self.question.labels, lines, self.question.tables.kind)

    @cached_property
    def _as_text(self) -> list[int]:
        """Places of the keys that no column of a frame holds, or no record: shown as text."""
        kind, found = self.question.tables.kind, []
        for j, place in enumerate(self.question.keys):
            column = [row[j] for row in self.rows]
            if not (all(map(_recorded, column)) and _fits(column, kind)):
                found.append(place)
        return found

    def check(self) -> None:
        """Build the table once, of zeros: what cannot be shown is refused before it is charged."""
        try:
            zeros = np.zeros(len(self.rows) * len(self.question.measures))
            self.build(zeros)
            self._native(self._lines(zeros))  # with the rows that a LIMIT leaves out
        except Exception as error:  # each kind of frame has errors of its own
            got, move = f"a {type(error).__name__}", "CAST the keys to VARCHAR."
            raise refuse(f"rows that {self.question.tables.kind} can hold", got, move) from None

    def ordered(self, like: Floats, scale: Floats) -> Callable[[Floats], Any]:
        """Return what builds tables from unscaled numbers, in the order that `like` settles."""
        return lambda v: self.build(v * scale, like)

    def _lines(self, values: Floats) -> list[list[Any]]:
        q = self.question
        lines = []
        table = values.reshape(len(self.rows), -1)
        for keys, numbers in zip(self.rows, table, strict=True):
            line: list[Any] = [None] * len(q.labels)
            for place, key in zip(q.keys, keys, strict=True):
                line[place] = key
            for measure, value in zip(q.measures, numbers, strict=True):
                line[measure.place] = None if value != value else measure.typed(float(value))
            lines.append(line)
        return lines


def _sortable(value: Any) -> Any:
    """Return what orders entries of any type, NULL last; unlike ones stand apart by their type.

    >>> sorted([{"a": 2}, None, {"a": 1}], key=_sortable)
    [{'a': 1}, {'a': 2}, None]
    """
    if value is None:
        return (2, "", ())
    if isinstance(value, bool | int | float | Decimal):
        odd = value != value  # not a number: after all numbers
        return (1, "", ()) if odd else (0, "", value)
    if isinstance(value, dict):
        value = [part for pair in value.items() for part in pair]
    if isinstance(value, list | tuple):
        return (0, "list", tuple(map(_sortable, value)))
    aware = getattr(value, "tzinfo", None) is not None
    if aware or not isinstance(value, _ORDERED):
        return (0, "text", str(value))
    return (0, type(value).__name__, value)


def _float(entry: Any) -> float:
    """Return a released number as it is shown; NaN for a key, and for NULL."""
    return float(entry) if isinstance(entry, bool | int | float | Decimal) else math.nan


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _recorded(value: Any) -> bool:
    """Whether a record holds an entry: no infinite number, and plain ones inside of others."""
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        return all(map(_inner, value))
    return not (isinstance(value, float) and math.isinf(value))


def _inner(value: Any) -> bool:
    if isinstance(value, list | tuple | dict):
        return _recorded(value)
    return math.isfinite(value) if isinstance(value, float) else isinstance(value, _PLAIN)


def _fits(column: list[Any], kind: str) -> bool:
    try:
        _native(["k"], [[value] for value in column], kind)
    except Exception:  # each kind of frame has errors of its own
        return False
    return True


def _native(labels: list[str], lines: list[list[Any]], kind: str) -> Any:
    if kind == "rows":
        return [dict(zip(labels, line, strict=True)) for line in lines]
    columns = {label: [line[i] for line in lines] for i, label in enumerate(labels)}
    backend = "pyarrow" if kind == "duckdb" else kind
    frame = nw.from_dict(columns, backend=backend)  # type: ignore[arg-type]
    return duckdb.from_arrow(frame.to_arrow()) if kind == "duckdb" else frame.to_native()
