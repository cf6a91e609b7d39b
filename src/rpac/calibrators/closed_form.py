"""Privatizers in closed form, each exactly as it is defined. All end in `meet_above`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from rpac._base.checks import array, number, refuse
from rpac._base.types import Floats
from rpac.calibrators.base import Calibrator
from rpac.calibrators.budget_search import meet_above
from rpac.noise.base import integer_table, look_up, study_uniforms
from rpac.noise.gaussian import GaussianNoise
from rpac.worlds.outputs import Outputs
from rpac.worlds.span import Span


def principal(outputs: Outputs) -> tuple[Floats, Floats]:
    """Return (basis, variances), (d, r) and (r,): the directions in which outputs differ."""
    if outputs.kind == "label":
        raise refuse(
            "numeric outputs", repr(outputs), 'Use method="equilibrium", made for labels too.'
        )
    plan = outputs.planning
    shifted = (plan.values - plan.weights @ plan.values) * np.sqrt(plan.weights)[:, None]
    left, scales, rows = np.linalg.svd(shifted, full_matrices=False)
    rows *= signs(left)[:, None]
    keep = scales > max(shifted.shape) * np.finfo(float).eps * np.abs(plan.values).max()
    if not keep.any():
        raise refuse(
            "outputs that differ between worlds",
            f"the same output in all {len(plan.values)}",
            "Publish it: it says nothing about which world was drawn.",
        )
    return rows[keep].T, np.square(scales[keep])


def signs(along: Floats) -> Floats:
    """Return +-1 for each axis by (m, r) worlds along it, which has the largest on its side.

    Worlds are the same in all coordinates, so that a search finds the same noise in any of them.
    """
    return np.asarray(np.sign(along[np.abs(along).argmax(axis=0), np.arange(along.shape[1])]))


def orthonormal(basis: Any, dim: int) -> Floats:
    """Return a basis of one's own, (d, r), checked to have orthonormal columns."""
    given = array(basis, "basis", 2)
    if given.shape[0] != dim or not np.allclose(given.T @ given, np.eye(given.shape[1])):
        raise refuse(
            f"orthonormal columns of length {dim}",
            f"{str(given.tolist())[:80]} of shape {given.shape}",
            "Use numpy.linalg.qr.",
        )
    return given


def auto_pac_variances(spectrum: Floats, nats: float) -> Floats:
    """Return the noise variances of least sum with (1/2) sum log(1 + r_i / l_i) = nats.

    Args:
        spectrum: (r,) positive eigenvalues r_i of Cov(Z).
        nats: The budget.

    Guarantees:
        The log-determinant is met from below, to 1e-12 relative.
    """
    return np.array(auto_pac_numbers(spectrum.tolist(), nats))


def auto_pac_numbers(spectrum: list[float], nats: float) -> list[float]:
    """Return the same as plain numbers."""
    top = max(spectrum)
    ratios = [r / top for r in spectrum]
    # With s = sqrt(r^2 + 2 lambda r) a direction costs artanh(r / s) and needs (s - r) / 2; the
    # log of the cost is nearly straight in log lambda, so Newton's method needs few steps. Plain
    # floats: an eigendecomposition came before, and for few directions arrays would cost more.
    t = 2.0 * math.log(sum(map(math.sqrt, ratios)) / nats) - math.log(2.0)
    for _ in range(100):
        twice, cost, slope = math.exp(t), 0.0, 0.0
        for r in ratios:
            s = math.sqrt(r * r + 2.0 * twice * r)
            cost += 0.5 * math.log1p((s + r) / twice)
            slope += r / s
        step = math.log(cost / nats) * 2.0 * cost / slope
        t += min(max(step, -30.0), 30.0) + 2e-13
        if abs(step) < 3e-7:  # the next step would be about its square
            break
    twice = math.exp(t)
    # (s - r) / 2, written so that it keeps its digits for small lambda
    return [top * twice * r / (r + math.sqrt(r * r + 2.0 * twice * r)) for r in ratios]


class Directional(Calibrator):
    """A calibrator that looks at the directions of outputs alone, whatever their coordinates."""

    def within(self, span: Span) -> Calibrator:
        """Return itself."""
        return self


@final
@dataclass(frozen=True)
class AutoPAC(Directional):
    """Exact Auto-PAC: the Gaussian noise of least power whose log-determinant meets the budget."""

    def propose(self, outputs: Outputs, nats: float) -> GaussianNoise:
        """Return Gaussian noise along the principal directions of the outputs."""
        basis, spectrum = principal(outputs)
        noise = GaussianNoise.on(basis, auto_pac_variances(spectrum, nats))
        return meet_above(outputs, noise, nats)


@final
@dataclass(frozen=True)
class Proportional(Directional):
    """Noise proportional to Cov(Z): Cov(Z) / (exp(2 nats / r) - 1)."""

    def propose(self, outputs: Outputs, nats: float) -> GaussianNoise:
        """Return noise of the outputs' own shape."""
        basis, spectrum = principal(outputs)
        noise = GaussianNoise.on(basis, spectrum / math.expm1(2 * nats / spectrum.size))
        return meet_above(outputs, noise, nats)


