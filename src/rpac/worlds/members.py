"""Who is in which world, a bit a unit and pair of worlds; and half-samples by keyed hashes.

The half-samples of a pair are the first half of all units in a keyed order, and the others. A
unit's place in that order is a hash of its own id, so who is in which world depends on ids alone,
not on the order of rows; and a person who joins or leaves moves at most one other unit a pair.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from hashlib import blake2b, sha256
from typing import Any, final

import numpy as np

from rpac._base.checks import refuse
from rpac._base.frozen import Frozen
from rpac._base.hashing import digest
from rpac._base.types import Bools, Floats, Table

_BLOCK = 1 << 21
"""Entries of the unpacked matrix that are held at a time."""
_FEW = 64
"""Units above which there are more half-samples than anybody lists."""


@final
class Members(Frozen):
    """Who is in which of m worlds, as packed bits; made by `Members.wrap` or `half_samples`.

    Where worlds come in complementary pairs (world p + m / 2 holds whom world p does not) one bit
    serves both: a 64-bit word a unit for 128 worlds. No units x worlds matrix is kept.

    Attributes:
        shape: (m, units).
        paired: Whether the second half of the worlds are the complements of the first.
    """

    def __init__(self, bits: Any, worlds: int, *, paired: bool) -> None:
        self.bits, self.paired = bits, paired
        self.shape = (worlds, len(bits))
        self.freeze("bits")

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the bits."""
        return digest(str(self.shape), str(self.paired), self.bits)

    @classmethod
    def wrap(cls, masks: Any) -> Members:
        """Return the members of an (m, units) matrix, True where a unit is in a world."""
        table = np.asarray(masks)
        if table.ndim != 2 or not table.size or not np.isin(table, (0, 1)).all():
            got = f"{table.dtype} data of shape {table.shape}"
            raise refuse("masks, (worlds, units), of true and false", got, "One row a world.")
        return cls(np.packbits(table.astype(bool).T, axis=1), len(table), paired=False)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def units(self) -> int:
        """Number of units."""
        return self.shape[1]

    @property
    def _stored(self) -> int:
        return len(self) // 2 if self.paired else len(self)

    def world(self, i: int) -> Bools:
        """Return who is in one world, (units,)."""
        place = range(len(self))[i]
        column = place % self._stored
        found = (self.bits[:, column // 8] >> np.uint8(7 - column % 8)) & np.uint8(1)
        return np.asarray(found == (place < self._stored))

    def of(self, units: Any) -> Bools:
        """Return the columns of some units, a slice or (k,) indices: (m, k)."""
        first = self._unpacked(units).T
        return np.concatenate([first, ~first]) if self.paired else np.ascontiguousarray(first)

    def rows(self, worlds: Any) -> Bools:
        """Return the rows of some worlds, (k,) indices: (k, units)."""
        places = np.asarray(worlds) % len(self)
        columns = places % self._stored
        found = (self.bits[:, columns // 8] >> (7 - columns % 8).astype(np.uint8)) & np.uint8(1)
        return np.ascontiguousarray((found == (places < self._stored)).T)

    def blocks(self) -> Iterator[slice]:
        """Yield slices of units whose columns are a few megabytes."""
        size = max(1, _BLOCK // self._stored)
        return (slice(a, min(a + size, self.units)) for a in range(0, self.units, size))

    def sums(self, rows: Floats, units: Any) -> Floats:
        """Return, for every one of some units, the sum of (m, k) rows over its worlds: (units, k).

        The sum over the worlds of a pair is that of the second, and the difference where the
        unit is in the first: half of the work.
        """
        inside = self._unpacked(units).astype(np.float64)
        if not self.paired:
            return np.asarray(inside @ rows)
        first, second = rows[: self._stored], rows[self._stored :]
        return np.asarray(inside @ (first - second) + second.sum(axis=0))

    def matrix(self) -> Bools:
        """Return the whole (m, units) matrix, read-only: for study and small pools."""
        found = self.of(slice(None))
        found.setflags(write=False)
        return found

    def _unpacked(self, units: Any) -> Bools:
        packed = self.bits[units]
        return np.unpackbits(packed, axis=1, count=self._stored).view(bool)


def half_samples(ids: Sequence[Any] | Any, worlds: int, seed: int) -> Members:
    """Return balanced half-samples of units in complementary pairs; few units have all of them.

    Args:
        ids: The units' ids, all different.
        worlds: Number of half-samples, even.
        seed: Public: it keys the hashes.

    Guarantees:
        Every unit is in exactly half of the worlds; world p holds floor(n / 2) of n units.
    """
    n, half = len(ids), len(ids) // 2
    if n <= _FEW and math.comb(n, half) * (1 + n % 2) <= worlds:
        return _all_halves(n)
    places = hashes(ids, seed)
    pairs = worlds // 2
    bits = np.zeros((n, -(-pairs // 8)), np.uint8)
    for p in range(pairs):
        order = mixed(places, _word(f"pair {p}", seed))
        first = np.argpartition(order, half - 1)[:half]
        bits[first, p // 8] |= np.uint8(128 >> p % 8)
    return Members(bits, worlds, paired=True)


def _all_halves(n: int) -> Members:
    half = n // 2
    first = np.zeros((math.comb(n, half), n), bool)
    for row, chosen in enumerate(itertools.combinations(range(n), half)):
        first[row, list(chosen)] = True
    return Members.wrap(first if n % 2 == 0 else np.concatenate([first, ~first]))


def hashes(ids: Sequence[Any] | Any, seed: int) -> Table:
    """Return a 64-bit hash of the canonical text of every id, keyed by the seed."""
    key = _key(seed)
    joined = b"".join(
        blake2b(canonical(name).encode(), digest_size=8, key=key).digest() for name in ids
    )
    return np.frombuffer(joined, "<u8").astype(np.uint64)


def _key(seed: int) -> bytes:
    return sha256(str(seed).encode()).digest()


def _word(text: str, seed: int) -> np.uint64:
    return np.uint64(
        int.from_bytes(blake2b(text.encode(), digest_size=8, key=_key(seed)).digest(), "little")
    )


def mixed(places: Table, key: np.uint64) -> Table:
    """Return 64-bit words mixed with a key (the finaliser of splitmix64): one to one."""
    x = places ^ key
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def canonical(name: Any) -> str:
    """Return the text of an id, the same from whatever kind of table it comes."""
    if isinstance(name, np.datetime64):  # finer than microseconds would be a bare integer
        day = np.datetime_data(name)[0] == "D"
        name = name.item() if day else name.astype("datetime64[us]").item()
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, date | datetime):
        return name.isoformat()
    if isinstance(name, bool | int):
        return str(int(name))
    if isinstance(name, float | Decimal):
        whole = math.isfinite(name) and name == int(name)
        return str(int(name)) if whole else repr(float(name))
    return str(name)
