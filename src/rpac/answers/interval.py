"""Error bars from the law that was released: quantiles of how far an answer is off, never a guess.

What is released of world i is z_i + e_i + B: the answer, what the grid or a dropped direction takes
away, and the noise. So the two intervals are quantiles of two mixtures over the worlds: of e_i + B
(against the answer on the drawn world) and of z_i + e_i + B - mean (against the mean answer of all
worlds). For code books the pairs (world, word) have a joint law, whose quantiles they are.

All of it follows from outputs and law: facts of the public pool, never of the drawn world.
"""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from rpac._base.types import Floats, Json
from rpac.noise.base import Releasable
from rpac.noise.codebook import Codebook
from rpac.noise.grid import GridNoise
from rpac.worlds.outputs import Outputs

LOW, HIGH = 0.025, 0.975
"""What lies between these quantiles holds 95 %."""
NORMAL = 1.959964
"""Half of that, of a Gaussian, in standard deviations."""
_SMOOTH = 64
"""Steps in a standard deviation from which a discrete Gaussian is one without steps."""
_NOTHING = 1e-3
"""Share of the noise's deviation that rounding to the grid may have unseen."""
_CELLS = 1 << 20
"""Numbers that are worked on together."""
_EXACT, _GATHERED = 1 << 20, 1 << 23
"""Numbers of all worlds up to which each world is a component of its own; up to which neighbours
are gathered into `_FEW`. The mixture of an answer longer than that is taken for a Gaussian."""
_FEW = 16
_CLOSE = 1e-6
"""By how much the probability of an end may be off."""
_PAIRS = 1 << 25
"""Errors of (world, word) pairs that are sorted; of larger books Chebyshev's inequality is used."""
_CONVOLVED = 1 << 12
"""Axes times numbers up to which tables on turned axes are convolved."""
_BINS = 64
"""Cells in a standard deviation of such a convolution."""


def ends(outputs: Outputs, law: Releasable) -> Json:
    """Return what is kept of a law's error bars; nothing where deviations say it all.

    Returns:
        "ends" and "around": each (2, d), the 2.5 % and the 97.5 % quantile of what is released less
        the answer on the drawn world, and less the mean answer of all worlds.
    """
    if isinstance(law, Codebook):
        return _of_words(outputs, law)
    if not isinstance(law, GridNoise):
        return {}
    lost = _lost(outputs, law)
    if lost is None and law.gaussian and law.scales.min() >= _SMOOTH:
        return {}
    plan = outputs.planning
    taken = np.zeros((1, outputs.dim)) if lost is None else lost
    away = plan.values - plan.weights @ plan.values + (0.0 if lost is None else lost)
    ones = np.ones(1) if lost is None else plan.weights
    return {"ends": _noisy(taken, ones, law), "around": _noisy(away, plan.weights, law)}


def around(outputs: Outputs, deviations: Floats) -> Floats:
    """Return (2, d) quantiles of answers of worlds, less their mean, with Gaussian noise."""
    plan = outputs.planning
    return mixture(plan.values, plan.weights, np.asarray(deviations), plan.weights @ plan.values)


# --- noise ----------------------------------------------------------------------------------------


def _lost(outputs: Outputs, law: GridNoise) -> Floats | None:
    """Return (m, d) what release takes away from each world before noise; None if nothing."""
    whole = law.basis.shape[0] == law.rank
    if whole and law.gaussian and law.scales.min() >= _SMOOTH:
        return None  # every direction has noise of its own, far wider than its steps
    values = outputs.planning.values
    lost = law.decode(law.encode(values)) - values
    seen = np.abs(lost).max(axis=0) > _NOTHING * np.sqrt(law.variances_of_numbers)
    seen &= ~outputs.constant
    return np.where(seen, lost, 0.0) if seen.any() else None


