"""Who is in which world, a bit a unit and pair of worlds; and half-samples by keyed hashes.

The half-samples of a pair are the first half of all units in a keyed order, and the others. A
unit's place in that order is a hash of its own id, so who is in which world depends on ids alone,
not on the order of rows; and a person who joins or leaves moves at most one other unit a pair.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from hashlib import blake2b, sha256
from typing import Any, final

import numpy as np

from rpac._base.checks import refuse
from rpac._base.frozen import Frozen
from rpac._base.hashing import digest
from rpac._base.limits import fit
from rpac._base.types import Bools, Floats, Ints, Table

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
        at_hand: Whether the bits are here, or can be fetched: certificates look at every unit then.
    """

    def __init__(self, bits: Any, worlds: int, *, paired: bool) -> None:
        self.bits, self.paired, self.at_hand = bits, paired, True
        self.shape = (worlds, len(bits))
        self.freeze("bits")

    @classmethod
    def later(
        cls, load: Callable[[], Any], units: int, worlds: int, key: str, *, at_hand: bool = True
    ) -> Members:
        """Return paired members whose bits are fetched when they are first looked at.

        Args:
            load: Returns the (units, pairs / 8) packed bits.
            units: Number of units.
            worlds: Number of worlds, even.
            key: Says who is in which world, without the bits: what decides them.
            at_hand: Whether bits are few enough to be fetched.
        """
        made = object.__new__(cls)
        made.paired, made.shape, made.at_hand = True, (worlds, units), at_hand
        made.__dict__.update(_load=load, digest=digest(str(made.shape), key))
        made.freeze()
        return made

    def __getattr__(self, name: str) -> Any:
        if name != "bits" or "_load" not in self.__dict__:
            raise AttributeError(name)
        found = np.asarray(self._load(), np.uint8)
        found.setflags(write=False)
        self.__dict__["bits"] = found
        return found

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
        slope, rest = self.affine(rows)
        return np.asarray(self.inside(units) @ slope + rest)

    def affine(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return A (s, k) and b (k,): sums over a unit's worlds are `inside` @ A + b."""
        if not self.paired:
            return rows, np.zeros(rows.shape[1])
        first, second = rows[: self._stored], rows[self._stored :]
        return first - second, np.asarray(second.sum(axis=0))

    def inside(self, units: Any) -> Floats:
        """Return 1.0 where a unit is in a world, else 0.0, (units, s): of pairs in the first."""
        return self._unpacked(units).astype(np.float64)

    def among(self, units: Ints) -> Members:
        """Return the membership of (k,) units alone."""
        return Members(self.bits[units], len(self), paired=self.paired)

    def matrix(self) -> Bools:
        """Return the whole (m, units) matrix, read-only: for study and small pools.

        Raises:
            TooLarge: If it does not fit.
        """
        m, n = self.shape
        fit(m * n, "a matrix of worlds x units", "Ask for blocks of units: `members.of(units)`.")
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

    Raises:
        TooLarge: If a bit for every unit and pair of worlds does not fit into memory.
    """
    n, half = len(ids), len(ids) // 2
    if n <= _FEW and math.comb(n, half) * (1 + n % 2) <= worlds:
        return _all_halves(n)
    pairs = worlds // 2
    hold(n, worlds)
    places = hashes(ids, seed)
    bits = np.empty((n, -(-pairs // 8)), np.uint8)
    for byte in range(bits.shape[1]):
        column = np.zeros(n, np.uint8)
        for p in range(8 * byte, min(8 * byte + 8, pairs)):
            order = mixed(places, _word(f"pair {p}", seed))
            column[_least(order, half)] |= np.uint8(128 >> p % 8)
        bits[:, byte] = column
    return Members(bits, worlds, paired=True)


def hold(units: int, worlds: int) -> None:
    """Refuse half-samples of which a bit for every unit and pair does not fit into memory."""
    move = "Use fewer worlds (512 are many), or larger units."
    fit(units * -(-worlds // 16), f"the bits of {worlds} worlds of {units} units", move)


def _least(order: Table, half: int) -> Any:
    """Return which are the `half` least words: a mask, or their places where words are equal."""
    first = order <= np.partition(order, half - 1)[half - 1]
    if np.count_nonzero(first) == half:
        return np.asarray(first)
    return np.argpartition(order, half - 1)[:half]


def _all_halves(n: int) -> Members:
    half = n // 2
    first = np.zeros((math.comb(n, half), n), bool)
    for row, chosen in enumerate(itertools.combinations(range(n), half)):
        first[row, list(chosen)] = True
    return Members.wrap(first if n % 2 == 0 else np.concatenate([first, ~first]))


def hashes(ids: Sequence[Any] | Any, seed: int) -> Table:
    """Return a 64-bit hash of the canonical text of every id, keyed by the seed."""
    key = _key(seed)
    plain = isinstance(ids, np.ndarray) and ids.dtype.kind in "iuU"  # their text is their own
    texts = map(str, np.asarray(ids).tolist()) if plain else map(canonical, ids)
    joined = b"".join(blake2b(text.encode(), digest_size=8, key=key).digest() for text in texts)
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
