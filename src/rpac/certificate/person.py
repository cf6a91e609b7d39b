"""Success on a person: how often the best attack tells whether a unit is in the drawn world.

With s_ui = 1 where unit u is in world i and -1 where it is not, let

    D_u(y) = P(y, in) - P(y, out) = sum_i s_ui p_i P(y | i).

The best guess after y is right with mass max(P(y, in), P(y, out)); the two sum to P(y), so its
success is 1/2 + |D_u|_1 / 2, whatever the prior.

*One axis*: a finite sum for each unit. *Several*: the mean of max(P(in | y), P(out | y)), bounded
from draws. Neither is worked out for every one of many units: `gram` bounds |D_u|_1 from above
for all of them, cheaply and without chance, and units are looked at in falling order of that bound
until the next one's is no larger than what was found. The figure is the largest found or the next
bound, whichever is larger: it holds for every unit. On one axis it is then the largest success
itself (unless more than `_MOST_EXACT` units had to be looked at, and the next bound stands in).

By draws the order is fixed before they are made, and unit number j in it may err with a share of
delta that depends on j alone (`_shares`, which sum to at most delta). So with probability 1 - delta
all bounds that *could* be asked for hold together, and it does not matter when one stops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from rpac._base.entropy import ROUNDING
from rpac._base.types import Bools, Floats, Ints
from rpac.budget import Budget, SuccessRate
from rpac.certificate.atoms import centred
from rpac.certificate.confidence import upper_mean
from rpac.certificate.gram import (
    AxisKernels,
    GramBound,
    gaussian_gram,
    product_gram,
    table_error,
)
from rpac.certificate.references import MixtureReference, blocks
from rpac.noise.base import Law, integer_table, look_up, system_uniforms
from rpac.noise.channel import Channel
from rpac.noise.grid import GridNoise
from rpac.worlds.members import Members
from rpac.worlds.outputs import Outputs

DRAWS = 20_000
"""Judging draws of a figure by draws."""
_MOST_EXACT = 2_048
_MOST_CODES = 4_096
"""Distinct outputs whose Gram matrix is decomposed."""
_MOST_GRAM = 1e100
"""Entry from which a Gram matrix says nothing, and its squares might overflow."""
_MOST_POSTERIOR = 1 << 23
"""Draws times distinct outputs whose posterior is kept, so that units need but a product."""
_FEW = 64
"""Units that are looked at together; up to so many are not ranked first."""
_DIRECTIONS = 8
_BATCHES = (64, 256, 1024, 4096)
"""Units that share an equal part of delta, those with the largest bounds first."""


def on_a_person(outputs: Outputs, budget: Budget | None) -> bool:
    """Whether a budget speaks of one unit's membership: a success rate on half-samples."""
    return isinstance(budget, SuccessRate) and outputs.members is not None and budget.prior == 0.5


def worst_unit(outputs: Outputs, noise: Law, delta: float, draws: int | None) -> float | None:
    """Return a bound on the best attack's success on the most exposed unit, where it applies.

    It does for half-samples under tables on a grid or a channel; not for several axes
    without draws, nor for thousands of distinct outputs and units at once.
    """
    members = outputs.members
    if members is not None and isinstance(noise, Channel):
        return _largest_channel(People.of(outputs.codes(noise), outputs.weights, members), noise)
    if members is None or type(noise) is not GridNoise or (draws == 0 and noise.rank > 1):
        return None
    codes = outputs.codes(noise)
    if len(np.unique(codes, axis=0)) > _MOST_CODES and members.units > _MOST_EXACT:
        return None
    people = People.of(codes, outputs.weights, members)
    if noise.rank == 1:
        return _largest_exact(people, noise)
    return largest_drawn(people, noise, Judge.draw(people, noise, DRAWS), delta)


