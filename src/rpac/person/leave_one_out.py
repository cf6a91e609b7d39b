"""Any function, left one out: noise for what each unit in the data moves its answer by.

The answer on all rows, and on all rows but those of u, are put on a public step: a_u is their
difference, on integers. Gaussian noise of deviations s_i with sum_i a_ui^2 / s_i^2 <= c^2 for every
u in the data holds each of them to distance c, *given these deviations*. They come from the data.
They go through a menu of random origin, s = rho^(ceil(log_rho s* - U) + U) with a fresh U, so that
two data sets show different entries with probability |log_rho (s*/s*')| at most (a number), but a
person who moves s* by much is told by it with that probability, and nothing is proved about it.
So the promise is of another grade: persons in the data, given the level, and that it was answered.

Where the secret is an entry (`instead`), the answers with each possible entry in place of u's own
are compared in pairs, the present answer among them.

Deviations are proposed by whoever may; what is drawn with has been checked here.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import final

import numpy as np

from rpac._base.checks import refuse
from rpac._base.sealed import Sealed
from rpac._base.types import Floats, Ints
from rpac.person.contributions import FINE, Column
from rpac.person.gaussian import rounded_gaussian
from rpac.person.mechanism import Drawn
from rpac.person.parts import Ask, Part, Table
from rpac.person.source import ANSWER, Presence

RHO = 1.1
"""Ratio of the menu of deviations."""
Propose = Callable[[Floats, float], Floats]
_LARGEST = 2.0**52
_ROOM = 1 - 1e-9


@final
@dataclass(frozen=True, eq=False, repr=False)
class Influences(Sealed):
    """The answer, and what units move it by. Sealed: it is the data.

    Attributes:
        answer: (d,) in steps, around the middle.
        moves: (k, d) in steps: of units, and of d that nobody is, one floor each.
        step: The value of the integer 1.
    """

    answer: Ints
    moves: Ints
    step: float


def influences(ask: Ask, source: Presence, floor: float, n_jobs: int) -> Influences:
    """Ask a function on all rows, and once (or once an alternative) for every unit. Sealed."""
    table, owners, (name, entries) = Table(source), source.owners(), alternatives(source)
    whole, units = np.flatnonzero(owners >= 0), np.unique(owners[owners >= 0])
    runs, size = max(1, len(entries)), len(ask.middle)

    def part(i: int) -> Part:
        unit, entry = divmod(i - 1, runs)
        if i == 0:
            return Part(whole)
        if not entries:
            return Part(whole[owners[whole] != units[unit]])
        return Part(whole, changed=(name, np.flatnonzero(owners == units[unit]), entries[entry]))

    step = math.ldexp(1.0, Column(ANSWER, floor).exponent - FINE)
    found = ask.answers(table, part, 1 + runs * len(units), n_jobs)
    steps = np.clip(np.rint(found / step), -_LARGEST, _LARGEST).astype(np.int64)
    own = np.broadcast_to(steps[0], (len(units), 1, size))
    each = np.concatenate([own, steps[1:].reshape(len(units), runs, size)], axis=1)
    pairs = [each[:, a] - each[:, b] for a, b in combinations(range(runs + 1), 2)]
    nobody = np.eye(size, dtype=np.int64) * math.ceil(floor / step)
    return Influences(steps[0], np.concatenate([*pairs, nobody]), step)


def alternatives(source: Presence) -> tuple[str, tuple[object, ...]]:
    """Return the column that is the secret, and its possible entries; none where it is presence."""
    if not source.instead:
        return "", ()
    (name, given), *more = source.instead.items()
    if more:
        raise refuse("one column in `instead`", f"{len(more) + 1}", "Ask one at a time.")
    return name, tuple(given)


def draw_given_level(sealed: Influences, c: float, proposed: Floats) -> tuple[Floats, Floats]:
    """Return (d,) noisy answers around the middle, and their deviations: release randomness.

    Args:
        sealed: What units move the answer by.
        c: Distance that no unit may exceed.
        proposed: (d,) deviations; raised until no unit does.

    Guarantees:
        Given the deviations, answers with and without any unit in the data are at distance c.
    """
    origin = np.array([int.from_bytes(os.urandom(6), "big") for _ in proposed]) / 2.0**48
    scales = scales_of(sealed, c, proposed, origin)
    sigmas = [(math.ceil(scale / sealed.step * 2**16), 2**16) for scale in scales]
    noisy = [int(a) + rounded_gaussian(s) for a, s in zip(sealed.answer, sigmas, strict=True)]
    return np.array([sealed.step * total for total in noisy]), scales


def scales_of(sealed: Influences, c: float, proposed: Floats, origin: Floats) -> Floats:
    """Return (d,) deviations on the menus of these origins, at which no unit is beyond c."""
    start = np.where(np.isfinite(proposed), np.maximum(proposed, sealed.step), sealed.step)
    place = np.ceil(np.log(start) / math.log(RHO) - origin)
    lengths = np.linalg.norm(sealed.moves * (sealed.step / RHO ** (place + origin)), axis=1)
    short = math.log(lengths.max() / (c * _ROOM)) / math.log(RHO)
    return np.asarray(RHO ** (place + max(0, math.ceil(short)) + origin), np.float64)


def released(
    ask: Ask, source: Presence, floor: float, delta: float, propose: Propose, *, n_jobs: int = 1
) -> Drawn:
    """Return (1, d) answers around the middle, and deviations given which everybody is at `delta`.

    Args:
        ask: The function.
        source: All rows.
        floor: Resolution of its answers: deviations are at least floor / delta.
        delta: The distance.
        propose: (k, d) moves and a distance to (d,) deviations; checked, not trusted.
        n_jobs: Processes; -1: one a core.
    """
    sealed = influences(ask, source, floor, n_jobs)
    proposed = propose(np.asarray(sealed.moves * sealed.step, np.float64), delta)
    noisy, scales = draw_given_level(sealed, delta, proposed)
    return Drawn(np.zeros(0), (), scales, noisy[None], np.zeros((1, 0)))
