"""Settings of Stackelberg SR-PAC: the parameters of the paper's Algorithm 2 and its variants."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, final, get_args

from rpac._base.checks import count, in_range, refuse

FamilyName: TypeAlias = Literal[
    "gaussian", "low-rank", "mixture", "generalized-normal", "laplace", "flow"
]
FAMILIES: tuple[FamilyName, ...] = get_args(FamilyName)
"""Noise laws to learn: what `rpac.learned.families` can make."""


@final
@dataclass(frozen=True)
class Adjustment:
    """The epsilon of the PAC-adjusted variant: 4 C / sqrt(n) + 2 B sqrt(2 log(1 / delta) / n).

    Args:
        capacity: C, with Rademacher complexity of the log scores at most C / sqrt(n).
        bound: B, the largest log score.
        samples: n, the draws that the follower learns from.
        delta: Probability of error.
    """

    capacity: float = 1.0
    bound: float = 1.0
    samples: int = 1_000_000
    delta: float = 1e-3

    def __post_init__(self) -> None:
        count(self.samples, "samples", least=1)
        in_range(self.delta, "delta", 0.0, 1.0)
        if self.capacity < 0 or self.bound < 0:
            raise refuse(
                "capacity and bound of at least 0", (self.capacity, self.bound), "State them."
            )

    @property
    def epsilon(self) -> float:
        """The margin in nats."""
        concentration = 2 * self.bound * math.sqrt(2 * math.log(1 / self.delta) / self.samples)
        return 4 * self.capacity / math.sqrt(self.samples) + concentration


@final
@dataclass(frozen=True)
class Constraint:
    """How the leader is held to the budget: a penalty on (beta_hat + eps - H_c)_+^2.

    Args:
        weight: The penalty weight sigma, on the shortfall relative to the lesser of budget and
            beta_hat; Auto-PAC's noise costs 1.
        augmented: Whether to add a multiplier (augmented Lagrangian).
        adjustment: The PAC-adjusted variant's margin, or None.
    """

    weight: float = 50.0
    augmented: bool = False
    adjustment: Adjustment | None = None

    def __post_init__(self) -> None:
        in_range(self.weight, "weight", 0.0, math.inf)

    @property
    def epsilon(self) -> float:
        """The margin in nats; 0 without an adjustment."""
        return 0.0 if self.adjustment is None else self.adjustment.epsilon


@final
@dataclass(frozen=True)
class Training:
    """The loop of Algorithm 2.

    Args:
        iterations: T_lambda, steps of the leader.
        decoder_steps: T_phi: so many steps of the follower, once in as many of the leader's.
        batch: Draws a step.
        noise_rate: Learning rate of the leader.
        decoder_rate: Learning rate of the follower.
        constraint: Penalty or augmented Lagrangian, and the adjustment.
        patience: Blocks of 50 iterations without a better loss after which to stop; 0 for never.
    """

    iterations: int = 600
    decoder_steps: int = 5
    batch: int = 256
    noise_rate: float = 0.03
    decoder_rate: float = 0.03
    constraint: Constraint = field(default_factory=Constraint)
    patience: int = 0

    def __post_init__(self) -> None:
        count(self.iterations, "iterations", least=1)
        count(self.decoder_steps, "decoder_steps", least=1)
        count(self.batch, "batch", least=2)
        count(self.patience, "patience", least=0)
        in_range(self.noise_rate, "noise_rate", 0.0, 10.0)
        in_range(self.decoder_rate, "decoder_rate", 0.0, 10.0)