def unit_success(
    codes: Ints,
    weights: Floats,
    masks: Bools | Members,
    law: GridNoise,
    *,
    delta: float,
    draws: int = DRAWS,
) -> Floats:
    """Return upper bounds on the Bayes success for every unit, (units,): for small pools.

    Args:
        codes: (m, r) integer worlds.
        weights: (m,) prior.
        masks: (m, units) who is in which world.
        law: The released law. One axis: an exact sum. Several: by draws.
        delta: Probability that some bound is below the truth; for one axis 0. By draws each
            unit's bound errs with delta / units (union bound).
        draws: Judging draws, for several axes.
    """
    members = masks if isinstance(masks, Members) else Members.wrap(masks)
    people = People.of(codes, weights, members)
    if law.rank == 1:
        kernels = people.kernels(law)
        return np.concatenate([_exact(people, kernels, units) for units in people.everybody()])
    judge, share = Judge.draw(people, law, draws), delta / members.units
    return np.concatenate(
        [judge.success(people, units, np.full(units.size, share)) for units in people.everybody()]
    )


@final
@dataclass(frozen=True)
class People:
    """Units, and the distinct integer worlds that they are in.

    Attributes:
        codes: (k, r) distinct integer worlds, rising.
        weights: (k,) their probabilities.
        members: Who is in which of m worlds.
        rows: (m, k) the weight of each world, in the column of its code.
    """

    codes: Ints
    weights: Floats
    members: Members
    rows: Floats

    @classmethod
    def of(cls, codes: Ints, weights: Floats, members: Members) -> People:
        """Return the units of (m, r) integer worlds with an (m,) prior."""
        found, place = np.unique(codes, axis=0, return_inverse=True)
        rows = np.zeros((len(codes), len(found)))
        rows[np.arange(len(codes)), place.ravel()] = weights
        return cls(found, rows.sum(axis=0), members, rows)

    def everybody(self) -> Iterator[Ints]:
        """Yield all units, a few at a time."""
        units = np.arange(self.members.units)
        return (units[a : a + _FEW] for a in range(0, units.size, _FEW))

    def signed(self, units: Ints | slice) -> Floats:
        """Return sum_i s_ui p_i over the worlds of each code, (units, k)."""
        return np.asarray(2.0 * self.members.sums(self.rows, units) - self.weights)

    def inside(self, units: Ints) -> Floats:
        """Return P(code, unit in), (k, units)."""
        return self.members.sums(self.rows, units).T

    def limits(self, bound: GramBound, error: float = 0.0) -> Floats:
        """Return upper bounds on the success on all units, (units,), by blocks of them.

        They may lie above 1: even then they tell who is exposed most.
        """
        slope, rest = self.members.affine(self.rows @ bound.vectors)
        of = bound.mapped(2.0 * slope, 2.0 * rest - self.weights @ bound.vectors)
        parts = [of(self.members.inside(block)) for block in self.members.blocks()]
        return np.asarray(0.5 + 0.5 * (np.concatenate(parts) + error))

    def kernels(self, law: GridNoise) -> AxisKernels:
        """Return the laws of Y given each code, for one axis."""
        return AxisKernels(self.codes[:, 0], self.weights, law.axes[0])


def _largest_channel(people: People, channel: Channel) -> float:
    """Return the largest success under a channel: a sum over all that may be released."""
    kernels = channel.matrix[people.codes[:, 0]]
    norms = [np.abs(people.signed(u) @ kernels).sum(axis=1).max() for u in people.members.blocks()]
    return min(0.5 + 0.5 * float(max(norms)) + ROUNDING * len(people.rows), 1.0)


def _largest_exact(people: People, law: GridNoise) -> float:
    """Return the largest success on one axis: units in falling order of their bound."""
    kernels, n = people.kernels(law), people.members.units
    if not kernels.law.size:
        return 1.0
    if n <= _FEW or len(people.codes) > _MOST_CODES:
        return float(max(_exact(people, kernels, units).max() for units in people.everybody()))
    gram = kernels.gram()
    if not gram.max() < _MOST_GRAM:  # of worlds that hardly ever are
        return 1.0
    bound = GramBound(gram, float(people.weights @ people.weights), kernels.law.size)
    bound = bound.along(kernels.norms(bound.vectors[:, :_DIRECTIONS].T))
    return _searched(
        people.limits(bound), lambda units, *_: _exact(people, kernels, units), _MOST_EXACT
    )


