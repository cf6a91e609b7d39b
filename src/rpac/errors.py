"""What can go wrong, as types a caller may catch. Messages never carry a value of the secret."""

from __future__ import annotations


class RpacError(Exception):
    """Base of every error that rpac raises on purpose."""


class InputError(RpacError, ValueError):
    """An argument is not what the function takes."""


class MechanismError(RpacError, RuntimeError):
    """The mechanism failed, or its outputs cannot be put side by side."""


class CertificateError(RpacError, ValueError):
    """A certificate file is damaged, altered or of another schema."""


class ContractError(RpacError, AssertionError):
    """A source, noise or reference breaks a law that certificates rely on."""


class BudgetExceeded(RpacError):
    """The certified bound lies above the budget, so nothing may be released.

    Attributes:
        bound: The certified upper bound, in nats.
        budget: The budget it was held against, in nats.
    """

    def __init__(self, bound: float, budget: float) -> None:
        self.bound, self.budget = bound, budget
        super().__init__(
            f"Expected leakage of at most {budget:.6g} nats; got a certified bound of "
            f"{bound:.6g} nats. Raise the noise or the budget; for a statistical bound more "
            f"`draws` narrow its interval."
        )
