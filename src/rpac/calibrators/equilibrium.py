"""The equilibrium: the least cost of noise at a leakage, by what the outputs are.

Labels: the rate-distortion channel. One direction: the best law on a lattice. Several: the best
Gaussian covariance, or independent lattice noise on the axes of a basis. Exact Auto-PAC is always
among the candidates, so the equilibrium never costs more. Beyond noise: the best channel to public
code words, where a bias is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, final

import numpy as np

from rpac._base.checks import refuse
from rpac._base.entropy import entropy
from rpac._base.types import Floats
from rpac.calibrators.base import Calibrator, single_count
from rpac.calibrators.budget_search import meet_tightly
from rpac.calibrators.channel import ChannelSearch, Limit, as_utility, checked_words
from rpac.calibrators.closed_form import AutoPAC, principal
from rpac.calibrators.covariance import GaussianSearch
from rpac.calibrators.label import label_equilibrium
from rpac.calibrators.lattice import (
    LatticeGame,
    TwoLevels,
    gaussian_multiplier,
    gaussian_start,
    meet_along_mu,
)
from rpac.calibrators.product import product_equilibrium
from rpac.calibrators.utility import ArgMax, SquaredError, Utility
from rpac.noise.base import Law, Noise
from rpac.noise.codebook import Codebook
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import GridNoise
from rpac.noise.lattice import LatticeNoise
from rpac.worlds.outputs import Outputs
from rpac.worlds.span import Span

_FAMILIES = ("auto", "gaussian", "lattice", "product", "channel")
_HALF = 150
"""Half the number of lattice points for real outputs; refined until the noise fills them."""
_MOST_HALF = 600
_MOST_CELLS = 12_000_000
_TINY_BUDGET = 2e-3
_SMOOTH = 8
"""Steps of a coarse lattice in a standard deviation of noise, for log q to be smooth on it."""


@final
@dataclass(frozen=True)
class Equilibrium(Calibrator):
    """The Stackelberg equilibrium, solved.

    Args:
        utility: The cost of noise; squared error by default. For a channel also a `rpac.Loss`, or
            a plain function `loss(values, words)`.
        family: "auto", "gaussian" (full covariance), "lattice" (one direction), "product"
            (independent lattice noise on the axes of `basis`) or "channel" (public code words in
            place of noise: less error, but a bias towards the mean).
        basis: For "product": "principal", "independent", or a (d, d) orthonormal matrix.
        seed: Study randomness.
        words: For "channel": how many code words at most, or the words, (K, d), which half-samples
            of a table need; by default they are found, as many as gain.
    """

    utility: Any = field(default_factory=SquaredError)
    family: Literal["auto", "gaussian", "lattice", "product", "channel"] = "auto"
    basis: Any = "principal"
    seed: int = 0
    words: Any = None

    def __post_init__(self) -> None:
        if self.family not in _FAMILIES:
            names = ", ".join(f'"{name}"' for name in _FAMILIES)
            raise refuse(f"family {names}", repr(self.family), "Leave it out to have it chosen.")
        if self.family == "channel":
            object.__setattr__(self, "utility", as_utility(self.utility))
            words = checked_words(self.words)  # a list of theirs could change later
            object.__setattr__(self, "words", np.array(words) if np.ndim(words) else words)
        elif self.words is not None or not isinstance(self.utility, Utility):
            got = f"family {self.family!r} with them"
            raise refuse('family "channel" for words, or a loss of one', got, "Name it.")

    def within(self, span: Span) -> Calibrator | None:
        """Return itself with the cost of noise in these coordinates, unless axes are given."""
        whole = np.ndim(self.words) > 0 or isinstance(self.utility, ArgMax)
        if not isinstance(self.basis, str) or whole:
            return None
        return replace(self, utility=self.utility.within(span))

    def propose(self, outputs: Outputs, nats: float) -> Law:
        """Return the noise of least cost found."""
        if outputs.kind == "label":
            codes = outputs.values[:, 0].astype(int)
            prior = np.asarray(np.bincount(codes, outputs.weights), float)
            return label_equilibrium(prior, nats)
        if self.family == "channel":
            return self._channels(outputs).at(nats)
        basis, spectrum = principal(outputs)
        if not outputs.exact:
            return AutoPAC().propose(outputs, nats)
        if self.family == "product":
            return product_equilibrium(outputs, nats, self.basis, self.utility, self.seed)
        if self.family == "lattice" or (self.family == "auto" and spectrum.size == 1):
            return self._lattice(outputs, nats, basis, spectrum)
        return GaussianSearch(outputs, self.utility, self.seed).at(nats)

    def along(self, outputs: Outputs, budgets: Sequence[float]) -> list[Law]:
        """Return the noise at each of increasing budgets; covariances start from neighbours'."""
        if self.family == "channel" and outputs.kind != "label":
            return [*self._channels(outputs).along(budgets)]
        several = outputs.kind != "label" and outputs.exact and principal(outputs)[1].size > 1
        if several and self.family in ("auto", "gaussian"):
            return [*GaussianSearch(outputs, self.utility, self.seed).along(budgets)]
        return super().along(outputs, budgets)

    def _channels(self, outputs: Outputs) -> ChannelSearch:
        return ChannelSearch(outputs, self.utility, self.words, self.seed)

    def limit(self, outputs: Outputs, law: Codebook) -> Limit:
        """Return how far a channel is from the rate-distortion limit, over stated candidates."""
        if not isinstance(law, Codebook):
            move = 'Pass what rpac.calibrate(outputs, budget, "channel") returns.'
            raise refuse("a Codebook", type(law).__name__, move)
        return replace(self, family="channel")._channels(outputs).limit(law)

    def _lattice(self, outputs: Outputs, nats: float, basis: Floats, spectrum: Floats) -> Noise:
        if spectrum.size != 1:
            raise refuse(
                "outputs that differ in one direction for a lattice",
                f"{spectrum.size}",
                'Use family="product".',
            )
        baseline = AutoPAC().propose(outputs, nats)
        if nats < _TINY_BUDGET or nats > 0.99 * entropy(outputs.weights):
            return baseline  # optimal to a share of `nats`; or all but bare, and endless to refine
        found = self._refined(outputs, nats, basis, baseline)
        if found is None:
            t = meet_tightly(outputs, baseline, nats, self.seed, slope=nats, most=0.0)
            return baseline.scaled(math.exp(min(t, 0.0)))
        return found if found.power <= baseline.power else baseline

    def _refined(
        self, outputs: Outputs, nats: float, basis: Floats, baseline: GaussianNoise
    ) -> GridNoise | None:
        """Return the best law on a lattice fine enough to resolve it; None if that is too large."""
        whole, scale = single_count(outputs), math.sqrt(baseline.power)
        center = np.zeros(1) if whole else outputs.center
        direction = np.eye(1) if whole else basis
        along = ((outputs.values - center) @ direction)[:, 0]
        reach = 6.0 * scale + float(np.ptp(along))
        coarse = 2.0 ** math.floor(math.log2(reach / _MOST_HALF))
        step = max(1.0, coarse) if whole else reach / _HALF
        for _ in range(30):
            half = math.ceil(reach / step)
            k = np.arange(-half, half + 1)
            cost = self.utility.cost((k * step)[:, None] * direction[:, 0])
            codes = np.rint(along / step).astype(np.int64)
            game = LatticeGame.of(codes, outputs.weights, cost)
            if game.cells > _MOST_CELLS:
                return None
            if entropy(game.weights) <= nats:
                reach /= 4  # too coarse to tell the worlds apart: look closer
            else:
                start = gaussian_start(half, max(scale / step, 0.3))
                power = float(np.exp(start) @ cost)
                spread = float(outputs.weights @ np.square(along - outputs.weights @ along))
                mu = gaussian_multiplier(power, scale**2 / spread)
                levels = int(2.0 ** math.floor(math.log2(max(scale / step / _SMOOTH, 1.0))))
                solver = TwoLevels.of(codes, outputs.weights, cost, levels) if levels > 1 else game
                q, _ = meet_along_mu(solver, nats, start, mu)
                used = int(np.abs(k[q > 1e-9 * q.max()]).max())
                if whole or used > 0.4 * half:
                    return GridNoise(direction, center, (LatticeNoise(step, k, q / q.sum()),))
                reach = 1.5 * max(used, 2) * step
            if whole:
                return None
            step, scale = reach / _HALF, min(scale, reach / 6)
        return None
