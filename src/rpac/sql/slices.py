"""Sums over all worlds from one pass: rows are grouped by bytes of their owner's membership.

A unit's membership in pairs 8 i to 8 i + 7 of worlds is one byte. Rows are added up by (group,
byte), for each i; there are 256 bytes, whatever the number of people. The sum over a world is then
that over the bytes with its bit: a second, small aggregation, in the same engine. Only worlds x
groups numbers leave it. Whole and decimal numbers are added, whose sum has no order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpac._base.types import Floats

_BITS = tuple(range(8))


@dataclass(frozen=True)
class Part:
    """One number of every group and world.

    Attributes:
        name: Its name.
        sql: The aggregate, over rows; "count(*)", "sum(y)" or "min(y)".
    """

    name: str
    sql: str

    @property
    def again(self) -> str:
        """The aggregate that puts it together from its parts."""
        return "min" if self.sql.startswith("min") else "sum"


def count_bytes(pairs: int) -> int:
    """Return how many bytes hold so many pairs of worlds."""
    return -(-pairs // 8)


def count_words(pairs: int) -> int:
    """Return how many words of 64 bits hold so many pairs of worlds."""
    return -(-pairs // 64)


def by_byte(rows: str, keys: Sequence[str], parts: Sequence[Part], pairs: int) -> str:
    """Return DuckDB's SQL for sums by keys and byte.

    The relation has words w0, w1, ... of 64 bits in columns: eight columns of bytes would take it
    three times as long to write.
    """
    shown = ", ".join([*keys, *(f"{part.sql} AS {part.name}" for part in parts)])
    by = ", ".join([*keys, "b"])
    return " UNION ALL ".join(
        f"SELECT {i} AS i, b, {shown} FROM (SELECT *, {_byte(i)} AS b FROM {rows}) GROUP BY {by}"
        for i in range(count_bytes(pairs))
    )


def _byte(i: int) -> str:
    return f"CAST((w{i // 8} >> {56 - 8 * (i % 8)}) & 255 AS UTINYINT)"


def by_bit(cells: str, keys: Sequence[str], parts: Sequence[Part], double: str) -> str:
    """Return SQL for the sums of both worlds of every pair, eight pairs a row, as floats.

    Args:
        cells: A relation with `keys`, the place i of a byte, the byte b and the parts.
        keys: Names of columns that tell groups apart.
        parts: What is put together.
        double: Name of the type of floats.
    """
    numbers = [
        f"{part.again}(CASE WHEN (b & {128 >> bit}) {side} 0 THEN {part.name} END)"
        for bit in _BITS
        for side in ("<>", "=")
        for part in parts
    ]
    named = [f"CAST({sql} AS {double}) AS x{j}" for j, sql in enumerate(numbers)]
    by = ", ".join([*keys, "i"])
    return f"SELECT {', '.join([by, *named])} FROM ({cells}) AS c GROUP BY {by}"


def unfolded(groups: Any, places: Any, numbers: Any, shape: tuple[int, int, int]) -> Floats:
    """Return (worlds, groups, parts) numbers of rows of `by_bit`; NaN where there is none.

    Args:
        groups: (n,) number of a row's group.
        places: (n,) place of its byte.
        numbers: (n, 16 parts) its numbers; NaN for NULL.
        shape: Number of worlds, groups and parts.
    """
    worlds, size, parts = shape
    pairs = worlds // 2
    out = np.full((count_bytes(pairs) * 8, 2, size, parts), np.nan)
    table = np.asarray(numbers, np.float64).reshape(-1, 8, 2, parts)
    at = np.asarray(places, np.int64)[:, None] * 8 + np.arange(8)
    out[at, :, np.asarray(groups, np.int64)[:, None]] = table
    found = out[:pairs]
    return np.concatenate([found[:, 0], found[:, 1]])