def _noisy(points: Floats, weights: Floats, law: GridNoise) -> Floats:
    """Return (2, d) quantiles of (m, d) points with the noise of a law on each number."""
    deviations = np.sqrt(law.variances_of_numbers)
    if law.span is not None or points.size > _CELLS:  # many axes to a number, or very many numbers
        return mixture(points, weights, deviations, -law.mean)
    found = np.zeros((2, points.shape[1]))
    turned = np.count_nonzero(np.abs(law.basis) > 1e-12) <= _CONVOLVED
    for c, row in enumerate(law.basis):
        axes = np.flatnonzero(np.abs(row) > 1e-12)
        smooth = bool((law.scales[axes] >= _SMOOTH).all())  # NaN: no Gaussian
        if not len(axes) or smooth or (len(axes) > 1 and not turned):
            mean = -law.mean[[c]]
            found[:, [c]] = mixture(points[:, [c]], weights, deviations[[c]], mean)
            continue
        tables = [
            (row[a] * law.steps[a] * law.laws.each[a].offsets, law.laws.each[a].weights)
            for a in axes
        ]
        cell = deviations[c] / _BINS if len(tables) > 1 else 0.0
        room = len(tables) * cell / 2 * np.array([-1.0, 1.0])  # by which atoms may have moved
        bare = deviations[c] == 0.0  # every axis moves by one number alone: no cell could be found
        atoms, mass = (law.mean[[c]], np.ones(1)) if bare else _sum_of(tables, cell)
        found[:, c] = room + _stepped(points[:, c], weights, atoms, mass)
    return found


def _sum_of(tables: list[tuple[Floats, Floats]], cell: float) -> tuple[Floats, Floats]:
    """Return atoms and masses of a sum of independent tables, on cells; of one its own."""
    if len(tables) == 1:
        atoms, mass = tables[0]
        order = np.argsort(atoms)
        return atoms[order], mass[order]
    spread = []
    for atoms, mass in tables:
        at = np.rint(atoms / cell).astype(np.int64)
        spread.append((int(at.min()), np.bincount(at - at.min(), mass)))
    first = sum(start for start, _ in spread)
    whole = reduce(np.convolve, (mass for _, mass in spread))
    return np.asarray((first + np.arange(len(whole))) * cell), np.asarray(whole)


def _stepped(points: Floats, weights: Floats, atoms: Floats, mass: Floats) -> Floats:
    """Return (2,) quantiles of points with noise of a table, by bisection, rounded outwards."""
    points, own = np.unique(points, return_inverse=True)
    weights = np.asarray(np.bincount(own, weights), np.float64)
    below = np.concatenate([[0.0], np.cumsum(mass)])
    low = np.full(2, points[0] + atoms[0] - 1e-9 * (1 + abs(atoms[0])))
    high = np.full(2, points[-1] + atoms[-1])
    aims = np.array([LOW, HIGH])
    for _ in range(64):
        middle = (low + high) / 2
        reached = below[np.searchsorted(atoms, middle[:, None] - points, side="right")] @ weights
        short = reached < aims
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.array([low[0], high[1]])


