"""The units of a database: how many there are, and the bytes that say who is in which world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from rpac._base.checks import refuse
from rpac._base.types import Ints
from rpac.errors import TooLarge
from rpac.sql.elsewhere import Elsewhere
from rpac.sql.engine import quoted
from rpac.sql.slices import Part, by_bit, by_byte, count_bytes, count_words, unfolded
from rpac.worlds.keyed import blocks, salt
from rpac.worlds.members import Members

MOST_WORLDS = 8_192
"""Worlds of one question in SQL: sixteen of them are a column."""
FETCHED = 1 << 19
"""Bytes of membership that a database elsewhere is asked for: all that success rates need."""


@final
@dataclass(frozen=True, eq=False)
class Home:
    """Where the units of a database are named.

    Attributes:
        connection: The embedded DuckDB.
        engine: The database elsewhere that has the tables; None: that DuckDB.
        unit: Table and column of the units' ids.
        places: Names of the tables elsewhere.
    """

    connection: Any
    engine: Elsewhere | None
    unit: tuple[str, str]
    places: Mapping[str, str]

    @property
    def ids(self) -> str:
        """SQL for the units' ids k."""
        table, column = map(quoted, self.unit)
        return f"SELECT DISTINCT {column} AS k FROM raw.{table}"


@final
@dataclass(frozen=True, eq=False)
class People:
    """The units of a database, and their worlds by keyed bits (`rpac.worlds.keyed`).

    Attributes:
        home: Where they are.
        worlds: Number of worlds.
        seed: Public key of the hashes.
        units: Number of units: a fact of the pool.
        sizes: (worlds,) units in each world.
    """

    home: Home
    worlds: int
    seed: int
    units: int
    sizes: Ints

    @classmethod
    def of(cls, home: Home, worlds: int, seed: int) -> People:
        """Count the units of a database and of its worlds; here, write their membership down."""
        pairs, counted = worlds // 2, [Part("n", "count(*)")]
        if home.engine is None:
            made = _with_words(home.ids, pairs, seed)
            home.connection.execute(f"CREATE TABLE pool.__units AS {made}")
            cells = by_byte("pool.__units", [], counted, pairs)
            rows = home.connection.execute(by_bit(cells, [], counted, "DOUBLE")).fetchall()
        else:
            who = pairs, _salts(pairs, seed)
            rows = home.engine.sums(home.ids, [], counted, who, home.places)
        table = np.array(rows, np.float64).reshape(-1, 17)
        found = unfolded(np.zeros(len(table)), table[:, 0], table[:, 1:], (worlds, 1, 1))[:, 0, 0]
        sizes = np.nan_to_num(found).astype(np.int64)
        n = int(sizes[0] + sizes[pairs])
        if n < 2:
            raise refuse("at least 2 units", n, "One unit has no half-samples.")
        return cls(home, worlds, seed, n, sizes)

    @property
    def pairs(self) -> int:
        """Number of complementary pairs of worlds."""
        return self.worlds // 2

    @property
    def words(self) -> list[str]:
        """Names of the columns of `pool.__units` with 64 bits of membership each."""
        return [f"w{i}" for i in range(count_words(self.pairs))]

    @property
    def salts(self) -> list[str]:
        """What stands before an id in the texts that are hashed."""
        return _salts(self.pairs, self.seed)

    def is_in(self, world: int) -> str:
        """Return the condition in SQL, on words, that a unit is in a world."""
        pair = world % self.pairs
        return f"((w{pair // 64} >> {63 - pair % 64}) & 1) = {int(world < self.pairs)}"

    def members(self) -> Members:
        """Return who is in which world; the bits are fetched when they are looked at."""
        key = f"keyed bits of {'.'.join(self.home.unit)}, seed {self.seed}"
        size = self.units * count_bytes(self.pairs)
        here = self.home.engine is None or size <= FETCHED
        return Members.later(self._bits, self.units, self.worlds, key, at_hand=here)

    def _bits(self) -> Any:
        size = count_bytes(self.pairs)
        if self.home.engine is not None:
            return self._bits_elsewhere(size)
        rows = f"SELECT {', '.join(self.words)} FROM pool.__units ORDER BY k"
        found = self.home.connection.execute(rows).fetchnumpy()
        table = np.stack([np.asarray(found[name]) for name in self.words], axis=1)
        return table.astype(">u8").view(np.uint8)[:, :size]

    def _bits_elsewhere(self, size: int) -> Any:
        """Fetch the bytes of everybody, without a name and in an order of their own."""
        engine = self.home.engine
        assert engine is not None
        if self.units * size > FETCHED:
            raise refuse(
                f"at most {FETCHED // size} units elsewhere, to look at each of them",
                self.units,
                "Audit a smaller pool, or use db.presence.",
                TooLarge,
            )
        found = engine.hashes(self.home.ids, self.salts, self.home.places)
        rows = sorted(bytes.fromhex("".join(row))[:size] for row in found)
        return np.frombuffer(b"".join(rows), np.uint8).reshape(-1, size)


def hold_worlds(worlds: int) -> None:
    """Refuse more worlds than one query can name, before anything is read."""
    if worlds > MOST_WORLDS:
        move = "Use fewer: 512 are many."
        raise refuse(f"at most {MOST_WORLDS} worlds in SQL", worlds, move, TooLarge)


def _salts(pairs: int, seed: int) -> list[str]:
    return [salt(seed, block) for block in blocks(pairs)]


def _with_words(every: str, pairs: int, seed: int) -> str:
    """Return DuckDB's SQL for ids k with columns w0, w1, ...: 64 bits each of their hashes."""
    hashed = [f"md5('{text}' || CAST(k AS VARCHAR)) AS h{j}"
              for j, text in enumerate(_salts(pairs, seed))]  # fmt: skip
    words = [f"CAST('0x' || substr(h{w // 2}, {16 * (w % 2) + 1}, 16) AS UBIGINT) AS w{w}"
             for w in range(count_words(pairs))]  # fmt: skip
    inner = f"SELECT k, {', '.join(hashed)} FROM ({every}) AS e"
    return f"SELECT k, {', '.join(words)} FROM ({inner}) AS h"
