"""Stackelberg SR-PAC (the paper's Algorithm 2): noise and decoder trained against each other.

The leader learns noise of least cost that keeps the follower's log score above the budget's; the
follower learns to name the secret. What comes out is a proposal like any other: its shape is
learned, its size is set by what a certificate will say, and the follower's figure is an attack.
"""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from rpac._base.checks import count, in_range, refuse
from rpac._base.entropy import entropy
from rpac._base.progress import progress
from rpac._base.types import Floats
from rpac.calibrators.base import Calibrator
from rpac.calibrators.budget_search import meet, meet_tightly, proved_bound
from rpac.calibrators.closed_form import auto_pac_variances, principal
from rpac.calibrators.covariance import weighed_directions
from rpac.calibrators.product import expected_table_bound, meet_table, public_basis
from rpac.calibrators.utility import Smooth, SquaredError, Utility, Weighted
from rpac.certificate.confidence import lower_mean
from rpac.certificate.sampled import FLOOR
from rpac.learned.settings import Training
from rpac.noise.base import Noise, integer_table, look_up, study_uniforms
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import GridNoise
from rpac.noise.lattice import LatticeNoise
from rpac.worlds.outputs import Outputs

if TYPE_CHECKING:
    from rpac.learned.decoders import Decoder, Table
    from rpac.learned.training import Game, State

FAMILIES = ("gaussian", "low-rank", "mixture", "generalized-normal", "laplace", "flow")
_BLOCK = 50
_ROUNDS = 6
"""Blocks after training that shift the follower's target by what a certificate would say."""
_LEARNING, _HELD = 40_000, 40_000


def require_neural() -> None:
    """Refuse where the libraries that train are not installed."""
    missing = [m for m in ("jax", "optax", "equinox", "flowjax") if not importlib.util.find_spec(m)]
    if missing:
        raise refuse(
            "the libraries that train noise and decoders",
            f"no {', '.join(missing)}",
            "Run: pip install 'rpac[neural]'",
        )


@final
@dataclass(frozen=True)
class Attack:
    """What a decoder achieved on draws that it was not trained on. Never a guarantee.

    Attributes:
        nats: Estimate of MI's lower bound H(X) - E[-log pi(X | Y)].
        lower: The same with confidence: MI is above it with probability 1 - 1e-6.
        decoder: The decoder's family.
    """

    nats: float
    lower: float
    decoder: str


@final
@dataclass(frozen=True, eq=False)
class Play:
    """A finished game.

    Attributes:
        noise: The noise, its size set by what a certificate will say.
        attack: The follower's best response to that noise, on held-out draws.
        history: (iterations, 3): the leader's loss, K (1 at Auto-PAC's noise) and H_c.
        state: Where training ended, arrays all: pass the play on as `resume`.
    """

    noise: Noise
    attack: Attack
    history: Floats
    state: Any


@dataclass(frozen=True, eq=False)
class _Frame:
    """Worlds in coordinates in which Auto-PAC's noise has unit variance on every axis."""

    axes: Floats
    sigmas: Floats
    points: Floats
    drop: bool = False

    def noise(self, draws: Floats) -> Floats:
        """Return (n, d) noise in these coordinates."""
        return np.asarray(draws @ self.axes / self.sigmas)


