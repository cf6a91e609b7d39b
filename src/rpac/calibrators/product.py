"""Independent lattice noise on the axes of a public basis, one multiplier across all of them.

Independent noise satisfies MI <= sum of the axes' MI, so the problem splits: at a common mu every
axis solves its own lattice game, and mu alone allocates the budget.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rpac._base.checks import refuse
from rpac._base.entropy import entropy
from rpac._base.types import Floats
from rpac.calibrators.base import single_count
from rpac.calibrators.budget_search import DELTA, expected_interval, meet
from rpac.calibrators.closed_form import auto_pac_variances, orthonormal, principal
from rpac.calibrators.lattice import LatticeGame, gaussian_start
from rpac.calibrators.utility import Utility
from rpac.certificate.atoms import distinct
from rpac.certificate.evidence import grid_leakage
from rpac.certificate.references import convolve
from rpac.certificate.sampled import log_posterior_loss
from rpac.noise.base import integer_table, look_up, study_uniforms
from rpac.noise.grid import GridNoise
from rpac.noise.lattice import LatticeNoise
from rpac.worlds.outputs import Outputs

_HALF = 120


def public_basis(outputs: Outputs, basis: Any) -> Floats:
    """Return (d, r) orthonormal axes: "principal", "independent", or a matrix of one's own."""
    axes, _ = principal(outputs)
    if not isinstance(basis, str):
        return orthonormal(basis, outputs.dim)
    if basis == "principal":
        return axes
    if basis == "independent":
        along = (outputs.values - outputs.center) @ axes
        return np.asarray(axes @ independent_rotation(along, outputs.weights))
    raise refuse('basis "principal", "independent" or a matrix', repr(basis), "Choose one.")


def independent_rotation(points: Floats, weights: Floats) -> Floats:
    """Return the rotation of (m, r) points with the largest fourth cumulants (Jacobi sweeps)."""
    r = points.shape[1]
    turn = np.eye(r)
    x = points.copy()
    angles = np.linspace(-math.pi / 4, math.pi / 4, 65)
    for _ in range(12):
        before = turn.copy()
        for i in range(r):
            for j in range(i + 1, r):
                best = max(angles, key=lambda t: _peakedness(x[:, [i, j]], weights, t))
                c, s = math.cos(best), math.sin(best)
                spin = np.array([[c, -s], [s, c]])
                x[:, [i, j]] = x[:, [i, j]] @ spin
                turn[:, [i, j]] = turn[:, [i, j]] @ spin
        if np.abs(turn - before).max() < 1e-6:
            break
    return turn


def _peakedness(pair: Floats, weights: Floats, angle: float) -> float:
    c, s = math.cos(angle), math.sin(angle)
    y = pair @ np.array([[c, -s], [s, c]])
    power = weights @ np.square(y)
    fourth = weights @ y**4 / np.maximum(np.square(power), 1e-300) - 3
    # Negative cumulants are clusters: the fourth moment tells them from a normal as well.
    return float(np.square(fourth).sum()) - 1e-3 * float(np.log(np.maximum(power, 1e-300)).sum())


def product_equilibrium(
    outputs: Outputs, nats: float, basis: Any, utility: Utility, seed: int
) -> GridNoise:
    """Return independent lattice noise whose axes' leakages sum to at most the budget."""
    axes = public_basis(outputs, basis)
    along = (outputs.values - outputs.center) @ axes
    spectrum = outputs.weights @ np.square(along)
    scales = np.sqrt(auto_pac_variances(np.maximum(spectrum, 1e-12 * spectrum.max()), nats))
    games, starts, steps = [], [], []
    for c, scale in enumerate(scales):
        reach = 6.0 * scale + float(np.ptp(along[:, c]))
        steps.append(reach / _HALF)
        k = np.arange(-_HALF, _HALF + 1)
        cost = utility.cost((k * steps[c])[:, None] * axes[:, c])
        codes = np.rint(along[:, c] / steps[c]).astype(np.int64)
        games.append(LatticeGame.of(codes, outputs.weights, cost))
        starts.append(gaussian_start(_HALF, max(float(scale) / steps[c], 0.3)))

    first = 2 * float(np.mean([np.exp(s) @ g.cost for s, g in zip(starts, games, strict=True)]))
    solved = list(starts)

    def at(log_mu: float) -> tuple[GridNoise, float]:
        total = 0.0
        for c, game in enumerate(games):
            solved[c], mi = game.solve(math.exp(log_mu) * first, solved[c])
            total += mi
        k = np.arange(-_HALF, _HALF + 1)
        pairs = zip(steps, solved, strict=True)
        tables = tuple(LatticeNoise(step, k, np.exp(log_q)) for step, log_q in pairs)
        return GridNoise(axes, outputs.center, tables), total

    def gap(log_mu: float) -> float:
        law, total = at(log_mu)
        return min(total, expected_joint(outputs, law, seed)) - nats

    return at(meet(gap, 1e-3 * nats, width=1e-3))[0]


def expected_joint(outputs: Outputs, law: GridNoise, seed: int) -> float:
    """Return what the joint certificate will very likely say at most: it reclaims slack."""
    codes, p = distinct(law.encode(outputs.values), outputs.weights)
    judging = int(np.clip(4e7 // codes.size, 5_000, 400_000))
    rng = np.random.default_rng(seed)
    worlds = look_up(integer_table(p), study_uniforms(rng, judging))
    shifts = law.at(study_uniforms(rng, judging, len(law.axes)))
    loss = log_posterior_loss(codes, p, law, worlds, shifts)
    scatter = 3 * float(loss.std()) * math.sqrt(2 / judging)
    return float(entropy(p) - loss.mean() + expected_interval(loss, 0.0, judging) + scatter)


def expected_table_bound(outputs: Outputs, law: GridNoise, seed: int) -> float:
    """Return what a certificate of independent tables will very likely say at most."""
    codes = law.encode(outputs.values)
    found = grid_leakage(codes, outputs.weights, law, delta=DELTA, draws=0)
    total = min(found.proved.values())
    return total if len(law.axes) == 1 else min(total, expected_joint(outputs, law, seed))


def meet_table(outputs: Outputs, law: GridNoise, nats: float, seed: int) -> GridNoise:
    """Return tables that meet the budget: thinned by scale, or with Gaussian noise added.

    Adding independent noise never raises leakage, scaling may; each answer was evaluated.
    """

    def at(t: float) -> GridNoise:
        whole = single_count(outputs)
        if t <= 0 and not whole:
            axes = tuple(
                LatticeNoise(a.step * math.exp(t / 2), a.offsets, a.weights) for a in law.axes
            )
        else:
            axes = tuple(_blurred(axis, max(math.expm1(t), 0.0)) for axis in law.axes)
        return GridNoise(law.basis, law.center, axes)

    def gap(t: float) -> float:
        return expected_table_bound(outputs, at(t), seed) - nats

    return at(meet(gap, 1e-3 * nats, width=1e-3, slope=nats))


def _blurred(axis: LatticeNoise, share: float) -> LatticeNoise:
    """Return the table plus discrete Gaussian noise of `share` times its variance."""
    scale = math.sqrt(share * float(axis.cov[0, 0])) / axis.step
    if scale < 1e-3:
        return axis
    kernel = LatticeNoise.gaussian(axis.step, scale)
    masses = np.maximum(convolve(axis.dense, kernel.dense), 0.0)
    masses[masses < 1e-15 * masses.max()] = 0.0
    k = np.arange(masses.size) + int(axis.offsets[0] + kernel.offsets[0])
    return LatticeNoise(axis.step, k, masses / masses.sum())
