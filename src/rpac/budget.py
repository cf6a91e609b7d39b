"""A budget, in the unit its owner thinks in. A bare number is nats."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias, final

from rpac._base.checks import in_range, number, refuse
from rpac.advantage import (
    distance_to_nats,
    nats_to_distance,
    success_to_distance,
    success_to_nats,
)


def _positive(budget: Any, name: str, unit: str) -> None:
    value = getattr(budget, name)
    plain = number(value, f"budget in {unit}")
    if plain <= 0:
        raise refuse(f"a positive budget in {unit}", repr(value), "Pass a number above 0.")
    _keep(budget, name, plain)


def _keep(budget: Any, name: str, plain: float) -> None:
    """Keep what was read of a number that is none of Python's own: it reads alike ever after."""
    if type(getattr(budget, name)) not in (int, float):
        object.__setattr__(budget, name, plain)


@final
@dataclass(frozen=True)
class Nats:
    """Mutual information in nats.

    >>> Nats(0.25).nats()
    0.25
    """

    value: float

    def __post_init__(self) -> None:
        _positive(self, "value", "nats")

    def nats(self, entropy: float | None = None) -> float:
        """Return the budget in nats."""
        return float(self.value)


@final
@dataclass(frozen=True)
class Bits:
    """Mutual information in bits; one bit is log 2 nats."""

    value: float

    def __post_init__(self) -> None:
        _positive(self, "value", "bits")

    def nats(self, entropy: float | None = None) -> float:
        """Return the budget in nats."""
        return float(self.value) * math.log(2.0)


def rate_hint(rate: float) -> str:
    """Return what to do about a success rate that is none.

    >>> rate_hint(55), rate_hint(0.5)
    ('55 % is 0.55.', 'Such as 0.55: 0.5 is a blind guess.')
    """
    if 50 < rate < 100:
        return f"{rate:g} % is {rate / 100:g}."
    return "Such as 0.55: 0.5 is a blind guess."


@final
@dataclass(frozen=True)
class SuccessRate:
    """The success an attacker may reach on a question they would blindly answer with `prior`.

    About a person's presence (`rpac.Presence`) books charge more for the same success, since a
    distance serves every prior at once: `GaussianDP(success_to_distance(rate)).nats()`.

    >>> round(SuccessRate(0.55, prior=0.5).nats(), 6)
    0.005008
    """

    rate: float
    prior: float = 0.5

    def __post_init__(self) -> None:
        _keep(self, "prior", in_range(self.prior, "prior", 0.0, 1.0))
        _keep(self, "rate", number(self.rate, "rate"))
        if not self.prior < self.rate < 1:
            expected = f"a success `rate` above {self.prior:g} and below 1"
            raise refuse(expected, repr(self.rate), rate_hint(self.rate))

    def nats(self, entropy: float | None = None) -> float:
        """Return the least leakage in nats that allows this success."""
        return float(success_to_nats(self.rate, self.prior))


@final
@dataclass(frozen=True)
class ResidualEntropy:
    """The uncertainty about the secret, in nats, that must remain after the release."""

    value: float

    def __post_init__(self) -> None:
        _positive(self, "value", "nats of residual entropy")

    def nats(self, entropy: float | None = None) -> float:
        """Return H(X) - value; needs the entropy of the secret."""
        if entropy is None:
            got = f"an open distribution with {self!r}"
            raise refuse("a secret of known entropy", got, "Budget in Nats.")
        if self.value >= entropy:
            raise refuse(
                f"residual entropy below the secret's {entropy:.6g} nats",
                self.value,
                "Nothing could be released; ask for less.",
            )
        return entropy - self.value


@final
@dataclass(frozen=True)
class GaussianDP:
    """A distance: nobody's presence is told apart better than two unit Gaussians `mu` apart.

    This is Gaussian differential privacy with parameter mu; for `rpac.Presence`.

    >>> round(GaussianDP(1.0).nats(), 3)
    0.125
    """

    mu: float

    def __post_init__(self) -> None:
        _positive(self, "mu", "distance")

    def nats(self, entropy: float | None = None) -> float:
        """Return what is charged for it, in nats."""
        return distance_to_nats(float(self.mu))


Budget: TypeAlias = Nats | Bits | SuccessRate | ResidualEntropy


def as_budget(value: Any) -> Budget:
    """Return `value` as a budget; a bare number is nats.

    >>> as_budget(0.5)
    Nats(value=0.5)
    """
    if isinstance(value, GaussianDP):
        move = "It is for rpac.Presence; use SuccessRate, Nats or Bits."
        raise refuse("a budget about a drawn sample", repr(value), move)
    if isinstance(value, Nats | Bits | SuccessRate | ResidualEntropy):
        return value
    if isinstance(value, str):
        move = "Such as rpac.SuccessRate(0.55) or rpac.Nats(0.1); a bare number is nats."
        raise refuse("a budget", repr(value), move)
    return Nats(value)


def as_distance(value: Any) -> float:
    """Return a budget about a person's presence as a distance; a bare number is nats.

    >>> round(as_distance(SuccessRate(0.55)), 4)
    0.2513
    """
    if isinstance(value, GaussianDP):
        return float(value.mu)
    limit = as_budget(value)
    if isinstance(limit, ResidualEntropy):
        move = (
            "Use SuccessRate(0.55), Nats, Bits or GaussianDP: presence has no entropy of its own."
        )
        raise refuse("a budget about a person's presence", repr(limit), move)
    if isinstance(limit, SuccessRate):
        found = success_to_distance(limit.rate, limit.prior)
        if not found > 0:
            raise refuse("a success above a blind guess", limit.rate, "Such as 0.55.")
        return found
    return nats_to_distance(limit.nats())
