"""Checks for sources, statistics, noises, references, calibrators and attacks of your own.

Each draws from a fixed seed and raises `ContractError` with what it saw. Statistical checks use
six standard errors: a right object fails about once in 10^9 runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from rpac._base.checks import refuse
from rpac._base.hashing import digest
from rpac._base.types import Floats
from rpac.attack.base import Attack, Game, Play
from rpac.calibrators.base import Calibrator
from rpac.errors import ContractError
from rpac.front.certify import certify
from rpac.noise.base import Noise
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import tabulate
from rpac.oracles import quadrature_nats
from rpac.questions.statistics import Statistic
from rpac.worlds.outputs import Outputs
from rpac.worlds.source import Source, Subsets

_DRAWS = 40_000


def _demand(condition: Any, expected: str, got: object) -> None:
    if not bool(condition):
        move = "Fix it before use: a certificate would not hold."
        raise refuse(expected, got, move, ContractError)


def check_source(source: Source) -> None:
    """Check that a source has at least two worlds, a valid prior, and keeps to its seed."""
    worlds, again = source.worlds(0), source.worlds(0)
    _demand(len(worlds) >= 2, "at least 2 worlds", len(worlds))
    prints = [digest(str(type(w)), repr(w)) for w in worlds]
    _demand(
        prints == [digest(str(type(w)), repr(w)) for w in again],
        "equal worlds for equal seeds",
        f"two calls of {source!r} that differ",
    )
    if source.weights is not None:
        p = np.asarray(source.weights)
        _demand(
            p.shape == (len(worlds),) and (p > 0).all() and abs(p.sum() - 1) < 1e-9,
            "positive weights that sum to 1, one for each world",
            f"{p.size} for {len(worlds)} worlds, with the sum {p.sum():.9g}",
        )
    if isinstance(source, Subsets):
        members = source.members
        ones = np.ones((len(members), 1))
        counts = np.concatenate([members.sums(ones, units) for units in members.blocks()])
        _demand(
            (2 * counts == len(members)).all(),
            "every unit in half of the worlds",
            f"between {counts.min():g} and {counts.max():g} of {len(members)}",
        )


def check_statistic(statistic: Statistic, table: Any) -> None:
    """Check that a statistic answers as announced on every world, and from every kind of table.

    Args:
        statistic: What to check.
        table: A data frame with the columns it reads.
    """
    source = Subsets(table, unit="rows", worlds=2)
    form, frame = statistic.announce(source), source.frame
    for kind, world in (("a half-sample", source.worlds(0)[0]), ("no rows", frame[:0].to_native())):
        answer = np.asarray(statistic(world)).ravel()
        announced = f"{len(form.labels)} numbers of {kind}, as announced"
        _demand(answer.size == len(form.labels), announced, f"{answer.size} of {statistic!r}")
        _demand(np.isfinite(answer).all(), f"finite numbers of {kind}", f"{statistic!r} without")
        fits = not form.whole or answer.dtype.kind in "biu"
        _demand(fits, f"whole numbers of {kind}, as announced", f"{answer.dtype} data")
    readers = {"pandas": frame.to_pandas, "polars": frame.to_polars, "pyarrow": frame.to_arrow}
    first = np.asarray(statistic(table))
    for name, convert in readers.items():
        same = find_spec(name) is None or np.array_equal(first, statistic(convert()))
        _demand(same, f"the same numbers again, from {name} too", f"others of {statistic!r}")


def check_noise(noise: Noise, seed: int = 0) -> None:
    """Check that samples, moments and log density of a noise are of one normalised law."""
    rng = np.random.default_rng(seed)
    draws = noise.sample(_DRAWS, rng)
    _demand(draws.shape == (_DRAWS, noise.dim), f"samples of shape (n, {noise.dim})", draws.shape)
    energy = np.square(draws).sum(axis=1)
    _near(energy, noise.power, "samples with E|B|^2 = power")
    mean = draws.mean(axis=0)
    _near(energy, float(np.trace(noise.cov) + mean @ mean), "a covariance that fits the samples")
    log_q = noise.log_density(draws)
    bad = np.count_nonzero(~np.isfinite(log_q))
    _demand(not bad, "a finite log density at every sample", f"{bad} of {_DRAWS} that are not")
    cells, first, counts = np.unique(draws, axis=0, return_index=True, return_counts=True)
    if len(cells) < _DRAWS // 2:  # a lattice: masses are probabilities
        mass = np.exp(log_q[first])
        _demand(mass.sum() <= 1 + 1e-9, "masses that sum to at most 1", mass.sum())
        error = np.abs(counts / _DRAWS - mass) / np.sqrt(mass / _DRAWS + 1 / _DRAWS**2)
        _demand(error.max() < 7, "samples as often as their mass says", f"{error.max():.1f} s.e.")
    else:  # a density: for any normalised g, E_q[g / q] = 1
        narrow = GaussianNoise(noise.cov / 2)
        _near(np.exp(narrow.log_density(draws) - log_q), 1.0, "a density that integrates to 1")


def check_reference(
    log_density: Callable[[Floats], Floats], center: Any, cov: Any, seed: int = 0
) -> None:
    """Check that a density integrates to at most 1, by importance sampling.

    Args:
        log_density: Of (n, d) points.
        center: (d,) where its mass lies.
        cov: (d, d) how far that mass spreads; the proposal is twice as wide.
        seed: Study randomness.
    """
    wide = GaussianNoise(4.0 * np.atleast_2d(np.asarray(cov, float)))
    shift = wide.sample(_DRAWS, np.random.default_rng(seed))
    ratio = np.exp(log_density(shift + np.asarray(center, float)) - wide.log_density(shift))
    slack = 6 * ratio.std() / np.sqrt(_DRAWS)
    _demand(
        ratio.mean() <= 1 + slack,
        "a reference that integrates to at most 1",
        f"{ratio.mean():.4f} +- {slack:.4f}",
    )


def check_calibrator(
    calibrator: Calibrator,
    outputs: Outputs,
    budgets: Sequence[float] = (0.1, 0.5, 1.5),
    *,
    tolerance: float = 0.01,
) -> None:
    """Check that a calibrator repeats itself, follows its budget, and asks less for more.

    Args:
        calibrator: What to check.
        outputs: Finite worlds to check it on; budgets should lie below their entropy.
        budgets: Increasing, in nats.
        tolerance: By how much power may rise with the budget, relative.
    """
    powers = []
    for nats in budgets:
        first, second = (calibrator.propose(outputs, nats) for _ in range(2))
        same = first.describe() == second.describe()
        _demand(same, "equal noise for equal calls", f"{first!r}, then {second!r}")
        _demand(first.power > 0, "noise of positive power", first.power)
        law = tabulate(outputs, first)
        bound = certify(outputs, law).bound
        if bound > nats:  # an unlucky draw is one in hundreds; two in a row are a fault
            bound = certify(outputs, law).bound
        _demand(bound <= nats, f"a certified bound of at most {nats} nats", f"{bound:.6g}")
        powers.append(first.power)
    falls = all(b <= a * (1 + tolerance) for a, b in zip(powers, powers[1:], strict=False))
    _demand(falls, "power that falls as the budget grows", [f"{p:.4g}" for p in powers])


def check_attack(attack: Attack, seed: int = 0) -> None:
    """Check that an attack never claims more than the truth: where nothing leaks, and on a bit.

    Args:
        attack: An `rpac.attack.Attack` that plays the game it is given.
        seed: Study randomness.
    """
    masks = np.array([[True, False, True, True], [False, True, True, False]])
    outputs = Outputs([[-1.0], [1.0]], masks=masks)
    silent = Game(outputs, 1.0, lambda worlds, rng: rng.standard_normal(len(worlds)))
    bit = Game(outputs, 1.0)
    for game, truth in ((silent, 0.0), (bit, quadrature_nats([-1, 1], [0.5, 0.5], 1.0))):
        found = attack.run(Play(game, 4_000, seed), 1e-6)
        limits = f"{found.estimate:.6g} outside [{found.low:.6g}, {found.high:.6g}]"
        _demand(found.low <= found.estimate <= found.high, "limits around the estimate", limits)
        _demand(
            not found.covered or found.nats <= truth,
            f"at most the true {truth:.6g} nats",
            f"{found.nats:.6g}",
        )


def _near(draws: Floats, value: float, expected: str) -> None:
    slack = 6 * draws.std() / np.sqrt(draws.size) + 1e-9 * abs(value)
    _demand(abs(draws.mean() - value) <= slack, expected, f"{draws.mean():.6g} against {value:.6g}")
