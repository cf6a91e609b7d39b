"""A game on given outputs at a budget: training block by block, and noise that meets the budget."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from rpac._base.checks import refuse
from rpac._base.entropy import entropy
from rpac._base.progress import progress
from rpac._base.types import Floats
from rpac.calibrators.base import single_count
from rpac.calibrators.budget_search import meet_gaussian
from rpac.calibrators.product import expected_table_bound, meet_table
from rpac.calibrators.utility import Smooth, SquaredError, Utility, Weighted
from rpac.learned.families import GaussianFamily, ProductFamily, axis_table
from rpac.learned.frame import Frame
from rpac.learned.play import Play
from rpac.learned.response import Follower
from rpac.learned.training import Game, Stakes, State, advance, first_state
from rpac.noise.base import Noise
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import GridNoise
from rpac.noise.lattice import LatticeNoise
from rpac.worlds.outputs import Outputs
from rpac.worlds.span import Span

_BLOCK = 50
_ROUNDS = 6
"""Blocks after training that shift the follower's target by what a certificate would say."""


@dataclass(frozen=True, eq=False)
class ScaledCost:
    """A user's cost in the coordinates of a frame, in units of its value at Auto-PAC's noise."""

    function: Any
    frame: Frame

    def __call__(self, b: Any) -> Any:
        """Return the cost of (n, r) noise, (n,)."""
        to_noise = ((self.frame.axes * self.frame.sigmas).T).astype(np.float32)
        normal = np.random.default_rng(0).standard_normal((2_000, len(self.frame.sigmas)))
        at_start = float(np.mean(self.function(normal @ to_noise)))
        return self.function(b @ to_noise) / at_start


@final
@dataclass(frozen=True, eq=False)
class Match:
    """Two players, what they play for and on which worlds.

    Attributes:
        follower: The decoder, and the worlds as it sees them.
        game: Both players' families, and the settings of training.
        utility: The cost of noise.
        nats: The budget.
        start: Standard deviation of the first noise, relative to Auto-PAC's.
    """

    follower: Follower
    game: Game
    utility: Utility
    nats: float
    start: float

    def play(self, resume: Play | None = None) -> Play:
        """Return the game played to its end, from the start or from where another one ended."""
        state, history = self.train(None if resume is None else resume.state)
        noise, state = self.settle(state)
        params = state.average if self.game.informed else state.decoder
        return Play(noise, self.follower.respond(params, noise), history, state)

    def train(self, resume: State | None = None) -> tuple[State, Floats]:
        """Return the state after the iterations, block by block, and (loss, K, H_c) of each."""
        training, seed, table = self.game.training, self.follower.seed, self.follower.table
        stakes = self.stakes()
        start = first_state(self.game, table, self.start, seed)
        state = start if resume is None else resume
        blocks = -(-training.iterations // _BLOCK)
        history: list[Floats] = []
        best, waited = math.inf, 0
        for _ in progress(range(blocks), blocks, "training"):
            state, trace = advance(self.game, _BLOCK, state, table, stakes, seed)
            history.append(np.stack([np.asarray(column) for column in trace], axis=1))
            loss = float(history[-1][:, 0].mean())
            best, waited = (loss, 0) if loss < 0.999 * best else (best, waited + 1)
            if training.patience and waited >= training.patience:
                break
        return state, np.concatenate(history)

    def stakes(self) -> Stakes:
        """Return the follower's target log score, and the cost."""
        weights = self.follower.outputs.planning.weights
        prior = self.follower.decoder.prior_entropy(self.follower.table, entropy(weights))
        margin = self.game.training.constraint.epsilon
        if margin >= self.nats:
            raise refuse(
                "a margin below the budget",
                f"{margin:.4g} of {self.nats:.4g} nats",
                "State a smaller capacity or bound, or more samples.",
            )
        target = prior - self.nats + margin
        scale = self.nats if target <= 0 else min(self.nats, target)
        weight = np.asarray(self._weight(), np.float32)
        return Stakes(np.float32(target), np.float32(scale), weight)

    def _weight(self) -> Floats:
        """Return the (r, r) matrix of a quadratic cost, 1 at Auto-PAC's noise; 0 for others."""
        frame = self.follower.frame
        if isinstance(self.utility, Smooth):
            return np.zeros((len(frame.sigmas),) * 2)
        if not isinstance(self.utility, SquaredError | Weighted):
            raise refuse(
                "a cost that JAX can trace",
                type(self.utility).__name__,
                "Use SquaredError, Weighted or Smooth.",
            )
        inner = self.utility.within(Span.given(frame.axes)).weight(np.eye(frame.axes.shape[1]))
        weight = frame.matrix(inner)
        return np.asarray(weight / np.trace(weight))

    def covariance(self, state: State) -> Floats:
        """Return the learned covariance along the axes of the frame, (r, r), unscaled."""
        assert isinstance(self.game.family, GaussianFamily)
        unit = np.asarray(self.game.family.cov(state.average), np.float64)
        return self.follower.frame.matrix(unit)

    def settle(self, state: State) -> tuple[Noise, State]:
        """Return noise of the learned shape that meets the budget, and the state behind it."""
        if not isinstance(self.game.family, GaussianFamily):
            return self._settle_table(state)
        frame = self.follower.frame
        variances, turn = np.linalg.eigh(self.covariance(state))
        floor = 1e-6 * variances.sum() / variances.size
        shape = GaussianNoise.on(frame.axes @ turn, np.maximum(variances, floor), drop=frame.drop)
        return meet_gaussian(self.follower.outputs, shape, self.nats, self.follower.seed), state

    def _settle_table(self, state: State) -> tuple[GridNoise, State]:
        """Shift the target by what a certificate would say, until it says the budget."""
        outputs, seed, nats = self.follower.outputs, self.follower.seed, self.nats
        stakes = self.stakes()
        law = self._tabulated(state)
        for _ in range(_ROUNDS):
            excess = expected_table_bound(outputs, law, seed) - nats
            if -2e-3 * nats <= excess <= 0:
                break
            stakes = stakes._replace(target=np.float32(stakes.target + excess + 1e-3 * nats))
            state, _ = advance(self.game, _BLOCK, state, self.follower.table, stakes, seed)
            law = self._tabulated(state)
        return meet_table(outputs, law, nats, seed), state

    def _tabulated(self, state: State) -> GridNoise:
        assert isinstance(self.game.family, ProductFamily)
        return tabulate_learned(
            self.follower.outputs, self.follower.frame, self.game.family, state.average
        )


def tabulate_learned(
    outputs: Outputs, frame: Frame, family: ProductFamily, params: Any
) -> GridNoise:
    """Return independent learned noise as tables; counts keep their own lattice."""
    whole = single_count(outputs)
    axes = []
    for c, sigma in enumerate(frame.sigmas):
        step, masses = axis_table(family, params, c, 1.0 / float(sigma) if whole else None)
        half = masses.size // 2
        spacing = 1.0 if whole else step * float(sigma)
        axes.append(LatticeNoise(spacing, np.arange(-half, half + 1), masses))
    center = np.zeros(1) if whole else outputs.center
    basis = np.eye(1) if whole else frame.axes
    return GridNoise(basis, center, tuple(axes))
