"""Side doors of a released value: its low bits, and the way it fails.

Both turn a release into one of a few marks, and ask what the mark tells about the world: about one
unit's membership, about where the world lies, or about the world itself, whichever study games
show to leak most. The table of marks is learnt there; judging games score it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import final

import numpy as np

from rpac._base.types import Floats, Ints
from rpac.attack.base import Attack, Finding, Play, nats_finding
from rpac.attack.likelihood import log_gain
from rpac.noise.grid import GridNoise

_MARKS = 24
_CELLS = 16
_RESIDUES = 8
_AXES = 4
Marker = Callable[[Floats], Ints]


class _Marks(Attack):
    """An attack by marks: what is left to say is how a release is marked."""

    @abstractmethod
    def markers(self, play: Play) -> list[Marker]:
        """Return functions from (n, d) values to (n,) integers, fixed by study games."""

    def run(self, play: Play, delta: float) -> Finding:
        """Return a lower limit on what the best mark tells."""
        best: tuple[float, Ints, Ints, Floats, str] | None = None
        for marker in self.markers(play):
            marks = marker(play.study.released)
            kinds, counts = np.unique(marks, return_counts=True)
            kinds = np.sort(kinds[np.argsort(-counts)][:_MARKS])
            columns = _columns(marks, kinds)
            for cells, what in _partitions(play, marker):
                joint = _counts(cells, cells[play.study.worlds], columns, kinds.size + 1)
                value = _plug_in(joint)
                if best is None or value > best[0]:
                    best = value, _columns(marker(play.judge.released), kinds), cells, joint, what
        assert best is not None
        _, columns, cells, joint, what = best
        prior = np.asarray(np.bincount(cells, play.weights), np.float64)
        seen = joint + joint.sum(axis=0) / joint.sum() * 2.0 + 1e-3  # shrunk towards no leak
        likely = seen / seen.sum(axis=1, keepdims=True)
        post = prior[:, None] * likely
        post /= post.sum(axis=0)
        own = cells[play.judge.worlds]
        gains = log_gain(post[own, columns], prior[own])
        return nats_finding(self.name, gains, float(prior.min()), delta, note=f"about {what}")


def _columns(marks: Ints, kinds: Ints) -> Ints:
    """Return the place of each mark among the common kinds; the last place is all others'."""
    at = np.minimum(np.searchsorted(kinds, marks), kinds.size - 1)
    return np.where(kinds[at] == marks, at, kinds.size)


def _counts(cells: Ints, own: Ints, columns: Ints, width: int) -> Floats:
    size = (int(cells.max()) + 1, width)
    counts = np.bincount(own * width + columns, minlength=size[0] * width)
    return counts.reshape(size).astype(np.float64)


def _plug_in(joint: Floats) -> float:
    """Return the empirical nats of a table of counts, less twice its bias."""
    n = joint.sum()
    expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0) / n
    used = joint > 0
    nats = float((joint[used] * np.log(joint[used] / expected[used])).sum() / n)
    rows, columns = (int((joint.sum(axis=a) > 0).sum()) for a in (1, 0))
    return nats - (rows - 1) * (columns - 1) / float(n)


def _partitions(play: Play, marker: Marker) -> Iterator[tuple[Ints, str]]:
    """Yield (m,) cells of worlds, in words too: the questions that a mark may answer."""
    outputs = play.game.outputs
    m = len(outputs.values)
    if m * _CELLS <= len(play.study):
        yield np.arange(m), "the world"
    line = outputs.values[:, 0]
    if outputs.dim > 1:
        shifted = outputs.values - outputs.center
        line = shifted @ np.linalg.svd(shifted, full_matrices=False)[2][0]
    order = np.argsort(np.argsort(line, kind="stable"))
    yield order * min(_CELLS, m) // m, "where the world lies"
    own = np.unique(marker(outputs.values), return_inverse=True)[1].ravel()
    if 1 < own.max() + 1 <= 2 * _MARKS:
        yield own, "the mark of the world's own answer"
    if outputs.members is not None:
        for unit, inside in zip(play.units, play.masks.T, strict=True):
            if inside.any() and not inside.all():
                yield inside.astype(np.int64), f"membership of unit {unit}"


@final
class Failure(_Marks):
    """How often a release fails, or is one of a few fixed values: the sentinel's own leak."""

    name = "failure"

    def markers(self, play: Play) -> list[Marker]:
        """Mark releases that are not finite, and each value that keeps coming back."""
        study = play.study.released
        rows, counts = np.unique(study, axis=0, return_counts=True, equal_nan=True)
        often = rows[(counts > len(study) / 100) & np.isfinite(rows).all(axis=1)][: _MARKS - 2]

        def marker(values: Floats) -> Ints:
            marks = np.where(np.isfinite(values).all(axis=1), 0, 1)
            for k, row in enumerate(often):
                marks[(values == row).all(axis=1)] = 2 + k
            return marks

        return [marker]


@final
class Precision(_Marks):
    """Low bits: how fine a released float is, and where it falls between the points of a grid."""

    name = "precision"
    needs = frozenset({"numbers"})

    def markers(self, play: Play) -> list[Marker]:
        """Mark the lowest bit that is set, the lowest bits of whole numbers, and residues."""
        found: list[Marker] = []
        for c in range(min(play.game.outputs.dim, _AXES)):
            spread = float(np.nanstd(np.where(np.isfinite(play.study.released[:, c]),
                                              play.study.released[:, c], np.nan)))  # fmt: skip
            found += [partial(_fineness, c=c, spread=spread), partial(_low_bits, c=c)]
        if isinstance(play.game.noise, GridNoise):
            axes = range(min(len(play.game.noise.axes), _AXES))
            found += [partial(_residue, noise=play.game.noise, a=a) for a in axes]
        return found


def _fineness(values: Floats, *, c: int, spread: float) -> Ints:
    """Return the exponent of the lowest set bit, and how small the float is, as one integer.

    Sums of floats are as coarse as their largest term: a small sum that is coarse was made of
    large terms that cancelled.
    """
    y = np.where(np.isfinite(values[:, c]), values[:, c], 0.0)
    fraction, exponent = np.frexp(y)
    whole = np.abs(fraction * 2.0**53).astype(np.int64)
    lowest = np.where(whole == 0, 63, np.log2(np.maximum(whole & -whole, 1)).astype(np.int64))
    size = np.clip(exponent - np.frexp(spread)[1], -6, -1)
    return np.asarray((size + 6) * 1024 + np.clip(exponent + lowest, -511, 511) + 512)


def _low_bits(values: Floats, *, c: int) -> Ints:
    """Return the last three bits of what is a whole number; -1 for others."""
    y = values[:, c]
    whole = np.isfinite(y) & (y == np.rint(y)) & (np.abs(y) < 2.0**52)
    return np.where(whole, np.where(whole, y, 0.0).astype(np.int64) & 7, -1)


def _residue(values: Floats, *, noise: GridNoise, a: int) -> Ints:
    """Return where values fall between the points of a grid; 0 for those on it."""
    along = (values - noise.center) @ noise.basis[:, a] / noise.axes[a].step
    along = np.where(np.isfinite(along), along, 0.0)
    off = along - np.rint(along)
    cell = np.floor((off + 0.5) * _RESIDUES).astype(np.int64)
    return np.where(np.abs(off) < 1e-4, 0, 1 + np.clip(cell, 0, _RESIDUES - 1))