@final
@dataclass(frozen=True)
class Stackelberg(Calibrator):
    """Monte Carlo SR-PAC.

    Args:
        utility: The cost of noise K: squared error, weighted, or a `Smooth` function that JAX
            can trace.
        family: "gaussian" (full covariance), "low-rank" (plus a diagonal), or independent noise
            on the axes of `basis`: "mixture", "laplace", "generalized-normal", "flow".
        decoder: "bayes" (names the world, knowing the noise law: its best response is exact),
            "kernel" or "network" (name it, and learn to), "bernoulli" (members of half-samples),
            "gaussian", "mixture" or "flow" (a density of the outputs).
        basis: For independent noise: "principal", "independent" or a (d, d) orthonormal matrix.
        components: Of a mixture; rank of "low-rank"; knots of a flow.
        training: The parameters of the algorithm.
        start: Standard deviation of the first noise, relative to Auto-PAC's.
        seed: Study randomness.
    """

    utility: Utility = field(default_factory=SquaredError)
    family: Literal["gaussian", "low-rank", "mixture", "generalized-normal", "laplace", "flow"] = (
        "gaussian"
    )
    decoder: str = "bayes"
    basis: Any = "principal"
    components: int = 7
    training: Training = field(default_factory=Training)
    start: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise refuse(f"a family among {FAMILIES}", repr(self.family), "Choose one.")
        count(self.components, "components", least=2)
        in_range(self.start, "start", 0.0, 100.0)

    def propose(self, outputs: Outputs, nats: float) -> Noise:
        """Return the noise that training arrives at."""
        frame, game, table = self._set_up(outputs, nats)
        state, _ = self._train(outputs, nats, frame, game, table)
        return self._settle(outputs, nats, frame, game, table, state)[0]

    def play(self, outputs: Outputs, nats: float, resume: Play | None = None) -> Play:
        """Return the noise with its history and the follower's figure at that noise.

        Args:
            outputs: Finite worlds, or draws.
            nats: The budget.
            resume: A play of the same outputs, budget and settings, to go on from.
        """
        return self._finish(outputs, nats, *self._set_up(outputs, nats), resume)

    def play_blocks(
        self, outputs: Outputs, nats: float, axes: Floats, blocks: tuple[int, ...]
    ) -> Play:
        """Return a Gaussian game on given axes whose blocks have independent noise."""
        require_neural()
        from rpac.learned.decoders import decoder_of
        from rpac.learned.families import FullGaussian
        from rpac.learned.training import Game

        frame = frame_of(outputs, axes, nats)
        family = FullGaussian(self.components, blocks=blocks)
        game = Game(family, decoder_of(self.decoder, family), self.training)
        table = world_table(outputs, frame, self.decoder)
        return self._finish(outputs, nats, frame, game, table, None)

    def _finish(
        self, outputs: Outputs, nats: float, frame: _Frame, game: Game, table: Table,
        resume: Play | None,
    ) -> Play:  # fmt: skip
        state, history = self._train(outputs, nats, frame, game, table, resume)
        noise, state = self._settle(outputs, nats, frame, game, table, state)
        params = state.average if game.informed else state.decoder
        attack = _respond(game.decoder, self.decoder, params, table, outputs, frame, noise,
                          self.seed)  # fmt: skip
        return Play(noise, attack, history, state)

    def _set_up(self, outputs: Outputs, nats: float) -> tuple[_Frame, Game, Table]:
        require_neural()
        from rpac.learned.decoders import decoder_of
        from rpac.learned.families import family_of
        from rpac.learned.training import Game

        frame = self._frame(outputs, nats)
        family = family_of(self.family, self.components)
        cost = self.utility.function if isinstance(self.utility, Smooth) else None
        scaled = None if cost is None else _Scaled(cost, frame)
        game = Game(family, decoder_of(self.decoder, family), self.training, scaled)
        return frame, game, world_table(outputs, frame, self.decoder)

    def _frame(self, outputs: Outputs, nats: float) -> _Frame:
        basis, _ = principal(outputs)
        if self.family not in ("gaussian", "low-rank"):
            if not outputs.exact:
                raise refuse(
                    "Gaussian noise for draws", self.family, "Other tables need finite worlds."
                )
            axes = public_basis(outputs, self.basis)
        else:
            axes = weighed_directions(basis, self.utility)
        return frame_of(outputs, axes, nats, drop=axes.shape[1] < basis.shape[1])

    def _stakes(
        self, outputs: Outputs, nats: float, frame: _Frame, game: Game, table: Table
    ) -> Any:
        """Return the follower's target log score, and the cost."""
        from rpac.learned.training import Stakes

        prior = game.decoder.prior_entropy(table, entropy(outputs.planning.weights))
        target = prior - nats + self.training.constraint.epsilon
        if target >= prior:
            raise refuse(
                "a margin below the budget",
                f"{self.training.constraint.epsilon:.4g} of {nats:.4g} nats",
                "State a smaller capacity or bound, or more samples.",
            )
        weight = np.zeros((len(frame.sigmas),) * 2)
        if isinstance(self.utility, SquaredError | Weighted):
            inner = frame.axes.T @ self.utility.weight(np.eye(len(frame.axes))) @ frame.axes
            weight = inner * np.outer(frame.sigmas, frame.sigmas)
            weight = weight / np.trace(weight)
        elif not isinstance(self.utility, Smooth):
            raise refuse(
                "a cost that JAX can trace",
                type(self.utility).__name__,
                "Use SquaredError, Weighted or Smooth.",
            )
        scale = nats if target <= 0 else min(nats, target)
        return Stakes(np.float32(target), np.float32(scale), np.asarray(weight, np.float32))

    def _train(
        self, outputs: Outputs, nats: float, frame: _Frame, game: Game, table: Table,
        resume: Play | None = None,
    ) -> tuple[State, Floats]:  # fmt: skip
        """Return the state after the iterations, block by block, and its history."""
        from rpac.learned.training import advance, first_state

        stakes = self._stakes(outputs, nats, frame, game, table)
        start = first_state(game, table, self.start, self.seed)
        state = start if resume is None else resume.state
        blocks = -(-self.training.iterations // _BLOCK)
        history: list[Floats] = []
        best, waited = math.inf, 0
        for _ in progress(range(blocks), blocks, "training"):
            state, trace = advance(game, _BLOCK, state, table, stakes, self.seed)
            history.append(np.stack([np.asarray(column) for column in trace], axis=1))
            loss = float(history[-1][:, 0].mean())
            best, waited = (loss, 0) if loss < 0.999 * best else (best, waited + 1)
            if self.training.patience and waited >= self.training.patience:
                break
        return state, np.concatenate(history)

    def _settle(
        self, outputs: Outputs, nats: float, frame: _Frame, game: Game, table: Table, state: State
    ) -> tuple[Noise, State]:
        """Return noise of the learned shape that meets the budget, and the state behind it."""
        from rpac.learned.families import GaussianFamily

        if isinstance(game.family, GaussianFamily):
            cov = np.asarray(game.family.cov(state.average), np.float64)
            cov *= np.outer(frame.sigmas, frame.sigmas)
            variances, turn = np.linalg.eigh(cov)
            floor = 1e-6 * variances.sum() / variances.size
            variances = np.maximum(variances, floor)
            shape = GaussianNoise.on(frame.axes @ turn, variances, drop=frame.drop)
            return meet_gaussian(outputs, shape, nats, self.seed), state
        return self._settle_table(outputs, nats, frame, game, table, state)

    def _settle_table(
        self, outputs: Outputs, nats: float, frame: _Frame, game: Game, table: Table, state: State
    ) -> tuple[GridNoise, State]:
        """Shift the target by what a certificate would say, until it says the budget."""
        from rpac.learned.training import advance

        stakes = self._stakes(outputs, nats, frame, game, table)
        law = tabulate_learned(outputs, frame, game.family, state.average)
        for _ in range(_ROUNDS):
            excess = expected_table_bound(outputs, law, self.seed) - nats
            if -2e-3 * nats <= excess <= 0:
                break
            stakes = stakes._replace(target=np.float32(stakes.target + excess + 1e-3 * nats))
            state, _ = advance(game, _BLOCK, state, table, stakes, self.seed)
            law = tabulate_learned(outputs, frame, game.family, state.average)
        return meet_table(outputs, law, nats, self.seed), state


@dataclass(frozen=True, eq=False)
class _Scaled:
    """A user's cost in the coordinates of a frame, in units of its value at Auto-PAC's noise."""

    function: Any
    frame: _Frame

    def __call__(self, b: Any) -> Any:
        to_noise = ((self.frame.axes * self.frame.sigmas).T).astype(np.float32)
        normal = np.random.default_rng(0).standard_normal((2_000, len(self.frame.sigmas)))
        at_start = float(np.mean(self.function(normal @ to_noise)))
        return self.function(b @ to_noise) / at_start


def frame_of(outputs: Outputs, axes: Floats, nats: float, *, drop: bool = False) -> _Frame:
    """Return the frame of some orthonormal (d, r) axes."""
    plan = outputs.planning
    along = (plan.values - outputs.center) @ axes
    spectrum = plan.weights @ np.square(along - plan.weights @ along)
    sigmas = np.sqrt(auto_pac_variances(np.maximum(spectrum, 1e-12 * spectrum.max()), nats))
    return _Frame(axes, sigmas, along / sigmas, drop)


def world_table(outputs: Outputs, frame: _Frame, decoder: str) -> Table:
    """Return what the players know: outputs, prior, and what the decoder guesses."""
    from rpac.learned.decoders import make_table

    secrets = frame.points / np.maximum(frame.points.std(axis=0), 1e-12)
    if decoder == "bernoulli":
        if outputs.masks is None:
            raise refuse(
                "half-samples for a Bernoulli decoder", "other worlds", 'Use decoder="kernel".'
            )
        secrets = outputs.masks.astype(np.float64)
    return make_table(frame.points, outputs.planning.weights, secrets)


def meet_gaussian(outputs: Outputs, shape: GaussianNoise, nats: float, seed: int) -> GaussianNoise:
    """Return the shape, scaled until a certificate will say the budget."""
    if outputs.exact:
        t = meet_tightly(outputs, shape, nats, seed, slope=min(nats, 0.5 * shape.variances.size))
        return shape.scaled(math.exp(t))

    def gap(t: float) -> float:
        return proved_bound(outputs, shape.scaled(math.exp(t))) - nats

    return shape.scaled(math.exp(meet(gap, 1e-3 * nats, slope=nats)))


def tabulate_learned(outputs: Outputs, frame: _Frame, family: Any, params: Any) -> GridNoise:
    """Return independent learned noise as tables; counts keep their own lattice."""
    from rpac.learned.families import axis_table

    whole = outputs.kind == "count" and outputs.dim == 1
    axes = []
    for c, sigma in enumerate(frame.sigmas):
        step, masses = axis_table(family, params, c, 1.0 / float(sigma) if whole else None)
        half = masses.size // 2
        spacing = 1.0 if whole else step * float(sigma)
        axes.append(LatticeNoise(spacing, np.arange(-half, half + 1), masses))
    center = np.zeros(1) if whole else outputs.center
    basis = np.eye(1) if whole else frame.axes
    return GridNoise(basis, center, tuple(axes))


def decoder_attack(
    outputs: Outputs, noise: Noise, decoder: str = "kernel", *, seed: int = 0
) -> Attack:
    """Return the best response of a decoder to this noise, trained afresh, on held-out draws.

    Args:
        outputs: Finite worlds.
        noise: Any noise; nothing that was trained against another is used.
        decoder: A family of decoders, as in `Stackelberg`.
        seed: Study randomness.
    """
    require_neural()
    import jax

    from rpac.learned.decoders import decoder_of
    from rpac.learned.families import family_of

    normal = isinstance(noise, GaussianNoise) or (isinstance(noise, GridNoise) and noise.gaussian)
    family = family_of("gaussian" if normal else "mixture", 9)
    axes = principal(outputs)[0] if normal or not isinstance(noise, GridNoise) else noise.basis
    along = (outputs.values - outputs.center) @ axes
    sigmas = np.sqrt(np.maximum(np.einsum("di,dj,ji->i", axes, noise.cov, axes), 1e-300))
    frame = _Frame(axes, sigmas, along / sigmas)
    table = world_table(outputs, frame, decoder)
    made = decoder_of(decoder, family)
    params = made.init(jax.random.key(seed), table)
    return _respond(made, decoder, params, table, outputs, frame, noise, seed)


def _respond(
    decoder: Decoder, name: str, params: Any, table: Table, outputs: Outputs, frame: _Frame,
    noise: Noise, seed: int,
) -> Attack:  # fmt: skip
    """Train the follower at this noise, and judge it on draws it has not seen."""
    from rpac.learned.training import best_response, held_out

    rng = np.random.default_rng([seed, 7])
    p = outputs.planning.weights
    n = _LEARNING + _HELD
    worlds = look_up(integer_table(p), study_uniforms(rng, n))
    draws = frame.noise(noise.sample(n, rng))
    learn = (worlds[:_LEARNING].astype(np.int32), draws[:_LEARNING].astype(np.float32))
    params = best_response(decoder, 400, 256, params, table, learn, seed)
    log_posterior = held_out(
        decoder, params, table, worlds[_LEARNING:].astype(np.int32), draws[_LEARNING:]
    )
    log_p = np.log(p)[worlds[_LEARNING : _LEARNING + log_posterior.size]]
    gain = np.logaddexp(log_posterior - log_p + math.log1p(-FLOOR), math.log(FLOOR))
    lower = lower_mean(gain, math.log(FLOOR), float(-np.log(p.min())) + 1e-4, 1e-6)
    return Attack(float(gain.mean()), max(0.0, lower), name)
