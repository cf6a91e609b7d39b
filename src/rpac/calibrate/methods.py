"""The verb `calibrate`: from a method's name to noise that meets the budget."""

from __future__ import annotations

from typing import Any

from rpac._checks import refuse
from rpac.budget import as_budget
from rpac.calibrate.base import Calibrator
from rpac.calibrate.closed_form import (
    AutoPAC,
    ConfidentAutoPAC,
    EfficientPAC,
    Isotropic,
    Proportional,
)
from rpac.calibrate.equilibrium import Equilibrium
from rpac.noise.base import Noise
from rpac.noise.label import LabelChannel
from rpac.outputs import Outputs

METHODS: dict[str, Calibrator] = {
    "auto-pac": AutoPAC(),
    "confident-auto-pac": ConfidentAutoPAC(),
    "efficient-pac": EfficientPAC(),
    "equilibrium": Equilibrium(),
    "isotropic": Isotropic(),
    "proportional": Proportional(),
}


def calibrate(
    outputs: Outputs, budget: Any, method: str | Calibrator = "equilibrium"
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
    GridNoise(dim=1, axes=1, power=0.39...)
    >>> rpac.calibrate(rpac.Outputs([-1.0, 1.0]), 0.5, method="auto-pac")
    GaussianNoise(dim=1, power=0.58...)
    """
    if isinstance(method, str):
        if method not in METHODS:
            raise refuse(f"a method among {sorted(METHODS)}", repr(method), "Or a Calibrator.")
        method = METHODS[method]
    if not isinstance(method, Calibrator):
        raise refuse("a method's name or a Calibrator", repr(method), "Subclass rpac.Calibrator.")
    nats = as_budget(budget).nats(outputs.entropy)
    return method.propose(outputs.planning, nats)
