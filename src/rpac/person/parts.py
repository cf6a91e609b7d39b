"""Any function, asked on parts of a private table: each read by itself, in a process of its own.

What a function sees of a part is a function of that part's rows alone: a column is numbers if all
entries *of the part* read as numbers, and text if one does not, whatever the type of the whole
column (one word of somebody else's would change that). A declared type overrides it.

Each call runs in a child of another process, whose descriptors lead nowhere (`worlds.apart`): no
call can leave anything for the next one, print, or say more than its numbers. A failure, NaN,
more or fewer numbers, no rows, and a call that takes too long all come back as none.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from rpac._base.checks import count
from rpac._base.progress import progress
from rpac._base.sealed import Sealed
from rpac._base.types import Bools, Floats, Ints
from rpac.person.entries import number
from rpac.person.source import Presence
from rpac.worlds.apart import Apart, packed

_TRUTH = ("false", "true")


@final
@dataclass(frozen=True, eq=False, repr=False)
class Part(Sealed):
    """Some rows of a table. Sealed.

    Attributes:
        rows: Their numbers, in the order in which they are seen.
        seed: Of a function that takes a generator; public.
        changed: A column, rows of the table and the entry that is put there; None: nothing is.
    """

    rows: Ints
    seed: int = 0
    changed: tuple[str, Ints, Any] | None = None


@final
class Table(Sealed):
    """A table, each entry read by itself. Sealed: it is the data."""

    def __init__(self, source: Presence) -> None:
        assert source.entries is not None
        self._entries, self.size = source.entries, source.entries.size
        self._types = {name: source.declared(name).type for name in source.entries.columns}
        self._texts: dict[str, list[str | None]] = {}
        self._numbers = {name: self._read(name) for name in self._types}

    def texts(self, name: str) -> list[str | None]:
        """Return a column as text, each entry in its one spelling."""
        if name not in self._texts:
            self._texts[name] = self._entries.texts(name)
        return self._texts[name]

    def _read(self, name: str) -> tuple[Floats, Bools]:
        """Return (rows,) numbers of a column, and which of its entries are words."""
        raw = self._entries.of(name)
        if isinstance(raw, np.ndarray) and raw.dtype.kind in "biuf":
            values = self._entries.numbers(name) + 0.0  # no -0, whose text is that of 0
            return values, np.zeros(len(values), np.bool_)
        known = {word: _number(word) for word in set(self.texts(name))}
        found = np.array([known[word] for word in self.texts(name)], np.float64).reshape(-1, 2)
        return found[:, 0], found[:, 1] > 0

    def part(self, part: Part) -> dict[str, Any]:
        """Return the columns of a part: (rows,) numbers, or a list of texts.

        Guarantees:
            A function of the part's rows, what is put there, and declarations alone.
        """
        found = {name: self._column(name, part) for name in self._types}
        return _own(found) if self._entries.ragged else found

    def _column(self, name: str, part: Part) -> Any:
        values, words = (column[part.rows] for column in self._numbers[name])
        put, new = None, np.zeros(len(values), np.bool_)
        if part.changed is not None and part.changed[0] == name:
            put, new = self._entries.spelled(part.changed[2]), np.isin(part.rows, part.changed[1])
            values[new], words[new] = _number(put)
        kind = self._types[name]
        if kind == "number" or (kind is None and not words.any()):
            return values
        mine = self.texts(name)
        return [put if n else mine[row] for row, n in zip(part.rows, new, strict=True)]


def _own(columns: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that some row of a list has: others would tell of rows elsewhere."""
    there = [n for n, c in columns.items() if any(e is not None and e == e for e in c)]
    last = max([int(name) for name in there if name.isdecimal()], default=0)
    return {n: c for n, c in columns.items() if n in there or (n.isdecimal() and int(n) <= last)}


def _number(word: str | None) -> tuple[float, bool]:
    """Return the number that a text is, NaN if it is none, and whether it is a word."""
    if word is None or word in _TRUTH:
        return (np.nan if word is None else float(word == "true")), False
    try:
        float(word)  # infinities are no numbers here, and no words
    except ValueError:
        return np.nan, True
    return number(word) + 0.0, False


@final
@dataclass(frozen=True, eq=False)
class Ask:
    """A function as it is sent to another process; public.

    Attributes:
        sent: `packed_function` of a callable of the columns of a part and a seed, which returns
            (d,) numbers.
        name: What refusals call it.
        middle: (d,) the answer in place of none, which all others are counted from.
        near: A module that its tables need.
        seconds: Limit of time for a call.
        memory: Limit of memory for a call, in bytes.
    """

    sent: bytes
    name: str
    middle: Floats
    near: str = ""
    seconds: float | None = None
    memory: int | None = None

    def answers(self, table: Table, part: Callable[[int], Part], size: int, n_jobs: int) -> Floats:
        """Return (size, d) answers on parts 0, 1, ... around the middle; 0 for none. Sealed.

        Guarantees:
            Each is a function (with randomness of its own) of its part alone, if the function looks
            at nothing but its rows: no file, clock or load (`FUNCTION_NOT_COVERED`).
        """
        jobs = (os.cpu_count() or 1) if n_jobs == -1 else count(n_jobs, "n_jobs", least=1)
        limits: dict[str, Any] = {"seconds": self.seconds, "memory": self.memory}
        servers = [Apart(self.sent, self.name, **limits) for _ in range(jobs)]
        asks: dict[str, Any] = {"size": len(self.middle), "near": self.near}
        # Whether it can be loaded there must not depend on whether there are rows.
        servers[0].call(packed({}), packed(0), **asks)

        def answer(i: int) -> Floats:
            asked, row = part(i), None
            if len(asked.rows):
                sent = packed(table.part(asked)), packed(asked.seed)
                row = servers[i % jobs].call(*sent, **asks)
            with np.errstate(all="ignore"):  # of this thread: a warning would tell
                none = np.zeros_like(self.middle)
                return row - self.middle if isinstance(row, np.ndarray) else none

        with ThreadPoolExecutor(jobs) as pool:
            found = progress(pool.map(answer, range(size)), size, "asking")
            return np.array(list(found), np.float64).reshape(size, len(self.middle))
