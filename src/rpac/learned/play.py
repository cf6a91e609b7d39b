"""What a game leaves behind: the noise, and how well the follower did against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from rpac._base.types import Floats
from rpac.noise.base import Noise


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
