"""The released table: typed, rounded and labelled as the query's own answer."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rpac._base.checks import refuse
from rpac._base.types import Bools, Floats

if TYPE_CHECKING:
    from rpac.sql.query import Query

_WHOLE = re.compile(r"^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|BOOLEAN)$")
_REAL = re.compile(r"^(FLOAT|DOUBLE|DECIMAL\((\d+),(\d+)\))$")
_TIME = re.compile(r"^(DATE|TIMESTAMP.*)$")


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
        """Return a released number in the type that the query gives."""
        if self.kind == "BOOLEAN":
            return value > 0.5
        if whole_type(self.kind):
            return round(value)
        if _TIME.match(self.kind):
            moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=value)
            return moment.date() if self.kind == "DATE" else moment
        found = _REAL.match(self.kind)
        return round(value, int(found[3])) if found and found[3] else float(value)


def whole_type(kind: str) -> bool:
    """Whether an SQL type holds whole numbers."""
    return bool(_WHOLE.match(kind)) or kind.startswith("DECIMAL") and kind.endswith(",0)")


def as_number(column: str, kind: str, label: str) -> str:
    """Return SQL that reads a column as DOUBLE; text is refused."""
    if _TIME.match(kind):
        return f"epoch({column})"
    if not (_WHOLE.match(kind) or _REAL.match(kind)):
        raise refuse(f"numbers or dates in {label!r}", kind, "Count it, or group by it.")
    return f"CAST({column} AS DOUBLE)"


class Table:
    """Rows of public keys that wait for their released numbers."""

    def __init__(self, query: Query, rows: list[tuple[Any, ...]], empty: Bools) -> None:
        self.query, self.rows, self.empty = query, rows, empty

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all numbers, row by row."""
        labels = [self.query.labels[m.place] for m in self.query.measures]
        where = [", ".join(map(str, row)) for row in self.rows]
        return tuple(f"{at}: {label}" if at else label for at in where for label in labels)

    def build(self, values: Floats, like: Floats | None = None) -> Any:
        """Return the table with (d,) numbers, of the kind that the tables are.

        Args:
            values: Numbers row by row.
            like: The numbers that settle order and limit; `values` themselves by default.
        """
        lines = self._lines(values)
        places = list(range(len(lines)))
        leading = lines if like is None else self._lines(like)
        for column, falling in reversed(self.query.order):
            places.sort(key=lambda i: _sortable(leading[i][column]), reverse=falling)
        chosen = [lines[i] for i in places[: self.query.limit]]
        return _native(self.query.labels, chosen, self.query.database.kind)

    def ordered(self, like: Floats, scale: Floats) -> Callable[[Floats], Any]:
        """Return what builds tables from unscaled numbers, in the order that `like` settles."""
        return lambda v: self.build(v * scale, like)

    def _lines(self, values: Floats) -> list[list[Any]]:
        q = self.query
        lines = []
        table = values.reshape(len(self.rows), -1)
        for keys, numbers, hollow in zip(self.rows, table, self.empty, strict=True):
            line: list[Any] = [None] * len(q.labels)
            for place, key in zip(q.keys, keys, strict=True):
                line[place] = key
            for measure, value, gone in zip(q.measures, numbers, hollow, strict=True):
                line[measure.place] = None if gone else measure.typed(float(value))
            lines.append(line)
        return lines


def _sortable(value: Any) -> Any:
    return (value is None, 0 if value is None else value)


def _native(labels: list[str], lines: list[list[Any]], kind: str) -> Any:
    if kind == "rows":
        return [dict(zip(labels, line, strict=True)) for line in lines]
    import narwhals as nw

    columns = {label: [line[i] for line in lines] for i, label in enumerate(labels)}
    backend = "pyarrow" if kind == "duckdb" else kind
    frame = nw.from_dict(columns, backend=backend)  # type: ignore[arg-type]
    if kind == "duckdb":
        import duckdb

        return duckdb.from_arrow(frame.to_arrow())
    return frame.to_native()