def mixture(points: Floats, weights: Floats, deviations: Floats, center: Floats) -> Floats:
    """Return (2, d) quantiles of (m, d) points less a (d,) centre, with Gaussian noise.

    Newton's steps, held inside a bracket that every third step halves.
    """
    m, d = points.shape
    size, found = max(1, _CELLS // m), np.empty((2, d))
    for a in range(0, d, size):
        part = slice(a, a + size)
        x, w = points[:, part] - center[part], weights[:, None]
        sd = np.maximum(deviations[part], 1e-12 * (np.abs(x).max(axis=0) + 1e-100))[None]
        if m * d > _GATHERED:
            mean = (w * x).sum(axis=0)
            half = NORMAL * np.sqrt((w * np.square(x - mean)).sum(axis=0) + np.square(sd[0]))
            found[:, part] = mean - half, mean + half
            continue
        if m * d > _EXACT and m > _FEW:
            x, w, sd = _gathered(x, np.broadcast_to(w, x.shape), sd)
        found[:, part] = _solved(x, w, sd)
    return found


def _solved(x: Floats, w: Floats, sd: Floats) -> Floats:
    aims = np.array([[LOW], [HIGH]])
    low = np.broadcast_to((x - 2 * sd).min(axis=0), (2, x.shape[1]))
    high = np.broadcast_to((x + 2 * sd).max(axis=0), low.shape)
    mean = (w * x).sum(axis=0)
    wide = np.sqrt((w * (np.square(x - mean) + np.square(sd))).sum(axis=0))
    t = np.clip(mean + np.array([[-NORMAL], [NORMAL]]) * wide, low, high)
    for turn in range(1, 150):
        z = (t[:, None] - x) / sd
        height = np.exp(-0.5 * np.square(z)) / math.sqrt(2 * math.pi)
        off = (w * _below(z, height)).sum(axis=1) - aims
        slope = (w / sd * height).sum(axis=1)
        low, high = np.where(off < 0, t, low), np.where(off < 0, high, t)
        step = t - off / np.maximum(slope, 1e-290)
        inside = (low < step) & (step < high) & (turn % 3 > 0)
        after = np.where(inside, step, (low + high) / 2)
        done = (np.abs(off) <= _CLOSE) | (high - low <= 1e-9 * wide)
        if done.all():
            break
        t = np.where(done, t, after)
    outwards = np.stack([low[0], high[1]])
    return np.where(np.abs(off) <= _CLOSE, t, outwards)


def _below(z: Floats, height: Floats) -> Floats:
    """Return the standard normal's distribution function, given its density, to within 7.5e-8.

    Abramowitz and Stegun, 26.2.17: ten times as fast as an exact one, for all worlds at once.
    """
    t = 1.0 / (1.0 + 0.2316419 * np.abs(z))
    tail = 1.330274429 * t - 1.821255978
    for factor in (1.781477937, -0.356563782, 0.319381530):
        tail = tail * t + factor
    return np.asarray(np.where(z > 0, 1.0 - height * t * tail, height * t * tail))


def _gathered(x: Floats, w: Floats, sd: Floats) -> tuple[Floats, Floats, Floats]:
    """Return points that stand for neighbours: their mean, mass and deviation, noise included."""
    order = np.argsort(x, axis=0)
    x, w = np.take_along_axis(x, order, 0), np.take_along_axis(w, order, 0)
    starts = np.linspace(0, len(x), _FEW, endpoint=False).astype(int)
    mass = np.add.reduceat(w, starts, axis=0)
    mean = np.add.reduceat(w * x, starts, axis=0) / mass
    near = np.repeat(mean, np.diff([*starts, len(x)]), axis=0)
    inside = np.add.reduceat(w * np.square(x - near), starts, axis=0) / mass
    return mean, mass, np.sqrt(np.square(sd) + inside)


# --- code words -----------------------------------------------------------------------------------


def _of_words(outputs: Outputs, law: Codebook) -> Json:
    """Return the quantiles over (world, word) pairs; nothing of books too large to list them."""
    joint = (outputs.weights[:, None] * law.matrix).ravel()
    if joint.size * outputs.dim > _PAIRS:
        return {}
    said = np.flatnonzero(joint)
    worlds, words = np.divmod(said, len(law.words))
    errors = law.words[words] - outputs.values[worlds]
    mass = np.asarray(np.bincount(words, joint[said], len(law.words)), np.float64)
    return {
        "ends": weighted(errors, joint[said]),
        "around": weighted(law.words - outputs.center, mass),
    }


def weighted(values: Floats, mass: Floats) -> Floats:
    """Return (2, d) quantiles of (n, d) values of these masses: both ends may be taken.

    >>> weighted(np.array([[0.0], [1.0], [9.0]]), np.array([0.6, 0.39, 0.01])).tolist()
    [[0.0], [1.0]]
    """
    order = np.argsort(values, axis=0)
    reached = np.cumsum(mass[order], axis=0)
    last = len(values) - 1
    first = np.minimum((reached <= LOW).sum(axis=0), last)
    end = np.minimum((reached < HIGH).sum(axis=0), last)
    both = np.stack([first, end])
    return np.take_along_axis(np.take_along_axis(values, order, 0), both, 0)
