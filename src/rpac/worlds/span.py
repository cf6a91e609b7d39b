"""The span of the worlds: m outputs of d numbers differ in at most m - 1 directions.

With C the (m, d) outputs around a public point, an orthonormal basis of their span is C' K for some
(m, r) coefficients K. It is *implied* by the outputs and never stored: whatever needs it takes C by
blocks of columns, O(m^2 d) in all, and holds m x m numbers. So noise, certificates and searches of
a million numbers happen in r <= m - 1 coordinates; one pass turns what is released into numbers.

*Directions.* Blocks of columns are added to the triangular factor T of the Gram matrix, with
C C' = T' T, by orthogonal steps, which keeps the digits that squaring would lose; with T = U S V'
the coefficients are V / S. A direction is left out only where S is that of rounding alone. A second
pass measures the Gram matrix of the basis and divides by its Cholesky factor.

*What is released* is a function of a world's integers along the basis, and of what is public under
*sample*: all the outputs, but not which one was drawn. What a world has outside of the basis is
left out, so it cannot tell. Nothing here is trusted to be exact: integers are certified, whatever
directions they were read along.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import final

import numpy as np

from rpac._base.checks import refuse
from rpac._base.frozen import Frozen
from rpac._base.hashing import digest
from rpac._base.limits import beyond_memory
from rpac._base.sealed import Sealed
from rpac._base.types import Bools, Floats
from rpac.errors import TooLarge

_BLOCK = 1 << 20
"""Numbers of a block of columns, about."""
_EPS = float(np.finfo(float).eps)
_NEAR = 1e-12
"""Squared distance, as a share of the largest, from which rows may be equal."""
_GRAMS = 8
"""Arrays of m x m numbers that are held at a time, at most."""


@final
class Span(Sealed, Frozen):
    """Orthonormal directions, (d, r), as combinations of rows that lie elsewhere. Sealed, as they.

    Attributes:
        values: (m, d) rows; kept, never copied.
        center: (d,) public origin.
        dim: d.
        rank: r.
        points: (m, r) coordinates of the rows.
    """

    def __init__(
        self,
        values: Floats,
        center: Floats,
        coefficients: Floats,
        points: Floats,
        *,
        fixed: Bools,
        mark: str,
    ) -> None:
        self.values, self.center, self.points = values, center, points
        self._coefficients, self._fixed, self._mark = coefficients, fixed, mark
        self.dim, self.rank = int(values.shape[1]), int(coefficients.shape[1])
        for array in (center, points, coefficients):
            array.setflags(write=False)
        self.freeze()

    @classmethod
    def of(cls, values: Floats, center: Floats, *, fixed: Bools, mark: str) -> Span:
        """Return the span of (m, d) values.

        Args:
            values: The outputs of all worlds.
            center: (d,) a weighted mean of them.
            fixed: (d,) the columns on which they agree: exactly 0 in every direction.
            mark: A hash of the values.

        Raises:
            InputError: If they differ nowhere by more than rounding.
        """
        m = len(values)
        none = np.zeros((m, 0))
        bare = cls(values, center, none, none, fixed=fixed, mark=mark)
        factor = np.zeros((0, m))
        for _, block in bare._blocks():
            factor = np.asarray(np.linalg.qr(np.concatenate([factor, block.T]), mode="r"))
        _, scales, rows = np.linalg.svd(factor, full_matrices=False)
        keep = scales > bare._rounding()
        if not keep.any():
            raise refuse(
                "outputs that differ between worlds",
                f"the same output in all {m}",
                "Publish it: it says nothing about which world was drawn.",
            )
        rough = (rows[keep] / scales[keep, None]).T
        return cls(values, center, rough, none, fixed=fixed, mark=mark)._corrected()

    @classmethod
    def given(cls, basis: Floats) -> Span:
        """Return the span of a (d, r) basis with orthonormal columns, which holds them as rows."""
        d, r = basis.shape
        zeros = np.zeros(d)
        return cls(basis.T, zeros, np.eye(r), np.eye(r), fixed=zeros > 0, mark=digest(basis))

    def _rounding(self) -> float:
        """Return the size of what rounding alone may look like: of columns that differ."""
        pieces = (self.values[:, at][:, ~self._fixed[at]] for at in self._columns())
        reach = float(max(np.abs(piece).max(initial=0.0) for piece in pieces))
        return float(max(self.values.shape)) * _EPS * reach

    def _corrected(self) -> Span:
        """Return the same span with directions that are orthonormal to rounding, and its points."""
        gram, points = np.zeros((self.rank,) * 2), np.zeros((len(self.values), self.rank))
        for _, block in self._blocks():
            basis = block.T @ self._coefficients
            gram += basis.T @ basis
            points += block @ basis
        turn = np.linalg.inv(np.linalg.cholesky(gram)).T
        points = _twins_alike(points @ turn, self.values)
        turned = self._coefficients @ turn
        return Span(self.values, self.center, turned, points, fixed=self._fixed, mark=self._mark)

    def _columns(self) -> Iterator[slice]:
        size = max(len(self.values), _BLOCK // len(self.values))
        return (slice(a, a + size) for a in range(0, self.dim, size))

    def _blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Yield some columns at a time, and the (m, k) rows there around the centre."""
        for at in self._columns():
            block = self.values[:, at] - self.center[at]
            block[:, self._fixed[at]] = 0.0
            yield at, np.asarray(block)

    def directions(self, rows: Floats) -> Floats:
        """Return the products of (n, d) rows with the basis, (n, r)."""
        found = np.zeros((len(rows), self.rank))
        for at, block in self._blocks():
            found += (rows[:, at] @ block.T) @ self._coefficients
        return found

    def along(self, values: Floats) -> Floats:
        """Return the (n, r) coordinates of (n, d) values; of its own rows as they are known."""
        if values is self.values:
            return self.points
        return self.directions(values - self.center)

    def shifts(self, along: Floats) -> Floats:
        """Return (n, d) numbers, without the centre, of (n, r) coordinates; or one of one."""
        mixed = along @ self._coefficients.T
        found = np.empty((*mixed.shape[:-1], self.dim))
        for at, block in self._blocks():
            found[..., at] = mixed @ block
        return found

    def back(self, along: Floats) -> Floats:
        """Return the (n, d) values at (n, r) coordinates, or one of one."""
        found = self.shifts(along)
        found += self.center
        return found

    def variances(self, basis: Floats, spread: Floats) -> Floats:
        """Return the (d,) variances of noise with (k,) variances along a (r, k) basis in here."""
        found, turned = np.empty(self.dim), self._coefficients @ basis
        for at, block in self._blocks():
            found[at] = np.square(block.T @ turned) @ spread
        return found

    def weighed(self, diagonal: Floats) -> Floats:
        """Return B' W B, (r, r), for a (d,) diagonal W."""
        found = np.zeros((self.rank,) * 2)
        for at, block in self._blocks():
            basis = block.T @ self._coefficients
            found += (basis * diagonal[at, None]).T @ basis
        return found

    def rest(self, values: Floats, center: Floats) -> float:
        """Return the largest length that (n, d) values around a (d,) point have outside of it.

        Its own rows have none around its centre, so for them it is that of the point.
        """
        shifted = center[None] - self.center if values is self.values else values - center
        return float(np.linalg.norm(shifted - self.shifts(self.directions(shifted)), axis=1).max())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that decides what is released: rows, origin and coefficients."""
        return digest(self._mark, self.center, self._coefficients, self.points)

    def __repr__(self) -> str:
        return f"Span(dim={self.dim}, rank={self.rank})"


def hold_worlds(m: int) -> None:
    """Refuse more worlds than their Gram matrix has room for.

    Raises:
        TooLarge: Before anything was allocated.
    """
    if got := beyond_memory(_GRAMS * m * m):
        move = "Take fewer worlds, or state more memory in RPAC_MEMORY."
        raise refuse(f"a Gram matrix of {m} worlds that fits into memory", got, move, TooLarge)


def _twins_alike(points: Floats, values: Floats) -> Floats:
    """Give equal rows equal points: products round a row by its place among the others."""
    squares = np.square(points).sum(axis=1)
    apart = squares[:, None] + squares - 2.0 * (points @ points.T)
    near = np.tril(apart <= _NEAR * squares.max(), -1)
    few = values[:, :: -(-values.shape[1] // 64)]
    for j in np.flatnonzero(near.any(axis=1)):
        for i in np.flatnonzero(near[j]):
            if np.array_equal(few[i], few[j]) and np.array_equal(values[i], values[j]):
                points[j] = points[i]
                break
    return points
