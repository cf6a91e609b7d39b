"""Half-samples of a table: made one at a time, stacked, or added up without being made at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, final, overload

import numpy as np

from rpac._base.types import Bools, Floats
from rpac.worlds.members import Members

_BITS = 1 << 18
"""Entries of the (worlds, units) matrix that are looked at together as half-samples are made."""
_BLOCK = 1 << 20
"""Entries of it that are held as floats at a time."""
_LEAST = -1022
"""Exponent of the finest grid: its step is the least float64."""


@final
class HalfSamples(Sequence[Any]):
    """The half-samples of a table, each made when it is asked for: all at once might not fit.

    It is all that another process needs of a source: the rows, whose each is, and who is where.

    Args:
        data: An array, a list, or what a frame was made of.
        frame: The table as a narwhals frame; None where `data` is none.
        owner: (rows,) unit of every row; None where every row is its own unit.
        members: Who is in which world.
    """

    def __init__(self, data: Any, frame: Any, owner: Any, members: Members) -> None:
        self._data, self._frame, self._owner, self._members = data, frame, owner, members
        self._kind = type(data).__name__
        if frame is not None:
            self._data = None  # the frame is all of it, perhaps with fewer columns

    def __len__(self) -> int:
        return len(self._members)

    @overload
    def __getitem__(self, i: int) -> Any: ...
    @overload
    def __getitem__(self, i: slice) -> list[Any]: ...
    def __getitem__(self, i: int | slice) -> Any:
        if isinstance(i, slice):
            return list(self.some(range(len(self))[i]))
        return self.take(np.flatnonzero(self._rows(self._members.world(i))))

    def __iter__(self) -> Iterator[Any]:
        return self.some(range(len(self)))

    def some(self, numbers: Sequence[int]) -> Iterator[Any]:
        """Yield the half-samples of these numbers, one at a time."""
        size = max(1, _BITS // self._members.units)
        for start in range(0, len(numbers), size):
            inside = self._members.rows(numbers[start : start + size])
            for one in inside if self._owner is None else map(self._rows, inside):
                yield self.take(one.nonzero()[0])

    def stacked(self, numbers: Sequence[int]) -> Floats | None:
        """Return the half-samples of these numbers as one array, (k, rows, ...).

        None where the data are no array, or these half-samples differ in their number of rows.
        """
        if not isinstance(self._data, np.ndarray):
            return None
        inside = self._members.rows(numbers)
        inside = inside if self._owner is None else inside[:, self._owner]
        sizes = np.count_nonzero(inside, axis=1)
        if (sizes != sizes[0]).any():
            return None
        rows = np.flatnonzero(inside) % inside.shape[1]  # a quarter of the time of `nonzero`
        return np.asarray(self._data.take(rows.reshape(len(inside), -1), axis=0))

    def reading(self, columns: Sequence[str]) -> HalfSamples:
        """Return the same half-samples with these columns of a frame alone, or with one column."""
        if self._frame is None:
            return self
        from rpac.worlds import tables as frames

        frames.require_columns(self._frame, tuple(columns))
        less = self._frame.select(list(columns) or self._frame.columns[:1])
        found = HalfSamples(None, less, self._owner, self._members)
        found._kind = self._kind
        return found

    def totals(self, values: Floats, rows: Any = None) -> Floats:
        """Return sums of values over the rows of every world, (m, k): a matrix product, in blocks.

        Args:
            values: (n, k) what each row adds; their absolute values have a finite sum.
            rows: (n,) numbers of those rows; all of them by default.

        Guarantees:
            A sum is the same to the last bit in whatever order it is added, and none drowns in
            what only other worlds hold. Nothing of the size units x worlds is held, but for a few
            megabytes.
        """
        limbs = _limbs(values)
        each = np.concatenate(limbs, axis=1)
        units = np.arange(len(values)) if rows is None else rows
        if self._owner is not None:
            units, place = np.unique(self._owner[units], return_inverse=True)
            each = np.stack([np.bincount(place, column, len(units)) for column in each.T], axis=1)
        sums = np.zeros((len(self), each.shape[1]))
        size = max(1, _BLOCK // len(self))
        for a in range(0, len(units), size):
            inside = self._members.of(units[a : a + size])
            sums += inside.astype(np.float64) @ each[a : a + size]
        parts = np.split(sums, len(limbs), axis=1)[::-1]
        return np.asarray(np.add.reduce(parts))

    def _rows(self, units: Bools) -> Bools:
        return units if self._owner is None else np.asarray(units[self._owner])

    def take(self, rows: Any) -> Any:
        """Return some rows, as a table of the kind that the data are."""
        if self._frame is not None:
            from rpac.worlds import tables as frames

            return frames.picked(self._frame, rows, self._kind)
        if isinstance(self._data, np.ndarray):
            return self._data[rows]
        return [self._data[i] for i in rows]


def _limbs(values: Floats) -> list[Floats]:
    """Return (n, k) values as sums of limbs, coarse to fine, each of which float64 adds exactly.

    A limb lies on a grid, column by column, on which no sum of its entries needs more than 53 bits.
    """
    found: list[Floats] = []
    rest = values
    while not found or rest.any():
        size = (
            np.frexp(np.abs(rest).max(axis=0, initial=0.0))[1] + len(rest).bit_length()
        )  # in no order
        exponent = np.maximum(size, _LEAST)
        step = np.ldexp(1.0, exponent - 52)
        found.append(np.rint(rest / step) * step)
        rest = rest - found[-1]
    return found
