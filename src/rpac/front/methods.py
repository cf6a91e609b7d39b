"""The verb `calibrate`: from a method's name to noise that meets the budget."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from rpac._base.checks import refuse
from rpac._base.entropy import entropy
from rpac.budget import SuccessRate, as_budget
from rpac.calibrators.base import Calibrator
from rpac.calibrators.budget_search import DELTA, meet
from rpac.calibrators.closed_form import (
    AutoPAC,
    ConfidentAutoPAC,
    EfficientPAC,
    Isotropic,
    Proportional,
    principal,
)
from rpac.calibrators.equilibrium import Equilibrium
from rpac.certificate.atoms import distinct
from rpac.certificate.person import on_a_person, unit_success
from rpac.errors import ExactRelease
from rpac.learned.sliced import SlicedStackelberg
from rpac.learned.stackelberg import Stackelberg
from rpac.noise.base import Law, Releasable
from rpac.noise.gaussian import GaussianNoise
from rpac.noise.grid import GridNoise, tabulate
from rpac.noise.label import LabelChannel
from rpac.noise.lattice import LatticeNoise
from rpac.worlds.outputs import Outputs

METHODS: Mapping[str, Calibrator] = {
    "auto-pac": AutoPAC(),
    "confident-auto-pac": ConfidentAutoPAC(),
    "efficient-pac": EfficientPAC(),
    "equilibrium": Equilibrium(),
    "isotropic": Isotropic(),
    "proportional": Proportional(),
    "sliced-sr-pac": SlicedStackelberg(),
    "sr-pac": Stackelberg(),
}


def calibrate(outputs: Outputs, budget: Any, method: str | Calibrator = "equilibrium") -> Law:
    """Return noise for these outputs and this budget.

    Args:
        outputs: From `simulate`, or an `Outputs` of your own.
        budget: `Nats`, `Bits`, `SuccessRate` or `ResidualEntropy`; a bare number is nats.
        method: One of `rpac.front.methods.METHODS`, or a `Calibrator`.

    Returns:
        Noise that is expected to meet the budget. It is a proposal: `certify` decides.

    >>> import rpac
    >>> rpac.calibrate(rpac.Outputs([-1.0, 1.0]), 0.5)
    GridNoise(dim=1, axes=1, power=0.39...)
    >>> rpac.calibrate(rpac.Outputs([-1.0, 1.0]), 0.5, method="auto-pac")
    GaussianNoise(dim=1, power=0.58...)
    """
    law = proposed(outputs, budget, calibrator(method))
    if isinstance(law, Releasable) and law.power == 0:
        warnings.warn(
            f"The budget of {as_budget(budget).nats(outputs.entropy):.4g} nats is at or above the "
            f"entropy of the outputs: no noise is needed. Releasing them bare takes "
            f"allow_exact=True.",
            ExactRelease,
            stacklevel=2,
        )
    return law


def proposed(outputs: Outputs, budget: Any, method: Calibrator) -> Law:
    """Return what `calibrate` returns, without a warning, which would depend on the outputs."""
    limit = as_budget(budget)
    nats = limit.nats(outputs.entropy)
    if isinstance(limit, SuccessRate) and on_a_person(outputs, limit):
        return worst_unit_noise(outputs, limit)
    if needs_no_noise(outputs, nats):
        return exact_noise(outputs)
    return method.propose(outputs.planning, nats)


def calibrator(method: str | Calibrator) -> Calibrator:
    """Return the calibrator of a name, or the one given."""
    if isinstance(method, str):
        if method not in METHODS:
            raise refuse(f"a method among {sorted(METHODS)}", repr(method), "Or a Calibrator.")
        return METHODS[method]
    if not isinstance(method, Calibrator):
        raise refuse("a method's name or a Calibrator", repr(method), "Subclass rpac.Calibrator.")
    return method


def method_name(method: str | Calibrator) -> str:
    """Return what a method is called in a request."""
    return method if isinstance(method, str) else type(method).__qualname__


def needs_no_noise(outputs: Outputs, nats: float) -> bool:
    """Tell whether a bare release stays within the budget."""
    return outputs.exact and 0 < entropy(distinct(outputs.values, outputs.weights)[1]) <= nats


def exact_noise(outputs: Outputs) -> Releasable:
    """Return the law of a bare release: no noise, on a grid finer than the outputs differ."""
    if outputs.kind == "label":
        return LabelChannel(np.eye(len(outputs.labels)))
    basis, spectrum = principal(outputs)
    whole = outputs.kind == "count" and outputs.dim == 1
    step = 1.0 if whole else float(np.sqrt(spectrum.sum())) * 2.0**-36
    axis = LatticeNoise(step, [0], [1.0])
    if whole:
        return GridNoise(np.eye(1), np.zeros(1), (axis,))
    return GridNoise(basis, outputs.center, (axis,) * spectrum.size)


def worst_unit_noise(outputs: Outputs, limit: SuccessRate) -> GaussianNoise:
    """Return the least Gaussian noise, of Auto-PAC's shape, that keeps every unit's success low.

    Success falls with the scale of Gaussian noise, so the scale is met from the safe side. Where
    success is estimated from draws, two intervals' width is left for the certificate's own.
    """
    noise = AutoPAC().propose(outputs, max(limit.nats(), 1e-3))
    masks = outputs.masks
    assert masks is not None
    room = 2e-3 * (limit.rate - limit.prior)

    def gap(t: float) -> float:
        law = tabulate(outputs, noise.scaled(np.exp(t)))
        codes = law.encode(outputs.values)
        found = unit_success(codes, outputs.weights, masks, law, delta=DELTA)
        slack = 0.0 if law.rank == 1 else 0.2 * (limit.rate - limit.prior)
        return float(found.max()) + slack - limit.rate + room

    return noise.scaled(float(np.exp(meet(gap, 4 * room, width=1e-3))))
