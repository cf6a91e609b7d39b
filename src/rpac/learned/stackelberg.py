"""Stackelberg SR-PAC (the paper's Algorithm 2): noise and decoder trained against each other.

The leader learns noise of least cost that keeps the follower's log score above the budget's; the
follower learns to name the secret. What comes out is a proposal like any other: its shape is
learned, its size is set by what a certificate will say, and the follower's figure is an attack.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

from rpac._base.checks import count, in_range, refuse
from rpac._base.types import Floats
from rpac.calibrators.base import Calibrator
from rpac.calibrators.closed_form import principal
from rpac.calibrators.covariance import weighed_directions
from rpac.calibrators.product import public_basis
from rpac.calibrators.utility import Smooth, SquaredError, Utility
from rpac.learned.frame import Frame, frame_of
from rpac.learned.libraries import require_neural
from rpac.learned.play import Attack, Play
from rpac.learned.settings import FAMILIES, FamilyName, Training
from rpac.noise.base import Noise
from rpac.worlds.outputs import Outputs
from rpac.worlds.span import Span

if TYPE_CHECKING:
    from rpac.learned.families import Family
    from rpac.learned.match import Match


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
    family: FamilyName = "gaussian"
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

    def within(self, span: Span) -> Calibrator | None:
        """Return itself with the cost in these coordinates; None for axes or functions of d."""
        if not isinstance(self.basis, str) or isinstance(self.utility, Smooth):
            return None
        return replace(self, utility=self.utility.within(span))

    def propose(self, outputs: Outputs, nats: float) -> Noise:
        """Return the noise that training arrives at."""
        match = self.match(outputs, nats)
        return match.settle(match.train()[0])[0]

    def play(self, outputs: Outputs, nats: float, resume: Play | None = None) -> Play:
        """Return the noise with its history and the follower's figure at that noise.

        Args:
            outputs: Finite worlds, or draws.
            nats: The budget.
            resume: A play of the same outputs, budget and settings, to go on from.
        """
        return self.match(outputs, nats).play(resume)

    def match(self, outputs: Outputs, nats: float) -> Match:
        """Return the game on these outputs at this budget, before its first move."""
        require_neural()
        from rpac.learned.families import family_of

        family = family_of(self.family, self.components)
        return self._set_up(outputs, nats, self._frame(outputs, nats), family)

    def play_blocks(
        self, outputs: Outputs, nats: float, axes: Floats, blocks: tuple[int, ...]
    ) -> Play:
        """Return a Gaussian game on given axes whose blocks have independent noise."""
        require_neural()
        from rpac.learned.families import FullGaussian

        family = FullGaussian(self.components, blocks=blocks)
        return self._set_up(outputs, nats, frame_of(outputs, axes, nats), family).play()

    def _set_up(self, outputs: Outputs, nats: float, frame: Frame, family: Family) -> Match:
        from rpac.learned.match import Match, ScaledCost
        from rpac.learned.response import Follower
        from rpac.learned.training import Game

        follower = Follower.of(self.decoder, family, outputs, frame, self.seed)
        own = self.utility.function if isinstance(self.utility, Smooth) else None
        cost = None if own is None else ScaledCost(own, frame)
        game = Game(family, follower.decoder, self.training, cost)
        return Match(follower, game, self.utility, nats, self.start)

    def _frame(self, outputs: Outputs, nats: float) -> Frame:
        basis, _ = principal(outputs)
        if self.family in ("gaussian", "low-rank"):
            axes = weighed_directions(basis, self.utility)
        elif outputs.exact:
            axes = public_basis(outputs, self.basis)
        else:
            raise refuse(
                "Gaussian noise for draws", repr(self.family), "Other tables need finite worlds."
            )
        return frame_of(outputs, axes, nats, drop=axes.shape[1] < basis.shape[1])


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
    from rpac.learned.response import fresh_response

    return fresh_response(outputs, noise, decoder, seed)