def _exact(people: People, kernels: AxisKernels, units: Ints) -> Floats:
    if not kernels.law.size:
        return np.ones(units.size)
    found = _success(kernels.norms(people.signed(units)))
    return np.minimum(found + ROUNDING * len(people.rows), 1.0)


def _success(norms: Floats) -> Floats:
    return np.minimum(0.5 + 0.5 * norms, 1.0)


def _searched(limits: Floats, find: Callable[[Ints, int, float], Floats], most: int) -> float:
    """Return a bound for all units: the largest found, or the next limit where that is larger.

    Args:
        limits: (units,) upper bounds, cheap ones.
        find: Better bounds for some units, which come at a place of the falling order. Those that
            are no larger than a number it is told need not be the best there are.
        most: How many units to look at.
    """
    limits = np.where(np.isnan(limits), np.inf, limits)  # what is not known is no limit
    order, best, at = np.argsort(-limits, kind="stable"), 0.0, 0
    last = float(limits[order[most]]) if order.size > most else 0.0  # it stands in, at the latest
    while at < min(most, order.size) and limits[order[at]] > best:
        units = order[at : min(at + _FEW, most)]
        best = max(
            best,
            float(np.minimum(find(units, at, max(best, last)), limits[units] + ROUNDING).max()),
        )
        at += units.size
    left = float(limits[order[at]]) + ROUNDING if at < order.size else 0.0
    return min(max(best, left, 0.5), 1.0)


def largest_drawn(people: People, law: GridNoise, judge: Judge, delta: float) -> float:
    """Return a bound on the largest success on several axes: units in falling order."""
    limits = drawn_limits(people, law)
    shares = _shares(delta)

    def find(units: Ints, at: int, best: float) -> Floats:
        return judge.success(people, units, shares[at : at + units.size], best)

    return _searched(limits, find, shares.size)


def _shares(delta: float) -> Floats:
    """Return the share of delta of each place in the falling order; they sum to delta."""
    part = delta / len(_BATCHES)
    return np.concatenate([np.full(size, part / size) for size in _BATCHES])


def drawn_limits(people: People, law: GridNoise) -> Floats:
    """Return upper bounds on the success on all units, without draws, for several axes, (units,).

    Gaussian tables differ from the ideal laws that the Gram matrix is of by `table_error` at most,
    and so does each signed mixture of them, whose weights sum to 1.
    """
    k, error, gram = len(people.codes), 0.0, None
    terms = float(sum(axis.dense.size for axis in law.axes) + k)
    if k <= _MOST_CODES and law.gaussian:
        codes = centred(people.codes, people.weights)
        gram, terms = gaussian_gram(codes, people.weights, law.laws)
        error = table_error(law.laws)
    elif k <= _MOST_CODES:
        gram = product_gram(people.codes, people.weights, law)
    if gram is None or not gram.max() < _MOST_GRAM:  # which NaN is not, either
        return np.ones(people.members.units)
    bound = GramBound(gram, float(people.weights @ people.weights), terms)
    return people.limits(bound, error)


