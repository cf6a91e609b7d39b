"""The released table: typed, rounded and labelled as the query's own answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import narwhals as nw

from rpac._base.types import Floats
from rpac.sql.question import Question


class Table:
    """Rows of public keys that wait for their released numbers.

    Args:
        question: What was asked.
        rows: The keys of every row.
    """

    def __init__(self, question: Question, rows: list[tuple[Any, ...]]) -> None:
        self.question, self.rows = question, rows

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
        places = list(range(len(lines)))
        leading = lines if like is None else self._lines(like)
        for column, falling in reversed(q.order):
            places.sort(key=lambda i: _sortable(leading[i][column]), reverse=falling)
        return _native(q.labels, [lines[i] for i in places[: q.limit]], q.tables.kind)

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
                line[measure.place] = measure.typed(float(value))
            lines.append(line)
        return lines


def _sortable(value: Any) -> Any:
    return (value is None, 0 if value is None else value)


def _native(labels: list[str], lines: list[list[Any]], kind: str) -> Any:
    if kind == "rows":
        return [dict(zip(labels, line, strict=True)) for line in lines]
    columns = {label: [line[i] for line in lines] for i, label in enumerate(labels)}
    backend = "pyarrow" if kind == "duckdb" else kind
    frame = nw.from_dict(columns, backend=backend)  # type: ignore[arg-type]
    return duckdb.from_arrow(frame.to_arrow()) if kind == "duckdb" else frame.to_native()
