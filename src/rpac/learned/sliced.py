"""Sliced SR-PAC: the game on one-dimensional projections, for outputs of high dimension.

Sliced leakage is the mean of MI over random directions: of the output (phi'Y), of the secret
(theta'X), or of both. It lies below the leakage, often far below, so a certificate is printed
beside it. On finite worlds whose secrets differ, theta'X names the world for almost every theta:
slicing the secret changes nothing there, and slicing both is slicing the output. A Gaussian
follower, who guesses a number and not a world, still tells the three apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from rpac._base.checks import count, refuse
from rpac._base.entropy import entropy
from rpac.calibrators.budget_search import meet, meet_gaussian
from rpac.calibrators.closed_form import Directional, principal
from rpac.certificate.exact import lattice_leakage
from rpac.learned.frame import frame_of
from rpac.learned.libraries import require_neural
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import narrowed
from rpac.noise.lattice import LatticeNoise
from rpac.worlds.outputs import Outputs

_FINE = 32
_ROUGH, _FINAL = (256, 0.05), (4_096, 2e-3)
"""Directions, and relative tolerance, of a first and of a last look at the sliced leakage."""


@final
@dataclass(frozen=True)
class SlicedPrivacy:
    """Sliced figures of a noise, in nats; means over directions, with their standard error.

    Attributes:
        leakage: Mean of MI(X; phi'Y), each direction's an exact sum.
        error: Standard error of that mean over directions.
        entropy: SH(X), the sliced entropy.
        residual_entropy: SH(X | Y), what remains.
        residual: SH(X | Y) - H(R): sliced residual privacy against the uniform pool, at most 0.
    """

    leakage: float
    error: float
    entropy: float
    residual_entropy: float
    residual: float


def sliced_privacy(
    outputs: Outputs, noise: GaussianNoise, *, slices: int = 256, seed: int = 0
) -> SlicedPrivacy:
    """Return the sliced leakage of finite worlds under Gaussian noise, and what remains.

    Args:
        outputs: Finite worlds.
        noise: Gaussian noise.
        slices: Random directions, uniform on the sphere.
        seed: Study randomness of the directions.
    """
    if not outputs.exact or not isinstance(noise, GaussianNoise):
        raise refuse(
            "finite worlds under GaussianNoise", f"{outputs!r} under {noise!r}", "Use rpac.certify."
        )
    n = count(slices, "slices", least=2)
    outputs, noise = narrowed(outputs, noise)
    phi = np.random.default_rng([seed, 23]).standard_normal((n, outputs.dim))
    along = (outputs.values - outputs.center) @ phi.T
    widths = np.sqrt(np.square(phi @ noise.basis) @ noise.variances)
    axis = LatticeNoise.gaussian(1.0 / _FINE, _FINE)
    codes = np.rint(along / widths * _FINE).astype(np.int64)
    each = np.array([lattice_leakage(c, outputs.weights, axis) for c in codes.T])
    whole = entropy(outputs.weights)
    mean = float(each.mean())
    return SlicedPrivacy(
        mean, float(each.std(ddof=1)) / math.sqrt(n), whole, whole - mean,
        whole - mean - math.log(len(outputs.weights)),
    )  # fmt: skip


@final
@dataclass(frozen=True)
class SlicedStackelberg(Directional):
    """Sliced SR-PAC: Gaussian noise, diagonal in the principal directions, learned on slices.

    Args:
        sides: What is sliced: "both", "output" or "secret". With "output" the follower names the
            world from phi'Y, by its exact posterior; with the others it guesses theta'X by the
            best Gaussian decoder.
        meet: "full" sets the size of the noise by what a certificate will say, "sliced" by the
            sliced leakage (only with "output" slices is that the follower's own figure). Noise
            met by "sliced" leaks more than the budget in full.
        iterations: Steps of the leader.
        rate: Its learning rate.
        weight: The penalty weight on the relative shortfall.
        seed: Study randomness.
    """

    sides: Literal["both", "output", "secret"] = "output"
    meet: Literal["full", "sliced"] = "full"
    iterations: int = 300
    rate: float = 0.02
    weight: float = 50.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.sides not in ("both", "output", "secret") or self.meet not in ("full", "sliced"):
            raise refuse(
                'sides "both", "output" or "secret" and meet "full" or "sliced"',
                (self.sides, self.meet),
                "Choose one of each.",
            )
        count(self.iterations, "iterations", least=1)

    def propose(self, outputs: Outputs, nats: float) -> GaussianNoise:
        """Return noise of the learned shape, of the size that `meet` asks for."""
        require_neural()
        from rpac.learned.slicing import trainer

        basis, _ = principal(outputs)
        frame = frame_of(outputs, basis, nats)
        plan = outputs.planning
        worlds = Outputs(plan.values, plan.weights)
        first = GaussianNoise.on(basis, np.square(frame.sigmas))
        start = 0.5 * self._sliced_size(worlds, first, nats, _ROUGH)
        train = trainer(self.sides, self.iterations, self.rate, self.weight)
        arrays = (frame.points, plan.weights, frame.sigmas, start, nats)
        found = train(*(np.asarray(a, np.float32) for a in arrays), self.seed)
        scales = np.exp(2 * np.asarray(found, np.float64))
        shape = GaussianNoise.on(basis, np.square(frame.sigmas) * scales)
        if self.meet == "full":
            return meet_gaussian(outputs, shape, nats, self.seed)
        return shape.scaled(math.exp(self._sliced_size(worlds, shape, nats, _FINAL)))

    def _sliced_size(
        self, worlds: Outputs, shape: GaussianNoise, nats: float, care: tuple[int, float]
    ) -> float:
        """Return the log of the factor at which the sliced leakage is just below the budget."""

        def gap(t: float) -> float:
            noise = shape.scaled(math.exp(t))
            return sliced_privacy(worlds, noise, slices=slices, seed=self.seed).leakage - nats

        slices, tolerance = care
        return meet(gap, tolerance * nats, slope=nats)
