"""The verb `calibrate`: from a method's name to noise that meets the budget."""

from __future__ import annotations

from typing import Any

from rpac._checks import refuse
from rpac.budget import as_budget
from rpac.calibrate.base import Calibrator
from rpac.calibrate.closed_form import AutoPAC
from rpac.calibrate.meet import meet_budget
from rpac.noise.base import Noise
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.label import LabelChannel
from rpac.outputs import Outputs

METHODS: dict[str, Calibrator] = {"auto-pac": AutoPAC()}


def calibrate(
    outputs: Outputs, budget: Any, method: str | Calibrator = "auto-pac"
) -> Noise | LabelChannel:
    """Return noise for these outputs and this budget.

    Args:
        outputs: From `simulate`, or an `Outputs` of your own.
        budget: `Nats`, `Bits`, `SuccessRate` or `ResidualEntropy`; a bare number is nats.
        method: One of `rpac.calibrate.methods.METHODS`, or a `Calibrator`.

    Returns:
        Noise that is expected to meet the budget. It is a proposal: `certify` decides.

    >>> import rpac
    >>> rpac.calibrate(rpac.Outputs([-1.0, 1.0]), 0.5)
    GaussianNoise(dim=1, power=0.58...)
    """
    if isinstance(method, str):
        if method not in METHODS:
            raise refuse(f"a method among {sorted(METHODS)}", repr(method), "Or a Calibrator.")
        method = METHODS[method]
    if not isinstance(method, Calibrator):
        raise refuse("a method's name or a Calibrator", repr(method), "Subclass rpac.Calibrator.")
    nats = as_budget(budget).nats(outputs.entropy)
    noise = method.propose(outputs, nats)
    return meet_budget(outputs, noise, nats) if isinstance(noise, GaussianNoise) else noise
