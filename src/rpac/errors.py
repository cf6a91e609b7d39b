"""What can go wrong, as types a caller may catch. Messages never carry a value of the secret."""

from __future__ import annotations


class RpacError(Exception):
    """Base of every error that rpac raises on purpose."""


class InputError(RpacError, ValueError):
    """An argument is not what the function takes."""


class TooLarge(InputError):
    """What is asked for does not fit into memory or on the disk; nothing was allocated."""


class MechanismError(RpacError, RuntimeError):
    """The mechanism failed, or its outputs cannot be put side by side."""


class CertificateError(RpacError, ValueError):
    """A certificate file is damaged, altered or of another schema."""


class ContractError(RpacError, AssertionError):
    """A source, noise or reference breaks a law that certificates rely on."""


class BudgetExceeded(RpacError):
    """The certified bound lies above the budget, so nothing may be released.

    Attributes:
        bound: The certified upper bound, in nats (or as a success rate).
        budget: The budget it was held against, in the same unit.
    """

    def __init__(self, bound: float, budget: float, what: str = "leakage", unit: str = " nats"):
        self.bound, self.budget = bound, budget
        super().__init__(
            f"Expected {what} of at most {budget:.6g}{unit}; got a certified bound of "
            f"{bound:.6g}{unit}. Raise the noise or the budget; for a statistical bound more "
            f"`draws` narrow its interval."
        )


class Withheld(MechanismError, BudgetExceeded, InputError):
    """An answer that the data do not allow: one type and one text for every such reason.

    The mechanism failed on some world, its answers cannot be put side by side, they exceed what can
    be released, or no certificate within the budget was obtained. Which of these it was would tell
    about the data, and so does the refusal itself: books charge for it, like for an answer where
    one was drawn or somebody's presence was asked about.

    Attributes:
        NATS: What books charge for such a refusal before anything was drawn, whatever the reason.
    """

    NATS = 0.01

    def __init__(self) -> None:
        RpacError.__init__(
            self,
            "Expected an answer that every possible sample allows within the budget; got a refusal "
            "that depends on the data, so its reason is withheld (books charge "
            f"{self.NATS:g} nats for it, or all that the answer would cost). rpac.debug(function, "
            "source) tries it on made-up data and shows its errors: catch them inside it. Else "
            "raise the budget; if it may be all that the answer can tell, pass allow_exact=True.",
        )


class LedgerError(RpacError, RuntimeError):
    """The books cannot be written, were damaged or were rolled back: nothing may be released."""


class BudgetSpent(RpacError):
    """The charge does not fit into what is left of a budget; nothing was charged.

    Attributes:
        remaining: What is left, in nats.
    """

    def __init__(self, charge: str, left: str, account: str, remaining: float):
        self.remaining = remaining
        super().__init__(
            f"Expected a charge of at most {left} nats, what is left for {account}; got {charge} "
            f"nats. Ask for less, or have the owner of the data raise the cap."
        )


class ExactRelease(UserWarning):
    """The budget allows the answer to be released without noise."""
