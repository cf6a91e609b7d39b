"""Success on a person: how often the best attack tells whether a unit is in the drawn world."""

from __future__ import annotations

import numpy as np

from rpac._base.checks import refuse
from rpac._base.entropy import ROUNDING
from rpac._base.types import Bools, Floats, Ints
from rpac.budget import Budget, SuccessRate
from rpac.certificate.atoms import centred
from rpac.certificate.confidence import upper_mean
from rpac.certificate.exact import lattice_law
from rpac.certificate.references import MixtureReference, blocks
from rpac.noise.base import Law, integer_table, look_up, system_uniforms
from rpac.noise.grid import GridNoise
from rpac.worlds.outputs import Outputs

_MOST_MASKS = 1 << 19
"""Worlds times units up to which every certificate looks at the units unasked."""


def on_a_person(outputs: Outputs, budget: Budget | None) -> bool:
    """Whether a budget speaks of one unit's membership: a success rate on half-samples."""
    return isinstance(budget, SuccessRate) and outputs.masks is not None and budget.prior == 0.5


def worst_unit(
    outputs: Outputs, noise: Law, delta: float, draws: int | None, *, asked: bool
) -> float | None:
    """Return a bound on the best attack's success on the most exposed unit, where it applies."""
    masks = outputs.masks
    if masks is None or type(noise) is not GridNoise or (draws == 0 and noise.rank > 1):
        return None
    if not asked and (masks.size > _MOST_MASKS or not (noise.gaussian or noise.rank == 1)):
        return None
    found = unit_success(outputs.codes(noise), outputs.weights, masks, noise, delta=delta)
    return float(found.max())


def unit_success(
    codes: Ints, weights: Floats, masks: Bools, law: GridNoise, *, delta: float, draws: int = 20_000
) -> Floats:
    """Return upper bounds on the Bayes success for every unit, (units,).

    The best guess after y is right with probability max(P(in | y), P(out | y)); its mean is the
    success. By draws each unit's bound errs with delta / units, so all hold together (union bound).

    Args:
        codes: (m, r) integer worlds.
        weights: (m,) prior.
        masks: (m, units) who is in which world.
        law: The released law. One axis: an exact sum. Several: discrete Gaussians, by draws.
        delta: Probability that some bound is below the truth; for one axis 0.
        draws: Judging draws, for several axes.
    """
    if law.rank == 1:
        return _exact(codes[:, 0], weights, masks, law)
    if not law.gaussian:
        raise refuse("Gaussian tables for several axes", repr(law), 'Use family="gaussian".')
    worlds = look_up(integer_table(weights), system_uniforms(draws))
    points = centred(codes, weights) / law.scales
    y = points[worlds] + law.at(system_uniforms(draws, law.rank)) / law.scales
    inside = posterior_membership(points, weights, masks, y)
    rounding = 4 * MixtureReference(points, weights).rounding  # of posteriors; tables add < 1e-13
    right = np.minimum(np.maximum(inside, 1 - inside) + rounding, 1.0)
    share = delta / masks.shape[1]
    return np.array([upper_mean(right[:, u], 0.5, 1.0, share) for u in range(masks.shape[1])])


def _exact(codes: Ints, weights: Floats, masks: Bools, law: GridNoise) -> Floats:
    """Return sum_y max(P(y, in), P(y, out)) for every unit, exactly."""
    axis = law.axes[0]
    dense = axis.dense
    starts, whole = lattice_law(codes, weights, axis)
    if not whole.size:
        return np.ones(masks.shape[1])
    right = np.zeros(masks.shape[1])
    for cells in blocks(whole.size, len(codes)):
        y = np.arange(whole.size)[cells]
        at = y[:, None] - starts
        kernel = np.where((at >= 0) & (at < dense.size), dense[np.clip(at, 0, dense.size - 1)], 0.0)
        inside = (kernel * weights) @ masks
        right += np.maximum(inside, whole[cells, None] - inside).sum(axis=0)
    return np.minimum(right + ROUNDING * len(codes), 1.0)


def posterior_membership(points: Floats, weights: Floats, masks: Bools, y: Floats) -> Floats:
    """Return P(unit in the world | y), (n, units), for unit Gaussian kernels at (m, r) points."""
    half, log_p = 0.5 * np.square(points).sum(axis=1), np.log(weights)
    out = np.empty((len(y), masks.shape[1]))
    for rows in blocks(len(y), len(points)):
        kernel = y[rows] @ points.T + (log_p - half)
        kernel -= kernel.max(axis=1, keepdims=True)
        np.exp(kernel, out=kernel)
        kernel /= kernel.sum(axis=1, keepdims=True)
        out[rows] = kernel @ masks
    return np.clip(out, 0.0, 1.0)
