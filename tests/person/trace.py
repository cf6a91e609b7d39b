"""Releases whose noise is written down: what was released, what it was added to, how large it is.

A release is a function of integers s_t + noise_t. `Trace` takes the sampler's place: it forces the
released integers, and records every s_t and every deviation. Two tables that are led along the same
released integers must end in the same answer to the last bit (or something left beside them), with
the same deviations (or these told), at sum of ((s_t - s'_t) / sigma_t)^2 of at most Delta squared:
then, by composition, no test on all of it does better than on two Gaussians Delta apart.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.stats import norm

from rpac.person import level, mechanism
from rpac.person.contributions import Column, Linear, Quantile, Rows, Term
from rpac.person.split import spent, split


class Seen(AssertionError):
    """Somebody was told from nobody, beyond the claim."""


@dataclass
class Trace:
    """Forces released integers; those that are not given are drawn for study, and kept."""

    forced: list = field(default_factory=list)
    rng: np.random.Generator | None = None
    spread: float = 1.0
    sums: list = field(default_factory=list)
    sigmas: list = field(default_factory=list)

    def __call__(self, sigma):
        return _Noise(self, sigma)

    def release(self, s, sigma):
        self.sums.append(s)
        self.sigmas.append(sigma)
        if len(self.sums) > len(self.forced):
            off = 0 if self.rng is None else self.rng.normal() * self.spread
            self.forced.append(int(s) + int(round(off * sigma[0] / sigma[1])))
        return self.forced[len(self.sums) - 1]


@dataclass
class _Noise:
    trace: Trace
    sigma: tuple

    def __radd__(self, s):
        return self.trace.release(s, self.sigma)


def traced(monkeypatch, trace, question, rows, shares):
    """Return what a release gives along a trace."""
    with monkeypatch.context() as patch:
        patch.setattr(level, "rounded_gaussian", trace)
        patch.setattr(mechanism, "rounded_gaussian", trace)
        return mechanism.draw(question, rows, shares)


def distance(monkeypatch, case, rng, spread=1.0):
    """Return the square of the distance of two tables along a random path of releases.

    Raises:
        Seen: If answers or deviations differ though all released integers are the same.
    """
    question, rows, other, shares = case
    first = Trace(rng=rng, spread=spread)
    one = traced(monkeypatch, first, question, rows, shares)
    second = Trace(forced=first.forced)
    two = traced(monkeypatch, second, question, other, shares)
    if first.sigmas != second.sigmas or not same(one, two):
        raise Seen("what was released beside the integers")
    pairs = zip(first.sums, second.sums, first.sigmas, strict=True)
    return sum(((int(a) - int(b)) * s[1] / s[0]) ** 2 for a, b, s in pairs)


def same(one, two):
    """Whether two releases are the same to the last bit."""
    parts = zip(vars(one).values(), vars(two).values(), strict=True)
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in parts)


def hold(monkeypatch, case, rng, paths=3):
    """Raise `Seen` unless a case is within its claim along some random paths."""
    for spread in [0.0, 1.0, 5.0, *(1.0,) * paths][:paths]:
        found = distance(monkeypatch, case, rng, spread)
        if found > min(case[3].delta ** 2, spent(case[3], case[0])) * (1 + 1e-12):
            raise Seen(f"{found**0.5:.4f} in place of {case[3].delta:.4f}")


# --- random questions and neighbours --------------------------------------------------------------


def random_question(rng):
    """Return a small question of any kind."""
    columns = tuple(
        Column(
            f"x{j}", float(rng.choice([0.5, 1, 10])), rng.choice([None, 0.0, 0.0, 3.0]),
            float(rng.choice([1.0, 7.0, 40.0])) if rng.random() < 0.4 else None,
            None if rng.random() < 0.8 else 0.01,
        )
        for j in range(rng.integers(1, 3))
    )  # fmt: skip
    several = len(columns)
    powers = [(1,) * (j + 1) + (0,) * (several - j - 1) for j in range(several)]
    powers += [(2,) + (0,) * (several - 1), (0,) * several, (0,) * several]
    picked = [powers[i] for i in rng.permutation(len(powers))[: rng.integers(1, 4)]]
    terms = tuple(
        Term("t", p, tuple(range(several)) if rng.random() < 0.5 else (),
             once=not any(p) and rng.random() < 0.5, share=float(rng.choice([1.0, 0.1])))
        for p in picked
    )  # fmt: skip
    groups, moves = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    votes = (Quantile(0, float(rng.choice([0.1, 0.5, 0.9])), np.arange(-3.0, 8.0)),)
    return Linear(
        columns, terms, groups, votes if rng.random() < 0.4 else (),
        [1.0, 3.0, None][rng.integers(3)], int(rng.integers(1, 3)), moves,
    )  # fmt: skip


def random_values(rng, shape):
    """Return entries of all sizes: ties, zeros, missing, infinite, beyond every menu."""
    plain = rng.integers(-5, 12, shape).astype(float)
    heavy = np.round(np.exp(rng.normal(2, 3, shape)), 2) * rng.choice([-1, 1], shape)
    odd = rng.choice([0.0, np.nan, np.inf, 1e300, -1e17, 2.0**60, 40.0], shape)
    kind = rng.choice(3, shape, p=[0.6, 0.3, 0.1])
    return np.choose(kind, [plain, heavy, odd])


def random_case(rng, delta=None):
    """Return a question, a table, a neighbour of it, and shares: one unit joins, leaves, changes."""  # noqa: E501
    question = random_question(rng)
    n, units = int(rng.integers(1, 20)), int(rng.integers(1, 8))
    rows = Rows(
        rng.integers(0, units, n), rng.integers(0, question.groups, n),
        random_values(rng, (n, len(question.columns))),
    )  # fmt: skip
    mine = rows.units == rng.choice(rows.units)
    groups, values = rows.groups[~mine], rows.values[~mine]
    units = rows.units[~mine]
    if question.moves == 2:
        extra = int(rng.integers(0, 6))
        units = np.concatenate([units, np.full(extra, rows.units[mine][0])])
        groups = np.concatenate([groups, rng.integers(0, question.groups, extra)])
        values = np.concatenate([values, random_values(rng, (extra, values.shape[1]))])
    order = rng.permutation(len(units))
    other = Rows(units[order], groups[order], values[order])
    pair = (rows, other) if rng.random() < 0.5 else (other, rows)
    return question, *pair, split(delta or float(rng.choice([0.25, 1.0, 3.0])), question)


def alone(rows, delta=0.25, /, **changes):
    """Return the case of unit 0 that joins or leaves, with changes to a plain question."""
    plain = Linear((Column("x", 1.0, 0.0, 10.0),), (Term("sum", (1,)),))
    question = replace(plain, **changes)
    kept = rows.units != 0
    other = Rows(rows.units[kept], rows.groups[kept], rows.values[kept])
    return question, rows, other, split(delta, question)


# --- exact curves ---------------------------------------------------------------------------------


def gaussian_delta(epsilon, d):
    """Return the largest P(A) - e^epsilon Q(A) of two unit Gaussians d apart."""
    return norm.cdf(-epsilon / d + d / 2) - np.exp(epsilon) * norm.cdf(-epsilon / d - d / 2)


def rounded_masses(s, sigma, grid):
    """Return the masses of s + round(sigma Z) on a grid of integers."""
    below, above = (grid - 0.5 - s) / sigma, (grid + 0.5 - s) / sigma
    flip = below > 0  # differences of upper tails, where lower ones have no digits left
    return np.where(flip, norm.sf(below) - norm.sf(above), norm.cdf(above) - norm.cdf(below))


def discrete_masses(s, sigma, grid):
    """Return the masses of the discrete Gaussian around s, another law."""
    weights = np.exp(-0.5 * np.square((grid - s) / sigma))
    return weights / weights.sum()


def hockey_stick(p, q, epsilons):
    """Return, for each epsilon, the largest P(A) - e^epsilon Q(A) over all events."""
    return np.array([np.maximum(p - np.exp(e) * q, 0).sum() for e in epsilons])