@final
@dataclass(frozen=True)
class Isotropic(Directional):
    """The same variance in every direction, by the log-determinant."""

    def propose(self, outputs: Outputs, nats: float) -> GaussianNoise:
        """Return isotropic noise on the directions in which outputs differ."""
        basis, spectrum = principal(outputs)
        low, high = -700.0, 700.0
        for _ in range(200):
            middle = (low + high) / 2
            over = 0.5 * np.log1p(spectrum / math.exp(middle)).sum() > nats
            low, high = (middle, high) if over else (low, middle)
        noise = GaussianNoise.on(basis, np.full(spectrum.size, math.exp(high)))
        return meet_above(outputs, noise, nats)


@final
@dataclass(frozen=True)
class ConfidentAutoPAC(Calibrator):
    """The paper's Algorithm 1, (1 - gamma)-confidence Auto-PAC.

    Args:
        v: Share of the budget spent by the log-determinant; the rest is beta'.
        c: Security parameter, relative to the outputs' total variance: how far off the estimated
            eigenvalues may be. Larger is safer and noisier.
        radius: Bound r on the outputs' norm; by default the largest seen.
    """

    v: float = 0.5
    c: float = 1e-4
    radius: float | None = None

    def __post_init__(self) -> None:
        if not 0 < number(self.v, "v") < 1 or number(self.c, "c") < 0:
            raise refuse("0 < v < 1 and c >= 0", (self.v, self.c), "v is a share of the budget.")

    def within(self, span: Span) -> Calibrator:
        """Return itself with the radius of the outputs, which is not that of their coordinates."""
        seen = max(float(np.linalg.norm(row)) for row in span.values)
        return replace(self, radius=seen if self.radius is None else self.radius)

    def propose(self, outputs: Outputs, nats: float) -> GaussianNoise:
        """Return anisotropic noise if the eigenvalues are apart enough, else isotropic noise."""
        basis, spectrum = principal(outputs)
        v, rest = self.v * nats, (1 - self.v) * nats
        c, d = self.c * float(spectrum.sum()), spectrum.size
        seen = float(np.linalg.norm(outputs.planning.values, axis=1).max())
        radius = seen if self.radius is None else self.radius
        if _apart(spectrum, c) > radius * math.sqrt(d * c) + 2 * c:
            roots = np.sqrt(spectrum + 10 * c * v / rest)
            variances = roots * roots.sum() / (2 * v)
        else:
            variances = np.full(d, (spectrum.sum() + d * c) / (2 * v))
        return meet_above(outputs, GaussianNoise.on(basis, variances), nats)


def _apart(spectrum: Floats, c: float) -> float:
    """Return the least distance of an eigenvalue above c to any other."""
    gaps = np.abs(spectrum[:, None] - spectrum)
    np.fill_diagonal(gaps, np.inf)
    above = gaps[spectrum > c]
    return float(above.min()) if above.size else 0.0


@final
@dataclass(frozen=True)
class EfficientPAC(Calibrator):
    """The paper's Algorithm 3: e_i = sqrt(s_i) sum_j sqrt(s_j) / (2 nats) in a unitary basis.

    Args:
        basis: (d, d) unitary matrix, columns are directions; by default the eigenbasis.
        tau: If given, variances come from draws of the worlds, one at a time, until the largest
            relative change of a variance over one draw is below tau; else from all worlds.
        seed: Study randomness of those draws.
    """

    basis: Any = None
    tau: float | None = None
    seed: int = 0

    def within(self, span: Span) -> Calibrator | None:
        """Return itself, unless the directions are given."""
        return self if self.basis is None else None

    def propose(self, outputs: Outputs, nats: float) -> GaussianNoise:
        """Return noise that is diagonal in the basis."""
        if self.basis is None:
            basis = principal(outputs)[0]
        else:
            basis = orthonormal(self.basis, outputs.dim)
            principal(outputs)  # the same refusals of labels and constants
        plan = outputs.planning
        along = plan.values @ basis
        if self.tau is None:
            variances = plan.weights @ np.square(along - plan.weights @ along)
        else:
            variances = self._until_stable(along, plan.weights)
        keep = variances > 0
        s = variances[keep]
        noise = GaussianNoise.on(basis[:, keep], np.sqrt(s) * np.sqrt(s).sum() / (2 * nats))
        return meet_above(outputs, noise, nats)

    def _until_stable(self, along: Floats, weights: Floats) -> Floats:
        rng = np.random.default_rng(self.seed)
        picks = look_up(integer_table(weights), study_uniforms(rng, 100_000))
        draws = along[picks] - along.mean(axis=0)
        n = np.arange(1, len(draws) + 1)[:, None]
        spread = np.cumsum(np.square(draws), axis=0) / n - np.square(np.cumsum(draws, axis=0) / n)
        change = np.abs(np.diff(spread, axis=0)) / np.maximum(spread[1:], 1e-300)
        calm = np.flatnonzero((change.max(axis=1) < number(self.tau, "tau")) & (n[1:, 0] > 2))
        return np.asarray(spread[1 + (calm[0] if calm.size else len(change) - 1)])