@final
@dataclass(frozen=True)
class Judge:
    """Draws of what is released, and what the posterior after them says of the worlds.

    Attributes:
        law: The released law.
        points: (k, r) distinct worlds: integers around 0, for Gaussians in units of their scales.
        weights: (k,) prior.
        y: (n, r) draws of what is released, likewise.
        rounding: Bound on the rounding error of a posterior probability.
    """

    law: GridNoise
    points: Floats
    weights: Floats
    y: Floats
    rounding: float

    @classmethod
    def draw(cls, people: People, law: GridNoise, n: int) -> Judge:
        """Return n judging draws, by the operating system."""
        worlds = look_up(integer_table(people.weights), system_uniforms(n))
        return cls.at(people, law, worlds, law.at(system_uniforms(n, law.rank)))

    @classmethod
    def at(cls, people: People, law: GridNoise, worlds: Ints, shifts: Ints) -> Judge:
        """Return a judge for (n,) drawn codes and (n, r) noise."""
        codes = centred(people.codes, people.weights)
        scales = law.scales if law.gaussian else np.ones(law.rank)
        points, y = codes / scales, (codes[worlds] + shifts) / scales
        rounding = 4 * ROUNDING * (law.rank + len(codes))
        if law.gaussian:  # of posteriors, and of tables against the ideal law
            rounding = 4 * MixtureReference(points, people.weights).rounding
            rounding += table_error(law.laws)
        return cls(law, points, people.weights, y, rounding)

    def success(self, people: People, units: Ints, shares: Floats, enough: float = 0.0) -> Floats:
        """Return upper bounds on the success on some units, each with its own error.

        Half of it is for Hoeffding's bound, which costs nothing: mean + width sqrt(log(1 / error)
        / 2 n) for n draws on an interval of width 1/2. Whoever is within `enough` by it keeps it;
        the other half is for a better one.
        """
        right = np.minimum(self.right(people, units) + self.rounding, 1.0)
        slack = 0.5 * np.sqrt(np.log(2.0 / shares) / (2.0 * len(right))) + ROUNDING
        quick = np.minimum(right.mean(axis=0) + slack, 1.0)
        for i in np.flatnonzero(~(quick <= enough)):
            column = np.ascontiguousarray(right[:, i])
            quick[i] = min(quick[i], upper_mean(column, 0.5, 1.0, float(shares[i]) / 2))
        return np.asarray(quick)

    def right(self, people: People, units: Ints) -> Floats:
        """Return max(P(in | y), P(out | y)) for every draw and some units, (n, units)."""
        given = people.inside(units) / self.weights[:, None]
        if self._posterior is None:
            found = self._averages(given)
        else:
            found = np.clip(self._posterior @ given, 0.0, 1.0)
        return np.asarray(np.maximum(found, 1.0 - found))

    @cached_property
    def _posterior(self) -> Floats | None:
        """(n, k) probabilities of the worlds after every draw, where these are not too many."""
        k = len(self.weights)
        return self._averages(np.eye(k)) if len(self.y) * k <= _MOST_POSTERIOR else None

    def _averages(self, given: Floats) -> Floats:
        """Return the means of (k, u) values under the posterior after every draw, (n, u)."""
        if self.law.gaussian:
            return posterior_membership(self.points, self.weights, given, self.y)
        return self._tables(given)

    def _tables(self, given: Floats) -> Floats:
        """The same by the tables' own likelihoods."""
        codes, out = self.points.astype(np.int64), np.empty((len(self.y), given.shape[1]))
        logs = [axis.log_mass for axis in self.law.axes]
        for rows in blocks(len(self.y), len(codes)):
            y = self.y[rows].astype(np.int64)
            kernel = np.repeat(np.log(self.weights)[None], len(y), axis=0)
            for c, (low, log_q) in enumerate(logs):
                kernel += log_q.take(y[:, [c]] - codes[:, c] - low, mode="clip")
            out[rows] = _averaged(kernel, given)
        return out


def posterior_membership(points: Floats, weights: Floats, masks: Floats, y: Floats) -> Floats:
    """Return P(unit in the world | y), (n, units), for unit Gaussian kernels at (m, r) points.

    `masks` (m, units) says who is in which world: for worlds that were merged, how probably.
    """
    half, log_p = 0.5 * np.square(points).sum(axis=1), np.log(weights)
    out = np.empty((len(y), masks.shape[1]))
    for rows in blocks(len(y), len(points)):
        out[rows] = _averaged(y[rows] @ points.T + (log_p - half), masks)
    return out


def _averaged(logs: Floats, values: Floats) -> Floats:
    """Return the means of (m, k) values under (n, m) unnormalised log probabilities, (n, k)."""
    logs -= logs.max(axis=1, keepdims=True)
    np.exp(logs, out=logs)
    logs /= logs.sum(axis=1, keepdims=True)
    return np.clip(logs @ values, 0.0, 1.0)
