"""What no certificate covers: membership in the public pool, which the noise level itself tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from rpac._base.checks import count, refuse
from rpac.attack.base import Attack, Finding, Play, influence
from rpac.calibrators.base import Calibrator
from rpac.front.methods import calibrate
from rpac.worlds.outputs import Outputs
from rpac.worlds.run import simulate
from rpac.worlds.source import Subsets

WARN_ABOVE = 1.1
"""Ratio of noise with and without a unit above which the audit warns."""


@final
class PoolMembership(Attack):
    """How much the noise of one unit's pool differs from that of the pool without it.

    Not covered by any certificate: the secret is who was *drawn* from the pool. Shown so that
    nobody takes it for covered.

    Args:
        source: Half-samples of the pool.
        mechanism: As for `simulate`.
        budget: As for `calibrate`.
        method: Name of a calibrator, or a `Calibrator`.
        candidates: How many units to leave out, one at a time: those whose presence moves the
            output most.
    """

    name = "pool"

    def __init__(
        self,
        source: Subsets,
        mechanism: Callable[..., Any],
        budget: Any,
        *,
        method: str | Calibrator = "auto-pac",
        candidates: int = 3,
    ) -> None:
        if not isinstance(source, Subsets):
            raise refuse("half-samples of a pool", repr(source), "Use rpac.Subsets.")
        self.source, self.mechanism, self.budget, self.method = source, mechanism, budget, method
        self.candidates = count(candidates, "candidates", least=1)

    def run(self, play: Play, delta: float) -> Finding:
        """Return the largest ratio of noise (root power) with and without a unit."""
        whole = simulate(self.source, self.mechanism)
        with_all = self._scale(whole)
        units = np.argsort(-influence(whole))[: self.candidates]
        ratios = {}
        for u in units:
            rest = simulate(self.source.without(int(u)), self.mechanism)
            ratios[int(u)] = with_all / self._scale(rest)
        unit, ratio = max(ratios.items(), key=lambda item: abs(np.log(item[1])))
        spread = max(ratio, 1 / ratio)
        loud = "WARNING: " if spread > WARN_ABOVE else ""
        note = (
            f"{loud}noise with / without unit {unit} is {ratio:.3g}; pool membership, not covered"
        )
        return Finding(self.name, "ratio", float(spread), float(spread), float(spread),
                       covered=False, note=note, detail={"ratios": ratios})  # fmt: skip

    def _scale(self, outputs: Outputs) -> float:
        power = calibrate(outputs, self.budget, self.method).power
        if not power > 0:
            raise refuse("noise of positive power", power, "Lower the budget.")
        return float(np.sqrt(power))
